"""Which broker a request goes to."""

import pytest

from odradek.base.chance import SeededChance
from odradek.base.error_codes import ErrorCode
from odradek.client.core.cluster_view import ClusterView
from odradek.client.core.requests import Outcome, Send, ToAny, ToController, ToCoordinator, ToNode
from odradek.client.core.routing import ANY, Routing
from odradek.client.core.waiting import Cause
from odradek.net.request_pipeline import NotConnected
from odradek.wire.messages.find_coordinator import Coordinator, FindCoordinatorResponse
from odradek.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from odradek.wire.messages.metadata import MetadataResponse, MetadataResponseBroker

BILLING = ToCoordinator("billing")


def placed(*, controller: int = 2) -> Routing:
    view = ClusterView(SeededChance(1))
    (send,) = view.due(0)
    brokers = [MetadataResponseBroker(one, "b", 9092 + one) for one in (1, 2)]
    view.outcome(Outcome(send, MetadataResponse(brokers=brokers, controller_id=controller)), 0)
    return Routing(view, SeededChance(1))


def request(to: ToNode | ToAny | ToController | ToCoordinator, timeout_ms: int = 1_000) -> Send:
    return Send(to, HeartbeatRequest(), timeout_ms=timeout_ms)


def answer(node: int, code: ErrorCode = ErrorCode.NONE) -> FindCoordinatorResponse:
    return FindCoordinatorResponse(coordinators=[Coordinator("billing", node, "b", 9092, code)])


def test_what_is_known_is_ready_at_once() -> None:
    routing = placed()
    sends = [request(to) for to in (ToNode(1), ToAny(), ToController())]
    for send in sends:
        routing.place(send, 0)
    assert routing.ready(400) == [(sends[0], 1, 600), (sends[1], ANY, 600), (sends[2], 2, 600)]
    assert not routing.ready(400)


def test_a_coordinator_is_found_once_for_all_and_again_when_it_has_moved() -> None:
    routing = placed()
    first, second = request(BILLING), request(BILLING)
    routing.place(first, 0)
    routing.place(second, 0)
    (search,) = routing.due(0)
    assert not routing.due(0)
    assert not routing.ready(0)
    routing.outcome(Outcome(search, answer(2)), 10)
    assert [(send, node) for send, node, _ in routing.ready(10)] == [(first, 2), (second, 2)]
    routing.refused(first, ErrorCode.NOT_COORDINATOR)
    third = request(BILLING)
    routing.place(third, 20)
    (search,) = routing.due(20)
    routing.outcome(Outcome(search, answer(1)), 30)
    assert routing.ready(30) == [(third, 1, 990)]


def test_a_search_that_finds_none_is_repeated_until_the_request_s_time_is_over() -> None:
    routing = placed()
    send = request(BILLING)
    routing.place(send, 0)
    (search,) = routing.due(0)
    routing.outcome(Outcome(search, answer(-1, ErrorCode.COORDINATOR_NOT_AVAILABLE)), 0)
    assert not routing.due(0), "a backoff"
    assert routing.due(500)
    (why,) = routing.why(500)
    assert why.cause is Cause.NO_COORDINATOR
    assert not routing.failed(999)
    (outcome,) = routing.failed(1_000)
    assert outcome.error is not None
    assert outcome.error.code is ErrorCode.COORDINATOR_NOT_AVAILABLE
    said = "the coordinator of group billing was not found in time: coordinator not available"
    assert str(outcome.error) == said
    assert not routing.failed(2_000)


@pytest.mark.parametrize(
    ("node", "kept"),
    [(None, "no broker has answered"), (2, "broker 2 at b:9094 has not answered FindCoordinator for 1.0 s")],
)
def test_what_a_request_waited_for_is_told_when_no_search_was_answered(node: int | None, kept: str) -> None:
    routing = placed()
    routing.place(request(BILLING), 0)
    (search,) = routing.due(0)
    routing.place(search, 0)
    assert routing.ready(0)
    if node is not None:
        routing.answers.went_to(search, node)
    (outcome,) = routing.failed(1_000)
    assert outcome.error is not None
    assert outcome.error.code is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert str(outcome.error) == f"the coordinator of group billing was not found in time: {kept}"


