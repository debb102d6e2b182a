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
from odradek.client.core.waiting import Cause
from odradek.wire.message import Message
from odradek.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
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

    def __init__(self, strategy: str = "range") -> None:
        chance = SeededChance(1)
        view = ClusterView(chance)
        view.want(["orders"])
        (send,) = view.due(0)
        self.strategy = strategy
        topic = MetadataResponseTopic(name="orders", partitions=[MetadataResponsePartition(leader_id=1)])
        view.outcome(Outcome(send, MetadataResponse(topics=[topic])), 0)
        options = MemberOptions("billing", instance="i1", strategies=(strategy,))
        self.member = ClassicMember(options, view, Routing(view, chance), chance)
        self.now_ms = 0

    def due(self) -> Send:
        (send,) = self.member.due(self.now_ms)
        return send

    def next(self) -> Send:
        """What is due at the next time that the member names."""
        self.now_ms = max(self.now_ms, self.member.next_deadline_ms() or 0)
        return self.due()

    def answer(self, send: Send, response: Message) -> None:
        self.member.outcome(Outcome(send, response), self.now_ms)

    def join(self) -> None:
        """Join and be given P0, which the consumer has not taken yet."""
        self.member.subscribe(frozenset(["orders"]))
        self.answer(self.due(), joined(strategy=self.strategy))
        sync = self.due()
        assert isinstance(sync.request, SyncGroupRequest)
        self.answer(sync, SyncGroupResponse(assignment=sync.request.assignments[0].assignment))

    def beat(self, code: ErrorCode = ErrorCode.NONE) -> None:
        """Answer the next heartbeat."""
        beat = self.next()
        assert isinstance(beat.request, HeartbeatRequest)
        self.answer(beat, HeartbeatResponse(error_code=code))


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
    assert isinstance(rig.next().request, HeartbeatRequest), "it joins once more, not for ever"


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
    assert isinstance(rig.next().request, HeartbeatRequest), "it does not join with what it has"
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


def test_a_cooperative_member_joins_again_when_the_application_has_heard_of_its_partitions() -> None:
    """A join names what it has: what the application is being told at this moment must be among it."""
    rig = Rig("cooperative-sticky")
    rig.join()
    for _ in range(3):
        rig.beat(ErrorCode.REBALANCE_IN_PROGRESS)
        target = rig.member.target()
        assert target is not None
        assert target.partitions == {P0}
    rig.member.has_now(frozenset([P0]))
    again = rig.due()
    assert isinstance(again.request, JoinGroupRequest)
    told = JoinGroupResponseMember("m1", "i1", again.request.protocols[0].metadata)
    assert subscriber_of(told).owned == {P0}


@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
def test_heartbeats_keep_their_interval_while_the_application_is_slow_in_a_rebalance(strategy: str) -> None:
    rig = Rig(strategy)
    rig.join()
    if strategy == "range":
        rig.member.has_now(frozenset([P0]))
    for _ in range(4):
        rig.beat(ErrorCode.REBALANCE_IN_PROGRESS)
        assert not rig.member.due(rig.now_ms)
    assert rig.now_ms >= 9_000


@pytest.mark.parametrize(
    "refused",
    [
        JoinGroupResponse(error_code=ErrorCode.MEMBER_ID_REQUIRED, member_id="m1"),
        JoinGroupResponse(error_code=ErrorCode.MEMBER_ID_REQUIRED),
        JoinGroupResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS),
    ],
)
def test_a_broker_that_refuses_each_join_is_not_asked_again_at_once(refused: JoinGroupResponse) -> None:
    rig = Rig()
    rig.member.subscribe(frozenset(["orders"]))
    rig.answer(rig.due(), JoinGroupResponse(error_code=ErrorCode.MEMBER_ID_REQUIRED, member_id="m1"))
    for _ in range(10):
        rig.answer(rig.due(), refused)
        assert not rig.member.due(rig.now_ms)
        rig.now_ms = rig.member.next_deadline_ms() or 0
    assert rig.now_ms >= 5_000, "the waits grow"


def why(rig: Rig) -> tuple[str, object]:
    (one,) = rig.member.why(rig.now_ms)
    assert one.cause is Cause.REBALANCE
    return str(one), one.data.get("member")


def test_why_says_whom_a_rebalance_waits_for() -> None:
    rig = Rig()
    rig.member.subscribe(frozenset(["orders"]))
    join = rig.due()
    rig.now_ms = 12_000
    assert why(rig) == (
        "group billing has been rebalancing for 12 s: it waits for other members to join",
        None,
    )
    rig.answer(join, JoinGroupResponse(generation_id=1, protocol_name="range", leader="m2", member_id="m1"))
    sync = rig.due()
    said, member = why(rig)
    assert said.endswith("it waits for member m2 to assign the partitions")
    assert member == "m2"
    rig.answer(sync, SyncGroupResponse())
    assert why(rig)[0].endswith("poll must be called, to take over partitions")
    rig.member.has_now(frozenset())
    assert rig.member.why(rig.now_ms) == []


def test_a_sticky_member_tells_what_it_had_when_it_joins_again() -> None:
    """KIP-54: it has given everything back by then, and the leader lets it have the same again."""
    rig = Rig("sticky")
    rig.member.subscribe(frozenset(["orders"]))
    first = rig.due()
    assert isinstance(first.request, JoinGroupRequest)
    told = JoinGroupResponseMember("m1", "i1", first.request.protocols[0].metadata)
    assert subscriber_of(told, "sticky").owned == frozenset()
    rig.answer(first, joined(strategy="sticky"))
    sync = rig.due()
    assert isinstance(sync.request, SyncGroupRequest)
    rig.answer(sync, SyncGroupResponse(assignment=sync.request.assignments[0].assignment))
    rig.member.has_now(frozenset([P0]))
    rig.beat(ErrorCode.REBALANCE_IN_PROGRESS)
    target = rig.member.target()
    assert target is not None
    assert not target.partitions, "it gives back everything first"
    rig.member.has_now(frozenset())
    again = rig.due()
    assert isinstance(again.request, JoinGroupRequest)
    told = JoinGroupResponseMember("m1", "i1", again.request.protocols[0].metadata)
    subscriber = subscriber_of(told, "sticky")
    assert subscriber.owned == {P0}
    assert subscriber.generation == 1


def test_how_long_a_rebalance_lasts_counts_from_its_beginning() -> None:
    rig = Rig()
    rig.member.subscribe(frozenset(["orders"]))
    join = rig.due()
    assert join.answer_ms is None, "the broker waits for other members"
    rig.now_ms = 4_000
    rig.answer(join, JoinGroupResponse(error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS))
    rig.now_ms = 6_000
    rig.due()
    rig.now_ms = 9_000
    (one,) = rig.member.why(rig.now_ms)
    assert one.data["ms"] == 9_000


def test_a_member_that_was_fenced_says_so_until_it_is_in_the_group_again() -> None:
    rig = Rig()
    rig.join()
    rig.member.has_now(frozenset([P0]))
    rig.beat(ErrorCode.FENCED_INSTANCE_ID)
    assert rig.member.error is not None
    rig.member.error = None  # the application was told
    (one,) = rig.member.why(rig.now_ms)
    assert one.cause is Cause.FENCED
    assert one.data == {"group": "billing", "instance": "i1", "code": "FENCED_INSTANCE_ID"}
    rig.member.has_now(frozenset())
    rig.now_ms += 1_000
    rig.join()
    assert one.cause not in [cause.cause for cause in rig.member.why(rig.now_ms)]
