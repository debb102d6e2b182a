"""A group coordinator over a log in memory, on a clock that tests move, and members that speak to it."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypedDict, Unpack
from uuid import UUID

from odradek.base.chance import SeededChance
from odradek.base.clock import ManualClock
from odradek.base.error_codes import ErrorCode
from odradek.base.execution import exhaust
from odradek.base.ids import TopicId, TopicPartition
from odradek.base.settings import BrokerSettings
from odradek.coordinator.classic import Caller, ClassicMembership, GroupState, Terms
from odradek.coordinator.consumer.consumer_membership import ConsumerMembership
from odradek.coordinator.consumer.topics import Topic
from odradek.coordinator.groups import GroupCoordinator
from odradek.coordinator.groups.committing import Codes
from odradek.coordinator.groups.group import Group
from odradek.coordinator.groups.listing import FetchedOffset
from odradek.coordinator.placement import partition_for
from odradek.coordinator.runtime.memory_log import MemoryLog
from odradek.timer import Timer
from odradek.wire.messages.consumer_protocol import ConsumerProtocolSubscription
from odradek.wire.messages.join_group import JoinGroupResponse
from odradek.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from odradek.wire.versioned import encode_versioned
from tests.coordinator.members import ClassicClient, ConsumerClient
from tests.coordinator.replies import CodedReply, Reply

PARTITIONS = 4


class ClassicFields(TypedDict, total=False):
    """What a member of the classic protocol may be made with."""

    group_id: str
    member_id: str
    protocols: tuple[tuple[str, bytes], ...]
    protocol_type: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    caller: Caller
    generation: int


class IdentityFields(ClassicFields, total=False):
    """And what else it is."""

    instance_id: str | None


class ConsumerFields(TypedDict, total=False):
    """What a member of the consumer protocol may be made with."""

    group_id: str
    topics: list[str] | None
    expression: str | None
    rebalance_timeout_ms: int
    epoch: int


class MemoryTopics:
    """`Topics` by name; every one has PARTITIONS partitions unless `counts` says otherwise."""

    def __init__(self, names: set[str]) -> None:
        self.known, self.version = names, 0
        self.counts: dict[str, int] = {}
        self.lives: dict[str, int] = {}

    def topic_id(self, name: str) -> TopicId:
        """Another one for every life of a topic, in the order of names."""
        return UUID(bytes=name.encode()[:12].ljust(12, b"\0") + self.lives.get(name, 0).to_bytes(4, "big"))

    def by_name(self, name: str) -> Topic | None:
        count = self.counts.get(name, PARTITIONS)
        return Topic(self.topic_id(name), name, count) if name in self.known else None

    def by_id(self, topic_id: TopicId) -> Topic | None:
        found = (self.by_name(name) for name in sorted(self.known) if self.topic_id(name) == topic_id)
        return next(found, None)

    def has_partition(self, topic_partition: TopicPartition) -> bool:
        return topic_partition.topic in self.known

    def names(self) -> Iterable[str]:
        return sorted(self.known)


class GroupBench:
    """One coordinator that leads every partition, and what surrounds it."""

    def __init__(self, settings: BrokerSettings | None = None) -> None:
        self.clock, self.chance = ManualClock(), SeededChance(7)
        self.timer = Timer(self.clock)
        self.log = MemoryLog()
        self.broker_count = 1
        self.turns: list[Callable[[], None]] = []
        self.known_topics = {"t", "u"}
        self.topics = MemoryTopics(self.known_topics)
        self.settings = settings or BrokerSettings()
        self.group_overrides: dict[str, dict[str, str]] = {}
        self.coordinator = self.start()

    def start(self) -> GroupCoordinator:
        """A coordinator that begins with the log alone."""
        self.coordinator = GroupCoordinator(
            Terms(
                self.clock, self.chance, lambda: self.settings, lambda: self.broker_count, self.overrides_of
            ),
            self.timer,
            self.log,
            self.log,
            partition_of=lambda key: partition_for(key, PARTITIONS),
            topics=self.topics,
            defer=self.turns.append,
            run_steps=self.run_steps,
        )
        for partition in range(PARTITIONS):
            self.coordinator.lead(partition, 1)
        self.run()
        return self.coordinator

    def lead_again(self, partition: int) -> None:
        """Lose a partition and lead it again; it is not loaded yet."""
        self.coordinator.resign(partition)
        self.coordinator.lead(partition, 2)

    def fail_over(self) -> None:
        """Let another broker lead for a moment, which has only what was replicated; then this one again."""
        self.log.fail_over()
        self.coordinator.resign_all()
        self.run()
        self.start()

    def overrides_of(self, group_id: str) -> Mapping[str, str]:
        return self.group_overrides.get(group_id, {})

    def run_steps(self, work: Iterator[None]) -> None:
        """One step now, and one in each turn."""

        def turn() -> None:
            if next(work, self) is not self:
                self.turns.append(turn)

        turn()

    def run(self) -> None:
        """Turn the loop until nothing is left to do."""
        while self.turns:
            self.turns.pop(0)()

    def advance(self, by_ms: int) -> None:
        """Let time pass, millisecond by millisecond where something is due."""
        end = self.clock.monotonic_ms() + by_ms
        while (due := self.timer.next_expiration_ms()) is not None and due <= end:
            self.clock.advance(max(0, due - self.clock.monotonic_ms()))
            self.timer.advance()
            self.run()
        self.clock.advance(end - self.clock.monotonic_ms())
        self.timer.advance()
        self.run()

    def member(self, instance_id: str | None = None, **fields: Unpack[ClassicFields]) -> ClassicClient:
        return ClassicClient(self, instance_id=instance_id, **fields)

    def consumer(
        self, member_id: str, instance_id: str | None = None, **fields: Unpack[ConsumerFields]
    ) -> ConsumerClient:
        return ConsumerClient(self, member_id, instance_id, **fields)

    def classic(
        self, *topics: str, instance_id: str | None = None, **fields: Unpack[ClassicFields]
    ) -> ClassicClient:
        """A member of the classic protocol that says what it reads, as consumers do."""
        metadata = encode_versioned(ConsumerProtocolSubscription(topics=list(topics)), 1)
        fields["protocols"] = (("range", metadata),)
        return self.member(instance_id, **fields)

    def consumers(self, group_id: str = "g") -> ConsumerMembership:
        found = self.whole_group(group_id).consumer
        assert found is not None, f"{group_id} is a classic group"
        return found.membership

    def settle_all(self, *members: ConsumerClient) -> None:
        """Let heartbeats go round until everybody has what it is to have."""
        for _ in range(2 + 2 * len(members)):
            for member in members:
                assert member.settle() is ErrorCode.NONE, f"{member.member_id} was refused"
        group = self.consumers(members[0].group_id)
        assert group.state.value == "Stable", f"the group is {group.state.value}"

    def touch_topics(self) -> None:
        """Tell the coordinator that topics have changed."""
        self.topics.version += 1

    def words(self, group_id: str = "g") -> str:
        """What a group waits for."""
        (found,) = (row for row in self.coordinator.describe() if row["group"] == group_id)
        return str(found["waits_for"])

    def group(self, group_id: str = "g") -> ClassicMembership:
        return self.whole_group(group_id).membership

    def whole_group(self, group_id: str = "g") -> Group:
        return next(group for group in self.coordinator._groups() if group.group_id == group_id)

    def state(self, group_id: str = "g") -> GroupState | None:
        """None when there is no such group."""
        found = [group for group in self.coordinator._groups() if group.group_id == group_id]
        return found[0].membership.state if found else None

    def stable(self, *members: ClassicClient) -> None:
        """Let the members form a stable group, each assigned its own id."""
        joins = [member.join() for member in members]
        if not all(reply.is_answered for reply in joins):
            for number, member in enumerate(members):
                if joins[number].is_answered:
                    member.take(joins[number])
                    joins[number] = member.join()
        self.advance(0)
        self.settle(*members, joins=joins)

    def settle(self, *members: ClassicClient, joins: list[CodedReply[JoinGroupResponse]]) -> None:
        """Sync everybody whose join is answered."""
        leader = None
        for member, reply in zip(members, joins, strict=True):
            answer = member.take(reply)
            leader = answer.leader
        replies = []
        for member in sorted(members, key=lambda one: one.member_id == leader):
            given = {one.member_id: one.member_id.encode() for one in members}
            replies.append((member, member.sync(given if member.member_id == leader else None)))
        for member, synced in replies:
            assert synced.code is ErrorCode.NONE
            assert synced.answer.assignment == member.member_id.encode()

    def commit(
        self,
        group_id: str,
        offsets: Mapping[TopicPartition, int],
        metadata: str = "",
        member_id: str = "",
        generation: int = -1,
        instance_id: str | None = None,
        retention_ms: int = -1,
    ) -> Reply[Codes]:
        """Commit, and turn the loop until that is written."""
        reply = self.send_commit(
            group_id, offsets, metadata, member_id, generation, instance_id, retention_ms
        )
        if not reply.is_answered:
            self.run()
        return reply

    def send_commit(
        self,
        group_id: str,
        offsets: Mapping[TopicPartition, int],
        metadata: str = "",
        member_id: str = "",
        generation: int = -1,
        instance_id: str | None = None,
        retention_ms: int = -1,
    ) -> Reply[Codes]:
        reply = Reply[Codes]()
        request = OffsetCommitRequest(
            group_id,
            generation,
            member_id,
            retention_ms,
            instance_id,
            [
                OffsetCommitRequestTopic(
                    key.topic,
                    partitions=[OffsetCommitRequestPartition(key.partition, offset, 5, metadata)],
                )
                for key, offset in offsets.items()
            ],
        )
        rest = self.coordinator.offset_writes.commit(request, reply)
        if rest is not None:
            exhaust(rest)
        return reply

    def fetched(self, group_id: str, key: TopicPartition) -> FetchedOffset:
        """What OffsetFetch answers for one partition, who wants a stable offset."""
        found = self.coordinator.fetch_offsets(group_id, [key], require_stable=True)
        assert not isinstance(found, ErrorCode), found.name
        (row,) = exhaust(found)
        return row

    def committed(self, group_id: str = "g") -> dict[TopicPartition, int] | ErrorCode:
        """What OffsetFetch answers for all partitions."""
        found = self.coordinator.fetch_offsets(group_id, None, require_stable=False)
        if isinstance(found, ErrorCode):
            return found
        return {row.topic_partition: row.offset for row in exhaust(found)}
