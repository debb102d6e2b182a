"""A group coordinator over a log in memory, on a clock that tests move, and members that speak to it."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import pytest

from odradek.base.chance import SeededChance
from odradek.base.clock import ManualClock
from odradek.base.error_codes import ErrorCode
from odradek.base.ids import TopicId, TopicPartition
from odradek.base.settings import BrokerSettings
from odradek.coordinator.classic import Caller, ClassicMembership, GroupState, Terms
from odradek.coordinator.consumer.consumer_membership import ConsumerMembership
from odradek.coordinator.consumer.topics import Topic
from odradek.coordinator.groups import GroupCoordinator
from odradek.coordinator.groups.group import Group
from odradek.coordinator.placement import partition_for
from odradek.coordinator.runtime.memory_log import MemoryLog
from odradek.timer import Timer
from odradek.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    TopicPartitions,
)
from odradek.wire.messages.consumer_protocol import ConsumerProtocolSubscription
from odradek.wire.messages.heartbeat import HeartbeatRequest
from odradek.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from odradek.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from odradek.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from odradek.wire.messages.sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
)
from odradek.wire.versioned import encode_versioned

PARTITIONS = 4


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


@dataclass
class Reply:
    """Where an answer will be."""

    answers: list[Any] = field(default_factory=list)

    def __call__(self, *answer: Any) -> None:
        self.answers.append(answer[0] if len(answer) == 1 else answer)

    @property
    def is_answered(self) -> bool:
        return bool(self.answers)

    @property
    def answer(self) -> Any:
        assert len(self.answers) == 1, f"answered {len(self.answers)} times"
        return self.answers[0]

    @property
    def code(self) -> ErrorCode:
        return ErrorCode(self.answer.error_code)


@dataclass
class FakeMember:
    """What a client knows of itself."""

    world: "World"
    group_id: str = "g"
    instance_id: str | None = None
    member_id: str = ""
    protocols: tuple[tuple[str, bytes], ...] = (("range", b"meta"),)
    protocol_type: str = "consumer"
    session_timeout_ms: int = 10_000
    rebalance_timeout_ms: int = 30_000
    caller: Caller = field(default_factory=lambda: Caller("c", "/10.0.0.1"))
    generation: int = -1

    def send_join(self) -> Reply:
        reply = Reply()
        self.world.coordinator.join_group(
            JoinGroupRequest(
                self.group_id,
                self.session_timeout_ms,
                self.rebalance_timeout_ms,
                self.member_id,
                self.instance_id,
                self.protocol_type,
                [JoinGroupRequestProtocol(*one) for one in self.protocols],
            ),
            self.caller,
            reply,
        )
        return reply

    def join(self) -> Reply:
        """Join as clients do: with the id that one is given first."""
        reply = self.send_join()
        if reply.is_answered and reply.code is ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = reply.answer.member_id
            reply = self.send_join()
        return reply

    def take(self, joined: Reply) -> JoinGroupResponse:
        """Believe a JoinGroup's answer."""
        answer: JoinGroupResponse = joined.answer
        assert joined.code is ErrorCode.NONE, joined.code
        self.member_id, self.generation = answer.member_id, answer.generation_id
        return answer

    def sync(self, assignments: dict[str, bytes] | None = None, **changes: Any) -> Reply:
        reply = Reply()
        given = [SyncGroupRequestAssignment(*one) for one in (assignments or {}).items()]
        request = SyncGroupRequest(
            self.group_id, self.generation, self.member_id, self.instance_id, None, None, given
        )
        for name, value in changes.items():
            setattr(request, name, value)
        self.world.coordinator.sync_group(request, reply)
        return reply

    def heartbeat(self, **changes: Any) -> ErrorCode | None:
        """None while it is not answered."""
        reply = Reply()
        request = HeartbeatRequest(self.group_id, self.generation, self.member_id, self.instance_id)
        for name, value in changes.items():
            setattr(request, name, value)
        self.world.coordinator.heartbeat(request, reply)
        return ErrorCode(reply.answer) if reply.is_answered else None

    def leave(self) -> Any:
        reply = Reply()
        leaver = MemberIdentity(self.member_id, self.instance_id)
        self.world.coordinator.leave_group(LeaveGroupRequest(self.group_id, members=[leaver]), reply)
        return reply.answer if reply.is_answered else None

    def commit(self, offsets: dict[TopicPartition, int], metadata: str = "") -> Reply:
        return self.world.commit(
            self.group_id, offsets, metadata, self.member_id, self.generation, self.instance_id
        )


