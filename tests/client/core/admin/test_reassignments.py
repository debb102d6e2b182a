"""Moves of replicas: what the controller is asked, and what its answers mean."""

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError, ElementsRefused
from odradek.base.ids import TopicPartition
from odradek.client.core.admin.reassignments import (
    Move,
    alter_partition_reassignments,
    list_partition_reassignments,
)
from odradek.client.core.requests import ToController
from odradek.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)
from odradek.wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)
from tests.client.core.running import Running

FIRST, SECOND = TopicPartition("flights", 0), TopicPartition("flights", 1)


def decided(*codes: tuple[int, ErrorCode]) -> AlterPartitionReassignmentsResponse:
    parts = [ReassignablePartitionResponse(number, code, None) for number, code in codes]
    return AlterPartitionReassignmentsResponse(responses=[ReassignableTopicResponse("flights", parts)])


def asked(running: Running[None]) -> list[tuple[str, int, list[int] | None]]:
    (send,) = running.sends
    assert send.to == ToController()
    assert isinstance(send.request, AlterPartitionReassignmentsRequest)
    return [
        (topic.name, one.partition_index, one.replicas)
        for topic in send.request.topics
        for one in topic.partitions
    ]


def test_replicas_are_asked_for_or_a_move_is_given_up() -> None:
    running = Running(alter_partition_reassignments({SECOND: None, FIRST: [2, 3]}))
    assert asked(running) == [("flights", 0, [2, 3]), ("flights", 1, None)]
    assert running.sends[0].lowest == 0
    running.answer(decided((0, ErrorCode.NONE), (1, ErrorCode.NONE)))
    assert running.result is None


def test_another_controller_is_asked_for_what_is_left() -> None:
    running = Running(alter_partition_reassignments({FIRST: [2], SECOND: [3]}))
    running.answer(AlterPartitionReassignmentsResponse(error_code=ErrorCode.NOT_CONTROLLER))
    assert [code for _, code in running.pause.refused] == [ErrorCode.NOT_CONTROLLER]
    running.resume()
    running.answer(decided((0, ErrorCode.NONE), (1, ErrorCode.REQUEST_TIMED_OUT)))
    running.resume()
    assert asked(running) == [("flights", 1, [3])]
    with pytest.raises(ElementsRefused) as refused:
        running.answer(decided((1, ErrorCode.INVALID_REPLICA_ASSIGNMENT)))
    assert str(refused.value) == "flights-1: invalid replica assignment; accepted: flights-0"


def test_a_fixed_number_of_replicas_needs_a_broker_that_understands_it() -> None:
    running = Running(alter_partition_reassignments({FIRST: [2]}, allow_replication_factor_change=False))
    (send,) = running.sends
    assert isinstance(send.request, AlterPartitionReassignmentsRequest)
    assert not send.request.allow_replication_factor_change
    assert send.lowest == 1


def test_moves_under_way_have_a_target_and_an_origin() -> None:
    running = Running(list_partition_reassignments([SECOND, FIRST]))
    (send,) = running.sends
    assert isinstance(send.request, ListPartitionReassignmentsRequest)
    assert [(one.name, one.partition_indexes) for one in send.request.topics or []] == [("flights", [0, 1])]
    running.answer(ListPartitionReassignmentsResponse(error_code=ErrorCode.NOT_CONTROLLER))
    running.resume()
    part = OngoingPartitionReassignment(1, [3, 1, 2], [3], [2])
    running.answer(ListPartitionReassignmentsResponse(topics=[OngoingTopicReassignment("flights", [part])]))
    assert running.result == {SECOND: Move(SECOND, (3, 1, 2), (3,), (2,))}
    assert (running.result[SECOND].target, running.result[SECOND].origin) == ((3, 1), (1, 2))


def test_a_listing_that_is_refused_is_an_error() -> None:
    running = Running(list_partition_reassignments())
    with pytest.raises(ApiError, match="moves under way are not listed: cluster authorization failed"):
        running.answer(ListPartitionReassignmentsResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED))
