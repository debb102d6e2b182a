"""What an application asks about offsets, and what it commits: operations that a consumer runs.

    commit_offsets(identity, states, offsets)      all of them are committed
    committed_offsets(identity, partitions)        what the group has committed
    offsets_for_times(view, timestamps, ...)       the offset for each timestamp, as its leader knows it

They go on while coordinators move and load, and while leaders are elected. See `client/core/operation`.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from odradek.base.error_codes import ErrorCode, known_code
from odradek.base.errors import ApiError
from odradek.base.ids import BrokerId, LeaderEpoch, Offset, TopicPartition
from odradek.client.core.cluster_view import ClusterView
from odradek.client.core.consumer.commits import Commit, may_ask_again
from odradek.client.core.consumer.partition_state import PartitionState
from odradek.client.core.consumer.positions import (
    LIST_OFFSETS_VERSION_MAX,
    OFFSET_FETCH_VERSION_MAX,
    CommittedEntry,
    Identity,
    fetched_offsets,
    left_out,
    list_offsets,
    offset_fetch,
)
from odradek.client.core.offset_and_metadata import OffsetAndMetadata
from odradek.client.core.operation import Operation, Pause
from odradek.client.core.requests import REQUEST_TIMEOUT_MS, Send, ToCoordinator, ToNode
from odradek.client.refusal import name_of
from odradek.wire.messages.list_offsets import ListOffsetsResponse
from odradek.wire.messages.offset_commit import OffsetCommitResponse
from odradek.wire.messages.offset_fetch import OffsetFetchResponse


@dataclass(frozen=True, slots=True)
class OffsetAndTimestamp:
    """A record's offset and its timestamp in milliseconds."""

    offset: Offset
    timestamp: int


def commit_offsets(
    identity: Identity,
    states: Mapping[TopicPartition, PartitionState],
    offsets: Mapping[TopicPartition, OffsetAndMetadata],
) -> Operation[None]:
    """Commit these offsets. Raises ApiError if the group refuses one for good."""
    commit = Commit(identity, states, offsets)
    pauses = 0
    while commit.left:
        (outcome,) = yield [commit.request()]
        if outcome.error is not None:
            yield Pause(pauses, _passing(outcome.error))
        else:
            problem = commit.answered(outcome.answer(OffsetCommitResponse), states)
            if problem is None:
                return
            yield Pause(pauses, problem, ((outcome.send, problem.code),))
        pauses += 1


def committed_offsets(
    identity: Identity, partitions: Iterable[TopicPartition]
) -> Operation[dict[TopicPartition, OffsetAndMetadata | None]]:
    """The group's committed offsets; None where there is none. Raises ApiError for a refusal.

    Offsets that an open transaction may change are waited for (KIP-447).
    """
    asked = sorted(partitions)
    pauses = 0
    while True:
        to, request = ToCoordinator(identity.group), offset_fetch(identity, asked)
        (outcome,) = yield [Send(to, request, highest=OFFSET_FETCH_VERSION_MAX)]
        if outcome.error is not None:
            yield Pause(pauses, _passing(outcome.error))
        else:
            group_code, found = fetched_offsets(outcome.answer(OffsetFetchResponse))
            codes = [group_code, *(known_code(entry.error_code) for entry in found.values())]
            code = next((code for code in codes if code is not ErrorCode.NONE), None)
            if code is None:
                return {one: _committed(one, found) for one in asked}
            problem = ApiError(code, f"group {identity.group}: {name_of(code)}")
            if not may_ask_again(code):
                raise problem
            yield Pause(pauses, problem, ((outcome.send, code),))
        pauses += 1


def _committed(
    one: TopicPartition, found: Mapping[TopicPartition, CommittedEntry]
) -> OffsetAndMetadata | None:
    entry = found.get(one)
    if entry is None:
        raise left_out(one)
    if entry.committed_offset < 0:
        return None
    return OffsetAndMetadata(entry.committed_offset, entry.metadata or "", entry.committed_leader_epoch)


