"""What every `Peers` does: over the links of a simulation, and over Unix sockets and TCP on two loops.

Broker 1 asks. Broker 2 answers when the test says so. Nobody has ever heard of broker 9.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar, cast

import pytest
import uvloop

from odradek.base.buffers import Buffer
from odradek.base.clock import ManualClock
from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.execution import TurnTime
from odradek.base.held_calls import HeldCalls
from odradek.base.ids import BrokerId
from odradek.base.settings import BrokerSettings
from odradek.base.values import value
from odradek.net.request_pipeline import ConnectionFailed, NotConnected
from odradek.server.edge.addresses import ListenerAddress
from odradek.server.edge.connections import ConnectionMaker
from odradek.server.edge.dispatch import Answerable
from odradek.server.edge.loop_stalls import LoopStalls
from odradek.server.edge.peer_listener import (
    PeerConnections,
    PeerListener,
    TcpPeerListener,
    UnixPeerListener,
    limits_of_brokers,
)
from odradek.server.edge.tcp_servers import TcpServers
from odradek.server.edge.unix_address import UnixAddress, broker_socket
from odradek.server.node.life import Life
from odradek.server.node.peers import NoPeers, PeerOutcome, PeerRequest, Peers
from odradek.server.node.ports import Surroundings
from odradek.server.process.peer_addresses import (
    PeerAddress,
    TcpPeerAddress,
    UnixPeerAddress,
)
from odradek.server.process.peer_sockets import PeerSockets
from odradek.testing.sim import World
from odradek.timer import Timer
from odradek.wire.headers import RequestHeader, decode_request_header, encode_response_header
from odradek.wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderTopicResult,
)
from odradek.wire.messages.update_metadata import UpdateMetadataRequest

T = TypeVar("T")

VERSION = 4
TURNS = 60
"""More turns of a loop than anything here needs."""
LONG_MS, SHORT_MS = 30_000, 1_000


class Dispatcher:
    """The requests that have reached broker 2, which it answers when the test says so."""

    def __init__(self) -> None:
        self.asked: list[int] = []
        """The numbers of the requests, in the order in which they came."""
        self.abandoned: list[int] = []
        """Those whose connections were lost while they were at work."""
        self.client_ids: set[str | None] = set()
        self._at_work: dict[int, tuple[Answerable, RequestHeader]] = {}

    def dispatch(self, client: Answerable, frame: Buffer) -> None:
        header, position = decode_request_header(frame)
        request = OffsetForLeaderEpochRequest.decode(frame, header.api_version, position)
        number = request.replica_id
        self.asked.append(number)
        self.client_ids.add(header.client_id)
        self._at_work[number] = client, header
        client.when_lost(lambda: self.abandoned.append(number))

    def answer(self, number: int, *, padding_bytes: int = 0) -> None:
        """Answer a request by its own number."""
        topics = [OffsetForLeaderTopicResult("t" * 1_000, [])] * (padding_bytes // 1_000)
        response = OffsetForLeaderEpochResponse(throttle_time_ms=number, topics=topics)
        client, header = self._at_work.pop(number)
        head = encode_response_header(header.api_key, header.api_version, header.correlation_id)
        client.answer([head + response.encode(VERSION)])

    def answer_nonsense(self, number: int) -> None:
        client, header = self._at_work.pop(number)
        head = encode_response_header(header.api_key, header.api_version, header.correlation_id)
        client.answer([head + b"?"])

    def answer_waits(self, client: Answerable) -> None:
        """Not of interest here."""

    def answer_taken(self, client: Answerable) -> None:
        """Not of interest here."""


class Cluster(Protocol):
    """Broker 1 as one that asks, and broker 2."""

    broker: Dispatcher

    def connect(self) -> Peers:
        """A `Peers` of broker 1, as its node gets it."""

    def kill(self) -> None:
        """Broker 2 dies."""

    def revive(self) -> None:
        """Broker 2 runs again."""

    def hold(self) -> None:
        """Nothing passes from broker 1 to broker 2, connections that are being made least of all."""

    def let_pass(self) -> None:
        """Everything passes again."""

    def die(self) -> None:
        """Broker 1 dies."""

    def settle(self) -> None:
        """Let everything happen that needs no time."""

    def advance(self, by_ms: int) -> None:
        """Let time pass, and everything happen meanwhile."""

    def end(self) -> None:
        """The test is over."""


class Simulated:
    """Two nodes of a world, of which the second one's requests go to the test."""

    def __init__(self, directory: Path) -> None:
        self.broker = Dispatcher()
        self._world = World(brokers=2)
        self._divert()

    def _divert(self) -> None:
        self._world.settle()
        self._world.nodes[2].node.peer_dispatcher = self.broker

    def connect(self) -> Peers:
        return self._world.nodes[1].life.surroundings.connect_peers()

    def kill(self) -> None:
        self._world.kill(2)

    def revive(self) -> None:
        self._world.node(2)
        self._divert()

    def hold(self) -> None:
        self._world.cut(1, 2)

    def let_pass(self) -> None:
        self._world.heal()

    def die(self) -> None:
        self._world.kill(1)

    def settle(self) -> None:
        self._world.settle()

    def advance(self, by_ms: int) -> None:
        self._world.advance(by_ms)

    def end(self) -> None:
        """Nothing to do."""


