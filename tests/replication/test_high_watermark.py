"""How far HW may go: the rule by cases, and what holds under any history of appends and fetches."""

from collections.abc import Sequence
from itertools import product
from typing import TypeAlias

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import exhaust
from odradek.base.ids import BrokerId, TopicPartition
from odradek.base.settings import TopicConfig
from odradek.metadata.image import BrokerGone, BrokerImage, BrokerRegistered, ClusterImage
from odradek.replication.high_watermark import high_watermark_candidate
from odradek.replication.remote_replica import NEVER_MS, RemoteReplica
from odradek.storage import LogPosition
from odradek.storage.positions import UNKNOWN_POSITION
from tests.replication.replica_bench import ReplicaBench

p1 = TopicPartition("flights", 1)
LEADER_END = LogPosition(10, 0, 1000)
NOW_MS, LAG_MS = 100_000, 10_000


def cluster_of(*live: BrokerId) -> ClusterImage:
    image = ClusterImage()
    image.apply_all(BrokerRegistered(BrokerImage(broker_id, ())) for broker_id in live)
    return image


def candidate(
    remotes: Sequence[RemoteReplica], isr: tuple[BrokerId, ...], live: Sequence[BrokerId] = (1, 2, 3)
) -> LogPosition:
    return high_watermark_candidate(LEADER_END, remotes, isr, cluster_of(*live), NOW_MS, LAG_MS)


@pytest.mark.parametrize(
    ("in_isr", "live", "caught_up_ago_ms"),
    list(product((True, False), (True, False), (0, LAG_MS, LAG_MS + 1, None))),
)
def test_who_counts(in_isr: bool, live: bool, caught_up_ago_ms: int | None) -> None:
    """R7: a member of the ISR always; another while it lives and was caught up within the lag time."""
    caught_up_ms = NEVER_MS if caught_up_ago_ms is None else NOW_MS - caught_up_ago_ms
    remote = RemoteReplica(2, LogPosition(7, 0, 700), noted_caught_up_ms=caught_up_ms)
    found = candidate([remote], (1, 2) if in_isr else (1,), (1, 2) if live else (1,))
    counts = in_isr or (live and caught_up_ago_ms in (0, LAG_MS))
    assert found.offset == (7 if counts else 10)


def test_it_is_the_least_of_all_that_count() -> None:
    """R7."""
    remotes = [RemoteReplica(2, LogPosition(8, 0, 800)), RemoteReplica(3, LogPosition(9, 0, 900))]
    assert candidate(remotes, (1, 2, 3)) == LogPosition(8, 0, 800)


def test_a_member_that_has_not_fetched_yet_holds_it_back() -> None:
    """R5b, R7."""
    assert candidate([RemoteReplica(2)], (1, 2)) == UNKNOWN_POSITION


def test_alone_it_is_the_leaders_end() -> None:
    """R7."""
    assert candidate([], (1,)) == LEADER_END


def test_of_equal_offsets_it_is_the_leaders_newest_position() -> None:
    """R11: the leader's log may have rolled since the follower fetched."""
    rolled = high_watermark_candidate(
        LogPosition(10, 10, 0), [RemoteReplica(2, LEADER_END)], (1, 2), cluster_of(1, 2), NOW_MS, LAG_MS
    )
    assert rolled == LogPosition(10, 10, 0)


def test_hw_moves_onto_the_newer_segment_at_the_same_offset(bench: ReplicaBench) -> None:
    """R11: it is a position."""
    bench.order(p1, isr=(1, 2))
    bench.produce(p1, acks=1)
    bench.follow(2, {p1: 1}, max_wait_ms=0)
    bench.log(p1).roll()
    bench.follow(2, {p1: 1}, max_wait_ms=0)
    assert bench.log(p1).high_watermark == LogPosition(1, 1, 0)


def test_hw_stands_still_while_the_isr_is_below_its_minimum(bench: ReplicaBench) -> None:
    """R7 (KIP-966): what acks=1 wrote is seen once the follower's joining is in the store, not before."""
    bench.set_config(TopicConfig(min_insync_replicas=2))
    bench.order(p1, isr=(1,), replicas=(1, 2))
    assert bench.produce(p1, acks=1).only[p1].error_code is ErrorCode.NONE
    consumer = bench.consume({p1: 0})
    bench.follow(2, {p1: 1}, max_wait_ms=0)
    assert (bench.log(p1).high_watermark.offset, consumer.is_answered) == (0, False)
    (change,) = bench.effects.isr_writes
    bench.manager.isr_maintenance.on_written(change, change.state_version + 1)
    bench.run_turns()
    assert bench.log(p1).high_watermark.offset == 1
    assert len(consumer.only[0].records) > 0


def test_an_isr_that_falls_below_its_minimum_holds_hw_where_it_is(bench: ReplicaBench) -> None:
    """R7: neither the shrink nor what the leader appends alone moves it."""
    bench.set_config(TopicConfig(min_insync_replicas=2))
    bench.order(p1, isr=(1, 2))
    bench.produce(p1, acks=1)
    bench.follow(2, {p1: 1}, max_wait_ms=0)
    bench.produce(p1, acks=1)
    bench.pass_time(LAG_MS + 1)
    exhaust(bench.manager.isr_maintenance.expire())
    (change,) = bench.effects.isr_writes
    bench.manager.isr_maintenance.on_written(change, change.state_version + 1)
    bench.produce(p1, acks=1)
    assert (bench.leadership(p1).isr, bench.log(p1).end_offset) == ((1,), 3)
    assert bench.log(p1).high_watermark.offset == 1


