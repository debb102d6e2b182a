"""The report about the replicas of a broker: its order, its bound, its steps, and the standing of each."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from odradek.base.execution import exhaust
from odradek.base.ids import NO_BROKER, TopicPartition
from odradek.metadata.image import PartitionChanged, PartitionImage
from odradek.replication.fetcher import FetcherManager
from odradek.replication.following import Following
from odradek.replication.quota import replication_quotas
from odradek.replication.replica_report import (
    SORTED_PER_STEP,
    ReplicaReport,
    ReplicaRows,
    Standing,
    WantedReplicas,
)
from tests.replication.replica_bench import ReplicaBench

P = TopicPartition("orders", 0)


class Reporting:
    """A bench with fetchers, of which a test makes reports."""

    def __init__(self, bench: ReplicaBench) -> None:
        self.bench = bench
        logs = Following(
            bench.manager, bench.logs, lambda named: None, bench.turns.append, lambda cut_off: None
        )
        self.fetchers = FetcherManager(logs, bench.clock, lambda: 1, lambda: 1_000, lambda note: None)
        quotas = replication_quotas(1, bench.clock, lambda: bench.settings)
        self.report = ReplicaReport(
            bench.manager, self.fetchers, bench.image, quotas.leader, bench.clock, bench.logs.offline_logs
        )

    def follow(self, named: TopicPartition, leader: int, *, isr: tuple[int, ...]) -> None:
        """Follow a leader from its next epoch on."""
        self.bench.order(named, leader=leader, isr=isr, replicas=(1, 2, 3))
        epoch = self.bench.partition(named).leader_epoch
        self.fetchers.follow(named, UUID(int=7), leader, epoch)

    def make(self, **wanted: Any) -> ReplicaRows:
        return exhaust(self.report.make(WantedReplicas(**wanted)))

    def only_row(self) -> Mapping[str, Any]:
        (row,) = self.make().rows
        return row


@pytest.fixture
def reporting(bench: ReplicaBench) -> Reporting:
    return Reporting(bench)


def names(report: ReplicaRows) -> list[tuple[str, int]]:
    return [(row["topic"], row["partition"]) for row in report.rows]


def states(report: ReplicaRows) -> list[str]:
    return [row["state"] for row in report.rows]


@pytest.mark.parametrize(
    ("isr", "standing"),
    [((1, 2, 3), Standing.IN_SYNC), ((1, 2), Standing.UNDER_REPLICATED), ((1,), Standing.UNDER_MIN_ISR)],
)
def test_a_leader_stands_as_its_isr_does(
    reporting: Reporting, isr: tuple[int, ...], standing: Standing
) -> None:
    reporting.bench.set_config(replace(reporting.bench.config, min_insync_replicas=2))
    reporting.bench.order(P, isr=isr, replicas=(1, 2, 3))
    row = reporting.only_row()
    assert (row["state"], row["role"], row["isr"], row["min_isr"]) == (standing.value, "leader", [*isr], 2)
    assert [follower["in_isr"] for follower in row["followers"]] == [2 in isr, 3 in isr]
    assert len(row["behind"]) == 3 - len(isr)


@pytest.mark.parametrize(
    ("isr", "standing"),
    [
        ((1, 2, 3), Standing.IN_SYNC),
        ((1, 2), Standing.UNDER_REPLICATED),
        ((2, 3), Standing.OUT_OF_SYNC),
    ],
)
def test_a_follower_stands_as_the_isr_that_it_was_told(
    reporting: Reporting, isr: tuple[int, ...], standing: Standing
) -> None:
    reporting.follow(P, 2, isr=isr)
    row = reporting.only_row()
    assert (row["state"], row["role"], row["leader_id"], row["isr"]) == (
        standing.value,
        "follower",
        2,
        [*isr],
    )
    assert row["fetch"]["state"] == "compares epochs with the leader"


def test_eligible_leader_replicas_are_shown_as_far_as_they_are_known(reporting: Reporting) -> None:
    """R15e: by the leader, and by who was told."""
    reporting.bench.order(P, isr=(1,), replicas=(1, 2, 3))
    reporting.bench.leadership(P).elr = (2, 3)
    assert reporting.only_row()["elr"] == [2, 3]
    reporting.follow(P, 2, isr=(2,))
    state = PartitionImage((1, 2, 3), (2,), 2, leader_epoch=1, elr=(3,))
    reporting.bench.image.apply(PartitionChanged(P.topic, P.partition, state))
    assert reporting.only_row()["elr"] == [3]


def test_a_follower_that_cannot_fetch_does_not_stand_as_in_sync(reporting: Reporting) -> None:
    """The ISR that it knows may be old, just because it does not reach its leader."""
    reporting.follow(P, 2, isr=(1, 2, 3))
    fetcher = reporting.fetchers.fetcher(P)
    assert fetcher is not None
    fetcher.next_ask()
    fetcher.on_unanswered("refused")
    assert reporting.only_row()["state"] == Standing.STALLED.value
    reporting.fetchers.unfollow(P)
    assert reporting.only_row()["state"] == Standing.NOT_FETCHED.value
    reporting.bench.order(P, leader=NO_BROKER, isr=(2,), replicas=(1, 2, 3))
    row = reporting.only_row()
    assert (row["state"], row["leader_id"]) == (Standing.NO_LEADER.value, None)


def test_replicas_of_a_failed_directory_are_there_with_the_reason() -> None:
    bench = ReplicaBench(directories=("/data", "/more"))
    reporting = Reporting(bench)
    for number in range(2):
        bench.order(TopicPartition("orders", number), isr=(1, 2))
    bench.manager.directory_failed("/more", "no such device")
    report = reporting.make()
    assert states(report) == ["offline", "in sync"]
    assert report.rows[0]["behind"] == ["log directory offline: no such device"]
    assert "role" not in report.rows[0]


def test_those_in_trouble_come_first_then_by_name(reporting: Reporting) -> None:
    for number, isr in enumerate([(1, 2), (1,), (1, 2), (1,)]):
        reporting.bench.order(TopicPartition("orders", number), isr=isr, replicas=(1, 2))
    reporting.bench.order(TopicPartition("airports", 0), isr=(1, 2))
    reporting.bench.order(TopicPartition("zones", 0), leader=NO_BROKER, isr=(2,), replicas=(1, 2))
    report = reporting.make()
    assert names(report) == [
        ("zones", 0),
        ("orders", 1),
        ("orders", 3),
        ("airports", 0),
        ("orders", 0),
        ("orders", 2),
    ]
    assert names(reporting.make(in_trouble_only=True)) == [("zones", 0), ("orders", 1), ("orders", 3)]
    assert names(reporting.make(topic="o*", in_trouble_only=True)) == [("orders", 1), ("orders", 3)]
    assert reporting.make(topic="o").rows == []


def test_the_rows_are_bounded_and_the_others_are_counted(reporting: Reporting) -> None:
    """Several runs are merged: the order is that of all."""
    count = 2 * SORTED_PER_STEP + 5
    for number in reversed(range(count)):
        reporting.bench.order(TopicPartition("orders", number), isr=(1, 2))
    report = reporting.make(rows_max=20)
    assert names(report) == [("orders", number) for number in range(20)]
    assert report.left_out == count - 20
    assert len(reporting.make().rows) == count


def test_a_report_is_made_in_steps_during_which_replicas_come_and_go(reporting: Reporting) -> None:
    for number in range(SORTED_PER_STEP + 40):
        reporting.bench.order(TopicPartition("orders", number), isr=(1, 2))
    work = reporting.report.make(WantedReplicas(rows_max=40))
    next(work)
    next(work)
    reporting.bench.stop(TopicPartition("orders", SORTED_PER_STEP))
    next(work)
    reporting.bench.stop(TopicPartition("orders", 3))
    steps = 0
    while True:
        try:
            next(work)
        except StopIteration as end:
            made: ReplicaRows = end.value
            break
        steps += 1
    assert names(made) == [("orders", number) for number in range(40) if number != 3]
    assert steps == 40 // 16