@value
class Held:
    """An address to which nobody gets while the cluster is held."""

    inner: PeerAddress
    cluster: OnSockets

    async def connect(self, protocol: Callable[[], asyncio.BufferedProtocol]) -> object:
        while self.cluster.is_held:
            await asyncio.sleep(0)
        return await self.inner.connect(protocol)


class OnSockets:
    """Two ends of real sockets on one loop, in virtual time."""

    def __init__(self, loop: asyncio.AbstractEventLoop, directory: Path, *, is_tcp: bool = False) -> None:
        self.broker = Dispatcher()
        self._loop = loop
        self._errors: list[dict[str, Any]] = []
        loop.set_exception_handler(lambda loop, context: self._errors.append(context))
        self._directory = directory
        self._clock = ManualClock()
        self._timer = Timer(self._clock)
        self.is_held = False
        self._is_tcp = is_tcp
        # Where broker 2 is; 0 is any port that is free.
        self._port = 0
        self._settings = replace(BrokerSettings(), odradek_loop_spin_max_us=0)
        self._run(self._begin())

    async def _begin(self) -> None:
        stalls = LoopStalls(lambda: 0, self._clock)
        self._sockets = PeerSockets(
            BrokerId(1), self._address_of, lambda: self._settings, self._timer, stalls
        )
        unused = cast(Any, None)
        self._life = Life(
            Surroundings(
                self._clock,
                unused,
                unused,
                self._timer,
                unused,
                unused,
                unused,
                self._sockets.connect(),
                self._sockets.connect,
                unused,
                unused,
                unused,
                unused,
            )
        )
        await self._listen()

    async def _listen(self) -> None:
        maker = ConnectionMaker(lambda: self._settings, HeldCalls(), TurnTime(lambda: 0))
        connections = PeerConnections(maker, self._clock, limits_of_brokers)
        self._listener: PeerListener
        if self._is_tcp:
            servers = TcpServers(connections, lambda: 50, finds_vanished=True)
            self._port = await servers.bind(ListenerAddress("BROKERS", "127.0.0.1", self._port))
            self._listener = TcpPeerListener(servers, connections)
        else:
            path = broker_socket(str(self._directory), BrokerId(2))
            self._listener = UnixPeerListener(UnixAddress(path), connections)
        self._listener.bind()
        await self._listener.accept(self.broker)

    def _address_of(self, broker_id: BrokerId) -> PeerAddress | None:
        if not self._is_tcp:
            return Held(UnixPeerAddress(broker_socket(str(self._directory), broker_id)), self)
        return Held(TcpPeerAddress("127.0.0.1", self._port), self) if broker_id == 2 else None

    def connect(self) -> Peers:
        return self._life.surroundings.connect_peers()

    def kill(self) -> None:
        self._run(asyncio.sleep(0))
        self._listener.abandon()

    def revive(self) -> None:
        self._run(self._listen())

    def hold(self) -> None:
        self.is_held = True

    def let_pass(self) -> None:
        self.is_held = False

    def die(self) -> None:
        self._life.end()
        self._sockets.close()

    def settle(self) -> None:
        for _ in range(TURNS):
            self._run(asyncio.sleep(0))

    def advance(self, by_ms: int) -> None:
        self.settle()
        self._clock.advance(by_ms)
        self._timer.advance()
        self.settle()

    def end(self) -> None:
        self._sockets.close()
        self._listener.refuse()
        self.settle()
        self._loop.close()
        assert not self._errors

    def _run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return self._loop.run_until_complete(coroutine)