def test_waiting_for_a_forbidden_group_or_an_unknown_broker_is_no_use() -> None:
    routing = placed()
    forbidden, unknown = request(BILLING), request(ToNode(7))
    routing.place(forbidden, 0)
    routing.place(unknown, 0)
    (search,) = routing.due(0)
    routing.outcome(Outcome(search, answer(-1, ErrorCode.GROUP_AUTHORIZATION_FAILED)), 0)
    outcomes = {outcome.send: outcome.error for outcome in routing.failed(0)}
    assert {send: error.code for send, error in outcomes.items() if error} == {
        forbidden: ErrorCode.GROUP_AUTHORIZATION_FAILED,
        unknown: ErrorCode.BROKER_NOT_AVAILABLE,
    }


def test_a_group_that_was_forbidden_is_asked_about_again_for_the_next_request() -> None:
    routing = placed()
    routing.place(request(BILLING), 0)
    (search,) = routing.due(0)
    routing.outcome(Outcome(search, answer(-1, ErrorCode.GROUP_AUTHORIZATION_FAILED)), 0)
    assert routing.failed(0)
    later = request(BILLING)
    routing.place(later, 500)
    assert not routing.failed(500), "it may be allowed since"
    (search,) = routing.due(500)
    routing.outcome(Outcome(search, answer(2)), 500)
    assert routing.ready(500) == [(later, 2, 1_000)]


def test_without_a_controller_a_request_waits() -> None:
    routing = placed(controller=-1)
    routing.place(request(ToController()), 0)
    assert not routing.ready(0)
    assert [why.cause for why in routing.why(0)] == [Cause.NO_CONTROLLER]


def test_a_coordinator_that_is_no_broker_is_looked_for_again_after_a_backoff() -> None:
    routing = placed()
    routing.place(request(BILLING), 0)
    (search,) = routing.due(0)
    routing.outcome(Outcome(search, answer(-1)), 0)
    assert not routing.due(0)
    assert routing.due(500)


def test_with_a_refused_login_nothing_waits_for_the_controller() -> None:
    view = ClusterView(SeededChance(1))
    (send,) = view.due(0)
    refused = NotConnected("who are you?", ErrorCode.SASL_AUTHENTICATION_FAILED)
    view.outcome(Outcome(send, error=refused), 0)
    routing = Routing(view, SeededChance(1))
    routing.place(request(ToController()), 0)
    assert not routing.ready(0)
    (outcome,) = routing.failed(0)
    assert outcome.error is refused


def test_a_coordinator_that_has_left_the_cluster_is_looked_for_again() -> None:
    routing = placed()
    routing.place(request(BILLING), 0)
    (search,) = routing.due(0)
    routing.outcome(Outcome(search, answer(2)), 0)
    assert routing.ready(0)
    view = routing._view
    view.refresh_soon(0)
    (send,) = view.due(1_000)
    left = MetadataResponse(brokers=[MetadataResponseBroker(1, "b", 9093)], controller_id=1)
    view.outcome(Outcome(send, left), 1_000)
    late = request(BILLING)
    routing.place(late, 1_000)
    assert not routing.ready(1_000)
    (search,) = routing.due(1_000)
    routing.outcome(Outcome(search, answer(1)), 1_000)
    assert routing.ready(1_000) == [(late, 1, 1_000)]


def test_a_coordinator_that_cannot_be_reached_is_named_with_its_broker_until_it_answers() -> None:
    routing = placed()
    send = request(BILLING)
    routing.place(send, 0)
    (search,) = routing.due(0)
    routing.outcome(Outcome(search, answer(2)), 0)
    routing.ready(0)
    routing.finished(Outcome(send, error=NotConnected("refused"), node=2), 10)
    routing.refused(send, ErrorCode.NETWORK_EXCEPTION)
    again = request(BILLING)
    routing.place(again, 20)
    (search,) = routing.due(20)
    routing.outcome(Outcome(search, answer(2)), 20)
    assert routing.ready(20) == [(again, 2, 1_000)]
    (why,) = routing.why(3_000)
    assert why.cause is Cause.NO_COORDINATOR
    assert (why.data["key"], why.data["node"], why.data["error"]) == ("billing", 2, "refused")
    assert str(why).endswith("refused; it is the coordinator of group billing")
    routing.finished(Outcome(again, HeartbeatResponse(), node=2), 3_100)
    assert routing.why(3_100) == []


