"""The partitions of one fetcher, each in the queue of its state.

Invariant: a partition that truncates, locates, is delayed or has failed is in the queue of that state alone,
in the order in which they came; one that fetches is wanted in the session, and in no queue. So whoever looks
for what is to be done next never looks at all partitions.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from odradek.base.ids import LeaderEpoch, TopicId, TopicPartition
from odradek.replication.fetcher.asks import PartitionAsk
from odradek.replication.fetcher.fetcher_ports import FollowedLog
from odradek.replication.fetcher.followed_partition import Event, FollowedPartition, State
from odradek.replication.fetcher.leader_session import LeaderSession

RESUMED_MAX: Final = 1_000
"""How many delayed partitions go on in one call."""


class PartitionQueues:
    """All partitions of one fetcher; `move` is the only way from one state to another."""

    __slots__ = (
        "_delayed",
        "_failed",
        "_locating",
        "_names",
        "_numbers",
        "_partitions",
        "_queues",
        "_truncating",
        "session",
    )

    def __init__(self) -> None:
        self.session = LeaderSession()
        """Wants those that fetch."""
        self._partitions: dict[TopicPartition, FollowedPartition] = {}
        self._truncating: dict[TopicPartition, FollowedPartition] = {}
        self._locating: dict[TopicPartition, FollowedPartition] = {}
        self._delayed: dict[TopicPartition, FollowedPartition] = {}
        """The backoff being one for all, the first has the earliest deadline."""
        self._failed: dict[TopicPartition, FollowedPartition] = {}
        self._names: dict[TopicId, str] = {}
        """By which answers name topics; those that have a partition here."""
        self._numbers: dict[TopicId, int] = {}
        """How many partitions each of them has."""
        self._queues: Final = {
            State.TRUNCATING: self._truncating,
            State.LOCATING: self._locating,
            State.DELAYED: self._delayed,
            State.FAILED: self._failed,
        }

    def __len__(self) -> int:
        return len(self._partitions)

    def all(self) -> Iterable[FollowedPartition]:
        """All partitions; take a copy before anything that adds or removes one."""
        return self._partitions.values()

    def get(self, topic_partition: TopicPartition) -> FollowedPartition | None:
        """A partition, if it is here."""
        return self._partitions.get(topic_partition)

    def count(self, state: State) -> int:
        """How many partitions are in a state."""
        return len(self.session) if state is State.FETCHING else len(self._queues[state])

    def name_of(self, topic_id: TopicId) -> str | None:
        """The topic of an id, if a partition of it is here."""
        return self._names.get(topic_id)

    @property
    def has_work(self) -> bool:
        """Whether any partition has something to ask now."""
        return bool(self._truncating or self._locating or len(self.session))

    def first_in(self, state: State, at_most: int) -> Iterator[FollowedPartition]:
        """Those that came first into a state's queue; they may leave it meanwhile."""
        return iter(list(islice(self._queues[state].values(), at_most)))

    def next_resumption_ms(self) -> int | None:
        """When the first delayed partition goes on; None while none is delayed."""
        first = next(iter(self._delayed.values()), None)
        return None if first is None else first.delayed_until_ms

    def add(
        self, topic_partition: TopicPartition, topic_id: TopicId, leader_epoch: LeaderEpoch, now_ms: int
    ) -> FollowedPartition:
        """Begin with a partition, in place of what was known of it."""
        self.remove(topic_partition)
        added = FollowedPartition(topic_partition, topic_id, leader_epoch, now_ms)
        self._partitions[topic_partition] = self._truncating[topic_partition] = added
        self._names[topic_id] = topic_partition.topic
        self._numbers[topic_id] = self._numbers.get(topic_id, 0) + 1
        return added

    def remove(self, topic_partition: TopicPartition) -> bool:
        """Forget a partition; False when it was not here."""
        gone = self._partitions.pop(topic_partition, None)
        if gone is None:
            return False
        self._leave(gone)
        self._numbers[gone.topic_id] -= 1
        if not self._numbers[gone.topic_id]:
            del self._numbers[gone.topic_id], self._names[gone.topic_id]
        return True

    def move(self, followed: FollowedPartition, event: Event, now_ms: int, reason: str = "") -> None:
        """See `FollowedPartition.move`. One that comes to fetch is put into the session by `want`."""
        self._leave(followed, keeps_fetching=(followed.state, event) in _KEEPS_FETCHING)
        followed.move(event, now_ms, reason)
        queue = self._queues.get(followed.state)
        if queue is not None:
            queue[followed.topic_partition] = followed

    def _leave(self, followed: FollowedPartition, *, keeps_fetching: bool = False) -> None:
        if keeps_fetching:
            return
        queue = self._queues.get(followed.state)
        if queue is None:
            self.session.leave(followed.topic_partition)
        else:
            queue.pop(followed.topic_partition, None)

    def want(self, followed: FollowedPartition, log: FollowedLog) -> None:
        """Fetch a partition on from where its log ends."""
        assert followed.state is State.FETCHING, f"{followed.topic_partition} {followed.state.value}"
        followed.fetch_offset = log.end_offset
        followed.last_fetched_epoch = log.latest_epoch
        self.session.want(
            PartitionAsk(
                followed.topic_partition,
                followed.topic_id,
                followed.leader_epoch,
                followed.fetch_offset,
                followed.last_fetched_epoch,
                log.log_start_offset,
            )
        )

    def resume(self, now_ms: int) -> None:
        """Let those go on whose delay is over."""
        for followed in self.first_in(State.DELAYED, RESUMED_MAX):
            if followed.delayed_until_ms > now_ms:
                break
            self.move(followed, Event.RESUMED, now_ms)


_KEEPS_FETCHING: Final = frozenset({(State.FETCHING, Event.ADVANCED), (State.FETCHING, Event.CUT)})
"""Transitions that leave a partition in the session."""
