from typing import Any

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import TopicPartition
from odradek.coordinator.classic import GroupState

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def delete(world: Any, *group_ids: str) -> Any:
    answers: list[Any] = []
    world.coordinator.delete_groups(group_ids, answers.append)
    (answer,) = answers
    return dict(answer)


def test_groups_of_partitions_led_elsewhere_are_not_coordinated_here(world: Any) -> None:
    member = world.member()
    world.stable(member)
    waiting = world.member().join()
    world.coordinator.resign(world.coordinator._partition_of("g"))
    world.run()
    assert waiting.code is ErrorCode.NOT_COORDINATOR
    assert member.heartbeat() is ErrorCode.NOT_COORDINATOR
    assert member.sync().code is ErrorCode.NOT_COORDINATOR
    assert member.leave() == (ErrorCode.NOT_COORDINATOR, [])
    assert member.commit({T0: 1}).answer == {T0: ErrorCode.NOT_COORDINATOR}
    assert world.member().join().code is ErrorCode.NOT_COORDINATOR
    assert world.committed() is ErrorCode.NOT_COORDINATOR
    assert delete(world, "g") == {"g": ErrorCode.NOT_COORDINATOR}
    described = world.coordinator.describe_group("g", absence_is_error=True)
    assert described.error_code == ErrorCode.NOT_COORDINATOR


def test_whoever_lets_go_of_a_partition_waits_for_nothing_in_it(world: Any) -> None:
    """D8: for keys whose owner is gone for good."""
    first, second = world.member(), world.member()
    world.stable(first)
    second.join()
    world.member().send_join()
    world.coordinator.resign_all()
    world.run()
    assert [purgatory.watched for purgatory in world.coordinator.purgatories.all()] == [0, 0, 0, 0]
    assert world.timer.size == 0


def test_groups_that_are_being_read_ask_for_patience(world: Any) -> None:
    member = world.member()
    world.stable(member)
    for number in range(600):
        member.commit({T0: number})
    partition = world.coordinator._partition_of("g")
    world.coordinator.lead(partition, 2)
    loading = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert world.member().join().code is loading
    assert member.commit({T0: 1}).answer == {T0: loading}
    assert world.committed() is loading
    assert delete(world, "g") == {"g": loading}
    assert world.coordinator.list_groups()[0] is loading
    assert member.leave() == (loading, [])
    assert member.heartbeat() is ErrorCode.NONE
    assert member.sync().code is ErrorCode.REBALANCE_IN_PROGRESS
    world.run()
    assert member.heartbeat() is ErrorCode.NONE
    assert world.committed() == {T0: 599}


def test_a_partition_that_goes_while_it_is_read_is_read_no_further(world: Any) -> None:
    for number in range(600):
        world.commit("g", {T0: number})
    partition = world.coordinator._partition_of("g")
    world.coordinator.lead(partition, 2)
    world.coordinator.resign(partition)
    world.run()
    assert world.committed() is ErrorCode.NOT_COORDINATOR
    assert world.coordinator.list_groups() == (ErrorCode.NONE, [])


