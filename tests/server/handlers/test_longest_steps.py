"""No request holds the loop: what its longest step does is bounded, whatever it names.

What a step does is counted in calls of functions, Python's and C's, so that no machine's speed matters: ten
calls take about a microsecond and a half. Each API is asked about few things and about many. The longest step
may grow by CALLS_PER_ITEM_USUAL_MAX calls for each thing more, so that the 100,000 elements that a request
may have take 9 ms.
"""

import gc
import itertools
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import FrameType
from typing import Any, Final
from uuid import UUID

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.records.builder import BatchBuilder
from odradek.server.handlers.index import INDEX
from odradek.testing.sim import CountedTime, SimNode, World
from odradek.wire.message import Message, Request
from odradek.wire.messages import (
    add_partitions_to_txn,
    alter_configs,
    alter_partition_reassignments,
    alter_replica_log_dirs,
    consumer_group_describe,
    consumer_group_heartbeat,
    create_acls,
    create_partitions,
    create_topics,
    delete_acls,
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
    describe_user_scram_credentials,
    elect_leaders,
    end_txn,
    fetch,
    find_coordinator,
    incremental_alter_configs,
    init_producer_id,
    join_group,
    leave_group,
    list_config_resources,
    list_groups,
    list_offsets,
    list_partition_reassignments,
    list_transactions,
    metadata,
    offset_commit,
    offset_delete,
    offset_fetch,
    offset_for_leader_epoch,
    produce,
    txn_offset_commit,
    update_features,
    write_txn_markers,
)

DECODED_AT_ONCE_MAX: Final = 16
"""Requests of more elements are decoded in steps here, as those of thousands are elsewhere."""
FEW: Final = 220
"""More than what is decoded, encoded or made in one step."""
MANY: Final = 420
CALLS_PER_ITEM_USUAL_MAX: Final = 0.6
CALLS_PER_RECORDED_MAX: Final = {
    "consumer_group_heartbeat with unknown topics": 2.2,
}
"""The same for each topic of a record of the log: that is encoded in one step."""
CALLS_PER_STORED_MAX: Final = 1
"""By how much it may grow for each thing more that is stored and not named."""
CALLS_PER_MEMBER_MAX: Final = 6
"""The same for each member of a classic group: one step collects the parts of the answer for all members."""
FREED_PER_ITEM_USUAL_MAX: Final = 2.6
"""By how many blocks of memory what a step frees may grow for each thing more: ten take about half a
microsecond. Tables of the work have one or two for each thing, decoded elements and their answers five."""
FREED_PER_ITEM_MAX: Final = {"end_txn": 4, "delete_topics": 6, "consumer_group_heartbeat": 7}
LONGEST_CALLS_USUAL_MAX: Final = 12_000
"""What a step may take at all: about two milliseconds."""
CALLS_PER_ITEM_MAX: Final = {
    "list_offsets": 2.1,
    "write_txn_markers": 2,
    "txn_offset_commit": 7,
    "consumer_group_heartbeat": 7,
    "offset_delete": 2.1,
    "describe_log_dirs": 300,
}
"""What is not all in steps."""
LONGEST_CALLS_MAX: Final = {
    "create_topics": 15_000,
    "create_partitions": 15_000,
    "describe_log_dirs": 120_000,  # a file system in memory adds up the sizes of its files
}
"""The same, and what a disk in memory does."""

ID: Final = "payments"
Producer = tuple[int, int]


@dataclass
class Asked:
    """What a request may be made of."""

    numbers: list[int]
    batch: Callable[..., bytes]
    producer: Producer

    @property
    def names(self) -> list[str]:
        return [f"t{number}" for number in self.numbers]


_GROUPS = itertools.count()
"""Numbers for groups that do not exist yet."""
Make = Callable[[Asked], Request[Message]]


def _produce(asked: Asked) -> Request[Message]:
    records = asked.batch(b"v")
    parts = [produce.PartitionProduceData(number, records) for number in asked.numbers]
    return produce.ProduceRequest(None, -1, 1000, [produce.TopicProduceData("wide", partition_data=parts)])


def _fetch(asked: Asked) -> Request[Message]:
    parts = [fetch.FetchPartition(number, partition_max_bytes=1000) for number in asked.numbers]
    return fetch.FetchRequest(
        replica_id=-1, max_wait_ms=500, min_bytes=1, topics=[fetch.FetchTopic("wide", partitions=parts)]
    )


