"""What sockets add to `Peers`; what they have in common with a simulation is in `server/node/test_peers`."""

import asyncio
from pathlib import Path

import pytest

from odradek.base.clock import ManualClock
from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.ids import BrokerId
from odradek.net.client_connection import Connect
from odradek.net.request_pipeline import NotConnected
from odradek.server.edge.loop_stalls import STALL_NS, LoopStalls
from odradek.server.node.peers import PeerOutcome, PeerRequest
from odradek.server.process.peer_sockets import PeerSockets, unix_connect
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


async def settle() -> None:
    for _ in range(TURNS):
        await asyncio.sleep(0)


@pytest.mark.asyncio
async def test_after_the_end_nothing_is_opened_and_each_request_fails_later(tmp_path: Path) -> None:
    clock = ManualClock()
    stalls = LoopStalls(lambda: 0, clock)
    sockets = PeerSockets(BrokerId(1), unix_connect(str(tmp_path)), Timer(clock), stalls)
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
    sockets = PeerSockets(BrokerId(1), unix_connect(str(tmp_path)), Timer(clock), stalls)

    def slow(outcome: PeerOutcome) -> None:
        time.now_ns += STALL_NS

    sockets.connect().send(request(), slow)
    await settle()
    assert stalls.count == 1
    assert caplog.messages == [
        "the event loop stood still for 100 ms: the outcome of UpdateMetadataRequest at broker 2"
    ]
    sockets.close()


@pytest.mark.asyncio
async def test_a_broker_is_looked_for_again_for_each_connection(tmp_path: Path) -> None:
    asked: list[BrokerId] = []
    road = unix_connect(str(tmp_path))

    def connect_to(broker_id: BrokerId) -> Connect:
        asked.append(broker_id)
        return road(broker_id)

    clock = ManualClock()
    sockets = PeerSockets(BrokerId(1), connect_to, Timer(clock), LoopStalls(lambda: 0, clock))
    peers = sockets.connect()
    outcomes: list[PeerOutcome] = []
    peers.send(request(), outcomes.append)
    peers.send(request(), outcomes.append)
    assert asked == [2], "both are for one connection"
    await settle()
    peers.send(request(), outcomes.append)
    await settle()
    assert (asked, len(outcomes)) == ([2, 2], 3)
    sockets.close()
