"""Fetch sessions: request and answer hold only what changed since the last fetch (F10, KIP-227).

A session knows what was requested and what was sent; it must not know logs. The session id and epoch of a
request decide how it is handled:

    epoch 0            full: all partitions are listed; a session is opened if there is room
                       (id not 0: that session is closed first)
    epoch -1           full, and no session afterwards; the one named is closed
    id i, epoch n      incremental: partitions added, changed, forgotten; n must be the epoch expected
      unknown i        FETCH_SESSION_ID_NOT_FOUND
      unexpected n     INVALID_FETCH_SESSION_EPOCH
      ids for names    FETCH_SESSION_TOPIC_ID_ERROR: Fetch 13 names topics by id, 12 by name

An idle incremental fetch of 1,000 partitions names no partition, and neither does its answer; nor does the
broker look at any: it knows which have news (`session_news`). What grows with the partitions of a request is
done in steps. A session that is closed meanwhile, or used by another request, gets no more of them.

A partition that returned records moves to the end of its session's order: when an answer is full, the other
partitions come first next time.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import Pace, Steps, exhaust, listed, stepwise
from odradek.base.ids import (
    NO_BROKER,
    NO_BROKER_EPOCH,
    NO_OFFSET,
    NO_TOPIC_ID,
    BrokerId,
    TopicId,
    TopicPartition,
)
from odradek.replication.fetch_request import FetchParams, PartitionFetch
from odradek.replication.outcomes import FetchOutcome
from odradek.replication.session_news import PartitionEvents, SessionNews, SessionPartition

SESSION_ERRORS: Final = frozenset(
    {
        ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
        ErrorCode.INVALID_FETCH_SESSION_EPOCH,
        ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
    }
)
"""What concerns the session and no single partition of an answer."""

NO_SESSION_ID: Final = 0
INITIAL_EPOCH: Final = 0
FINAL_EPOCH: Final = -1
EPOCH_MAX: Final = 0x7FFFFFFF

SessionKey: TypeAlias = tuple[TopicId | str, int]
"""A partition within a session: by the topic's id from Fetch 13 on, else by its name."""
SessionOutcomes: TypeAlias = Sequence[tuple[SessionPartition, FetchOutcome]]
"""The partitions of a session that were read, in order."""


def key_of(fetch: PartitionFetch) -> SessionKey:
    """Returns the key of this partition in a session."""
    topic = fetch.topic_partition.topic if fetch.topic_id == NO_TOPIC_ID else fetch.topic_id
    return (topic, fetch.topic_partition.partition)


def epoch_after(epoch: int) -> int:
    """The next epoch of a session; after the largest comes 1, for 0 would open another."""
    return 1 if epoch >= EPOCH_MAX else epoch + 1


def is_news(partition: SessionPartition, outcome: FetchOutcome) -> bool:
    """Whether an incremental answer must hold this outcome."""
    return (
        len(outcome.records) > 0
        or outcome.high_watermark != partition.high_watermark
        or outcome.last_stable_offset != partition.last_stable_offset
        or outcome.log_start_offset != partition.log_start_offset
        or outcome.error_code is not ErrorCode.NONE
        or outcome.diverging_epoch is not None
        or outcome.preferred_read_replica != NO_BROKER
    )


def note_sent(partition: SessionPartition, outcome: FetchOutcome) -> None:
    """Record that this outcome is sent to the client."""
    failed = outcome.error_code is not ErrorCode.NONE
    partition.high_watermark = NO_OFFSET if failed else outcome.high_watermark
    partition.last_stable_offset = outcome.last_stable_offset
    partition.log_start_offset = outcome.log_start_offset


class FollowerLife(NamedTuple):
    """A broker between two registrations, which fetches as a follower; it may have several sessions."""

    broker_id: BrokerId
    epoch: int
    """Of the registration (R16); -1 if its requests do not say."""

    def ends(self, other: "FollowerLife | None") -> bool:
        """Whether the other one is an earlier life of the same broker, which will not fetch again."""
        return (
            other is not None
            and self.broker_id == other.broker_id
            and NO_BROKER_EPOCH < other.epoch < self.epoch
        )


