"""What the checker of waiting produces finds."""

from odradek.records.builder import BatchBuilder
from odradek.testing.sim.trial.checkers.wakeups import LOOK_EVERY, WaitingProducesAreWoken
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.testing.sim.trial.checkers.cluster_bench import ClusterBench


def looked(checker: WaitingProducesAreWoken) -> list[str]:
    for _ in range(LOOK_EVERY):
        checker.look()
    return [violation.words for violation in checker.found.values()]


def test_a_produce_that_nobody_wakes() -> None:
    bench = ClusterBench()
    world, leader = bench.world, bench.world.nodes[1]
    world.cut(1, 2)
    world.cut(1, 3)
    builder = BatchBuilder()
    builder.append(0, None, b"value")
    data = [TopicProduceData("t", bench.place.topic_id, [PartitionProduceData(0, bytes(builder.build()))])]
    sent = leader.send(ProduceRequest(None, -1, 60_000, data))
    world.settle()
    checker = WaitingProducesAreWoken(bench.scene)
    assert looked(checker) == [], "it waits for followers"
    world.advance(300)
    assert looked(checker) == []
    assert not sent.answers
    leader.log("t").restore_high_watermark(1)
    assert looked(checker) == [], "it may be woken yet"
    world.advance(300)
    (words,) = looked(checker)
    assert words.startswith("broker 1 could answer a produce to t-0 since ")
