"""A broker that never got the order to make a log loses nothing by that, and its other logs stay trusted."""

from odradek.metadata import codec, paths
from odradek.metadata.codec import StateDocument
from odradek.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from tests.server.node.clusters import Cluster


def state(cluster: Cluster, topic: str) -> StateDocument:
    node = cluster.world.store.table.get(paths.partition_state(topic, 0))
    assert node is not None
    return codec.decode_state(node.data)


def test_a_log_that_was_never_made_does_not_count_as_lost_after_a_clean_stop() -> None:
    """R15: found by `./dev sim --seed 1338`, where the other replica's disk was lost as well."""
    cluster = Cluster(brokers=3, min_insync_replicas="2")
    cluster.wait(lambda: len(cluster.serving) == 3)
    cluster.create("orders", 1)
    cluster.world.isolate(3)
    cluster.nodes[1].send(CreateTopicsRequest([CreatableTopic("late", 1, 3)], timeout_ms=5_000))
    cluster.world.advance(1_000)
    assert 3 in state(cluster, "late").isr
    assert cluster.nodes[3].core.image.topics.keys() == {"orders"}
    cluster.world.stop(2)
    cluster.world.advance(1_000)
    assert state(cluster, "late").leader_epoch > 0
    cluster.world.stop(3)
    assert state(cluster, "late").elr == state(cluster, "orders").elr == (3,)
    cluster.world.heal()
    again = cluster.world.begin(3, min_insync_replicas="2")
    cluster.wait(lambda: again.is_serving)
    assert [line for line in again.logs.report.lines() if "late-0" in line] == [
        "the creation of late-0 was interrupted before there was a log: it is finished now"
    ]
    assert cluster.nodes[1].core.image.brokers[3].clean_stop
    assert 3 in state(cluster, "orders").isr
