"""The broker's log as people read it: one line for each event, in which no client's name can do harm.

    2026-11-22 05:45:14,510 WARNING odradek.server.edge.listener: closing the connection of 10.0.0.5: ...

The lines of a trace are indented, so that none of them looks like an event of its own.
"""

import logging
from types import TracebackType
from typing import Final, TextIO, TypeAlias

from odradek.base.visible import visible

_FORMAT: Final = "%(asctime)s %(levelname)s %(name)s: %(message)s"
_INDENT: Final = "    "

_ExcInfo: TypeAlias = (
    tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]
)


class VisibleFormatter(logging.Formatter):
    """Formats events with all that would steer a terminal, or forge a line, escaped."""

    def __init__(self) -> None:
        super().__init__(_FORMAT)

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the library's name
        """See `logging.Formatter.formatMessage`."""
        record.message = visible(record.message)
        return super().formatMessage(record)

    def formatException(self, ei: _ExcInfo) -> str:  # noqa: N802 - the library's name
        """See `logging.Formatter.formatException`."""
        return "\n".join(_INDENT + visible(line) for line in super().formatException(ei).split("\n"))


def log_to(stream: TextIO) -> None:
    """Let warnings and worse be written to `stream`, from all parts of the process."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(VisibleFormatter())
    logging.basicConfig(handlers=[handler])
