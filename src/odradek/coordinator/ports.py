"""What a coordinator needs of the broker: to append to a partition of its topic, and to read it back.

Everything here is a Protocol over plain values. `server` implements both over the replica manager; tests and
the simulator have other implementations. Invariant: no method calls back before it returns. A result known
at once is returned; a later one is a separate event (`base.execution.Later`; an append may have several).
"""

from collections.abc import Callable
from typing import NamedTuple, Protocol, TypeAlias

from odradek.base.buffers import Buffer
from odradek.base.error_codes import ErrorCode
from odradek.base.errors import LogError
from odradek.base.ids import NO_OFFSET, Offset, TopicPartition


class Appended(NamedTuple):
    """The outcome of an append, as far as it is known when the append returns."""

    error: ErrorCode = ErrorCode.NONE
    """Why nothing was written; NONE when the records are in the log."""
    base_offset: Offset = NO_OFFSET
    """The offset of the batch's first record; -1 when nothing was written."""
    outcome: ErrorCode | None = None
    """Whether every in-sync replica has it (NONE); None while that is not known: then `settled` is called."""


Settled: TypeAlias = Callable[[ErrorCode], None]
"""Called with NONE or NOT_ENOUGH_REPLICAS_AFTER_APPEND when HW has reached the records; with
REQUEST_TIMED_OUT each time that `timeout_ms` pass before that; with any other error when this broker will
never know the outcome. REQUEST_TIMED_OUT is never the last call; the others always are."""


class PartitionWriter(Protocol):
    """Appends to partitions led here."""

    def append(
        self, topic_partition: TopicPartition, batch: Buffer, *, timeout_ms: int, settled: Settled
    ) -> Appended:
        """Append one batch with acks=all; `settled` is never called before this returns."""

    def await_replication(
        self, topic_partition: TopicPartition, end_offset: Offset, *, timeout_ms: int, settled: Settled
    ) -> ErrorCode | None:
        """Wait until HW is at `end_offset`, as an append that ended there would; see `Appended.outcome`."""


class UnreadablePartition(LogError):
    """A partition that holds less than it says."""


class PartitionReader(Protocol):
    """Reads partitions led here, to load what their records say."""

    def bounds(self, topic_partition: TopicPartition) -> tuple[Offset, Offset] | None:
        """Log start and log end; None when the partition cannot be read here."""

    def read(self, topic_partition: TopicPartition, start: Offset, max_bytes: int) -> Buffer:
        """Whole batches from the one that holds `start` on, at least one; empty at the log's end.

        The last batch may be cut short. Raises LogError.
        """
