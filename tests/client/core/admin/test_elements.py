"""What becomes of single elements of one operation: results, refusals, and what is asked for again."""

from collections.abc import Sequence

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError, ElementsRefused
from odradek.client.core.admin.elements import Answered, Results, ask_each, at_nodes, at_once
from odradek.client.core.operation import Operation
from odradek.client.core.requests import ToController, ToNode
from odradek.net.request_pipeline import ConnectionFailed
from odradek.wire.message import Message
from odradek.wire.messages.delete_groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)
from tests.client.core.running import Running


def request(names: Sequence[str]) -> Message:
    return DeleteGroupsRequest(list(names))


def answered(answer: DeleteGroupsResponse, asked: Sequence[str]) -> Answered[str, int]:
    for one in answer.results:
        yield one.group_id, one.error_code, None, len(asked)


def said(**codes: ErrorCode) -> DeleteGroupsResponse:
    return DeleteGroupsResponse(results=[DeletableGroupResult(name, code) for name, code in codes.items()])


def on_nodes(**nodes: int) -> Running[Results[str, int]]:
    requests = at_nodes(nodes.__getitem__, request)
    operation: Operation[Results[str, int]] = ask_each(nodes, requests, DeleteGroupsResponse, answered)
    return Running(operation)


def asked_for(running: Running[Results[str, int]]) -> list[tuple[object, list[str]]]:
    found: list[tuple[object, list[str]]] = []
    for send in running.sends:
        assert isinstance(send.request, DeleteGroupsRequest)
        found.append((send.to, send.request.groups_names))
    return found


def test_each_node_gets_its_elements_in_one_request() -> None:
    running = on_nodes(a=1, b=2, c=1)
    assert asked_for(running) == [(ToNode(1), ["a", "c"]), (ToNode(2), ["b"])]
    running.answer(said(a=ErrorCode.NONE, c=ErrorCode.NONE), said(b=ErrorCode.NONE))
    assert running.result.all_or_raise("deleted") == {"a": 2, "b": 1, "c": 2}


def test_only_what_was_refused_for_a_while_is_asked_for_again() -> None:
    running = on_nodes(a=1, b=2, c=1)
    first = running.sends[0]
    running.answer(
        said(a=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, c=ErrorCode.INVALID_GROUP_ID), said(b=ErrorCode.NONE)
    )
    assert running.pause.error.message == "a: coordinator load in progress"
    assert running.pause.refused == ((first, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS),)
    running.resume()
    assert asked_for(running) == [(ToNode(1), ["a"])]
    running.answer(said(a=ErrorCode.NOT_COORDINATOR))
    assert running.pause.number == 1
    running.resume()
    running.answer(said(a=ErrorCode.NONE))
    with pytest.raises(ElementsRefused, match="c: invalid group id; deleted: b, a") as refused:
        running.result.all_or_raise("deleted")
    assert refused.value.code is ErrorCode.INVALID_GROUP_ID
    assert refused.value.done == ["b", "a"]
    assert [(name, error.code) for name, error in refused.value.refused.items()] == [
        ("c", ErrorCode.INVALID_GROUP_ID)
    ]


def test_a_broken_connection_is_no_refusal() -> None:
    running = on_nodes(a=1)
    running.answer(ConnectionFailed("reset"))
    running.resume()
    assert asked_for(running) == [(ToNode(1), ["a"])]


def test_a_broker_that_is_not_there_refuses_its_elements_alone() -> None:
    running = on_nodes(a=1, b=7)
    running.answer(
        said(a=ErrorCode.NONE), ApiError(ErrorCode.BROKER_NOT_AVAILABLE, "the cluster has no broker 7")
    )
    assert running.result.found == {"a": 1}
    assert str(running.result.refused["b"]) == "b: the cluster has no broker 7"


def test_an_answer_that_leaves_an_element_out_is_no_success() -> None:
    running = on_nodes(a=1, b=1)
    running.answer(said(b=ErrorCode.NONE, x=ErrorCode.NONE))
    assert running.result.found == {"b": 2}
    assert running.result.refused["a"].code is ErrorCode.UNKNOWN_SERVER_ERROR
    assert str(running.result.refused["a"]) == "a: the broker's answer leaves it out"


def test_of_two_answers_for_an_element_the_first_counts() -> None:
    running = on_nodes(a=1)
    twice = [DeletableGroupResult("a", ErrorCode.INVALID_GROUP_ID), DeletableGroupResult("a")]
    running.answer(DeleteGroupsResponse(results=twice))
    assert running.result.found == {}
    assert list(running.result.refused) == ["a"]


def test_a_later_protocols_error_code_is_told_as_a_number() -> None:
    running = on_nodes(a=1)
    running.answer(DeleteGroupsResponse(results=[DeletableGroupResult("a", 9_999)]))
    assert str(running.result.refused["a"]) == "a: unknown error code 9999"


def test_what_goes_to_one_place_is_one_request_and_an_element_named_twice_is_asked_for_once() -> None:
    requests = at_once(ToController(), request, lowest=1)
    operation: Operation[Results[str, int]] = ask_each(
        ["a", "b", "a"], requests, DeleteGroupsResponse, answered
    )
    running = Running(operation)
    assert asked_for(running) == [(ToController(), ["a", "b"])]
    assert running.sends[0].lowest == 1


def test_many_elements_are_several_requests() -> None:
    requests = at_once(ToController(), request, most=2)
    operation: Operation[Results[str, int]] = ask_each("abc", requests, DeleteGroupsResponse, answered)
    running = Running(operation)
    assert asked_for(running) == [(ToController(), ["a", "b"]), (ToController(), ["c"])]


def test_nothing_is_asked_for_nothing() -> None:
    assert on_nodes().result.all_or_raise("deleted") == {}