def _list_offsets(asked: Asked) -> Request[Message]:
    parts = [list_offsets.ListOffsetsPartition(number, timestamp=-2) for number in asked.numbers]
    return list_offsets.ListOffsetsRequest(
        -1, topics=[list_offsets.ListOffsetsTopic("wide", partitions=parts)]
    )


def _commit(asked: Asked) -> Request[Message]:
    parts = [offset_commit.OffsetCommitRequestPartition(number, 1) for number in asked.numbers]
    return offset_commit.OffsetCommitRequest(
        "g", topics=[offset_commit.OffsetCommitRequestTopic("wide", partitions=parts)]
    )


def _txn_commit(asked: Asked) -> Request[Message]:
    parts = [txn_offset_commit.TxnOffsetCommitRequestPartition(number, 1) for number in asked.numbers]
    return txn_offset_commit.TxnOffsetCommitRequest(
        ID,
        "g",
        *asked.producer,
        topics=[txn_offset_commit.TxnOffsetCommitRequestTopic("wide", partitions=parts)],
    )


def _offset_fetch(asked: Asked) -> Request[Message]:
    topic = offset_fetch.OffsetFetchRequestTopics("wide", partition_indexes=asked.numbers)
    return offset_fetch.OffsetFetchRequest(groups=[offset_fetch.OffsetFetchRequestGroup("g", topics=[topic])])


def _offset_delete(asked: Asked) -> Request[Message]:
    parts = [offset_delete.OffsetDeleteRequestPartition(number) for number in asked.numbers]
    return offset_delete.OffsetDeleteRequest(
        "g", [offset_delete.OffsetDeleteRequestTopic("wide", partitions=parts)]
    )


def _epochs(asked: Asked) -> Request[Message]:
    parts = [offset_for_leader_epoch.OffsetForLeaderPartition(number) for number in asked.numbers]
    return offset_for_leader_epoch.OffsetForLeaderEpochRequest(
        topics=[offset_for_leader_epoch.OffsetForLeaderTopic("wide", parts)]
    )


def _delete_records(asked: Asked) -> Request[Message]:
    parts = [delete_records.DeleteRecordsPartition(number, 0) for number in asked.numbers]
    return delete_records.DeleteRecordsRequest([delete_records.DeleteRecordsTopic("wide", parts)], 1000)


def _add_partitions(asked: Asked) -> Request[Message]:
    topics = [add_partitions_to_txn.AddPartitionsToTxnTopic("wide", asked.numbers)]
    return add_partitions_to_txn.AddPartitionsToTxnRequest(ID, *asked.producer, topics)


def _markers(asked: Asked) -> Request[Message]:
    topics = [write_txn_markers.WritableTxnMarkerTopic("wide", asked.numbers)]
    return write_txn_markers.WriteTxnMarkersRequest(
        [write_txn_markers.WritableTxnMarker(7, 0, False, topics)]
    )


def _join_wide(asked: Asked) -> Request[Message]:
    """A first member that reads many topics."""
    return consumer_group_heartbeat.ConsumerGroupHeartbeatRequest(
        f"wide{next(_GROUPS)}",
        "m",
        0,
        rebalance_timeout_ms=60_000,
        subscribed_topic_names=asked.names,
        topic_partitions=[],
    )


def _incremental(asked: Asked) -> Request[Message]:
    setting = incremental_alter_configs.AlterableConfig("retention.ms", 0, "1000")
    return incremental_alter_configs.IncrementalAlterConfigsRequest(
        [incremental_alter_configs.AlterConfigsResource(2, name, [setting]) for name in asked.names]
    )


def _alter(asked: Asked) -> Request[Message]:
    setting = alter_configs.AlterableConfig("retention.ms", "1000")
    return alter_configs.AlterConfigsRequest(
        [alter_configs.AlterConfigsResource(2, name, [setting]) for name in asked.names]
    )


