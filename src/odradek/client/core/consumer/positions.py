"""Finds where reading begins and whether it may go on: committed offsets, resets, validation (C7).

    NEEDS_COMMITTED     OffsetFetch to the group's coordinator, one at a time for all such partitions
    NEEDS_RESET         ListOffsets to each leader: the application's timestamp, else `auto.offset.reset`
    NEEDS_VALIDATION    OffsetForLeaderEpoch to the new leader (KIP-320): a log that ends before the position
                        was cut off there; the position is reset, or without a policy the application is told

The same is done when the topic was deleted and made again, as its id shows: the new one has other offsets.

Invariant: at most one request of each kind to a broker is under way, and an answer counts only for partitions
that have waited for it ever since: not for one that was given away and came back, nor after a seek.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol, TypeAlias

from odradek.base.clock import Clock
from odradek.base.error_codes import ErrorCode, known_code
from odradek.base.errors import ApiError
from odradek.base.ids import (
    NO_EPOCH,
    NO_TOPIC_ID,
    BrokerId,
    LeaderEpoch,
    Offset,
    TopicId,
    TopicPartition,
)
from odradek.base.offset_timestamps import LATEST
from odradek.client.core.backoff import Backoff
from odradek.client.core.cluster_view import ClusterView
from odradek.client.core.consumer.partition_state import PartitionState, Phase
from odradek.client.core.consumer.subscription import Subscription
from odradek.client.core.requests import Outcome, Send, ToCoordinator, ToNode
from odradek.client.core.routing import Routing
from odradek.client.refusal import name_of
from odradek.client.reset_policy import ResetPolicy, timestamp_of
from odradek.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from odradek.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
)
from odradek.wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)

# The last versions that name topics by name.
OFFSET_FETCH_VERSION_MAX: Final = 9
LIST_OFFSETS_VERSION_MAX: Final = 10

CommittedEntry: TypeAlias = OffsetFetchResponsePartition | OffsetFetchResponsePartitions
"""What an OffsetFetch is answered about one partition, in an old or a new version."""


class NoPosition(ApiError):
    """A partition cannot be read on until the application seeks: there is no setting that says where."""

    def __init__(self, message: str, partition: TopicPartition, offset: Offset | None) -> None:
        super().__init__(ErrorCode.OFFSET_OUT_OF_RANGE, message)
        self.partition = partition
        self.offset = offset
        """The position whose records are gone; None if there was none, nor a committed offset."""


class Identity(Protocol):
    """Who asks as a member of a group."""

    @property
    def group(self) -> str:
        """Empty without a group."""

    @property
    def member(self) -> str:
        """Empty outside of the group."""

    @property
    def epoch(self) -> int:
        """The member's epoch or generation; -1 outside of the group."""

    @property
    def instance(self) -> str | None:
        """The static member's id."""

    @property
    def checks_epoch(self) -> bool:
        """Whether OffsetFetch carries member and epoch (KIP-848)."""


class _Waiting(NamedTuple):
    """What a partition waited for when it was asked about."""

    state: PartitionState
    """Of the assignment then: a partition that came back since has another one."""
    offset: Offset
    reset_timestamp: int | None
    topic_id: TopicId


@dataclass(frozen=True, slots=True)
class _Asked:
    """What one request of this core asks for."""

    phase: Phase
    partitions: Mapping[TopicPartition, _Waiting]


def offset_fetch(identity: Identity, partitions: Iterable[TopicPartition]) -> OffsetFetchRequest:
    """Asks for the committed offsets of a group that no open transaction may still change."""
    by_topic: dict[str, list[int]] = {}
    for topic, number in partitions:
        by_topic.setdefault(topic, []).append(number)
    group = OffsetFetchRequestGroup(
        group_id=identity.group,
        topics=[
            OffsetFetchRequestTopics(name, partition_indexes=numbers) for name, numbers in by_topic.items()
        ],
    )
    if identity.checks_epoch and identity.epoch > 0:
        group.member_id, group.member_epoch = identity.member, identity.epoch
    return OffsetFetchRequest(
        group_id=identity.group,
        topics=[OffsetFetchRequestTopic(name, numbers) for name, numbers in by_topic.items()],
        groups=[group],
        require_stable=True,
    )


def fetched_offsets(
    answer: OffsetFetchResponse,
) -> tuple[ErrorCode, dict[TopicPartition, CommittedEntry]]:
    """What an OffsetFetch was answered, in any version: the group's error, and each partition's entry."""
    found: dict[TopicPartition, CommittedEntry] = {}
    if answer.groups:
        for topic in answer.groups[0].topics:
            found.update({TopicPartition(topic.name, one.partition_index): one for one in topic.partitions})
        return known_code(answer.groups[0].error_code), found
    for old in answer.topics:
        found.update({TopicPartition(old.name, one.partition_index): one for one in old.partitions})
    return known_code(answer.error_code), found


