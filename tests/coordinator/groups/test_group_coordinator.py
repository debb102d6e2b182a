from collections.abc import Mapping, Sequence

import pytest

from odradek.base.buffers import Buffer
from odradek.base.error_codes import ErrorCode
from odradek.base.execution import exhaust
from odradek.base.ids import TopicPartition
from odradek.coordinator.classic import GroupState
from odradek.coordinator.ports import Appended, Settled
from tests.coordinator.group_bench import GroupBench

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def delete(bench: GroupBench, *group_ids: str) -> dict[str, ErrorCode]:
    answers: list[Mapping[str, ErrorCode]] = []
    exhaust(bench.coordinator.delete_groups(group_ids, answers.append))
    (answer,) = answers
    return dict(answer)


def test_groups_of_partitions_led_elsewhere_are_not_coordinated_here(bench: GroupBench) -> None:
    member = bench.member()
    bench.stable(member)
    waiting = bench.member().join()
    bench.coordinator.resign(bench.coordinator._partition_of("g"))
    bench.run()
    assert waiting.code is ErrorCode.NOT_COORDINATOR
    assert member.heartbeat() is ErrorCode.NOT_COORDINATOR
    assert member.sync().code is ErrorCode.NOT_COORDINATOR
    assert member.leave() == (ErrorCode.NOT_COORDINATOR, [])
    assert member.commit({T0: 1}).answer == {T0: ErrorCode.NOT_COORDINATOR}
    assert bench.member().join().code is ErrorCode.NOT_COORDINATOR
    assert bench.committed() is ErrorCode.NOT_COORDINATOR
    assert delete(bench, "g") == {"g": ErrorCode.NOT_COORDINATOR}
    described = exhaust(bench.coordinator.describe_group("g", absence_is_error=True))
    assert described.error_code == ErrorCode.NOT_COORDINATOR


def test_whoever_lets_go_of_a_partition_waits_for_nothing_in_it(bench: GroupBench) -> None:
    """D8: for keys whose owner is gone for good."""
    first, second = bench.member(), bench.member()
    bench.stable(first)
    second.join()
    bench.member().send_join()
    bench.coordinator.resign_all()
    bench.run()
    assert [purgatory.watched for purgatory in bench.coordinator.purgatories.all()] == [0, 0, 0, 0]
    assert bench.timer.size == 0


def test_groups_that_are_being_read_ask_for_patience(bench: GroupBench) -> None:
    member = bench.member()
    bench.stable(member)
    for number in range(600):
        member.commit({T0: number})
    partition = bench.coordinator._partition_of("g")
    bench.lead_again(partition)
    loading = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert bench.member().join().code is loading
    assert member.commit({T0: 1}).answer == {T0: loading}
    assert bench.committed() is loading
    assert delete(bench, "g") == {"g": loading}
    assert exhaust(bench.coordinator.list_groups())[0] is loading
    assert member.leave() == (loading, [])
    assert member.heartbeat() is ErrorCode.NONE
    assert member.sync().code is ErrorCode.REBALANCE_IN_PROGRESS
    bench.run()
    assert member.heartbeat() is ErrorCode.NONE
    assert bench.committed() == {T0: 599}


def test_a_partition_that_goes_while_it_is_read_is_read_no_further(bench: GroupBench) -> None:
    for number in range(600):
        bench.commit("g", {T0: number})
    partition = bench.coordinator._partition_of("g")
    bench.lead_again(partition)
    bench.coordinator.resign(partition)
    bench.run()
    assert bench.committed() is ErrorCode.NOT_COORDINATOR
    assert exhaust(bench.coordinator.list_groups()) == (ErrorCode.NONE, [])


