"""ISRs over time: who is dropped, who joins, and what the store's answers do."""

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import ITEMS_PER_STEP, exhaust
from odradek.base.ids import TopicPartition
from odradek.metadata.image import BrokerGone
from odradek.replication import StoredState
from odradek.replication.isr_maintenance import IsrMaintenance
from tests.replication.replica_bench import ProduceAnswers, ReplicaBench

p1, p2 = TopicPartition("flights", 1), TopicPartition("flights", 2)
LAG_MS = 10_000


@pytest.fixture
def maintenance(bench: ReplicaBench) -> IsrMaintenance:
    return bench.manager.isr_maintenance


def isr(bench: ReplicaBench, partition: TopicPartition = p1) -> tuple[int, ...]:
    return bench.leadership(partition).isr


def lagging(bench: ReplicaBench, version: int = 7) -> ProduceAnswers:
    """p1 with ISR {1, 2, 3}, an acks=all produce at offset 0 that 2 has and 3 lacks, 3 just over its time."""
    bench.order(p1, isr=(1, 2, 3), version=version)
    produce = bench.produce(p1, timeout_ms=60_000)
    bench.pass_time(LAG_MS + 1)
    bench.follow(2, {p1: 1}, max_wait_ms=0)
    return produce


def test_a_replica_out_of_sync_is_dropped_once_the_write_is_known(
    bench: ReplicaBench, maintenance: IsrMaintenance
) -> None:
    """R2, R7: until then it still counts; then HW moves and what waited is answered."""
    produce = lagging(bench)
    exhaust(maintenance.expire())
    (change,) = bench.effects.isr_writes
    assert (change.old_isr, change.new_isr, change.state_version) == ((1, 2, 3), (1, 2), 7)
    assert (change.leader_id, change.leader_epoch) == (1, 0)
    assert (isr(bench), bench.log(p1).high_watermark.offset) == ((1, 2, 3), 0)
    maintenance.on_written(change, 8)
    assert (isr(bench), bench.log(p1).high_watermark.offset) == ((1, 2), 1)
    assert bench.leadership(p1).state_version == 8
    assert not produce.is_answered, "what waits is answered when all of it is done"
    bench.run_turns()
    assert produce.only[p1].error_code is ErrorCode.NONE
    assert bench.manager.meters.isr_shrinks == 1
    assert maintenance.take_due_announcement() == [p1]


def test_a_round_takes_a_few_partitions_in_each_step(
    bench: ReplicaBench, maintenance: IsrMaintenance
) -> None:
    """R2: ten thousand partitions do not hold the loop; one that was stopped meanwhile is passed over."""
    partitions = [TopicPartition("flights", number) for number in range(3 * ITEMS_PER_STEP)]
    for one in partitions:
        bench.order(one, isr=(1, 2))
        bench.produce(one)
    bench.pass_time(LAG_MS + 1)
    written = []
    for _ in maintenance.expire():
        written.append(len(bench.effects.isr_writes))
        if len(written) == 1:
            bench.stop(partitions[-1])
    assert written == [ITEMS_PER_STEP, 2 * ITEMS_PER_STEP, 3 * ITEMS_PER_STEP - 1]


def test_a_replica_within_its_time_stays(bench: ReplicaBench, maintenance: IsrMaintenance) -> None:
    """R2."""
    bench.order(p1, isr=(1, 2))
    bench.produce(p1)
    bench.pass_time(LAG_MS)
    exhaust(maintenance.expire())
    assert bench.effects.isr_writes == []


def test_an_idle_partition_drops_nobody(bench: ReplicaBench, maintenance: IsrMaintenance) -> None:
    """R2: an equal LEO is in sync, however long ago the last fetch."""
    bench.order(p1, isr=(1, 2))
    bench.follow(2, {p1: 0}, max_wait_ms=0)
    bench.pass_time(10 * LAG_MS)
    exhaust(maintenance.expire())
    assert bench.effects.isr_writes == []


def test_a_replica_that_died_before_it_joined_holds_nothing_back(
    bench: ReplicaBench, maintenance: IsrMaintenance
) -> None:
    """R7, R14: on a partition without traffic the round finds it; the produce does not expire."""
    bench.order(p1, isr=(1,), replicas=(1, 2))
    bench.follow(2, {p1: 0}, max_wait_ms=0)
    maintenance.on_lost_race(bench.effects.isr_writes.pop(), StoredState(1, 0, 1, (1,), 1))
    produce = bench.produce(p1, timeout_ms=60_000)
    exhaust(maintenance.expire())
    assert not produce.is_answered
    bench.pass_time(LAG_MS + 1)
    exhaust(maintenance.expire())
    bench.run_turns()
    assert produce.only[p1].error_code is ErrorCode.NONE


