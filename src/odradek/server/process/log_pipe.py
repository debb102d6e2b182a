"""Writes log lines to a pipe or a terminal, and never waits long for who reads it.

    lines 1 to 900       written at once
    the pipe is full     line 901 waits for room, ROOM_WAIT_MS at most, 902 and later ones not at all
    the pipe is read     "... WARNING ...: 412 lines are left out: nobody read this output", then line 1313

A broker that waited for a stalled reader would miss its sessions, and several brokers of one machine write to
one pipe: one reader would stop a cluster (docs/decisions/0009-logs.md).
"""

import logging
import os
import select
import stat
from typing import Final, TextIO

ROOM_WAIT_MS: Final = 100
"""How long a line waits for room, unless lines before it were left out."""

_log = logging.getLogger(__name__)


def open_unblocked(stream: TextIO) -> int | None:
    """Opens the pipe or terminal of `stream` once more, without blocking; the caller closes the descriptor.

    Not blocking is a state of the open file, which other processes share, so it is not set on theirs.
    None for all other streams, and where the system has no /proc.
    """
    try:
        descriptor = stream.fileno()
        mode = os.fstat(descriptor).st_mode
        if not (stat.S_ISFIFO(mode) or os.isatty(descriptor)):
            return None
        return os.open(
            f"/proc/self/fd/{descriptor}", os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
        )
    except (OSError, ValueError):
        return None


class PipeHandler(logging.Handler):
    """See the module."""

    def __init__(self, descriptor: int, *, room_wait_ms: int = ROOM_WAIT_MS) -> None:
        """Writes to `descriptor`, which does not block, and closes it with `close`."""
        super().__init__()
        self._descriptor = descriptor
        self._room_wait_ms = room_wait_ms
        self._room = select.poll()
        self._room.register(descriptor, select.POLLOUT)
        # How many lines were left out since the last one that was written whole.
        self._left_out = 0
        # Whether the last bytes written are the beginning of a line.
        self._is_cut = False

    def emit(self, record: logging.LogRecord) -> None:
        """See `logging.Handler.emit`."""
        try:
            self._emit(record)
        except Exception:
            self.handleError(record)

    def close(self) -> None:
        """See `logging.Handler.close`."""
        self.acquire()
        try:
            if self._descriptor >= 0:
                os.close(self._descriptor)
                self._descriptor = -1
        finally:
            self.release()
        super().close()

    def _emit(self, record: logging.LogRecord) -> None:
        data = self._line(record)
        if self._left_out:
            data = self._line(_left_out(self._left_out)) + data
        if self._is_cut:
            data = b"\n" + data
        written = self._write(data)
        if written == len(data):
            self._left_out, self._is_cut = 0, False
        else:
            self._left_out += 1
            self._is_cut = self._is_cut or written > 0

    def _line(self, record: logging.LogRecord) -> bytes:
        return f"{self.format(record)}\n".encode(errors="backslashreplace")

    def _write(self, data: bytes) -> int:
        """Writes as much as there is room for, and returns how much that was."""
        rest = memoryview(data)
        while rest:
            try:
                rest = rest[os.write(self._descriptor, rest) :]
            except BlockingIOError:
                if self._left_out or not self._room.poll(self._room_wait_ms):
                    break
        return len(data) - len(rest)


def _left_out(lines: int) -> logging.LogRecord:
    words = "1 line is" if lines == 1 else f"{lines} lines are"
    return _log.makeRecord(
        _log.name, logging.WARNING, __file__, 0, "%s left out: nobody read this output", (words,), None
    )
