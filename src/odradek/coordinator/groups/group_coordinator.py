"""The entry point for all groups that this broker coordinates: finds a group, or the error if it has none.

It routes requests; each request is one step (`runtime.trampoline`). The protocol is in `classic` and
`consumer`, the rules of commits in `committing`.

    the id's partition is not led here    NOT_COORDINATOR: the client looks for the coordinator again
    it is led here, and being read        COORDINATOR_LOAD_IN_PROGRESS: the client asks again
    it is read                            its shard answers
"""

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, Never, TypeAlias, TypeVar

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError, LogError
from odradek.base.execution import Defer, RunSteps, Steps
from odradek.base.ids import LeaderEpoch, Offset, ProducerId, TopicPartition
from odradek.base.ordering import in_order
from odradek.base.topic_names import OFFSETS_TOPIC
from odradek.coordinator.classic import Caller, Terms
from odradek.coordinator.classic.answers import code_answer, refused_join
from odradek.coordinator.classic.group_purgatories import GroupPurgatories
from odradek.coordinator.classic.joining import NO_MEMBER_ID
from odradek.coordinator.classic.member import RespondToJoin, RespondToSync
from odradek.coordinator.classic.states import GroupEvent
from odradek.coordinator.consumer.answers import RespondToHeartbeat, refused_heartbeat
from odradek.coordinator.consumer.epochs import refuse_fetch
from odradek.coordinator.consumer.expression_lookup import ExpressionLookup
from odradek.coordinator.consumer.member import JOINING_EPOCH
from odradek.coordinator.consumer.surroundings import GroupSurroundings
from odradek.coordinator.consumer.topics import Topics
from odradek.coordinator.consumer.validating import validate
from odradek.coordinator.groups.consumer_heartbeats import ConsumerHeartbeats, Heartbeat
from odradek.coordinator.groups.consumer_listing import described_consumer
from odradek.coordinator.groups.consumer_members import (
    handle_classic_heartbeat,
    handle_consumer_heartbeat,
    handle_join,
    handle_sync,
)
from odradek.coordinator.groups.deleting import GroupDeletion, RespondToDelete
from odradek.coordinator.groups.departing import Departure, RespondToLeave
from odradek.coordinator.groups.expiring import expire, expire_member, forget_topics
from odradek.coordinator.groups.group import Group
from odradek.coordinator.groups.listing import (
    FetchedOffset,
    absent,
    described,
    fetched,
    in_words,
    listed,
)
from odradek.coordinator.groups.loading import load
from odradek.coordinator.groups.offset_writes import OffsetWrites
from odradek.coordinator.groups.room import Room
from odradek.coordinator.groups.shard import GroupLog, Shard
from odradek.coordinator.ports import PartitionReader, PartitionWriter
from odradek.coordinator.runtime.answers import HeldAnswer, final
from odradek.coordinator.runtime.log_errors import OFFSET_ERRORS, client_error
from odradek.coordinator.runtime.partition_log import PartitionLog, answer_when_all
from odradek.coordinator.runtime.trampoline import Trampoline
from odradek.timer import Purgatory, Timer
from odradek.wire.messages.consumer_group_describe import DescribedGroup as DescribedConsumerGroup
from odradek.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from odradek.wire.messages.describe_groups import DescribedGroup
from odradek.wire.messages.heartbeat import HeartbeatRequest
from odradek.wire.messages.join_group import JoinGroupRequest
from odradek.wire.messages.leave_group import LeaveGroupRequest
from odradek.wire.messages.list_groups import ListedGroup
from odradek.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse

_log = logging.getLogger(__name__)

MINUTE_MS: Final = 60_000
PROTOCOLS_MAX: Final = 1_000
"""How many protocols a JoinGroup may offer: a step looks at all of them, and the group keeps them."""

R = TypeVar("R")
MakeRefusal: TypeAlias = Callable[[ErrorCode], R]
"""Makes a response of an error."""
RespondWithCode: TypeAlias = Callable[[ErrorCode], None]