def offsets_for_times(
    view: ClusterView, timestamps: Mapping[TopicPartition, int], *, is_committed_only: bool
) -> Operation[dict[TopicPartition, OffsetAndTimestamp | None]]:
    """The offset for each timestamp (LATEST and EARLIEST among them); None where no record is as late.

    With `is_committed_only` the end is that of the records that are not part of an open transaction. The view
    is kept up to date by whoever runs the operation. Raises ApiError for a refusal.
    """
    view.want({one.topic for one in timestamps})
    found: dict[TopicPartition, OffsetAndTimestamp | None] = {}
    pauses = 0
    while left := {one: timestamp for one, timestamp in timestamps.items() if one not in found}:
        by_leader, problem = _by_leader(left, view)
        outcomes = yield [_to_leader(node, asked, is_committed_only) for node, asked in by_leader.items()]
        for outcome in outcomes:
            if outcome.error is not None:
                problem = outcome.error
            else:
                problem = _take(outcome.answer(ListOffsetsResponse), left, found) or problem
        if len(found) < len(timestamps):
            problem = problem or ApiError(ErrorCode.LEADER_NOT_AVAILABLE, "an answer leaves partitions out")
            if not _is_stale(problem.code):
                raise problem
            yield Pause(pauses, problem)
            pauses += 1
    return found


_Asked: TypeAlias = list[tuple[TopicPartition, int, LeaderEpoch]]
"""Of one leader: partition, timestamp, and the epoch in which it is known to lead."""


def _by_leader(
    left: Mapping[TopicPartition, int], view: ClusterView
) -> tuple[dict[BrokerId, _Asked], ApiError | None]:
    """What to ask each leader, and why one of the partitions has none; None if all have one."""
    by_leader: dict[BrokerId, _Asked] = {}
    problem = None
    for one, timestamp in left.items():
        leader = view.leader(one)
        if leader is not None and leader.node in view.nodes:
            by_leader.setdefault(leader.node, []).append((one, timestamp, leader.epoch))
        else:
            problem = _without_leader(one, view)
    return by_leader, problem


def _to_leader(node: BrokerId, asked: _Asked, is_committed_only: bool) -> Send:
    request = list_offsets(asked, is_committed_only=is_committed_only, timeout_ms=REQUEST_TIMEOUT_MS)
    return Send(ToNode(node), request, highest=LIST_OFFSETS_VERSION_MAX)


def _take(
    answer: ListOffsetsResponse,
    asked: Collection[TopicPartition],
    found: dict[TopicPartition, OffsetAndTimestamp | None],
) -> ApiError | None:
    """Add what an answer says to `found`; returns a refusal in it, None if there is none."""
    problem = None
    for topic in answer.topics:
        for one in topic.partitions:
            partition = TopicPartition(topic.name, one.partition_index)
            if partition not in asked:
                continue
            code = known_code(one.error_code)
            if code is ErrorCode.NONE:
                has_one = one.offset >= 0
                found[partition] = OffsetAndTimestamp(one.offset, one.timestamp) if has_one else None
            else:
                problem = _refused(partition, code)
    return problem


def _without_leader(one: TopicPartition, view: ClusterView) -> ApiError:
    """Why no broker can be asked about a partition."""
    code = view.errors.get(one.topic)
    if code is not None:
        return _refused(one, code)
    if view.last_error is not None:
        return view.last_error
    known = view.topics.get(one.topic)
    if known is not None and one.partition >= len(known.leaders):
        said = f"there is no partition {one.partition} of topic {one.topic}: it has {len(known.leaders)}"
        return ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, said)
    return ApiError(ErrorCode.LEADER_NOT_AVAILABLE, f"{one} has no leader")


def _refused(one: TopicPartition, code: ErrorCode) -> ApiError:
    return ApiError(code, f"no offsets of {one}: {name_of(code)}")


def _is_stale(code: ErrorCode) -> bool:
    return code.is_retriable or code in (ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.UNKNOWN_LEADER_EPOCH)


def _passing(error: ApiError) -> ApiError:
    """Returns why a request has no answer. Raises it if that does not pass by itself."""
    if not error.code.is_retriable:
        raise error
    return error
