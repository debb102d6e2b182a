"""The admin client for groups: their members, committed offsets and lag.

Requests about a group go to its coordinator, which FindCoordinator names; ListGroups goes to every broker.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.ids import TopicPartition
from odradek.client.admin_connection import AdminConnection, CoordinatorKey, Missing, patient
from odradek.client.cluster import LATEST, Offsets, fetch_leaders, list_offsets
from odradek.client.group_description import GroupDescription, of_classic_group, of_consumer_group
from odradek.client.refusal import known_code, raise_for
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
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from odradek.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
)
from odradek.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse

# The versions whose layout names one group; later ones can name several.
_OFFSET_FETCH_VERSION_MAX = 7
# The last version that names topics by name; later ones only name them by id.
_OFFSET_COMMIT_VERSION_MAX = 9
_DESCRIBE_VERSION_MAX = 5


@dataclass(frozen=True, slots=True)
class GroupListing:
    """One group of a list; state and type are empty where the broker does not return them."""

    group: str
    state: str
    kind: str
    protocol_type: str


@dataclass(frozen=True, slots=True)
class Lag:
    """How far a group's committed offset lies behind the end of a partition."""

    partition: TopicPartition
    # None where a member has the partition and nothing is committed yet.
    committed: int | None
    end: int
    # The member that the partition is assigned to, if any.
    member: str | None
    client: str | None

    @property
    def records(self) -> int | None:
        """The number of offsets between them; None where nothing is committed."""
        return None if self.committed is None else max(0, self.end - self.committed)


class GroupAdmin(AdminConnection):
    """Raises ApiError for refusals, ConnectionFailed when no broker answers."""

    @patient
    def list_groups(self, missing: Missing | None = None) -> list[GroupListing]:
        """The groups of the cluster, by name: each broker lists those that it coordinates.

        Those of a broker that does not answer are left out, and the broker is put into `missing`; without
        `missing` that raises ConnectionFailed.
        """

        def listed(connection: BrokerConnection) -> list[GroupListing]:
            answer = connection.ask(ListGroupsRequest(), ListGroupsResponse)
            raise_for(answer.error_code, about="listing groups")
            return [
                GroupListing(one.group_id, one.group_state, one.group_type, one.protocol_type)
                for one in answer.groups
            ]

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
            answer = connection.ask(request, OffsetFetchResponse, _OFFSET_FETCH_VERSION_MAX)
        raise_for(answer.error_code, about=f"group {group}")
        return {
            TopicPartition(topic.name, one.partition_index): one.committed_offset
            for topic in answer.topics
            for one in topic.partitions
            if one.committed_offset >= 0
        }

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
        by_topic: dict[str, list[OffsetCommitRequestPartition]] = defaultdict(list)
        for (topic, number), offset in sorted(offsets.items()):
            by_topic[topic].append(
                OffsetCommitRequestPartition(
                    partition_index=number, committed_offset=offset, committed_metadata=""
                )
            )
        request = OffsetCommitRequest(
            group_id=group,
            member_id=member,
            generation_id_or_member_epoch=epoch,
            topics=[
                OffsetCommitRequestTopic(name=name, partitions=parts) for name, parts in by_topic.items()
            ],
        )
        with self._coordinator(CoordinatorKey.GROUP, group) as connection:
            answer = connection.ask(request, OffsetCommitResponse, _OFFSET_COMMIT_VERSION_MAX)
        for answered in answer.topics:
            for one in answered.partitions:
                refused = known_code(one.error_code)
                if refused is ErrorCode.UNKNOWN_MEMBER_ID and not member:
                    raise ApiError(
                        refused,
                        f"group {group} has members, and only they may change its offsets: stop them first",
                    )
                raise_for(refused, about=f"{answered.name}-{one.partition_index}")

    @patient
    def delete_offsets(self, group: str, partitions: Sequence[TopicPartition]) -> None:
        """Delete a group's committed offsets of these partitions.

        Raises ApiError for the first partition that refuses; in the others the offsets are then deleted.
        """
        by_topic: dict[str, list[OffsetDeleteRequestPartition]] = defaultdict(list)
        for name, number in partitions:
            by_topic[name].append(OffsetDeleteRequestPartition(number))
        request = OffsetDeleteRequest(
            group, [OffsetDeleteRequestTopic(name, parts) for name, parts in by_topic.items()]
        )
        with self._coordinator(CoordinatorKey.GROUP, group) as connection:
            answer = connection.ask(request, OffsetDeleteResponse)
        if answer.error_code == ErrorCode.NON_EMPTY_GROUP:
            raise ApiError(ErrorCode.NON_EMPTY_GROUP, f"group {group} has members: it is still in use")
        _raise_for_group(answer.error_code, group)
        for topic in answer.topics:
            for one in topic.partitions:
                if one.error_code == ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC:
                    said = f"members of group {group} read topic {topic.name}: stop them first"
                    raise ApiError(ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC, said)
                raise_for(one.error_code, about=str(TopicPartition(topic.name, one.partition_index)))

    @patient
    def delete(self, group: str) -> None:
        """Delete a group without members, with its offsets."""
        with self._coordinator(CoordinatorKey.GROUP, group) as connection:
            answer = connection.ask(DeleteGroupsRequest(groups_names=[group]), DeleteGroupsResponse)
        for one in answer.results:
            if one.error_code == ErrorCode.NON_EMPTY_GROUP:
                raise ApiError(ErrorCode.NON_EMPTY_GROUP, f"group {group} has members: it is still in use")
            _raise_for_group(one.error_code, group)


def _consumer_group(connection: BrokerConnection, group: str) -> GroupDescription | None:
    """Returns a group of the consumer protocol; None if it uses another, or the broker does not serve it."""
    if not connection.serves(ConsumerGroupDescribeRequest):
        return None
    request = ConsumerGroupDescribeRequest(group_ids=[group])
    (found,) = connection.ask(request, ConsumerGroupDescribeResponse).groups
    if found.error_code == ErrorCode.GROUP_ID_NOT_FOUND:
        return None
    raise_for(found.error_code, about=f"group {group}")
    return of_consumer_group(found)


def _classic_group(connection: BrokerConnection, group: str) -> GroupDescription:
    request = DescribeGroupsRequest(groups=[group])
    (found,) = connection.ask(request, DescribeGroupsResponse, _DESCRIBE_VERSION_MAX).groups
    raise_for(found.error_code, about=f"group {group}")
    if found.group_state == "Dead":
        _raise_for_group(ErrorCode.GROUP_ID_NOT_FOUND, group)
    return of_classic_group(found)


def _raise_for_group(error_code: int, group: str) -> None:
    if error_code == ErrorCode.GROUP_ID_NOT_FOUND:
        raise ApiError(ErrorCode.GROUP_ID_NOT_FOUND, f"there is no group {group}")
    raise_for(error_code, about=f"group {group}")