def test_a_coordinator_that_does_not_answer_is_named() -> None:
    routing = placed()
    send = request(BILLING)
    routing.place(send, 0)
    (search,) = routing.due(0)
    routing.outcome(Outcome(search, answer(2)), 0)
    routing.ready(0)
    assert routing.why(100) == []
    (why,) = routing.why(2_000)
    assert (why.cause, why.data["node"], why.data["key"]) == (Cause.REQUEST, 2, "billing")


def test_since_when_a_coordinator_is_looked_for_counts_from_the_first_search() -> None:
    routing = placed()
    for now_ms in (0, 4_000):
        routing.place(request(BILLING), now_ms)
        routing.ready(now_ms)
        (search,) = routing.due(now_ms)
        routing.outcome(Outcome(search, answer(-1, ErrorCode.COORDINATOR_NOT_AVAILABLE)), now_ms)
    (why,) = routing.why(9_000)
    assert why.data["ms"] == 9_000


def test_a_coordinator_that_the_cluster_does_not_have_is_told_and_looked_for_after_waits_that_grow() -> None:
    routing = placed()
    view = routing._view
    routing.place(request(BILLING, 60_000), 0)
    searches = 0
    for now_ms in range(0, 20_000, 10):
        for send in view.due(now_ms):
            brokers = [MetadataResponseBroker(one, "b", 9092 + one) for one in (1, 2)]
            view.outcome(Outcome(send, MetadataResponse(brokers=brokers, controller_id=2)), now_ms)
        assert not routing.ready(now_ms)
        for search in routing.due(now_ms):
            routing.outcome(Outcome(search, answer(7)), now_ms)
            searches += 1
        (why,) = routing.why(now_ms)
        assert (why.cause, why.data["ms"]) == (Cause.NO_COORDINATOR, now_ms)
    assert str(why) == (
        "the coordinator of group billing has not been found for 20 s: "
        "brokers name broker 7, which the cluster does not have"
    )
    assert 18 <= searches <= 28, "1 s apart, but for the first few"


def test_since_when_a_broker_that_is_named_says_that_it_is_not_the_coordinator() -> None:
    routing = placed()
    for now_ms in (1_000, 2_000, 5_000):
        send = request(BILLING)
        routing.place(send, now_ms)
        routing.ready(now_ms)
        (search,) = routing.due(now_ms)
        routing.outcome(Outcome(search, answer(2)), now_ms)
        assert routing.ready(now_ms)
        routing.finished(Outcome(send, HeartbeatResponse(), node=2), now_ms)
        routing.refused(send, ErrorCode.NOT_COORDINATOR)
    (why,) = routing.why(9_000)
    assert (why.cause, why.data["ms"], why.data["code"]) == (Cause.NO_COORDINATOR, 8_000, "NOT_COORDINATOR")
    assert str(why).endswith("for 8 s: the broker that was named answers not coordinator")
    last = request(BILLING)
    routing.place(last, 9_000)
    routing.ready(9_000)
    (search,) = routing.due(9_000)
    routing.outcome(Outcome(search, answer(1)), 9_000)
    assert routing.ready(9_000)
    routing.finished(Outcome(last, HeartbeatResponse(), node=1), 9_010)
    assert routing.why(9_010) == []


def test_a_refused_login_is_no_missing_broker() -> None:
    view = ClusterView(SeededChance(1))
    routing = Routing(view, SeededChance(1))
    (send,) = view.due(0)
    error = NotConnected("who are you?", ErrorCode.SASL_AUTHENTICATION_FAILED)
    view.outcome(Outcome(send, error=error), 0)
    (why,) = routing.why(0)
    assert (why.cause, why.data["code"]) == (Cause.REFUSED, "SASL_AUTHENTICATION_FAILED")


def test_a_broker_that_is_not_known_makes_the_client_look_who_is_there() -> None:
    view = ClusterView(SeededChance(1))
    (send,) = view.due(0)
    view.outcome(Outcome(send, MetadataResponse(brokers=[MetadataResponseBroker(1, "b", 9093)])), 0)
    routing = Routing(view, SeededChance(1))
    routing.place(request(ToNode(2)), 0)
    assert not view.due(50)
    (outcome,) = routing.failed(50)
    assert outcome.error is not None
    assert outcome.error.code is ErrorCode.BROKER_NOT_AVAILABLE
    assert view.due(1_000)  # after the backoff
