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

An idle incremental fetch of 1,000 partitions names no partition, and neither does its answer, but the broker
still checks all 1,000 (F1-F9). A partition that returned records moves to the end of its session's order:
when an answer is full, the other partitions come first next time.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol, TypeAlias

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import NO_BROKER, NO_OFFSET, NO_TOPIC_ID, Offset, TopicId, TopicPartition
from odradek.replication.fetch_request import PartitionFetch
from odradek.replication.outcomes import FetchOutcome

NO_SESSION_ID: Final = 0
INITIAL_EPOCH: Final = 0
FINAL_EPOCH: Final = -1
EPOCH_MAX: Final = 0x7FFFFFFF

SessionKey: TypeAlias = tuple[TopicId | str, int]
"""A partition within a session: by the topic's id from Fetch 13 on, else by its name."""


def key_of(fetch: PartitionFetch) -> SessionKey:
    """Returns the key of this partition in a session."""
    topic = fetch.topic_partition.topic if fetch.topic_id == NO_TOPIC_ID else fetch.topic_id
    return (topic, fetch.topic_partition.partition)


def epoch_after(epoch: int) -> int:
    """The next epoch of a session; after the largest comes 1, for 0 would open another."""
    return 1 if epoch >= EPOCH_MAX else epoch + 1


@dataclass(slots=True)
class SessionPartition:
    """One partition of a session: what the client requests, and what was last sent to it."""

    fetch: PartitionFetch
    high_watermark: Offset = NO_OFFSET
    """HW as last sent; -1 before the first answer and after an error, so that the next answer holds it."""
    last_stable_offset: Offset = NO_OFFSET
    log_start_offset: Offset = NO_OFFSET

    def is_news(self, outcome: FetchOutcome) -> bool:
        """Whether an incremental answer must hold this outcome."""
        return (
            len(outcome.records) > 0
            or outcome.high_watermark != self.high_watermark
            or outcome.last_stable_offset != self.last_stable_offset
            or outcome.log_start_offset != self.log_start_offset
            or outcome.error_code is not ErrorCode.NONE
            or outcome.diverging_epoch is not None
            or outcome.preferred_read_replica != NO_BROKER
        )

    def note_sent(self, outcome: FetchOutcome) -> None:
        """Record that this outcome is sent to the client."""
        failed = outcome.error_code is not ErrorCode.NONE
        self.high_watermark = NO_OFFSET if failed else outcome.high_watermark
        self.last_stable_offset = outcome.last_stable_offset
        self.log_start_offset = outcome.log_start_offset


@dataclass(slots=True)
class FetchSession:
    """What one client fetches, over many requests. Times are on the monotonic clock."""

    session_id: int
    """Random, in [1, 2^31), so that a client cannot guess another client's session id by counting."""
    is_follower: bool
    """When the cache is full, a follower's session may evict a consumer's."""
    uses_topic_ids: bool
    created_ms: int
    last_used_ms: int
    """When its last request came; never below `created_ms`."""
    expected_epoch: int = 1
    """The session epoch that the next request must have."""
    partitions: dict[SessionKey, SessionPartition] = field(default_factory=dict)
    """In the order in which they are read."""

    def change(self, changed: Iterable[PartitionFetch], forgotten: Iterable[SessionKey]) -> None:
        """Apply an incremental request: add or update the `changed` partitions, drop the `forgotten` ones."""
        for fetch in changed:
            known = self.partitions.get(key_of(fetch))
            if known is None:
                self.partitions[key_of(fetch)] = SessionPartition(fetch)
            else:
                known.fetch = fetch
        for key in forgotten:
            self.partitions.pop(key, None)

    def move_to_end(self, partition: SessionPartition) -> None:
        """Move the partition to the end of the read order; does nothing if the session no longer has it."""
        key = key_of(partition.fetch)
        if self.partitions.get(key) is partition:
            del self.partitions[key]
            self.partitions[key] = partition


@dataclass(slots=True)
class FetchAnswer:
    """The content of a Fetch response."""

    session_id: int = NO_SESSION_ID
    """0: there is no session, the next fetch is a full one."""
    error_code: ErrorCode = ErrorCode.NONE
    """The error of the whole fetch."""
    partitions: Sequence[tuple[PartitionFetch, FetchOutcome]] = ()


class FetchContext(Protocol):
    """One request within its session: which partitions to read, and which of them to answer."""

    @property
    def fetches(self) -> Sequence[PartitionFetch]:
        """Every partition to read, in order."""

    def answer(self, outcomes: Sequence[FetchOutcome]) -> FetchAnswer:
        """Called once, with the outcomes in the order of `fetches`."""


class SessionlessFetch:
    """Answers all requested partitions and remembers nothing."""

    __slots__ = ("fetches",)

    def __init__(self, fetches: Sequence[PartitionFetch]) -> None:
        self.fetches = fetches

    def answer(self, outcomes: Sequence[FetchOutcome]) -> FetchAnswer:
        """See `FetchContext.answer`."""
        return FetchAnswer(partitions=list(zip(self.fetches, outcomes, strict=True)))


class FullFetch:
    """Answers all requested partitions; `open_session` then makes a session of them, if there is room."""

    __slots__ = ("_open_session", "fetches")

    def __init__(
        self,
        fetches: Sequence[PartitionFetch],
        open_session: Callable[[dict[SessionKey, SessionPartition]], int],
    ) -> None:
        self.fetches = fetches
        self._open_session = open_session

    def answer(self, outcomes: Sequence[FetchOutcome]) -> FetchAnswer:
        """See `FetchContext.answer`."""
        answered = list(zip(self.fetches, outcomes, strict=True))
        partitions = {}
        for fetch, outcome in answered:
            partition = partitions[key_of(fetch)] = SessionPartition(fetch)
            partition.note_sent(outcome)
        session_id = self._open_session(partitions) if partitions else NO_SESSION_ID
        return FetchAnswer(session_id, partitions=answered)


class IncrementalFetch:
    """Reads all partitions of the session; answers those with something new."""

    __slots__ = ("_epoch_after", "_partitions", "_session", "fetches")

    def __init__(self, session: FetchSession) -> None:
        self._session = session
        self._epoch_after = session.expected_epoch
        """The epoch of the next request; if another request came in between, this answer is void."""
        self._partitions = list(session.partitions.values())
        self.fetches = [partition.fetch for partition in self._partitions]

    def answer(self, outcomes: Sequence[FetchOutcome]) -> FetchAnswer:
        """See `FetchContext.answer`."""
        session = self._session
        if session.expected_epoch != self._epoch_after:
            return FetchAnswer(session.session_id, ErrorCode.INVALID_FETCH_SESSION_EPOCH)
        news = []
        for partition, outcome in zip(self._partitions, outcomes, strict=True):
            if partition.is_news(outcome):
                partition.note_sent(outcome)
                news.append((partition.fetch, outcome))
                if len(outcome.records) > 0:
                    session.move_to_end(partition)
        return FetchAnswer(session.session_id, partitions=news)


def resolve_names(partitions: Iterable[SessionPartition], name_of: Callable[[TopicId], str | None]) -> None:
    """Fill in the names of topics whose ids this broker did not know when they were requested."""
    for partition in partitions:
        fetch = partition.fetch
        if not fetch.topic_partition.topic:
            name = name_of(fetch.topic_id)
            if name is not None:
                fetch.topic_partition = TopicPartition(name, fetch.topic_partition.partition)
