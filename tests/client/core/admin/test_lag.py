"""How far a group is behind: what is asked of its coordinator, of any broker and of leaders."""

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import TopicPartition
from odradek.client.core.admin.groups import list_groups_there
from odradek.client.core.admin.lag import Lag, group_lag
from odradek.client.core.requests import ToCoordinator, ToNode
from odradek.net.request_pipeline import ConnectionFailed
from odradek.wire.messages.consumer_group_describe import (
    Assignment,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
    Member,
    TopicPartitions,
)
from odradek.wire.messages.describe_cluster import DescribeClusterBroker, DescribeClusterResponse
from odradek.wire.messages.list_groups import ListedGroup, ListGroupsResponse
from odradek.wire.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from odradek.wire.messages.metadata import (
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from odradek.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)
from tests.client.core.running import Running


def described(*numbers: int) -> ConsumerGroupDescribeResponse:
    """A group whose one member has these partitions of flights."""
    has = Assignment([TopicPartitions(topic_name="flights", partitions=list(numbers))])
    member = Member(member_id="m", client_id="c", assignment=has)
    return ConsumerGroupDescribeResponse(groups=[DescribedGroup(group_id="g", members=[member])])


def committed(**offsets: int) -> OffsetFetchResponse:
    """Committed offsets of partition 0 of each topic."""
    return OffsetFetchResponse(
        topics=[
            OffsetFetchResponseTopic(name, [OffsetFetchResponsePartition(0, offset)])
            for name, offset in offsets.items()
        ]
    )


def led(*leaders: int, code: ErrorCode = ErrorCode.NONE, gone: str = "planes") -> MetadataResponse:
    parts = [MetadataResponsePartition(0, number, leader) for number, leader in enumerate(leaders)]
    topics = [MetadataResponseTopic(0, "flights", partitions=parts)]
    return MetadataResponse(topics=[*topics, *([MetadataResponseTopic(code, gone)] if code else [])])


def ends(**offsets: int) -> ListOffsetsResponse:
    parts = [
        ListOffsetsPartitionResponse(partition_index=int(number[1:]), offset=offset)
        for number, offset in offsets.items()
    ]
    return ListOffsetsResponse(topics=[ListOffsetsTopicResponse("flights", parts)])


def test_the_lag_is_that_of_what_is_committed_or_assigned_and_has_a_leader() -> None:
    running = Running(group_lag("g"))
    assert running.sends[0].to == ToCoordinator("g")
    running.answer(described(0, 1, 2))
    (send,) = running.sends
    assert send.to == ToCoordinator("g")
    assert isinstance(send.request, OffsetFetchRequest)
    assert not send.request.require_stable  # an open transaction does not keep the rest from being shown
    running.answer(committed(flights=4, planes=9))
    running.answer(led(1, 2, -1, code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
    running.answer(led(1, 2))
    assert [send.to for send in running.sends] == [ToNode(1), ToNode(2)]
    running.answer(ends(p0=10), ends(p1=3))
    first, second = running.result
    assert first == Lag(TopicPartition("flights", 0), 4, 10, "m", "c")
    assert second == Lag(TopicPartition("flights", 1), None, 3, "m", "c")
    assert (first.records, second.records) == (6, None)


def test_a_group_with_nothing_committed_and_assigned_has_no_lag() -> None:
    running = Running(group_lag("g"))
    running.answer(described())
    running.answer(committed())
    running.answer(MetadataResponse())
    assert running.result == []


def test_groups_are_listed_by_the_brokers_that_are_there() -> None:
    running = Running(list_groups_there())
    running.answer(DescribeClusterResponse(brokers=[DescribeClusterBroker(one) for one in (3, 1)]))
    assert [send.to for send in running.sends] == [ToNode(1), ToNode(3)]
    running.answer(ListGroupsResponse(groups=[ListedGroup("b"), ListedGroup("a")]), ConnectionFailed("gone"))
    groups, missing = running.result
    assert [one.group for one in groups] == ["a", "b"]
    assert missing == {3: "broker 3 does not answer: gone"}
