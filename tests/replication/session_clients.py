"""Clients of the model of fetch sessions: one whose sessions are the broker's own, and the reference.

Both fetch from a `ReplicaBench` and note what they were answered. The reference names all partitions of its
session in every request, so that the broker reads, notes and parks all of them and knows of no session.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from odradek.base.chance import SeededChance
from odradek.base.error_codes import ErrorCode
from odradek.base.execution import exhaust
from odradek.base.ids import NO_OFFSET, NO_TOPIC_ID, TopicId, TopicPartition
from odradek.replication import FetchOutcome, FetchParams, PartitionFetch
from odradek.replication.delayed_fetch import DelayedFetch
from odradek.replication.delayed_session_fetch import DelayedSessionFetch
from odradek.replication.fetch_session import (
    FINAL_EPOCH,
    INITIAL_EPOCH,
    NO_SESSION_ID,
    FetchSession,
    FollowerLife,
    IncrementalFetch,
    ServedFetch,
    SessionKey,
    SessionlessFetch,
    SessionOutcomes,
    epoch_after,
    key_of,
)
from odradek.replication.fetch_session_cache import FetchSessionCache
from odradek.timer import DelayedOperation
from tests.replication.fetcher.brokers import whole
from tests.replication.replica_bench import ReplicaBench

TOPIC: Final = "orders"
NameOf = Callable[[TopicId], str | None]


@dataclass
class Sent:
    """What a client was last sent of a partition."""

    fetch: PartitionFetch
    offsets: tuple[int, int, int] = (NO_OFFSET, NO_OFFSET, NO_OFFSET)


def told(fetch: PartitionFetch, outcome: FetchOutcome) -> tuple[Any, ...]:
    """A partition's part of an answer, as a client sees it."""
    return (
        fetch.topic_partition.partition,
        outcome.error_code,
        outcome.high_watermark,
        outcome.last_stable_offset,
        outcome.log_start_offset,
        whole(outcome.records),
        outcome.diverging_epoch,
    )


def new_cache(bench: ReplicaBench, slots: int = 1_000) -> FetchSessionCache:
    """The fetch sessions of a bench."""
    return FetchSessionCache(
        slots,
        clock=bench.clock,
        chance=SeededChance(1),
        name_of=bench.manager.topic_name,
        events=bench.manager.purgatories.fetch,
        run_steps=exhaust,
    )


def fetches_of(bench: ReplicaBench, partitions: Iterable[TopicPartition]) -> list[PartitionFetch]:
    """Fetches of partitions at their ends."""
    return [PartitionFetch(one, bench.log(one).end_offset, 1 << 20) for one in partitions]


class Client(ABC):
    """One client. It fetches with one request at a time, unless it is impatient."""

    def __init__(self, bench: ReplicaBench, params: FetchParams, *, uses_topic_ids: bool) -> None:
        self.bench = bench
        self.params = params
        self.uses_topic_ids = uses_topic_ids
        self.answers: list[Any] = []
        """What it was answered since this was last emptied: an error of the session, or partitions."""
        self.got: list[TopicPartition] = []
        """The partitions with records in the latest answer."""
        self.waiting: DelayedOperation | None = None
        """Its latest fetch, if that waits."""
        self.asked = params
        """The parameters of that fetch."""
        self._asked_for: Sequence[PartitionFetch] = ()

    @property
    def asked_for(self) -> Sequence[PartitionFetch]:
        """The partitions of that fetch."""
        return self._asked_for

    @property
    @abstractmethod
    def has_session(self) -> bool:
        """Whether its next request is an incremental one."""

    @abstractmethod
    def fetch(self, named: Sequence[PartitionFetch], forgotten: Sequence[SessionKey]) -> None:
        """Fetch incrementally, or everything that is named if there is no session."""

    @abstractmethod
    def leave(self, named: Sequence[PartitionFetch]) -> None:
        """End the session, and fetch without one."""

    @abstractmethod
    def begin_again(self, named: Sequence[PartitionFetch]) -> None:
        """Begin a session in the place of the one that there is."""

    def lose_connection(self) -> None:
        """The broker learns that nobody reads the answer."""
        if self.waiting is not None:
            self.waiting.abandon()
            self.waiting = None

    def note_answer(self, answer: list[tuple[Any, ...]]) -> None:
        """Called with what the broker has answered."""
        self.answers.append(answer)
        self.got = [TopicPartition(TOPIC, part[0]) for part in answer if part[5]]


