"""Who leads after brokers were lost, and what they then have: three nodes, their disks, the wire's bytes."""

import logging
from collections.abc import Callable
from typing import Any

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import NO_BROKER, NO_EPOCH, BrokerId
from odradek.metadata import codec, paths
from odradek.metadata.codec import StateDocument
from odradek.metadata.controller.requests import ConfigOperation
from odradek.metadata.resources import ResourceType
from odradek.testing.sim import SimNode, World
from odradek.wire.messages.describe_topic_partitions import DescribeTopicPartitionsRequest, TopicRequest
from odradek.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.server.admin.test_replication_metrics import value
from tests.server.node.test_replica_fetchers import (
    ALL,
    BROKERS,
    LAG_MAX_MS,
    LEADER,
    SESSION_MS,
    Cluster,
    P,
    code_of,
)

STARTS_WITHIN_MS = SESSION_MS + 1_000


def stored(cluster: Cluster) -> StateDocument:
    """The partition's state in the metadata store."""
    node = cluster.world.store.table.get(paths.partition_state(*P))
    assert node is not None
    return codec.decode_state(node.data)


def write(cluster: Cluster, acks: int) -> None:
    """A produce of two records that is acknowledged."""
    sent = cluster.produce(2, acks)
    cluster.world.advance(1_000)
    assert code_of(sent) is ErrorCode.NONE


def start(cluster: Cluster, *broker_ids: BrokerId, min_isr: int = 2) -> None:
    for broker_id in broker_ids:
        cluster.world.begin(broker_id, min_insync_replicas=str(min_isr))
    cluster.world.advance(STARTS_WITHIN_MS)
    assert all(cluster[broker_id].is_serving for broker_id in broker_ids)


def lose(cluster: Cluster, broker_id: BrokerId, *, power: bool = False) -> None:
    """A broker goes, and the cluster has noticed."""
    if power:
        cluster.world.lose_power(broker_id)
    else:
        cluster.world.kill(broker_id)
    cluster.world.advance(SESSION_MS + LAG_MAX_MS)


def records(node: SimNode) -> list[int]:
    """The numbers of the records in a broker's log."""
    log = node.log(*P)
    read = log.read(0, 1 << 30, log.end_position, at_least_one=True)
    return [int(part.split(b";")[0]) for part in bytes(read.held_records).split(b"record ")[1:]]


def described(node: SimNode) -> Any:
    (found,) = [one for one in node.core.replicas.describe() if one["topic"] == P.topic]
    return found


def followers_lost(by: Callable[[World, BrokerId], None] = World.stop) -> Cluster:
    """Broker 1 leads alone: 3 has records 1 2, 2 has 1 to 4, and 5 6 were never acknowledged to acks=all."""
    cluster = Cluster(min_insync_replicas="2")
    write(cluster, ALL)
    by(cluster.world, 3)
    cluster.world.advance(SESSION_MS)
    write(cluster, ALL)
    assert stored(cluster).elr == ()
    by(cluster.world, 2)
    cluster.world.advance(SESSION_MS)
    assert (stored(cluster).isr, stored(cluster).elr) == ((1,), (2,))
    refused = cluster.produce(1, ALL)
    cluster.world.advance(1_000)
    assert code_of(refused) is ErrorCode.NOT_ENOUGH_REPLICAS
    write(cluster, LEADER)
    assert cluster[1].log(*P).high_watermark.offset == 4, "HW stands below min ISR"
    return cluster


def test_when_the_followers_come_back_first_the_eligible_one_leads() -> None:
    """R15, R15e: Kafka's scenario: both followers stopped, the leader lost power with its unsynced data."""
    cluster = followers_lost()
    lose(cluster, 1, power=True)
    start(cluster, 3)
    assert (stored(cluster).leader, stored(cluster).isr) == (NO_BROKER, (1,)), "it lacks records 3 and 4"
    start(cluster, 2)
    after = stored(cluster)
    assert after.leader == 2
    assert records(cluster[2])[:4] == [1, 2, 3, 4]
    assert after.unclean_epoch == NO_EPOCH
    start(cluster, 1)
    write(cluster, ALL)
    cluster.world.advance(1_000)
    assert (sorted(stored(cluster).isr), stored(cluster).elr) == ([1, 2, 3], ())
    assert [records(node)[:4] for node in cluster.alive] == [[1, 2, 3, 4]] * 3
    cluster.check_logs()


