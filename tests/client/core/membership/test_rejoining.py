"""How often a member asks its group again: a broker that refuses it each time is not asked without a pause.

Each broker here is a function of requests, without a network: only the member's own waits take time.
"""

from collections.abc import Callable
from itertools import count, pairwise
from uuid import UUID

import pytest

from odradek.base.chance import SeededChance
from odradek.base.error_codes import ErrorCode
from odradek.client.core.cluster_view import ClusterView
from odradek.client.core.membership.classic_member import ClassicMember
from odradek.client.core.membership.consumer_member import ConsumerMember
from odradek.client.core.membership.member import Member, MemberOptions
from odradek.client.core.requests import Outcome
from odradek.client.core.routing import Routing
from odradek.client.core.waiting import Cause
from odradek.wire.message import Message
from odradek.wire.messages.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from odradek.wire.messages.consumer_protocol import ConsumerProtocolAssignment
from odradek.wire.messages.consumer_protocol import TopicPartition as Partitions
from odradek.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from odradek.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse, JoinGroupResponseMember
from odradek.wire.messages.metadata import (
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from odradek.wire.messages.sync_group import SyncGroupResponse
from odradek.wire.versioned import encode_versioned
from tests.client.core.membership.application import Application

Broker = Callable[[Message], Message]

TOPIC_ID = UUID(int=7)
INTERVAL_MS, MINUTE_MS = 3_000, 60_000
REBALANCING = ErrorCode.REBALANCE_IN_PROGRESS


class Rig:
    """A member, its application, which always polls, and a broker."""

    def __init__(self, broker: Broker, options: MemberOptions, *, is_classic: bool = True) -> None:
        chance = SeededChance(1)
        view = ClusterView(chance)
        view.want(["orders"])
        (send,) = view.due(0)
        partitions = [MetadataResponsePartition(partition_index=0, leader_id=1)]
        topic = MetadataResponseTopic(name="orders", topic_id=TOPIC_ID, partitions=partitions)
        view.outcome(Outcome(send, MetadataResponse(topics=[topic])), 0)
        kind = ClassicMember if is_classic else ConsumerMember
        self.member: Member = kind(options, view, Routing(view, chance), chance)
        self.member.subscribe(frozenset(["orders"]))
        self.sent: list[tuple[int, Message]] = []
        self._application = Application(self.member)
        self._broker = broker
        self._now_ms = 0

    def run(self, until_ms: int) -> None:
        """Send what is due, and have it answered at once, until that time."""
        while self._now_ms < until_ms:
            for send in self.member.due(self._now_ms):
                self.sent.append((self._now_ms, send.request))
                assert len(self.sent) < 10_000, "the time does not pass"
                self.member.outcome(Outcome(send, self._broker(send.request)), self._now_ms)
            while self._application.step():
                pass
            deadline_ms = self.member.next_deadline_ms()
            assert deadline_ms is not None
            self._now_ms = max(self._now_ms, deadline_ms)

    def times_of(self, kind: type[Message]) -> list[int]:
        return [at for at, request in self.sent if isinstance(request, kind)]


def classic(*strategies: str) -> MemberOptions:
    return MemberOptions("billing", instance="i1", strategies=strategies, heartbeat_interval_ms=INTERVAL_MS)


def joined() -> JoinGroupResponse:
    """In a group that another member leads."""
    return JoinGroupResponse(generation_id=1, protocol_name="range", leader="m2", member_id="m1")


def given(*numbers: int) -> SyncGroupResponse:
    told = ConsumerProtocolAssignment(assigned_partitions=[Partitions("orders", list(numbers))])
    return SyncGroupResponse(assignment=encode_versioned(told, 3))


def never_at_rest(request: Message) -> Message:
    """The group rebalances again as soon as it has rebalanced."""
    match request:
        case JoinGroupRequest():
            return joined()
        case HeartbeatRequest():
            return HeartbeatResponse(error_code=REBALANCING)
    return given(0)


@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
def test_a_group_that_rebalances_without_end_is_joined_once_in_a_heartbeat_interval(strategy: str) -> None:
    rig = Rig(never_at_rest, classic(strategy))
    rig.run(MINUTE_MS)
    assert len(rig.times_of(JoinGroupRequest)) == MINUTE_MS // INTERVAL_MS


def test_the_join_that_a_heartbeat_asks_for_does_not_wait() -> None:
    rig = Rig(never_at_rest, classic("range"))
    rig.run(MINUTE_MS)
    assert rig.times_of(JoinGroupRequest)[1:] == rig.times_of(HeartbeatRequest)


@pytest.mark.parametrize("code", [REBALANCING, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION])
def test_a_group_that_refuses_each_sync_is_joined_after_waits_that_grow(code: ErrorCode) -> None:
    def broker(request: Message) -> Message:
        return joined() if isinstance(request, JoinGroupRequest) else SyncGroupResponse(error_code=code)

    rig = Rig(broker, classic("range"))
    rig.run(MINUTE_MS)
    assert 60 <= len(rig.times_of(JoinGroupRequest)) <= 80, "1 s apart, but for the first few"


def test_partitions_that_come_and_go_with_each_round_are_not_given_back_without_a_pause() -> None:
    rounds = count()

    def broker(request: Message) -> Message:
        answer = never_at_rest(request)
        return given(next(rounds) % 2) if isinstance(answer, SyncGroupResponse) else answer

    rig = Rig(broker, classic("cooperative-sticky"))
    rig.run(MINUTE_MS)
    joins = rig.times_of(JoinGroupRequest)
    assert joins[1:3] == [INTERVAL_MS, INTERVAL_MS], "the second round of a rebalance follows at once"
    assert 55 <= len(joins) <= 75


def test_the_waits_of_a_classic_member_are_those_of_its_settings() -> None:
    def broker(request: Message) -> Message:
        assert isinstance(request, JoinGroupRequest)
        return JoinGroupResponse(error_code=REBALANCING)

    options = MemberOptions("billing", instance="i1", retry_backoff_ms=2_000, retry_backoff_max_ms=20_000)
    rig = Rig(broker, options)
    rig.run(6 * MINUTE_MS)
    at = rig.times_of(JoinGroupRequest)
    waits_ms = [later - earlier for earlier, later in pairwise(at)]
    assert 1_600 <= waits_ms[0] <= 2_400
    assert 16_000 <= waits_ms[-1] <= 20_000


def test_a_member_that_is_fenced_as_soon_as_it_has_joined_joins_after_waits_that_grow() -> None:
    def broker(request: Message) -> Message:
        assert isinstance(request, ConsumerGroupHeartbeatRequest)
        if request.member_epoch > 0:
            return ConsumerGroupHeartbeatResponse(error_code=ErrorCode.FENCED_MEMBER_EPOCH)
        given = Assignment([TopicPartitions(TOPIC_ID, [0])])
        return ConsumerGroupHeartbeatResponse(
            member_epoch=1, heartbeat_interval_ms=INTERVAL_MS, assignment=given
        )

    options = MemberOptions("billing", retry_backoff_ms=500, retry_backoff_max_ms=5_000)
    rig = Rig(broker, options, is_classic=False)
    rig.run(MINUTE_MS)
    at = [ms for ms, request in rig.sent if getattr(request, "member_epoch", None) == 0]
    assert 400 <= at[1] - at[0] <= 600
    assert 12 <= len(at) <= 20


def refused_by(code: ErrorCode) -> Broker:
    """Refuses each request that makes or keeps a member."""

    def broker(request: Message) -> Message:
        match request:
            case ConsumerGroupHeartbeatRequest():
                return ConsumerGroupHeartbeatResponse(error_code=code)
            case JoinGroupRequest():
                return joined()
        return SyncGroupResponse(error_code=code)

    return broker


@pytest.mark.parametrize("is_classic", [True, False])
def test_why_says_that_the_group_puts_the_member_out_again_and_again(is_classic: bool) -> None:
    code = ErrorCode.UNKNOWN_MEMBER_ID
    rig = Rig(refused_by(code), MemberOptions("billing", instance="i1"), is_classic=is_classic)
    rig.run(60)
    assert code.name not in [one.data.get("code") for one in rig.member.why(60)], "once is no cause"
    rig.run(30_000)
    (one,) = rig.member.why(30_000)
    assert one.cause is Cause.RETRY
    assert str(one).startswith("group billing has put this member out ")
    assert str(one).endswith(" times in 30 s: unknown member id")
    assert (one.data["code"], one.data["ms"]) == (code.name, 30_000)


@pytest.mark.parametrize("is_classic", [True, False])
def test_why_says_that_a_coordinator_refuses_the_member_for_now(is_classic: bool) -> None:
    code = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    is_over = False

    def broker(request: Message) -> Message:
        if not is_over:
            return refused_by(code)(request)
        answer = never_at_rest(request)
        return HeartbeatResponse() if isinstance(answer, HeartbeatResponse) else answer

    rig = Rig(broker, MemberOptions("billing", instance="i1"), is_classic=is_classic)
    rig.run(10_000)
    (one,) = rig.member.why(10_000)
    assert str(one) == "group billing has been refusing this member for 10 s: coordinator load in progress"
    assert one.data["attempts"] == len(rig.sent) - is_classic, "all but the JoinGroup"
    if is_classic:
        is_over = True
        rig.run(20_000)
        assert rig.member.why(20_000) == []


def test_what_a_topic_of_the_group_lacks_is_looked_for_after_the_wait_of_the_settings() -> None:
    """The leader must know the partitions before it assigns them."""

    options = MemberOptions("billing", instance="i1", retry_backoff_ms=700, retry_backoff_max_ms=900)
    chance = SeededChance(1)
    view = ClusterView(chance)
    member = ClassicMember(options, view, Routing(view, chance), chance)
    member.subscribe(frozenset(["orders"]))
    (join,) = member.due(0)
    request = join.request
    assert isinstance(request, JoinGroupRequest)
    response = joined()
    response.leader = "m1"
    response.members = [JoinGroupResponseMember("m1", "i1", request.protocols[0].metadata)]
    member.outcome(Outcome(join, response), 0)
    assert not member.due(0)
    assert 560 <= (member.next_deadline_ms() or 0) <= 840
