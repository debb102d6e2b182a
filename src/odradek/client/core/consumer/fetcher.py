"""Fetches: one request to each node, and the queue of what came.

due           C3  one request per node, for all fetchable partitions that it leads; a node with a request
                  in flight is skipped
              C6  a partition with data in the queue or next in line is not fetched
outcome       C4  per partition one completed fetch at the queue's end; an answer that names other
                  partitions than the request is ignored whole; what failed is asked for again, and returned
                  by `take_failures`; what fails every time is an error that `poll` raises, too
prepare           decodes ahead of `take`
take          C4  parses one completed fetch at a time, the next in line, which keeps its unread rest
              C5  it must still be assigned, and its next offset be the position; paused ones are kept
"""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from odradek.base.error_codes import ErrorCode, known_code
from odradek.base.errors import ApiError, OdradekError
from odradek.base.ids import NO_BROKER, NO_EPOCH, NO_TOPIC_ID, BrokerId, Offset, TopicPartition
from odradek.client.core.backoff import Backoff
from odradek.client.core.cluster_view import BACKOFF_MAX_MS, BACKOFF_MS, ClusterView
from odradek.client.core.consumer.completed_fetch import (
    WORK_RECORDS_MAX,
    Away,
    CompletedFetch,
    ConsumerRecord,
    Convert,
)
from odradek.client.core.consumer.fetch_figures import FetchFigures
from odradek.client.core.consumer.fetch_session import FetchSession, SessionRequest, Wanted
from odradek.client.core.consumer.partition_state import PartitionState, Phase
from odradek.client.core.consumer.run_decoding import RunDecoder
from odradek.client.core.consumer.subscription import Subscription
from odradek.client.core.requests import ANSWER_MS, Outcome, Send, ToNode
from odradek.client.refusal import may_pass, name_of
from odradek.client.sampled import USUAL, Sampling
from odradek.wire.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
    PartitionData,
)

# The last version that names topics by name.
_BY_NAME: Final = 12
_HIGHEST: Final = 17

_FAILURES_MAX: Final = 100
"""How many sentences about fetches that failed are kept, the last ones, until they are taken."""
_NAMED_MAX: Final = 3
"""How many partitions such a sentence names."""

_SESSION_LOST: Final = {
    ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
    ErrorCode.INVALID_FETCH_SESSION_EPOCH,
    ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
    ErrorCode.INCONSISTENT_TOPIC_ID,
}
# The metadata is wrong, or will be right soon: ask for it, and fetch again.
_STALE: Final = {
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.REPLICA_NOT_AVAILABLE,
    ErrorCode.KAFKA_STORAGE_ERROR,
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.UNKNOWN_LEADER_EPOCH,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.INCONSISTENT_TOPIC_ID,
    ErrorCode.OFFSET_NOT_AVAILABLE,
    ErrorCode.LEADER_NOT_AVAILABLE,
}


@dataclass(frozen=True, slots=True)
class FetchOptions:
    """The settings of fetches, under Kafka's names."""

    min_bytes: int = 1
    max_bytes: int = 50 << 20
    max_wait_ms: int = 500
    partition_max_bytes: int = 1 << 20
    is_committed_only: bool = False
    checks_crc: bool = True
    rack: str = ""
    request_timeout_ms: int = 30_000
    retry_backoff_ms: int = BACKOFF_MS
    retry_backoff_max_ms: int = BACKOFF_MAX_MS
    metadata_max_age_ms: int = 300_000
    sampling: Sampling = USUAL


class Piece(NamedTuple):
    """Rows of one partition."""

    partition: TopicPartition
    first: Offset
    """The position before they were taken."""
    rows: Any
    """A `pyarrow.RecordBatch`."""


_Read = Callable[[CompletedFetch, int], int | None]
"""Takes at most so many records; returns how many, or None if it was begun in another way."""