def test_one_isr_write_is_in_flight_per_partition(bench: ReplicaBench, maintenance: IsrMaintenance) -> None:
    """R2."""
    lagging(bench)
    exhaust(maintenance.expire())
    exhaust(maintenance.expire())
    bench.follow(3, {p1: 1}, max_wait_ms=0)
    assert len(bench.effects.isr_writes) == 1


def test_a_follower_that_caught_up_joins_and_counts_at_once(
    bench: ReplicaBench, maintenance: IsrMaintenance
) -> None:
    """R3, R7: HW waits for a joining member from the write on; the meter from the answer on."""
    bench.order(p1, isr=(1,), replicas=(1, 2), version=3)
    bench.produce(p1)
    bench.follow(2, {p1: 0}, max_wait_ms=0)
    assert bench.effects.isr_writes == []
    bench.follow(2, {p1: 1}, max_wait_ms=0)
    (change,) = bench.effects.isr_writes
    assert (change.new_isr, change.state_version) == ((1, 2), 3)
    bench.pass_time(LAG_MS + 1)
    bench.produce(p1)
    assert bench.log(p1).high_watermark.offset == 1
    maintenance.on_written(change, 4)
    assert isr(bench) == (1, 2)
    assert bench.manager.meters.isr_expansions == 1


def test_a_follower_joins_before_hw_could_run_away_from_it(bench: ReplicaBench) -> None:
    """R10: first the ISR, then HW, which by then waits for the one that joins."""
    bench.order(p1, isr=(1,), replicas=(1, 2))
    bench.produce(p1, acks=1)
    bench.follow(2, {p1: 1}, max_wait_ms=0)
    bench.manager.isr_maintenance.on_failed(bench.effects.isr_writes.pop())
    bench.produce(p1, acks=1)
    assert bench.log(p1).high_watermark.offset == 1
    bench.pass_time(2 * LAG_MS)
    bench.follow(2, {p1: 1}, max_wait_ms=0)
    (change,) = bench.effects.isr_writes
    assert change.new_isr == (1, 2)
    assert bench.log(p1).high_watermark.offset == 1


@pytest.mark.parametrize("obstacle", ["dead", "before the epoch's start"])
def test_a_follower_that_may_not_join_does_not(bench: ReplicaBench, obstacle: str) -> None:
    """R3."""
    bench.order(p1, isr=(1,), replicas=(1, 2))
    bench.produce(p1)
    fetch_offset = 1
    if obstacle == "dead":
        bench.image.apply(BrokerGone(2))
    else:
        bench.order(p1, isr=(1,), replicas=(1, 2))
        bench.leadership(p1).epoch_start_offset = 2
    bench.follow(2, {p1: fetch_offset}, max_wait_ms=0)
    assert bench.effects.isr_writes == []


def test_a_lost_race_that_finds_our_own_data_is_a_success(
    bench: ReplicaBench, maintenance: IsrMaintenance
) -> None:
    """R2."""
    lagging(bench)
    exhaust(maintenance.expire())
    maintenance.on_lost_race(bench.effects.isr_writes[0], StoredState(1, 0, 1, (1, 2), 12))
    assert bench.manager.meters.isr_update_failures == 0
    assert (isr(bench), bench.leadership(p1).state_version) == ((1, 2), 12)
    assert bench.manager.meters.isr_shrinks == 1


def test_a_lost_race_in_the_same_epoch_is_tried_again_on_the_version_found(
    bench: ReplicaBench, maintenance: IsrMaintenance
) -> None:
    """R2."""
    lagging(bench)
    exhaust(maintenance.expire())
    maintenance.on_lost_race(bench.effects.isr_writes[0], StoredState(1, 0, 1, (1, 2, 3), 12))
    assert bench.manager.meters.isr_update_failures == 1
    assert isr(bench) == (1, 2, 3)
    exhaust(maintenance.expire())
    assert bench.effects.isr_writes[1].state_version == 12


def test_a_newer_leader_or_controller_ends_isr_changes_until_leader_and_isr(
    bench: ReplicaBench, maintenance: IsrMaintenance
) -> None:
    """R2."""
    lagging(bench)
    exhaust(maintenance.expire())
    maintenance.on_lost_race(bench.effects.isr_writes[0], StoredState(2, 1, 1, (2,), 12))
    assert bench.manager.meters.isr_update_failures == 1
    exhaust(maintenance.expire())
    assert len(bench.effects.isr_writes) == 1
    bench.order(p1, isr=(1, 2, 3), epoch=2, version=13)
    bench.pass_time(LAG_MS + 1)
    exhaust(maintenance.expire())
    assert bench.effects.isr_writes[1].state_version == 13