class ByNews(Client):
    """A client whose session is the broker's own."""

    def __init__(
        self, bench: ReplicaBench, params: FetchParams, cache: FetchSessionCache, *, uses_topic_ids: bool
    ) -> None:
        super().__init__(bench, params, uses_topic_ids=uses_topic_ids)
        self.id = NO_SESSION_ID
        self._cache = cache
        self._epoch = INITIAL_EPOCH

    @property
    def has_session(self) -> bool:
        """See `Client.has_session`."""
        return self.id != NO_SESSION_ID

    @property
    def asked_for(self) -> Sequence[PartitionFetch]:
        """See `Client.asked_for`."""
        session = self.session
        return self._asked_for if session is None else [one.fetch for one in session.partitions.values()]

    @property
    def session(self) -> FetchSession | None:
        """The broker's side; None if it has none for this client."""
        return self._cache._sessions.get(self.id)

    def fetch(self, named: Sequence[PartitionFetch], forgotten: Sequence[SessionKey]) -> None:
        """See `Client.fetch`."""
        self._request(self.id, self._epoch, named, forgotten)

    def leave(self, named: Sequence[PartitionFetch]) -> None:
        """See `Client.leave`."""
        self._request(self.id, FINAL_EPOCH, named, ())

    def begin_again(self, named: Sequence[PartitionFetch]) -> None:
        """See `Client.begin_again`."""
        self._request(self.id, INITIAL_EPOCH, named, ())

    def _request(
        self, session_id: int, epoch: int, named: Sequence[PartitionFetch], forgotten: Sequence[SessionKey]
    ) -> None:
        params = self.params
        follower = FollowerLife(params.replica_id, params.replica_epoch) if params.is_from_follower else None
        context = self._cache.context(
            session_id, epoch, named, forgotten, follower=follower, uses_topic_ids=self.uses_topic_ids
        )
        if isinstance(context, ErrorCode):
            self.answers.append(context)
            self.id, self._epoch = NO_SESSION_ID, INITIAL_EPOCH
        elif isinstance(context, IncrementalFetch):
            self._epoch = epoch_after(self._epoch)
            self._fetch_news(context)
        else:
            self.id, self._epoch = NO_SESSION_ID, INITIAL_EPOCH
            self._fetch_all(context)

    def _fetch_all(self, context: SessionlessFetch) -> None:
        def later(outcomes: list[FetchOutcome]) -> None:
            self.waiting = None
            answer = context.answer(outcomes)
            self.id = answer.session_id
            self._epoch = epoch_after(INITIAL_EPOCH) if answer.session_id else INITIAL_EPOCH
            self._take(answer)

        self.asked, self._asked_for = replace(self.params), context.fetches
        read = self.bench.manager.fetch(self.asked, context.fetches, later)
        if isinstance(read, list):
            later(read)
        else:
            self.waiting = read

    def _fetch_news(self, context: IncrementalFetch) -> None:
        awaited: list[DelayedSessionFetch] = []

        def later(outcomes: SessionOutcomes) -> None:
            if awaited and self.waiting is awaited[0]:
                self.waiting = None
            self._take(context.answer(outcomes))

        self.asked = replace(self.params)
        read = self.bench.manager.fetch_news(self.asked, context.session, later)
        if isinstance(read, DelayedSessionFetch):
            awaited.append(read)
            self.waiting = read
        else:
            later(read)

    def _take(self, answer: ServedFetch) -> None:
        if answer.error_code:
            self.answers.append(answer.error_code)
        else:
            self.note_answer([told(fetch, outcome) for fetch, outcome in answer.partitions])


