"""What the transaction coordinator needs of its broker beside `coordinator.ports`: markers and producer ids.

Everything here is a Protocol. What takes time is a `Later`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import Later
from odradek.base.ids import ProducerId, TopicPartition
from odradek.coordinator.transactions.transaction import Producer, TransactionVersion

TakeProducerId: TypeAlias = Callable[[Later[ProducerId | ErrorCode]], ProducerId | ErrorCode | None]
"""The result is a producer id that was never given out before, or the error why there is none."""


@dataclass(frozen=True, slots=True)
class Marker:
    """How a producer's transaction ended."""

    producer: Producer
    """In the epoch in which the marker is written, which with transactions v2 is its next one."""
    committed: bool
    coordinator_epoch: int
    """Leader epoch of the partition of `__transaction_state` that decided it; fences older coordinators."""
    version: TransactionVersion = TransactionVersion.CLASSIC
    """How the producer works."""

    @property
    def begins_next_epoch(self) -> bool:
        """Whether the end of the transaction has begun the epoch that the marker carries."""
        return self.version is TransactionVersion.V2


class MarkerWriter(Protocol):
    """The partitions of the cluster."""

    def is_gone(self, topic_partition: TopicPartition) -> bool:
        """Whether the partition is known to have been deleted; False where that is not known yet."""

    def write_markers(
        self,
        marker: Marker,
        partitions: Sequence[TopicPartition],
        is_wanted: Callable[[], bool],
        written: Later[Mapping[TopicPartition, ErrorCode]],
    ) -> Mapping[TopicPartition, ErrorCode]:
        """Write the marker to each; returns the outcomes that are known at once.

        The others come as events, with the error of one or more partitions each: leaders answer on their own.
        Nothing more is sent, and nothing may come, when `is_wanted` returns False.
        """
