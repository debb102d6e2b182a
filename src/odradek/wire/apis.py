"""Every API by its key: its name, its messages, and the versions that are encoded and decoded.

It must not know what a broker serves or advertises: the handlers declare that. A message module is imported
on first use, so a starting broker imports none of them.
"""

from functools import cache
from importlib import import_module
from typing import Final

from odradek.base.values import value
from odradek.wire.message import Message
from odradek.wire.snake_case import snake_case
from odradek.wire.versions import VERSION_LIMIT, Versions

# The one API that is always answered with the oldest response header.
API_VERSIONS: Final = 18


@value
class Api:
    """One API of Kafka's protocol."""

    key: int
    # As Kafka names it, without "Request": "OffsetForLeaderEpoch".
    name: str
    # What requests and responses are decoded and encoded in.
    versions: Versions
    # The first version with compact lengths and tagged fields, in the headers too; VERSION_LIMIT: none.
    flexible_from: int
    # For the inter-broker listener alone: StopReplica deletes data.
    inter_broker_only: bool = False

    @property
    def snake_name(self) -> str:
        """What its module, its field table and its handler are called: `offset_for_leader_epoch`."""
        return snake_case(self.name)

    @property
    def request_class(self) -> type[Message]:
        """The request's class."""
        return _message_class(self.name, "Request")

    @property
    def response_class(self) -> type[Message]:
        """The response's class."""
        return _message_class(self.name, "Response")


@cache
def _message_class(name: str, kind: str) -> type[Message]:
    found: type[Message] = getattr(import_module(f"odradek.wire.messages.{snake_case(name)}"), name + kind)
    return found


def _api(key: int, name: str, lowest: int, highest: int, flexible: int = VERSION_LIMIT) -> Api:
    return Api(key, name, Versions(lowest, highest), flexible)


def _control(key: int, name: str, lowest: int, highest: int, flexible: int = VERSION_LIMIT) -> Api:
    return Api(key, name, Versions(lowest, highest), flexible, inter_broker_only=True)


_ALL: Final = (
    _api(0, "Produce", 3, 13, flexible=9),
    _api(1, "Fetch", 4, 18, flexible=12),
    _api(2, "ListOffsets", 1, 11, flexible=6),
    _api(3, "Metadata", 0, 13, flexible=9),
    _control(4, "LeaderAndIsr", 7, 7, flexible=4),
    _control(5, "StopReplica", 4, 4, flexible=2),
    _control(6, "UpdateMetadata", 8, 8, flexible=6),
    _control(7, "ControlledShutdown", 3, 3, flexible=3),
    _api(8, "OffsetCommit", 2, 10, flexible=8),
    _api(9, "OffsetFetch", 1, 10, flexible=6),
    _api(10, "FindCoordinator", 0, 6, flexible=3),
    _api(11, "JoinGroup", 0, 9, flexible=6),
    _api(12, "Heartbeat", 0, 4, flexible=4),
    _api(13, "LeaveGroup", 0, 5, flexible=4),
    _api(14, "SyncGroup", 0, 5, flexible=4),
    _api(15, "DescribeGroups", 0, 6, flexible=5),
    _api(16, "ListGroups", 0, 5, flexible=3),
    _api(17, "SaslHandshake", 0, 1),
    _api(18, "ApiVersions", 0, 5, flexible=3),
    _api(19, "CreateTopics", 2, 7, flexible=5),
    _api(20, "DeleteTopics", 1, 6, flexible=4),
    _api(21, "DeleteRecords", 0, 2, flexible=2),
    _api(22, "InitProducerId", 0, 5, flexible=2),
    _api(23, "OffsetForLeaderEpoch", 2, 4, flexible=4),
    _api(24, "AddPartitionsToTxn", 0, 5, flexible=3),
    _api(25, "AddOffsetsToTxn", 0, 4, flexible=3),
    _api(26, "EndTxn", 0, 5, flexible=3),
    _api(27, "WriteTxnMarkers", 1, 2, flexible=1),
    _api(28, "TxnOffsetCommit", 0, 6, flexible=3),
    _api(29, "DescribeAcls", 1, 3, flexible=2),
    _api(30, "CreateAcls", 1, 3, flexible=2),
    _api(31, "DeleteAcls", 1, 3, flexible=2),
    _api(32, "DescribeConfigs", 1, 4, flexible=4),
    _api(33, "AlterConfigs", 0, 2, flexible=2),
    _api(34, "AlterReplicaLogDirs", 1, 2, flexible=2),
    _api(35, "DescribeLogDirs", 1, 5, flexible=2),
    _api(36, "SaslAuthenticate", 0, 2, flexible=2),
    _api(37, "CreatePartitions", 0, 3, flexible=2),
    _api(42, "DeleteGroups", 0, 3, flexible=2),
    _api(43, "ElectLeaders", 0, 2, flexible=2),
    _api(44, "IncrementalAlterConfigs", 0, 1, flexible=1),
    _api(45, "AlterPartitionReassignments", 0, 1, flexible=0),
    _api(46, "ListPartitionReassignments", 0, 0, flexible=0),
    _api(47, "OffsetDelete", 0, 0),
    _api(48, "DescribeClientQuotas", 0, 1, flexible=1),
    _api(49, "AlterClientQuotas", 0, 1, flexible=1),
    _api(50, "DescribeUserScramCredentials", 0, 0, flexible=0),
    _api(51, "AlterUserScramCredentials", 0, 0, flexible=0),
    _api(55, "DescribeQuorum", 0, 2, flexible=0),
    _api(57, "UpdateFeatures", 0, 2, flexible=0),
    _control(58, "Envelope", 0, 0, flexible=0),
    _api(60, "DescribeCluster", 0, 2, flexible=0),
    _api(61, "DescribeProducers", 0, 0, flexible=0),
    _api(65, "DescribeTransactions", 0, 0, flexible=0),
    _api(66, "ListTransactions", 0, 2, flexible=0),
    _control(67, "AllocateProducerIds", 0, 0, flexible=0),
    _api(68, "ConsumerGroupHeartbeat", 0, 1, flexible=0),
    _api(69, "ConsumerGroupDescribe", 0, 1, flexible=0),
    _api(74, "ListConfigResources", 0, 1, flexible=0),
    _api(75, "DescribeTopicPartitions", 0, 0, flexible=0),
    _api(76, "ShareGroupHeartbeat", 1, 1, flexible=1),
    _api(77, "ShareGroupDescribe", 1, 1, flexible=1),
    _api(78, "ShareFetch", 1, 2, flexible=1),
    _api(79, "ShareAcknowledge", 1, 2, flexible=1),
)

APIS: Final[dict[int, Api]] = {api.key: api for api in _ALL}