KINDS: dict[str, Callable[[Path], Cluster]] = {
    "simulation": Simulated,
    "asyncio": lambda directory: OnSockets(asyncio.SelectorEventLoop(), directory),
    "uvloop": lambda directory: OnSockets(uvloop.new_event_loop(), directory),
    "asyncio-tcp": lambda directory: OnSockets(asyncio.SelectorEventLoop(), directory, is_tcp=True),
    "uvloop-tcp": lambda directory: OnSockets(uvloop.new_event_loop(), directory, is_tcp=True),
}


@pytest.fixture(params=KINDS)
def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Cluster]:
    made = KINDS[request.param](tmp_path)
    yield made
    made.end()


class Asker:
    """A `Peers`, and what came of its requests."""

    def __init__(self, cluster: Cluster) -> None:
        self.outcomes: list[tuple[int, object]] = []
        """The outcomes in their order: of an answer its number, of a failure its class and code."""
        self.errors: list[ApiError] = []
        self.then: Callable[[], None] = lambda: None
        """Called after each outcome."""
        self._cluster = cluster
        self._peers = cluster.connect()

    def ask(self, number: int, *, broker: int = 2, timeout_ms: int = LONG_MS) -> None:
        """Send a request, and let happen what needs no time."""
        self.send(number, broker=broker, timeout_ms=timeout_ms)
        self._cluster.settle()

    def send(self, number: int, *, broker: int = 2, timeout_ms: int = LONG_MS) -> None:
        before = list(self.outcomes)
        message = OffsetForLeaderEpochRequest(replica_id=number)
        self._peers.send(
            PeerRequest(BrokerId(broker), message, VERSION, timeout_ms), partial(self._on_outcome, number)
        )
        assert self.outcomes == before, "a port never calls back before it returns"

    def _on_outcome(self, number: int, outcome: PeerOutcome) -> None:
        if isinstance(outcome, ApiError):
            self.outcomes.append((number, (type(outcome), outcome.code)))
            self.errors.append(outcome)
        else:
            assert isinstance(outcome, OffsetForLeaderEpochResponse)
            self.outcomes.append((number, outcome.throttle_time_ms))
        self.then()


NOT_CONNECTED = (NotConnected, ErrorCode.NETWORK_EXCEPTION)
LOST = (ConnectionFailed, ErrorCode.NETWORK_EXCEPTION)
TIMED_OUT = (ConnectionFailed, ErrorCode.REQUEST_TIMED_OUT)


@pytest.fixture
def asker(cluster: Cluster) -> Asker:
    return Asker(cluster)


def test_an_answer_reaches_its_request(cluster: Cluster, asker: Asker) -> None:
    asker.ask(1)
    assert (cluster.broker.asked, asker.outcomes) == ([1], [])
    cluster.broker.answer(1)
    cluster.settle()
    assert asker.outcomes == [(1, 1)]
    asker.ask(2)
    cluster.broker.answer(2)
    cluster.settle()
    assert asker.outcomes == [(1, 1), (2, 2)]
    assert len(cluster.broker.client_ids) == 1


