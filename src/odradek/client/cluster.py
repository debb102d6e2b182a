"""Queries of a reader about the cluster: topics, their leaders, and their first and last offsets."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from odradek.base.error_codes import ErrorCode, known_code
from odradek.base.errors import ApiError, OdradekError
from odradek.base.ids import TopicId, TopicPartition
from odradek.base.topic_names import fault_in_name
from odradek.client.bootstrap import Address
from odradek.client.choices import ISOLATION_LEVELS
from odradek.client.configuration import ClientConfig
from odradek.client.refusal import raise_for
from odradek.net.blocking_connection import BrokerConnection
from odradek.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from odradek.wire.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse

METADATA_VERSION_MAX = 12
LIST_OFFSETS_VERSION_MAX = 7

Connect = Callable[[Address], BrokerConnection]
_DEFAULTS = ClientConfig()
# Errors of a topic that waiting does not cure.
_NEVER = {ErrorCode.TOPIC_AUTHORIZATION_FAILED}
# An offset for each of some partitions.
Offsets = dict[TopicPartition, int]


@dataclass(frozen=True, slots=True)
class Leaders:
    """The state of some topics at one moment."""

    # Topic to its number of partitions.
    counts: dict[str, int]
    # Partition to the address of its leader; partitions without a leader are missing.
    addresses: dict[TopicPartition, Address]
    # Topic to its id; zero where the broker does not know ids.
    topic_ids: dict[str, TopicId] = field(default_factory=dict)
    # Why topics are not there: UNKNOWN_TOPIC_OR_PARTITION, LEADER_NOT_AVAILABLE while one is made, ...
    absent: dict[str, ErrorCode] = field(default_factory=dict)


def fetch_leaders(
    connection: BrokerConnection, topics: Sequence[str] | None, *, may_create: bool = False
) -> Leaders:
    """Returns the leaders of `topics`, or of all topics; unknown ones are left out.

    `may_create` lets the broker make those that are missing, where its settings allow it. Raises ApiError for
    a name that no topic may have.
    """
    version = connection.version_of(MetadataRequest, METADATA_VERSION_MAX)
    wanted = None if topics is None else [MetadataRequestTopic(name=name) for name in topics]
    request = MetadataRequest(topics=wanted, allow_auto_topic_creation=may_create)
    answer = connection.call(request, MetadataResponse, version)
    brokers = {broker.node_id: (broker.host, broker.port) for broker in answer.brokers}
    leaders = Leaders({}, {})
    for topic in answer.topics:
        code = known_code(topic.error_code)
        if code is ErrorCode.INVALID_TOPIC_EXCEPTION:
            raise ApiError(code, fault_in_name(topic.name or "") or f"topic {topic.name} is refused")
        if code in _NEVER:
            raise_for(topic.error_code, about=f"topic {topic.name}")
        if topic.name is None:
            continue
        if code is not ErrorCode.NONE:
            leaders.absent[topic.name] = code
            continue
        leaders.counts[topic.name] = len(topic.partitions)
        leaders.topic_ids[topic.name] = topic.topic_id
        for partition in topic.partitions:
            if partition.leader_id in brokers:
                key = TopicPartition(topic.name, partition.partition_index)
                leaders.addresses[key] = brokers[partition.leader_id]
    return leaders


def list_offsets(
    leaders: Leaders,
    timestamp: int,
    partitions: Sequence[TopicPartition],
    isolation: str,
    connect: Connect = _DEFAULTS.connect,
) -> Offsets:
    """The offset of `timestamp` (or EARLIEST, LATEST) in each partition, requested from its leader.

    -1 in a partition that has no record of that time or later.

    Raises OdradekError for a partition without a leader, or when a leader refuses.
    """
    by_address: dict[Address, list[TopicPartition]] = defaultdict(list)
    for partition in partitions:
        if partition not in leaders.addresses:
            raise OdradekError(f"{partition} has no leader")
        by_address[leaders.addresses[partition]].append(partition)
    found: Offsets = {}
    for address, asked in by_address.items():
        with connect(address) as connection:
            found.update(list_offsets_of_leader(connection, timestamp, asked, isolation))
    return found


def list_offsets_of_leader(
    connection: BrokerConnection, timestamp: int, partitions: Sequence[TopicPartition], isolation: str
) -> Offsets:
    """`list_offsets` of partitions that this one broker leads; raises ApiError when it refuses."""
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
                code = known_code(answer.error_code)
                raise ApiError(code, f"no offsets of {key}: {code.name}")
            found[key] = answer.offset
    return found