class FetchSession:
    """What one client fetches, over many requests. Times are on the monotonic clock."""

    __slots__ = (
        "_nameless",
        "_turn",
        "counted",
        "created_ms",
        "expected_epoch",
        "follower",
        "is_closed",
        "last_used_ms",
        "news",
        "partitions",
        "session_id",
        "uses_topic_ids",
    )

    def __init__(
        self,
        session_id: int,
        events: PartitionEvents,
        now_ms: int,
        *,
        follower: FollowerLife | None,
        uses_topic_ids: bool,
    ) -> None:
        self.session_id = session_id
        """Random, in [1, 2^31), so that a client cannot guess another client's session id by counting."""
        self.follower = follower
        """Whose it is; None: a consumer's. When the cache is full, a follower's may evict a consumer's."""
        self.uses_topic_ids = uses_topic_ids
        self.created_ms = now_ms
        self.last_used_ms = now_ms
        """When its last request came; never below `created_ms`."""
        self.expected_epoch = INITIAL_EPOCH
        """The session epoch that the next request must have; 0 until all partitions were added."""
        self.counted = 0
        """For how many partitions the cache counts it; while partitions are added, for more than it has."""
        self.is_closed = False
        """Whether it has left the cache."""
        self.partitions: dict[SessionKey, SessionPartition] = {}
        self.news = SessionNews(events)
        self._turn = 0
        """The largest turn of its partitions."""
        self._nameless: dict[SessionPartition, None] = {}
        """Partitions of topics whose ids this broker did not know when they were requested."""

    def add(self, fetch: PartitionFetch) -> SessionPartition:
        """Add a partition, which is read after all others."""
        partition = SessionPartition(fetch, self.news)
        self.partitions[key_of(fetch)] = partition
        self.move_to_end(partition)
        self._note_name(partition)
        return partition

    def change(
        self,
        changed: Iterable[PartitionFetch],
        forgotten: Iterable[SessionKey],
        name_of: Callable[[TopicId], str | None],
    ) -> Steps[bool]:
        """Apply an incremental request: add or update the `changed` partitions, drop the `forgotten` ones.

        Then fill in the names of topics that this broker has come to know. Returns False if the session was
        closed or used by another request between two steps; the rest is not applied then.
        """
        epoch, pace = self.expected_epoch, Pace()
        for _ in self._changes(changed, forgotten, name_of):
            if pace.is_over():
                yield
                if self.is_closed or self.expected_epoch != epoch:
                    return False
        return True

    def _changes(
        self,
        changed: Iterable[PartitionFetch],
        forgotten: Iterable[SessionKey],
        name_of: Callable[[TopicId], str | None],
    ) -> Iterator[None]:
        """What `change` does, one partition at a time."""
        for fetch in changed:
            self._take(fetch)
            yield
        for key in forgotten:
            self.forget(key)
            yield
        for partition in list(self._nameless):
            self._resolve_name(partition, name_of)
            yield

    def _take(self, fetch: PartitionFetch) -> None:
        """Add a partition, or fetch it differently."""
        known = self.partitions.get(key_of(fetch))
        if known is None:
            self.add(fetch)
            return
        known.on_event()
        if known.fetch.topic_partition != fetch.topic_partition:
            known.stop_listening()
        known.fetch = fetch
        self._note_name(known)

    def forget(self, key: SessionKey) -> None:
        """Drop a partition, if the session has it."""
        gone = self.partitions.pop(key, None)
        if gone is not None:
            gone.leave()
            self._nameless.pop(gone, None)

    def move_to_end(self, partition: SessionPartition) -> None:
        """Read the partition after all others."""
        partition.turn = self._turn = self._turn + 1

    def to_read(self, params: FetchParams) -> int:
        """How many of its partitions a fetch with these parameters reads, if nothing is named."""
        return len(self.news.unread if self.news.is_for(params) else self.partitions)

    @property
    def nameless(self) -> int:
        """How many of its partitions are of topics that were unknown here when they were requested."""
        return len(self._nameless)

    def _resolve_name(self, partition: SessionPartition, name_of: Callable[[TopicId], str | None]) -> None:
        fetch = partition.fetch
        name = name_of(fetch.topic_id)
        if name is not None:
            del self._nameless[partition]
            fetch.topic_partition = TopicPartition(name, fetch.topic_partition.partition)

    def end(self) -> Steps[None]:
        """Called when it leaves the cache: answer the fetch that waits, then forget all, in steps."""
        waiting = self.news.operation
        if waiting is not None:
            waiting.force_complete()
        yield from stepwise(list(self.partitions), self.forget)

    def _note_name(self, partition: SessionPartition) -> None:
        if partition.fetch.topic_partition.topic:
            self._nameless.pop(partition, None)
        else:
            self._nameless[partition] = None


