"""The offsets of one group: committed, on their way to the log, and pending in transactions.

Pure state. Invariant: of two commits of a partition the one later in the log counts, in whatever order they
are applied. Commits of a transaction count from their place in the log, once the transaction commits:

    log   40: g1 commits t-0 at 7      41: producer 9 commits t-0 at 8, open      42: g1 commits t-0 at 5
    42 applied   committed 5
    9 commits    committed 5, for 41 < 42
"""

from collections.abc import Iterable, Iterator, Mapping, Set
from itertools import chain
from typing import NamedTuple, TypeAlias

from odradek.base.ids import NO_EPOCH, NO_OFFSET, LeaderEpoch, Offset, ProducerId, TopicPartition

NO_EXPIRY = -1


class CommittedOffset(NamedTuple):
    """A committed offset: where a group continues in one partition."""

    offset: Offset
    leader_epoch: LeaderEpoch = NO_EPOCH
    """Of the last record that was read; -1 when the client did not say (KIP-320)."""
    metadata: str = ""
    """The client's metadata text."""
    commit_ms: int = 0
    """When it was committed, by the wall clock."""
    expire_ms: int = NO_EXPIRY
    """When it expires, where the client said so (OffsetCommit 2 to 4); else -1."""
    log_offset: Offset = NO_OFFSET
    """Of the first record of the batch that holds it; -1 while it is on its way."""


StoredOffset: TypeAlias = tuple[Offset, LeaderEpoch, str, int, int, Offset]
"""A `CommittedOffset` as a plain tuple: there may be a million of them, and those alone the garbage collector
looks at but once."""


def log_offset_of(stored: StoredOffset) -> Offset:
    """`CommittedOffset.log_offset`."""
    return stored[-1]


class TransactionalProducer(NamedTuple):
    """Whose transaction a commit belongs to."""

    producer_id: ProducerId
    epoch: int


