"""Commits that come in one turn of the loop, written as one batch: what a batch costs is paid once for all.

The log has them in the order in which they came, and nothing that came later stands before them; so every
other append of the partition is preceded by a `flush`.

    add(a), add(b)   gathered; the end of the turn is deferred
    the turn ends    a and b are appended as one batch, and count; each is answered when it is replicated

A lone commit does not wait: its turn ends when the requests that came with it have been looked at. Kafka's
own coordinator gathers likewise, for as long as `group.coordinator.append.linger.ms` says.
"""

from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import Defer
from odradek.base.ids import Offset
from odradek.coordinator.groups.log_records import KeyValue
from odradek.coordinator.runtime.partition_log import AppendResult

BATCH_BYTES_MAX: Final = 64 << 10
"""Keys and values that are gathered at most; a commit that is larger by itself is a batch of its own."""

_TOO_LARGE: Final = (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE)


class GatheredWrite(NamedTuple):
    """Records that are to be appended, and what is to happen then."""

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
            # None of them must fail for the company that it was in.
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
