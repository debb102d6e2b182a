"""The listener between brokers, on the loops of brokers; what `Peers` do with it is in `node/test_peers`."""

import asyncio
import shutil
import socket
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pytest
import uvloop

from odradek.base.buffers import Buffer
from odradek.base.clock import ManualClock
from odradek.base.execution import TurnTime
from odradek.base.held_calls import HeldCalls
from odradek.base.ids import BrokerId
from odradek.base.settings import BrokerSettings
from odradek.net.connection_table import ConnectionLimits
from odradek.net.framing import framed
from odradek.server.edge.cannot_listen import CannotListen
from odradek.server.edge.connections import ConnectionMaker, Connections
from odradek.server.edge.dispatch import Answerable
from odradek.server.edge.peer_listener import PeerConnections, UnixPeerListener, limits_of_brokers
from odradek.server.edge.unix_address import UnixAddress, broker_socket
from odradek.wire.headers import RequestHeader, encode_request_header

T = TypeVar("T")
TURNS = 12
NOT_A_HEADER = b"\x7f\xff\xff\xff\xff\xff\xff\xff\x7f\xff"


class Dispatcher:
    """Keeps the requests until the test answers them."""

    def __init__(self) -> None:
        self.at_work: list[Answerable] = []
        self.abandoned = 0

    def dispatch(self, client: Answerable, frame: Buffer) -> None:
        self.at_work.append(client)
        client.when_lost(self._abandon)

    def _abandon(self) -> None:
        self.abandoned += 1

    def answer_waits(self, client: Answerable) -> None:
        """Not of interest here."""

    def answer_taken(self, client: Answerable) -> None:
        """Not of interest here."""


class Setting:
    """A listener between brokers beside the connections of clients."""

    def __init__(self, directory: Path, *, frame_bytes_max: int = 1_000) -> None:
        settings = replace(BrokerSettings(), socket_request_max_bytes=frame_bytes_max)
        self.maker = ConnectionMaker(lambda: settings, HeldCalls(), TurnTime(lambda: 0))
        self.clients = Connections(self.maker, ManualClock(), lambda: ConnectionLimits(0))
        self.path = broker_socket(str(directory), BrokerId(2))
        self.connections = PeerConnections(self.maker, ManualClock(), limits_of_brokers)
        self.listener = UnixPeerListener(UnixAddress(self.path), self.connections)
        self.dispatcher = Dispatcher()

    async def accept(self) -> None:
        self.listener.bind()
        await self.listener.accept(self.dispatcher)

    def connect(self, *frames: bytes) -> socket.socket:
        client = socket.socket(socket.AF_UNIX)
        try:
            client.connect(str(self.path))
        except OSError:
            client.close()
            raise
        client.setblocking(False)
        client.sendall(b"".join(b"".join(framed([frame])) for frame in frames))
        return client


async def settle() -> None:
    for _ in range(TURNS):
        await asyncio.sleep(0)


def request(client_id: str | None = "broker-1") -> bytes:
    return encode_request_header(RequestHeader(18, 0, 1, client_id))


def on_both_loops(test: Callable[[Path], Awaitable[None]]) -> Callable[[Path, str], None]:
    @pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
    def run(tmp_path: Path, loop: str) -> None:
        make = asyncio.SelectorEventLoop if loop == "asyncio" else uvloop.new_event_loop

        async def main() -> None:
            await test(tmp_path)

        with asyncio.Runner(loop_factory=make) as runner:
            runner.run(main())

    return run


@on_both_loops
async def test_a_connection_is_described_as_a_brokers_and_counted_apart_from_clients(directory: Path) -> None:
    setting = Setting(directory)
    await setting.accept()
    with setting.connect(request("broker-1")), setting.connect(request(None)), setting.connect(NOT_A_HEADER):
        await settle()
        described = [
            (row["listener"], row["client"], row["client_id"], row["software"], row["is_handling"])
            for row in setting.connections.table.describe()
        ]
        assert described == [
            ("BROKERS", "unix", "broker-1", "odradek", True),
            ("BROKERS", "unix", "", "odradek", True),
            ("BROKERS", "unix", "", "odradek", True),
        ]
        assert len(setting.clients.table) == 0, "of clients there may be none"
    setting.listener.refuse()
    await settle()


@on_both_loops
async def test_nobody_can_connect_before_brokers_are_admitted(directory: Path) -> None:
    setting = Setting(directory)
    setting.listener.bind()
    with pytest.raises(ConnectionRefusedError):
        setting.connect()
    await setting.listener.accept(setting.dispatcher)
    with setting.connect(request()):
        await settle()
        assert len(setting.dispatcher.at_work) == 1
    setting.listener.refuse()
    await settle()