class Fetcher:
    """See the module."""

    def __init__(
        self, view: ClusterView, subscription: Subscription, options: FetchOptions, backoff: Backoff
    ) -> None:
        self._view = view
        self._subscription = subscription
        self._options = options
        self._backoff = backoff
        self._sessions: dict[BrokerId, FetchSession] = {}
        # Of the request under way to each node: when it was made, and the offsets that it asked for.
        self._in_flight: dict[BrokerId, tuple[int, Mapping[TopicPartition, Wanted]]] = {}
        # What came and was not returned yet, the oldest first, without the next in line.
        self._queue: deque[CompletedFetch] = deque()
        self._next: CompletedFetch | None = None
        self._decoder = RunDecoder(ConsumerRecord)
        # How the application takes records: as columns with or without headers; None: as objects.
        self._with_headers: bool | None = None
        # Sentences about fetches that failed, for the log.
        self._failures: deque[str] = deque(maxlen=_FAILURES_MAX)
        self.figures = FetchFigures(options.sampling)

    @property
    def is_empty(self) -> bool:
        """Whether all that came was returned."""
        return self._next is None and not self._queue

    @property
    def has_data(self) -> bool:
        """Whether `take` may return something."""
        return any(self._is_returnable(one.partition) for one in self._completed())

    @property
    def has_records(self) -> bool:
        """Whether `take` returns something: what is here continues at a position."""
        return any(map(self._is_takeable, self._completed()))

    @property
    def buffered(self) -> set[TopicPartition]:
        """The partitions with data that was not returned yet."""
        return {one.partition for one in self._completed()}

    # --- requests

    def due(self, now_ms: int) -> Sequence[Send]:
        """See `Core`."""
        self.figures.note_taken(now_ms)
        self._drop_outdated()
        sends = []
        for node, wanted in self._wanted_by_node(now_ms).items():
            session = self._sessions.setdefault(node, FetchSession())
            send = Send(
                ToNode(node),
                self._request(session.next_request(wanted)),
                tag=node,
                timeout_ms=self._options.request_timeout_ms + self._options.max_wait_ms,
                answer_ms=self._options.max_wait_ms + ANSWER_MS,
                highest=_BY_NAME if any(one.topic_id == NO_TOPIC_ID for one in wanted.values()) else _HIGHEST,
            )
            self._in_flight[node] = now_ms, wanted
            self.figures.note_request(now_ms)
            sends.append(send)
        return sends

    def next_deadline_ms(self) -> int | None:
        """See `Core`."""
        return min(
            (
                state.retry_ms
                for state in self._subscription.states.values()
                if state.retry_ms and state.phase is Phase.FETCHING
            ),
            default=None,
        )

    def _wanted_by_node(self, now_ms: int) -> dict[BrokerId, dict[TopicPartition, Wanted]]:
        buffered = self.buffered
        found: dict[BrokerId, dict[TopicPartition, Wanted]] = {}
        for partition, state in self._subscription.states.items():
            if state.phase is not Phase.FETCHING or state.is_paused or state.is_leaving:
                continue
            if state.retry_ms > now_ms or partition in buffered or state.error is not None:
                continue
            node = self._node_of(partition, state, now_ms)
            if node == NO_BROKER or node in self._in_flight:
                continue
            topic_id = self._view.topic_id(partition.topic)
            wanted = Wanted(topic_id, state.offset, state.leader_epoch, NO_EPOCH)
            found.setdefault(node, {})[partition] = wanted
        return found

    def _node_of(self, partition: TopicPartition, state: PartitionState, now_ms: int) -> BrokerId:
        if state.replica != NO_BROKER:
            if now_ms < state.replica_until_ms and state.replica in self._view.nodes:
                return state.replica
            state.replica = NO_BROKER
        leader = self._view.leader(partition)
        if leader is None or leader.node not in self._view.nodes:
            self._view.refresh_soon(now_ms)
            state.await_leader(now_ms, self._backoff)
            return NO_BROKER
        return leader.node

    def _request(self, asked: SessionRequest) -> FetchRequest:
        options = self._options
        topics: dict[str, FetchTopic] = {}
        for (name, number), wanted in asked.changed.items():
            topic = topics.get(name)
            if topic is None:
                topic = topics[name] = FetchTopic(topic=name, topic_id=wanted.topic_id)
            topic.partitions.append(
                FetchPartition(
                    partition=number,
                    current_leader_epoch=wanted.leader_epoch,
                    fetch_offset=wanted.offset,
                    last_fetched_epoch=wanted.last_epoch,
                    partition_max_bytes=options.partition_max_bytes,
                )
            )
        forgotten: dict[str, ForgottenTopic] = {}
        for (name, number), topic_id in asked.forgotten.items():
            gone = forgotten.setdefault(name, ForgottenTopic(topic=name, topic_id=topic_id))
            gone.partitions.append(number)
        return FetchRequest(
            replica_id=-1,
            max_wait_ms=options.max_wait_ms,
            min_bytes=options.min_bytes,
            max_bytes=options.max_bytes,
            isolation_level=int(options.is_committed_only),
            session_id=asked.session_id,
            session_epoch=asked.epoch,
            topics=list(topics.values()),
            forgotten_topics_data=list(forgotten.values()),
            rack_id=options.rack,
        )

    # --- answers

    def outcome(self, outcome: Outcome, now_ms: int) -> None:
        """See `Core`."""
        node = outcome.send.tag
        assert isinstance(node, int)
        asked_ms, wanted = self._in_flight.pop(node)
        session = self._sessions[node]
        if outcome.error is not None:
            session.failed()
            self._note_failure(node, wanted, outcome.error)
            self._retry(wanted, outcome.error, now_ms)
            return
        answer = outcome.answer(FetchResponse)
        code = known_code(answer.error_code)
        if code is not ErrorCode.NONE:
            # A new session is begun at once, but not again and again.
            is_begun_at_once = (
                code in _SESSION_LOST - {ErrorCode.INCONSISTENT_TOPIC_ID} and not session.is_full
            )
            session.lost() if code in _SESSION_LOST else session.failed()
            error = ApiError(code, name_of(code))
            self._note_failure(node, wanted, error)
            if not is_begun_at_once:
                self._view.refresh_soon(now_ms)
                self._retry(wanted, error, now_ms)
            return
        named = dict(self._named(answer))
        if not session.is_answer_to(set(named)):
            session.failed()
            said = "the broker's answer names other partitions than the request"
            error = ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, said)
            self._note_failure(node, wanted, error)
            self._retry(wanted, error, now_ms)
            return
        session.answered(answer.session_id)
        size_bytes = sum(len(data.records or b"") for data in named.values())
        self.figures.note_answer(size_bytes, now_ms - asked_ms, answer.throttle_time_ms, now_ms)
        for partition, asked in wanted.items():
            state = self._subscription.states.get(partition)
            if state is None or state.phase is not Phase.FETCHING or state.offset != asked.offset:
                continue  # it was revoked, or the application has moved the position
            if state.topic_id != asked.topic_id:
                continue  # the topic was made again
            state.failed = None
            if partition in named:  # else there is no news of it
                self._take_in(partition, state, named[partition], node, now_ms)
            if state.failed is None:
                state.failures = 0
            state.note_hold_up(asked.offset, now_ms)
        self._subscription.turn(one for one, data in named.items() if data.records)

    def take_failures(self) -> Sequence[str]:
        """A sentence about each fetch that failed since the last call, for the log."""
        if not self._failures:
            return ()
        failures, self._failures = self._failures, deque(maxlen=_FAILURES_MAX)
        return failures

    def _note_failure(self, node: BrokerId, wanted: Mapping[TopicPartition, Wanted], error: ApiError) -> None:
        names = ", ".join(map(str, list(wanted)[:_NAMED_MAX]))
        more = f" and {len(wanted) - _NAMED_MAX} more" if len(wanted) > _NAMED_MAX else ""
        self._failures.append(f"a fetch of {names}{more} from broker {node} failed, and is repeated: {error}")

    def _retry(self, wanted: Mapping[TopicPartition, Wanted], error: ApiError, now_ms: int) -> None:
        states = [self._subscription.states.get(partition) for partition in wanted]
        left = [state for state in states if state is not None]
        for state in left:
            state.put_off(now_ms, self._backoff)
            state.failed = error
        # A broker that has just left the cluster is no refusal.
        is_refusal = not may_pass(error.code) and error.code is not ErrorCode.BROKER_NOT_AVAILABLE
        if left and is_refusal:  # one poll is to raise it, not one for each partition
            left[0].error = error

    def _named(self, answer: FetchResponse) -> Iterator[tuple[TopicPartition, PartitionData]]:
        for topic in answer.responses:
            name = topic.topic or self._view.topic_name(topic.topic_id) or ""
            for data in topic.partitions:
                yield TopicPartition(name, data.partition_index), data

    def _take_in(
        self,
        partition: TopicPartition,
        state: PartitionState,
        data: PartitionData,
        node: BrokerId,
        now_ms: int,
    ) -> None:
        code = known_code(data.error_code)
        if code is ErrorCode.NONE:
            state.high_watermark, state.log_start_offset = data.high_watermark, data.log_start_offset
            state.last_stable_offset = data.last_stable_offset
            if data.preferred_read_replica >= 0:
                self._prefer(partition, state, data.preferred_read_replica, node, now_ms)
            elif data.records:
                self._queue.append(
                    CompletedFetch(
                        partition,
                        state.offset,
                        data,
                        is_committed_only=self._options.is_committed_only,
                        checks_crc=self._options.checks_crc,
                        decoder=self._decoder,
                    )
                )
            return
        self._failures.append(f"a fetch of {partition} from broker {node} was refused: {name_of(code)}")
        self._refused(partition, state, code, now_ms)
        if data.current_leader is not None:
            leader = data.current_leader
            self._view.leader_is(partition, leader.leader_id, leader.leader_epoch)

    def _prefer(
        self, partition: TopicPartition, state: PartitionState, replica: BrokerId, node: BrokerId, now_ms: int
    ) -> None:
        """Broker `node` sends the consumer to another replica (KIP-392)."""
        if replica != node and replica in self._view.nodes:
            state.replica = replica
            state.replica_until_ms = now_ms + self._options.metadata_max_age_ms
            return
        # It has just joined, or that is wrong; to ask the same broker at once would get the same answer.
        said = f"{partition}: broker {node} sends the consumer to replica {replica}"
        state.failed = ApiError(ErrorCode.REPLICA_NOT_AVAILABLE, f"{said}, which is not in the metadata")
        state.replica = NO_BROKER
        state.put_off(now_ms, self._backoff)
        self._view.refresh_soon(now_ms)

    def _refused(
        self, partition: TopicPartition, state: PartitionState, code: ErrorCode, now_ms: int
    ) -> None:
        words = name_of(code)
        state.failed = ApiError(code, f"{partition} cannot be read: {words}")
        if code is ErrorCode.OFFSET_OUT_OF_RANGE and state.replica != NO_BROKER:
            state.replica = NO_BROKER  # a follower may lack what the leader has
        elif code is ErrorCode.OFFSET_OUT_OF_RANGE:
            state.lost()
        elif code in _STALE:
            state.replica = NO_BROKER
            state.put_off(now_ms, self._backoff)
            self._view.refresh_soon(now_ms)
        elif may_pass(code):
            state.put_off(now_ms, self._backoff)
        else:
            state.error = state.failed

    # --- what is returned

    def take(self, count: int, convert: Convert | None = None) -> list[ConsumerRecord]:
        """Up to `count` records; the positions move behind them. Raises what a record cannot be read for.

        It may return none although there is data, after much work or before a call `away`: take again then.
        """
        found: list[ConsumerRecord] = []
        self._with_headers = None

        def read(current: CompletedFetch, left: int) -> int | None:
            if current.columns is not None:
                return None
            taken = current.take(left, convert)
            found.extend(taken)
            return len(taken)

        self._drain(count, read)
        return found

    def take_columns(self, count: int, *, with_headers: bool) -> list[Piece]:
        """`take` without an object per record: up to `count` rows, each piece of one partition."""
        found: list[Piece] = []
        self._with_headers = with_headers

        def read(current: CompletedFetch, left: int) -> int | None:
            columns = current.as_columns(with_headers=with_headers)
            if columns is None:
                return None
            at = columns.next_offset
            pieces = columns.take(left)
            current.next_offset, current.epoch = columns.next_offset, columns.epoch
            current.spent = 0
            found.extend(Piece(current.partition, at, rows) for rows in pieces)
            number: int = sum(rows.num_rows for rows in pieces)
            return number

        self._drain(count, read)
        return found

    def _drain(self, count: int, read: _Read) -> None:
        """Have records read from one completed fetch after the other, the next in line first."""
        done = spent = 0
        kept: list[CompletedFetch] = []
        try:
            while done < count and spent < WORK_RECORDS_MAX:
                current = self._next if self._next is not None else self._pop()
                self._next = None
                if current is None:
                    break
                if not self._is_current(current):
                    continue
                if not self._is_returnable(current.partition):
                    kept.append(current)
                    continue
                self._next = current
                number = self._read(current, count - done, read, is_first=not done)
                if not number and self._next is not None:
                    break
                done += number
                spent += current.spent
        finally:
            self._queue.extendleft(reversed(kept))

    def prepare(self) -> bool:
        """Decode, between two calls of `take`, some of what the next one returns, in the same form.

        Returns whether there is more to decode ahead; no position moves.
        """
        if self._next is None and self._queue and self._is_takeable(self._queue[0]):
            self._next = self._queue.popleft()
        current = self._next
        if current is None or not self._is_takeable(current):
            return False
        if self._with_headers is not None:
            columns = current.as_columns(with_headers=self._with_headers)
            return columns is not None and columns.prepare()
        return current.columns is None and current.prepare()

    @property
    def away(self) -> Away | None:
        """What is to be called elsewhere before `take` returns more; None while it need not be."""
        current = self._next
        return current.away if current is not None and self._is_takeable(current) else None

    def _read(self, current: CompletedFetch, count: int, read: _Read, *, is_first: bool) -> int:
        """Read from the next in line; returns 0 where an error follows what was found."""
        state = self._subscription.states[current.partition]
        try:
            number = read(current, count)
        except OdradekError as error:
            current.is_damaged = True
            state.unreadable = current.next_offset, str(error)
            if not is_first:
                return 0
            said = f"{current.partition} cannot be read at offset {current.next_offset}: {error}"
            raise ApiError(ErrorCode.CORRUPT_MESSAGE, f"{said}; seek behind it to go on") from error
        except Exception as error:
            state.unreadable = current.next_offset, f"{type(error).__name__}: {error}"
            if not is_first:
                return 0
            raise
        if number is None:  # it was begun in another way: what is left is fetched again
            self._next = None
            return 0
        self.figures.records += number
        state.taken(current.next_offset, current.epoch)
        if current.is_exhausted:
            self._next = None
        return number

    def _drop_outdated(self) -> None:
        """Forget what came from before a reset, since the topic may have been made again, and what is damaged
        once the application has sought: a seek to the same offset has it fetched again."""

        def is_outdated(completed: CompletedFetch) -> bool:
            state = self._subscription.states.get(completed.partition)
            if state is None:
                return False
            return state.phase is Phase.NEEDS_RESET or (completed.is_damaged and state.unreadable is None)

        if not any(map(is_outdated, self._completed())):
            return
        self._queue = deque(one for one in self._queue if not is_outdated(one))
        if self._next is not None and is_outdated(self._next):
            self._next = None

    def _is_current(self, completed: CompletedFetch) -> bool:
        """Whether it is still assigned and continues at the position (C5)."""
        state = self._subscription.states.get(completed.partition)
        return state is not None and state.phase is Phase.FETCHING and state.offset == completed.next_offset

    def _is_takeable(self, completed: CompletedFetch) -> bool:
        return self._is_current(completed) and self._is_returnable(completed.partition)

    def _is_returnable(self, partition: TopicPartition) -> bool:
        state = self._subscription.states.get(partition)
        return state is not None and not state.is_paused and not state.is_leaving

    def _pop(self) -> CompletedFetch | None:
        return self._queue.popleft() if self._queue else None

    def _completed(self) -> Iterator[CompletedFetch]:
        if self._next is not None:
            yield self._next
        yield from self._queue
