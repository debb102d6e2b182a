"""`--watch`: repeats a command that shows something, until Ctrl-C."""

import sys
import time
from collections.abc import Callable

from odradek.cli.command_line import option, seconds
from odradek.cli.output import is_read, say, timed

WATCH = option(
    "--watch", help="show it again every SECONDS seconds until Ctrl-C", metavar="SECONDS", kind=seconds
)
_CLEAR = "\x1b[H\x1b[2J"


def watched(every_s: float | None, show_once: Callable[[], None]) -> None:
    """Run `show_once`; with `every_s`, again every `every_s` seconds."""
    if every_s is None:
        show_once()
        return
    try:
        while is_read(sys.stdout):
            print(_CLEAR if sys.stdout.isatty() else "", end="")
            say(timed(int(time.time() * 1000)))
            show_once()
            print(flush=True)
            time.sleep(every_s)
    except KeyboardInterrupt:
        pass
