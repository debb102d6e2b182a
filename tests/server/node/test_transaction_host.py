from typing import Any

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import TopicPartition
from odradek.metadata.messages import LeaderAndIsrPartition
from odradek.replication.role_changes import RoleChanges
from odradek.wire.messages.find_coordinator import FindCoordinatorRequest
from odradek.wire.messages.init_producer_id import InitProducerIdRequest

TOPIC = "__transaction_state"
IDS = [f"id-{number}" for number in range(12)]


@pytest.fixture
def filled(new_node: Any) -> Any:
    """A broker with ids in both partitions of the topic."""
    node = new_node(transaction_state_log_num_partitions="2")
    node.ask(FindCoordinatorRequest(key_type=1, coordinator_keys=IDS))
    for name in IDS:
        assert init(node, name) == 0
    return node


def init(node: Any, name: str) -> int:
    code: int = node.ask(InitProducerIdRequest(name, 60_000)).error_code
    return code


def order(node: Any, **changes: Any) -> None:
    node.core.transactions.on_roles(RoleChanges(**changes))


def leading(node: Any) -> list[LeaderAndIsrPartition]:
    topic = node.core.image.topic(TOPIC)
    return [
        LeaderAndIsrPartition(TopicPartition(TOPIC, index), topic.topic_id, state, is_new=False)
        for index, state in topic.partitions.items()
    ]


def test_the_topic_is_made_as_kafka_makes_it(filled: Any) -> None:
    config = filled.core.topic_config(TOPIC)
    assert (config.cleanup_policy, config.segment_bytes) == (frozenset({"compact"}), 100 << 20)
    assert (config.compression_type, config.min_insync_replicas) == ("uncompressed", 2)
    assert filled.core.image.partition(TopicPartition(TOPIC, 0)).replicas == (0,), "no more than there are"


def test_partitions_are_loaded_in_later_turns(filled: Any) -> None:
    order(filled, leading=leading(filled))
    states = {name: init(filled, name) for name in IDS}
    assert set(states.values()) == {0, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS}, "one was loaded at once"
    filled.turns.run()
    assert {init(filled, name) for name in IDS} == {0}


@pytest.mark.parametrize("change", ["following", "stopped"])
def test_partitions_that_go_take_their_ids_along(filled: Any, change: str) -> None:
    gone = leading(filled) if change == "following" else [one.topic_partition for one in leading(filled)]
    order(filled, **{change: gone})
    assert {init(filled, name) for name in IDS} == {ErrorCode.NOT_COORDINATOR}


def test_other_topics_are_nobodys_business_here(filled: Any) -> None:
    order(filled, stopped=[TopicPartition("t", 0)])
    assert {init(filled, name) for name in IDS} == {0}


def test_a_partition_that_cannot_be_read_is_logged_and_the_other_serves(
    filled: Any, caplog: pytest.LogCaptureFixture
) -> None:
    coordinator = filled.core.transactions.coordinator
    log = filled.core.logs.get(TopicPartition(TOPIC, 0))
    log.truncate_fully_and_start_at(0)
    end = log.end_offset
    log.end_offset = 5  # there is nothing
    order(filled, leading=leading(filled))
    log.end_offset = end
    filled.turns.run()
    assert "cannot be loaded" in caplog.text
    loaded = {
        partition.topic_partition.partition: partition.is_loaded for partition in coordinator.store.led()
    }
    assert loaded == {0: False, 1: True}