def test_requests_are_executed_one_after_another_in_the_order_of_send(cluster: Cluster, asker: Asker) -> None:
    for number in (1, 2, 3):
        asker.send(number)
    cluster.settle()
    assert cluster.broker.asked == [1], "the others wait for its answer"
    for number in (1, 2, 3):
        cluster.broker.answer(number)
        cluster.settle()
    assert cluster.broker.asked == [1, 2, 3]
    assert asker.outcomes == [(1, 1), (2, 2), (3, 3)]


def test_a_request_that_waits_holds_back_nobody_with_connections_of_his_own(
    cluster: Cluster, asker: Asker
) -> None:
    """X1."""
    other = Asker(cluster)
    asker.ask(1)
    other.ask(2)
    assert cluster.broker.asked == [1, 2]
    cluster.broker.answer(2)
    cluster.settle()
    assert (asker.outcomes, other.outcomes) == ([], [(2, 2)])


def test_large_answers_arrive_whole(cluster: Cluster, asker: Asker) -> None:
    asker.ask(1)
    asker.ask(2)
    cluster.broker.answer(1, padding_bytes=600_000)
    cluster.settle()
    assert asker.outcomes == [(1, 1)]
    cluster.broker.answer(2, padding_bytes=100_000)
    cluster.settle()
    assert asker.outcomes == [(1, 1), (2, 2)]


def test_who_is_not_known_has_certainly_got_nothing(cluster: Cluster, asker: Asker) -> None:
    asker.send(1, broker=9)
    asker.send(2, broker=9)
    cluster.settle()
    assert asker.outcomes == [(1, NOT_CONNECTED), (2, NOT_CONNECTED)]


def test_who_does_not_run_has_certainly_got_nothing_and_is_asked_again_when_he_does(
    cluster: Cluster, asker: Asker
) -> None:
    cluster.kill()
    for number in (1, 2):
        asker.send(number)
    cluster.settle()
    assert asker.outcomes == [(1, NOT_CONNECTED), (2, NOT_CONNECTED)]
    cluster.revive()
    asker.ask(3)
    assert cluster.broker.asked == [3]
    cluster.broker.answer(3)
    cluster.settle()
    assert asker.outcomes[2:] == [(3, 3)]


def test_what_was_sent_to_a_broker_that_dies_may_have_been_executed(cluster: Cluster, asker: Asker) -> None:
    for number in (1, 2):
        asker.send(number)
    cluster.settle()
    cluster.kill()
    cluster.settle()
    assert asker.outcomes == [(1, LOST), (2, LOST)]
    cluster.revive()
    asker.ask(3)
    cluster.broker.answer(3)
    cluster.settle()
    assert asker.outcomes[2:] == [(3, 3)]
    assert cluster.broker.asked == [1, 3]


def test_an_idle_connection_that_has_ended_is_opened_again(cluster: Cluster, asker: Asker) -> None:
    asker.ask(1)
    cluster.broker.answer(1)
    cluster.settle()
    cluster.kill()
    cluster.settle()
    cluster.revive()
    asker.ask(2)
    cluster.broker.answer(2)
    cluster.settle()
    assert asker.outcomes == [(1, 1), (2, 2)]


def test_a_request_without_an_answer_in_time_ends_its_connection(cluster: Cluster, asker: Asker) -> None:
    asker.ask(1, timeout_ms=SHORT_MS)
    asker.ask(2)
    cluster.advance(SHORT_MS - 10)
    assert asker.outcomes == []
    cluster.advance(10)
    assert asker.outcomes == [(1, TIMED_OUT), (2, LOST)]
    asker.ask(3, timeout_ms=SHORT_MS)
    assert cluster.broker.asked == [1, 3], "on a new connection"
    cluster.advance(SHORT_MS)
    assert cluster.broker.abandoned == [3], "the broker has noticed; of the first not, since 2 lies unread"