def test_a_leadership_that_ends_during_a_step_ends_after_it(
    world: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R19: a step never sees half of another event."""
    append, seen = world.log.append, []

    def append_and_lose(*args: Any, **fields: Any) -> Any:
        appended = append(*args, **fields)
        world.coordinator.resign_all()
        seen.append(world.committed())
        return appended

    world.commit("g", {T0: 1})
    monkeypatch.setattr(world.log, "append", append_and_lose)
    world.commit("g", {T0: 2})
    world.run()
    assert seen == [{T0: 1}]
    assert world.committed() is ErrorCode.NOT_COORDINATOR


@pytest.mark.parametrize("has_offsets", [True, False])
def test_empty_groups_are_deleted_for_good(world: Any, has_offsets: bool) -> None:
    member = world.member()
    world.stable(member)
    if has_offsets:
        member.commit({T0: 1})
    assert delete(world, "g", "nobody's", "g") == {
        "g": ErrorCode.NON_EMPTY_GROUP,
        "nobody's": ErrorCode.GROUP_ID_NOT_FOUND,
    }
    member.leave()
    assert delete(world, "g") == {"g": ErrorCode.NONE}
    assert delete(world, "g") == {"g": ErrorCode.GROUP_ID_NOT_FOUND}
    world.start()
    assert world.state() is None


def test_a_group_is_not_deleted_before_the_log_says_so(world: Any) -> None:
    world.commit("g", {T0: 1})
    world.log.failure = ErrorCode.NOT_ENOUGH_REPLICAS
    assert delete(world, "g") == {"g": ErrorCode.COORDINATOR_NOT_AVAILABLE}
    assert world.state() is GroupState.EMPTY


def test_what_is_committed_while_a_group_is_being_deleted_stays(world: Any) -> None:
    world.commit("g", {T0: 1})
    world.log.lags = True
    deleted: list[Any] = []
    world.coordinator.delete_groups(["g"], deleted.append)
    committed = world.commit("g", {T0: 7})
    world.run()
    world.log.catch_up()
    assert deleted == [{"g": ErrorCode.NONE}]
    assert committed.answer == {T0: ErrorCode.NONE}
    assert world.committed() == {T0: 7}
    world.start()
    assert world.committed() == {T0: 7}


def test_that_goes_for_groups_of_the_consumer_protocol_too(world: Any) -> None:
    first, second = world.consumer("a"), world.consumer("b")
    first.join()
    first.leave()
    world.commit("g", {T0: 1, T1: 1})
    world.log.lags = True
    deleted: list[Any] = []
    world.coordinator.delete_groups(["g"], deleted.append)
    committed, joined = world.commit("g", {T0: 7}), second.send_join()
    world.run()
    world.log.catch_up()
    assert deleted == [{"g": ErrorCode.NONE}]
    assert committed.answer == {T0: ErrorCode.NONE}
    assert joined.code is ErrorCode.NONE
    assert world.committed() == {T0: 7}
    assert list(world.consumers().members) == ["b"]
    world.start()
    assert world.committed() == {T0: 7}
    assert list(world.consumers().members) == ["b"]


def test_whoever_joins_while_a_group_is_being_deleted_is_in_it(world: Any) -> None:
    world.commit("g", {T0: 1})
    world.log.lags = True
    deleted: list[Any] = []
    world.coordinator.delete_groups(["g"], deleted.append)
    member = world.member()
    asked = member.send_join()
    world.log.catch_up()
    member.member_id = asked.answer.member_id
    member.take(member.send_join())
    assert deleted == [{"g": ErrorCode.NONE}]
    assert world.committed() == {}
    assert member.sync().code is ErrorCode.NONE
    assert member.heartbeat() is ErrorCode.NONE


def test_lists_are_filtered_by_state_and_type(world: Any) -> None:
    world.commit("simple", {T0: 1})
    world.stable(world.member())
    rows = {
        group.group_id: (group.protocol_type, group.group_state, group.group_type)
        for group in world.coordinator.list_groups()[1]
    }
    assert rows == {"simple": ("", "Empty", "classic"), "g": ("consumer", "Stable", "classic")}

    def names(*filters: Any) -> list[str]:
        return [group.group_id for group in world.coordinator.list_groups(*filters)[1]]

    assert names(["stable"]) == ["g"]
    assert names(["Dead"]) == []
    assert sorted(names([], ["Classic"])) == ["g", "simple"]
    assert names([], ["consumer"]) == []


def test_a_group_is_described_with_its_members(world: Any) -> None:
    member = world.member("i", protocols=(("range", b"topics"),))
    world.stable(member)
    group = world.coordinator.describe_group("g", absence_is_error=True)
    (row,) = group.members
    assert (group.group_state, group.protocol_type, group.protocol_data) == ("Stable", "consumer", "range")
    assert (row.member_id, row.group_instance_id) == (member.member_id, "i")
    assert (row.client_id, row.client_host) == ("c", "/10.0.0.1")
    assert (row.member_metadata, row.member_assignment) == (b"topics", member.member_id.encode())


def test_what_members_offered_is_not_told_during_a_rebalance(world: Any) -> None:
    world.stable(world.member())
    world.member().join()
    group = world.coordinator.describe_group("g", absence_is_error=True)
    assert (group.group_state, group.protocol_data) == ("PreparingRebalance", "")
    assert [row.member_metadata for row in group.members] == [b"", b""]


def test_a_group_that_is_not_there_is_dead_or_an_error_by_version(world: Any) -> None:
    """KIP-1043: GROUP_ID_NOT_FOUND from version 6 on."""
    old = world.coordinator.describe_group("x", absence_is_error=False)
    new = world.coordinator.describe_group("x", absence_is_error=True)
    assert (old.error_code, old.group_state) == (ErrorCode.NONE, "Dead")
    assert (new.error_code, new.error_message) == (ErrorCode.GROUP_ID_NOT_FOUND, "the group x does not exist")


def test_a_group_says_what_it_waits_for(world: Any) -> None:
    """D7: and the condition that it still waits for, in words."""
    first, second, third = (world.member(session_timeout_ms=60_000) for _ in range(3))
    world.stable(first, second)
    world.advance(12_000)
    leader = first if world.group().leader_id == first.member_id else second
    late = second if leader is first else first
    third.join()
    leader.join()
    world.advance(1_000)
    (described,) = world.coordinator.describe()
    assert described["waits_for"] == (
        f"2 of 3 members rejoined; waiting up to 29 s for member {late.member_id}, last heartbeat 13 s ago"
    )
    waiting = [one.waits_for for one in world.coordinator.purgatories.joins.describe()]
    assert waiting == [described["waits_for"]]


def test_a_group_at_rest_waits_for_nothing(world: Any) -> None:
    world.stable(world.member())
    (described,) = world.coordinator.describe()
    assert (described["state"], described["waits_for"]) == ("Stable", "nothing")
