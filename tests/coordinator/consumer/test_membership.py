from typing import Any

from odradek.base.error_codes import ErrorCode

NONE, FENCED = ErrorCode.NONE, ErrorCode.FENCED_MEMBER_EPOCH


def test_only_who_joins_makes_a_group(world: Any) -> None:
    for epoch in (1, -1):
        assert world.consumer("a").send(member_epoch=epoch).code is ErrorCode.GROUP_ID_NOT_FOUND
    assert world.coordinator.list_groups()[1] == []


def test_a_stranger_is_an_unknown_member(world: Any) -> None:
    world.consumer("a").join()
    assert world.consumer("z", epoch=1).beat() is ErrorCode.UNKNOWN_MEMBER_ID
    assert world.consumer("z").leave() is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_member_at_another_epoch_is_fenced(world: Any) -> None:
    member = world.consumer("a")
    member.join()
    answer = member.send(member_epoch=5).answer
    assert (answer.error_code, answer.member_epoch) == (FENCED, 0)
    assert answer.error_message == (
        "the member is at epoch 1 and not 5: it has to give everything back and join again"
    )
    second = world.consumer("b")
    second.join()
    world.settle_all(member, second)
    member.topics = ["t", "u"]
    member.beat(subscribed_topic_names=["t", "u"])
    world.settle_all(member, second)
    assert member.send(member_epoch=1).code is FENCED


def test_a_member_that_missed_our_answer_may_go_on(world: Any) -> None:
    """Its epoch was raised in an answer that never came: it still tells the one before."""
    first, second = world.consumer("a"), world.consumer("b")
    first.join()
    second.join()
    world.settle_all(first, second)
    before = first.epoch
    second.leave()
    first.send()  # unheard
    owned = first.owned
    assert first.send(member_epoch=before).code is FENCED, "it does not say what it owns"
    everything = {world.topics.topic_id("t"): [0, 1, 2, 3, 4]}
    assert first.send(member_epoch=before, topic_partitions=everything).code is FENCED
    assert first.send(member_epoch=before, topic_partitions=owned).code is NONE


def test_a_join_whose_answer_was_lost_may_be_repeated(world: Any) -> None:
    first, second = world.consumer("a"), world.consumer("b")
    assert first.join() is NONE
    assert first.join() is NONE
    assert first.count() == 4, "the repeated join is told everything"
    second.join()
    world.settle_all(first, second)
    assert first.join() is NONE, "also when the group has gone on, as from Kafka 4.3 on"
    assert first.count() == 2


def test_a_full_group_takes_nobody_else(new_world: Any) -> None:
    world = new_world(group_consumer_max_size=1)
    first = world.consumer("a")
    first.join()
    answer = world.consumer("b").send_join().answer
    assert answer.error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert answer.error_message == (
        "the group is full: it has 1 members, as many as group.consumer.max.size allows"
    )
    assert first.beat() is NONE


def test_an_instance_id_in_use_is_unreleased(world: Any) -> None:
    """KIP-345."""
    first = world.consumer("a", "i")
    first.join()
    answer = world.consumer("b", "i").send_join().answer
    assert answer.error_code == ErrorCode.UNRELEASED_INSTANCE_ID
    assert answer.error_message == "the instance id i is that of a, which has not left"
    assert first.beat() is NONE


def test_a_static_member_comes_back_to_its_partitions(world: Any) -> None:
    first, other = world.consumer("a", "i"), world.consumer("o")
    first.join()
    other.join()
    world.settle_all(first, other)
    epoch, kept = world.consumers().epoch, first.owned
    assert first.leave(-2) is NONE
    assert world.consumers().members["a"].is_away
    assert other.settle() is NONE
    assert other.count() == 2, "nobody gets what a member that is away has"
    back = world.consumer("b", "i")
    assert back.join() is NONE
    assert back.told == kept
    assert world.consumers().epoch == epoch, "nobody else is disturbed"
    assert list(world.consumers().static_members.items()) == [("i", "b")]
    assert first.beat() is ErrorCode.FENCED_INSTANCE_ID
    assert first.leave(-2) is ErrorCode.FENCED_INSTANCE_ID
    assert world.consumer("x", "nope", epoch=1).beat() is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_static_member_that_is_away_may_not_go_on_as_if_it_were_not(world: Any) -> None:
    member = world.consumer("a", "i")
    member.join()
    member.leave(-2)
    assert member.beat() is FENCED
    assert member.settle() is FENCED


def test_a_static_member_may_leave_for_good(world: Any) -> None:
    member = world.consumer("a", "i")
    member.join()
    assert member.leave(-1) is NONE
    assert not world.consumers().members
    assert not world.consumers().static_members
