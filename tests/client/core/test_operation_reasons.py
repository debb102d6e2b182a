"""What an administrator's operations wait for."""

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.client.core.operation import Pause
from odradek.client.core.operation_reasons import UnderWay, why
from odradek.client.core.requests import Outcome, Send, ToController, ToNode
from odradek.client.core.waiting import Cause
from odradek.net.request_pipeline import NotConnected
from odradek.wire.messages.list_offsets import ListOffsetsRequest
from tests.client.core.test_routing import placed


def test_without_operations_there_is_nothing_to_wait_for() -> None:
    routing = placed(controller=-1)
    routing.place(Send(ToController(), ListOffsetsRequest()), 0)
    assert why([], routing._view, routing, 0) == []


def test_an_operation_that_was_begun_just_now_waits_for_an_answer() -> None:
    routing = placed()
    (one,) = why([UnderWay("list_offsets", 100)], routing._view, routing, 300)
    assert (one.cause, str(one)) == (Cause.REQUEST, "list_offsets waits for an answer")
    assert one.data == {"operation": "list_offsets", "ms": 200}


def test_a_broker_that_is_silent_or_cannot_be_reached_is_named_for_its_operation() -> None:
    routing = placed()
    view = routing._view
    silent, away = Send(ToNode(1), ListOffsetsRequest()), Send(ToController(), ListOffsetsRequest())
    for send in (silent, away):
        routing.place(send, 0)
    routing.ready(0)
    routing.finished(Outcome(away, error=NotConnected("refused"), node=2), 10)
    operations = [
        UnderWay("list_offsets", 0, [silent]),
        UnderWay("create_topics", 0, [Send(ToController(), ListOffsetsRequest())]),
    ]
    found = [
        (one.cause, one.data["operation"], one.data["node"]) for one in why(operations, view, routing, 900)
    ]
    assert found == [(Cause.NO_CONNECTION, "create_topics", 2), (Cause.REQUEST, "list_offsets", 1)]


def test_a_refusal_that_passes_is_named_with_its_code() -> None:
    routing = placed()
    pause = Pause(3, ApiError(ErrorCode.LEADER_NOT_AVAILABLE, "orders-0 has no leader"))
    operations = [UnderWay("list_offsets", 0, pause=pause)]
    (one,) = why(operations, routing._view, routing, 12_000)
    assert str(one) == "list_offsets has been refused for 12 s: orders-0 has no leader"
    assert one.data == {"operation": "list_offsets", "ms": 12_000, "code": "LEADER_NOT_AVAILABLE"}


def test_a_cluster_without_a_controller_comes_first() -> None:
    routing = placed(controller=-1)
    send = Send(ToController(), ListOffsetsRequest())
    routing.place(send, 0)
    found = why([UnderWay("create_topics", 0, [send])], routing._view, routing, 100)
    assert [one.cause for one in found] == [Cause.NO_CONTROLLER, Cause.REQUEST]
