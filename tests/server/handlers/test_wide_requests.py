"""Requests that name very much, over all APIs: done in slices and answered the same; and repeated names."""

import uuid
from collections.abc import Callable
from typing import Any

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.testing.sim import CountedTime, SimNode
from odradek.wire.messages import (
    alter_replica_log_dirs,
    consumer_group_describe,
    create_partitions,
    create_topics,
    delete_groups,
    delete_records,
    delete_topics,
    describe_configs,
    describe_groups,
    describe_log_dirs,
    describe_producers,
    describe_quorum,
    describe_topic_partitions,
    describe_transactions,
    fetch,
    find_coordinator,
    list_offsets,
    metadata,
    offset_commit,
    offset_delete,
    offset_fetch,
    offset_for_leader_epoch,
    produce,
    update_features,
    write_txn_markers,
)
from tests.batches import BatchOf
from tests.server.nodes import NewNode

WIDE = 48
EARLIEST = -2

Make = Callable[[list[int], bytes], Any]


def names(numbers: list[int]) -> list[str]:
    return [f"t{number}" for number in numbers]


def producing(numbers: list[int], batch: bytes) -> Any:
    parts = [produce.PartitionProduceData(number, batch) for number in numbers]
    return produce.ProduceRequest(None, -1, 1000, [produce.TopicProduceData("wide", partition_data=parts)])


def committing(numbers: list[int], batch: bytes) -> Any:
    parts = [offset_commit.OffsetCommitRequestPartition(n, 1, committed_metadata="m" * 200) for n in numbers]
    return offset_commit.OffsetCommitRequest(
        "g", topics=[offset_commit.OffsetCommitRequestTopic("wide", partitions=parts)]
    )


def fetching_offsets(numbers: list[int], batch: bytes) -> Any:
    asked = offset_fetch.OffsetFetchRequestTopics("wide", partition_indexes=numbers)
    return offset_fetch.OffsetFetchRequest(
        groups=[offset_fetch.OffsetFetchRequestGroup("g", topics=[asked]) for _ in numbers[:2]]
    )


REQUESTS: dict[str, tuple[int, Make]] = {
    "Produce": (9, producing),
    "OffsetForLeaderEpoch": (
        4,
        lambda numbers, _: offset_for_leader_epoch.OffsetForLeaderEpochRequest(
            topics=[
                offset_for_leader_epoch.OffsetForLeaderTopic(
                    "wide", [offset_for_leader_epoch.OffsetForLeaderPartition(n) for n in numbers]
                )
            ]
        ),
    ),
    "Metadata": (
        9,
        lambda numbers, _: metadata.MetadataRequest(
            [metadata.MetadataRequestTopic(name=name) for name in names(numbers)],
            allow_auto_topic_creation=False,
        ),
    ),
    "DescribeConfigs": (
        4,
        lambda numbers, _: describe_configs.DescribeConfigsRequest(
            [describe_configs.DescribeConfigsResource(2, name, None) for name in names(numbers)]
        ),
    ),
    "DescribeProducers": (
        0,
        lambda numbers, _: describe_producers.DescribeProducersRequest(
            [describe_producers.TopicRequest("wide", numbers)]
        ),
    ),
    "DescribeTopicPartitions": (
        0,
        lambda numbers, _: describe_topic_partitions.DescribeTopicPartitionsRequest(
            [describe_topic_partitions.TopicRequest(name) for name in names(numbers)]
        ),
    ),
    "DescribeQuorum": (
        2,
        lambda numbers, _: describe_quorum.DescribeQuorumRequest(
            [describe_quorum.TopicData("wide", [describe_quorum.PartitionData(n) for n in numbers])]
        ),
    ),
    "UpdateFeatures": (
        2,
        lambda numbers, _: update_features.UpdateFeaturesRequest(
            feature_updates=[update_features.FeatureUpdateKey("group.version", 1) for _ in numbers]
        ),
    ),
    "AlterReplicaLogDirs": (
        2,
        lambda numbers, _: alter_replica_log_dirs.AlterReplicaLogDirsRequest(
            [
                alter_replica_log_dirs.AlterReplicaLogDir(
                    "/data", [alter_replica_log_dirs.AlterReplicaLogDirTopic("wide", numbers)]
                )
            ]
        ),
    ),
    "DescribeLogDirs": (
        4,
        lambda numbers, _: describe_log_dirs.DescribeLogDirsRequest(
            [describe_log_dirs.DescribableLogDirTopic("wide", numbers)]
        ),
    ),
    "DescribeGroups": (5, lambda numbers, _: describe_groups.DescribeGroupsRequest(names(numbers))),
    "ConsumerGroupDescribe": (
        1,
        lambda numbers, _: consumer_group_describe.ConsumerGroupDescribeRequest(names(numbers)),
    ),
    "DescribeTransactions": (
        0,
        lambda numbers, _: describe_transactions.DescribeTransactionsRequest(names(numbers)),
    ),
    "OffsetCommit": (8, committing),
    "OffsetFetch": (8, fetching_offsets),
    "DeleteRecords": (
        2,
        lambda numbers, _: delete_records.DeleteRecordsRequest(
            [
                delete_records.DeleteRecordsTopic(
                    "wide", [delete_records.DeleteRecordsPartition(n, 0) for n in numbers]
                )
            ],
            1000,
        ),
    ),
}
"""By API: a version, and a request that names so many partitions, topics or groups."""

