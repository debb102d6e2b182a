"""Members of the classic protocol in a group that also has members of the consumer protocol."""

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import exhaust
from odradek.base.ids import TopicPartition as Key
from odradek.wire.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    TopicPartition,
)
from odradek.wire.messages.join_group import JoinGroupResponse
from odradek.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from odradek.wire.versioned import decode_versioned, encode_versioned
from tests.coordinator.group_bench import GroupBench
from tests.coordinator.members import ClassicClient
from tests.coordinator.replies import CodedReply

NONE, AGAIN = ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS


class MixedGroup(GroupBench):
    """A bench with a group of one member of each protocol."""

    def __init__(self) -> None:
        super().__init__()
        self.modern, self.old = self.consumer("m"), self.classic("t")


@pytest.fixture
def mixed() -> MixedGroup:
    """Which have what they are to have."""
    bench = MixedGroup()
    bench.modern.join()
    assert rejoin(bench.old).code is NONE
    bench.modern.settle()
    bench.modern.settle()
    assert read(bench.old) == 2
    assert bench.consumers().state.value == "Stable"
    return bench


def rejoin(member: ClassicClient, owned: list[TopicPartition] | None = None) -> CodedReply[JoinGroupResponse]:
    """A JoinGroup, with an id if one is asked for, and what it says that it owns."""
    subscription = ConsumerProtocolSubscription(topics=["t"], owned_partitions=owned or [])
    member.protocols = (("range", encode_versioned(subscription, 1)),)
    reply = member.join()
    if reply.code is NONE:
        member.take(reply)
    return reply


def read(member: ClassicClient) -> int:
    """Follow heartbeats until there is nothing to learn; how many partitions it reads then."""
    owned: list[TopicPartition] = []
    for _ in range(4):
        reply = member.sync()
        if reply.code is NONE:
            owned = decode_versioned(ConsumerProtocolAssignment, reply.answer.assignment).assigned_partitions
        if reply.code is NONE and member.heartbeat() is NONE:
            return sum(len(one.partitions) for one in owned)
        assert rejoin(member, owned).code is NONE
    raise AssertionError("the member never came to rest")


def test_they_are_assigned_like_all_others(mixed: MixedGroup) -> None:
    assert mixed.modern.count() == 2
    described = exhaust(mixed.coordinator.describe_consumer_group("g"))
    assert {one.member_id: one.member_type for one in described.members} == {"m": 1, mixed.old.member_id: 0}


def test_a_join_is_answered_at_once_without_a_leader(mixed: MixedGroup) -> None:
    answer = rejoin(mixed.old).answer
    assert (answer.generation_id, answer.protocol_type, answer.protocol_name) == (2, "consumer", "range")
    assert (answer.leader, answer.members) == ("", [])


def test_a_new_one_is_asked_to_come_back_with_an_id(mixed: MixedGroup) -> None:
    """KIP-394."""
    newcomer = mixed.classic("t")
    reply = newcomer.send_join()
    assert reply.code is ErrorCode.MEMBER_ID_REQUIRED
    assert len(mixed.consumers().members) == 2, "nobody has joined yet"


def test_they_hear_of_a_new_epoch_by_heartbeat(mixed: MixedGroup) -> None:
    mixed.consumer("n").join()
    assert mixed.old.heartbeat() is AGAIN
    assert mixed.old.sync().code is AGAIN
    assert read(mixed.old) >= 1


def test_they_give_back_what_others_are_to_have(mixed: MixedGroup) -> None:
    mixed.topics.counts["t"] = 2
    mixed.topics.lives["t"] = 1
    mixed.touch_topics()
    mixed.modern.settle()
    mixed.modern.settle()
    assert read(mixed.old) == 1
    assert mixed.modern.count() == 1
    assert mixed.consumers().state.value == "Stable"


def test_commits_go_by_generation(mixed: MixedGroup) -> None:
    key = Key("t", 0)
    reply = mixed.old.commit({key: 1})
    mixed.run()
    assert reply.answer == {key: NONE}
    mixed.old.generation += 1
    reply = mixed.old.commit({key: 1})
    assert reply.answer == {key: ErrorCode.ILLEGAL_GENERATION}


def test_whoever_is_not_one_of_them_is_unknown(mixed: MixedGroup) -> None:
    stranger = mixed.classic("t", member_id="z", generation=2)
    assert stranger.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID
    assert stranger.sync().code is ErrorCode.UNKNOWN_MEMBER_ID
    assert stranger.leave() == (NONE, [ErrorCode.UNKNOWN_MEMBER_ID])
    modern = mixed.classic("t", member_id="m", generation=mixed.modern.epoch)
    assert modern.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID
    assert modern.sync().code is ErrorCode.UNKNOWN_MEMBER_ID


