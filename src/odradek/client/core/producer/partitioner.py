"""Which partition a record goes to: as Kafka's own producer decides it, with a key and without one.

With a key, its murmur2 hash decides (`client/partitioning`). Records without a key stay on one partition of
their topic until `batch.size` bytes went there, and the next one is drawn (KIP-794): batches get full, and
all partitions get the same share. The draw goes by queues: a partition whose queue is shorter is drawn more
often, so that a slow broker is not given more than it can store.

    queues 0, 3, 1 (longest 3)    weights 4, 1, 3

Invariant: a partition without a leader is drawn only if none has one.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from odradek.base.chance import Chance
from odradek.base.ids import TopicPartition

_SWITCH_ANYWAY: Final = 2
"""After this many times `batch.size` the partition changes also in the middle of a batch."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A partition that records without a key may go to."""

    partition: int
    queue_length: int = 0
    """Its batches that are not sent yet."""


class StickyPartitioner:
    """See the module; one for all topics of a producer."""

    def __init__(self, chance: Chance, *, batch_size: int, is_adaptive: bool = True) -> None:
        self._chance = chance
        self._batch_size = max(1, batch_size)
        self._is_adaptive = is_adaptive
        self.current: Final[dict[str, TopicPartition]] = {}
        """By topic, where its next record goes; where it is missing `draw` decides."""
        # How many bytes were appended to each of these since it was drawn.
        self._appended: dict[TopicPartition, int] = {}

    def draw(self, topic: str, candidates: Sequence[Candidate]) -> int:
        """Choose the next partition among `candidates`, of which there must be one."""
        longest = max(one.queue_length for one in candidates)
        weights = [longest + 1 - one.queue_length if self._is_adaptive else 1 for one in candidates]
        left = self._chance.below(sum(weights))
        for one, weight in zip(candidates, weights, strict=True):
            if left < weight:
                self.forget(topic)
                current = self.current[topic] = TopicPartition(topic, one.partition)
                self._appended[current] = 0
                return one.partition
            left -= weight
        raise AssertionError("a number below the sum lies within one weight")

    def appended(self, partition: TopicPartition, record_bytes: int, *, is_batch_full: bool) -> None:
        """A record was appended to a partition, which counts for the current one of its topic.

        `is_batch_full`: the record has ended its batch.
        """
        before = self._appended.get(partition)
        if before is None:
            return
        appended = self._appended[partition] = before + record_bytes
        limit = self._batch_size if is_batch_full else self._batch_size * _SWITCH_ANYWAY
        if appended >= limit:
            self.forget(partition.topic)

    def fill(self, topic: str, ends: Sequence[int], first: int) -> int:
        """Append records without a key, from number `first` on, to the current partition until it is full.

        `ends` are the bytes of the records, summed up. Returns the number behind the last one that was
        appended; at least one is.
        """
        before = ends[first - 1] if first else 0
        current = self.current[topic]
        wanted = before + self._batch_size - self._appended[current]
        end = min(len(ends), bisect_left(ends, wanted, first) + 1)
        self.appended(current, int(ends[end - 1] - before), is_batch_full=True)
        return end

    def forget(self, topic: str) -> None:
        """Draw again: the topic's partitions have changed."""
        current = self.current.pop(topic, None)
        if current is not None:
            del self._appended[current]
