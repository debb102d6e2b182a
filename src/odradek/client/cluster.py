"""Queries of a reader about the cluster: topics, their leaders, and their first and last offsets."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import OdradekError
from odradek.base.ids import TopicPartition
from odradek.net.blocking_connection import BrokerConnection
from odradek.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from odradek.wire.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse

METADATA_VERSION_MAX = 9
LIST_OFFSETS_VERSION_MAX = 6
ISOLATION_LEVELS = {"read_uncommitted": 0, "read_committed": 1}

# The timestamps that ask for a log's end and for its start.
LATEST = -1
EARLIEST = -2

Address = tuple[str, int]
# An offset for each of some partitions.
Offsets = dict[TopicPartition, int]


@dataclass(frozen=True, slots=True)
class Leaders:
    """The state of some topics at one moment."""

    # Topic to its number of partitions.
    counts: dict[str, int]
    # Partition to the address of its leader; partitions without a leader are missing.
    addresses: dict[TopicPartition, Address]


def fetch_leaders(connection: BrokerConnection, topics: Sequence[str] | None) -> Leaders:
    """Returns the leaders of `topics`, or of all topics; unknown ones are left out."""
    version = connection.version_of(MetadataRequest, METADATA_VERSION_MAX)
    wanted = None if topics is None else [MetadataRequestTopic(name=name) for name in topics]
    request = MetadataRequest(topics=wanted, allow_auto_topic_creation=False)
    answer = connection.call(request, MetadataResponse, version)
    brokers = {broker.node_id: (broker.host, broker.port) for broker in answer.brokers}
    leaders = Leaders({}, {})
    for topic in answer.topics:
        if topic.error_code != ErrorCode.NONE or topic.name is None:
            continue
        leaders.counts[topic.name] = len(topic.partitions)
        for partition in topic.partitions:
            if partition.leader_id in brokers:
                key = TopicPartition(topic.name, partition.partition_index)
                leaders.addresses[key] = brokers[partition.leader_id]
    return leaders


def list_offsets(
    leaders: Leaders, timestamp: int, partitions: Sequence[TopicPartition], isolation: str
) -> Offsets:
    """The offset of `timestamp` (or EARLIEST, LATEST) in each partition, requested from its leader.

    Raises OdradekError for a partition without a leader, or when a leader refuses.
    """
    by_address: dict[Address, list[TopicPartition]] = defaultdict(list)
    for partition in partitions:
        if partition not in leaders.addresses:
            raise OdradekError(f"{partition} has no leader")
        by_address[leaders.addresses[partition]].append(partition)
    found: Offsets = {}
    for (host, port), asked in by_address.items():
        with BrokerConnection(host, port) as connection:
            found.update(list_offsets_of_leader(connection, timestamp, asked, isolation))
    return found


def list_offsets_of_leader(
    connection: BrokerConnection, timestamp: int, partitions: Sequence[TopicPartition], isolation: str
) -> Offsets:
    """`list_offsets` of partitions that this one broker leads; raises OdradekError when it refuses."""
    by_topic: dict[str, list[ListOffsetsPartition]] = defaultdict(list)
    for topic, number in partitions:
        by_topic[topic].append(ListOffsetsPartition(partition_index=number, timestamp=timestamp))
    request = ListOffsetsRequest(
        replica_id=-1,
        isolation_level=ISOLATION_LEVELS[isolation],
        topics=[ListOffsetsTopic(name=topic, partitions=asked) for topic, asked in by_topic.items()],
    )
    version = connection.version_of(ListOffsetsRequest, LIST_OFFSETS_VERSION_MAX)
    found: Offsets = {}
    for one in connection.call(request, ListOffsetsResponse, version).topics:
        for answer in one.partitions:
            key = TopicPartition(one.name, answer.partition_index)
            if answer.error_code != ErrorCode.NONE:
                raise OdradekError(f"no offsets of {key}: {ErrorCode(answer.error_code).name}")
            found[key] = answer.offset
    return found
