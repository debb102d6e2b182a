"""The broker's log for people and machines: one line per event, with the names of clients escaped.

    console   2026-11-22 05:45:14,510 WARNING odradek.server.edge.connections: closing the connection of ...
              The lines of a trace are indented, so that none of them looks like an event of its own.
              In a cluster under one supervisor the process follows the time: broker 2, supervisor.
    json      {"event": "closing the connection of ...", "level": "warning", "logger": "odradek.server...",
              "timestamp": "2026-11-22T05:45:14.510392Z"}, with a trace in "exception", and each name in an
              event (a topic, a group, an address) in a field of its own

Events come from the standard library's `logging`; structlog makes the JSON, and is loaded only for that
(docs/decisions/0009-logs.md).
"""

import logging
from collections.abc import Mapping, MutableMapping
from importlib.util import find_spec
from types import TracebackType
from typing import Any, Final, TextIO, TypeAlias

from odradek.base.errors import SettingError
from odradek.base.values import value
from odradek.base.visible import visible, visible_json
from odradek.server.process.log_pipe import PipeHandler, open_unblocked

FORMATS: Final = ("console", "json")
LEVELS: Final[Mapping[str, int]] = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
    "critical": logging.CRITICAL,
}
OWN: Final = "odradek"
"""The logger of all our modules; a level that is given without a logger applies to it."""

_FORMAT: Final = "%(asctime)s {process}%(levelname)s %(name)s: %(message)s"
_PROCESS_WIDTH: Final = len("supervisor")
_INDENT: Final = "    "

_ExcInfo: TypeAlias = (
    tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]
)


@value
class LogOptions:
    """What is written, and how."""

    format: str = "console"
    """One of FORMATS."""
    levels: tuple[tuple[str, int], ...] = ()
    """Loggers with their lowest level to be written; if a logger is named twice, the last level counts.

    By default our loggers write INFO and above, and those of libraries WARNING and above.
    """


def read_level(text: str) -> tuple[str, int]:
    """Parse `debug` or `odradek.server.edge=debug` into a logger and a level. Raises ValueError."""
    logger, _, name = text.rpartition("=")
    if name.lower() not in LEVELS or text.startswith("="):
        raise ValueError(f"one of {', '.join(LEVELS)}, or LOGGER=LEVEL")
    return logger or OWN, LEVELS[name.lower()]


class VisibleFormatter(logging.Formatter):
    """Formats events; escapes all characters that could control a terminal or forge a line."""

    def __init__(self, process: str = "") -> None:
        """`process` is named in each line, if it is not empty."""
        super().__init__(_FORMAT.format(process=f"{process:<{_PROCESS_WIDTH}} " if process else ""))

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the library's name
        """See `logging.Formatter.formatMessage`."""
        record.message = visible(record.message)
        return super().formatMessage(record)

    def formatException(self, ei: _ExcInfo) -> str:  # noqa: N802 - the library's name
        """See `logging.Formatter.formatException`."""
        return "\n".join(_INDENT + visible(line) for line in super().formatException(ei).split("\n"))


def json_formatter(process: str = "") -> logging.Formatter:
    """Returns a formatter that writes events as lines of JSON, in ASCII; `process`, if any, is a field."""
    import structlog

    def name_process(_: object, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        return {**event, "process": process}

    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[
            structlog.stdlib.ExtraAdder(),
            structlog.stdlib.add_log_level,
            structlog.stdlib.add_logger_name,
            structlog.processors.TimeStamper(fmt="iso"),
            *([name_process] if process else []),
        ],
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(serializer=visible_json, sort_keys=True),
        ],
    )


def log_to(
    stream: TextIO,
    options: LogOptions = LogOptions(),  # noqa: B008 - it is a value
    *,
    process: str = "",
) -> None:
    """Write the events of all parts of the process to `stream`. Raises SettingError.

    A line is written at once, by the thread that logs the event; on a full pipe it is left out (`log_pipe`).
    `process` is named in each line, if several processes write to one stream.
    """
    for name, _ in options.levels:
        if name.startswith(f"{OWN}.") and not _is_module(name):
            raise SettingError(f"--log-level: there is no logger {name}")
    unblocked = open_unblocked(stream)
    handler = logging.StreamHandler(stream) if unblocked is None else PipeHandler(unblocked)
    is_json = options.format == "json"
    handler.setFormatter(json_formatter(process) if is_json else VisibleFormatter(process))
    logging.basicConfig(handlers=[handler])
    logging.getLogger(OWN).setLevel(logging.INFO)
    for name, level in options.levels:
        logging.getLogger(name).setLevel(level)


def _is_module(name: str) -> bool:
    """Whether one of our loggers has that name: the name of a module, or of a package of modules."""
    try:
        return find_spec(name) is not None
    except (ImportError, ValueError):
        return False
