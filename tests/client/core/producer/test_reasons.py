"""What a producer says that its records wait for."""

from odradek.base.error_codes import ErrorCode
from odradek.client.core.answers import Answers
from odradek.client.core.requests import Outcome, Send, ToNode
from odradek.client.core.waiting import Cause
from odradek.net.request_pipeline import NotConnected
from odradek.wire.messages.metadata import MetadataRequest
from tests.client.core.producer.model_broker import known_view
from tests.client.core.producer.test_delivery import started


def test_the_leader_that_has_not_acknowledged_is_named() -> None:
    rig = started()
    rig.append(b"a")
    rig.pump()
    (why,) = rig.core.why(rig.now_ms + 700)
    assert (why.cause, why.data["node"], why.data["ms"]) == (Cause.REQUEST, 1, 700)
    assert "the leader of orders-0, broker 1, has not answered yet" in str(why)
    rig.settle()


def test_a_refusal_that_passes_is_named_with_its_code() -> None:
    rig = started()
    rig.append(b"a")
    rig.pump()
    rig.answer(ErrorCode.NOT_ENOUGH_REPLICAS)
    (why,) = rig.core.why(rig.now_ms)
    assert (why.cause, why.data["code"]) == (Cause.RETRY, "NOT_ENOUGH_REPLICAS")
    rig.settle()
    assert rig.core.why(rig.now_ms) == []


def test_a_leader_that_cannot_be_reached_comes_before_the_refusal() -> None:
    rig = started()
    rig.append(b"a")
    rig.pump()
    rig.lose_all(0)
    answers = Answers(known_view())
    failed = Outcome(Send(ToNode(1), MetadataRequest()), error=NotConnected("refused"), node=1)
    answers.finished(failed, rig.now_ms)
    (why,) = rig.core.why(rig.now_ms + 2_000, answers)
    assert (why.cause, why.data["node"], why.data["partition"]) == (Cause.NO_CONNECTION, 1, "orders-0")
    assert "cannot be reached for 2 s: refused; it leads orders-0" in str(why)
