"""The fetch sessions of a broker, limited in their number and in their partitions (F10, KIP-227).

A session is an optimization: without one, a client is served correctly by full fetches. When all slots are in
use, a new session may evict an existing one, the first of these that exists:

    one not used for 2 minutes                           for any client
    a consumer's, with the fewest partitions             for a follower
    a consumer's older than 2 minutes, with the fewest   for a consumer that fetches more than it
    otherwise                                            no session is made

A broker that was registered anew, and opens a session, ends those of its earlier life.

Without the two minutes, clients that outnumber the slots would evict each other with every request. A session
that would exceed the limit on its partitions, or the one on those of all sessions, is closed: its client
continues with a full fetch.
"""

from collections.abc import Callable, Sequence
from typing import Final

from odradek.base.chance import Chance
from odradek.base.clock import Clock
from odradek.base.error_codes import ErrorCode
from odradek.base.execution import RunSteps, Steps, exhaust
from odradek.base.ids import TopicId, TopicPartition
from odradek.replication.fetch_request import PartitionFetch
from odradek.replication.fetch_session import (
    FINAL_EPOCH,
    INITIAL_EPOCH,
    FetchContext,
    FetchSession,
    FollowerLife,
    FullFetch,
    IncrementalFetch,
    SessionKey,
    SessionlessFetch,
    epoch_after,
)
from odradek.replication.session_news import PartitionEvents

EVICTION_MS: Final = 120_000
SESSION_ID_MAX: Final = 0x7FFFFFFF
PARTITIONS_MAX: Final = 500_000
"""Over all sessions; about 700 bytes each. The slots alone do not limit the partitions of a session."""
SESSION_PARTITIONS_MAX: Final = 100_000
"""As many as one request may name (`array_elements_max`), so a client could not open a larger session."""