WIDE: Final[dict[str, tuple[int, Make]]] = {
    "produce": (9, _produce),
    "fetch": (11, _fetch),
    "list_offsets": (7, _list_offsets),
    "metadata": (
        9,
        lambda asked: metadata.MetadataRequest(
            [metadata.MetadataRequestTopic(name=name) for name in asked.names],
            allow_auto_topic_creation=False,
        ),
    ),
    "offset_commit": (8, _commit),
    "offset_fetch": (8, _offset_fetch),
    "find_coordinator": (
        4,
        lambda asked: find_coordinator.FindCoordinatorRequest(coordinator_keys=asked.names),
    ),
    "leave_group": (
        5,
        lambda asked: leave_group.LeaveGroupRequest(
            "g", members=[leave_group.MemberIdentity(name) for name in asked.names]
        ),
    ),
    "describe_groups": (5, lambda asked: describe_groups.DescribeGroupsRequest(asked.names)),
    "create_topics": (
        7,
        lambda asked: create_topics.CreateTopicsRequest(
            [create_topics.CreatableTopic(f"new{len(asked.numbers)}-{n}", 1, 1) for n in asked.numbers], 1000
        ),
    ),
    "delete_topics": (
        5,
        lambda asked: delete_topics.DeleteTopicsRequest(
            topic_names=[f"gone{number}" for number in asked.numbers], timeout_ms=1000
        ),
    ),
    "delete_records": (2, _delete_records),
    "offset_for_leader_epoch": (4, _epochs),
    "add_partitions_to_txn": (3, _add_partitions),
    "end_txn": (3, lambda asked: end_txn.EndTxnRequest(ID, *asked.producer, True)),
    "write_txn_markers": (1, _markers),
    "txn_offset_commit": (5, _txn_commit),
    "create_acls": (
        3,
        lambda asked: create_acls.CreateAclsRequest([create_acls.AclCreation() for _ in asked.numbers]),
    ),
    "delete_acls": (
        3,
        lambda asked: delete_acls.DeleteAclsRequest([delete_acls.DeleteAclsFilter() for _ in asked.numbers]),
    ),
    "describe_configs": (
        4,
        lambda asked: describe_configs.DescribeConfigsRequest(
            [describe_configs.DescribeConfigsResource(2, name, None) for name in asked.names]
        ),
    ),
    "alter_configs": (2, _alter),
    "incremental_alter_configs": (1, _incremental),
    "alter_replica_log_dirs": (
        2,
        lambda asked: alter_replica_log_dirs.AlterReplicaLogDirsRequest(
            [
                alter_replica_log_dirs.AlterReplicaLogDir(
                    "/data", [alter_replica_log_dirs.AlterReplicaLogDirTopic("wide", asked.numbers)]
                )
            ]
        ),
    ),
    "describe_log_dirs": (
        4,
        lambda asked: describe_log_dirs.DescribeLogDirsRequest(
            [describe_log_dirs.DescribableLogDirTopic("wide", asked.numbers)]
        ),
    ),
    "create_partitions": (
        3,
        lambda asked: create_partitions.CreatePartitionsRequest(
            [
                create_partitions.CreatePartitionsTopic(name, 2 + (len(asked.numbers) == MANY), None)
                for name in asked.names
            ],
            1000,
        ),
    ),
    "consumer_group_heartbeat": (1, _join_wide),
    "elect_leaders": (
        2,
        lambda asked: elect_leaders.ElectLeadersRequest(
            0, [elect_leaders.TopicPartitions("wide", asked.numbers)]
        ),
    ),
    "alter_partition_reassignments": (
        1,
        lambda asked: alter_partition_reassignments.AlterPartitionReassignmentsRequest(
            topics=[
                alter_partition_reassignments.ReassignableTopic(
                    "wide",
                    [
                        alter_partition_reassignments.ReassignablePartition(number, [0])
                        for number in asked.numbers
                    ],
                )
            ]
        ),
    ),
    "list_partition_reassignments": (
        0,
        lambda asked: list_partition_reassignments.ListPartitionReassignmentsRequest(
            topics=[list_partition_reassignments.ListPartitionReassignmentsTopics("wide", asked.numbers)]
        ),
    ),
    "delete_groups": (2, lambda asked: delete_groups.DeleteGroupsRequest(asked.names)),
    "offset_delete": (0, _offset_delete),
    "describe_producers": (
        0,
        lambda asked: describe_producers.DescribeProducersRequest(
            [describe_producers.TopicRequest("wide", asked.numbers)]
        ),
    ),
    "describe_quorum": (
        2,
        lambda asked: describe_quorum.DescribeQuorumRequest(
            [describe_quorum.TopicData("wide", [describe_quorum.PartitionData(n) for n in asked.numbers])]
        ),
    ),
    "update_features": (
        1,
        lambda asked: update_features.UpdateFeaturesRequest(
            feature_updates=[update_features.FeatureUpdateKey("group.version", 1) for _ in asked.numbers]
        ),
    ),
    "describe_transactions": (
        0,
        lambda asked: describe_transactions.DescribeTransactionsRequest(asked.names),
    ),
    "consumer_group_describe": (
        1,
        lambda asked: consumer_group_describe.ConsumerGroupDescribeRequest(asked.names),
    ),
    "describe_topic_partitions": (
        0,
        lambda asked: describe_topic_partitions.DescribeTopicPartitionsRequest(
            [describe_topic_partitions.TopicRequest(name) for name in asked.names]
        ),
    ),
}
"""By API: a version, and a request that names so many things."""


