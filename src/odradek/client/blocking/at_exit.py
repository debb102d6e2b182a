"""Ends producers that nobody has closed when the program ends: what they have not sent would be lost unseen.

    at_exit.call(flush, end)     from now on, when the program ends: `flush(seconds)`, then `end(seconds)`
    at_exit.forget(end)          no more

`flush` is called when the main thread has ended: others may go on, and use the producer. `end` is called
when they have ended, too. By then no thread may be started any more, so that most is to be sent before.

Invariant: what one raises is logged, and keeps no other from being called.
"""

import atexit
import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final, TypeAlias

Step: TypeAlias = Callable[[float], None]

FLUSH_S: Final = 8.0
"""How long all that is called when the main thread has ended may take together."""
END_S: Final = 2.0
"""How long all that is called at the very end may take together."""

_flushes: Final[dict[Step, Step]] = {}
_hooks: Final[list[Step]] = []
_log: Final = logging.getLogger("odradek.producer")


def call(flush: Step, end: Step) -> None:
    """See the module."""
    _flushes[end] = flush
    if not _hooks:
        _hooks.extend((flush_all, end_all))
        # The moment when the main thread has ended has no public name in the standard library; its own pools
        # use this one, too.
        with suppress(RuntimeError):  # the program is ending already
            threading._register_atexit(flush_all, FLUSH_S)  # type: ignore[attr-defined]  # noqa: SLF001
        atexit.register(end_all, END_S)


def forget(end: Step) -> None:
    """See the module."""
    _flushes.pop(end, None)


def flush_all(seconds: float) -> None:
    """Flush all within this time, the oldest first."""
    _call(list(_flushes.values()), seconds)


def end_all(seconds: float) -> None:
    """End all within this time, the oldest first."""
    ends = list(_flushes)
    _flushes.clear()
    _call(ends, seconds)


def _call(steps: list[Step], seconds: float) -> None:
    ends_s = time.monotonic() + seconds
    for step in steps:
        try:
            step(max(0.0, ends_s - time.monotonic()))
        except Exception:
            _log.exception("an unclosed producer could not be ended")
