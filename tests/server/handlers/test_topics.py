"""The APIs that make, show and delete topics, over a whole broker without a loop."""

import uuid
from typing import Any

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.server.node.auto_creation import WAIT_MS_MAX
from odradek.testing.sim import CountedTime, SimNode, World
from odradek.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from odradek.wire.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from odradek.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from odradek.wire.messages.describe_cluster import DescribeClusterRequest
from odradek.wire.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    TopicRequest,
)
from odradek.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.server.nodes import NewNode

ALL_TOPIC_OPERATIONS = 3576
NOT_ASKED_FOR = -(1 << 31)


def create(node: SimNode, *names: str, partitions: int = 1, version: int = 7, timeout_ms: int = 1000) -> Any:
    topics = [CreatableTopic(name, partitions, 1) for name in names]
    return node.ask(CreateTopicsRequest(topics, timeout_ms=timeout_ms), version)


def metadata(node: SimNode, *names: str, version: int = 13, may_create: bool = False) -> Any:
    topics = [MetadataRequestTopic(name=name) for name in names]
    return node.ask(MetadataRequest(topics, allow_auto_topic_creation=may_create), version)


def test_a_created_topic_says_what_it_is(node: SimNode) -> None:
    config = CreatableTopicConfig("retention.ms", "1000")
    topic = CreatableTopic("flights", 3, 1, configs=[config])
    (made,) = node.ask(CreateTopicsRequest([topic], timeout_ms=1000)).topics
    assert (made.error_code, made.num_partitions, made.replication_factor) == (0, 3, 1)
    shown = {config.name: (config.value, config.config_source) for config in made.configs or ()}
    assert shown["retention.ms"] == ("1000", 1)
    assert shown["segment.bytes"] == ("1073741824", 5)


def test_creation_with_no_time_is_done_and_says_timed_out(node: SimNode) -> None:
    """G3: timeout <= 0 → created, and REQUEST_TIMED_OUT at once."""
    (made,) = create(node, "flights", timeout_ms=0).topics
    assert made.error_code == ErrorCode.REQUEST_TIMED_OUT
    assert metadata(node, "flights").topics[0].error_code == 0


def test_each_topic_has_its_own_error(node: SimNode) -> None:
    """G3: a topic with an error of its own answers that."""
    create(node, "there")
    answers = create(node, "new", "there", "b/d").topics
    codes = {answer.name: ErrorCode(answer.error_code).name for answer in answers}
    assert codes == {"new": "NONE", "there": "TOPIC_ALREADY_EXISTS", "b/d": "INVALID_TOPIC_EXCEPTION"}


def test_an_assignment_by_hand_is_taken_over(node: SimNode) -> None:
    topic = CreatableTopic("flights", -1, -1, assignments=[CreatableReplicaAssignment(0, [0])])
    (made,) = node.ask(CreateTopicsRequest([topic], timeout_ms=1000)).topics
    assert (made.error_code, made.num_partitions) == (0, 1)


def test_validate_only_makes_nothing(node: SimNode) -> None:
    request = CreateTopicsRequest([CreatableTopic("flights", 1, 1)], timeout_ms=1000, validate_only=True)
    assert node.ask(request).topics[0].error_code == 0
    assert metadata(node, "flights").topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize("version", [1, 5, 6])
def test_topics_are_deleted_by_name(node: SimNode, version: int) -> None:
    """G3: deletion answers when no partition of the topic is in the metadata any more."""
    create(node, "flights")
    request = DeleteTopicsRequest(timeout_ms=1000)
    if version < 6:
        request.topic_names = ["flights", "unknown"]
    else:
        request.topics = [DeleteTopicState("flights"), DeleteTopicState("unknown")]
    codes = [ErrorCode(answer.error_code).name for answer in node.ask(request, version).responses]
    assert codes == ["NONE", "UNKNOWN_TOPIC_OR_PARTITION"]
    assert node.core.image.topics == {}
    assert list(node.core.logs.logs()) == []


@pytest.mark.parametrize("seed", range(20))
def test_when_a_deletion_is_answered_the_records_are_gone_and_the_name_is_free(seed: int) -> None:
    """G3: clients delete a topic and make it again at once, as Apache Kafka lets them."""
    world = World(seed)
    node = world.node(0)
    names = ["flights", "trains"]
    create(node, *names, partitions=3)
    request = DeleteTopicsRequest(topics=[DeleteTopicState(name) for name in names], timeout_ms=1000)
    sent = node.send(request)
    while not sent.answers:
        assert world.step()
    assert [deleted.error_code for deleted in sent.answer.responses] == [0, 0]
    assert list(node.core.logs.logs()) == []
    made = node.send(CreateTopicsRequest([CreatableTopic(name, 1, 1) for name in names], timeout_ms=1000))
    world.settle()
    assert [topic.error_code for topic in made.answer.topics] == [0, 0]


