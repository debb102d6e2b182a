"""Ends producers that nobody has closed when the program ends: what they have not sent would be lost unseen.

    at_exit.call(end)       from now on `end(seconds)` is called then
    at_exit.forget(end)     no more

Invariant: it is called while threads can still be used, the one that compresses large batches among them. All
calls together may take `_ALL_S`. What one raises is logged, and keeps no other from being called.
"""

import concurrent.futures.thread  # its own hook at the end of a program is set first, and so called last
import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Final, TypeAlias

End: TypeAlias = Callable[[float], None]

_ALL_S: Final = 10.0
_ends: Final[dict[End, None]] = {}
_hooks: Final[list[object]] = []
_log: Final = logging.getLogger("odradek.producer")


def call(end: End) -> None:
    """See the module."""
    _ends[end] = None
    if not _hooks:
        _hooks.append(concurrent.futures.thread)
        # Functions of `atexit` are called when no pool of threads can be used any more. The earlier moment
        # has no public name in the standard library; its own pools use this one.
        with suppress(RuntimeError):  # the program is ending already
            threading._register_atexit(partial(call_all, _ALL_S))  # type: ignore[attr-defined]  # noqa: SLF001


def forget(end: End) -> None:
    """See the module."""
    _ends.pop(end, None)


def call_all(seconds: float) -> None:
    """Call all, the oldest first, with what is left of the time."""
    ends_s = time.monotonic() + seconds
    while _ends:
        end = next(iter(_ends))
        forget(end)
        try:
            end(max(0.0, ends_s - time.monotonic()))
        except Exception:
            _log.exception("an unclosed producer could not be ended")
