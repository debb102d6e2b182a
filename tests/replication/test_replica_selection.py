"""Consumers that are sent to a replica in their rack (KIP-392)."""

from dataclasses import replace

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import NO_BROKER, TopicPartition
from odradek.base.settings import RACK_AWARE_SELECTOR
from odradek.base.settings.broker.replicas import LEADER_SELECTOR
from odradek.replication import FetchOutcome
from odradek.replication.fetch_request import ClientMetadata
from tests.replication.replica_bench import BATCH_BYTES, SWEPT_AT_ONCE, ReplicaBench

p1 = TopicPartition("flights", 1)


def racks(*of_brokers: str | None, selector: str | None = RACK_AWARE_SELECTOR) -> ReplicaBench:
    """Brokers 1, 2, ... in these racks, and a partition on all of them with three records, which 1 leads."""
    bench = ReplicaBench(replace(SWEPT_AT_ONCE, replica_selector_class=selector))
    ids = range(1, len(of_brokers) + 1)
    for broker_id, rack in zip(ids, of_brokers, strict=True):
        bench.revive(broker_id, rack)
    bench.order(p1, isr=ids)
    for _ in range(3):
        bench.produce(p1, acks=1)
    for broker_id in ids[1:]:
        bench.follow(broker_id, {p1: 3}, max_wait_ms=0)
    return bench


def read(bench: ReplicaBench, rack: str, offset: int = 0, listener: str = "PLAINTEXT") -> FetchOutcome:
    """The leader's answer to a consumer of that rack."""
    client = ClientMetadata(rack, "test", listener)
    (outcome,) = bench.consume({p1: offset}, max_wait_ms=0, leader_only=False, client=client).only
    return outcome


def preferred(bench: ReplicaBench, rack: str, offset: int = 0) -> int:
    return read(bench, rack, offset).preferred_read_replica


@pytest.mark.parametrize(
    ("consumer", "of_brokers", "chosen"),
    [
        ("b", ("a", "b", "c"), 2),
        ("c", ("a", "b", "c"), 3),
        ("a", ("a", "b", "c"), NO_BROKER),
        ("a", ("a", "a", "a"), NO_BROKER),
        ("d", ("a", "b", "c"), NO_BROKER),
        ("", ("a", "b", "c"), NO_BROKER),
        ("", (None, None, None), NO_BROKER),
        ("b", (None, "b", None), 2),
    ],
)
def test_a_consumer_is_sent_to_its_rack(
    consumer: str, of_brokers: tuple[str | None, ...], chosen: int
) -> None:
    """R13."""
    assert preferred(racks(*of_brokers), consumer) == chosen


def test_who_is_sent_away_gets_no_records_and_does_not_wait() -> None:
    """R13, F1: the leader's offsets are in the answer."""
    bench = racks("a", "b", "c")
    client = ClientMetadata("b", "test", "PLAINTEXT")
    (outcome,) = bench.consume({p1: 3}, max_wait_ms=500, leader_only=False, client=client).only
    assert outcome == FetchOutcome(ErrorCode.NONE, 3, 3, 0, preferred_read_replica=2)
    assert len(read(bench, "d").records) == 3 * BATCH_BYTES


@pytest.mark.parametrize("selector", [None, LEADER_SELECTOR])
def test_without_the_selector_the_leader_serves(selector: str | None) -> None:
    """R13."""
    outcome = read(racks("a", "b", "c", selector=selector), "b")
    assert (outcome.preferred_read_replica, len(outcome.records)) == (NO_BROKER, 3 * BATCH_BYTES)


def test_a_follower_out_of_sync_is_not_chosen() -> None:
    """R13, KAFKA-14372: a consumer would stay behind with it."""
    bench = racks("a", "b", "c")
    bench.order(p1, isr=(1, 3), replicas=(1, 2, 3))
    for broker_id in (2, 3):
        bench.follow(broker_id, {p1: 2}, max_wait_ms=0)
    assert preferred(bench, "b") == NO_BROKER
    assert preferred(bench, "c") == 3


def test_a_follower_that_lacks_the_offset_is_not_chosen() -> None:
    """R13: above its log, or below its start."""
    bench = racks("a", "b")
    bench.produce(p1, acks=1)
    assert [preferred(bench, "b", offset) for offset in (3, 4)] == [2, NO_BROKER]
    bench.follow(2, {p1: 4}, max_wait_ms=0, log_start_offset=2)
    assert [preferred(bench, "b", offset) for offset in (1, 2, 4)] == [NO_BROKER, 2, 2]


def test_a_follower_that_has_not_fetched_in_this_epoch_is_not_chosen() -> None:
    """R13."""
    bench = racks("a", "b")
    bench.order(p1, isr=(1, 2))
    assert preferred(bench, "b") == NO_BROKER


def test_of_several_the_one_that_has_most_is_chosen_and_then_the_one_that_was_caught_up_last() -> None:
    """R13."""
    bench = racks("a", "b", "b")
    assert preferred(bench, "b") == 3
    bench.clock.advance(10)
    bench.follow(2, {p1: 3}, max_wait_ms=0)
    assert preferred(bench, "b") == 2
    bench.produce(p1, acks=1)
    bench.follow(3, {p1: 4}, max_wait_ms=0)
    bench.clock.advance(10)
    bench.follow(2, {p1: 3}, max_wait_ms=0)
    assert preferred(bench, "b") == 3


def test_a_follower_without_the_consumers_listener_is_not_chosen() -> None:
    """R13: the consumer could not connect to it."""
    bench = racks("a", "b", "b")
    bench.revive(3, "b", listener="INTERNAL")
    assert preferred(bench, "b") == 2
    assert read(bench, "b", listener="INTERNAL").preferred_read_replica == 3


def test_an_offset_outside_of_the_log_is_an_error_of_the_leader() -> None:
    """R13: no follower has it either."""
    assert read(racks("a", "b"), "b", offset=9).error_code is ErrorCode.OFFSET_OUT_OF_RANGE


def test_a_follower_sends_nobody_away() -> None:
    """R13: it serves up to its own HW, and what is above that but in its log is waited for (L3)."""
    bench = racks("a", "b", "c")
    bench.order(p1, leader=2, isr=(1, 2, 3))
    outcome = read(bench, "c")
    assert (outcome.preferred_read_replica, len(outcome.records)) == (NO_BROKER, 3 * BATCH_BYTES)
    assert read(bench, "c", offset=3).error_code is ErrorCode.NONE
    assert read(bench, "c", offset=4).error_code is ErrorCode.OFFSET_OUT_OF_RANGE
