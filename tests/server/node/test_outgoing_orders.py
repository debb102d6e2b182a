"""The controller's queues: in order, one in flight, again until answered or until the broker is gone."""

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from odradek.base.clock import ManualClock
from odradek.base.error_codes import ErrorCode
from odradek.base.execution import Slices, Steps, TurnTime
from odradek.base.ids import BrokerId
from odradek.metadata.orders import OrderOutcome, UpdateMetadata
from odradek.metadata.orders_on_wire import OrderRequest, to_request
from odradek.net.request_pipeline import ConnectionFailed
from odradek.server.node import outgoing_orders
from odradek.server.node.outgoing_orders import RETRY_MS, TIMEOUT_MS, OutgoingOrders
from odradek.server.node.peers import OnPeerOutcome, PeerOutcome, PeerRequest
from odradek.server.node.received_orders import Obeyed
from odradek.timer import Timer
from odradek.wire.message import Message
from odradek.wire.messages.update_metadata import UpdateMetadataRequest, UpdateMetadataResponse

US, OTHER, THIRD = 1, 2, 3
LOST = ConnectionFailed("lost")


@dataclass
class Sent:
    broker_id: BrokerId
    request: Message
    done: Callable[[PeerOutcome], None]

    @property
    def epoch(self) -> int:
        """By which the tests tell orders apart."""
        assert isinstance(self.request, UpdateMetadataRequest)
        return self.request.broker_epoch


@dataclass
class Bench:
    sent: list[Sent] = field(default_factory=list)
    obeyed: list[tuple[OrderRequest, Obeyed]] = field(default_factory=list)
    answers: list[tuple[int, BrokerId, OrderOutcome]] = field(default_factory=list)
    turns: list[Callable[[], None]] = field(default_factory=list)
    breaks: bool = False

    def __post_init__(self) -> None:
        self.clock = ManualClock()
        self.timer = Timer(self.clock)
        self.orders = OutgoingOrders(
            US,
            self,
            lambda request, obeyed: self.obeyed.append((request, obeyed)),
            Slices(self.turns.append, TurnTime(lambda: 0)),
            self.turns.append,
            self.timer,
            lambda *answer: self.answers.append(answer),
        )

    def send(self, request: PeerRequest, done: OnPeerOutcome) -> None:
        """See `Peers.send`."""
        assert (request.version, request.timeout_ms) == (8, TIMEOUT_MS)
        self.sent.append(Sent(request.broker_id, request.message, done))
        if self.breaks:
            raise ValueError("broken")

    def order(self, broker_id: BrokerId, number: int) -> None:
        self.orders.send(broker_id, number, UpdateMetadata(US, 1, number, (), ()))
        self.settle()

    def settle(self) -> None:
        while self.turns:
            self.turns.pop(0)()

    def answer(self, outcome: PeerOutcome | None = None) -> None:
        """Answer what was sent last, well or as given."""
        self.sent[-1].done(outcome or UpdateMetadataResponse())
        self.settle()

    def pass_time(self, by_ms: int) -> None:
        self.clock.advance(by_ms)
        self.timer.advance()
        self.settle()


def test_one_order_is_in_flight_to_a_broker_and_the_next_one_waits_for_its_answer() -> None:
    bench = Bench()
    bench.order(OTHER, 10)
    bench.order(OTHER, 11)
    bench.order(THIRD, 12)
    assert [(one.broker_id, one.epoch) for one in bench.sent] == [(OTHER, 10), (THIRD, 12)]
    bench.sent[0].done(UpdateMetadataResponse(ErrorCode.STALE_CONTROLLER_EPOCH))
    bench.settle()
    assert [one.epoch for one in bench.sent] == [10, 12, 11]
    assert bench.answers == [(10, OTHER, OrderOutcome(ErrorCode.STALE_CONTROLLER_EPOCH))]


def test_an_order_without_an_answer_is_sent_again_before_any_other() -> None:
    bench = Bench()
    bench.order(OTHER, 10)
    bench.order(OTHER, 11)
    for attempt in range(1, 4):
        bench.answer(LOST)
        bench.pass_time(RETRY_MS - 1)
        assert len(bench.sent) == attempt
        bench.pass_time(1)
    assert [one.epoch for one in bench.sent] == [10, 10, 10, 10]
    assert (bench.answers, bench.orders.has_unanswered(OTHER)) == ([], True)
    bench.answer()
    bench.answer()
    assert [number for number, _, _ in bench.answers] == [10, 11]
    assert not bench.orders.has_unanswered(OTHER)


