from odradek.base.error_codes import ErrorCode
from odradek.base.execution import exhaust
from odradek.coordinator.consumer.states import MemberState
from tests.coordinator.group_bench import GroupBench

NONE = ErrorCode.NONE


def state(bench: GroupBench, member_id: str) -> MemberState:
    return bench.consumers().members[member_id].share.state


def test_the_worked_example(bench: GroupBench) -> None:
    first, second = bench.consumer("a"), bench.consumer("b")
    first.join()
    assert (first.epoch, first.count()) == (1, 4)
    second.join()
    assert (second.epoch, second.count()) == (2, 0), "nothing is free yet"
    assert state(bench, "b") is MemberState.UNRELEASED_PARTITIONS
    assert first.beat() is NONE
    assert (first.epoch, first.count()) == (1, 2), "it is told what it may keep, and its epoch waits"
    assert state(bench, "a") is MemberState.UNREVOKED_PARTITIONS
    second.beat()
    assert second.count() == 0, "the former owner has not let go"
    first.settle()
    assert first.epoch == 2
    second.beat()
    assert (second.epoch, second.count()) == (2, 2)
    assert bench.consumers().state.value == "Stable"


def test_who_does_not_say_what_it_owns_may_own_everything(bench: GroupBench) -> None:
    first, second = bench.consumer("a"), bench.consumer("b")
    first.join()
    second.join()
    for _ in range(3):
        first.beat()
        assert first.epoch == 1
        assert state(bench, "a") is MemberState.UNREVOKED_PARTITIONS
    first.beat(topic_partitions=first.owned)
    assert state(bench, "a") is MemberState.UNREVOKED_PARTITIONS, "it said that it still owns all"


def test_a_member_that_owns_less_than_it_may_has_nothing_to_revoke(bench: GroupBench) -> None:
    first, second = bench.consumer("a"), bench.consumer("b")
    first.join()
    second.join()
    assert first.beat(topic_partitions={}) is NONE
    assert (first.epoch, first.count()) == (2, 2)
    second.beat()
    assert second.count() == 2


def test_a_member_gets_what_is_free_and_waits_for_the_rest(bench: GroupBench) -> None:
    first, second, third = (bench.consumer(name) for name in "abc")
    first.join()
    second.join()
    bench.settle_all(first, second)
    third.topics = ["t", "u"]
    third.join()
    assert third.count("u") == 4, "nobody else reads it"
    assert third.count("t") == 0


def test_what_a_leaver_had_goes_to_the_others_at_their_next_heartbeat(bench: GroupBench) -> None:
    first, second = bench.consumer("a"), bench.consumer("b")
    first.join()
    second.join()
    bench.settle_all(first, second)
    assert second.leave() is NONE
    assert bench.consumers().state.value == "Assigning"
    first.beat()
    assert first.count() == 4


def test_a_heartbeat_without_news_writes_nothing_and_says_little(bench: GroupBench) -> None:
    first, second = bench.consumer("a"), bench.consumer("b")
    first.join()
    second.join()
    bench.settle_all(first, second)
    before = len(bench.log.records())
    answer = first.send().answer
    assert answer.assignment is None
    assert (answer.member_epoch, answer.heartbeat_interval_ms) == (first.epoch, 5_000)
    full = first.send(topic_partitions=first.owned, subscribed_topic_names=["t"], rebalance_timeout_ms=60_000)
    assert full.answer.assignment is not None, "whoever tells everything is told everything"
    assert len(bench.log.records()) == before


def test_whoever_waits_writes_nothing_either(bench: GroupBench) -> None:
    first, second = bench.consumer("a"), bench.consumer("b")
    first.join()
    second.join()
    first.beat()
    before = len(bench.log.records())
    for _ in range(3):
        first.beat()
        second.beat()
    assert len(bench.log.records()) == before


def test_the_assignor_that_most_ask_for_assigns(bench: GroupBench) -> None:
    first, second = bench.consumer("a"), bench.consumer("b")
    first.join(server_assignor="range")
    second.join(server_assignor="range")
    assert exhaust(bench.coordinator.describe_consumer_group("g")).assignor_name == "range"
    targets = [bench.consumers().target_of(name)[bench.topics.topic_id("t")] for name in "ab"]
    assert targets == [{0, 1}, {2, 3}]