def test_a_request_may_have_less_time_than_those_before_it(cluster: Cluster, asker: Asker) -> None:
    asker.ask(1)
    asker.ask(2, timeout_ms=SHORT_MS)
    cluster.advance(SHORT_MS)
    assert asker.outcomes == [(1, LOST), (2, TIMED_OUT)]


def test_time_runs_for_each_request_alone(cluster: Cluster, asker: Asker) -> None:
    asker.ask(1, timeout_ms=SHORT_MS)
    cluster.broker.answer(1)
    cluster.settle()
    cluster.advance(SHORT_MS // 2)
    asker.ask(2, timeout_ms=SHORT_MS)
    cluster.advance(SHORT_MS // 2)
    assert asker.outcomes == [(1, 1)], "it is the deadline of a request that was answered"
    cluster.advance(SHORT_MS // 2)
    assert asker.outcomes == [(1, 1), (2, TIMED_OUT)]


def test_time_runs_while_a_connection_is_being_made(cluster: Cluster, asker: Asker) -> None:
    cluster.hold()
    asker.ask(1, timeout_ms=SHORT_MS)
    asker.ask(2)
    cluster.advance(SHORT_MS)
    never = NotConnected
    assert asker.outcomes == [
        (1, (never, ErrorCode.REQUEST_TIMED_OUT)),
        (2, (never, ErrorCode.NETWORK_EXCEPTION)),
    ]
    cluster.let_pass()
    cluster.settle()
    assert cluster.broker.asked == []
    asker.ask(3)
    assert cluster.broker.asked == [3]


def test_what_is_called_with_an_outcome_may_send_the_next_request(cluster: Cluster, asker: Asker) -> None:
    def retry() -> None:
        if len(asker.outcomes) < 3:
            asker.send(10 + len(asker.outcomes))

    asker.then = retry
    cluster.kill()
    asker.ask(1)
    assert asker.outcomes == [(1, NOT_CONNECTED), (11, NOT_CONNECTED), (12, NOT_CONNECTED)]
    cluster.revive()
    asker.then = lambda: asker.send(3) if len(asker.outcomes) == 4 else None
    asker.ask(2)
    cluster.broker.answer(2)
    cluster.settle()
    assert cluster.broker.asked == [2, 3]


def test_an_answer_that_cannot_be_read_is_a_failure_of_its_request(cluster: Cluster, asker: Asker) -> None:
    asker.ask(1)
    asker.ask(2)
    cluster.broker.answer_nonsense(1)
    cluster.settle()
    assert asker.outcomes == [(1, (ConnectionFailed, ErrorCode.CORRUPT_MESSAGE))]
    assert "broker 2 answered what cannot be read" in asker.errors[0].message
    cluster.broker.answer(2)
    cluster.settle()
    assert asker.outcomes[1:] == [(2, 2)]


def test_nothing_is_reported_after_the_end_of_a_life(cluster: Cluster, asker: Asker) -> None:
    asker.ask(1)
    asker.send(2, broker=9)
    cluster.die()
    cluster.advance(LONG_MS)
    assert asker.outcomes == []
    assert cluster.broker.abandoned == [1]


def test_whoever_is_alone_knows_nobody_and_the_answer_comes_later() -> None:
    turns: list[Callable[[], None]] = []
    outcomes: list[PeerOutcome] = []
    NoPeers(turns.append).send(PeerRequest(2, UpdateMetadataRequest(), 8, timeout_ms=100), outcomes.append)
    assert outcomes == [], "a port never calls back before it returns"
    turns.pop()()
    (failed,) = outcomes
    assert isinstance(failed, ApiError)
    assert (failed.code, failed.message) == (ErrorCode.BROKER_NOT_AVAILABLE, "broker 2 is not known here")
