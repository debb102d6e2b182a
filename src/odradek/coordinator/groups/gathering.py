"""Writes the commits of one turn of the loop as one batch, so that its cost is paid once.

Invariant: the log has them in the order of arrival, before everything that arrived later; so `flush` comes
before every other append to the partition.

    add(a), add(b)   gathered; the end of the turn is deferred
    the turn ends    a and b are appended as one batch, and count; each is answered when it is replicated

A single commit does not wait: its turn ends when the requests that arrived with it are handled. Kafka's
coordinator gathers commits, too, for `group.coordinator.append.linger.ms`.
"""

from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import Defer
from odradek.base.ids import Offset
from odradek.coordinator.groups.log_records import KeyValue
from odradek.coordinator.runtime.partition_log import AppendResult

BATCH_BYTES_MAX: Final = 64 << 10
"""The maximum of gathered bytes of keys and values; a larger commit is a separate batch."""

_TOO_LARGE: Final = (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE)


class GatheredWrite(NamedTuple):
    """Records to append, and the callbacks for the outcome."""

    records: list[KeyValue]
    appended: Callable[[Offset], None]
    """Called with the base offset of the batch: the records count from now on."""
    refused: Callable[[ErrorCode], None]
    """Called with the log's error instead: nothing was written."""


WriteBatch: TypeAlias = Callable[[list[KeyValue]], AppendResult]


class GatheredWrites:
    """What is to be written to one partition of `__consumer_offsets` at the end of this turn of the loop."""

    __slots__ = ("_defer", "_is_due", "_size_bytes", "_write", "_writes")

    def __init__(self, write: WriteBatch, defer: Defer) -> None:
        """`write` appends records as one batch; `defer` runs a callback when the turn is over."""
        self._write = write
        self._defer = defer
        self._writes: list[GatheredWrite] = []
        """In the order in which they came."""
        self._size_bytes = 0
        """Of their keys and values; at most BATCH_BYTES_MAX, unless there is but one."""
        self._is_due = False
        """Whether the end of the turn is deferred, and not over."""

    def add(self, write: GatheredWrite) -> None:
        """Take a write."""
        size_bytes = sum(len(key) + len(value or b"") for key, value in write.records)
        if self._size_bytes + size_bytes > BATCH_BYTES_MAX:
            self.flush()
        self._writes.append(write)
        self._size_bytes += size_bytes
        if not self._is_due:
            self._is_due = True
            self._defer(self._end_turn)

    def flush(self) -> None:
        """Write what was gathered, if anything was."""
        writes = self._writes
        if not writes:
            return
        self._writes = []
        self._size_bytes = 0
        result = self._write([record for write in writes for record in write.records])
        if result.error in _TOO_LARGE and len(writes) > 1:
            # A batch that is too large is written again commit by commit: none fails because of another.
            for write in writes:
                _tell_writer(write, self._write(write.records))
            return
        for write in writes:
            _tell_writer(write, result)

    def _end_turn(self) -> None:
        self._is_due = False
        self.flush()


def _tell_writer(write: GatheredWrite, result: AppendResult) -> None:
    if result.error is ErrorCode.NONE:
        write.appended(result.base_offset)
    else:
        write.refused(result.error)
