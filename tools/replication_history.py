"""The history that docs/replication.md follows, run in the simulator.

Three brokers, one partition. A record is replicated and consumed. The leader is cut from its followers, takes
two more records that no follower has, and dies; another broker is elected, and takes a record of its own.
The old leader comes back, and must truncate.
"""

from odradek.records.builder import BatchBuilder
from odradek.testing.sim import SimNode, World
from odradek.testing.sim.history.recorder import Recorder
from odradek.wire.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
)
from odradek.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

TOPIC = "orders"
ALL, LEADER_ONLY = -1, 1


def produce(node: SimNode, acks: int, *values: bytes) -> None:
    """Send one batch to a broker, without waiting for the answer."""
    builder = BatchBuilder()
    for value in values:
        builder.append(node.clock.wall_ms(), None, value)
    data = [TopicProduceData(TOPIC, partition_data=[PartitionProduceData(0, bytes(builder.build()))])]
    node.send(ProduceRequest(None, acks, 30_000, data), 9, client_id="producer")


def consume(node: SimNode, offset: int) -> None:
    """Fetch from an offset, without waiting for the answer."""
    topic = FetchTopic(
        TOPIC, partitions=[FetchPartition(0, fetch_offset=offset, partition_max_bytes=1 << 20)]
    )
    request = FetchRequest(max_wait_ms=500, min_bytes=1, topics=[topic])
    node.send(request, 12, client_id="consumer")


def run(seed: int = 1) -> Recorder:
    """Runs the history; returns its recorder."""
    world = World(seed)
    recorder = Recorder(world)
    for broker_id in (3, 1, 2):  # the first one becomes the controller, and leads nothing here
        world.node(broker_id)
    topic = CreatableTopic(TOPIC, -1, -1, [CreatableReplicaAssignment(0, [1, 2, 3])])
    world.nodes[3].send(CreateTopicsRequest([topic], timeout_ms=5_000), client_id="admin")
    world.advance(1_000)
    consume(world.nodes[1], 0)
    world.advance(100)
    produce(world.nodes[1], ALL, b"order 1")
    world.advance(1_000)
    world.cut(1, 2)
    world.cut(1, 3)
    produce(world.nodes[1], LEADER_ONLY, b"order 2", b"order 3")
    world.advance(1_000)
    world.kill(1)
    world.advance(1_000)
    produce(world.nodes[2], ALL, b"order 4")
    world.advance(1_000)
    world.heal()
    world.node(1)
    world.advance(2_000)
    return recorder


if __name__ == "__main__":
    from odradek.testing.sim.history.telling import tell

    print("\n".join(tell(run().history.events)))
