"""A member in the protocol of KIP-848: what its heartbeats tell."""

from uuid import UUID

from odradek.base.chance import SeededChance
from odradek.base.error_codes import ErrorCode
from odradek.base.ids import TopicPartition
from odradek.client.core.cluster_view import ClusterView
from odradek.client.core.membership.consumer_member import ConsumerMember
from odradek.client.core.membership.member import MemberOptions
from odradek.client.core.requests import Outcome
from odradek.client.core.routing import Routing
from odradek.net.request_pipeline import ConnectionFailed
from odradek.wire.messages.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from odradek.wire.messages.metadata import (
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

TOPIC_ID = UUID(int=7)
P0 = TopicPartition("orders", 0)
INTERVAL_MS = 1_000


class Rig:
    """A member that subscribes to "orders"."""

    def __init__(self) -> None:
        chance = SeededChance(1)
        view = ClusterView(chance)
        view.want(["orders"])
        (send,) = view.due(0)
        partitions = [MetadataResponsePartition(partition_index=0, leader_id=1)]
        topic = MetadataResponseTopic(name="orders", topic_id=TOPIC_ID, partitions=partitions)
        view.outcome(Outcome(send, MetadataResponse(topics=[topic])), 0)
        options = MemberOptions("billing", rack="r1", max_poll_interval_ms=60_000)
        self.member = ConsumerMember(options, view, Routing(view, chance), chance)
        self.member.subscribe(frozenset(["orders"]))
        self.now_ms = 0

    def beat(
        self, *assigned: int, code: ErrorCode = ErrorCode.NONE, is_lost: bool = False, epoch: int = 1
    ) -> ConsumerGroupHeartbeatRequest:
        """The heartbeat that is due next, which is answered, or whose answer is lost."""
        self.now_ms = max(self.now_ms, self.member.next_deadline_ms() or 0)
        (send,) = self.member.due(self.now_ms)
        assert isinstance(send.request, ConsumerGroupHeartbeatRequest)
        if is_lost:
            self.member.outcome(Outcome(send, error=ConnectionFailed("closed")), self.now_ms)
        else:
            response = ConsumerGroupHeartbeatResponse(
                error_code=code, member_epoch=epoch, heartbeat_interval_ms=INTERVAL_MS
            )
            if assigned:
                response.assignment = Assignment([TopicPartitions(TOPIC_ID, list(assigned))])
            self.member.outcome(Outcome(send, response), self.now_ms)
        return send.request


def told(request: ConsumerGroupHeartbeatRequest) -> dict[str, object]:
    """What a heartbeat says beyond who sends it."""
    fields = {
        "topics": request.subscribed_topic_names,
        "timeout": None if request.rebalance_timeout_ms == -1 else request.rebalance_timeout_ms,
        "rack": request.rack_id,
        "has": request.topic_partitions,
    }
    return {name: value for name, value in fields.items() if value is not None}


EVERYTHING = {"topics": ["orders"], "timeout": 60_000, "rack": "r1"}


def test_a_heartbeat_tells_only_what_is_new() -> None:
    rig = Rig()
    assert told(rig.beat(0)) == {**EVERYTHING, "has": []}
    rig.member.has_now(frozenset([P0]))
    assert told(rig.beat()) == {"has": [TopicPartitions(TOPIC_ID, [0])]}
    assert told(rig.beat()) == {}


def test_after_a_lost_answer_everything_is_told_so_that_the_broker_says_again_what_it_has_assigned() -> None:
    rig = Rig()
    rig.beat()
    assert told(rig.beat(is_lost=True)) == {}
    assert told(rig.beat(0)) == {**EVERYTHING, "has": []}
    target = rig.member.target()
    assert target is not None
    assert target.partitions == {P0}


def test_after_a_refusal_that_passes_everything_is_told_too() -> None:
    rig = Rig()
    rig.beat(0)
    rig.member.has_now(frozenset([P0]))
    rig.beat(code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    assert told(rig.beat()) == {**EVERYTHING, "has": [TopicPartitions(TOPIC_ID, [0])]}
    assert told(rig.beat()) == {}


def test_a_fenced_member_joins_again_with_nothing() -> None:
    rig = Rig()
    rig.beat(0)
    rig.member.has_now(frozenset([P0]))
    rig.beat(code=ErrorCode.FENCED_MEMBER_EPOCH)
    target = rig.member.target()
    assert target is not None
    assert target.is_lost
    assert rig.member.next_deadline_ms() is None  # the application has not heard of it
    rig.member.has_now(frozenset())
    joins = rig.beat()
    assert joins.member_epoch == 0
    assert told(joins) == {**EVERYTHING, "has": []}
