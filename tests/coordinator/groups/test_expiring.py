from itertools import pairwise

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import TopicPartition
from odradek.coordinator.classic import GroupState
from odradek.coordinator.groups.expiring import GROUPS_PER_STEP, OFFSETS_PER_STEP
from tests.coordinator.group_bench import GroupBench

T0, U0 = TopicPartition("t", 0), TopicPartition("u", 0)
RETENTION_MS = 10_080 * 60_000
_T_WITHOUT_USER_DATA = b"\0\0\0\1" + b"\0\1t" + b"\xff\xff\xff\xff"
READS_T = b"\0\0" + _T_WITHOUT_USER_DATA
ANNOUNCES_VERSION_1 = b"\0\1" + _T_WITHOUT_USER_DATA


def expire(bench: GroupBench) -> None:
    bench.coordinator.expire_offsets()
    bench.run()


def test_offsets_without_members_expire_after_their_commit(bench: GroupBench) -> None:
    bench.commit("g", {T0: 1})
    bench.advance(1)
    bench.commit("g", {U0: 1})
    bench.advance(RETENTION_MS - 1)
    expire(bench)
    assert bench.committed() == {U0: 1}
    bench.advance(1)
    expire(bench)
    assert bench.state() is None
    bench.start()
    assert bench.state() is None


def test_offsets_of_a_group_expire_after_its_last_member_went(bench: GroupBench) -> None:
    member = bench.member()
    bench.stable(member)
    member.commit({T0: 1})
    bench.advance(5_000)
    member.leave()
    bench.advance(RETENTION_MS - 1)
    expire(bench)
    assert bench.committed() == {T0: 1}
    bench.advance(1)
    expire(bench)
    assert bench.state() is None
    bench.start()
    assert bench.state() is None


@pytest.mark.parametrize("subscription", [READS_T, ANNOUNCES_VERSION_1])
def test_a_group_in_use_keeps_what_it_reads(bench: GroupBench, subscription: bytes) -> None:
    member = bench.member(
        protocols=(("range", subscription),), session_timeout_ms=1_800_000, rebalance_timeout_ms=1_000
    )
    bench.stable(member)
    member.commit({T0: 1, U0: 1})
    for _ in range(RETENTION_MS // 1_000_000 + 1):
        bench.advance(1_000_000)
        member.heartbeat()
    expire(bench)
    assert bench.committed() == {T0: 1}


def test_a_commit_may_name_its_own_expiry(bench: GroupBench) -> None:
    """OffsetCommit 2 to 4; and the log tells it again."""
    bench.commit("g", {T0: 1}, retention_ms=1_000)
    bench.commit("g", {U0: 1})
    bench.start()
    bench.advance(999)
    expire(bench)
    assert bench.committed() == {T0: 1, U0: 1}
    bench.advance(1)
    expire(bench)
    assert bench.committed() == {U0: 1}


def test_what_a_commit_on_its_way_replaces_is_not_expired(bench: GroupBench) -> None:
    bench.commit("g", {T0: 1})
    bench.advance(RETENTION_MS)
    bench.log.lags = True
    bench.commit("g", {T0: 2})
    expire(bench)
    bench.log.catch_up()
    assert bench.committed() == {T0: 2}


def test_an_empty_group_without_offsets_goes(bench: GroupBench) -> None:
    member = bench.member()
    bench.stable(member)
    member.leave()
    assert bench.state() is GroupState.EMPTY
    expire(bench)
    assert bench.state() is None
    bench.start()
    assert bench.state() is None


def test_a_look_through_many_groups_takes_many_short_steps(bench: GroupBench) -> None:
    """Nobody waits for it: a step looks at few groups, and appends what it takes back as one batch."""
    count = 10 * GROUPS_PER_STEP
    for number in range(count):
        member = bench.member(group_id=f"g{number}")
        bench.stable(member)
        member.commit({T0: 1})
        member.leave()
    bench.advance(RETENTION_MS)
    batches = sum(map(len, bench.log.batches.values()))
    bench.coordinator.expire_offsets()
    steps = [len(bench.coordinator._groups())]
    while bench.turns:
        bench.turns.pop(0)()
        steps.append(len(bench.coordinator._groups()))
    assert steps[-1] == 0
    assert max(before - after for before, after in pairwise(steps)) <= GROUPS_PER_STEP
    assert sum(map(len, bench.log.batches.values())) - batches <= count // 4, "gathered into few batches"
    bench.start()
    assert not bench.coordinator._groups()


def test_a_group_with_many_offsets_expires_in_short_steps(bench: GroupBench) -> None:
    bench.commit("g", {TopicPartition("t", number): 1 for number in range(5 * OFFSETS_PER_STEP)})
    bench.advance(RETENTION_MS)
    bench.coordinator.expire_offsets()
    sizes = []
    while bench.turns:
        bench.turns.pop(0)()
        sizes.append(len(bench.whole_group().offsets) if bench.coordinator._groups() else 0)
    assert sizes[-1] == 0
    assert (
        max(before - after for before, after in pairwise([5 * OFFSETS_PER_STEP, *sizes])) == OFFSETS_PER_STEP
    )


def test_letting_go_of_a_partition_with_many_groups_takes_many_steps(bench: GroupBench) -> None:
    members = [bench.member(group_id=f"g{number}") for number in range(20)]
    for member in members:
        bench.stable(member)
    bench.coordinator.resign_all()
    assert members[0].heartbeat() is ErrorCode.NOT_COORDINATOR, "at once"
    assert bench.turns, "the rest is forgotten in later turns"
    bench.run()
    assert bench.timer.size == 0


def test_offsets_of_deleted_topics_go(bench: GroupBench) -> None:
    bench.commit("g", {T0: 1, U0: 2})
    bench.commit("h", {T0: 1})
    bench.coordinator.forget_topics(["t"])
    bench.run()
    assert bench.committed() == {U0: 2}
    assert bench.state("h") is None
    bench.start()
    assert bench.committed() == {U0: 2}


def test_a_group_whose_members_are_away_outlives_the_deletion_of_a_topic(bench: GroupBench) -> None:
    """Its next generation is a higher one: a member of an earlier one is never taken for one of the new."""
    member = bench.member()
    bench.stable(member)
    before = member.generation
    member.leave()
    bench.coordinator.forget_topics(["t"])
    bench.run()
    bench.stable(back := bench.member())
    assert back.generation > before


def test_a_commit_may_ask_to_be_kept_for_ever(bench: GroupBench) -> None:
    """OffsetCommit 2 to 4: a retention that would end after the last moment that a record can hold."""
    assert bench.commit("g", {T0: 1}, retention_ms=(1 << 63) - 1).answer == {T0: ErrorCode.NONE}
    bench.advance(1_000)
    expire(bench)
    assert bench.committed() == {T0: 1}
    bench.start()
    assert bench.committed() == {T0: 1}
