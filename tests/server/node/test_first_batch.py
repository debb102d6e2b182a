"""A replica with an empty disk follows a leader whose log starts within a batch; power losses meanwhile."""

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.replication.fetcher import NoteKind
from odradek.server.node.replica_fetchers import ReplicaFetchers
from odradek.storage import EpochEnd, Log
from odradek.storage.checkpoint import read_offsets
from odradek.storage.file_names import LOG_START_OFFSETS
from odradek.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from tests.server.node.test_replica_fetchers import BROKERS, LAG_MAX_MS, SESSION_MS, Cluster, P, code_of

START, END = 7, 17
"""Of the records that are kept."""
FETCHER_ROUND_MS = 10_000


def cut_within_a_batch(seed: int, partitions: int = 1) -> Cluster:
    """Broker 3 is gone with its disk; the others' logs start at 7, within the batch of 5 to 9."""
    cluster = Cluster(seed, partitions)
    for partition in range(partitions):
        for count in (5, 5, 7):
            cluster.produce(count, partition=partition)
            cluster.world.settle()
    cluster.world.advance(1_000)
    cluster.world.kill(3)
    cluster.world.lose_disk(3)
    cluster.world.advance(SESSION_MS + LAG_MAX_MS)
    deletion = cluster.leader.send(
        DeleteRecordsRequest(
            [
                DeleteRecordsTopic(
                    "orders", [DeleteRecordsPartition(number, START) for number in range(partitions)]
                )
            ],
            10_000,
        )
    )
    cluster.world.advance(1_000)
    assert all(one.error_code == ErrorCode.NONE for one in deletion.answer.topics[0].partitions)
    return cluster


def held(log: Log) -> bytes:
    return bytes(log.read(START, 1 << 20, log.end_position, at_least_one=True).held_records)


def check_replicas(cluster: Cluster, partition: int = 0) -> None:
    """All logs are equal from the batch that holds the log start on."""
    logs = [cluster[broker_id].log("orders", partition) for broker_id in BROKERS]
    assert [log.end_offset for log in logs] == [END] * 3
    assert [log.log_start_offset for log in logs] == [START] * 3
    assert len({held(log) for log in logs}) == 1
    assert {log.end_offset_for_epoch(0) for log in logs} == {EpochEnd(0, END)}


def fetchers(cluster: Cluster) -> ReplicaFetchers:
    return cluster.fetchers(3)


@pytest.mark.parametrize("seed", range(3))
def test_an_empty_replica_begins_at_the_batch_that_holds_the_leaders_log_start(seed: int) -> None:
    """X2, R2: it joins the ISR with the same bytes, and may lead."""
    cluster = cut_within_a_batch(seed)
    cluster.world.node(3)
    cluster.world.advance(FETCHER_ROUND_MS)
    check_replicas(cluster)
    assert cluster.isr() == BROKERS
    assert fetchers(cluster).noted[NoteKind.BEGUN_WITHIN] == 1
    assert fetchers(cluster).noted[NoteKind.FAILED] == 0
    starts = read_offsets(cluster.world.disk(3), f"/data/{LOG_START_OFFSETS}")[0]
    assert starts[P] == START, "written at once, as after a truncation"
    sent = cluster.produce(1)
    cluster.world.settle()
    assert code_of(sent) is ErrorCode.NONE


def test_one_partition_after_another_is_settled_in_the_background() -> None:
    """X6: no fsync on the loop, and all partitions of a fetcher at once."""
    cluster = cut_within_a_batch(1, partitions=20)
    cluster.world.node(3)
    cluster.world.advance(FETCHER_ROUND_MS)
    for partition in range(20):
        check_replicas(cluster, partition)
    assert fetchers(cluster).noted[NoteKind.BEGUN_WITHIN] == 20


def operations_of_catching_up() -> int:
    cluster = cut_within_a_batch(1)
    cluster.world.begin(3)
    trace = cluster.world.trace = []
    cluster.world.advance(FETCHER_ROUND_MS)
    check_replicas(cluster)
    return len([line for line in trace if line.startswith("3 ") and "/data" in line])


@pytest.mark.slow
@pytest.mark.parametrize("loses_all", [True, False], ids=["all", "some"])
def test_power_lost_at_any_operation_ends_in_equal_replicas(*, loses_all: bool) -> None:
    """X6, L4: with the right start, whatever was on disk."""
    for number in range(operations_of_catching_up()):
        cluster = cut_within_a_batch(1)
        world = cluster.world
        world.begin(3)
        (cluster[3].kill_within if loses_all else cluster[3].lose_power_within)(number)
        world.advance(FETCHER_ROUND_MS)
        if cluster[3].is_alive:
            break
        if loses_all:
            world.disk(3).crash()
        world.begin(3)
        world.advance(2 * FETCHER_ROUND_MS)
        check_replicas(cluster)
        assert cluster.isr() == BROKERS, f"after {number} operations"
