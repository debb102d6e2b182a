"""What sockets add to `Peers`; what they have in common with a simulation is in `server/node/test_peers`."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from odradek.base.clock import ManualClock
from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.ids import BrokerId
from odradek.base.settings import BrokerSettings
from odradek.net.request_pipeline import ConnectionFailed, NotConnected
from odradek.server.edge.loop_stalls import STALL_NS, LoopStalls
from odradek.server.node.peers import PeerOutcome, PeerRequest
from odradek.server.process.peer_addresses import AddressOf, PeerAddress, unix_addresses
from odradek.server.process.peer_sockets import PeerSockets
from odradek.timer import Timer
from odradek.wire.messages.update_metadata import UpdateMetadataRequest

TURNS = 12


class Time:
    """A short clock that the test moves."""

    def __init__(self) -> None:
        self.now_ns = 0

    def __call__(self) -> int:
        return self.now_ns


def request(broker_id: int = 2) -> PeerRequest:
    return PeerRequest(BrokerId(broker_id), UpdateMetadataRequest(), 8, timeout_ms=1_000)


def sockets_to(address_of: AddressOf, clock: ManualClock, stalls: LoopStalls | None = None) -> PeerSockets:
    settings = replace(
        BrokerSettings(),
        socket_connection_setup_timeout_ms=100,
        socket_connection_setup_timeout_max_ms=350,
    )
    stalls = stalls or LoopStalls(lambda: 0, clock)
    return PeerSockets(BrokerId(1), address_of, lambda: settings, Timer(clock), stalls)


async def settle() -> None:
    for _ in range(TURNS):
        await asyncio.sleep(0)


@pytest.mark.asyncio
async def test_after_the_end_nothing_is_opened_and_each_request_fails_later(tmp_path: Path) -> None:
    sockets = sockets_to(unix_addresses(str(tmp_path)), ManualClock())
    peers = sockets.connect()
    outcomes: list[PeerOutcome] = []
    peers.send(request(), outcomes.append)
    sockets.close()
    peers.send(request(), outcomes.append)
    sockets.connect().send(request(), outcomes.append)
    assert len(outcomes) == 1, "a port never calls back before it returns"
    await settle()
    assert [type(outcome) for outcome in outcomes] == [NotConnected] * 3
    assert isinstance(outcomes[1], ApiError)
    assert outcomes[1].code == ErrorCode.BROKER_NOT_AVAILABLE


@pytest.mark.asyncio
async def test_what_holds_the_loop_with_an_outcome_is_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    clock, time = ManualClock(), Time()
    stalls = LoopStalls(time, clock)
    sockets = sockets_to(unix_addresses(str(tmp_path)), clock, stalls)

    def slow(outcome: PeerOutcome) -> None:
        time.now_ns += STALL_NS

    sockets.connect().send(request(), slow)
    await settle()
    assert stalls.count == 1
    assert caplog.messages == [
        "the event loop stood still for 100 ms: the outcome of UpdateMetadataRequest at broker 2"
    ]
    sockets.close()


class Place:
    """An address at which connections are made, or are not."""

    def __init__(self, *, is_reached: bool = True) -> None:
        self.is_reached = is_reached
        self.attempts = 0
        self.protocols: list[asyncio.BufferedProtocol] = []

    async def connect(self, protocol: Callable[[], asyncio.BufferedProtocol]) -> object:
        self.attempts += 1
        if not self.is_reached:
            return await asyncio.get_running_loop().create_future()
        made = protocol()
        self.protocols.append(made)
        made.connection_made(NoTransport())
        return made


class NoTransport(asyncio.Transport):
    """What is written goes nowhere."""

    def __init__(self) -> None:
        super().__init__()
        self.is_aborted = False

    def writelines(self, list_of_data: object) -> None:
        """Not of interest here."""

    def abort(self) -> None:
        self.is_aborted = True


@pytest.mark.asyncio
async def test_a_broker_that_has_moved_is_reached_at_its_new_address() -> None:
    first, second = Place(), Place()
    places: dict[BrokerId, PeerAddress] = {BrokerId(2): first}
    sockets = sockets_to(places.get, ManualClock())
    peers = sockets.connect()
    outcomes: list[PeerOutcome] = []
    for _ in range(2):
        peers.send(request(), outcomes.append)
    await settle()
    assert (first.attempts, outcomes) == (1, [])
    del places[BrokerId(2)]
    peers.send(request(), outcomes.append)
    await settle()
    assert (first.attempts, outcomes) == (1, []), "while it is not known where it is, its connection is used"
    places[BrokerId(2)] = second
    peers.send(request(), outcomes.append)
    assert outcomes == [], "a port never calls back before it returns"
    await settle()
    assert (first.attempts, second.attempts) == (1, 1)
    assert [type(outcome) for outcome in outcomes] == [ConnectionFailed] * 3, "it may have executed them"
    sockets.close()


@pytest.mark.asyncio
async def test_a_broker_whose_address_is_not_known_has_certainly_got_nothing() -> None:
    sockets = sockets_to(lambda broker_id: None, ManualClock())
    outcomes: list[PeerOutcome] = []
    sockets.connect().send(request(), outcomes.append)
    await settle()
    (failed,) = outcomes
    assert isinstance(failed, NotConnected)
    assert "its address is not known" in failed.message
    sockets.close()


@pytest.mark.asyncio
async def test_connecting_has_more_time_with_each_failure_in_a_row() -> None:
    """KIP-601."""
    place, clock = Place(is_reached=False), ManualClock()
    sockets = sockets_to(lambda broker_id: place, clock)
    peers = sockets.connect()
    took: list[int] = []
    for _ in range(4):
        outcomes: list[PeerOutcome] = []
        peers.send(request(), outcomes.append)
        await settle()
        took.append(0)
        while not outcomes:
            clock.advance(50)
            sockets.timer.advance()
            took[-1] += 50
    assert took == [100, 200, 350, 350]
    place.is_reached = True
    peers.send(request(), outcomes.append)
    await settle()
    place.protocols[-1].connection_lost(None)
    place.is_reached = False
    outcomes = []
    peers.send(request(), outcomes.append)
    await settle()
    clock.advance(100)
    sockets.timer.advance()
    assert [type(outcome) for outcome in outcomes] == [NotConnected], "it was made once, and counts anew"
    sockets.close()