def _produce_to_topics(asked: Asked) -> Request[Message]:
    records = asked.batch(b"v")
    part = produce.PartitionProduceData(0, records)
    topics = [produce.TopicProduceData(name, partition_data=[part]) for name in asked.names]
    return produce.ProduceRequest(None, -1, 1000, topics)


def _commit_topics(asked: Asked) -> Request[Message]:
    part = offset_commit.OffsetCommitRequestPartition(0, 1)
    topics = [offset_commit.OffsetCommitRequestTopic(name, partitions=[part]) for name in asked.names]
    return offset_commit.OffsetCommitRequest("g", topics=topics)


def _txn_commit_topics(asked: Asked) -> Request[Message]:
    part = txn_offset_commit.TxnOffsetCommitRequestPartition(0, 1)
    topics = [txn_offset_commit.TxnOffsetCommitRequestTopic(name, partitions=[part]) for name in asked.names]
    return txn_offset_commit.TxnOffsetCommitRequest(ID, "g", *asked.producer, topics=topics)


def _offset_fetch_of_topics(asked: Asked) -> Request[Message]:
    topics = [offset_fetch.OffsetFetchRequestTopics(name, partition_indexes=[0]) for name in asked.names]
    return offset_fetch.OffsetFetchRequest(groups=[offset_fetch.OffsetFetchRequestGroup("g", topics=topics)])


def _add_topics(asked: Asked) -> Request[Message]:
    topics = [add_partitions_to_txn.AddPartitionsToTxnTopic(name, [0]) for name in asked.names]
    return add_partitions_to_txn.AddPartitionsToTxnRequest(ID, *asked.producer, topics)


MANY_TOPICS: Final[dict[str, tuple[int, Make]]] = {
    "produce": (9, _produce_to_topics),
    "offset_commit": (8, _commit_topics),
    "txn_offset_commit": (3, _txn_commit_topics),
    "offset_fetch": (8, _offset_fetch_of_topics),
    "add_partitions_to_txn": (3, _add_topics),
}
"""The same for requests that name many topics, each with one partition."""


def _produce_unknown(asked: Asked) -> Request[Message]:
    records = asked.batch(b"v")
    parts = [produce.PartitionProduceData(10_000 + number, records) for number in asked.numbers]
    return produce.ProduceRequest(None, -1, 1000, [produce.TopicProduceData("wide", partition_data=parts)])


def _produce_unknown_ids(asked: Asked) -> Request[Message]:
    part = produce.PartitionProduceData(0, asked.batch(b"v"))
    topics = [produce.TopicProduceData("", UUID(int=1 + one), [part]) for one in asked.numbers]
    return produce.ProduceRequest(None, -1, 1000, topics)


def _join_unknown(asked: Asked) -> Request[Message]:
    """A first member that reads many topics that there are not."""
    return consumer_group_heartbeat.ConsumerGroupHeartbeatRequest(
        f"unknown{next(_GROUPS)}",
        "m",
        0,
        rebalance_timeout_ms=60_000,
        subscribed_topic_names=[f"no-{name}" for name in asked.names],
        topic_partitions=[],
    )


def _amend_a_broker(asked: Asked) -> Request[Message]:
    settings = [incremental_alter_configs.AlterableConfig(f"plugin.{name}", 0, "1") for name in asked.names]
    return incremental_alter_configs.IncrementalAlterConfigsRequest(
        [incremental_alter_configs.AlterConfigsResource(4, "", settings)], validate_only=True
    )


def _create(*topics: create_topics.CreatableTopic) -> Request[Message]:
    return create_topics.CreateTopicsRequest([*topics], 1000, validate_only=True)


def _grow(count: int, by_hand: list[create_partitions.CreatePartitionsAssignment] | None) -> Request[Message]:
    topic = create_partitions.CreatePartitionsTopic("wide", MANY + count, by_hand)
    return create_partitions.CreatePartitionsRequest([topic], 1000, validate_only=True)


