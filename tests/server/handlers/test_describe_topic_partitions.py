"""DescribeTopicPartitions, against what Apache Kafka 4.1 answers to the same requests."""

from typing import Any

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.server.node.authorized_operations import TOPIC_OPERATIONS
from odradek.testing.sim import SimNode
from odradek.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from odradek.wire.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    TopicRequest,
)
from tests.server.nodes import NewNode

PARTITIONS = {"a": 2, "b": 3, "c": 2}

Page = tuple[dict[str, list[int]], tuple[str, int] | None]


def create(node: SimNode) -> None:
    topics = [CreatableTopic(name, count, 1) for name, count in PARTITIONS.items()]
    node.ask(CreateTopicsRequest(topics, timeout_ms=1000))


@pytest.fixture(autouse=True)
def topics(node: SimNode) -> None:
    create(node)


def ask(node: SimNode, *names: str, limit: int = 2000, cursor: tuple[str, int] | None = None) -> Any:
    asked = [TopicRequest(name) for name in names]
    at = None if cursor is None else Cursor(*cursor)
    return node.ask(DescribeTopicPartitionsRequest(asked, limit, at))


def page(node: SimNode, *names: str, **more: Any) -> Page:
    """Partitions by topic, and the next cursor."""
    answer = ask(node, *names, **more)
    shown = {topic.name: [part.partition_index for part in topic.partitions] for topic in answer.topics}
    after = answer.next_cursor
    return shown, None if after is None else (after.topic_name, after.partition_index)


def test_a_partition_says_where_it_is(node: SimNode) -> None:
    (topic,) = ask(node, "a").topics
    assert (topic.error_code, topic.topic_id) == (0, node.topic("a").topic_id)
    assert (topic.is_internal, topic.topic_authorized_operations) == (False, TOPIC_OPERATIONS)
    partition = topic.partitions[1]
    assert (partition.error_code, partition.leader_id, partition.leader_epoch) == (0, 0, 0)
    assert (partition.replica_nodes, partition.isr_nodes, partition.offline_replicas) == ([0], [0], [])
    assert (partition.eligible_leader_replicas, partition.last_known_elr) == ([], [])


@pytest.mark.parametrize(
    ("limit", "cursor", "shown", "after"),
    [
        (2000, None, {"a": [0, 1], "b": [0, 1, 2], "c": [0, 1]}, None),
        (4, None, {"a": [0, 1], "b": [0, 1]}, ("b", 2)),
        (4, ("b", 2), {"b": [2], "c": [0, 1]}, None),
        (2, None, {"a": [0, 1]}, ("b", 0)),
        (0, None, {"a": [0]}, ("a", 1)),
        (-5, None, {"a": [0]}, ("a", 1)),
        (10, ("aa", 5), {"b": [0, 1, 2], "c": [0, 1]}, None),
        (10, ("c", 50), {"c": []}, None),
    ],
)
def test_all_topics_come_in_order_and_in_pages(
    node: SimNode, limit: int, cursor: tuple[str, int] | None, shown: dict[str, list[int]], after: Any
) -> None:
    """KIP-966"""
    assert page(node, limit=limit, cursor=cursor) == (shown, after)


def test_topics_asked_for_come_once_and_in_order(node: SimNode) -> None:
    assert page(node, "b", "a", "b", limit=4) == ({"a": [0, 1], "b": [0, 1]}, ("b", 2))


def test_a_page_is_never_longer_than_the_broker_allows(new_node: NewNode) -> None:
    node = new_node(max_request_partition_size_limit="3")
    create(node)
    assert page(node) == ({"a": [0, 1], "b": [0]}, ("b", 1))


def test_unknown_topics_are_named_with_their_error(node: SimNode) -> None:
    known, wrong, unknown = ask(node, "a", "no", "b/c").topics
    assert (known.name, len(known.partitions)) == ("a", 2)
    assert (wrong.name, wrong.error_code) == ("b/c", ErrorCode.INVALID_TOPIC_EXCEPTION)
    assert (unknown.name, unknown.error_code) == ("no", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    assert unknown.topic_authorized_operations == TOPIC_OPERATIONS


@pytest.mark.parametrize("cursor", [("a", -1), ("zzz", 0), ("aa", 5)])
def test_a_cursor_that_no_page_gave_is_refused(node: SimNode, cursor: tuple[str, int]) -> None:
    answer = ask(node, "a", "b", cursor=cursor)
    assert [(topic.name, topic.error_code) for topic in answer.topics] == [
        ("a", ErrorCode.INVALID_REQUEST),
        ("b", ErrorCode.INVALID_REQUEST),
    ]
    assert answer.next_cursor is None
