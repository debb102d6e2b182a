"""A member in the classic protocol: what it tells the group, and what it makes of the answers."""

import pytest

from odradek.base.chance import SeededChance
from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.ids import TopicPartition
from odradek.client.core.cluster_view import ClusterView
from odradek.client.core.membership.classic_member import ClassicMember
from odradek.client.core.membership.classic_share import subscriber_of, subscription
from odradek.client.core.membership.member import MemberOptions
from odradek.client.core.requests import Outcome, Send
from odradek.client.core.routing import Routing
from odradek.wire.message import Message
from odradek.wire.messages.heartbeat import HeartbeatRequest
from odradek.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse, JoinGroupResponseMember
from odradek.wire.messages.metadata import (
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from odradek.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse

P0 = TopicPartition("orders", 0)
TOLD = subscription(["orders"], [], -1, "")


class Rig:
    """A static member of a group; the member "m1" to the broker."""

    def __init__(self) -> None:
        chance = SeededChance(1)
        view = ClusterView(chance)
        view.want(["orders"])
        (send,) = view.due(0)
        topic = MetadataResponseTopic(name="orders", partitions=[MetadataResponsePartition(leader_id=1)])
        view.outcome(Outcome(send, MetadataResponse(topics=[topic])), 0)
        options = MemberOptions("billing", instance="i1", strategies=("range",))
        self.member = ClassicMember(options, view, Routing(view, chance), chance)
        self.now_ms = 0

    def due(self) -> Send:
        (send,) = self.member.due(self.now_ms)
        return send

    def answer(self, send: Send, response: Message) -> None:
        self.member.outcome(Outcome(send, response), self.now_ms)


def joined(*, metadata: bytes = TOLD, strategy: str = "range") -> JoinGroupResponse:
    """The member leads its group, and is alone in it."""
    members = [JoinGroupResponseMember("m1", "i1", metadata)]
    return JoinGroupResponse(
        generation_id=1, protocol_name=strategy, leader="m1", member_id="m1", members=members
    )


def test_topics_that_are_subscribed_to_while_it_joins_are_told_by_another_join() -> None:
    """A pattern matches nothing before the topics are known, and a static member joins only once."""
    rig = Rig()
    rig.member.subscribe(frozenset())
    join = rig.due()
    rig.member.subscribe(frozenset(["orders"]))
    rig.answer(join, joined(metadata=subscription([], [], -1, "")))
    sync = rig.due()
    assert isinstance(sync.request, SyncGroupRequest)
    rig.answer(sync, SyncGroupResponse())
    rig.member.has_now(frozenset())
    again = rig.due()
    assert isinstance(again.request, JoinGroupRequest)
    told = JoinGroupResponseMember("m1", "i1", again.request.protocols[0].metadata)
    assert subscriber_of(told).topics == {"orders"}
    rig.answer(again, joined())
    sync = rig.due()
    assert isinstance(sync.request, SyncGroupRequest)
    rig.answer(sync, SyncGroupResponse(assignment=sync.request.assignments[0].assignment))
    target = rig.member.target()
    assert target is not None
    assert target.partitions == {P0}
    rig.member.has_now(target.partitions)
    assert isinstance(rig.due().request, HeartbeatRequest), "it joins once more, not for ever"


def test_what_is_given_and_not_taken_yet_is_given_back_before_it_joins_again() -> None:
    """The application may be hearing of it: it must hear that it is gone before another member has it."""
    rig = Rig()
    rig.member.subscribe(frozenset(["orders"]))
    rig.answer(rig.due(), joined())
    sync = rig.due()
    assert isinstance(sync.request, SyncGroupRequest)
    rig.answer(sync, SyncGroupResponse(assignment=sync.request.assignments[0].assignment))
    rig.member.subscribe(frozenset(["orders", "payments"]))
    rig.member.has_now(frozenset([P0]))
    assert isinstance(rig.due().request, HeartbeatRequest), "it does not join with what it has"
    target = rig.member.target()
    assert target is not None
    assert not target.partitions


@pytest.mark.parametrize(("metadata", "strategy"), [(b"\xff", "range"), (TOLD, "mine")])
def test_a_leader_that_cannot_assign_leaves_with_an_error(metadata: bytes, strategy: str) -> None:
    rig = Rig()
    rig.member.subscribe(frozenset(["orders"]))
    rig.answer(rig.due(), joined(metadata=metadata, strategy=strategy))
    assert not rig.member.due(0)
    assert rig.member.has_left
    assert isinstance(rig.member.error, ApiError)
    assert rig.member.error.code is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
