from itertools import pairwise
from typing import Any

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import TopicPartition
from odradek.coordinator.classic import GroupState
from odradek.coordinator.groups.expiring import GROUPS_PER_STEP, OFFSETS_PER_STEP

T0, U0 = TopicPartition("t", 0), TopicPartition("u", 0)
RETENTION_MS = 10_080 * 60_000
_T_WITHOUT_USER_DATA = b"\0\0\0\1" + b"\0\1t" + b"\xff\xff\xff\xff"
READS_T = b"\0\0" + _T_WITHOUT_USER_DATA
ANNOUNCES_VERSION_1 = b"\0\1" + _T_WITHOUT_USER_DATA


def expire(world: Any) -> None:
    world.coordinator.expire_offsets()
    world.run()


def test_offsets_without_members_expire_after_their_commit(world: Any) -> None:
    world.commit("g", {T0: 1})
    world.advance(1)
    world.commit("g", {U0: 1})
    world.advance(RETENTION_MS - 1)
    expire(world)
    assert world.committed() == {U0: 1}
    world.advance(1)
    expire(world)
    assert world.state() is None
    world.start()
    assert world.state() is None


def test_offsets_of_a_group_expire_after_its_last_member_went(world: Any) -> None:
    member = world.member()
    world.stable(member)
    member.commit({T0: 1})
    world.advance(5_000)
    member.leave()
    world.advance(RETENTION_MS - 1)
    expire(world)
    assert world.committed() == {T0: 1}
    world.advance(1)
    expire(world)
    assert world.state() is None
    world.start()
    assert world.state() is None


@pytest.mark.parametrize("subscription", [READS_T, ANNOUNCES_VERSION_1])
def test_a_group_in_use_keeps_what_it_reads(world: Any, subscription: bytes) -> None:
    member = world.member(
        protocols=(("range", subscription),), session_timeout_ms=1_800_000, rebalance_timeout_ms=1_000
    )
    world.stable(member)
    member.commit({T0: 1, U0: 1})
    for _ in range(RETENTION_MS // 1_000_000 + 1):
        world.advance(1_000_000)
        member.heartbeat()
    expire(world)
    assert world.committed() == {T0: 1}


def test_a_commit_may_name_its_own_expiry(world: Any) -> None:
    """OffsetCommit 2 to 4; and the log tells it again."""
    world.commit("g", {T0: 1}, retention_ms=1_000)
    world.commit("g", {U0: 1})
    world.start()
    world.advance(999)
    expire(world)
    assert world.committed() == {T0: 1, U0: 1}
    world.advance(1)
    expire(world)
    assert world.committed() == {U0: 1}


def test_what_a_commit_on_its_way_replaces_is_not_expired(world: Any) -> None:
    world.commit("g", {T0: 1})
    world.advance(RETENTION_MS)
    world.log.lags = True
    world.commit("g", {T0: 2})
    expire(world)
    world.log.catch_up()
    assert world.committed() == {T0: 2}


def test_an_empty_group_without_offsets_goes(world: Any) -> None:
    member = world.member()
    world.stable(member)
    member.leave()
    assert world.state() is GroupState.EMPTY
    expire(world)
    assert world.state() is None
    world.start()
    assert world.state() is None


def test_a_look_through_many_groups_takes_many_short_steps(world: Any) -> None:
    """Nobody waits for it: a step looks at few groups, and appends what it takes back as one batch."""
    count = 10 * GROUPS_PER_STEP
    for number in range(count):
        member = world.member(group_id=f"g{number}")
        world.stable(member)
        member.commit({T0: 1})
        member.leave()
    world.advance(RETENTION_MS)
    batches = sum(map(len, world.log.batches.values()))
    world.coordinator.expire_offsets()
    steps = [len(world.coordinator._groups())]
    while world.turns:
        world.turns.pop(0)()
        steps.append(len(world.coordinator._groups()))
    assert steps[-1] == 0
    assert max(before - after for before, after in pairwise(steps)) <= GROUPS_PER_STEP
    assert sum(map(len, world.log.batches.values())) - batches <= count // 4, "gathered into few batches"
    world.start()
    assert not world.coordinator._groups()


def test_a_group_with_many_offsets_expires_in_short_steps(world: Any) -> None:
    world.commit("g", {TopicPartition("t", number): 1 for number in range(5 * OFFSETS_PER_STEP)})
    world.advance(RETENTION_MS)
    world.coordinator.expire_offsets()
    sizes = []
    while world.turns:
        world.turns.pop(0)()
        sizes.append(len(world.whole_group().offsets) if world.coordinator._groups() else 0)
    assert sizes[-1] == 0
    assert (
        max(before - after for before, after in pairwise([5 * OFFSETS_PER_STEP, *sizes])) == OFFSETS_PER_STEP
    )


def test_letting_go_of_a_partition_with_many_groups_takes_many_steps(world: Any) -> None:
    members = [world.member(group_id=f"g{number}") for number in range(20)]
    for member in members:
        world.stable(member)
    world.coordinator.resign_all()
    assert members[0].heartbeat() is ErrorCode.NOT_COORDINATOR, "at once"
    assert world.turns, "the rest is forgotten in later turns"
    world.run()
    assert world.timer.size == 0


def test_offsets_of_deleted_topics_go(world: Any) -> None:
    world.commit("g", {T0: 1, U0: 2})
    world.commit("h", {T0: 1})
    world.coordinator.forget_topics(["t"])
    world.run()
    assert world.committed() == {U0: 2}
    assert world.state("h") is None
    world.start()
    assert world.committed() == {U0: 2}


def test_a_commit_may_ask_to_be_kept_for_ever(world: Any) -> None:
    """OffsetCommit 2 to 4: a retention that would end after the last moment that a record can hold."""
    assert world.commit("g", {T0: 1}, retention_ms=(1 << 63) - 1).answer == {T0: ErrorCode.NONE}
    world.advance(1_000)
    expire(world)
    assert world.committed() == {T0: 1}
    world.start()
    assert world.committed() == {T0: 1}
