"""Bugs of group coordinators: commits, generations, assignments, sessions, and what a new one loads."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from campaigns.sim.planted.planting import Plant, replaced, together
from odradek.base.error_codes import ErrorCode
from odradek.base.ids import Offset, ProducerId, TopicPartition
from odradek.coordinator.classic.classic_membership import ClassicMembership, GroupSnapshot
from odradek.coordinator.classic.classic_protocol import ClassicProtocol
from odradek.coordinator.classic.member import Member
from odradek.coordinator.consumer import reconciling
from odradek.coordinator.consumer.changes import EpochChanged, ShareChanged, TargetEpochChanged
from odradek.coordinator.consumer.consumer_protocol import ConsumerProtocol
from odradek.coordinator.groups import group_coordinator, loading, offset_writes
from odradek.coordinator.groups.consumer_records import ConsumerRecord
from odradek.coordinator.groups.group_coordinator import GroupCoordinator
from odradek.coordinator.groups.loading import READ_BYTES
from odradek.coordinator.groups.offsets import GroupOffsets
from odradek.coordinator.groups.shard import Shard
from odradek.coordinator.ports import PartitionReader
from odradek.coordinator.runtime.answers import AnyHeldAnswer
from odradek.records.header import iter_headers


def _answered_at_once(original: Any) -> Any:
    def answer(self: Shard, answer: AnyHeldAnswer) -> None:
        self._trampoline.answer(answer)

    return answer


def _read_at_once(original: Any) -> Any:
    def answer_when_all(trampoline: Any, logs: object, answer: AnyHeldAnswer) -> None:
        trampoline.answer(answer)

    return answer_when_all


def _any_generation(original: Any) -> Any:
    def check_committer(*given: Any, **named: Any) -> ErrorCode:
        code: ErrorCode = original(*given, **named)
        return ErrorCode.NONE if code is ErrorCode.ILLEGAL_GENERATION else code

    return check_committer


def _any_committer(original: Any) -> Any:
    def check_committer(*given: Any, **named: Any) -> ErrorCode:
        code: ErrorCode = original(*given, **named)
        return ErrorCode.NONE if code is ErrorCode.UNKNOWN_MEMBER_ID else code

    return check_committer


def _by_instance_alone(original: Any) -> Any:
    def lookup(self: ClassicMembership, member_id: str, instance_id: str | None) -> Member | ErrorCode:
        known: str = self.static_members.get(instance_id or "", member_id)
        found: Member | ErrorCode = original(self, known, instance_id)
        return found

    return lookup


def _generation_forgotten(original: Any) -> Any:
    def restore(self: ClassicMembership, snapshot: GroupSnapshot) -> None:
        original(self, replace(snapshot, generation=0))

    return restore


class _FirstRead:
    """Ends where the first read of a partition does."""

    def __init__(self, reader: PartitionReader) -> None:
        self._reader = reader

    def bounds(self, topic_partition: TopicPartition) -> tuple[Offset, Offset] | None:
        bounds = self._reader.bounds(topic_partition)
        if bounds is None or bounds[0] == bounds[1]:
            return bounds
        data = self.read(topic_partition, bounds[0], READ_BYTES)
        ends = [header.next_offset for _, header in iter_headers(data)]
        return bounds[0], max(ends, default=bounds[0])

    def read(self, topic_partition: TopicPartition, start: Offset, max_bytes: int) -> Any:
        return self._reader.read(topic_partition, start, max_bytes)


def _first_segment(original: Any) -> Any:
    return lambda shard, reader: original(shard, _FirstRead(reader))


def _no_tombstones(original: Any) -> Any:
    def take(replay: Any, key: bytes, value: bytes | None, *more: Any) -> None:
        if value is not None:
            original(replay, key, value, *more)

    return take


def _counts_anyway(original: Any) -> Any:
    def complete(self: GroupOffsets, producer_id: ProducerId, *, committed: bool) -> None:
        original(self, producer_id, committed=True)

    return complete


def _without(*kinds: type) -> Any:
    """Leaves out these changes where records are read."""

    def make(original: Any) -> Any:
        def read_record(key: bytes, value: bytes | None) -> ConsumerRecord:
            read: ConsumerRecord = original(key, value)
            return read._replace(change=None) if isinstance(read.change, kinds) else read

        return read_record

    return make


GROUPS: Final[Mapping[str, Plant]] = {
    "commit answered before HW": replaced(Shard, "answer", _answered_at_once),
    "offsets answered before HW": replaced(group_coordinator, "answer_when_all", _read_at_once),
    "commit of an old generation accepted": replaced(offset_writes, "check_committer", _any_generation),
    "commit of one that is no member accepted": replaced(offset_writes, "check_committer", _any_committer),
    "fenced member accepted": replaced(ClassicMembership, "lookup", _by_instance_alone),
    "assignment handed out before revocation": replaced(
        reconciling, "_free", lambda original: lambda group, member_id, wanted: wanted
    ),
    "generation forgotten at a load": replaced(ClassicMembership, "restore", _generation_forgotten),
    "epochs forgotten at a load": replaced(
        loading, "read_record", _without(EpochChanged, TargetEpochChanged)
    ),
    "owners forgotten at a load": replaced(loading, "read_record", _without(ShareChanged)),
    "tombstones lost at a load": replaced(loading, "_take_record", _no_tombstones),
    "only the first segment loaded": replaced(group_coordinator, "load", _first_segment),
    "groups kept after the leadership": replaced(
        GroupCoordinator, "_resign", lambda original: lambda self, partition: None
    ),
    "joins not answered after the leadership": replaced(
        Shard, "drop_all", lambda original: lambda self: iter(())
    ),
    "offsets of an aborted transaction count": replaced(GroupOffsets, "complete", _counts_anyway),
    "sessions never end": together(
        replaced(ConsumerProtocol, "_expel", lambda original: lambda self, member_id, is_open: None),
        replaced(ClassicProtocol, "_on_session_over", lambda original: lambda self, member_id: None),
    ),
    "sessions do not begin at a load": together(
        replaced(ConsumerProtocol, "resume", lambda original: lambda self: None),
        replaced(ClassicProtocol, "resume", lambda original: lambda self: None),
    ),
}
"""By what a person would call them."""
