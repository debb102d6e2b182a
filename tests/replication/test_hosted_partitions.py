"""The lookup of topics by id; lookups of partitions are tested with the operations that use them."""

from uuid import UUID

from odradek.base.ids import NO_TOPIC_ID, TopicPartition
from tests.replication.replica_bench import ReplicaBench

ID, OTHER_ID = UUID(int=7), UUID(int=8)


def test_a_topic_is_known_by_id_while_a_partition_of_it_is_here(bench: ReplicaBench) -> None:
    """R5a, R5d: LeaderAndIsr names the topic, before UpdateMetadata may have done so."""
    manager = bench.manager
    first, second = TopicPartition("flights", 0), TopicPartition("flights", 1)
    bench.order(first, topic_id=ID)
    bench.order(second, topic_id=ID)
    bench.order(TopicPartition("gates", 0), topic_id=OTHER_ID)
    assert [manager.topic_name(topic_id) for topic_id in (ID, OTHER_ID)] == ["flights", "gates"]
    bench.stop(first)
    assert manager.topic_name(ID) == "flights"
    bench.stop(second)
    assert [manager.topic_name(topic_id) for topic_id in (ID, OTHER_ID)] == [None, "gates"]


def test_partitions_without_an_id_are_found_by_none(bench: ReplicaBench) -> None:
    bench.order(TopicPartition("flights", 0))
    assert bench.manager.topic_name(NO_TOPIC_ID) is None