def test_when_the_leader_comes_back_first_it_waits_for_the_eligible_one() -> None:
    """R15, R15e: what it had is gone; broker 2 has all that was acknowledged."""
    cluster = followers_lost()
    lose(cluster, 1, power=True)
    start(cluster, 1)
    waiting = stored(cluster)
    assert (waiting.leader, waiting.isr, waiting.elr, waiting.last_known_leader) == (
        NO_BROKER,
        (),
        (2,),
        NO_BROKER,
    )
    request = DescribeTopicPartitionsRequest([TopicRequest(P.topic)])
    (topic,) = cluster[1].ask(request).topics
    assert [one.eligible_leader_replicas for one in topic.partitions] == [[2]]
    start(cluster, 3)
    assert stored(cluster).leader == NO_BROKER
    start(cluster, 2)
    assert stored(cluster).leader == 2
    assert [records(node)[:4] for node in cluster.alive] == [[1, 2, 3, 4]] * 3
    cluster.check_logs()


def test_a_leader_that_was_killed_has_its_page_cache_and_leads_again() -> None:
    """R15, R15e: before the eligible one, since it has more."""
    cluster = followers_lost()
    lose(cluster, 1)
    start(cluster, 1)
    assert stored(cluster).leader == 1
    assert records(cluster[1])[:6] == [1, 2, 3, 4, 6, 7], "record 5 was refused"