def test_a_broker_that_is_gone_is_sent_nothing_more() -> None:
    bench = Bench()
    bench.order(OTHER, 10)
    bench.order(OTHER, 11)
    bench.answer(LOST)
    bench.orders.forget(OTHER)
    bench.pass_time(10 * RETRY_MS)
    assert len(bench.sent) == 1


def test_an_answer_to_an_earlier_registration_is_ignored() -> None:
    bench = Bench()
    bench.order(OTHER, 10)
    bench.orders.forget(OTHER)
    bench.order(OTHER, 20)
    bench.sent[0].done(UpdateMetadataResponse())
    bench.settle()
    assert bench.answers == []
    assert [one.epoch for one in bench.sent] == [10, 20]
    bench.sent[1].done(UpdateMetadataResponse())
    bench.settle()
    assert [number for number, _, _ in bench.answers] == [20]


def test_a_failure_after_the_broker_is_gone_is_not_tried_again() -> None:
    bench = Bench()
    bench.order(OTHER, 10)
    bench.orders.forget_all()
    bench.answer(LOST)
    bench.pass_time(10 * RETRY_MS)
    assert len(bench.sent) == 1


def test_our_own_orders_are_obeyed_here_one_after_another() -> None:
    bench = Bench()
    bench.orders.send(US, 10, UpdateMetadata(US, 1, 10, (), ()))
    assert bench.obeyed == [], "nothing calls back before it returns"
    bench.order(US, 11)
    assert (len(bench.obeyed), bench.sent) == (1, [])
    bench.obeyed[0][1](OrderOutcome())
    bench.settle()
    assert [request.broker_epoch for request, _ in bench.obeyed] == [10, 11]
    assert [number for number, _, _ in bench.answers] == [10]


def test_who_waits_for_a_broker_waits_for_the_orders_sent_so_far() -> None:
    """R18: so an answer can wait until this broker has obeyed; a broker that is gone holds up none."""
    bench = Bench()
    done: list[str] = []

    def wait(name: str) -> None:
        bench.orders.after_all(OTHER, lambda: done.append(name))
        assert name not in done, "in a later turn"
        bench.settle()

    wait("no orders")
    bench.order(OTHER, 10)
    bench.order(OTHER, 11)
    wait("two orders")
    bench.order(OTHER, 12)
    wait("three orders")
    assert done == ["no orders"]
    bench.answer()
    assert done == ["no orders"]
    bench.answer()
    assert done == ["no orders", "two orders"]
    bench.orders.forget(OTHER)
    bench.settle()
    assert done == ["no orders", "two orders", "three orders"]


def test_an_order_that_cannot_be_made_a_request_has_failed_and_does_not_hold_up_the_next(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def breaks(order: UpdateMetadata) -> Steps[OrderRequest]:
        if order.broker_epoch == 10:
            raise ValueError("broken")
        return to_request(order)

    monkeypatch.setattr(outgoing_orders, "to_request", breaks)
    bench = Bench()
    done: list[str] = []
    bench.orders.send(OTHER, 10, UpdateMetadata(US, 1, 10, (), ()))
    bench.orders.after_all(OTHER, lambda: done.append("waited"))
    assert bench.answers == [], "nothing calls back before it returns"
    bench.order(OTHER, 11)
    assert bench.answers == [(10, OTHER, OrderOutcome(ErrorCode.UNKNOWN_SERVER_ERROR))]
    assert ([one.epoch for one in bench.sent], done) == ([11], ["waited"])
    (said,) = caplog.records
    assert said.getMessage() == "UpdateMetadata could not be sent to broker 2"
    bench.answer()
    assert not bench.orders.has_unanswered(OTHER)


def test_an_order_whose_sending_breaks_has_failed_once(caplog: pytest.LogCaptureFixture) -> None:
    """Also when an answer to it arrives after all: that is not the answer to the next order."""
    bench = Bench()
    bench.breaks = True
    bench.order(OTHER, 10)
    bench.breaks = False
    bench.order(OTHER, 11)
    assert [number for number, _, _ in bench.answers] == [10]
    bench.sent[0].done(UpdateMetadataResponse())
    bench.settle()
    assert [number for number, _, _ in bench.answers] == [10]
    assert bench.orders.has_unanswered(OTHER)
    bench.answer()
    assert [number for number, _, _ in bench.answers] == [10, 11]
    assert len(caplog.records) == 1