def test_a_leadership_that_ends_during_a_step_ends_after_it(
    bench: GroupBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R19: a step never sees half of another event."""
    append = bench.log.append
    seen: list[object] = []

    def append_and_lose(
        topic_partition: TopicPartition, batch: Buffer, *, timeout_ms: int, settled: Settled
    ) -> Appended:
        appended = append(topic_partition, batch, timeout_ms=timeout_ms, settled=settled)
        bench.coordinator.resign_all()
        seen.append(bench.committed())
        return appended

    bench.commit("g", {T0: 1})
    monkeypatch.setattr(bench.log, "append", append_and_lose)
    bench.commit("g", {T0: 2})
    bench.run()
    assert seen == [{T0: 1}]
    assert bench.committed() is ErrorCode.NOT_COORDINATOR


@pytest.mark.parametrize("has_offsets", [True, False])
def test_empty_groups_are_deleted_for_good(bench: GroupBench, has_offsets: bool) -> None:
    member = bench.member()
    bench.stable(member)
    if has_offsets:
        member.commit({T0: 1})
    assert delete(bench, "g", "nobody's", "g") == {
        "g": ErrorCode.NON_EMPTY_GROUP,
        "nobody's": ErrorCode.GROUP_ID_NOT_FOUND,
    }
    member.leave()
    assert delete(bench, "g") == {"g": ErrorCode.NONE}
    assert delete(bench, "g") == {"g": ErrorCode.GROUP_ID_NOT_FOUND}
    bench.start()
    assert bench.state() is None


def test_a_group_is_not_deleted_before_the_log_says_so(bench: GroupBench) -> None:
    bench.commit("g", {T0: 1})
    bench.log.failure = ErrorCode.NOT_ENOUGH_REPLICAS
    assert delete(bench, "g") == {"g": ErrorCode.COORDINATOR_NOT_AVAILABLE}
    assert bench.state() is GroupState.EMPTY


def test_what_is_committed_while_a_group_is_being_deleted_stays(bench: GroupBench) -> None:
    bench.commit("g", {T0: 1})
    bench.log.lags = True
    deleted: list[Mapping[str, ErrorCode]] = []
    exhaust(bench.coordinator.delete_groups(["g"], deleted.append))
    committed = bench.commit("g", {T0: 7})
    bench.run()
    bench.log.catch_up()
    assert deleted == [{"g": ErrorCode.NONE}]
    assert committed.answer == {T0: ErrorCode.NONE}
    assert bench.committed() == {T0: 7}
    bench.start()
    assert bench.committed() == {T0: 7}


def test_that_goes_for_groups_of_the_consumer_protocol_too(bench: GroupBench) -> None:
    first, second = bench.consumer("a"), bench.consumer("b")
    first.join()
    first.leave()
    bench.commit("g", {T0: 1, T1: 1})
    bench.log.lags = True
    deleted: list[Mapping[str, ErrorCode]] = []
    exhaust(bench.coordinator.delete_groups(["g"], deleted.append))
    committed, joined = bench.commit("g", {T0: 7}), second.send_join()
    bench.run()
    bench.log.catch_up()
    assert deleted == [{"g": ErrorCode.NONE}]
    assert committed.answer == {T0: ErrorCode.NONE}
    assert joined.code is ErrorCode.NONE
    assert bench.committed() == {T0: 7}
    assert list(bench.consumers().members) == ["b"]
    bench.start()
    assert bench.committed() == {T0: 7}
    assert list(bench.consumers().members) == ["b"]


def test_whoever_joins_while_a_group_is_being_deleted_is_in_it(bench: GroupBench) -> None:
    bench.commit("g", {T0: 1})
    bench.log.lags = True
    deleted: list[Mapping[str, ErrorCode]] = []
    exhaust(bench.coordinator.delete_groups(["g"], deleted.append))
    member = bench.member()
    asked = member.send_join()
    bench.log.catch_up()
    member.member_id = asked.answer.member_id
    member.take(member.send_join())
    assert deleted == [{"g": ErrorCode.NONE}]
    assert bench.committed() == {}
    assert member.sync().code is ErrorCode.NONE
    assert member.heartbeat() is ErrorCode.NONE


def test_lists_are_filtered_by_state_and_type(bench: GroupBench) -> None:
    bench.commit("simple", {T0: 1})
    bench.stable(bench.member())
    rows = {
        group.group_id: (group.protocol_type, group.group_state, group.group_type)
        for group in exhaust(bench.coordinator.list_groups())[1]
    }
    assert rows == {"simple": ("", "Empty", "classic"), "g": ("consumer", "Stable", "classic")}

    def names(states: Sequence[str], types: Sequence[str] = ()) -> list[str]:
        return [group.group_id for group in exhaust(bench.coordinator.list_groups(states, types))[1]]

    assert names(["stable"]) == ["g"]
    assert names(["Dead"]) == []
    assert sorted(names([], ["Classic"])) == ["g", "simple"]
    assert names([], ["consumer"]) == []


def test_a_group_is_described_with_its_members(bench: GroupBench) -> None:
    member = bench.member("i", protocols=(("range", b"topics"),))
    bench.stable(member)
    group = exhaust(bench.coordinator.describe_group("g", absence_is_error=True))
    (row,) = group.members
    assert (group.group_state, group.protocol_type, group.protocol_data) == ("Stable", "consumer", "range")
    assert (row.member_id, row.group_instance_id) == (member.member_id, "i")
    assert (row.client_id, row.client_host) == ("c", "/10.0.0.1")
    assert (row.member_metadata, row.member_assignment) == (b"topics", member.member_id.encode())


def test_what_members_offered_is_not_told_during_a_rebalance(bench: GroupBench) -> None:
    bench.stable(bench.member())
    bench.member().join()
    group = exhaust(bench.coordinator.describe_group("g", absence_is_error=True))
    assert (group.group_state, group.protocol_data) == ("PreparingRebalance", "")
    assert [row.member_metadata for row in group.members] == [b"", b""]


def test_a_group_that_is_not_there_is_dead_or_an_error_by_version(bench: GroupBench) -> None:
    """KIP-1043: GROUP_ID_NOT_FOUND from version 6 on."""
    old = exhaust(bench.coordinator.describe_group("x", absence_is_error=False))
    new = exhaust(bench.coordinator.describe_group("x", absence_is_error=True))
    assert (old.error_code, old.group_state) == (ErrorCode.NONE, "Dead")
    assert (new.error_code, new.error_message) == (ErrorCode.GROUP_ID_NOT_FOUND, "the group x does not exist")


def test_a_group_says_what_it_waits_for(bench: GroupBench) -> None:
    """D7: and the condition that it still waits for, in words."""
    first, second, third = (bench.member(session_timeout_ms=60_000) for _ in range(3))
    bench.stable(first, second)
    bench.advance(12_000)
    leader = first if bench.group().leader_id == first.member_id else second
    late = second if leader is first else first
    third.join()
    leader.join()
    bench.advance(1_000)
    (described,) = bench.coordinator.describe()
    assert described["waits_for"] == (
        f"2 of 3 members rejoined; waiting up to 29 s for member {late.member_id}, last heartbeat 13 s ago"
    )
    waiting = [one.waits_for for one in bench.coordinator.purgatories.joins.describe()]
    assert waiting == [described["waits_for"]]


def test_a_group_at_rest_waits_for_nothing(bench: GroupBench) -> None:
    bench.stable(bench.member())
    (described,) = bench.coordinator.describe()
    assert (described["state"], described["waits_for"]) == ("Stable", "nothing")