@dataclass(slots=True)
class ServedFetch:
    """What is answered to a fetch: the content of a Fetch response, as its leader makes it."""

    session_id: int = NO_SESSION_ID
    """0: there is no session, the next fetch is a full one."""
    error_code: ErrorCode = ErrorCode.NONE
    """The error of the whole fetch."""
    partitions: Sequence[tuple[PartitionFetch, FetchOutcome]] = ()


class SessionlessFetch:
    """Answers all requested partitions and remembers nothing."""

    __slots__ = ("fetches",)

    def __init__(self, fetches: Sequence[PartitionFetch]) -> None:
        self.fetches = fetches
        """Every partition to read, in order."""

    def answer(self, outcomes: Sequence[FetchOutcome]) -> ServedFetch:
        """Called once, with the outcomes in the order of `fetches`."""
        return exhaust(self.answer_in_steps(outcomes))

    def answer_in_steps(self, outcomes: Sequence[FetchOutcome]) -> Steps[ServedFetch]:
        """`answer` where there are very many, a few in each step."""
        return ServedFetch(partitions=(yield from listed(zip(self.fetches, outcomes, strict=True))))


class FullFetch(SessionlessFetch):
    """Answers all requested partitions; `open_session` then makes a session of them, if there is room."""

    __slots__ = ("_open_session",)

    def __init__(
        self, fetches: Sequence[PartitionFetch], open_session: Callable[[int], FetchSession | None]
    ) -> None:
        """`open_session` is called with the number of partitions."""
        super().__init__(fetches)
        self._open_session = open_session

    def answer_in_steps(self, outcomes: Sequence[FetchOutcome]) -> Steps[ServedFetch]:
        """See `SessionlessFetch.answer_in_steps`.

        The session takes no request before it has all partitions. If it is closed before, for another client,
        this one gets its id nevertheless, and learns with its next fetch that the session is gone.
        """
        answer = yield from super().answer_in_steps(outcomes)
        session = self._open_session(len(outcomes)) if outcomes else None
        if session is None:
            return answer
        answer.session_id, pace = session.session_id, Pace()
        for fetch, outcome in answer.partitions:
            note_sent(session.add(fetch), outcome)
            if pace.is_over():
                yield
                if session.is_closed:
                    return answer
        session.expected_epoch = epoch_after(INITIAL_EPOCH)
        return answer


class IncrementalFetch:
    """Reads the partitions of a session that may have news; answers those that have."""

    __slots__ = ("_epoch_after", "session")

    def __init__(self, session: FetchSession) -> None:
        self.session = session
        self._epoch_after = session.expected_epoch
        """The epoch of the next request; if another request came in between, this answer is void."""

    def answer(self, outcomes: SessionOutcomes) -> ServedFetch:
        """Called once, with the partitions that were read, in the order in which they were."""
        return exhaust(self.answer_in_steps(outcomes))

    def answer_in_steps(self, outcomes: SessionOutcomes) -> Steps[ServedFetch]:
        """`answer` where there are very many, a few in each step."""
        session, pace = self.session, Pace()
        news: list[tuple[PartitionFetch, FetchOutcome]] = []
        for partition, outcome in outcomes:
            if pace.is_over():
                yield
            if session.expected_epoch != self._epoch_after:
                break
            if is_news(partition, outcome):
                note_sent(partition, outcome)
                news.append((partition.fetch, outcome))
                if len(outcome.records) > 0:
                    session.move_to_end(partition)
        if session.expected_epoch != self._epoch_after:
            return ServedFetch(session.session_id, ErrorCode.INVALID_FETCH_SESSION_EPOCH)
        return ServedFetch(session.session_id, partitions=news)


FetchContext: TypeAlias = SessionlessFetch | IncrementalFetch
"""One request within its session, or without one."""
