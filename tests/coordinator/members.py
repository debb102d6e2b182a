"""Clients that are members of a group: what they know of themselves, and the requests that they send."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias, TypedDict, Unpack

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import exhaust
from odradek.base.ids import TopicId, TopicPartition
from odradek.coordinator.classic import Caller
from odradek.coordinator.groups.committing import Codes
from odradek.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from odradek.wire.messages.heartbeat import HeartbeatRequest
from odradek.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from odradek.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from odradek.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse
from tests.coordinator.replies import CodedReply, Reply

if TYPE_CHECKING:
    from tests.coordinator.group_bench import GroupBench

HeartbeatReply: TypeAlias = CodedReply[ConsumerGroupHeartbeatResponse]


@dataclass
class ClassicClient:
    """What a client knows of itself."""

    bench: "GroupBench"
    group_id: str = "g"
    instance_id: str | None = None
    member_id: str = ""
    protocols: tuple[tuple[str, bytes], ...] = (("range", b"meta"),)
    protocol_type: str = "consumer"
    session_timeout_ms: int = 10_000
    rebalance_timeout_ms: int = 30_000
    caller: Caller = field(default_factory=lambda: Caller("c", "/10.0.0.1"))
    generation: int = -1

    def send_join(self) -> CodedReply[JoinGroupResponse]:
        reply = CodedReply[JoinGroupResponse]()
        self.bench.coordinator.join_group(
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

    def join(self) -> CodedReply[JoinGroupResponse]:
        """Join as clients do: with the id that one is given first."""
        reply = self.send_join()
        if reply.is_answered and reply.code is ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = reply.answer.member_id
            reply = self.send_join()
        return reply

    def take(self, joined: CodedReply[JoinGroupResponse]) -> JoinGroupResponse:
        """Believe a JoinGroup's answer."""
        answer = joined.answer
        assert joined.code is ErrorCode.NONE, joined.code
        self.member_id, self.generation = answer.member_id, answer.generation_id
        return answer

    def sync(
        self,
        assignments: Mapping[str, bytes] | None = None,
        *,
        protocol_type: str | None = None,
        protocol_name: str | None = None,
    ) -> CodedReply[SyncGroupResponse]:
        reply = CodedReply[SyncGroupResponse]()
        given = [SyncGroupRequestAssignment(*one) for one in (assignments or {}).items()]
        request = SyncGroupRequest(
            self.group_id,
            self.generation,
            self.member_id,
            self.instance_id,
            protocol_type,
            protocol_name,
            given,
        )
        self.bench.coordinator.sync_group(request, reply)
        return reply

    def heartbeat(self) -> ErrorCode | None:
        """None while it is not answered."""
        reply = Reply[ErrorCode]()
        request = HeartbeatRequest(self.group_id, self.generation, self.member_id, self.instance_id)
        self.bench.coordinator.heartbeat(request, reply)
        return reply.answer if reply.is_answered else None

    def leave(self) -> tuple[ErrorCode, list[ErrorCode]] | None:
        """The error of the whole and of each who leaves; None while it is not answered."""
        reply = Reply[tuple[ErrorCode, list[ErrorCode]]]()
        leaver = MemberIdentity(self.member_id, self.instance_id)
        exhaust(
            self.bench.coordinator.leave_group(
                LeaveGroupRequest(self.group_id, members=[leaver]), lambda code, codes: reply((code, codes))
            )
        )
        return reply.answer if reply.is_answered else None

    def commit(self, offsets: Mapping[TopicPartition, int], metadata: str = "") -> Reply[Codes]:
        return self.bench.commit(
            self.group_id, offsets, metadata, self.member_id, self.generation, self.instance_id
        )


class HeartbeatFields(TypedDict, total=False):
    """The fields of a ConsumerGroupHeartbeat, partitions by topic."""

    group_id: str
    member_id: str
    member_epoch: int
    instance_id: str | None
    rack_id: str | None
    rebalance_timeout_ms: int
    subscribed_topic_names: list[str] | None
    subscribed_topic_regex: str | None
    server_assignor: str | None
    topic_partitions: Mapping[TopicId, list[int]] | None


@dataclass
class ConsumerClient:
    """What a client of the consumer protocol knows of itself, and does between its heartbeats."""

    bench: "GroupBench"
    member_id: str
    instance_id: str | None = None
    group_id: str = "g"
    topics: list[str] | None = field(default_factory=lambda: ["t"])
    expression: str | None = None
    rebalance_timeout_ms: int = 60_000
    epoch: int = 0
    told: dict[TopicId, list[int]] = field(default_factory=dict)
    owned: dict[TopicId, list[int]] = field(default_factory=dict)

    def send(self, version: int = 1, **fields: Unpack[HeartbeatFields]) -> HeartbeatReply:
        """One heartbeat with these fields, in the member's name; None in fields not named."""
        reply = HeartbeatReply()
        owned = fields.get("topic_partitions")
        request = ConsumerGroupHeartbeatRequest(
            fields.get("group_id", self.group_id),
            fields.get("member_id", self.member_id),
            fields.get("member_epoch", self.epoch),
            fields.get("instance_id", self.instance_id),
            fields.get("rack_id"),
            rebalance_timeout_ms=fields.get("rebalance_timeout_ms", -1),
            subscribed_topic_names=fields.get("subscribed_topic_names"),
            subscribed_topic_regex=fields.get("subscribed_topic_regex"),
            server_assignor=fields.get("server_assignor"),
            topic_partitions=None if owned is None else [TopicPartitions(*one) for one in owned.items()],
        )
        self.bench.coordinator.consumer_heartbeat(request, version, Caller("c", "/10.0.0.1"), reply)
        return reply

    def take(self, reply: HeartbeatReply) -> ConsumerGroupHeartbeatResponse:
        """Believe an answer; what it assigns is read from then on."""
        answer = reply.answer
        if answer.error_code == 0:
            assert answer.member_id is not None
            self.member_id, self.epoch = answer.member_id, answer.member_epoch
            if answer.assignment is not None:
                self.told = {one.topic_id: one.partitions for one in answer.assignment.topic_partitions}
        return answer

    def send_join(self, **fields: Unpack[HeartbeatFields]) -> HeartbeatReply:
        self.epoch, self.told, self.owned = 0, {}, {}
        fields.setdefault("topic_partitions", {})
        fields.setdefault("subscribed_topic_names", self.topics)
        fields.setdefault("subscribed_topic_regex", self.expression)
        fields.setdefault("rebalance_timeout_ms", self.rebalance_timeout_ms)
        return self.send(**fields)

    def join(self, **fields: Unpack[HeartbeatFields]) -> ErrorCode:
        reply = self.send_join(**fields)
        self.take(reply)
        self.owned = self.told
        return reply.code

    def beat(self, **fields: Unpack[HeartbeatFields]) -> ErrorCode:
        """A heartbeat without news of what it reads; it learns what it is to read, and does not do so yet."""
        reply = self.send(**fields)
        self.take(reply)
        return reply.code

    def settle(self) -> ErrorCode:
        """Read what was assigned and nothing else, and say so."""
        self.owned = self.told
        return self.beat(topic_partitions=self.owned)

    def leave(self, epoch: int = -1) -> ErrorCode:
        return self.send(member_epoch=epoch).code

    def count(self, topic: str = "t") -> int:
        """How many partitions it was told to read."""
        return len(self.told.get(self.bench.topics.topic_id(topic), []))