@pytest.mark.parametrize("replicas", [(1,), (1, 2)])
def test_the_minimum_is_at_most_the_number_of_replicas(
    bench: ReplicaBench, replicas: tuple[BrokerId, ...]
) -> None:
    """R7, P3: a lone replica's HW moves whatever `min.insync.replicas` says."""
    bench.set_config(TopicConfig(min_insync_replicas=2))
    bench.order(p1, isr=(1,), replicas=replicas)
    bench.produce(p1, acks=1)
    assert bench.log(p1).high_watermark.offset == (1 if replicas == (1,) else 0)


def test_a_minimum_that_was_lowered_lets_hw_move_in_the_next_round(bench: ReplicaBench) -> None:
    """R7, R14: on a partition without traffic, too."""
    bench.set_config(TopicConfig(min_insync_replicas=2))
    bench.order(p1, isr=(1,), replicas=(1, 2))
    bench.produce(p1, acks=1)
    consumer = bench.consume({p1: 0}, max_wait_ms=60_000)
    bench.set_config(TopicConfig())
    exhaust(bench.manager.isr_maintenance.expire())
    bench.run_turns()
    assert bench.log(p1).high_watermark.offset == 1
    assert consumer.is_answered


def test_a_stranger_moves_nothing(bench: ReplicaBench) -> None:
    """R10: unassigned replicas."""
    bench.order(p1, isr=(1, 2))
    bench.produce(p1, acks=1)
    bench.follow(4, {p1: 1}, max_wait_ms=0)
    assert bench.log(p1).high_watermark.offset == 0
    assert list(bench.leadership(p1).remotes) == [2]


Step: TypeAlias = tuple[str] | tuple[str, int] | tuple[str, int, int]
"""What happens, and its numbers."""
fetches = st.tuples(st.just("fetch"), st.sampled_from([2, 3, 4]), st.integers(0, 2))
steps = st.lists(
    st.one_of(
        st.just(("append",)),
        st.just(("append",)),
        fetches,
        fetches,
        fetches,
        st.just(("roll",)),
        st.tuples(st.just("wait"), st.sampled_from([1, 4_000, 11_000])),
        st.tuples(st.just("delete"), st.integers(0, 6)),
        st.just(("expire isr",)),
        st.just(("store", True)),
        st.just(("store", False)),
        st.just(("store", True)),
        st.tuples(st.just("die"), st.sampled_from([2, 3])),
        st.tuples(st.just("revive"), st.sampled_from([2, 3])),
        st.just(("new epoch",)),
    ),
    min_size=20,
    max_size=60,
)


@pytest.mark.slow
@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps, st.sampled_from([1, 2, 2, 3]))
def test_offsets_stay_in_order_and_hw_never_goes_back(history: list[Step], min_isr: int) -> None:
    """R11, R7: log start <= LSO <= HW <= LEO, and what is below HW is on every member of the ISR."""
    bench = ReplicaBench()
    bench.set_config(TopicConfig(min_insync_replicas=min_isr))
    bench.order(p1, isr=(1, 2), replicas=(1, 2, 3))
    log, leo, waiting = bench.log(p1), {2: 0, 3: 0, 4: 0}, []
    for step in history:
        before, isr_before = log.high_watermark, bench.leadership(p1).isr
        match step:
            case ("append",):
                offset = log.end_offset
                waiting.append((offset, bench.produce(p1, timeout_ms=1 << 30)))
            case ("roll",):
                log.roll()
            case ("fetch", broker_id, ahead):
                leo[broker_id] = min(log.end_offset, max(log.log_start_offset, leo[broker_id] + ahead))
                bench.follow(
                    broker_id,
                    {p1: leo[broker_id]},
                    max_wait_ms=0,
                    log_start_offset=min(log.log_start_offset, leo[broker_id]),
                )
            case ("wait", by_ms):
                bench.pass_time(by_ms)
            case ("delete", ahead):
                offset = min(log.high_watermark.offset, log.log_start_offset + ahead)
                bench.delete_records({p1: offset})
            case ("expire isr",):
                exhaust(bench.manager.isr_maintenance.expire())
            case ("store", succeeds) if bench.effects.isr_writes:
                change = bench.effects.isr_writes.pop(0)
                if succeeds:
                    bench.manager.isr_maintenance.on_written(change, change.state_version + 1)
                else:
                    bench.manager.isr_maintenance.on_failed(change)
            case ("die", broker_id):
                bench.image.apply(BrokerGone(broker_id))
            case ("revive", broker_id):
                bench.revive(broker_id)
            case ("new epoch",):
                bench.order(p1, isr=bench.leadership(p1).isr, replicas=(1, 2, 3))
        assert log.log_start_offset <= log.last_stable.offset <= log.high_watermark.offset <= log.end_offset
        assert log.high_watermark[:2] >= before[:2], f"HW went back from {before} in {step}"
        if max(len(isr_before), len(bench.leadership(p1).isr)) < min_isr:
            assert log.high_watermark == before, f"HW moved in {step} with fewer than {min_isr} in sync"
        for member in bench.leadership(p1).isr:
            assert member == 1 or leo[member] >= log.high_watermark.offset, (
                f"broker {member} lacks committed records"
            )
        for offset, produce in waiting:
            if produce.is_answered and produce.only[p1].error_code is ErrorCode.NONE:
                assert log.high_watermark.offset > offset, f"{offset} is not committed"
