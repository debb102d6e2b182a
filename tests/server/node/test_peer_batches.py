"""One request in flight to each broker, with all that came meanwhile."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.execution import Slices, Steps, TurnTime
from odradek.base.ids import BrokerId
from odradek.server.node import peer_batches
from odradek.server.node.peer_batches import ITEMS_MAX, PeerBatches
from odradek.server.node.peers import OnPeerOutcome, PeerRequest
from odradek.wire.message import Message
from odradek.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTransaction,
)

E = ErrorCode


@dataclass
class Piece:
    """An item, and what became of it."""

    name: str
    key: str = ""
    size: int = 1
    is_wanted: bool = True
    outcomes: list[str | ErrorCode] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.key = self.key or self.name

    def refuse(self, code: ErrorCode) -> None:
        if not self.outcomes:
            self.outcomes.append(code)


class Names:
    """The request names the items."""

    def to_message(self, items: Sequence[Piece]) -> Steps[Message]:
        yield
        return AddPartitionsToTxnRequest(
            transactions=[AddPartitionsToTxnTransaction(one.name) for one in items]
        )

    def read(self, items: Sequence[Piece], answer: Message) -> Steps[None]:
        assert isinstance(answer, AddPartitionsToTxnResponse)
        if answer.error_code:
            raise ValueError("an answer that cannot be read")
        for item in items:
            item.outcomes.append("answered")
            yield


class Bench:
    """The other brokers, which answer when the test says so."""

    def __init__(self) -> None:
        self.in_flight: list[tuple[PeerRequest, OnPeerOutcome]] = []
        self.live = {1, 2, 3}
        slices = Slices(lambda callback: self.turns.append(callback), TurnTime(lambda: 0))
        self.turns: list[object] = []
        self.batches: PeerBatches[Piece] = PeerBatches(
            Names(), lambda: self, lambda broker_id: broker_id in self.live, slices, lambda: 30_000
        )

    def send(self, request: PeerRequest, done: OnPeerOutcome) -> None:
        """See `Peers.send`."""
        self.in_flight.append((request, done))

    def run(self) -> None:
        while self.turns:
            callback = self.turns.pop(0)
            assert callable(callback)
            callback()

    def give(self, broker_id: BrokerId, *pieces: Piece) -> None:
        for piece in pieces:
            self.batches.send(broker_id, piece)
        self.run()

    @property
    def requests(self) -> list[tuple[BrokerId, list[str]]]:
        """Those in flight: the broker and the names."""
        found = []
        for request, _ in self.in_flight:
            message = request.message
            assert isinstance(message, AddPartitionsToTxnRequest)
            found.append((request.broker_id, [one.transactional_id for one in message.transactions]))
        return found

    def end(self, outcome: Message | ApiError | None = None) -> None:
        """Let the oldest request have its outcome."""
        _, done = self.in_flight.pop(0)
        done(outcome or AddPartitionsToTxnResponse())
        self.run()


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_what_comes_meanwhile_goes_out_together(bench: Bench) -> None:
    a, b, c = (Piece(name) for name in "abc")
    bench.give(2, a, b, c)
    assert bench.requests == [(2, ["a"])]
    bench.end()
    assert (a.outcomes, b.outcomes, bench.requests) == (["answered"], [], [(2, ["b", "c"])])
    bench.end()
    assert (b.outcomes, c.outcomes, bench.requests) == (["answered"], ["answered"], [])
    assert len(bench.batches) == 0


def test_no_broker_waits_for_another(bench: Bench) -> None:
    bench.give(2, Piece("a"))
    bench.give(3, Piece("b"))
    assert bench.requests == [(2, ["a"]), (3, ["b"])]


def test_without_an_answer_all_are_refused_and_the_next_go_out(bench: Bench) -> None:
    a, b = Piece("a"), Piece("b")
    bench.give(2, a, b)
    bench.end(ApiError(E.REQUEST_TIMED_OUT))
    assert (a.outcomes, bench.requests) == ([E.REQUEST_TIMED_OUT], [(2, ["b"])])


def test_an_answer_that_cannot_be_read_is_none(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    a = Piece("a")
    bench.give(2, a)
    bench.end(AddPartitionsToTxnResponse(error_code=1))
    assert a.outcomes == [E.UNKNOWN_SERVER_ERROR]
    assert "has failed" in caplog.text


def test_what_waits_for_a_broker_that_is_gone_is_refused(bench: Bench) -> None:
    a, b = Piece("a"), Piece("b")
    bench.give(2, a, b)
    bench.batches.refuse_gone()
    bench.run()
    assert b.outcomes == []
    bench.live = {1, 3}
    bench.batches.refuse_gone()
    bench.run()
    assert (a.outcomes, b.outcomes) == ([], [E.BROKER_NOT_AVAILABLE])
    bench.end()
    assert (a.outcomes, bench.requests) == (["answered"], [])


def test_who_is_refused_may_send_to_another_broker_at_once(bench: Bench) -> None:
    class Persistent(Piece):
        def refuse(self, code: ErrorCode) -> None:
            super().refuse(code)
            bench.batches.send(3, self)

    bench.give(2, Piece("a"), Persistent("b"))
    bench.live = {1, 3}
    bench.batches.refuse_gone()
    bench.run()
    assert bench.requests == [(2, ["a"]), (3, ["b"])]


def test_items_with_one_key_go_out_one_after_another(bench: Bench) -> None:
    pieces = [Piece("a"), Piece("b", "k"), Piece("c", "k"), Piece("d")]
    bench.give(2, *pieces)
    sent = []
    while bench.in_flight:
        sent.append(bench.requests[0][1])
        bench.end()
    assert sent == [["a"], ["b", "d"], ["c"]]


def test_a_request_names_no_more_than_its_bounds(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peer_batches, "PARTITIONS_MAX", 10)
    bench.give(2, Piece("first"), Piece("a", size=6), Piece("b", size=5), Piece("c", size=50), Piece("d"))
    bench.give(3, Piece("first"), *(Piece(f"{number}", size=0) for number in range(ITEMS_MAX + 1)))
    sent: dict[BrokerId, list[int]] = {2: [], 3: []}
    while bench.in_flight:
        ((broker_id, names), *_) = bench.requests
        sent[broker_id].append(len(names))
        bench.end()
    assert sent == {2: [1, 1, 1, 1, 1], 3: [1, ITEMS_MAX, 1]}


def test_what_is_not_wanted_any_more_is_not_sent(bench: Bench) -> None:
    a, b, c = (Piece(name) for name in "abc")
    bench.give(2, a, b, c)
    b.is_wanted = False
    bench.end()
    assert (bench.requests, b.outcomes) == ([(2, ["c"])], [])


def test_a_broker_that_stops_refuses_everything(bench: Bench) -> None:
    a, b = Piece("a"), Piece("b")
    bench.give(2, a, b)
    bench.batches.close()
    bench.run()
    assert (a.outcomes, b.outcomes) == ([E.NETWORK_EXCEPTION], [E.NETWORK_EXCEPTION])
    _, done = bench.in_flight.pop()
    done(ApiError(E.NETWORK_EXCEPTION))
    bench.run()
    assert (a.outcomes, bench.requests) == ([E.NETWORK_EXCEPTION], [])
