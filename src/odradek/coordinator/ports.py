"""What a coordinator needs of the broker: to append to a partition of its topic, and to read it back.

Law: everything here is a Protocol over plain values. `server` implements both over the replica manager; tests
and the simulator bring their own.
"""

from collections.abc import Callable
from typing import NamedTuple, Protocol, TypeAlias

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import NO_OFFSET, Offset, TopicPartition
from odradek.records.header import Buffer


class Written(NamedTuple):
    """What became of an append."""

    error: ErrorCode = ErrorCode.NONE
    """NONE when every in-sync replica has the batch; REQUEST_TIMED_OUT when that is not known."""
    base_offset: Offset = NO_OFFSET
    """The offset of the batch's first record; -1 when nothing was written."""


WriteDone: TypeAlias = Callable[[Written], None]


class PartitionWriter(Protocol):
    """Appends to partitions led here."""

    def append(
        self, topic_partition: TopicPartition, batch: Buffer, *, timeout_ms: int, done: WriteDone
    ) -> None:
        """Append one batch with acks=all; `done` is called once, perhaps before this returns."""


class PartitionReader(Protocol):
    """Reads partitions led here, to load what their records say."""

    def bounds(self, topic_partition: TopicPartition) -> tuple[Offset, Offset] | None:
        """Log start and log end; None when the partition cannot be read here."""

    def read(self, topic_partition: TopicPartition, start: Offset, max_bytes: int) -> Buffer:
        """Whole batches from the one that holds `start` on, at least one; empty at the log's end.

        The last batch may be cut short. Raises LogError.
        """
