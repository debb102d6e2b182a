"""One fetcher: the partitions that one broker leads and that hash to one fetcher number (X1).

It performs no I/O. Its owner calls `next_ask`, sends that request, passes the answer to the fetcher, and
calls `next_ask` again at `wakes_at_ms`:

    ask = fetcher.next_ask()       FetchAsk(...); None from then on until it is answered
    fetcher.on_fetched(answer)     steps: append, truncate, delay, ...
    fetcher.next_ask()             None: all partitions are delayed
    fetcher.wakes_at_ms()          when the first delay ends

Invariants: an answer is applied only if it was requested in the partition's present leader epoch, state and
offset, and is dropped otherwise. An error of one partition never stops the requests for another (X5).
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeVar

from odradek.base.clock import Clock
from odradek.base.error_codes import ErrorCode
from odradek.base.errors import CorruptRecord, FileUnavailable, OdradekError, RecordError
from odradek.base.execution import Steps
from odradek.base.ids import NO_EPOCH, NO_TOPIC_ID, BrokerId, LeaderEpoch, Offset, TopicId, TopicPartition
from odradek.replication.fetch_session import SESSION_ERRORS
from odradek.replication.fetcher.asks import (
    Ask,
    EpochAsk,
    EpochEndAnswer,
    EpochEndsAsk,
    FetchAnswer,
    FetchAsk,
    OffsetAnswer,
    OffsetAsk,
    OffsetsAsk,
    PartitionAnswer,
    PartitionAsk,
)
from odradek.replication.fetcher.fetcher_ports import FollowedLog, FollowerLogs, Note, NoteKind, Notes
from odradek.replication.fetcher.followed_partition import (
    AGREED,
    DISAGREED,
    NO_LOG,
    Event,
    FollowedPartition,
    State,
)
from odradek.replication.fetcher.partition_queues import PartitionQueues
from odradek.replication.fetcher.portions import Portion, portions_of
from odradek.replication.fetcher.refusals import delay_after
from odradek.replication.fetcher.throttle import Throttle
from odradek.replication.fetcher.truncation import cut_for
from odradek.replication.replication_ports import ReplicationQuota
from odradek.storage import EpochEnd

NAMED_MAX: Final = 1_000
"""The largest number of partitions in one OffsetForLeaderEpoch or ListOffsets request."""
_PASSING: Final = (CorruptRecord, RecordError, FileUnavailable)
"""Errors of a log after which another attempt may succeed."""

AskT = TypeVar("AskT", EpochAsk, OffsetAsk)
AnswerT = TypeVar("AnswerT", EpochEndAnswer, OffsetAnswer)


class Fetcher:
    """Follows partitions that one broker leads; at most one request is under way."""

    def __init__(
        self,
        source: BrokerId,
        number: int,
        logs: FollowerLogs,
        clock: Clock,
        backoff_ms: Callable[[], int],
        notes: Notes,
        quota: ReplicationQuota | None = None,
    ) -> None:
        """`backoff_ms` returns `replica.fetch.backoff.ms`; `quota` is the follower's, if there is one."""
        self.source = source
        """The broker that leads."""
        self.number = number
        """Its number among the fetchers of that broker."""
        self.partitions = PartitionQueues()
        """The followed partitions by state."""
        self._logs = logs
        self._clock = clock
        self._backoff_ms = backoff_ms
        self._notes = notes
        self._throttle = Throttle(quota, self.partitions, logs)
        self._in_flight: Ask | None = None
        """The request that was sent and is not answered, or whose answer is being applied."""
        self._rests_until_ms = 0
        """After a request without an answer: nothing is sent before this time."""
        self.unreachable_because = ""
        """Why the latest request was not answered; "" when it was."""
        self.unreachable_since_ms = 0
        """While it is not: when the first of these requests was given up."""
        self._lost_sessions = 0
        """How many sessions were lost in a row, without an answered fetch in between."""
        self.fetched_bytes = 0
        """Bytes of records appended, including those of partitions removed since."""
        self.fetches = 0
        """How many Fetch requests were made."""
        self.stale_answers = 0
        """Partition answers dropped because the partition's epoch, state or offset had changed."""

    # --- what is followed

    @property
    def is_asking(self) -> bool:
        """Whether a request is under way, or its answer is being applied."""
        return self._in_flight is not None

    def follow(
        self,
        topic_partition: TopicPartition,
        topic_id: TopicId,
        leader_epoch: LeaderEpoch,
        *,
        was_delayed: bool = False,
    ) -> None:
        """R5c: follow the partition under this epoch; drops the state of any earlier epoch."""
        now_ms = self._clock.monotonic_ms()
        followed = self.partitions.add(
            topic_partition, topic_id, leader_epoch, now_ms, was_delayed=was_delayed
        )
        if topic_id == NO_TOPIC_ID:
            self._fail(followed, "its topic has no id, by which a fetch would name it")

    def unfollow(self, topic_partition: TopicPartition) -> bool:
        """Stop following (R5b, R5d); returns False if this fetcher did not follow the partition."""
        self._throttle.forget(topic_partition)
        return self.partitions.remove(topic_partition)

    # --- what to ask next

    def next_ask(self) -> Ask | None:
        """Returns the request to send now; None when there is nothing to send, or a request is in flight."""
        now_ms = self._clock.monotonic_ms()
        if self._in_flight is not None or now_ms < self._rests_until_ms:
            return None
        self.partitions.resume(now_ms)
        self._throttle.apply(now_ms)
        self._in_flight = self._epoch_ends_ask() or self._offsets_ask() or self._fetch_ask()
        return self._in_flight

    def wakes_at_ms(self) -> int | None:
        """When to call `next_ask` next; None while only an answer or a role change can give it work."""
        if self._in_flight is not None:
            return None
        if self.partitions.has_work:
            return self._rests_until_ms
        times = [self.partitions.next_resumption_ms(), self._throttle.looks_at_ms()]
        found = [time_ms for time_ms in times if time_ms is not None]
        return max(min(found), self._rests_until_ms) if found else None

    def _epoch_ends_ask(self) -> Ask | None:
        asks = []
        for followed, log in self._first_with_logs(State.TRUNCATING):
            if log.latest_epoch == NO_EPOCH:  # nothing to ask about: mostly an empty log
                self._cut(followed, log, log.high_watermark.offset)
            else:
                asks.append(EpochAsk(followed.topic_partition, followed.leader_epoch, log.latest_epoch))
        return EpochEndsAsk(asks) if asks else None

    def _offsets_ask(self) -> Ask | None:
        asks = [
            OffsetAsk(followed.topic_partition, followed.leader_epoch, followed.asks_earliest)
            for followed, _ in self._first_with_logs(State.LOCATING)
        ]
        return OffsetsAsk(asks) if asks else None

    def _fetch_ask(self) -> Ask | None:
        session = self.partitions.session
        if not len(session):
            return None
        self.fetches += 1
        return session.request()

    def _first_with_logs(self, state: State) -> Iterator[tuple[FollowedPartition, FollowedLog]]:
        for followed in self.partitions.first_in(state, NAMED_MAX):
            log = self._logs.log(followed.topic_partition)
            if log is None:
                self._delay(followed, NO_LOG)
            else:
                yield followed, log

    # --- what the leader answers

    def on_unanswered(self, reason: str) -> None:
        """Called when the request in flight got no usable answer: back off, then open a new session."""
        self._in_flight = None
        self._rest(reason)

    def on_epoch_ends(self, answers: Iterable[EpochEndAnswer]) -> Steps[None]:
        """X4: apply the answer to an EpochEndsAsk, a few partitions in each step."""
        ask = self._in_flight
        assert isinstance(ask, EpochEndsAsk), f"no OffsetForLeaderEpoch is under way, but {ask}"
        return self._on_answers(ask.asks, answers, State.TRUNCATING, self._on_epoch_end)

    def on_offsets(self, answers: Iterable[OffsetAnswer]) -> Steps[None]:
        """X3: apply the answer to an OffsetsAsk, a few partitions in each step."""
        ask = self._in_flight
        assert isinstance(ask, OffsetsAsk), f"no ListOffsets is under way, but {ask}"
        return self._on_answers(ask.asks, answers, State.LOCATING, self._on_offset)

    def _on_answers(
        self,
        asks: Iterable[AskT],
        answers: Iterable[AnswerT],
        state: State,
        apply: Callable[[FollowedPartition, AskT, AnswerT], None],
    ) -> Steps[None]:
        """Apply each answer to its partition if that is still in `state`; delay what was not answered."""
        asked = {one.topic_partition: one for one in asks}
        portion = Portion()
        try:
            self._on_reached()
            for answer in answers:
                one = asked.pop(answer.topic_partition, None)
                followed = self._current(one, state)
                if followed is not None and one is not None:
                    apply(followed, one, answer)
                if portion.is_full_after(partitions=1):
                    yield
            self._delay_unanswered(asked.values(), state)
        finally:
            self._in_flight = None

    def on_fetched(self, answer: FetchAnswer) -> Steps[None]:
        """Apply the answer to a FetchAsk, a few partitions or some bytes in each step."""
        ask = self._in_flight
        assert isinstance(ask, FetchAsk), f"no Fetch is under way, but {ask}"
        session, portion = self.partitions.session, Portion()
        try:
            if not session.on_answer(answer.session_id, answer.error_code):
                self._on_lost_session(answer.error_code)
                return
            self._on_reached()
            self._lost_sessions = 0
            for part in answer.partitions:
                asked = session.asked(part.topic_partition)
                followed = self._current(asked, State.FETCHING)
                if followed is None or asked is None:
                    session.request_anew(part.topic_partition)
                elif part.error_code is not ErrorCode.NONE:
                    self._on_error(followed, part.error_code)
                elif part.diverging is not None:
                    self._cut_for(followed, asked.last_fetched_epoch, part.diverging)
                else:
                    yield from self._append(followed, part, portion)
                if portion.is_full_after(partitions=1):
                    yield
        finally:
            self._in_flight = None

    def _current(
        self, asked: PartitionAsk | EpochAsk | OffsetAsk | None, state: State
    ) -> FollowedPartition | None:
        """Returns the partition of a request, or None if its epoch, state or offset has changed since."""
        followed = None if asked is None else self.partitions.get(asked.topic_partition)
        if (
            followed is None
            or asked is None
            or followed.leader_epoch != asked.leader_epoch
            or followed.state is not state
            or (isinstance(asked, PartitionAsk) and followed.fetch_offset != asked.fetch_offset)
        ):
            self.stale_answers += 1
            return None
        return followed

    # --- what becomes of a partition

    def _on_epoch_end(self, followed: FollowedPartition, asked: EpochAsk, answer: EpochEndAnswer) -> None:
        if answer.error_code is not ErrorCode.NONE:
            self._on_error(followed, answer.error_code)
        else:
            self._cut_for(followed, asked.epoch, answer.end)

    def _cut_for(self, followed: FollowedPartition, epoch: LeaderEpoch, end: EpochEnd) -> None:
        """X4: cut where the leader's log ends `epoch`, or an older epoch that it knows."""
        log = self._logs.log(followed.topic_partition)
        if log is None:
            self._delay(followed, NO_LOG)
        else:
            cut = cut_for(log, epoch, end)
            if end.epoch < epoch:
                self._note(NoteKind.DIVERGED, followed, f"the leader does not have epoch {epoch}")
            self._cut(followed, log, cut.offset, is_agreed=cut.is_agreed)

    def _cut(
        self, followed: FollowedPartition, log: FollowedLog, offset: Offset, *, is_agreed: bool = True
    ) -> None:
        """X4: truncate the log, even if it ends at `offset`: an empty epoch may begin there."""
        end_before, high_watermark_before = log.end_offset, log.high_watermark.offset
        try:
            self._logs.truncate(followed.topic_partition, offset)
        except Exception as error:
            self._on_raised(followed, error)
            return
        if log.end_offset < end_before:
            words = f"cut from {end_before} to {log.end_offset}"
            if log.end_offset < high_watermark_before:
                words += f", below the high watermark {high_watermark_before}"
            self._note(NoteKind.TRUNCATED, followed, words)
        if is_agreed or log.latest_epoch == NO_EPOCH:
            self._go_on(followed, log, AGREED[followed.state])
        else:
            self._move(followed, DISAGREED[followed.state])

    def _go_on(self, followed: FollowedPartition, log: FollowedLog, event: Event) -> None:
        """Fetch from LEO on; X6: once the truncation is on disk."""
        if log.is_settled:
            self._move(followed, event)
            self.partitions.want(followed, log)
            self._throttle.note_fetched(followed, log)
        else:
            self._move(followed, Event.UNSETTLED)

    def on_settled(self, topic_partition: TopicPartition) -> None:
        """X6: called when the truncation of a partition's log is on disk."""
        followed = self.partitions.get(topic_partition)
        if followed is None or followed.state is not State.SETTLING:
            return
        log = self._logs.log(topic_partition)
        if log is None:
            self._delay(followed, NO_LOG)
        elif log.is_settled:
            self._go_on(followed, log, Event.SETTLED)

    def _on_offset(self, followed: FollowedPartition, _: OffsetAsk, answer: OffsetAnswer) -> None:
        """X3: called with the leader's LEO, and later with its log start."""
        log = self._logs.log(followed.topic_partition)
        if answer.error_code is not ErrorCode.NONE:
            self._on_error(followed, answer.error_code)
        elif answer.offset < 0 or log is None:
            self._delay(followed, NO_LOG if log is None else "the leader does not tell its offsets")
        elif not followed.asks_earliest:
            self._on_leader_end(followed, log, answer.offset)
        elif answer.offset > log.end_offset:
            self._start_anew(followed, log, answer.offset)
        else:
            self._delay(followed, f"the leader refused offset {log.end_offset}, which it has")

    def _on_leader_end(self, followed: FollowedPartition, log: FollowedLog, leader_end: Offset) -> None:
        if leader_end >= log.end_offset:
            self._move(followed, Event.END_KNOWN)
        elif log.config.unclean_leader_election_enable:
            self._cut(followed, log, leader_end)
        else:
            self._fail(
                followed,
                f"the leader ends at {leader_end}, below the log end {log.end_offset} here, and "
                "unclean.leader.election.enable does not allow to drop what it lacks",
            )

    def _start_anew(self, followed: FollowedPartition, log: FollowedLog, offset: Offset) -> None:
        before = f"{log.log_start_offset} to {log.end_offset}"
        try:
            self._logs.start_anew(followed.topic_partition, offset)
        except Exception as error:
            self._on_raised(followed, error)
            return
        self._note(NoteKind.STARTED_ANEW, followed, f"dropped {before}: the leader begins at {offset}")
        self._go_on(followed, log, Event.LOCATED)

    def _append(self, followed: FollowedPartition, part: PartitionAnswer, portion: Portion) -> Steps[None]:
        """X2, R11: append a portion in each step, and follow the leader's HW and log start."""
        key = followed.topic_partition
        log = self._logs.log(key)
        if log is None:
            self._delay(followed, NO_LOG)
            return
        if log.end_offset != followed.fetch_offset:
            self._fail(
                followed, f"offset {followed.fetch_offset} was fetched, the log ends at {log.end_offset}"
            )
            return
        try:
            for batches in portions_of(part.records):
                self._logs.apply(key, batches, part.high_watermark, part.log_start_offset)
                if not log.is_settled:  # fetched again once it is (X6)
                    words = f"its first batch begins below the log start {log.log_start_offset}"
                    self._note(NoteKind.BEGUN_WITHIN, followed, words)
                    self._go_on(followed, log, Event.CUT)
                    return
                self._on_appended(followed, log, len(batches), part.high_watermark)
                if portion.is_full_after(size_bytes=len(batches)):
                    yield
                    if self._has_changed(followed, log):
                        self.partitions.session.request_anew(key)
                        return
        except Exception as error:
            self._on_raised(followed, error)

    def _on_appended(
        self, followed: FollowedPartition, log: FollowedLog, size_bytes: int, high_watermark: Offset
    ) -> None:
        now_ms = self._clock.monotonic_ms()
        self.partitions.move(followed, Event.ADVANCED, now_ms)
        self.partitions.want(followed, log)
        self.fetched_bytes += size_bytes
        ends_delay = followed.note_appended(size_bytes, high_watermark, now_ms)
        self._throttle.note_fetched(followed, log, size_bytes)
        if ends_delay:
            self._note(NoteKind.RESUMED, followed, "fetched again")

    def _has_changed(self, followed: FollowedPartition, log: FollowedLog) -> bool:
        """Whether the partition's state changed, or it is no longer followed, since the step before."""
        key = followed.topic_partition
        return self.partitions.get(key) is not followed or self._logs.log(key) is not log

    # --- errors

    def _on_error(self, followed: FollowedPartition, error_code: ErrorCode) -> None:
        """X3, X5: called with an error code of the leader for one partition."""
        match error_code:
            case ErrorCode.OFFSET_OUT_OF_RANGE if followed.state is State.FETCHING:
                self._move(followed, Event.OUT_OF_RANGE)
            case ErrorCode.FENCED_LEADER_EPOCH:
                reason = f"leader epoch {followed.leader_epoch} is over, the next is not known here"
                self._fail(followed, reason, kind=NoteKind.FENCED)
            case _:
                self._delay(
                    followed,
                    f"the leader answered {error_code.name}",
                    delay_after(followed, error_code, self._backoff_ms()),
                )

    def _on_raised(self, followed: FollowedPartition, error: Exception) -> None:
        """X5: called with an error of the local log."""
        if isinstance(error, _PASSING):
            self._delay(followed, str(error), kind=NoteKind.UNUSABLE)
        elif isinstance(error, OdradekError):
            self._fail(followed, str(error))
        else:
            self._fail(followed, f"a mistake of this broker's own: {error!r}", error)

    def _on_lost_session(self, error_code: ErrorCode) -> None:
        """Open a lost session again at once; if that did not help, and after other errors, back off."""
        self._lost_sessions += 1
        if error_code in SESSION_ERRORS and self._lost_sessions == 1:
            self._note(NoteKind.SESSION_LOST, None, f"the leader answered {error_code.name}")
        else:
            self._rest(f"the leader answered {error_code.name}")

    def _rest(self, reason: str) -> None:
        """Send nothing for the backoff time: the whole fetch failed, not a single partition."""
        self.partitions.session.on_lost()
        self._rests_until_ms = self._clock.monotonic_ms() + self._backoff_ms()
        if not self.unreachable_because:
            self.unreachable_since_ms = self._clock.monotonic_ms()
            self._note(NoteKind.SOURCE_LOST, None, reason)
        self.unreachable_because = reason

    def _delay_unanswered(self, asked: Iterable[EpochAsk | OffsetAsk], state: State) -> None:
        for one in asked:
            followed = self._current(one, state)
            if followed is not None:
                self._delay(followed, "the leader did not answer about it")

    def _on_reached(self) -> None:
        """The leader answers."""
        if self.unreachable_because:
            self.unreachable_because = ""
            self._note(NoteKind.SOURCE_FOUND, None, "it answers again")

    def _delay(
        self,
        followed: FollowedPartition,
        reason: str,
        delay_ms: int | None = None,
        kind: NoteKind = NoteKind.DELAYED,
    ) -> None:
        """`delay_ms` None: `replica.fetch.backoff.ms`."""
        lasts_ms = self._backoff_ms() if delay_ms is None else delay_ms
        self.partitions.delay(followed, self._clock.monotonic_ms(), lasts_ms, reason)
        self._note(kind, followed, reason)

    def _fail(
        self,
        followed: FollowedPartition,
        reason: str,
        error: Exception | None = None,
        kind: NoteKind = NoteKind.FAILED,
    ) -> None:
        self._move(followed, Event.FAILED_BY, reason)
        self._note(kind, followed, reason, error)

    def _move(self, followed: FollowedPartition, event: Event, reason: str = "") -> None:
        self.partitions.move(followed, event, self._clock.monotonic_ms(), reason)

    def _note(
        self, kind: NoteKind, followed: FollowedPartition | None, words: str, error: Exception | None = None
    ) -> None:
        named = None if followed is None else followed.topic_partition
        self._notes(Note(kind, self.source, named, words, error))
