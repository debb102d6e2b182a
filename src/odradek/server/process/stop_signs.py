"""What asks a process to stop: signals, and the end of the pipe from the program that started it."""

import asyncio
import os
import selectors
import signal
from collections.abc import Callable
from typing import Final

from odradek.base.errors import SettingError

# SIGHUP: the terminal that the process was started from is closed. Kafka stops then, too.
STOPPING: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

STANDARD_INPUT: Final = 0
_INPUT_BYTES: Final = 65_536


def watch_signals(on_signal: Callable[[str], None]) -> None:
    """Call `on_signal` on the running loop with the name of each of `STOPPING` that arrives."""
    loop = asyncio.get_running_loop()
    for number in STOPPING:
        if signal.getsignal(number) is not signal.SIG_IGN:  # `nohup` has SIGHUP ignored: keep that
            loop.add_signal_handler(number, on_signal, number.name)


def watch_input(on_end: Callable[[], None]) -> None:
    """Call `on_end` on the running loop when the standard input, a pipe, ends. Raises SettingError."""
    loop = asyncio.get_running_loop()

    def on_input() -> None:
        try:
            if os.read(STANDARD_INPUT, _INPUT_BYTES):
                return
        except BlockingIOError:  # another process that has the same pipe read what was in it
            return
        loop.remove_reader(STANDARD_INPUT)
        on_end()

    check_input()
    loop.add_reader(STANDARD_INPUT, on_input)


def check_input() -> None:
    """Raises SettingError for a file, /dev/null, or nothing: its end cannot be waited for."""
    try:
        with selectors.DefaultSelector() as selector:
            selector.register(STANDARD_INPUT, selectors.EVENT_READ)
    except (OSError, ValueError) as error:
        raise SettingError("--until-eof needs a pipe or a terminal as its standard input") from error