def test_topics_are_deleted_by_id(node: SimNode) -> None:
    topic_id = create(node, "flights").topics[0].topic_id
    unknown = uuid.UUID(int=5)
    request = DeleteTopicsRequest(
        topics=[DeleteTopicState(None, topic_id), DeleteTopicState(None, unknown)], timeout_ms=1000
    )
    first, second = node.ask(request).responses
    assert (first.name, first.topic_id, first.error_code) == ("flights", topic_id, 0)
    assert (second.name, second.error_code) == (None, ErrorCode.UNKNOWN_TOPIC_ID)


def test_partitions_are_added_and_never_taken_away(node: SimNode) -> None:
    create(node, "flights", "trains", partitions=2)
    topics = [CreatePartitionsTopic("flights", 4, None), CreatePartitionsTopic("trains", 1, None)]
    first, second = node.ask(CreatePartitionsRequest(topics, 1000)).results
    assert first.error_code == 0
    assert second.error_code == ErrorCode.INVALID_PARTITIONS
    assert len(metadata(node, "flights").topics[0].partitions) == 4


def test_metadata_of_no_topics_and_of_all(node: SimNode) -> None:
    create(node, "a", "b")
    assert node.ask(MetadataRequest([]), 1).topics == [], "from version 1 on an empty list means none"
    assert {topic.name for topic in node.ask(MetadataRequest(None), 1).topics} == {"a", "b"}
    assert {topic.name for topic in node.ask(MetadataRequest([]), 0).topics} == {"a", "b"}


def test_metadata_names_brokers_leaders_and_the_controller(node: SimNode) -> None:
    create(node, "flights", partitions=2)
    found = metadata(node, "flights")
    (broker,) = found.brokers
    assert (broker.node_id, broker.host, broker.port, broker.rack) == (0, "broker.example", 9092, "r1")
    assert (found.controller_id, found.cluster_id) == (0, node.core.image.cluster_id)
    (topic,) = found.topics
    partition = topic.partitions[1]
    assert (partition.partition_index, partition.leader_id, partition.leader_epoch) == (1, 0, 0)
    assert (partition.replica_nodes, partition.isr_nodes, partition.offline_replicas) == ([0], [0], [])
    assert topic.topic_authorized_operations == NOT_ASKED_FOR


def test_metadata_makes_topics_only_when_client_and_broker_agree(node: SimNode, new_node: NewNode) -> None:
    assert metadata(node, "a").topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert metadata(node, "a", may_create=True).topics[0].error_code == 0
    unwilling = new_node(auto_create_topics_enable="false")
    missing = metadata(unwilling, "a", may_create=True).topics[0]
    assert missing.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_metadata_never_creates_kafkas_metadata_log(new_node: NewNode) -> None:
    """As in Kafka it is an unknown topic, not a refused one."""
    node = new_node()
    (topic,) = metadata(node, "__cluster_metadata", may_create=True).topics
    assert topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_metadata_refuses_names_that_no_topic_has(node: SimNode) -> None:
    for may_create in (False, True):
        (topic,) = metadata(node, "../etc", may_create=may_create).topics
        assert (topic.name, topic.error_code) == ("../etc", ErrorCode.INVALID_TOPIC_EXCEPTION)


def test_metadata_by_id(node: SimNode) -> None:
    topic_id = create(node, "flights").topics[0].topic_id
    asked = [MetadataRequestTopic(topic_id, None), MetadataRequestTopic(uuid.UUID(int=5), None)]
    known, unknown = node.ask(MetadataRequest(asked, allow_auto_topic_creation=True), 12).topics
    assert (known.name, known.error_code) == ("flights", 0)
    assert (unknown.name, unknown.error_code) == (None, ErrorCode.UNKNOWN_TOPIC_ID)


def test_metadata_tells_what_may_be_done_when_asked(node: SimNode) -> None:
    create(node, "flights")
    asked = [
        MetadataRequestTopic(name="flights"),
        MetadataRequestTopic(name="missing"),
        MetadataRequestTopic(uuid.UUID(int=5), None),
    ]
    request = MetadataRequest(
        asked, allow_auto_topic_creation=False, include_topic_authorized_operations=True
    )
    told = [topic.topic_authorized_operations for topic in node.ask(request).topics]
    assert told == [ALL_TOPIC_OPERATIONS, ALL_TOPIC_OPERATIONS, NOT_ASKED_FOR]


