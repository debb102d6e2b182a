"""The logs of brokers on threads of the test's process, kept for the report of a test that fails.

What a thread with a name of `KeptLog.thread_name` logs becomes a line that names its broker.

A logger has one level for what is kept and for what reaches the test's own handlers (caplog, reports,
standard error). While logs are kept, the level of the logger `odradek` is therefore KEPT_LEVEL, and the
handler here passes on what ERROR would have let through. If a test sets a level, all that this level lets
through is kept and passed on.
"""

import itertools
import logging
import threading
from collections import deque
from typing import Final

from odradek.server.process.log_lines import OWN, VisibleFormatter

LINES_MAX: Final = 5_000
"""A log keeps so many events of its end."""
KEPT_LEVEL: Final = logging.INFO - 1
"""Lets INFO through; no test sets it, so it says that the level is ours."""

_NUMBERS: Final = itertools.count(1)


class KeptLog:
    """The log of several threads as one text; kept between `begin` and `end`, readable also afterwards."""

    def __init__(self) -> None:
        # The threads' names begin with it; clusters of one test process have brokers with the same ids.
        self._prefix = f"odradek-{next(_NUMBERS)}-"
        self._events: deque[str] = deque(maxlen=LINES_MAX)
        # How many events there were, also those that are no longer kept.
        self._count = 0
        self._formatters: dict[str, VisibleFormatter] = {}
        self._lock = threading.Lock()

    def thread_name(self, process: str) -> str:
        """The name for a thread whose events are kept; each of their lines says `process`, as broker 2."""
        name = self._prefix + process.replace(" ", "-")
        self._formatters[name] = VisibleFormatter(process)
        return name

    def begin(self) -> None:
        """Keep what the threads log."""
        _GATE.add(self)

    def end(self) -> None:
        """Keep no more; does nothing if it was not begun."""
        _GATE.remove(self)

    def mark(self) -> int:
        """Where the log ends now, for `text`."""
        return self._count

    def text(self, since: int = 0) -> str:
        """What was logged since a mark, as far as it is still kept."""
        with self._lock:
            kept = min(self._count - since, len(self._events))
            return "".join(itertools.islice(self._events, len(self._events) - kept, None))

    def keep(self, record: logging.LogRecord) -> None:
        """Add the event of a thread, unless the thread has none of the names."""
        formatter = self._formatters.get(record.threadName or "")
        if formatter is None:
            return
        line = formatter.format(record) + "\n"
        with self._lock:
            self._events.append(line)
            self._count += 1


class _Gate(logging.Handler):
    """Keeps logs, and decides what goes on to the test's handlers; in force as long as any log is kept.

    It is the handler of a logger that stands between `odradek` and the root, so the logger `odradek` keeps
    its handlers, and passes events on as before.
    """

    def __init__(self) -> None:
        super().__init__()
        self._logs: tuple[KeptLog, ...] = ()
        self._between = logging.Logger("between odradek and the root")
        self._between.propagate = False
        self._between.addHandler(self)
        self._changing = threading.Lock()

    def add(self, log: KeptLog) -> None:
        """Keep this log, too."""
        with self._changing:
            if not self._logs:
                self._begin(logging.getLogger(OWN))
            self._logs = (*self._logs, log)

    def remove(self, log: KeptLog) -> None:
        """Keep this log no more."""
        with self._changing:
            if log not in self._logs:
                return
            self._logs = tuple(one for one in self._logs if one is not log)
            if not self._logs:
                self._end(logging.getLogger(OWN))

    def emit(self, record: logging.LogRecord) -> None:
        """See `logging.Handler.emit`."""
        for log in self._logs:
            log.keep(record)
        if record.levelno >= logging.ERROR or not _is_our_level(record.name):
            logging.getLogger().callHandlers(record)

    def _begin(self, logger: logging.Logger) -> None:
        if logger.level in (logging.NOTSET, logging.ERROR):
            logger.setLevel(KEPT_LEVEL)
        self._between.parent, logger.parent = logger.parent, self._between

    def _end(self, logger: logging.Logger) -> None:
        logger.parent = self._between.parent
        if logger.level == KEPT_LEVEL:
            logger.setLevel(logging.ERROR)


def _is_our_level(logger_name: str) -> bool:
    return logging.getLogger(logger_name).getEffectiveLevel() == KEPT_LEVEL


_GATE: Final = _Gate()