class GroupCoordinator:
    """All groups of one broker; owned by one thread."""

    def __init__(
        self,
        terms: Terms,
        timer: Timer,
        writer: PartitionWriter,
        reader: PartitionReader,
        *,
        partition_of: Callable[[str], int],
        topics: Topics,
        defer: Defer,
        run_steps: RunSteps,
    ) -> None:
        """`partition_of` a group's id; `topics` are those that there are."""
        self._terms = terms
        self._surroundings = GroupSurroundings(terms, topics, ExpressionLookup(topics))
        self._writer = writer
        self._reader = reader
        self._partition_of = partition_of
        self.purgatories = GroupPurgatories(
            Purgatory("Rebalance", timer, defer=defer),
            Purgatory("Sync", timer, defer=defer),
            Purgatory("Heartbeat", timer, defer=defer),
            Purgatory("Member", timer, defer=defer),
        )
        # The partitions led here.
        self._shards: dict[int, Shard] = {}
        self._room = Room(terms, self.purgatories, self._shards)
        self._trampoline = Trampoline()
        self.offset_writes = OffsetWrites(
            terms, self._trampoline, self._room, self._find, self._shard_of, topics
        )
        """Commits and deletions of offsets."""
        self._consumer_heartbeats = ConsumerHeartbeats(
            self._trampoline, self._handle_heartbeat, defer, run_steps
        )
        self._defer = defer
        self._run_steps = run_steps

    # --- leadership

    def lead(self, partition: int, leader_epoch: LeaderEpoch) -> None:
        """This broker leads a partition in this epoch: read it in slices, and serve its groups.

        Where it has led the partition until now, the groups go on: memory has what the log has.
        """
        self._trampoline.run(lambda: self._lead(partition, leader_epoch))

    def _lead(self, partition: int, leader_epoch: LeaderEpoch) -> None:
        led = self._shards.get(partition)
        if led is not None and not led.is_loading:
            led.leader_epoch = leader_epoch
            return
        self._resign(partition)
        log: GroupLog = PartitionLog(
            TopicPartition(OFFSETS_TOPIC, partition),
            self._writer,
            self._trampoline,
            lambda: self._terms.settings.offsets_commit_timeout_ms,
            _nothing,
        )
        shard = Shard(log, leader_epoch, self._surroundings, self.purgatories, self._trampoline, self._defer)
        self._shards[partition] = shard
        self._run_steps(self._load(partition, shard))

    def _load(self, partition: int, shard: Shard) -> Steps[None]:
        """Read a partition; one that cannot be read is not served, as in Kafka.

        A group without its offsets would read its topics again from one of their ends.
        """
        try:
            yield from load(shard, self._reader)
        except LogError as error:
            _log.error("%s is not served: its groups cannot be loaded: %s", shard.topic_partition, error)
            if self._shards.get(partition) is shard:
                self.resign(partition)

    def resign(self, partition: int) -> None:
        """This broker leads a partition no longer: forget its groups, in slices."""
        self._trampoline.run(lambda: self._resign(partition))

    def _resign(self, partition: int) -> None:
        shard = self._shards.pop(partition, None)
        if shard is not None:
            shard.close()
            self._defer(lambda: self._run_steps(shard.drop_all()))

    def resign_all(self) -> None:
        """This broker stops: requests that wait in groups are answered NOT_COORDINATOR."""
        for partition in list(self._shards):
            self.resign(partition)

    def resign_lost(self) -> None:
        """Called when a log directory went offline: resign from the partitions in it."""
        for partition, shard in list(self._shards.items()):
            if self._reader.bounds(shard.topic_partition) is None:
                self.resign(partition)

    # --- lookups

    def _shard_of(self, group_id: str) -> Shard | ErrorCode:
        shard = self._shards.get(self._partition_of(group_id))
        if shard is None:
            return ErrorCode.NOT_COORDINATOR
        return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS if shard.is_loading else shard

    def _find(self, group_id: str) -> tuple[Shard, Group | None] | ErrorCode:
        found = self._shard_of(group_id)
        return found if isinstance(found, ErrorCode) else (found, found.groups.get(group_id))

    def _find_members(self, group_id: str) -> tuple[Shard, Group] | ErrorCode:
        """The group that a member's request names."""
        if not group_id:
            return ErrorCode.INVALID_GROUP_ID
        found = self._find(group_id)
        if isinstance(found, ErrorCode):
            return found
        shard, group = found
        return ErrorCode.UNKNOWN_MEMBER_ID if group is None else (shard, group)

    # --- members

    def join_group(self, request: JoinGroupRequest, caller: Caller, respond: RespondToJoin) -> None:
        """JoinGroup: answered when the join phase ends, or at once with an error."""

        def step() -> None:
            found = self._group_to_join(request)
            if isinstance(found, ErrorCode):
                self._trampoline.answer(final(respond, refused_join(request.member_id, found)))
            else:
                shard, group = found
                handle_join(shard, group, request, caller, respond)

        self._trampoline.run(step)

    def _group_to_join(self, request: JoinGroupRequest) -> tuple[Shard, Group] | ErrorCode:
        settings = self._terms.settings
        least, most = settings.group_min_session_timeout_ms, settings.group_max_session_timeout_ms
        if not request.group_id:
            return ErrorCode.INVALID_GROUP_ID
        # In Kafka's order: any broker refuses what no broker allows.
        if not least <= request.session_timeout_ms <= most:
            return ErrorCode.INVALID_SESSION_TIMEOUT
        if len(request.protocols) > PROTOCOLS_MAX:
            return ErrorCode.POLICY_VIOLATION
        shard = self._shard_of(request.group_id)
        if isinstance(shard, ErrorCode):
            return shard
        if request.group_id not in shard.groups and request.member_id != NO_MEMBER_ID:
            return ErrorCode.UNKNOWN_MEMBER_ID
        is_newcomer = request.member_id == NO_MEMBER_ID
        if self._room.refusal(shard, request.group_id, is_newcomer=is_newcomer) is not None:
            return ErrorCode.POLICY_VIOLATION
        return shard, shard.group(request.group_id)

    def sync_group(self, request: SyncGroupRequest, respond: RespondToSync) -> None:
        """SyncGroup: answered when the leader's assignment is replicated."""

        def step() -> None:
            found = self._find_members(request.group_id)
            if found is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
                # Old clients do not know that error here; they know that one, and join again.
                found = ErrorCode.REBALANCE_IN_PROGRESS
            if isinstance(found, ErrorCode):
                self._trampoline.answer(final(respond, SyncGroupResponse(error_code=found)))
                return
            shard, group = found
            if group.consumer is not None:
                handle_sync(shard, group.consumer, request, respond)
            else:
                group.classic.sync(request, respond)

        self._trampoline.run(step)

    def heartbeat(self, request: HeartbeatRequest, respond: RespondWithCode) -> None:
        """Heartbeat: a member's session begins anew."""

        def step() -> None:
            found = self._find_members(request.group_id)
            if found is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
                found = ErrorCode.NONE  # its session begins when the group is loaded
            if isinstance(found, ErrorCode):
                self._trampoline.answer(final(respond, found))
                return
            shard, group = found
            if group.consumer is not None:
                handle_classic_heartbeat(shard, group.consumer, request, respond)
                return
            code = group.classic.handle_heartbeat(
                GroupEvent.HEARTBEAT,
                request.member_id,
                request.group_instance_id,
                request.generation_id,
            )
            shard.answer(code_answer(respond, code))

        self._trampoline.run(step)

    def leave_group(self, request: LeaveGroupRequest, respond: RespondToLeave) -> Steps[None]:
        """LeaveGroup, in steps: an error of the whole, or a code for each of `request.members`."""
        find = partial(self._find_members, request.group_id)
        return Departure(self._trampoline, find, request.members, respond).in_steps()

    def expressions_due(self, request: ConsumerGroupHeartbeatRequest) -> list[str]:
        """The expressions that have topics to look at before this heartbeat, or none of them has."""
        found = self._find(request.group_id)
        group = None if isinstance(found, ErrorCode) or found[1] is None else found[1].consumer
        expressions = [] if group is None else list(group.membership.expressions)
        if request.subscribed_topic_regex:
            expressions.append(request.subscribed_topic_regex)
        lookup = self._surroundings.expressions
        return expressions if expressions and lookup.is_due(expressions) else []

    def look_up(self, expressions: Sequence[str]) -> Steps[None]:
        """Look at their topics, in steps."""
        return self._surroundings.expressions.look_up(expressions)

    def consumer_heartbeat(
        self,
        request: ConsumerGroupHeartbeatRequest,
        version: int,
        caller: Caller,
        respond: RespondToHeartbeat,
    ) -> None:
        """ConsumerGroupHeartbeat: answered when what it changes is written."""

        self._consumer_heartbeats.handle(Heartbeat(request, version, caller, respond))

    def _handle_heartbeat(self, heartbeat: Heartbeat) -> Steps[bool]:
        request, respond = heartbeat.request, heartbeat.respond
        try:
            validate(request, heartbeat.version, self._surroundings.assignors)
            shard = self._shard_of(request.group_id)
            if isinstance(shard, ErrorCode):
                raise ApiError(shard)
            if request.member_epoch == JOINING_EPOCH:
                words = self._room.refusal(shard, request.group_id, is_newcomer=True)
                if words is not None:
                    raise ApiError(ErrorCode.POLICY_VIOLATION, words)
        except ApiError as error:
            self._trampoline.answer(final(respond, refused_heartbeat(error.code, error.message)))
            return True
        return (yield from handle_consumer_heartbeat(shard, request, heartbeat.caller, respond))

    # --- offsets

    def fetch_offsets(
        self,
        group_id: str,
        partitions: Collection[TopicPartition] | None,
        *,
        require_stable: bool,
        member_id: str | None = None,
        member_epoch: int = -1,
    ) -> Steps[list[FetchedOffset]] | ErrorCode:
        """OffsetFetch of one group: these partitions, or all with an offset (None).

        The first step, which must follow at once, reads all offsets; later steps build the rows.
        A member of the consumer protocol sends its id and its epoch.
        """
        found = self._find(group_id)
        if isinstance(found, ErrorCode):
            return found
        if found[1] is not None and found[1].consumer is not None:
            code = refuse_fetch(found[1].consumer.membership, member_id, member_epoch)
            if code is not ErrorCode.NONE:
                return code
        return fetched(found[1], partitions, require_stable=require_stable)

    def answer_when_replicated(
        self, group_ids: Iterable[str], respond: Callable[[R], None], response: R, refused: MakeRefusal[R]
    ) -> None:
        """Answer with what was read of these groups, when all of it is replicated; or with `refused`."""

        def refusal(error: ErrorCode) -> R:
            return refused(client_error(OFFSET_ERRORS, error))

        def step() -> None:
            found = (self._shards.get(self._partition_of(group_id)) for group_id in dict.fromkeys(group_ids))
            logs = dict.fromkeys(shard.log for shard in found if shard is not None)
            answer_when_all(self._trampoline, logs, HeldAnswer(respond, response, refusal))

        self._trampoline.run(step)

    def _find_existing(self, group_id: str) -> tuple[Shard, Group] | ErrorCode:
        found = self._find(group_id)
        if isinstance(found, ErrorCode):
            return found
        shard, group = found
        return ErrorCode.GROUP_ID_NOT_FOUND if group is None else (shard, group)

    # --- transactions

    def is_loading(self, partition: int) -> bool:
        """Whether a partition is being read: a marker that it gets now might be missed."""
        shard = self._shards.get(partition)
        return shard is not None and shard.is_loading

    def complete_transaction(self, partition: int, producer_id: ProducerId, *, committed: bool) -> None:
        """A producer's marker is in a partition of `__consumer_offsets`: its offsets count, or never will."""
        shard = self._shards.get(partition)
        if shard is not None and not shard.is_loading:
            shard.run(lambda: shard.complete_transaction(producer_id, committed=committed))

    # --- groups

    def delete_groups(self, group_ids: Iterable[str], respond: RespondToDelete) -> Steps[None]:
        """DeleteGroups, in steps: empty groups, with all their offsets; one code for each."""
        deletion = GroupDeletion(self._trampoline, self._terms.clock, self._find_existing, group_ids, respond)
        return deletion.in_steps()

    def list_groups(
        self, states: Sequence[str] = (), types: Sequence[str] = ()
    ) -> Steps[tuple[ErrorCode, list[ListedGroup]]]:
        """ListGroups: those that are known; COORDINATOR_LOAD_IN_PROGRESS while there may be more."""
        is_loading = any(shard.is_loading for shard in self._shards.values())
        code = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS if is_loading else ErrorCode.NONE
        return code, (yield from listed(self._groups(), states, types))

    def describe_group(self, group_id: str, *, absence_is_error: bool) -> Steps[DescribedGroup]:
        """DescribeGroups, in steps: one group.

        A missing one is dead, or an error from version 6 on (KIP-1043).
        """
        found = self._find(group_id)
        if isinstance(found, ErrorCode):
            return DescribedGroup(error_code=found, group_id=group_id)
        group = found[1]
        if group is None or group.consumer is not None:
            words = "does not exist" if group is None else "speaks the consumer protocol"
            return absent(group_id, words, is_error=absence_is_error)
        return (yield from described(group))

    def describe_consumer_group(self, group_id: str) -> Steps[DescribedConsumerGroup]:
        """ConsumerGroupDescribe, in steps: one group of the consumer protocol, or why there is none."""
        found = self._find(group_id) if group_id else ErrorCode.INVALID_GROUP_ID
        if isinstance(found, ErrorCode):
            return DescribedConsumerGroup(error_code=found, group_id=group_id)
        return (yield from described_consumer(group_id, found[1]))

    def describe(self) -> Iterator[Mapping[str, Any]]:
        """Every group in words and numbers, by name."""
        return map(in_words, in_order(self._groups(), lambda group: group.group_id))

    def committed(self) -> Iterator[tuple[str, TopicPartition, Offset]]:
        """Every committed offset, with its group; groups and offsets may come and go meanwhile."""
        for group in self._groups():
            for topic_partition in list(group.offsets):
                found = group.offsets.get(topic_partition)
                if found is not None:
                    yield group.group_id, topic_partition, found.offset

    def _groups(self) -> list[Group]:
        shards = [shard for shard in self._shards.values() if not shard.is_loading]
        return [group for shard in shards for group in shard.groups.values()]

    # --- housekeeping

    def expire_offsets(self) -> None:
        """Every `offsets.retention.check.interval.ms`: begin to look for what has expired."""
        now_ms = self._terms.clock.wall_ms()
        retention_ms = self._terms.settings.offsets_retention_minutes * MINUTE_MS
        self._run_steps(self._in_each_shard(lambda shard: expire(shard, now_ms, retention_ms)))

    def expire_member(self, group_id: str, member_id: str) -> bool:
        """See `expiring.expire_member`; False where there is no such group."""
        found = self._find_members(group_id)
        return not isinstance(found, ErrorCode) and expire_member(found[1], self.purgatories, member_id)

    def forget_topics(self, names: Sequence[str]) -> None:
        """Topics were deleted: their offsets go with them."""
        gone = frozenset(names)
        self._run_steps(self._in_each_shard(lambda shard: forget_topics(shard, gone)))

    def _in_each_shard(self, work: Callable[[Shard], Steps[None]]) -> Steps[None]:
        """Do a piece of work in one partition after another; yields between steps."""
        for shard in list(self._shards.values()):
            if not shard.is_loading:
                yield from work(shard)


def _nothing(effect: Never) -> None:
    """Groups have no effects but answers."""