REPEATED: dict[str, tuple[int, Make]] = {
    **REQUESTS,
    "ListOffsets": (
        7,
        lambda numbers, _: list_offsets.ListOffsetsRequest(
            -1,
            topics=[
                list_offsets.ListOffsetsTopic(
                    "wide", [list_offsets.ListOffsetsPartition(n, timestamp=EARLIEST) for n in numbers]
                )
            ],
        ),
    ),
    "Fetch": (
        11,
        lambda numbers, _: fetch.FetchRequest(
            replica_id=-1,
            max_bytes=1 << 20,
            topics=[
                fetch.FetchTopic(
                    "wide",
                    partitions=[fetch.FetchPartition(n, partition_max_bytes=1 << 20) for n in numbers],
                )
            ],
        ),
    ),
    "FindCoordinator": (
        4,
        lambda numbers, _: find_coordinator.FindCoordinatorRequest(coordinator_keys=names(numbers)),
    ),
    "CreateTopics": (
        7,
        lambda numbers, _: create_topics.CreateTopicsRequest(
            [create_topics.CreatableTopic(f"new{n}", 1, 1) for n in numbers], 1000
        ),
    ),
    "CreatePartitions": (
        3,
        lambda numbers, _: create_partitions.CreatePartitionsRequest(
            [create_partitions.CreatePartitionsTopic(name, 2, None) for name in names(numbers)], 1000
        ),
    ),
    "DeleteTopics": (
        5,
        lambda numbers, _: delete_topics.DeleteTopicsRequest(topic_names=names(numbers), timeout_ms=1000),
    ),
    "DeleteGroups": (2, lambda numbers, _: delete_groups.DeleteGroupsRequest(names(numbers))),
    "OffsetDelete": (
        0,
        lambda numbers, _: offset_delete.OffsetDeleteRequest(
            "g",
            [
                offset_delete.OffsetDeleteRequestTopic(
                    "wide", [offset_delete.OffsetDeleteRequestPartition(n) for n in numbers]
                )
            ],
        ),
    ),
    "WriteTxnMarkers": (
        1,
        lambda numbers, _: write_txn_markers.WriteTxnMarkersRequest(
            [
                write_txn_markers.WritableTxnMarker(
                    7, 0, False, [write_txn_markers.WritableTxnMarkerTopic("wide", numbers)]
                )
            ]
        ),
    ),
}


@pytest.fixture
def ready(new_node: NewNode) -> Callable[[], Any]:
    """A node with a wide topic, with many topics, and with a group that has committed."""

    def make() -> Any:
        node = new_node(offsets_topic_num_partitions="2", transaction_state_log_num_partitions="2")
        topics = [create_topics.CreatableTopic(name, 1, 1) for name in names(list(range(WIDE)))]
        topics.append(create_topics.CreatableTopic("wide", WIDE, 1))
        node.ask(create_topics.CreateTopicsRequest(topics, timeout_ms=1000))
        node.ask(find_coordinator.FindCoordinatorRequest(coordinator_keys=["g"]), 4)
        txn = find_coordinator.FindCoordinatorRequest(key_type=1, coordinator_keys=["x"])
        node.ask(txn, 4)
        node.settle()
        node.ask(committing(list(range(WIDE)), b""), 8)
        return node

    return make


@pytest.mark.parametrize("api", REQUESTS)
def test_a_wide_request_is_served_in_slices_and_answered_the_same(
    api: str, ready: Callable[[], SimNode], batch: BatchOf
) -> None:
    """Others are served between two of them; the answer comes once, when all is done."""
    version, make = REQUESTS[api]
    numbers = list(range(WIDE))
    node = ready()
    node.short_clock = CountedTime()
    sliced = node.send(make(numbers, batch(b"a")), version)
    turns = 0
    while not sliced.answers:
        assert node.world.step(), f"{api} is neither answered nor at work"
        turns += 1
    assert turns >= 1
    node.settle()
    assert sliced.answer == ready().ask(make(numbers, batch(b"a")), version)