def list_offsets(
    asked: Iterable[tuple[TopicPartition, int, LeaderEpoch]], *, is_committed_only: bool, timeout_ms: int
) -> ListOffsetsRequest:
    """Asks a leader for the offsets of (partition, timestamp, leader epoch)."""
    topics: dict[str, ListOffsetsTopic] = {}
    for (name, number), timestamp, epoch in asked:
        topic = topics.setdefault(name, ListOffsetsTopic(name))
        topic.partitions.append(ListOffsetsPartition(number, epoch, timestamp))
    return ListOffsetsRequest(
        replica_id=-1,
        isolation_level=int(is_committed_only),
        topics=list(topics.values()),
        timeout_ms=timeout_ms,
    )


class Positions:
    """See the module."""

    def __init__(
        self,
        view: ClusterView,
        routing: Routing,
        subscription: Subscription,
        identity: Identity,
        *,
        clock: Clock,
        reset_to: ResetPolicy,
        is_committed_only: bool,
        request_timeout_ms: int,
        backoff: Backoff,
    ) -> None:
        self._clock = clock
        self._view = view
        self._routing = routing
        self._subscription = subscription
        self._identity = identity
        self._reset_to = reset_to
        self._is_committed_only = is_committed_only
        self._timeout_ms = request_timeout_ms
        self._backoff = backoff
        # What is under way, by request.
        self._asked: dict[Send, _Asked] = {}
        # The view's version for which positions were compared with the leaders.
        self._seen_version = -1

    def due(self, now_ms: int) -> Sequence[Send]:
        """See `Core`."""
        self._compare_leaders()
        return [*self._ask_committed(now_ms), *self._ask_resets(now_ms), *self._ask_validation(now_ms)]

    def next_deadline_ms(self) -> int | None:
        """See `Core`."""
        return min(
            (
                state.retry_ms
                for state in self._subscription.states.values()
                if state.retry_ms and state.phase is not Phase.FETCHING
            ),
            default=None,
        )

    def outcome(self, outcome: Outcome, now_ms: int) -> None:
        """See `Core`."""
        asked = self._asked.pop(outcome.send)
        if outcome.error is not None:
            self._failed(asked, outcome.error, now_ms)
            return
        match asked.phase:
            case Phase.NEEDS_COMMITTED:
                self._take_committed(asked, outcome.answer(OffsetFetchResponse), now_ms)
            case Phase.NEEDS_RESET:
                self._take_resets(asked, outcome.answer(ListOffsetsResponse), now_ms)
            case _:
                self._take_validation(asked, outcome.answer(OffsetForLeaderEpochResponse), now_ms)

    # --- asking

    def _waiting(self, phase: Phase, now_ms: int) -> list[tuple[TopicPartition, PartitionState]]:
        under_way = {one for asked in self._asked.values() for one in asked.partitions}
        return [
            (one, state)
            for one, state in self._subscription.states.items()
            if state.phase is phase
            and one not in under_way
            and state.error is None
            and state.retry_ms <= now_ms
            and not state.is_leaving
        ]

    def _ask_committed(self, now_ms: int) -> list[Send]:
        if any(asked.phase is Phase.NEEDS_COMMITTED for asked in self._asked.values()):
            return []
        waiting = self._waiting(Phase.NEEDS_COMMITTED, now_ms)
        if not self._identity.group:
            for _, state in waiting:
                state.go(Phase.NEEDS_RESET)
            return []
        if not waiting:
            return []
        send = Send(
            ToCoordinator(self._identity.group),
            offset_fetch(self._identity, [one for one, _ in waiting]),
            timeout_ms=self._timeout_ms,
            highest=OFFSET_FETCH_VERSION_MAX,
        )
        self._asked[send] = _asked(Phase.NEEDS_COMMITTED, waiting)
        return [send]

    def _by_leader(
        self, phase: Phase, now_ms: int
    ) -> dict[BrokerId, list[tuple[TopicPartition, PartitionState, LeaderEpoch]]]:
        found: dict[BrokerId, list[tuple[TopicPartition, PartitionState, LeaderEpoch]]] = {}
        for one, state in self._waiting(phase, now_ms):
            leader = self._view.leader(one)
            if leader is None or leader.node not in self._view.nodes:
                self._view.refresh_soon(now_ms)
                state.await_leader(now_ms, self._backoff)
                continue
            found.setdefault(leader.node, []).append((one, state, leader.epoch))
        return found

    def _ask_resets(self, now_ms: int) -> list[Send]:
        sends = []
        for node, waiting in self._by_leader(Phase.NEEDS_RESET, now_ms).items():
            asked = []
            for one, state, epoch in waiting:
                if state.reset_timestamp is None:
                    # Kept until it is answered: to look up a later one would leave records out.
                    state.reset_timestamp = timestamp_of(self._reset_to, self._clock.wall_ms())
                if state.reset_timestamp is None:
                    state.error = _no_position(one, state)
                else:
                    asked.append((one, state.reset_timestamp, epoch))
            if asked:
                request = list_offsets(
                    asked, is_committed_only=self._is_committed_only, timeout_ms=self._timeout_ms
                )
                send = Send(
                    ToNode(node), request, timeout_ms=self._timeout_ms, highest=LIST_OFFSETS_VERSION_MAX
                )
                reset = [(one, state) for one, state, _ in waiting if state.error is None]
                self._asked[send] = _asked(Phase.NEEDS_RESET, reset)
                sends.append(send)
        return sends

    def _ask_validation(self, now_ms: int) -> list[Send]:
        sends = []
        for node, waiting in self._by_leader(Phase.NEEDS_VALIDATION, now_ms).items():
            topics: dict[str, OffsetForLeaderTopic] = {}
            for (name, number), state, epoch in waiting:
                topic = topics.setdefault(name, OffsetForLeaderTopic(name))
                topic.partitions.append(OffsetForLeaderPartition(number, epoch, state.epoch))
            request = OffsetForLeaderEpochRequest(replica_id=-1, topics=list(topics.values()))
            send = Send(ToNode(node), request, timeout_ms=self._timeout_ms)
            self._asked[send] = _asked(Phase.NEEDS_VALIDATION, [(one, state) for one, state, _ in waiting])
            sends.append(send)
        return sends

    def _compare_leaders(self) -> None:
        """Have positions validated whose leader has a later epoch than the one for which they were valid."""
        if self._seen_version == self._view.version and all(
            state.leader_epoch != NO_EPOCH
            for state in self._subscription.states.values()
            if state.phase is Phase.FETCHING
        ):
            return
        self._seen_version = self._view.version
        for one, state in self._subscription.states.items():
            self._compare_topic(one, state)
            leader = self._view.leader(one)
            if state.phase is not Phase.FETCHING or leader is None or leader.epoch <= state.leader_epoch:
                continue
            state.follow(leader.epoch)

    def _compare_topic(self, partition: TopicPartition, state: PartitionState) -> None:
        """Give a position up that is one of a topic which was deleted and made again."""
        topic_id = self._view.topic_id(partition.topic)
        if topic_id in (NO_TOPIC_ID, state.topic_id):
            return
        before, state.topic_id = state.topic_id, topic_id
        if before == NO_TOPIC_ID or state.phase not in (Phase.FETCHING, Phase.NEEDS_VALIDATION):
            return
        gone = state.begin_again()
        if self._reset_to is None:
            said = f"{partition}: the topic was deleted and made again, and auto.offset.reset is none"
            state.error = NoPosition(f"{said}; seek to go on", partition, gone)

    # --- answers

    def _waits(self, asked: _Asked, partition: TopicPartition) -> PartitionState | None:
        """The state of a partition that has waited for the answer ever since; None for another."""
        state, before = self._subscription.states.get(partition), asked.partitions.get(partition)
        if state is None or before is None or state is not before.state or state.phase is not asked.phase:
            return None
        return state if _waiting(state) == before else None

    def _failed(self, asked: _Asked, error: ApiError, now_ms: int) -> None:
        self._view.refresh_soon(now_ms)
        for one in asked.partitions:
            state = self._waits(asked, one)
            if state is None:
                continue
            state.failed = error
            if error.code.is_retriable:
                state.put_off(now_ms, self._backoff)
            elif error.code is ErrorCode.UNSUPPORTED_VERSION and asked.phase is Phase.NEEDS_VALIDATION:
                state.validated(self._leader_epoch(one))
            else:
                state.error = error

    def _refused(self, one: TopicPartition, state: PartitionState, code: ErrorCode, now_ms: int) -> None:
        stale = (ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.UNKNOWN_LEADER_EPOCH)
        changing = (ErrorCode.STALE_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH)
        words = name_of(code)
        state.failed = ApiError(code, f"the position of {one} cannot be found: {words}")
        if code.is_retriable or code in stale or code in changing:
            self._view.refresh_soon(now_ms)
            state.put_off(now_ms, self._backoff)
        else:
            state.error = state.failed

    def _take_committed(self, asked: _Asked, answer: OffsetFetchResponse, now_ms: int) -> None:
        group_code, found = fetched_offsets(answer)
        self._routing.refused(_to_group(self._identity), group_code)
        for one in asked.partitions:
            state = self._waits(asked, one)
            if state is None:
                continue
            entry = found.get(one)
            code = group_code
            if code is ErrorCode.NONE and entry is not None:
                code = known_code(entry.error_code)
            if code is not ErrorCode.NONE:
                self._refused(one, state, code, now_ms)
            elif entry is None:
                state.error = left_out(one)
            elif entry.committed_offset < 0:
                state.go(Phase.NEEDS_RESET)
                state.settle()
            else:
                state.found(entry.committed_offset, entry.committed_leader_epoch)

    def _put_off_others(self, asked: _Asked, named: Collection[TopicPartition], now_ms: int) -> None:
        """Ask again later about what an answer leaves out."""
        for one in asked.partitions:
            state = None if one in named else self._waits(asked, one)
            if state is not None:
                state.put_off(now_ms, self._backoff)

    def _take_resets(self, asked: _Asked, answer: ListOffsetsResponse, now_ms: int) -> None:
        named = set()
        for topic in answer.topics:
            for one in topic.partitions:
                partition = TopicPartition(topic.name, one.partition_index)
                named.add(partition)
                state = self._waits(asked, partition)
                if state is None:
                    continue
                code = known_code(one.error_code)
                if code is ErrorCode.NONE and one.offset < 0 <= (state.reset_timestamp or 0):
                    state.reset(LATEST)  # no record is as late
                    continue
                if code is ErrorCode.NONE and one.offset < 0:
                    code = ErrorCode.OFFSET_NOT_AVAILABLE  # a fetch from there would be refused at once
                if code is not ErrorCode.NONE:
                    self._refused(partition, state, code, now_ms)
                    continue
                state.found(one.offset)
        self._put_off_others(asked, named, now_ms)

    def _take_validation(self, asked: _Asked, answer: OffsetForLeaderEpochResponse, now_ms: int) -> None:
        named = set()
        for topic in answer.topics:
            for one in topic.partitions:
                partition = TopicPartition(topic.topic, one.partition)
                named.add(partition)
                state = self._waits(asked, partition)
                if state is None:
                    continue
                code = known_code(one.error_code)
                if code is not ErrorCode.NONE:
                    self._refused(partition, state, code, now_ms)
                elif one.end_offset < 0 or one.end_offset < state.offset:
                    self._cut_off(partition, state, one.end_offset)
                else:
                    state.validated(self._leader_epoch(partition))
        self._put_off_others(asked, named, now_ms)

    def _leader_epoch(self, partition: TopicPartition) -> LeaderEpoch:
        leader = self._view.leader(partition)
        return NO_EPOCH if leader is None else leader.epoch

    def _cut_off(self, partition: TopicPartition, state: PartitionState, end: Offset) -> None:
        """The log ends before the position (KIP-320): read on where it was cut off, or tell."""
        if self._reset_to is None:
            state.go(Phase.NEEDS_RESET)
            said = f"{partition} was cut off at offset {end}, before the position {state.offset}"
            state.error = NoPosition(f"{said}; seek to go on", partition, state.offset)
        elif end < 0:
            state.go(Phase.NEEDS_RESET)
        else:
            state.cut_off(end, self._leader_epoch(partition))


def _asked(phase: Phase, waiting: Iterable[tuple[TopicPartition, PartitionState]]) -> _Asked:
    return _Asked(phase, {one: _waiting(state) for one, state in waiting})


def _waiting(state: PartitionState) -> _Waiting:
    return _Waiting(state, state.offset, state.reset_timestamp, state.topic_id)


def _to_group(identity: Identity) -> Send:
    """A request to the group's coordinator, to tell the routing about it."""
    return Send(ToCoordinator(identity.group), OffsetFetchRequest())


def left_out(partition: TopicPartition) -> ApiError:
    """The error of a partition that an answer leaves out, which may have a committed offset."""
    said = f"the coordinator's answer leaves out the committed offset of {partition}"
    return ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, said)


def _no_position(partition: TopicPartition, state: PartitionState) -> NoPosition:
    if state.offset >= 0:
        said, offset = f"{partition} has no offset {state.offset} any more", state.offset
    else:
        said, offset = f"{partition} has no committed offset", None
    return NoPosition(f"{said}, and auto.offset.reset is none; seek to go on", partition, offset)
