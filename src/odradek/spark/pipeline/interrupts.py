"""Ctrl-C around a Spark session: neither PySpark nor py4j may handle it, and no JVM may be left behind."""

import logging
import signal
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def own_interrupts() -> Iterator[None]:
    """Keep what Ctrl-C does: PySpark's handler calls the JVM in the middle of another call, which fails.

    While the JVM starts an interrupt waits: it would take away the file by which the JVM tells where it is,
    and leave a JVM that never ends.
    """
    logging.getLogger().addFilter(_is_no_interrupt)
    before = signal.getsignal(signal.SIGINT)
    if before is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    waiting: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: waiting.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if waiting:
        raise KeyboardInterrupt


def _is_no_interrupt(record: logging.LogRecord) -> bool:
    """Whether a record is other than the stack that py4j logs of an interrupt, which it raises, too."""
    return not record.getMessage().startswith("KeyboardInterrupt while sending command")


def stop(session: Any) -> None:
    """End a session. After Ctrl-C in a call py4j has let the JVM go, of which PySpark would warn."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        session.stop()