@dataclass
class FakeConsumer:
    """What a client of the consumer protocol knows of itself, and does between its heartbeats."""

    world: "World"
    member_id: str
    instance_id: str | None = None
    group_id: str = "g"
    topics: list[str] | None = field(default_factory=lambda: ["t"])
    expression: str | None = None
    rebalance_timeout_ms: int = 60_000
    epoch: int = 0
    told: dict[TopicId, list[int]] = field(default_factory=dict)
    owned: dict[TopicId, list[int]] = field(default_factory=dict)

    def send(self, version: int = 1, **fields: Any) -> Reply:
        """One heartbeat with these fields, in the member's name; None in fields not named."""
        reply = Reply()
        given = {"group_id": self.group_id, "member_id": self.member_id, "member_epoch": self.epoch, **fields}
        if given.get("topic_partitions") is not None:
            given["topic_partitions"] = [TopicPartitions(*one) for one in given["topic_partitions"].items()]
        given.setdefault("instance_id", self.instance_id)
        request = ConsumerGroupHeartbeatRequest(**given)
        caller = Caller("c", "/10.0.0.1")
        self.world.coordinator.consumer_heartbeat(request, version, caller, reply)
        return reply

    def take(self, reply: Reply) -> Any:
        """Believe an answer; what it assigns is read from then on."""
        answer = reply.answer
        if answer.error_code == 0:
            self.member_id, self.epoch = answer.member_id, answer.member_epoch
            if answer.assignment is not None:
                self.told = {one.topic_id: one.partitions for one in answer.assignment.topic_partitions}
        return answer

    def send_join(self, **fields: Any) -> Reply:
        self.epoch, self.told, self.owned = 0, {}, {}
        return self.send(
            topic_partitions={},
            subscribed_topic_names=self.topics,
            subscribed_topic_regex=self.expression,
            rebalance_timeout_ms=self.rebalance_timeout_ms,
            **fields,
        )

    def join(self, **fields: Any) -> ErrorCode:
        reply = self.send_join(**fields)
        self.take(reply)
        self.owned = self.told
        return reply.code

    def beat(self, **fields: Any) -> ErrorCode:
        """A heartbeat without news of what it reads; it learns what it is to read, and does not do so yet."""
        reply = self.send(**fields)
        self.take(reply)
        return reply.code

    def settle(self, **fields: Any) -> ErrorCode:
        """Read what was assigned and nothing else, and say so."""
        self.owned = self.told
        return self.beat(topic_partitions=self.owned, **fields)

    def leave(self, epoch: int = -1) -> ErrorCode:
        return self.send(member_epoch=epoch).code

    def count(self, topic: str = "t") -> int:
        """How many partitions it was told to read."""
        return len(self.told.get(self.world.topics.topic_id(topic), []))