def test_a_store_out_of_reach_changes_nothing_and_is_tried_again(
    bench: ReplicaBench, maintenance: IsrMaintenance
) -> None:
    """R2."""
    lagging(bench)
    exhaust(maintenance.expire())
    maintenance.on_failed(bench.effects.isr_writes[0])
    assert bench.manager.meters.isr_update_failures == 1
    assert isr(bench) == (1, 2, 3)
    exhaust(maintenance.expire())
    assert len(bench.effects.isr_writes) == 2


def test_an_answer_from_an_epoch_that_is_over_is_ignored(
    bench: ReplicaBench, maintenance: IsrMaintenance
) -> None:
    """R2: LeaderAndIsr has said since what holds."""
    lagging(bench)
    exhaust(maintenance.expire())
    (change,) = bench.effects.isr_writes
    bench.order(p1, isr=(1, 2, 3), epoch=1)
    maintenance.on_written(change, 8)
    maintenance.on_lost_race(change, StoredState(1, 0, 1, (1, 2), 12))
    maintenance.on_failed(change)
    assert bench.manager.meters.isr_update_failures == 0
    assert isr(bench) == (1, 2, 3)
    bench.order(p1, leader=2, isr=(2, 1), epoch=2)
    maintenance.on_written(change, 8)
    bench.stop(p1)
    maintenance.on_written(change, 8)
    assert bench.manager.meters.isr_shrinks == 0


def test_the_state_that_a_lost_race_finds_is_taken_over(
    bench: ReplicaBench, maintenance: IsrMaintenance
) -> None:
    """R2, R7: it is an earlier write of this leader, whose answer was lost."""
    produce = lagging(bench)
    exhaust(maintenance.expire())
    maintenance.on_lost_race(bench.effects.isr_writes[0], StoredState(1, 0, 1, (1,), 12))
    bench.run_turns()
    assert (isr(bench), produce.only[p1].error_code) == ((1,), ErrorCode.NONE)


@pytest.mark.parametrize("has_joined", [False, True])
def test_a_joining_that_was_not_answered_is_cleared_up_by_the_next_round(
    bench: ReplicaBench, maintenance: IsrMaintenance, has_joined: bool
) -> None:
    """R2, R7: until then the follower counts for HW, also a dead one: the store may hold the ISR with it."""
    bench.order(p1, isr=(1,), replicas=(1, 2))
    bench.follow(2, {p1: 0}, max_wait_ms=0)
    maintenance.on_failed(bench.effects.isr_writes.pop())
    produce = bench.produce(p1, timeout_ms=120_000)
    bench.pass_time(LAG_MS + 1)
    exhaust(maintenance.expire())
    change = bench.effects.isr_writes.pop()
    assert (change.new_isr, bench.log(p1).high_watermark.offset) == ((1,), 0)
    if has_joined:
        maintenance.on_lost_race(change, StoredState(1, 0, 1, (1, 2), 1))
        assert (isr(bench), bench.log(p1).high_watermark.offset) == ((1, 2), 0)
        bench.pass_time(LAG_MS + 1)
        exhaust(maintenance.expire())
        change = bench.effects.isr_writes.pop()
    maintenance.on_written(change, 2)
    bench.run_turns()
    assert (isr(bench), produce.only[p1].error_code) == ((1,), ErrorCode.NONE)
    assert bench.effects.isr_writes == []


def test_hw_stands_while_there_is_an_elr(bench: ReplicaBench, maintenance: IsrMaintenance) -> None:
    """R7, R15e: its members have what is below HW now; at min ISR the store forgets them before HW moves."""
    bench.order(p1, isr=(1,), elr=(2,), replicas=(1, 2))
    produce = bench.produce(p1, timeout_ms=60_000)
    assert bench.partition(p1).is_under_min_isr is False
    assert bench.log(p1).high_watermark.offset == 0
    exhaust(maintenance.expire())
    (change,) = bench.effects.isr_writes
    assert (change.new_isr, change.new_elr) == ((1,), ())
    assert bench.log(p1).high_watermark.offset == 0
    maintenance.on_written(change, 8)
    bench.run_turns()
    assert bench.log(p1).high_watermark.offset == 1
    assert produce.only[p1].error_code is ErrorCode.NONE
    meters = bench.manager.meters
    assert (meters.isr_shrinks, meters.isr_expansions) == (0, 0), "nobody left or joined"
    exhaust(maintenance.expire())
    assert len(bench.effects.isr_writes) == 1