class GroupOffsets:
    """The offsets of one group."""

    __slots__ = ("_committed", "_on_their_way", "_staged")

    def __init__(self, committed: dict[TopicPartition, StoredOffset] | None = None) -> None:
        # What OffsetFetch answers.
        self._committed: dict[TopicPartition, StoredOffset] = {} if committed is None else committed
        # How many commits of a partition are being written; absent when none is.
        self._on_their_way: dict[TopicPartition, int] = {}
        # Commits of transactions that are open, by producer.
        self._staged: dict[ProducerId, dict[TopicPartition, CommittedOffset]] = {}

    def __len__(self) -> int:
        return len(self._committed)

    def __contains__(self, topic_partition: TopicPartition) -> bool:
        return topic_partition in self._committed

    def __iter__(self) -> Iterator[TopicPartition]:
        """The partitions with committed offsets."""
        return iter(self._committed)

    def get(self, topic_partition: TopicPartition) -> CommittedOffset | None:
        """What is committed for a partition."""
        found = self._committed.get(topic_partition)
        return None if found is None else CommittedOffset(*found)

    def stored(self, topic_partitions: Iterable[TopicPartition]) -> list[StoredOffset | None]:
        """What is committed for each of the partitions, at one moment."""
        return list(map(self._committed.get, topic_partitions))

    def known(self) -> Iterator[TopicPartition]:
        """The partitions with offsets, committed or pending, each once; take a copy before they change."""
        if not self._staged:
            return iter(self._committed)
        staged = (key for pending in self._staged.values() for key in pending)
        return iter(dict.fromkeys(chain(self._committed, staged)))

    def items(self) -> Iterator[tuple[TopicPartition, CommittedOffset]]:
        """Everything that is committed."""
        return ((key, CommittedOffset(*stored)) for key, stored in self._committed.items())

    @property
    def is_empty(self) -> bool:
        """Whether nothing is kept, pending or on its way."""
        return not (self._committed or self._on_their_way or self._staged)

    def put(self, topic_partition: TopicPartition, committed: CommittedOffset) -> None:
        """Take a commit that is in the log, unless a later one was taken before."""
        known = self._committed.get(topic_partition)
        if known is None or log_offset_of(known) <= committed.log_offset:
            self._committed[topic_partition] = committed[:]

    def put_all(self, offsets: Mapping[TopicPartition, CommittedOffset], log_offset: Offset) -> None:
        """Take commits that are in the log from `log_offset` on."""
        committed = self._committed
        before = map(committed.get, offsets)
        for (topic_partition, offset), known in zip(offsets.items(), before, strict=True):
            if known is None or known[-1] <= log_offset:  # `log_offset_of`, for each of very many
                committed[topic_partition] = (*offset[:-1], log_offset)

    def knows(self, topic_partition: TopicPartition) -> bool:
        """Whether a partition has an offset, committed or pending."""
        return topic_partition in self._committed or self.is_unstable(topic_partition)

    def forget(self, topic_partition: TopicPartition, log_offset: Offset) -> None:
        """Take a tombstone that stands at `log_offset`: commits after it count, those before it do not.

        Neither do those of transactions that are open still.
        """
        known = self._committed.get(topic_partition)
        if known is not None and log_offset_of(known) < log_offset:
            del self._committed[topic_partition]
        for producer_id, staged in list(self._staged.items()):
            pending = staged.get(topic_partition)
            if pending is not None and pending.log_offset < log_offset:
                del staged[topic_partition]
                if not staged:
                    del self._staged[producer_id]

    def forget_some(self, topic_partitions: Iterable[TopicPartition], log_offset: Offset) -> None:
        """Take tombstones of these partitions that stand from `log_offset` on."""
        if self._staged:
            for topic_partition in topic_partitions:
                self.forget(topic_partition, log_offset)
            return
        committed = self._committed
        for topic_partition in topic_partitions:
            known = committed.get(topic_partition)
            if known is not None and known[-1] < log_offset:  # `log_offset_of`, for each of very many
                del committed[topic_partition]

    def forget_all(self, log_offset: Offset) -> None:
        """Take a tombstone for each partition that stands at `log_offset`."""
        self.forget_some(list(self.known()), log_offset)

    @property
    def has_writes(self) -> bool:
        """Whether commits are on their way."""
        return bool(self._on_their_way)

    # --- writes under way

    def begin_write(self, topic_partitions: Iterable[TopicPartition]) -> None:
        """Note that commits are on their way: what they replace must not be expired meanwhile."""
        for topic_partition in topic_partitions:
            self._on_their_way[topic_partition] = self._on_their_way.get(topic_partition, 0) + 1

    def end_write(self, topic_partitions: Iterable[TopicPartition]) -> None:
        """Note that they have arrived, or failed."""
        for topic_partition in topic_partitions:
            left = self._on_their_way[topic_partition] - 1
            if left:
                self._on_their_way[topic_partition] = left
            else:
                del self._on_their_way[topic_partition]

    # --- transactions

    def stage(
        self, producer_id: ProducerId, topic_partition: TopicPartition, committed: CommittedOffset
    ) -> None:
        """Take a commit that counts when its transaction does; a later one of the producer replaces it."""
        staged = self._staged.setdefault(producer_id, {})
        known = staged.get(topic_partition)
        if known is None or known.log_offset <= committed.log_offset:
            staged[topic_partition] = committed

    def complete(self, producer_id: ProducerId, *, committed: bool) -> None:
        """The producer's transaction has ended; without any here, nothing happens."""
        staged = self._staged.pop(producer_id, {})
        if committed:
            for topic_partition, offset in staged.items():
                self.put(topic_partition, offset)

    def is_unstable(self, topic_partition: TopicPartition) -> bool:
        """Whether an open transaction may still change the partition's offset (KIP-447)."""
        return any(topic_partition in staged for staged in self._staged.values())

    def unstable(self) -> Set[TopicPartition]:
        """The partitions that are unstable now (`is_unstable`)."""
        return frozenset().union(*self._staged.values())

    @property
    def open_producers(self) -> tuple[ProducerId, ...]:
        """The producers with open transactions here."""
        return tuple(self._staged)

    def is_settled(self, topic_partition: TopicPartition) -> bool:
        """Whether nothing is on its way or pending that concerns the partition."""
        return topic_partition not in self._on_their_way and not self.is_unstable(topic_partition)
