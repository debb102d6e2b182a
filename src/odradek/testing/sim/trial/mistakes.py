"""Mistakes of brokers' own code: what they log with a traceback that names neither a peer, a disk nor a user.

with Mistakes(found.append):
    ...                             a trial; `found` has one sentence for each
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self

from odradek.base.errors import OdradekError

ROOT: Final = "odradek"


class Mistakes(logging.Handler):
    """Collects them while it is entered; the broker's other complaints go nowhere."""

    def __init__(self, on_found: Callable[[str], None]) -> None:
        """`on_found` is called with a sentence for each."""
        super().__init__(logging.WARNING)
        self._on_found = on_found
        self._propagated = True

    def emit(self, record: logging.LogRecord) -> None:
        """See `logging.Handler.emit`."""
        error = record.exc_info[1] if record.exc_info else None
        if error is not None and not isinstance(error, OdradekError | OSError):
            self._on_found(f"{record.getMessage()}: {sentence_of(error)}")

    def __enter__(self) -> Self:
        logger = logging.getLogger(ROOT)
        self._propagated, logger.propagate = logger.propagate, False
        logger.addHandler(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        logger = logging.getLogger(ROOT)
        logger.removeHandler(self)
        logger.propagate = self._propagated


def sentence_of(error: BaseException) -> str:
    """The error and the line that raised it."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({frames[-1].filename.rpartition('/')[2]}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {error}{place}"
