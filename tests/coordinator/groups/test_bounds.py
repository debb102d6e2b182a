"""Each kind that a peer can create has a bound: groups, members."""

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import exhaust
from odradek.base.ids import TopicPartition
from odradek.base.settings import BrokerSettings
from tests.coordinator.group_bench import GroupBench

T0 = TopicPartition("t", 0)
REFUSED = ErrorCode.POLICY_VIOLATION


@pytest.fixture
def full() -> GroupBench:
    """A broker with as many groups as it keeps."""
    bench = GroupBench(BrokerSettings(odradek_groups_max=2))
    bench.commit("a", {T0: 1})
    bench.commit("b", {T0: 1})
    return bench


def test_no_group_begins_beyond_the_bound(full: GroupBench) -> None:
    assert full.member(group_id="c").send_join().code is REFUSED
    assert full.commit("c", {T0: 1}).answer == {T0: REFUSED}
    heartbeat = full.consumer("m", group_id="c").send_join()
    assert heartbeat.code is REFUSED
    assert "odradek.groups.max" in (heartbeat.answer.error_message or "")
    assert {group.group_id for group in full.coordinator._groups()} == {"a", "b"}


def test_a_group_with_a_long_id_needs_more_room() -> None:
    bench = GroupBench(BrokerSettings(odradek_groups_max=10))
    bench.commit("a", {T0: 1})
    assert bench.commit("b" * 32_000, {T0: 1}).answer == {T0: REFUSED}
    assert bench.commit("b" * 3_000, {T0: 1}).answer == {T0: ErrorCode.NONE}
    assert bench.commit("b" * 3_000, {T0: 2}).answer == {T0: ErrorCode.NONE}, "it is there already"


def test_groups_that_are_there_go_on_at_the_bound(full: GroupBench) -> None:
    assert full.commit("a", {T0: 2}).answer == {T0: ErrorCode.NONE}
    full.stable(full.member(group_id="b"))
    exhaust(full.coordinator.delete_groups(["a"], lambda codes: None))
    assert full.commit("c", {T0: 1}).answer == {T0: ErrorCode.NONE}, "there is room again"


def test_no_member_comes_beyond_the_bound() -> None:
    """Ids that were handed out and not used count like members, over all groups."""
    bench = GroupBench(BrokerSettings(odradek_group_members_max=3))
    bench.stable(bench.member(group_id="a"))
    assert bench.consumer("m", group_id="b").join() is ErrorCode.NONE
    assert bench.member(group_id="c").send_join().code is ErrorCode.MEMBER_ID_REQUIRED
    assert bench.member(group_id="a").send_join().code is REFUSED
    assert bench.consumer("n", group_id="b").join() is REFUSED
    bench.advance(60_000)
    assert bench.consumer("n", group_id="b").join() is ErrorCode.NONE, "sessions are over"


def test_members_that_are_there_go_on_at_the_bound() -> None:
    bench = GroupBench(BrokerSettings(odradek_group_members_max=1))
    member = bench.member()
    joined = member.send_join()
    member.member_id = joined.answer.member_id
    member.take(member.send_join())
    assert member.sync({member.member_id: b"all"}).code is ErrorCode.NONE
    assert member.take(member.send_join()).generation_id == 2