MANY_OTHERS: Final[dict[str, tuple[int, Make]]] = {
    "produce to unknown partitions": (9, _produce_unknown),
    "produce to unknown ids": (13, _produce_unknown_ids),
    "consumer_group_heartbeat with unknown topics": (1, _join_unknown),
    "incremental_alter_configs of one broker": (1, _amend_a_broker),
    "describe_configs of one broker": (
        4,
        lambda asked: describe_configs.DescribeConfigsRequest(
            [describe_configs.DescribeConfigsResource(4, "0", asked.names)]
        ),
    ),
    "describe_user_scram_credentials of users": (
        0,
        lambda asked: describe_user_scram_credentials.DescribeUserScramCredentialsRequest(
            [describe_user_scram_credentials.UserName(name) for name in asked.names]
        ),
    ),
    "delete_topics by id": (
        6,
        lambda asked: delete_topics.DeleteTopicsRequest(
            topics=[delete_topics.DeleteTopicState(None, UUID(int=1 + one)) for one in asked.numbers],
            timeout_ms=1000,
        ),
    ),
    "delete_topics that are unknown": (
        5,
        lambda asked: delete_topics.DeleteTopicsRequest(
            topic_names=[f"no-{name}" for name in asked.names], timeout_ms=1000
        ),
    ),
    "create_topics of bad names": (
        7,
        lambda asked: _create(*(create_topics.CreatableTopic(f"no {name}", 1, 1) for name in asked.names)),
    ),
    "create_topics of one name": (
        7,
        lambda asked: _create(*(create_topics.CreatableTopic("same", 1, 1) for _ in asked.names)),
    ),
    "create_topics with partitions": (
        7,
        lambda asked: _create(create_topics.CreatableTopic("one", len(asked.numbers), 1)),
    ),
    "create_topics with partitions by hand": (
        7,
        lambda asked: _create(
            create_topics.CreatableTopic(
                "one", -1, -1, [create_topics.CreatableReplicaAssignment(one, [0]) for one in asked.numbers]
            )
        ),
    ),
    "create_partitions with partitions": (3, lambda asked: _grow(len(asked.numbers), None)),
    "create_partitions with partitions by hand": (
        3,
        lambda asked: _grow(
            len(asked.numbers), [create_partitions.CreatePartitionsAssignment([0]) for _ in asked.numbers]
        ),
    ),
    "offset_fetch": (
        8,
        lambda asked: offset_fetch.OffsetFetchRequest(
            groups=[offset_fetch.OffsetFetchRequestGroup(name, topics=[]) for name in asked.names]
        ),
    ),
}
"""The same for requests that name, or ask for, many of something else."""

OTHERWISE_WIDE: Final = {"topics": MANY_TOPICS, "others": MANY_OTHERS}

OF_ONE_THING: Final = {
    "join_group": "one member of one group",
    "heartbeat": "one member of one group",
    "sync_group": "one group; its members' assignments are written as one record",
    "init_producer_id": "one transactional id",
    "add_offsets_to_txn": "one group",
    "sasl_handshake": "nothing",
    "sasl_authenticate": "nothing",
    "api_versions": "nothing",
    "describe_cluster": "nothing: the brokers of the cluster",
    "describe_acls": "one filter, and is refused",
    "describe_client_quotas": "is refused",
    "describe_user_scram_credentials": "is refused",
    "allocate_producer_ids": "one broker",
    "controlled_shutdown": "one broker: its partitions are moved in steps (`leader_moves`)",
    "envelope": "one request, which is opened, handled and answered in steps",
    "leader_and_isr": "partitions, by a controller: obeyed in steps (`received_orders`)",
    "update_metadata": "topics, by a controller: obeyed in steps",
    "stop_replica": "partitions, by a controller: obeyed in steps",
}
"""What the other APIs name. A request that names many things stands above."""


def _produce_as(producer_id: int) -> Request[Message]:
    """The first batch of a producer."""
    builder = BatchBuilder(producer_id=producer_id, producer_epoch=0, base_sequence=0)
    builder.append(1_700_000_000_000, None, b"v")
    part = produce.PartitionProduceData(0, bytes(builder.build()))
    return produce.ProduceRequest(None, 1, 1000, [produce.TopicProduceData("t", partition_data=[part])])


def _join_classic(name: str) -> Request[Message]:
    """A static member, which is in its group before that has a generation."""
    return join_group.JoinGroupRequest(
        "classic", 60_000, 60_000, "", name, "consumer", [join_group.JoinGroupRequestProtocol("range", b"m")]
    )


def _join_consumers(name: str) -> Request[Message]:
    return consumer_group_heartbeat.ConsumerGroupHeartbeatRequest(
        "consumers", name, 0, rebalance_timeout_ms=60_000, subscribed_topic_names=["t"], topic_partitions=[]
    )