@on_both_loops
async def test_to_refuse_brokers_ends_their_connections_and_parked_requests(directory: Path) -> None:
    setting = Setting(directory)
    await setting.accept()
    with setting.connect(request()) as one, setting.connect(request()) as other:
        await settle()
        setting.listener.refuse()
        assert setting.dispatcher.abandoned == 0, "what is parked is told in a later turn"
        await settle()
        assert (setting.dispatcher.abandoned, len(setting.connections.table)) == (2, 0)
        assert [one.recv(1), other.recv(1)] == [b"", b""]
    assert not setting.path.exists()
    with pytest.raises(FileNotFoundError):
        setting.connect()
    setting.listener.refuse()


@on_both_loops
async def test_a_crash_leaves_the_file_and_the_next_life_replaces_it(directory: Path) -> None:
    setting, again = Setting(directory), Setting(directory)
    await setting.accept()
    with setting.connect(request()):
        await settle()
        setting.listener.abandon()
        await settle()
    with pytest.raises((ConnectionRefusedError, FileNotFoundError)):  # from Python 3.13 on, loops remove it
        setting.connect()
    await again.accept()
    with again.connect(request()):
        await settle()
        assert (len(setting.dispatcher.at_work), len(again.dispatcher.at_work)) == (1, 1)
    again.listener.refuse()
    await settle()


@on_both_loops
async def test_a_file_that_somebody_has_removed_is_made_again(directory: Path) -> None:
    setting = Setting(directory)
    setting.listener.renew()
    assert not setting.path.exists(), "it does not serve yet"
    await setting.accept()
    with setting.connect(request()):
        await settle()
        setting.path.unlink()
        setting.listener.renew()
        setting.listener.renew()
        await settle()
        with setting.connect(request()):
            await settle()
            assert len(setting.dispatcher.at_work) == 2
            assert setting.dispatcher.abandoned == 0, "connections outlive their file"
    made = setting.path.stat()
    assert made.st_mode & 0o777 == 0o600
    setting.listener.renew()
    await settle()
    assert setting.path.stat().st_ino == made.st_ino, "a file that is there is left alone"
    setting.listener.refuse()
    await settle()
    setting.listener.renew()
    await settle()
    assert not setting.path.exists()


@on_both_loops
async def test_a_file_is_made_again_when_its_directory_is_back(directory: Path) -> None:
    sockets = directory / "sockets"
    sockets.mkdir()
    setting = Setting(sockets)
    await setting.accept()
    shutil.rmtree(sockets)
    setting.listener.renew()
    await settle()
    sockets.mkdir()
    setting.listener.renew()
    await settle()
    with setting.connect(request()):
        await settle()
        assert len(setting.dispatcher.at_work) == 1
    setting.listener.refuse()
    await settle()


@on_both_loops
async def test_a_second_broker_of_an_id_is_refused(directory: Path) -> None:
    setting, other = Setting(directory), Setting(directory)
    await setting.accept()
    with pytest.raises(CannotListen, match="another broker with this id is running"):
        other.listener.bind()
    other.listener.refuse()
    with setting.connect(request()):
        await settle()
        assert len(setting.dispatcher.at_work) == 1
    setting.listener.refuse()
    await settle()


@on_both_loops
async def test_of_two_that_bound_one_path_the_first_fails_when_it_listens(directory: Path) -> None:
    setting, other = Setting(directory), Setting(directory)
    setting.listener.bind()
    await other.accept()
    with pytest.raises(CannotListen, match="another process has replaced or removed this file"):
        await setting.listener.accept(setting.dispatcher)
    setting.listener.refuse()
    with other.connect(request()):
        await settle()
        assert len(other.dispatcher.at_work) == 1
    other.listener.refuse()
    await settle()


@on_both_loops
async def test_what_no_broker_sends_ends_its_connection(directory: Path) -> None:
    setting = Setting(directory, frame_bytes_max=100)
    await setting.accept()
    with setting.connect(bytes(101)) as client:
        await settle()
        assert client.recv(1) == b""
        assert (setting.dispatcher.at_work, len(setting.connections.table)) == ([], 0)
    setting.listener.refuse()
    await settle()


def test_no_idle_connection_between_brokers_is_closed() -> None:
    assert limits_of_brokers().idle_ms_max < 0
