"""For whom a member of the new protocol waits that has no partitions."""

from itertools import pairwise

from odradek.base.error_codes import ErrorCode
from odradek.client.core.consumer.consumer_core import Step
from odradek.client.core.membership.givers import ASK_AFTER_MS, ASK_AGAIN_MAX_MS, Givers
from odradek.client.core.requests import Outcome, Send, ToCoordinator
from odradek.client.core.waiting import Cause, Why
from odradek.net.request_pipeline import ConnectionFailed
from odradek.wire.messages.consumer_group_describe import (
    Assignment,
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
    Member,
    TopicPartitions,
)
from odradek.wire.messages.consumer_group_heartbeat import Assignment as Given
from odradek.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from odradek.wire.messages.consumer_group_heartbeat import TopicPartitions as GivenPartitions
from tests.client.core.consumer.test_fetching import ID, Rig


def waiting() -> Rig:
    """A rig whose member is in the group, without partitions."""
    rig = Rig(group="billing")
    rig.core.subscription.subscribe(["orders"])
    rig.core.follow_subscription()
    (beat,) = rig.due()
    answer = ConsumerGroupHeartbeatResponse(member_epoch=2, heartbeat_interval_ms=600_000)
    rig.core.outcome(Outcome(beat, answer), 0)
    rig.core.polled(0)
    rig.due()
    return rig


def asks(rig: Rig) -> list[Send]:
    return [send for send in rig.due() if isinstance(send.request, ConsumerGroupDescribeRequest)]


def partitions(*numbers: int) -> Assignment:
    return Assignment([TopicPartitions(ID, "orders", list(numbers))] if numbers else [])


def described(rig: Rig, *others: Member, gets: tuple[int, ...] = (1,)) -> ConsumerGroupDescribeResponse:
    """A group at epoch 2 that has `gets` for the rig's member."""
    assert rig.core.member is not None
    me = Member(
        member_id=rig.core.member.member,
        member_epoch=2,
        assignment=partitions(),
        target_assignment=partitions(*gets),
    )
    group = DescribedGroup(group_id="billing", assignment_epoch=2, members=[*others, me])
    return ConsumerGroupDescribeResponse(groups=[group])


def owner(*has: int, epoch: int) -> Member:
    """Another member, which is to have partition 0 alone."""
    return Member(
        member_id="owner",
        member_epoch=epoch,
        assignment=partitions(*has),
        target_assignment=partitions(0),
    )


def first(rig: Rig) -> Why:
    return rig.core.why(rig.now_ms)[0]


def answered(rig: Rig, response: ConsumerGroupDescribeResponse) -> Why:
    rig.now_ms = ASK_AFTER_MS
    (ask,) = asks(rig)
    assert ask.to == ToCoordinator("billing")
    rig.core.outcome(Outcome(ask, response), rig.now_ms)
    rig.now_ms = 12_000
    return first(rig)


def test_an_owner_that_has_not_heard_of_it_yet_is_named() -> None:
    rig = waiting()
    assert rig.core.next_deadline_ms() == ASK_AFTER_MS
    assert first(rig).cause is Cause.NO_PARTITIONS
    why = answered(rig, described(rig, owner(0, 1, epoch=1)))
    assert why.cause is Cause.REBALANCE
    said = "group billing has been rebalancing for 12 s: it waits for member owner to give partitions back"
    assert str(why) == said
    assert (why.data["member"], why.data["ms"]) == ("owner", 12_000)


def test_an_owner_that_was_told_and_has_not_given_back_is_named() -> None:
    rig = waiting()
    assert answered(rig, described(rig, owner(0, epoch=1))).data["member"] == "owner"


def test_nobody_is_waited_for_if_the_group_has_nothing_for_the_member() -> None:
    rig = waiting()
    assert answered(rig, described(rig, owner(0, epoch=1), gets=())).cause is Cause.NO_PARTITIONS


def test_a_refusal_or_a_failure_leaves_it_unknown_and_it_is_asked_again_ever_later() -> None:
    rig = waiting()
    times = []
    for number in range(6):
        rig.core.polled(rig.now_ms)
        rig.now_ms = rig.core.next_deadline_ms() or 0
        sends = asks(rig)
        times.append(rig.now_ms)
        group = DescribedGroup(group_id="billing", error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)
        refused = Outcome(sends[0], ConsumerGroupDescribeResponse(groups=[group]))
        failed = Outcome(sends[0], error=ConnectionFailed("cut"))
        rig.core.outcome(refused if number % 2 else failed, rig.now_ms)
        assert first(rig).cause is Cause.NO_PARTITIONS
    assert [later - earlier for earlier, later in pairwise(times)] == [600, 1_200, 2_400, 4_800, 9_600]


def test_it_is_asked_again_once_a_minute_at_last() -> None:
    givers = Givers()
    givers.follow(waiting().core.member, is_waiting=True, now_ms=0)
    now_ms = 0
    for _ in range(12):
        before_ms, now_ms = now_ms, givers.next_deadline_ms() or 0
        (send,) = givers.due(now_ms)
        givers.outcome(Outcome(send, error=ConnectionFailed("cut")), now_ms)
    assert now_ms - before_ms == ASK_AGAIN_MAX_MS


def test_a_member_that_is_given_partitions_asks_no_longer() -> None:
    rig = waiting()
    why = answered(rig, described(rig, owner(0, 1, epoch=1)))
    assert why.cause is Cause.REBALANCE
    rig.now_ms = 700_000
    rig.core.polled(rig.now_ms)
    beats = [send for send in rig.due() if isinstance(send.request, ConsumerGroupHeartbeatRequest)]

    given = Given([GivenPartitions(ID, [1])])
    answer = ConsumerGroupHeartbeatResponse(member_epoch=2, heartbeat_interval_ms=600_000, assignment=given)
    rig.core.outcome(Outcome(beats[0], answer), rig.now_ms)
    step = rig.core.change()
    assert isinstance(step, Step)
    rig.core.carried_out(step)
    rig.now_ms += 50_000
    assert not asks(rig)