def test_metadata_describes_a_topic_once_however_often_it_is_named(node: SimNode) -> None:
    create(node, "flights")
    assert [topic.name for topic in metadata(node, "flights", "flights").topics] == ["flights"]


def test_describe_cluster_refuses_what_is_no_brokers_endpoint(node: SimNode) -> None:
    found = node.ask(DescribeClusterRequest())
    assert [broker.broker_id for broker in found.brokers] == [0]
    refused = node.ask(DescribeClusterRequest(endpoint_type=2))
    assert refused.error_code == ErrorCode.MISMATCHED_ENDPOINT_TYPE


def test_topic_partitions_are_described_a_page_at_a_time(node: SimNode) -> None:
    create(node, "a", partitions=2)
    create(node, "b", partitions=3)
    create(node, "c", partitions=2)
    first = node.ask(DescribeTopicPartitionsRequest([], response_partition_limit=4))
    assert [(topic.name, len(topic.partitions)) for topic in first.topics] == [("a", 2), ("b", 2)]
    assert first.next_cursor == Cursor("b", 2)
    rest = node.ask(DescribeTopicPartitionsRequest([], 4, Cursor("b", 2)))
    shown = [(topic.name, [part.partition_index for part in topic.partitions]) for topic in rest.topics]
    assert shown == [("b", [2]), ("c", [0, 1])]
    assert rest.next_cursor is None


def test_an_unknown_topic_is_described_as_unknown(node: SimNode) -> None:
    (topic,) = node.ask(DescribeTopicPartitionsRequest([TopicRequest("no")])).topics
    assert topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize("version", [10, 11])
@pytest.mark.parametrize("name", [None, "orders"])
def test_metadata_by_id_is_refused_in_versions_that_cannot_answer_it(
    node: SimNode, version: int, name: str | None
) -> None:
    """KIP-516: the field is there from version 10 on, its use from version 12 on."""
    request = MetadataRequest(topics=[MetadataRequestTopic(name=name, topic_id=uuid.UUID(int=7))])
    (topic,) = node.ask(request, version).topics
    assert (topic.error_code, topic.name) == (ErrorCode.INVALID_REQUEST, name or "")


def test_a_wide_topic_is_made_in_slices_and_known_whole_or_not_at_all(node: SimNode) -> None:
    """G3; whoever asks in between sees no topic, then all of its partitions with their leaders."""
    node.short_clock = CountedTime()
    wide = CreateTopicsRequest([CreatableTopic("wide", 100, 1)], timeout_ms=30_000)
    creating = node.send(wide, 7)
    turns, seen = 0, set()
    node.store.deliver()
    while not creating.answers:
        assert node.world.step()
        turns += 1
        logs_before = len(list(node.logs.logs()))
        topic = node.core.image.topic("wide")
        seen.add(0 if topic is None else sum(state.leader == 0 for state in topic.partitions.values()))
        assert len(list(node.logs.logs())) - logs_before <= 2
    assert turns >= 50
    assert seen == {0, 100}
    assert creating.answer.topics[0].error_code == ErrorCode.NONE


def test_a_metadata_request_that_makes_many_topics_is_answered_when_they_are_there(node: SimNode) -> None:
    """G3; others are served in between."""
    node.short_clock = CountedTime()
    asked = [MetadataRequestTopic(name=f"t{number}") for number in range(60)]
    making = node.send(MetadataRequest(asked, allow_auto_topic_creation=True), 12)
    node.store.deliver()
    assert making.answers == []
    node.settle()
    assert {topic.error_code for topic in making.answer.topics} == {ErrorCode.NONE}


def test_topics_that_take_too_long_to_make_are_answered_as_being_on_their_way(node: SimNode) -> None:
    node.short_clock = CountedTime()
    asked = [MetadataRequestTopic(name=f"t{number}") for number in range(60)]
    making = node.send(MetadataRequest(asked, allow_auto_topic_creation=True), 12)
    while not node.core.topic_purgatory.watched:
        node.store.deliver()
        assert node.world.step()
    assert making.answers == []
    node.clock.advance(WAIT_MS_MAX + 1)
    node.timer.advance()
    node.settle()
    codes = {topic.error_code for topic in making.answer.topics}
    assert ErrorCode.LEADER_NOT_AVAILABLE in codes <= {ErrorCode.NONE, ErrorCode.LEADER_NOT_AVAILABLE}
    again = node.send(MetadataRequest(asked, allow_auto_topic_creation=False), 12)
    node.settle()
    assert {topic.error_code for topic in again.answer.topics} == {ErrorCode.NONE}