class FullScan(Client):
    """The reference: every request fetches all partitions of the session, as if there were none."""

    def __init__(
        self, bench: ReplicaBench, params: FetchParams, name_of: NameOf, *, uses_topic_ids: bool
    ) -> None:
        super().__init__(bench, params, uses_topic_ids=uses_topic_ids)
        self.sent: dict[SessionKey, Sent] | None = None
        """The partitions of its session; None without one."""
        self.is_evicted = False
        """Whether the broker knows its session no more, and the client does not know that yet."""
        self._name_of = name_of

    @property
    def has_session(self) -> bool:
        """See `Client.has_session`."""
        return self.sent is not None

    def evict(self) -> None:
        """Another session takes the place of this one; what waits is answered."""
        self._answer_waiting()
        self.is_evicted = True

    def fetch(self, named: Sequence[PartitionFetch], forgotten: Sequence[SessionKey]) -> None:
        """See `Client.fetch`."""
        if self.sent is None:
            self.begin_again(named)
        elif self.is_evicted:
            self.answers.append(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
            self.forget_session()
        else:
            self._fetch_on(self.sent, named, forgotten)

    def leave(self, named: Sequence[PartitionFetch]) -> None:
        """See `Client.leave`."""
        self._begin(named, lambda sent: None)

    def begin_again(self, named: Sequence[PartitionFetch]) -> None:
        """See `Client.begin_again`."""

        def begun(sent: dict[SessionKey, Sent]) -> None:
            self.sent = sent

        self._begin(named, begun)

    def _begin(
        self, named: Sequence[PartitionFetch], begun: Callable[[dict[SessionKey, Sent]], None]
    ) -> None:
        self._answer_waiting()
        self.forget_session()
        sent = {key_of(fetch): Sent(fetch) for fetch in named}

        def answer(outcomes: list[FetchOutcome]) -> list[tuple[Any, ...]]:
            for one, outcome in zip(sent.values(), outcomes, strict=True):
                self._note_sent(one, outcome)
            begun(sent)
            return [told(one.fetch, outcome) for one, outcome in zip(sent.values(), outcomes, strict=True)]

        self._ask([one.fetch for one in sent.values()], answer)

    def forget_session(self) -> None:
        """There is none, or there was no room for one."""
        self.sent = None
        self.is_evicted = False

    def _answer_waiting(self) -> None:
        if self.waiting is not None:
            self.waiting.force_complete()

    def _fetch_on(
        self,
        sent: dict[SessionKey, Sent],
        named: Sequence[PartitionFetch],
        forgotten: Sequence[SessionKey],
    ) -> None:
        for fetch in named:
            sent.setdefault(key_of(fetch), Sent(fetch)).fetch = fetch
        for key in forgotten:
            sent.pop(key, None)
        if not sent:
            self.forget_session()
            self.note_answer([])
            return
        for one in sent.values():
            self._name(one.fetch)
        overtaken, self.waiting = self.waiting, None
        if overtaken is not None:
            overtaken.abandon()
        all_of_it = list(sent.values())
        self._ask(
            [one.fetch for one in all_of_it], lambda outcomes: list(self._news(sent, all_of_it, outcomes))
        )
        if overtaken is not None:
            self.answers.append(ErrorCode.INVALID_FETCH_SESSION_EPOCH)

    def _name(self, fetch: PartitionFetch) -> None:
        if fetch.topic_id != NO_TOPIC_ID and not fetch.topic_partition.topic:
            name = self._name_of(fetch.topic_id) or ""
            fetch.topic_partition = TopicPartition(name, fetch.topic_partition.partition)

    def _ask(
        self,
        fetches: Sequence[PartitionFetch],
        answer: Callable[[list[FetchOutcome]], list[tuple[Any, ...]]],
    ) -> None:
        awaited: list[DelayedFetch] = []

        def later(outcomes: list[FetchOutcome]) -> None:
            if awaited and self.waiting is awaited[0]:
                self.waiting = None
            self.note_answer(answer(outcomes))

        self.asked, self._asked_for = replace(self.params), fetches
        read = self.bench.manager.fetch(self.asked, fetches, later)
        if isinstance(read, list):
            later(read)
        else:
            awaited.append(read)
            self.waiting = read

    def _news(
        self, session: dict[SessionKey, Sent], all_of_it: Iterable[Sent], outcomes: Iterable[FetchOutcome]
    ) -> Iterable[tuple[Any, ...]]:
        for sent, outcome in zip(all_of_it, outcomes, strict=True):
            offsets = (outcome.high_watermark, outcome.last_stable_offset, outcome.log_start_offset)
            has_failed = outcome.error_code is not ErrorCode.NONE
            has_records = len(outcome.records) > 0
            if has_records or has_failed or outcome.diverging_epoch or offsets != sent.offsets:
                self._note_sent(sent, outcome)
                if has_records:
                    key = key_of(sent.fetch)
                    session[key] = session.pop(key)
                yield told(sent.fetch, outcome)

    @staticmethod
    def _note_sent(sent: Sent, outcome: FetchOutcome) -> None:
        has_failed = outcome.error_code is not ErrorCode.NONE
        high_watermark = NO_OFFSET if has_failed else outcome.high_watermark
        sent.offsets = (high_watermark, outcome.last_stable_offset, outcome.log_start_offset)
