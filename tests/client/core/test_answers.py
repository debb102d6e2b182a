"""Which brokers answer: what is told of them, and when that ends."""

from odradek.base.chance import SeededChance
from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.client.core.answers import Answers
from odradek.client.core.cluster_view import ClusterView
from odradek.client.core.requests import Outcome, Send, ToAny, ToCoordinator, ToNode
from odradek.client.core.waiting import Cause
from odradek.net.request_pipeline import ConnectionFailed, NotConnected
from odradek.wire.messages.fetch import FetchRequest, FetchResponse
from odradek.wire.messages.join_group import JoinGroupRequest
from odradek.wire.messages.metadata import MetadataRequest, MetadataResponse, MetadataResponseBroker


def known_view() -> ClusterView:
    """Broker 2 is known."""
    view = ClusterView(SeededChance(1))
    (send,) = view.due(0)
    response = MetadataResponse(brokers=[MetadataResponseBroker(2, "b", 9094)])
    view.outcome(Outcome(send, response), 0)
    return view


def fetch() -> Send:
    return Send(ToNode(2), FetchRequest(), answer_ms=1_000)


def test_an_answer_is_overdue_when_it_may_no_longer_take_so_long() -> None:
    answers = Answers(known_view())
    send = fetch()
    answers.sent(send, 2, 100)
    assert answers.why(2, 1_099) is None
    why = answers.why(2, 1_600)
    assert why is not None
    assert (why.cause, str(why)) == (Cause.REQUEST, "broker 2 at b:9094 has not answered Fetch for 1.5 s")
    assert why.data == {"node": 2, "api": "Fetch", "ms": 1_500}
    assert answers.why(1, 1_600) is None
    outcome = Outcome(send, FetchResponse(), node=2)
    assert answers.finished(outcome, 1_700) == 1_600
    assert answers.finished(outcome, 1_800) is None, "it is not under way any more"
    assert answers.why(2, 9_000) is None


def test_a_request_to_any_broker_is_overdue_at_the_one_that_it_went_to() -> None:
    answers = Answers(known_view())
    send = Send(ToAny(), MetadataRequest())
    answers.sent(send, None, 0)
    answers.went_to(send, -1)
    assert answers.overdue(ToAny(), 2_000) is None, "a broker that is known by its address alone"
    answers.went_to(send, 2)
    why = answers.overdue(ToAny(), 2_000)
    assert why is not None
    assert str(why) == "broker 2 at b:9094 has not answered Metadata for 2.0 s"
    answers.finished(Outcome(send, MetadataResponse(), node=2), 2_100)
    assert answers.overdue(ToAny(), 9_000) is None


def test_a_request_that_waits_for_others_is_never_overdue() -> None:
    answers = Answers(known_view())
    billing = ToCoordinator("billing")
    answers.sent(Send(billing, JoinGroupRequest(), answer_ms=None), 2, 0)
    assert answers.overdue(billing, 1_000_000) is None


def test_a_broker_is_unreachable_from_the_first_failure_to_its_next_answer() -> None:
    answers = Answers(known_view())
    for now_ms in (100, 2_100):
        answers.finished(Outcome(fetch(), error=NotConnected("refused"), node=2), now_ms)
    why = answers.why(2, 3_100)
    assert why is not None
    assert why.cause is Cause.NO_CONNECTION
    assert str(why) == "broker 2 at b:9094 cannot be reached for 3 s: refused"
    assert why.data == {"node": 2, "ms": 3_000, "error": "refused"}
    answers.finished(Outcome(fetch(), FetchResponse(), node=2), 3_200)
    assert answers.why(2, 3_200) is None


def test_a_request_that_a_broker_does_not_serve_says_that_it_can_be_reached() -> None:
    answers = Answers(known_view())
    answers.finished(Outcome(fetch(), error=ConnectionFailed("cut"), node=2), 0)
    unserved = ConnectionFailed("no", ErrorCode.UNSUPPORTED_VERSION)
    answers.finished(Outcome(fetch(), error=unserved, node=2), 10)
    assert answers.why(2, 10) is None


def test_no_broker_answers_if_metadata_fails_and_nobody_was_heard_since() -> None:
    view = known_view()
    answers = Answers(view)
    view.refresh_soon(1_000)
    (send,) = view.due(1_000)
    view.outcome(Outcome(send, error=ApiError(ErrorCode.NETWORK_EXCEPTION, "cut")), 1_000)
    why = answers.nobody(5_000)
    assert why is not None
    assert (why.cause, why.data["ms"]) == (Cause.NO_BROKER, 4_000)
    answers.finished(Outcome(fetch(), FetchResponse(), node=2), 5_000)
    assert answers.nobody(5_900) is None


def test_the_last_broker_that_answers_may_go_while_metadata_cannot_be_had() -> None:
    view = known_view()
    answers = Answers(view)
    view.refresh_soon(1_000)
    (send,) = view.due(1_000)
    view.outcome(Outcome(send, error=ApiError(ErrorCode.NETWORK_EXCEPTION, "cut")), 1_000)
    answers.finished(Outcome(fetch(), FetchResponse(), node=2), 1_400)
    assert answers.nobody(2_000) is None
    why = answers.nobody(7_400)
    assert why is not None
    assert (why.cause, why.data["ms"]) == (Cause.NO_BROKER, 6_000)


def test_no_broker_answers_if_none_ever_did() -> None:
    answers = Answers(ClusterView(SeededChance(1)))
    answers.sent(Send(ToAny(), MetadataRequest()), None, 0)
    assert answers.nobody(400) is None
    why = answers.nobody(2_000)
    assert why is not None
    assert str(why) == "no broker has answered for 2.0 s"
