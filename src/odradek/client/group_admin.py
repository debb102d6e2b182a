"""The admin client for groups: their members, committed offsets and lag.

Requests about a group go to its coordinator, which FindCoordinator names; ListGroups goes to every broker.
"""

from collections.abc import Mapping, Sequence

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.ids import TopicPartition
from odradek.client.admin_connection import AdminConnection, CoordinatorKey, Missing, patient
from odradek.client.cluster import LATEST, Offsets, fetch_leaders, list_offsets
from odradek.client.core.admin.groups import (
    DESCRIBE_VERSION_MAX,
    OFFSET_COMMIT_VERSION_MAX,
    OFFSET_FETCH_VERSION_MAX,
    GroupListing,
    classic_group_of,
    commit_request,
    committed_offsets,
    consumer_group_of,
    listed_groups,
    offset_deletion,
    raise_for_commit,
    raise_for_deletion,
    raise_for_offset_deletion,
)
from odradek.client.core.admin.lag import Lag
from odradek.client.group_description import GroupDescription
from odradek.net.blocking_connection import BrokerConnection
from odradek.wire.message import Message
from odradek.wire.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
)
from odradek.wire.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from odradek.wire.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from odradek.wire.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from odradek.wire.messages.offset_commit import (
    OffsetCommitResponse,
)
from odradek.wire.messages.offset_delete import (
    OffsetDeleteResponse,
)
from odradek.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse


class GroupAdmin(AdminConnection):
    """Raises ApiError for refusals, ConnectionFailed when no broker answers."""

    @patient
    def list_groups(self, missing: Missing | None = None) -> list[GroupListing]:
        """The groups of the cluster, by name: each broker lists those that it coordinates.

        Those of a broker that does not answer are left out, and the broker is put into `missing`; without
        `missing` that raises ConnectionFailed.
        """

        def listed(connection: BrokerConnection) -> list[GroupListing]:
            return listed_groups(connection.ask(ListGroupsRequest(), ListGroupsResponse))

        return sorted(self._ask_brokers(listed, missing), key=lambda one: one.group)

    @patient
    def describe(self, group: str) -> GroupDescription:
        """A group's state and members, of either protocol."""
        with self._coordinator(CoordinatorKey.GROUP, group) as connection:
            return _consumer_group(connection, group) or _classic_group(connection, group)

    @patient
    def committed(self, group: str) -> Offsets:
        """All committed offsets of a group, by partition."""
        with self._coordinator(CoordinatorKey.GROUP, group) as connection:
            request = OffsetFetchRequest(group_id=group, topics=None)
            answer = connection.ask(request, OffsetFetchResponse, OFFSET_FETCH_VERSION_MAX)
        return committed_offsets(answer, group)

    def lag(self, group: str) -> list[Lag]:
        """Returns the lag of each partition that the group has committed or that is assigned to a member."""
        members = {
            partition: member for member in self.describe(group).members for partition in member.partitions
        }
        committed = self.committed(group)
        wanted = sorted(committed.keys() | members.keys())
        leaders = fetch_leaders(self._connection, sorted({partition.topic for partition in wanted}))
        led = [partition for partition in wanted if partition in leaders.addresses]
        ends = list_offsets(leaders, LATEST, led, "read_uncommitted", self.config.connect)
        rows = []
        for partition in led:
            member = members.get(partition)
            name, client = (None, None) if member is None else (member.member, member.client)
            rows.append(Lag(partition, committed.get(partition), ends[partition], name, client))
        return rows

    def partitions_of(self, topics: Sequence[str]) -> list[TopicPartition]:
        """All partitions of these topics. Raises ApiError for a topic that does not exist."""
        leaders = fetch_leaders(self._connection, topics)
        for topic in topics:
            if topic not in leaders.counts:
                raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {topic}")
        return [TopicPartition(topic, number) for topic in topics for number in range(leaders.counts[topic])]

    def offsets_of(self, partitions: Sequence[TopicPartition], timestamp: int) -> Offsets:
        """The offset of EARLIEST, LATEST or a time in ms in each partition; -1 if no record is that late."""
        leaders = fetch_leaders(self._connection, sorted({one.topic for one in partitions}))
        return list_offsets(leaders, timestamp, partitions, "read_uncommitted", self.config.connect)

    def coordinator_of(self, group: str, *, wait_ms: int = 0) -> BrokerConnection:
        """Returns a new connection to the group's coordinator; the caller closes it.

        `wait_ms` is how long its answers may take, where that is longer than the configuration says.
        """
        return self._coordinator(CoordinatorKey.GROUP, group, wait_ms=wait_ms)

    def partition_counts(self, topics: Sequence[str]) -> dict[str, int]:
        """The number of partitions of each of these topics; those that do not exist are left out."""
        return fetch_leaders(self._connection, topics).counts

    def serves(self, request: type[Message]) -> bool:
        """Whether the broker at the bootstrap address serves an API."""
        return self._connection.serves(request)

    @patient
    def commit(
        self, group: str, offsets: Mapping[TopicPartition, int], *, member: str = "", epoch: int = -1
    ) -> None:
        """Set a group's committed offsets: as a member in its epoch, or while the group has no members."""
        request = commit_request(group, offsets, member, epoch)
        with self._coordinator(CoordinatorKey.GROUP, group) as connection:
            answer = connection.ask(request, OffsetCommitResponse, OFFSET_COMMIT_VERSION_MAX)
        raise_for_commit(answer, group, member)

    @patient
    def delete_offsets(self, group: str, partitions: Sequence[TopicPartition]) -> None:
        """Delete a group's committed offsets of these partitions.

        Raises ApiError for the first partition that refuses; in the others the offsets are then deleted.
        """
        with self._coordinator(CoordinatorKey.GROUP, group) as connection:
            answer = connection.ask(offset_deletion(group, partitions), OffsetDeleteResponse)
        raise_for_offset_deletion(answer, group)

    @patient
    def delete(self, group: str) -> None:
        """Delete a group without members, with its offsets."""
        with self._coordinator(CoordinatorKey.GROUP, group) as connection:
            answer = connection.ask(DeleteGroupsRequest(groups_names=[group]), DeleteGroupsResponse)
        raise_for_deletion(answer, group)


def _consumer_group(connection: BrokerConnection, group: str) -> GroupDescription | None:
    """Returns a group of the consumer protocol; None if it uses another, or the broker does not serve it."""
    if not connection.serves(ConsumerGroupDescribeRequest):
        return None
    request = ConsumerGroupDescribeRequest(group_ids=[group])
    return consumer_group_of(connection.ask(request, ConsumerGroupDescribeResponse), group)


def _classic_group(connection: BrokerConnection, group: str) -> GroupDescription:
    request = DescribeGroupsRequest(groups=[group])
    return classic_group_of(connection.ask(request, DescribeGroupsResponse, DESCRIBE_VERSION_MAX), group)
