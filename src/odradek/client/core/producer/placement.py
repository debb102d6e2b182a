"""Which partition the next records go to, as far as the cluster is known.

find("orders", b"k", None, now)              orders-2: the key decides
spread("orders", [50, 100, ..., 40_000])     [(1, 310), (0, 620), (1, 700)]: runs of records without a key
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from operator import index
from typing import Final

from odradek.base.chance import Chance
from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.ids import NO_BROKER, TopicPartition
from odradek.client.core.cluster_view import ClusterView
from odradek.client.core.producer.partitioner import Candidate, StickyPartitioner
from odradek.client.core.producer.settings import Partitioner, ProducerSettings
from odradek.client.partitioning import partition_of_key
from odradek.client.refusal import may_pass, name_of

_NONE_GIVEN: Final[Mapping[int, int]] = {}
# To make one takes as long as to find out which.
_partition: Final = lru_cache(maxsize=1 << 12)(TopicPartition)


class Placement:
    """See the module."""

    def __init__(
        self,
        settings: ProducerSettings,
        view: ClusterView,
        chance: Chance,
        queue_length: Callable[[TopicPartition], int],
    ) -> None:
        """`queue_length` says how many batches of a partition wait."""
        self._ignores_keys = settings.partitioner_ignore_keys
        # The application's own.
        self._choose = settings.partitioner
        self._view = view
        self._queue_length = queue_length
        self._partitioner = StickyPartitioner(
            chance,
            batch_size=settings.batch_size,
            is_adaptive=settings.is_partitioner_adaptive,
        )
        self.appended: Final = self._partitioner.appended
        """Called after each append; see `StickyPartitioner`."""

    @property
    def ignores_keys(self) -> bool:
        """Whether records with a key are distributed as those without one."""
        return self._ignores_keys

    def find(self, topic: str, key: bytes | None, named: int | None, now_ms: int) -> TopicPartition | None:
        """Where a record goes next that names this partition, or None; None while that is not known.

        Raises ApiError as `partition_count`, and where the application's partitioner fails.
        """
        if named is not None:
            return _partition(topic, named) if self.check_partition(topic, named, now_ms) else None
        count = self.partition_count(topic)
        if count is None:
            return None
        if self._choose is not None:
            return _partition(topic, self._chosen(self._choose, topic, key, count))
        if key is not None and not self._ignores_keys:
            return _partition(topic, partition_of_key(key, count))
        return self._current(topic, count, _NONE_GIVEN)

    def spread(self, topic: str, ends: Sequence[int]) -> list[tuple[int, int]]:
        """Where many records without a key go that are appended next.

        Returns runs: (partition, number of the record behind the run). `ends` are the bytes of the records,
        summed up. The topic is known.
        """
        count = self.partition_count(topic)
        assert count is not None
        runs: list[tuple[int, int]] = []
        # Batches that this call gives to each partition: they wait there soon.
        given: Counter[int] = Counter()
        first = 0
        while first < len(ends):
            number = self._current(topic, count, given).partition
            first = self._partitioner.fill(topic, ends, first)
            given[number] += 1
            runs.append((number, first))
        return runs

    def partition_count(self, topic: str) -> int | None:
        """How many partitions a topic has; None while it is not known.

        Raises ApiError for a topic that may not be written to, and while brokers refuse the producer.
        """
        self._view.use(topic)
        known = self._view.topics.get(topic)
        if known is not None:
            return len(known.leaders)
        self._view.want([topic])
        if self._view.refusal is not None:
            raise self._view.refusal
        code = self._view.errors.get(topic)
        if code is not None and not may_pass(code):
            raise ApiError(code, f"topic {topic}: {name_of(code)}")
        return None

    def check_partition(self, topic: str, partition: int, now_ms: int) -> bool:
        """Whether a topic is known to have this partition. Raises ApiError as `partition_count`."""
        count = self.partition_count(topic)
        if count is not None and partition >= count:  # it may have got more since it was asked about
            self._view.refresh_soon(now_ms)
        return count is not None and 0 <= partition < count

    def _has_leader(self, partition: TopicPartition) -> bool:
        leader = self._view.leader(partition)
        return leader is not None and leader.node != NO_BROKER

    def _chosen(self, choose: Partitioner, topic: str, key: bytes | None, count: int) -> int:
        numbers = list(range(count))
        led = [number for number in numbers if self._has_leader(_partition(topic, number))]
        try:
            number = index(choose(key, numbers, led))
        except Exception as fault:
            said = f"the partitioner failed for a record of topic {topic}: {type(fault).__name__}: {fault}"
            raise ApiError(ErrorCode.INVALID_PARTITIONS, said) from fault
        if not 0 <= number < count:
            said = f"the partitioner chose partition {number} of topic {topic}, which has {count}"
            raise ApiError(ErrorCode.INVALID_PARTITIONS, said)
        return number

    def _current(self, topic: str, count: int, given: Mapping[int, int]) -> TopicPartition:
        current = self._partitioner.current.get(topic)
        if current is None or current.partition >= count:
            return _partition(topic, self._draw(topic, count, given))
        return current

    def _draw(self, topic: str, count: int, given: Mapping[int, int]) -> int:
        partitions = [TopicPartition(topic, number) for number in range(count)]
        led = [one for one in partitions if self._has_leader(one)]
        candidates = [
            Candidate(one.partition, self._queue_length(one) + given.get(one.partition, 0))
            for one in led or partitions
        ]
        return self._partitioner.draw(topic, candidates)