class World:
    """One coordinator that leads every partition, and what surrounds it."""

    def __init__(self, **settings: Any) -> None:
        self.clock, self.chance = ManualClock(), SeededChance(7)
        self.timer = Timer(self.clock)
        self.log = MemoryLog()
        self.broker_count = 1
        self.turns: list[Callable[[], None]] = []
        self.known_topics = {"t", "u"}
        self.topics = MemoryTopics(self.known_topics)
        self.settings = BrokerSettings(**settings)
        self.group_overrides: dict[str, dict[str, str]] = {}
        self.coordinator = self.start()

    def start(self) -> GroupCoordinator:
        """A coordinator that begins with the log alone."""
        self.coordinator = GroupCoordinator(
            Terms(self.clock, self.chance, self.settings, lambda: self.broker_count, self.overrides_of),
            self.timer,
            self.log,
            self.log,
            partition_of=lambda key: partition_for(key, PARTITIONS),
            topics=self.topics,
            defer=self.turns.append,
            run_sliced=self.run_sliced,
        )
        for partition in range(PARTITIONS):
            self.coordinator.lead(partition, 1)
        self.run()
        return self.coordinator

    def fail_over(self) -> None:
        """Let another broker lead for a moment, which has only what was replicated; then this one again."""
        self.log.fail_over()
        self.coordinator.resign_all()
        self.run()
        self.start()

    def overrides_of(self, group_id: str) -> Mapping[str, str]:
        return self.group_overrides.get(group_id, {})

    def run_sliced(self, work: Iterator[None]) -> None:
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

    def member(self, instance_id: str | None = None, **fields: Any) -> FakeMember:
        return FakeMember(self, instance_id=instance_id, **fields)

    def consumer(self, member_id: str, instance_id: str | None = None, **fields: Any) -> FakeConsumer:
        return FakeConsumer(self, member_id, instance_id, **fields)

    def classic(self, *topics: str, **fields: Any) -> FakeMember:
        """A member of the classic protocol that says what it reads, as consumers do."""
        metadata = encode_versioned(ConsumerProtocolSubscription(topics=list(topics)), 1)
        return self.member(protocols=(("range", metadata),), **fields)

    def consumers(self, group_id: str = "g") -> ConsumerMembership:
        found = self.whole_group(group_id).consumer
        assert found is not None, f"{group_id} is a classic group"
        return found.membership

    def settle_all(self, *members: FakeConsumer) -> None:
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

    def stable(self, *members: FakeMember) -> None:
        """Let the members form a stable group, each assigned its own id."""
        joins = [member.join() for member in members]
        if not all(reply.is_answered for reply in joins):
            for number, member in enumerate(members):
                if joins[number].is_answered:
                    member.take(joins[number])
                    joins[number] = member.join()
        self.advance(0)
        self.settle(*members, joins=joins)

    def settle(self, *members: FakeMember, joins: list[Reply]) -> None:
        """Sync everybody whose join is answered."""
        leader = None
        for member, reply in zip(members, joins, strict=True):
            answer = member.take(reply)
            leader = answer.leader
        replies = []
        for member in sorted(members, key=lambda one: one.member_id == leader):
            given = {one.member_id: one.member_id.encode() for one in members}
            replies.append((member, member.sync(given if member.member_id == leader else None)))
        for member, reply in replies:
            assert reply.code is ErrorCode.NONE
            assert reply.answer.assignment == member.member_id.encode()

    def commit(self, group_id: str, offsets: dict[TopicPartition, int], *details: Any, **more: Any) -> Reply:
        """Commit, and turn the loop until that is written; the details are those of `send_commit`."""
        reply = self.send_commit(group_id, offsets, *details, **more)
        if not reply.is_answered:
            self.run()
        return reply

    def send_commit(
        self,
        group_id: str,
        offsets: dict[TopicPartition, int],
        metadata: str = "",
        member_id: str = "",
        generation: int = -1,
        instance_id: str | None = None,
        retention_ms: int = -1,
    ) -> Reply:
        reply = Reply()
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
        self.coordinator.commit_offsets(request, reply)
        return reply

    def committed(self, group_id: str = "g") -> dict[TopicPartition, int] | ErrorCode:
        """What OffsetFetch answers for all partitions."""
        found = self.coordinator.fetch_offsets(group_id, None, require_stable=False)
        if isinstance(found, ErrorCode):
            return found
        return {row.topic_partition: row.offset for row in found}


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def new_world() -> Callable[..., World]:
    return World
