"""The state of a cluster: in pages, from brokers of several versions, and until it has changed."""

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.ids import NO_BROKER, BrokerId, TopicPartition
from odradek.client.cluster_state import ClusterPartition, ClusterState, Trouble
from odradek.client.core.admin.cluster_states import (
    adding_replicas,
    await_other_leaders,
    cluster_state,
    partition_states,
)
from odradek.client.core.requests import Destination, ToAny, ToNode
from odradek.net.request_pipeline import ConnectionFailed
from odradek.wire.messages.describe_cluster import DescribeClusterBroker, DescribeClusterResponse
from odradek.wire.messages.describe_configs import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from odradek.wire.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)
from odradek.wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)
from odradek.wire.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from tests.client.core.running import Running

FIRST, SECOND = TopicPartition("flights", 0), TopicPartition("flights", 1)


def page(*leaders: tuple[int, int], after: Cursor | None = None) -> DescribeTopicPartitionsResponse:
    """Partitions of flights with their leaders, and where the next page begins."""
    parts = [
        DescribeTopicPartitionsResponsePartition(0, number, leader, 5, [1, 2], [2])
        for number, leader in leaders
    ]
    topic = DescribeTopicPartitionsResponseTopic(0, "flights", partitions=parts)
    return DescribeTopicPartitionsResponse(topics=[topic], next_cursor=after)


def settings(value: str = "2") -> DescribeConfigsResponse:
    one = DescribeConfigsResourceResult("min.insync.replicas", value)
    return DescribeConfigsResponse(
        results=[DescribeConfigsResult(resource_type=2, resource_name="flights", configs=[one])]
    )


@pytest.mark.parametrize("at", [ToAny(), ToNode(2)])
def test_all_is_asked_of_one_place_and_pages_are_put_together(at: Destination) -> None:
    running = Running(cluster_state(at))
    asked = [send.to for send in running.sends]
    brokers = [DescribeClusterBroker(one, f"b{one}", 9092) for one in (2, 1)]
    running.answer(DescribeClusterResponse(cluster_id="c", controller_id=1, brokers=brokers))
    asked += [send.to for send in running.sends]
    running.answer(page((0, 2), after=Cursor("flights", 1)))
    (send,) = running.sends
    assert isinstance(send.request, DescribeTopicPartitionsRequest)
    assert send.request.cursor == Cursor("flights", 1)
    asked.append(send.to)
    running.answer(page((1, -1)))
    asked += [send.to for send in running.sends]
    running.answer(settings())
    assert asked == [at] * 4
    state = running.result
    assert (state.cluster_id, state.controller_id, state.topics) == ("c", 1, 1)
    assert [one.address for one in state.brokers] == ["b1:9092", "b2:9092"]
    first, second = state.partitions
    assert (first.topic_partition, first.leader, first.leader_epoch, first.min_isr) == (FIRST, 2, 5, 2)
    assert second.troubles[:2] == [Trouble.OFFLINE, Trouble.UNDER_MIN_ISR]


def seen_by(controller: BrokerId, isr: tuple[BrokerId, ...]) -> ClusterState:
    held = ClusterPartition(FIRST, 1, 5, (1, 2, 3), isr, (), (), NO_BROKER, 2)
    return ClusterState("c", controller, (), [held], 1)


def test_replicas_that_a_move_adds_are_not_missing() -> None:
    state = seen_by(4, (1, 2))
    assert state.partitions[0].troubles == [Trouble.AT_MIN_ISR, Trouble.UNDER_REPLICATED]
    running = Running(adding_replicas(state))
    (send,) = running.sends
    assert send.to == ToNode(4)
    moved = OngoingPartitionReassignment(0, [1, 2, 3], [3], [])
    running.answer(ListPartitionReassignmentsResponse(topics=[OngoingTopicReassignment("flights", [moved])]))
    assert running.result == {FIRST: (3,)}
    assert state.with_adding(running.result).troubled == []
    assert seen_by(4, (1,)).with_adding(running.result).partitions[0].missing == [2]


@pytest.mark.parametrize(
    "outcome",
    [
        ListPartitionReassignmentsResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED),
        ConnectionFailed("it is away", ErrorCode.NETWORK_EXCEPTION),
    ],
    ids=["refused", "away"],
)
def test_a_controller_that_does_not_list_moves_is_asked_once(
    outcome: ListPartitionReassignmentsResponse | ConnectionFailed,
) -> None:
    running = Running(adding_replicas(seen_by(4, (1, 2))))
    running.answer(outcome)
    assert running.result == {}


@pytest.mark.parametrize("state", [seen_by(4, (1, 2, 3)), seen_by(NO_BROKER, (1, 2))])
def test_moves_are_listed_only_where_replicas_are_missing_and_a_controller_is_known(
    state: ClusterState,
) -> None:
    assert Running(adding_replicas(state)).result == {}
    assert state.with_adding({}) is state


def test_a_broker_that_does_not_serve_it_is_asked_for_metadata() -> None:
    running = Running(partition_states(["flights"]))
    running.answer(ConnectionFailed("it is not served", ErrorCode.UNSUPPORTED_VERSION))
    (send,) = running.sends
    assert isinstance(send.request, MetadataRequest)
    parts = [MetadataResponsePartition(0, 0, 1, 5, [1, 2], [1], [2])]
    running.answer(MetadataResponse(topics=[MetadataResponseTopic(0, "flights", partitions=parts)]))
    running.answer(settings("1"))
    ((one,), topics) = running.result
    assert (one.leader, one.isr, one.offline, one.elr, topics) == (1, [1], [2], [], 1)


def test_a_topic_that_does_not_exist_is_an_error() -> None:
    running = Running(partition_states(["flights"]))
    unknown = DescribeTopicPartitionsResponseTopic(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "flights")
    with pytest.raises(ApiError, match="there is no topic flights"):
        running.answer(DescribeTopicPartitionsResponse(topics=[unknown]))


def test_leaders_are_looked_at_until_they_are_others() -> None:
    running = Running(await_other_leaders([FIRST, SECOND], {FIRST: 1, SECOND: -1}))
    for leaders, old in (((1, -1), "flights-0"), ((2, -1), "flights-1")):
        running.answer(page((0, leaders[0]), (1, leaders[1])))
        running.answer(settings())
        assert running.pause.error.message == f"{old} has no other leader yet"
        running.resume()
    running.answer(page((0, 2), (1, 1)))
    running.answer(settings())
    assert running.result == {FIRST: 2, SECOND: 1}


def test_leaders_that_stay_are_looked_at_only_so_often() -> None:
    running = Running(await_other_leaders([FIRST], {FIRST: 1}, looks=1))
    running.answer(page((0, 1)))
    running.answer(settings())
    assert running.result == {FIRST: 1}
    assert Running(await_other_leaders([], {})).result == {}
