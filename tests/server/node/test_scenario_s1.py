"""Scenario S1 with the followers' own fetchers: four nodes, the wire's bytes, and what waits at the leader.

`tests/replication/test_replica_manager.py` runs S1 literally, where a follower has two fetches under way. A
fetcher has one, so here a follower's second fetch takes the place of its first, which ends without the bytes.
"""

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import BrokerId, TopicPartition
from odradek.testing.sim import SimRequest, World
from odradek.timer import DelayedOperation
from odradek.wire.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
)
from odradek.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from odradek.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from tests.replication.replica_bench import batch_of

P1, P2 = (TopicPartition("flights", number) for number in range(2))
LEADER, FOLLOWERS = 1, (2, 3, 4)
FEW_BYTES, MIN_BYTES = 100, 150
WAIT_MS = 1_000
"""How long a follower's fetch waits; all is over before a follower leaves the ISR."""


class Scenario:
    """Broker 1 leads both partitions, and all four brokers are in sync."""

    def __init__(self) -> None:
        self.world = World(1)
        settings = {
            "replica.fetch.min.bytes": str(MIN_BYTES),
            "replica.fetch.wait.max.ms": str(WAIT_MS),
            "fetch.purgatory.purge.interval.requests": "0",
            "producer.purgatory.purge.interval.requests": "0",
        }
        for broker_id in (LEADER, *FOLLOWERS):
            self.world.node(broker_id, **settings)
        self.leader = self.world.nodes[LEADER]
        assignments = [CreatableReplicaAssignment(number, [LEADER, *FOLLOWERS]) for number in range(2)]
        topic = CreatableTopic("flights", -1, -1, assignments)
        (controller,) = [node for node in self.world.nodes.values() if node.core.controller.is_active]
        answer = controller.ask(CreateTopicsRequest([topic], timeout_ms=5_000))
        assert answer.topics[0].error_code == ErrorCode.NONE
        self.world.advance(2 * WAIT_MS)
        self._names: dict[int, str] = {}
        # Kept, so that no id is given twice.
        self._named: list[DelayedOperation] = []

    def lists(self, newest: str = "") -> list[list[str]]:
        """What is watched under each partition, produces first; one that was not seen before is `newest`.

        A completed operation has a mark.
        """
        purgatories = self.leader.core.replicas.purgatories
        produces, fetches = purgatories.produce.watchers(), purgatories.fetch.watchers()
        found = [[*produces.get(key, ()), *fetches.get(key, ())] for key in (P1, P2)]
        for operation in (*found[0], *found[1]):
            if id(operation) not in self._names:
                assert newest
                assert newest not in self._names.values()
                self._names[id(operation)] = newest
                self._named.append(operation)
        return [
            [self._names[id(one)] + ("✓" if one.is_completed else "") for one in operations]
            for operations in found
        ]

    def cut(self, *followers: BrokerId) -> None:
        """What these followers and the leader send each other stays on its way."""
        for follower in followers:
            self.world.cut(LEADER, follower)

    def mend(self, follower: BrokerId) -> None:
        """What was on its way arrives, and so does what it leads to."""
        self.world.links.mend(LEADER, follower)
        self.world.settle()

    def produce(self, size_bytes: int, acks: int) -> SimRequest[ProduceResponse]:
        """One batch of one record to P1."""
        data = [PartitionProduceData(P1.partition, bytes(batch_of(size_bytes, 0)))]
        request = ProduceRequest(None, acks, 60_000, [TopicProduceData(P1.topic, partition_data=data)])
        sent = self.leader.send(request, 9)
        self.world.settle()
        return sent

    def consume(self) -> SimRequest[FetchResponse]:
        """A fetch of P1 from its beginning."""
        wanted = [FetchPartition(P1.partition, fetch_offset=0, partition_max_bytes=1 << 20)]
        topics = [FetchTopic(P1.topic, partitions=wanted)]
        sent = self.leader.send(FetchRequest(max_wait_ms=60_000, min_bytes=MIN_BYTES, topics=topics), 12)
        self.world.settle()
        return sent

    @property
    def high_watermark(self) -> int:
        return self.leader.log(P1.topic, P1.partition).high_watermark.offset


def test_fetchers_complete_a_produce_and_a_fetch_and_leave_nothing_behind() -> None:
    """S1, D3, D5, D6: over the wire, with the lists after each of its nine steps."""
    scenario = Scenario()
    scenario.cut(*FOLLOWERS)
    scenario.world.advance(2 * WAIT_MS)
    assert scenario.lists() == [[], []], "all have been answered, and the answers are on their way"
    # (1)
    produce = scenario.produce(FEW_BYTES, acks=-1)
    assert scenario.lists("DP") == [["DP"], []]
    # (2)
    consumer = scenario.consume()
    assert scenario.lists("DF1") == [["DP", "DF1"], []]
    # (3) (4) (5)
    for follower in FOLLOWERS:
        scenario.mend(follower)
        scenario.lists(f"DF{follower}")
        scenario.world.advance(WAIT_MS // 10)
    assert scenario.lists() == [["DP", "DF1", "DF2", "DF3", "DF4"], ["DF2", "DF3", "DF4"]]
    # (6) Each first fetch ends with what there is, at its own time; the second one is from offset 1.
    scenario.world.advance(WAIT_MS * 13 // 20)
    assert scenario.lists() == [["DP", "DF1", "DF2", "DF3", "DF4"], ["DF2", "DF3", "DF4"]]
    fetches = ["DF2", "DF3", "DF4"]
    for follower in FOLLOWERS:
        assert not produce.answers
        assert scenario.high_watermark == 0
        scenario.world.advance(WAIT_MS // 10)
        fetches = [*fetches[1:], f"DF{follower}b"]
        produces = [] if follower == FOLLOWERS[-1] else ["DP"]
        assert scenario.lists(fetches[-1]) == [[*produces, "DF1", *fetches], fetches]
    assert produce.answer.responses[0].partition_responses[0].error_code == ErrorCode.NONE
    # (7)
    assert scenario.high_watermark == 1
    assert not consumer.answers, "100 bytes are too few"
    # (8)
    scenario.cut(*FOLLOWERS)
    scenario.produce(MIN_BYTES, acks=1)
    assert scenario.lists() == [["DF1"], ["DF2b✓", "DF3b✓", "DF4b✓"]]
    # (9)
    for follower in FOLLOWERS:
        assert not consumer.answers
        scenario.mend(follower)
        scenario.lists(f"DF{follower}c")
    assert scenario.high_watermark == 2
    (partition,) = consumer.answer.responses[0].partitions
    assert partition.records is not None
    assert len(partition.records) == FEW_BYTES + MIN_BYTES
    assert scenario.lists() == [["DF2c", "DF3c", "DF4c"]] * 2, "the followers ask for what comes next"
    scenario.cut(*FOLLOWERS)
    scenario.world.advance(2 * WAIT_MS)
    purgatories = scenario.leader.core.replicas.purgatories
    assert [purgatory.watchers() for purgatory in purgatories.all()] == [{}, {}, {}]
    assert sum(purgatory.delayed for purgatory in purgatories.all()) == 0
    assert [node.log(P1.topic).end_offset for node in scenario.world.nodes.values()] == [2] * 4