STORED: Final[dict[str, tuple[Request[Message], int, Callable[[str], Request[Message]]]]] = {
    "list_groups": (
        list_groups.ListGroupsRequest(),
        8,
        lambda name: offset_commit.OffsetCommitRequest(
            name,
            topics=[
                offset_commit.OffsetCommitRequestTopic(
                    "t", partitions=[offset_commit.OffsetCommitRequestPartition(0, 1)]
                )
            ],
        ),
    ),
    "list_transactions": (
        list_transactions.ListTransactionsRequest(),
        4,
        lambda name: init_producer_id.InitProducerIdRequest(name, 60_000),
    ),
    "elect_leaders": (
        elect_leaders.ElectLeadersRequest(0, None),
        7,
        lambda name: create_topics.CreateTopicsRequest([create_topics.CreatableTopic(name, 1, 1)], 1000),
    ),
    "list_config_resources": (
        list_config_resources.ListConfigResourcesRequest(),
        7,
        lambda name: create_topics.CreateTopicsRequest([create_topics.CreatableTopic(name, 1, 1)], 1000),
    ),
    "describe_producers": (
        describe_producers.DescribeProducersRequest([describe_producers.TopicRequest("t", [0])]),
        9,
        lambda name: _produce_as(int(name.removeprefix("describe_producers"))),
    ),
    "describe_groups": (describe_groups.DescribeGroupsRequest(["classic"]), 5, _join_classic),
    "consumer_group_describe": (
        consumer_group_describe.ConsumerGroupDescribeRequest(["consumers"]),
        1,
        _join_consumers,
    ),
}
"""What names little and lists all that is stored: the request, and what stores one thing more, with its
version."""


@pytest.fixture(scope="module")
def node() -> Iterator[SimNode]:
    """A node with a wide topic, many topics, a group that has committed, and a transactional id.

    At its end the collector is as `conftest` has left it (`most_freed_of`).
    """
    node = World().node(offsets_topic_num_partitions="2", transaction_state_log_num_partitions="2")
    topics = [create_topics.CreatableTopic(f"t{number}", 1, 1) for number in range(MANY)]
    topics.append(create_topics.CreatableTopic("wide", MANY, 1))
    node.ask(create_topics.CreateTopicsRequest(topics, timeout_ms=1000))
    node.ask(find_coordinator.FindCoordinatorRequest(coordinator_keys=["g"]), 4)
    node.ask(find_coordinator.FindCoordinatorRequest(key_type=1, coordinator_keys=[ID]), 4)
    node.settle()
    node.short_clock = CountedTime()
    yield node
    gc.unfreeze()
    gc.collect()
    gc.freeze()