class FetchSessionCache:
    """The sessions by id. `name_of` returns the name of a topic id, None if it is unknown here."""

    __slots__ = (
        "_chance",
        "_clock",
        "_events",
        "_name_of",
        "_partitions_max",
        "_run_steps",
        "_session_partitions_max",
        "_sessions",
        "_slots",
        "evictions",
        "partitions",
    )

    def __init__(
        self,
        slots: int,
        *,
        clock: Clock,
        chance: Chance,
        name_of: Callable[[TopicId], str | None],
        events: PartitionEvents,
        run_steps: RunSteps,
        partitions_max: int = PARTITIONS_MAX,
        session_partitions_max: int = SESSION_PARTITIONS_MAX,
    ) -> None:
        self._slots = slots
        """`max.incremental.fetch.session.cache.slots`."""
        self._partitions_max = partitions_max
        self._session_partitions_max = session_partitions_max
        self._clock = clock
        self._chance = chance
        self._name_of = name_of
        self._events = events
        self._run_steps = run_steps
        self._sessions: dict[int, FetchSession] = {}
        """The least recently used first, so that stale sessions are found without a search."""
        self.partitions = 0
        """How many partitions all sessions hold together, at most `partitions_max`; a metric."""
        self.evictions = 0
        """How many sessions were evicted; a metric."""

    def __len__(self) -> int:
        return len(self._sessions)

    def nameless(self, session_id: int) -> int:
        """How many partitions of the session are of topics that this broker does not know yet."""
        session = self._sessions.get(session_id)
        return 0 if session is None else session.nameless

    def partitions_of(self, session_id: int) -> list[TopicPartition]:
        """The partitions of a session, as its last request left them; none if there is no such session."""
        session = self._sessions.get(session_id)
        if session is None:
            return []
        return [one.fetch.topic_partition for one in session.partitions.values()]

    def context(
        self,
        session_id: int,
        epoch: int,
        fetches: Sequence[PartitionFetch],
        forgotten: Sequence[SessionKey] = (),
        *,
        follower: FollowerLife | None,
        uses_topic_ids: bool,
    ) -> FetchContext | ErrorCode:
        """Returns how to handle a fetch that carries this session id and epoch."""
        return exhaust(
            self.context_in_steps(
                session_id,
                epoch,
                fetches,
                forgotten,
                follower=follower,
                uses_topic_ids=uses_topic_ids,
            )
        )

    def context_in_steps(
        self,
        session_id: int,
        epoch: int,
        fetches: Sequence[PartitionFetch],
        forgotten: Sequence[SessionKey] = (),
        *,
        follower: FollowerLife | None,
        uses_topic_ids: bool,
    ) -> Steps[FetchContext | ErrorCode]:
        """`context` for a fetch that names very many partitions, a few in each step.

        The session is taken at once, so another request between two steps makes this one fail.
        """
        if epoch in (INITIAL_EPOCH, FINAL_EPOCH):
            self._close(session_id)
            if epoch == FINAL_EPOCH:
                return SessionlessFetch(fetches)

            def open_session(size: int) -> FetchSession | None:
                return self._open(size, follower=follower, uses_topic_ids=uses_topic_ids)

            return FullFetch(fetches, open_session)
        session = self._sessions.get(session_id)
        if session is None:
            return ErrorCode.FETCH_SESSION_ID_NOT_FOUND
        if session.uses_topic_ids != uses_topic_ids:
            return ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR
        if epoch != session.expected_epoch:
            return ErrorCode.INVALID_FETCH_SESSION_EPOCH
        if self.partitions + len(fetches) > self._partitions_max:
            self._close(session_id)
            return ErrorCode.FETCH_SESSION_ID_NOT_FOUND
        self._touch(session)
        self._count(session, session.counted + len(fetches))
        session.expected_epoch = epoch_after(epoch)
        if not (yield from session.change(fetches, forgotten, self._name_of)):
            code = ErrorCode.FETCH_SESSION_ID_NOT_FOUND
            return code if session.is_closed else ErrorCode.INVALID_FETCH_SESSION_EPOCH
        self._count(session, len(session.partitions))
        if len(session.partitions) > self._session_partitions_max:
            self._close(session_id)
            return ErrorCode.FETCH_SESSION_ID_NOT_FOUND
        if not session.partitions:
            self._close(session_id)
            return SessionlessFetch(())
        return IncrementalFetch(session)

    def _count(self, session: FetchSession, partitions: int) -> None:
        """Count so many partitions for a session."""
        self.partitions += partitions - session.counted
        session.counted = partitions

    def _close(self, session_id: int) -> None:
        session = self._sessions.pop(session_id, None)
        if session is not None:
            session.is_closed = True
            self._count(session, 0)
            self._run_steps(session.end())

    def _touch(self, session: FetchSession) -> None:
        session.last_used_ms = self._clock.monotonic_ms()
        del self._sessions[session.session_id]
        self._sessions[session.session_id] = session

    def _open(self, size: int, *, follower: FollowerLife | None, uses_topic_ids: bool) -> FetchSession | None:
        if follower is not None:
            self._end_sessions_before(follower)
        if not self._has_room_for(follower is not None, size):
            return None
        session_id = 1 + self._chance.below(SESSION_ID_MAX)
        while session_id in self._sessions:
            session_id = 1 + self._chance.below(SESSION_ID_MAX)
        session = self._sessions[session_id] = FetchSession(
            session_id,
            self._events,
            self._clock.monotonic_ms(),
            follower=follower,
            uses_topic_ids=uses_topic_ids,
        )
        self._count(session, size)
        return session

    def _end_sessions_before(self, follower: FollowerLife) -> None:
        """Close those that the broker had before it was registered anew, so that they keep no slots."""
        for session in [one for one in self._sessions.values() if follower.ends(one.follower)]:
            self._close(session.session_id)

    def _has_room_for(self, is_follower: bool, size: int) -> bool:
        if size > self._session_partitions_max or self.partitions + size > self._partitions_max:
            return False
        if len(self._sessions) < self._slots:
            return True
        loser = self._least_worth(is_follower, size)
        if loser is None:
            return False
        self._close(loser.session_id)
        self.evictions += 1
        return True

    def _least_worth(self, is_follower: bool, size: int) -> FetchSession | None:
        now_ms = self._clock.monotonic_ms()
        oldest = next(iter(self._sessions.values()), None)
        if oldest is None or now_ms - oldest.last_used_ms > EVICTION_MS:
            return oldest
        candidates = [
            session
            for session in self._sessions.values()
            if session.follower is None and (is_follower or now_ms - session.created_ms > EVICTION_MS)
        ]
        smallest = min(candidates, key=lambda session: session.counted, default=None)
        if smallest is None or (not is_follower and smallest.counted >= size):
            return None
        return smallest
