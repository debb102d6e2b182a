from odradek.base.error_codes import ErrorCode
from odradek.base.execution import exhaust
from odradek.base.settings import BrokerSettings
from tests.coordinator.group_bench import GroupBench

NONE, FENCED = ErrorCode.NONE, ErrorCode.FENCED_MEMBER_EPOCH


def test_only_who_joins_makes_a_group(bench: GroupBench) -> None:
    for epoch in (1, -1):
        assert bench.consumer("a").send(member_epoch=epoch).code is ErrorCode.GROUP_ID_NOT_FOUND
    assert exhaust(bench.coordinator.list_groups())[1] == []


def test_a_stranger_is_an_unknown_member(bench: GroupBench) -> None:
    bench.consumer("a").join()
    assert bench.consumer("z", epoch=1).beat() is ErrorCode.UNKNOWN_MEMBER_ID
    assert bench.consumer("z").leave() is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_member_at_another_epoch_is_fenced(bench: GroupBench) -> None:
    member = bench.consumer("a")
    member.join()
    answer = member.send(member_epoch=5).answer
    assert (answer.error_code, answer.member_epoch) == (FENCED, 0)
    assert answer.error_message == (
        "the member is at epoch 1 and not 5: it has to give everything back and join again"
    )
    second = bench.consumer("b")
    second.join()
    bench.settle_all(member, second)
    member.topics = ["t", "u"]
    member.beat(subscribed_topic_names=["t", "u"])
    bench.settle_all(member, second)
    assert member.send(member_epoch=1).code is FENCED


def test_a_member_that_missed_our_answer_may_go_on(bench: GroupBench) -> None:
    """Its epoch was raised in an answer that never came: it still tells the one before."""
    first, second = bench.consumer("a"), bench.consumer("b")
    first.join()
    second.join()
    bench.settle_all(first, second)
    before = first.epoch
    second.leave()
    first.send()  # unheard
    owned = first.owned
    assert first.send(member_epoch=before).code is FENCED, "it does not say what it owns"
    everything = {bench.topics.topic_id("t"): [0, 1, 2, 3, 4]}
    assert first.send(member_epoch=before, topic_partitions=everything).code is FENCED
    assert first.send(member_epoch=before, topic_partitions=owned).code is NONE


def test_a_join_whose_answer_was_lost_may_be_repeated(bench: GroupBench) -> None:
    first, second = bench.consumer("a"), bench.consumer("b")
    assert first.join() is NONE
    assert first.join() is NONE
    assert first.count() == 4, "the repeated join is told everything"
    second.join()
    bench.settle_all(first, second)
    assert first.join() is NONE, "also when the group has gone on, as from Kafka 4.3 on"
    assert first.count() == 2


def test_a_full_group_takes_nobody_else() -> None:
    bench = GroupBench(BrokerSettings(group_consumer_max_size=1))
    first = bench.consumer("a")
    first.join()
    answer = bench.consumer("b").send_join().answer
    assert answer.error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert answer.error_message == (
        "the group is full: it has 1 members, as many as group.consumer.max.size allows"
    )
    assert first.beat() is NONE


def test_an_instance_id_in_use_is_unreleased(bench: GroupBench) -> None:
    """KIP-345."""
    first = bench.consumer("a", "i")
    first.join()
    answer = bench.consumer("b", "i").send_join().answer
    assert answer.error_code == ErrorCode.UNRELEASED_INSTANCE_ID
    assert answer.error_message == "the instance id i is that of a, which has not left"
    assert first.beat() is NONE


def test_a_static_member_comes_back_to_its_partitions(bench: GroupBench) -> None:
    first, other = bench.consumer("a", "i"), bench.consumer("o")
    first.join()
    other.join()
    bench.settle_all(first, other)
    epoch, kept = bench.consumers().epoch, first.owned
    assert first.leave(-2) is NONE
    assert bench.consumers().members["a"].is_away
    assert other.settle() is NONE
    assert other.count() == 2, "nobody gets what a member that is away has"
    back = bench.consumer("b", "i")
    assert back.join() is NONE
    assert back.told == kept
    assert bench.consumers().epoch == epoch, "nobody else is disturbed"
    assert list(bench.consumers().static_members.items()) == [("i", "b")]
    assert first.beat() is ErrorCode.FENCED_INSTANCE_ID
    assert first.leave(-2) is ErrorCode.FENCED_INSTANCE_ID
    assert bench.consumer("x", "nope", epoch=1).beat() is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_static_member_that_is_away_may_not_go_on_as_if_it_were_not(bench: GroupBench) -> None:
    member = bench.consumer("a", "i")
    member.join()
    member.leave(-2)
    assert member.beat() is FENCED
    assert member.settle() is FENCED


def test_a_static_member_may_leave_for_good(bench: GroupBench) -> None:
    member = bench.consumer("a", "i")
    member.join()
    assert member.leave(-1) is NONE
    assert not bench.consumers().members
    assert not bench.consumers().static_members