class Calls:
    """Counts calls of functions while it is at work."""

    def __init__(self) -> None:
        self.count = 0

    def _note(self, frame: FrameType, event: str, argument: object) -> None:
        if event in ("call", "c_call"):
            self.count += 1

    def unseen(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """What another thread does."""

        def called(*given: Any, **named: Any) -> Any:
            seen = sys.getprofile()
            sys.setprofile(None)
            try:
                return call(*given, **named)
            finally:
                sys.setprofile(seen)

        return called

    def of(self, step: Callable[[], Any]) -> int:
        self.count = 0
        sys.setprofile(self._note)
        try:
            step()
        finally:
            sys.setprofile(None)
        return self.count


def longest_step(
    node: SimNode,
    api: str,
    count: int,
    batch: Callable[..., bytes],
    requests: Mapping[str, tuple[int, Make]] = WIDE,
) -> int:
    """The calls of the longest step of a request that names `count` things, and of all that follows."""
    request = prepared(node, api, count, batch, requests)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("odradek.wire.message.ELEMENTS_AT_ONCE_MAX", DECODED_AT_ONCE_MAX)
        calls, engine = Calls(), node.store.engine
        patched.setattr(engine, "apply", calls.unseen(engine.apply))
        return longest_of(node, request, requests[api][0], calls)


def most_freed(
    node: SimNode,
    api: str,
    count: int,
    batch: Callable[..., bytes],
    requests: Mapping[str, tuple[int, Make]] = WIDE,
) -> int:
    """The most blocks of memory that a step of such a request gives back, or one of all that follows."""
    request = prepared(node, api, count, batch, requests)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("odradek.wire.message.ELEMENTS_AT_ONCE_MAX", DECODED_AT_ONCE_MAX)
        return most_freed_of(node, request, requests[api][0])


def prepared(
    node: SimNode, api: str, count: int, batch: Callable[..., bytes], requests: Mapping[str, tuple[int, Make]]
) -> Request[Message]:
    """The request, once the node has what it needs."""
    node.settle()
    answer = node.ask(init_producer_id.InitProducerIdRequest(ID, 60_000))
    while answer.error_code:
        node.settle()
        answer = node.ask(init_producer_id.InitProducerIdRequest(ID, 60_000))
    node.ask(_commit(Asked([*range(MANY)], batch, (0, 0))), 8)
    asked = Asked([*range(count)], batch, (answer.producer_id, answer.producer_epoch))
    if api == "end_txn":
        node.ask(_add_partitions(asked), 3)
    if api == "delete_topics":
        doomed = [create_topics.CreatableTopic(f"gone{number}", 1, 1) for number in asked.numbers]
        node.ask(create_topics.CreateTopicsRequest(doomed, timeout_ms=1000))
    node.settle()
    return requests[api][1](asked)


def longest_of(node: SimNode, request: Request[Message], version: int, calls: Calls) -> int:
    """The calls of the longest step until nothing is left to do."""
    node.send(request, version)
    longest = 0
    has_more = True

    def step() -> None:
        nonlocal has_more
        has_more = node.world.step()

    while has_more:
        longest = max(longest, calls.of(step))
    return longest


def most_freed_of(node: SimNode, request: Request[Message], version: int) -> int:
    """The same until nothing is left to do."""
    gc.collect()
    gc.freeze()  # the node grows, and half of the time went into looking through all of it each time
    gc.disable()  # what it finds is no step's
    try:
        node.send(request, version)
        del request
        most, held = 0, sys.getallocatedblocks()
        while node.world.step():
            before, held = held, sys.getallocatedblocks()
            most = max(most, before - held)
        return most
    finally:
        gc.enable()


def test_every_handler_is_held_to_it() -> None:
    served = {row.module for row in INDEX}
    assert sorted({*WIDE, *OF_ONE_THING, *STORED}) == sorted(served)


@pytest.mark.parametrize("api", WIDE)
def test_the_longest_step_hardly_grows_with_what_is_named(
    api: str, node: SimNode, batch: Callable[..., bytes]
) -> None:
    longest_step(node, api, 20, batch)  # what is loaded or looked up once
    few, many = longest_step(node, api, FEW, batch), longest_step(node, api, MANY, batch)
    assert many <= LONGEST_CALLS_MAX.get(api, LONGEST_CALLS_USUAL_MAX)
    grown = (many - few) / (MANY - FEW)
    assert grown <= CALLS_PER_ITEM_MAX.get(api, CALLS_PER_ITEM_USUAL_MAX), f"{few}, then {many} calls"


@pytest.mark.parametrize(
    ("api", "requests"),
    [
        pytest.param(api, requests, id=f"{api}-{what}")
        for what, requests in OTHERWISE_WIDE.items()
        for api in requests
    ],
)
def test_the_longest_step_does_not_grow_with_other_things_either(
    api: str, requests: Mapping[str, tuple[int, Make]], node: SimNode, batch: Callable[..., bytes]
) -> None:
    longest_step(node, api, 20, batch, requests)
    few, many = (longest_step(node, api, count, batch, requests) for count in (FEW, MANY))
    calls_max = CALLS_PER_RECORDED_MAX.get(api, CALLS_PER_ITEM_USUAL_MAX)
    assert (many - few) / (MANY - FEW) <= calls_max, f"{few}, then {many} calls"


ALL: Final = [
    pytest.param(api, requests, id=api if requests is WIDE else f"{api}-{what}")
    for what, requests in {"named": WIDE, **OTHERWISE_WIDE}.items()
    for api in requests
]


@pytest.mark.parametrize(("api", "requests"), ALL)
def test_what_a_step_frees_hardly_grows(
    api: str, requests: Mapping[str, tuple[int, Make]], node: SimNode, batch: Callable[..., bytes]
) -> None:
    most_freed(node, api, 20, batch, requests)
    few, many = (most_freed(node, api, count, batch, requests) for count in (FEW, MANY))
    blocks_max = FREED_PER_ITEM_MAX.get(api, FREED_PER_ITEM_USUAL_MAX)
    assert (many - few) / (MANY - FEW) <= blocks_max, f"{few}, then {many} blocks"


@pytest.mark.parametrize(("api", "requests"), ALL)
def test_the_longest_step_of_a_refusal_does_not_grow(
    api: str,
    requests: Mapping[str, tuple[int, Make]],
    node: SimNode,
    batch: Callable[..., bytes],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A handler that fails has its request refused, with an error for each thing that it names."""

    def fail(*_: object) -> None:
        raise ApiError(ErrorCode.KAFKA_STORAGE_ERROR)

    monkeypatch.setattr("odradek.wire.message.ELEMENTS_AT_ONCE_MAX", DECODED_AT_ONCE_MAX)
    version, make = requests[api]
    found = [make(Asked([*range(count)], batch, (0, 0))) for count in (20, FEW, MANY) for _ in "ab"]
    handler = node.handlers.get(found[0].API_KEY)
    assert handler is not None
    monkeypatch.setattr(handler, "handle", fail)
    calls = [longest_of(node, request, version, Calls()) for request in found[::2]]
    blocks = [most_freed_of(node, request, version) for request in found[1::2]]
    assert (calls[2] - calls[1]) / (MANY - FEW) <= CALLS_PER_ITEM_USUAL_MAX, f"{calls} calls"
    assert (blocks[2] - blocks[1]) / (MANY - FEW) <= FREED_PER_ITEM_USUAL_MAX, f"{blocks} blocks"


@pytest.mark.parametrize("api", STORED)
def test_the_longest_step_hardly_grows_with_what_is_stored(api: str) -> None:
    node = World().node(offsets_topic_num_partitions="2", transaction_state_log_num_partitions="2")
    node.ask(create_topics.CreateTopicsRequest([create_topics.CreatableTopic("t", 1, 1)], timeout_ms=1000))
    node.ask(find_coordinator.FindCoordinatorRequest(coordinator_keys=["g"]), 4)
    node.ask(find_coordinator.FindCoordinatorRequest(key_type=1, coordinator_keys=[ID]), 4)
    node.settle()
    node.short_clock = CountedTime()
    listing, version, one_more = STORED[api]
    longest, stored = [], 0
    for count in (FEW, FEW, MANY):  # at first it is loaded or looked up
        for number in range(stored, count):
            node.send(one_more(f"{api}{number}"), version)  # a join waits for the other members
            node.settle()
        stored = count
        node.settle()
        longest.append(longest_of(node, listing, type(listing).VERSIONS.highest, Calls()))
    _, few, many = longest
    assert many <= LONGEST_CALLS_USUAL_MAX
    calls_max = CALLS_PER_MEMBER_MAX if api == "describe_groups" else CALLS_PER_STORED_MAX
    assert (many - few) / (MANY - FEW) <= calls_max, f"{few}, then {many} calls"
    answer = node.ask(listing)
    listed: dict[str, Callable[[Any], list[object]]] = {
        "list_groups": lambda answer: answer.groups,
        "list_transactions": lambda answer: answer.transaction_states,
        "elect_leaders": lambda answer: answer.replica_election_results,
        "list_config_resources": lambda answer: answer.config_resources,
        "describe_producers": lambda answer: answer.topics[0].partitions[0].active_producers,
        "describe_groups": lambda answer: answer.groups[0].members,
        "consumer_group_describe": lambda answer: answer.groups[0].members,
    }
    assert len(listed[api](answer)) >= MANY


@pytest.mark.parametrize("api", ["create_partitions", "alter_configs", "incremental_alter_configs"])
def test_a_forwarded_request_has_no_longer_steps(api: str, batch: Callable[..., bytes]) -> None:
    """R17: at the broker that forwards it, and at the controller."""
    world = World(brokers=2)
    (asked,) = [node for node in world.nodes.values() if not node.core.controller.is_active]
    for node in world.nodes.values():
        node.short_clock = CountedTime()
    version, make = WIDE[api]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("odradek.wire.message.ELEMENTS_AT_ONCE_MAX", DECODED_AT_ONCE_MAX)
        calls, engine = Calls(), asked.store.engine
        patched.setattr(engine, "apply", calls.unseen(engine.apply))
        _, few, many = (
            longest_of(asked, make(Asked([*range(count)], batch, (0, 0))), version, calls)
            for count in (20, FEW, MANY)
        )
    assert many <= LONGEST_CALLS_MAX.get(api, LONGEST_CALLS_USUAL_MAX)
    grown = (many - few) / (MANY - FEW)
    assert grown <= CALLS_PER_ITEM_MAX.get(api, CALLS_PER_ITEM_USUAL_MAX), f"{few}, then {many} calls"
