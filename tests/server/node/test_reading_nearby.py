"""Consumers of three racks: each is sent to the replica in its rack, which serves it (KIP-392)."""

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import NO_BROKER, BrokerId
from odradek.base.settings import RACK_AWARE_SELECTOR
from odradek.testing.sim import SimRequest
from odradek.wire.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
)
from odradek.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, PartitionData
from tests.server.node.test_replica_fetchers import BROKERS, LAG_MAX_MS, LEADER, Cluster

WAIT_MS = 20_000


class Racks(Cluster):
    """Broker 1, in rack a, leads; 2 is in rack b and 3 in rack c."""

    def __init__(self, seed: int = 1) -> None:
        super().__init__(seed, replica_selector_class=RACK_AWARE_SELECTOR)
        for broker_id, rack in zip(BROKERS, "abc", strict=True):
            self[broker_id].restarted(broker_rack=rack)
        self.world.advance(LAG_MAX_MS)
        topic = CreatableTopic("near", -1, -1, [CreatableReplicaAssignment(0, list(BROKERS))])
        assert self.controller.ask(CreateTopicsRequest([topic])).topics[0].error_code == ErrorCode.NONE
        self.world.advance(1_000)

    def read(
        self, at: BrokerId, rack: str, offset: int = 0, wait_ms: int = 0, version: int | None = None
    ) -> SimRequest[FetchResponse]:
        node = self[at]
        topic = FetchTopic(
            "near", node.topic("near").topic_id, [FetchPartition(0, -1, offset, partition_max_bytes=1 << 20)]
        )
        request = FetchRequest(
            max_wait_ms=wait_ms, min_bytes=1, topics=[topic], rack_id=rack, session_epoch=-1
        )
        sent = node.send(request, version, client_id=f"reader in {rack}")
        self.world.settle()
        return sent


def part_of(sent: SimRequest[FetchResponse]) -> PartitionData:
    (topic,) = sent.answer.responses
    return topic.partitions[0]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_a_consumer_is_sent_to_its_rack_and_waits_there_no_longer_than_at_the_leader(seed: int) -> None:
    """R13, R11, F6 H: the follower learns of HW at once, and its parked consumers are tried."""
    cluster = Racks(seed)
    told = part_of(cluster.read(1, "b", wait_ms=WAIT_MS))
    assert (told.error_code, told.preferred_read_replica, len(told.records or b"")) == (0, 2, 0)
    assert part_of(cluster.read(1, "a")).preferred_read_replica == NO_BROKER
    parked = {broker_id: cluster.read(broker_id, "b", wait_ms=WAIT_MS) for broker_id in (2, 3)}
    assert not any(sent.answers for sent in parked.values())
    before_ms = cluster.world.clock.monotonic_ms()
    cluster.produce(3, LEADER, cluster[1], topic="near")
    cluster.world.settle()
    assert cluster.world.clock.monotonic_ms() == before_ms, "no time has passed"
    for sent in parked.values():
        part = part_of(sent)
        assert (part.error_code, part.high_watermark, part.preferred_read_replica) == (0, 3, NO_BROKER)
        assert part.records


@pytest.mark.slow
def test_a_consumer_goes_back_to_the_leader_when_the_replica_of_its_rack_is_gone() -> None:
    """R13: neither out of the ISR nor before Fetch 11."""
    cluster = Racks()
    cluster.produce(3, LEADER, cluster[1], topic="near")
    cluster.world.advance(1_000)
    assert part_of(cluster.read(1, "b")).preferred_read_replica == 2
    assert part_of(cluster.read(1, "", version=10)).preferred_read_replica == NO_BROKER
    assert part_of(cluster.read(2, "b", offset=9)).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert part_of(cluster.read(2, "", version=10)).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    cluster.world.kill(2)
    cluster.world.advance(2 * LAG_MAX_MS)
    part = part_of(cluster.read(1, "b"))
    assert (part.preferred_read_replica, bool(part.records)) == (NO_BROKER, True)