def test_another_generation_is_illegal(mixed: MixedGroup) -> None:
    mixed.old.generation += 1
    assert mixed.old.heartbeat() is ErrorCode.ILLEGAL_GENERATION
    assert mixed.old.sync().code is ErrorCode.ILLEGAL_GENERATION


def test_protocols_must_have_something_in_common(mixed: MixedGroup) -> None:
    inconsistent = ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    other = mixed.classic("t")
    other.protocols = (("mine", other.protocols[0][1]),)
    assert other.send_join().code is inconsistent
    assert mixed.classic("t", protocol_type="connect").send_join().code is inconsistent
    assert mixed.old.sync(protocol_type="connect").code is inconsistent
    assert mixed.old.sync(protocol_name="mine").code is inconsistent
    garbled = mixed.member(protocols=(("range", b"?"),))
    assert garbled.send_join().code is inconsistent


def test_a_static_one_takes_over_its_own_place(mixed: MixedGroup) -> None:
    """KIP-345: nothing tells that a member of this protocol is away but its coming back."""
    static = mixed.classic("t", instance_id="i")
    assert rejoin(static).code is NONE
    epoch = mixed.consumers().epoch
    back = mixed.classic("t", instance_id="i")
    assert rejoin(back).code is NONE
    assert mixed.consumers().epoch == epoch
    assert static.heartbeat() is ErrorCode.FENCED_INSTANCE_ID
    assert static.leave() == (NONE, [ErrorCode.FENCED_INSTANCE_ID])
    assert back.leave() == (NONE, [NONE])


def test_whoever_does_not_join_again_in_time_is_removed(mixed: MixedGroup) -> None:
    mixed.old.rebalance_timeout_ms = 5_000
    rejoin(mixed.old)
    mixed.old.sync()
    mixed.consumer("n").join()
    for _ in range(2):
        assert mixed.old.heartbeat() is AGAIN  # the second one gives no more time
        mixed.advance(2_500)
    assert mixed.old.member_id not in mixed.consumers().members


def test_whoever_does_not_sync_in_time_is_removed(mixed: MixedGroup) -> None:
    mixed.old.rebalance_timeout_ms = 5_000
    rejoin(mixed.old)
    mixed.advance(4_999)
    assert mixed.old.member_id in mixed.consumers().members
    mixed.advance(1)
    assert mixed.old.member_id not in mixed.consumers().members


def test_their_sessions_are_as_long_as_they_asked(mixed: MixedGroup) -> None:
    mixed.advance(9_999)
    assert mixed.old.heartbeat() is NONE
    mixed.modern.beat()
    mixed.advance(10_000)
    assert list(mixed.consumers().members) == ["m"]


def test_an_administrator_removes_a_static_member_by_its_instance_id(mixed: MixedGroup) -> None:
    static = mixed.consumer("s", "i")
    static.join()
    by_name = mixed.member("i", member_id="")
    assert by_name.leave() == (NONE, [NONE])
    assert "s" not in mixed.consumers().members


def test_whoever_is_named_twice_leaves_once(mixed: MixedGroup) -> None:
    epoch, answers = mixed.consumers().epoch, []
    leavers = [MemberIdentity(mixed.old.member_id)] * 2
    request = LeaveGroupRequest("g", members=leavers)
    exhaust(mixed.coordinator.leave_group(request, lambda *answer: answers.append(answer)))
    assert answers == [(NONE, [NONE, NONE])]
    assert mixed.consumers().epoch == epoch + 1


def test_a_static_member_may_change_its_protocol_without_leaving(mixed: MixedGroup) -> None:
    """KIP-848, KIP-345: a consumer that is killed comes back with the settings of the other protocol."""

    def holder() -> str | None:
        """Who has the instance id."""
        member = mixed.consumers().static_member("i")
        return None if member is None else member.member_id

    modern = mixed.consumer("s", "i")
    modern.join()
    old = mixed.classic("t", instance_id="i")
    assert rejoin(old).code is NONE
    assert modern.beat() is ErrorCode.FENCED_INSTANCE_ID
    assert holder() == old.member_id
    again = mixed.consumer("r", "i")
    assert again.join() is NONE
    assert old.heartbeat() is ErrorCode.FENCED_INSTANCE_ID
    assert holder() == "r"