def test_the_last_known_leader_leads_when_all_disks_have_lost_something(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """R15, R15e: it is the one that emptied ISR and ELR; that records may be missing is reported."""
    cluster = followers_lost(by=World.kill)
    lose(cluster, 1, power=True)
    cluster.world.note_reboot(2)
    start(cluster, 1)
    with caplog.at_level(logging.WARNING, "odradek.server.node.unclean_elections"):
        start(cluster, 2)
    after = stored(cluster)
    assert (after.leader, after.isr, after.elr, after.last_known_leader) == (2, (2, 1), (), NO_BROKER)
    assert after.unclean_epoch == after.leader_epoch
    assert any("the last known leader" in message for message in caplog.messages)
    assert cluster.controller.core.controller.unclean_elections.count == 1


def test_one_replica_leads_again_after_every_power_cut() -> None:
    """R15e: as the last known leader."""
    cluster = Cluster(replicas=(1,))
    for _ in range(2):
        write(cluster, ALL)
        lose(cluster, 1, power=True)
        start(cluster, 1, min_isr=1)
        assert (stored(cluster).leader, stored(cluster).isr) == (1, (1,))
        assert stored(cluster).unclean_epoch == stored(cluster).leader_epoch


def test_what_an_unclean_election_cuts_off_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    """R15e: partition, offsets and epochs; in the log, in the description and as a count."""
    cluster = Cluster()
    write(cluster, ALL)
    lose(cluster, 3)
    write(cluster, ALL)
    lose(cluster, 2)
    write(cluster, ALL)
    lose(cluster, 1)
    start(cluster, 2, 3, min_isr=1)
    assert (stored(cluster).leader, stored(cluster).isr, stored(cluster).elr) == (NO_BROKER, (1,), ())
    allowed = AlterableConfig("unclean.leader.election.enable", ConfigOperation.SET, "true")
    asked = IncrementalAlterConfigsRequest([AlterConfigsResource(ResourceType.TOPIC, P.topic, [allowed])])
    with caplog.at_level(logging.WARNING, "odradek.server.node.unclean_elections"):
        (result,) = cluster.controller.ask(asked).responses
        assert result.error_code == ErrorCode.NONE
        cluster.world.advance(1_000)
        elected = stored(cluster)
        assert (elected.leader, elected.unclean_epoch) == (2, elected.leader_epoch), "2 has more than 3"
        assert "records that only the brokers [1] have are lost" in caplog.text
        write(cluster, LEADER)
        start(cluster, 1, min_isr=1)
    controller_id = cluster.controller.broker_id
    assert value(cluster, controller_id, "odradek_controller_unclean_elections_total") == 1
    assert [records(node) for node in cluster.alive] == [[1, 2, 3, 4, 7, 8]] * len(BROKERS)
    assert described(cluster[1])["last_unclean_election"] == {
        "leader_epoch": elected.leader_epoch,
        "cut_off": {
            "first_offset": 4,
            "end_offset": 6,
            "first_epoch": 2,
            "last_epoch": 2,
            "high_watermark": 4,
            "for_leader_epoch": elected.leader_epoch,
        },
    }
    assert described(cluster[3])["last_unclean_election"]["cut_off"] is None
    assert "orders-0: offsets 4 to 5, of epochs 2 to 2, were cut off" in caplog.text


def test_the_last_in_sync_comes_back_with_an_empty_disk_and_joins_again() -> None:
    """R15, R15e: another leads, so nothing depends on the disk that is gone, and no restart is needed."""
    cluster = followers_lost()
    cluster.world.stop(1)
    cluster.world.advance(SESSION_MS)
    cluster.world.lose_disk(1)
    start(cluster, 1)
    assert stored(cluster).leader == NO_BROKER
    start(cluster, 3, 2)
    write(cluster, ALL)
    cluster.world.advance(LAG_MAX_MS)
    after = stored(cluster)
    assert (after.leader, sorted(after.isr), after.elr) == (2, [1, 2, 3], ())
    assert [records(node)[:4] for node in cluster.alive] == [[1, 2, 3, 4]] * 3
    lose(cluster, 2)
    lose(cluster, 3)
    assert stored(cluster).leader == 1, "it counts as one that serves"
    cluster.check_logs()


@pytest.mark.parametrize(
    ("wiped", "stops", "starts"),
    [
        (1, (2, 3, 1), (1, 3, 2)),
        (2, (1, 2, 3), (1, 2, 3)),
        (2, (1, 2, 3), (3, 2, 1)),
        (3, (2, 3, 1), (3, 1, 2)),
        (3, (1, 2, 3), (1, 3, 2)),
        (3, (1, 2, 3), (2, 3, 1)),
        (3, (1, 3, 2), (2, 3, 1)),
    ],
)
def test_a_broker_whose_disk_was_wiped_joins_again_when_all_start_together(
    wiped: BrokerId, stops: tuple[BrokerId, ...], starts: tuple[BrokerId, ...]
) -> None:
    """R15: the ELR has it until the leader is joined by another, just before it says that its log is gone."""
    cluster = Cluster(min_insync_replicas="2")
    write(cluster, ALL)
    write(cluster, ALL)
    for broker_id in stops:
        cluster.world.stop(broker_id)
        cluster.world.advance(SESSION_MS)
    cluster.world.lose_disk(wiped)
    start(cluster, *starts)
    cluster.world.advance(LAG_MAX_MS)
    assert sorted(stored(cluster).isr) == [1, 2, 3]
    assert [records(node) for node in cluster.alive] == [[1, 2, 3, 4]] * 3


@pytest.mark.parametrize("order", [(1, 2, 3), (2, 1, 3), (3, 1, 2), (1, 3, 2)])
@pytest.mark.parametrize("lost", ["the log", "its records"])
def test_the_last_in_sync_lacks_one_log_after_a_clean_stop(order: tuple[BrokerId, ...], lost: str) -> None:
    """R15, R15e: its clean mark does not say that the log is whole; the eligible broker has all records."""
    cluster = Cluster(min_insync_replicas="2")
    write(cluster, ALL)
    write(cluster, ALL)
    disk = cluster[1].disk
    for broker_id in (3, 2, 1):
        cluster.world.stop(broker_id)
        cluster.world.advance(SESSION_MS)
    assert (stored(cluster).isr, stored(cluster).elr) == ((1,), (2,))
    directory = f"/data/{P}"
    if lost == "the log":
        disk.remove(directory)
    else:
        for name, _ in disk.list_directory(directory):
            if name.endswith(".log"):
                disk.remove(f"{directory}/{name}")
    for broker_id in order:
        start(cluster, broker_id)
    assert stored(cluster).leader == 2
    assert [records(node) for node in cluster.alive] == [[1, 2, 3, 4]] * 3
    cluster.check_logs()
