"""The partitions of one fetcher, each in the queue of its state.

Invariant: a partition in FETCHING is in the session; one in any other state is in the queue of that state, in
order of arrival, and nowhere else. Delayed partitions are in a heap by their deadlines, too. So the next work
is found without a search over all partitions.
"""

from collections.abc import Iterable, Iterator
from heapq import heappop, heappush
from itertools import count, islice
from typing import Final

from odradek.base.ids import LeaderEpoch, TopicId, TopicPartition
from odradek.replication.fetcher.asks import PartitionAsk
from odradek.replication.fetcher.fetcher_ports import FollowedLog
from odradek.replication.fetcher.followed_partition import Event, FollowedPartition, State
from odradek.replication.fetcher.leader_session import LeaderSession

RESUMED_MAX: Final = 1_000
"""How many delayed partitions are resumed in one call."""


class PartitionQueues:
    """All partitions of one fetcher; `move` and `delay` are the only ways from one state to another."""

    __slots__ = (
        "_arrivals",
        "_deadlines",
        "_delayed",
        "_failed",
        "_locating",
        "_names",
        "_numbers",
        "_partitions",
        "_queues",
        "_settling",
        "_throttled",
        "_truncating",
        "session",
    )

    def __init__(self) -> None:
        self.session = LeaderSession()
        """Holds the partitions in FETCHING."""
        self._partitions: dict[TopicPartition, FollowedPartition] = {}
        self._truncating: dict[TopicPartition, FollowedPartition] = {}
        self._locating: dict[TopicPartition, FollowedPartition] = {}
        self._settling: dict[TopicPartition, FollowedPartition] = {}
        self._throttled: dict[TopicPartition, FollowedPartition] = {}
        self._delayed: dict[TopicPartition, FollowedPartition] = {}
        self._deadlines: list[tuple[int, int, FollowedPartition]] = []
        """A heap of deadline, a number that no other entry has, and partition.

        The entry of a partition that has left DELAYED stays until its deadline, and is then ignored.
        """
        self._arrivals = count()
        self._failed: dict[TopicPartition, FollowedPartition] = {}
        self._names: dict[TopicId, str] = {}
        """The names of the topics that have a partition here, by the ids that answers hold."""
        self._numbers: dict[TopicId, int] = {}
        """How many partitions each of these topics has."""
        self._queues: Final = {
            State.TRUNCATING: self._truncating,
            State.LOCATING: self._locating,
            State.SETTLING: self._settling,
            State.THROTTLED: self._throttled,
            State.DELAYED: self._delayed,
            State.FAILED: self._failed,
        }

    def __len__(self) -> int:
        return len(self._partitions)

    def all(self) -> Iterable[FollowedPartition]:
        """All partitions; take a copy before anything that adds or removes one."""
        return self._partitions.values()

    def get(self, topic_partition: TopicPartition) -> FollowedPartition | None:
        """The partition, or None if it is not here."""
        return self._partitions.get(topic_partition)

    def count(self, state: State) -> int:
        """How many partitions are in a state."""
        return len(self.session) if state is State.FETCHING else len(self._queues[state])

    def name_of(self, topic_id: TopicId) -> str | None:
        """The topic of an id, if a partition of it is here."""
        return self._names.get(topic_id)

    @property
    def has_work(self) -> bool:
        """Whether any partition has a request to send now."""
        return bool(self._truncating or self._locating or len(self.session))

    def first_in(self, state: State, at_most: int) -> Iterator[FollowedPartition]:
        """The oldest entries of a state's queue; they may leave it during the iteration."""
        return iter(list(islice(self._queues[state].values(), at_most)))

    def next_resumption_ms(self) -> int | None:
        """When the first delay ends; None while no partition is delayed."""
        while self._deadlines and not self._is_delayed(self._deadlines[0]):
            heappop(self._deadlines)
        return self._deadlines[0][0] if self._deadlines else None

    def add(
        self,
        topic_partition: TopicPartition,
        topic_id: TopicId,
        leader_epoch: LeaderEpoch,
        now_ms: int,
        *,
        was_delayed: bool = False,
    ) -> FollowedPartition:
        """Add a partition, replacing any earlier state of it."""
        self.remove(topic_partition)
        added = FollowedPartition(topic_partition, topic_id, leader_epoch, now_ms, was_delayed=was_delayed)
        self._partitions[topic_partition] = self._truncating[topic_partition] = added
        self._names[topic_id] = topic_partition.topic
        self._numbers[topic_id] = self._numbers.get(topic_id, 0) + 1
        return added

    def remove(self, topic_partition: TopicPartition) -> bool:
        """Remove a partition; returns False if it was not here."""
        gone = self._partitions.pop(topic_partition, None)
        if gone is None:
            return False
        self._leave(gone)
        self._numbers[gone.topic_id] -= 1
        if not self._numbers[gone.topic_id]:
            del self._numbers[gone.topic_id], self._names[gone.topic_id]
        return True

    def move(self, followed: FollowedPartition, event: Event, now_ms: int, reason: str = "") -> None:
        """See `FollowedPartition.move`. `want` adds a partition that enters FETCHING to the session."""
        self._leave(followed, keeps_fetching=(followed.state, event) in _KEEPS_FETCHING)
        followed.move(event, now_ms, reason)
        queue = self._queues.get(followed.state)
        if queue is not None:
            queue[followed.topic_partition] = followed

    def delay(self, followed: FollowedPartition, now_ms: int, delay_ms: int, reason: str) -> None:
        """See `FollowedPartition.delay`; `resume` ends it."""
        self._leave(followed)
        followed.delay(now_ms, delay_ms, reason)
        self._delayed[followed.topic_partition] = followed
        heappush(self._deadlines, (followed.delayed_until_ms, next(self._arrivals), followed))

    def _leave(self, followed: FollowedPartition, *, keeps_fetching: bool = False) -> None:
        if keeps_fetching:
            return
        queue = self._queues.get(followed.state)
        if queue is None:
            self.session.leave(followed.topic_partition)
        else:
            queue.pop(followed.topic_partition, None)

    def want(self, followed: FollowedPartition, log: FollowedLog) -> None:
        """Fetch a partition from its LEO on."""
        followed.fetch_from(log.end_offset, log.latest_epoch)
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
        """Resume the partitions whose delay is over, at most RESUMED_MAX in one call."""
        for _ in range(RESUMED_MAX):
            deadline_ms = self.next_resumption_ms()
            if deadline_ms is None or deadline_ms > now_ms:
                break
            _, _, followed = heappop(self._deadlines)
            self.move(followed, Event.RESUMED, now_ms)

    def _is_delayed(self, entry: tuple[int, int, FollowedPartition]) -> bool:
        """Whether the entry's partition is here and waits for this deadline."""
        deadline_ms, _, followed = entry
        return (
            self._delayed.get(followed.topic_partition) is followed
            and followed.delayed_until_ms == deadline_ms
        )


_KEEPS_FETCHING: Final = frozenset({(State.FETCHING, Event.ADVANCED), (State.FETCHING, Event.CUT)})
"""Transitions that leave a partition in the session."""