@pytest.mark.parametrize("api", REPEATED)
def test_a_name_that_is_repeated_brings_no_answer_again(
    api: str, ready: Callable[[], SimNode], batch: BatchOf
) -> None:
    """Merged or refused: else a few bytes, repeated, would ask for gigabytes."""
    version, make = REPEATED[api]
    records = batch(b"a" * 500)
    once = ready().ask(make([0], records), version)
    many = make([0] * 500, records)
    node = ready()
    answer = node.ask(many, version)
    more = len(answer.encode(version)) - len(once.encode(version))
    assert more <= max(len(many.encode(version)), 500 * 32), f"{more} bytes more"


def test_a_wide_produce_writes_each_partition_once_and_wakes_its_reader(
    ready: Callable[[], SimNode], batch: BatchOf
) -> None:
    """D5; a reader need not wait for the partitions behind its own."""
    node = ready()
    node.short_clock = CountedTime()
    wanted = [fetch.FetchPartition(0, partition_max_bytes=1000)]
    reading = node.send(
        fetch.FetchRequest(
            replica_id=-1,
            max_wait_ms=5000,
            min_bytes=1,
            max_bytes=1000,
            topics=[fetch.FetchTopic("wide", partitions=wanted)],
        ),
        11,
    )
    producing_now = node.send(producing(list(range(WIDE)), batch(b"a")), 9)
    while not reading.answers:
        assert node.world.step()
    assert producing_now.answers == []
    node.settle()
    (topic,) = producing_now.answer.responses
    assert [part.error_code for part in topic.partition_responses] == [ErrorCode.NONE] * WIDE
    assert {log.end_offset for log in node.logs.logs() if log.topic_partition.topic == "wide"} == {1}


def test_a_wide_produce_that_nobody_waits_for_is_written_whole(
    ready: Callable[[], SimNode], batch: BatchOf
) -> None:
    """The connection was lost in between: what was asked for is done all the same, as in Kafka."""
    node = ready()
    node.short_clock = CountedTime()
    lost = node.send(producing(list(range(WIDE)), batch(b"a")), 9).arrive()
    lost.client.lose()
    node.settle()
    assert {log.end_offset for log in node.logs.logs() if log.topic_partition.topic == "wide"} == {1}
    assert lost.answers == []


def test_groups_named_twice_are_merged(ready: Callable[[], SimNode]) -> None:
    asked = [
        offset_fetch.OffsetFetchRequestGroup(
            "g", topics=[offset_fetch.OffsetFetchRequestTopics("wide", partition_indexes=[number])]
        )
        for number in (0, 1, 0)
    ]
    (group,) = ready().ask(offset_fetch.OffsetFetchRequest(groups=asked), 8).groups
    assert [part.partition_index for part in group.topics[0].partitions] == [0, 1]
    everything = offset_fetch.OffsetFetchRequestGroup("g", topics=None)
    (group,) = ready().ask(offset_fetch.OffsetFetchRequest(groups=[asked[0], everything]), 8).groups
    assert len(group.topics[0].partitions) == WIDE


def test_an_unknown_topic_id_is_answered_once_per_partition(ready: Callable[[], SimNode]) -> None:
    topic_id = uuid.UUID(int=99)
    topic = offset_fetch.OffsetFetchRequestTopics(topic_id=topic_id, partition_indexes=[0, 0, 1])
    asked = [offset_fetch.OffsetFetchRequestGroup("g", topics=[topic])]
    (group,) = ready().ask(offset_fetch.OffsetFetchRequest(groups=asked), 10).groups
    assert [part.partition_index for part in group.topics[0].partitions] == [0, 1]


def test_a_wide_answer_of_list_offsets_is_encoded_in_steps(
    ready: Callable[[], SimNode], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that is repeated is answered as often, but not read."""
    node = ready()
    parts = [list_offsets.ListOffsetsPartition(0, timestamp=EARLIEST)] * 1000
    at_once: list[object] = []
    monkeypatch.setattr(list_offsets.ListOffsetsResponse, "encode_parts", lambda *more: at_once.append(more))
    request = list_offsets.ListOffsetsRequest(-1, topics=[list_offsets.ListOffsetsTopic("wide", parts)])
    (topic,) = node.ask(request, 7).topics
    assert [part.error_code for part in topic.partitions] == [ErrorCode.INVALID_REQUEST] * 1000
    assert at_once == []
