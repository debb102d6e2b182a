"""Where a broker looks for the others."""

import asyncio
import logging
import socket
from pathlib import Path

import pytest
import uvloop

from odradek.base.ids import BrokerId
from odradek.metadata.image import BrokerImage, Endpoint
from odradek.server.process.peer_addresses import (
    RegisteredAddresses,
    TcpPeerAddress,
    UnixPeerAddress,
    unix_addresses,
)


def broker(port: int, *, epoch: int = 1, listener: str = "BROKERS") -> BrokerImage:
    clients = Endpoint("CLIENTS", "PLAINTEXT", "kafka.example", 9092)
    return BrokerImage(2, (clients, Endpoint(listener, "PLAINTEXT", "10.0.0.2", port)), epoch=epoch)


def test_brokers_of_one_machine_are_found_by_their_sockets() -> None:
    assert unix_addresses("/sockets")(BrokerId(2)) == UnixPeerAddress(Path("/sockets/broker-2.sock"))


def test_a_broker_is_where_it_has_registered_last() -> None:
    known: dict[BrokerId, BrokerImage] = {}
    addresses = RegisteredAddresses("BROKERS")
    assert addresses(2) is None, "there is no node yet"
    addresses.find_by(known.get)
    assert addresses(2) is None
    known[2] = broker(9093)
    first = addresses(2)
    assert first == TcpPeerAddress("10.0.0.2", 9093) == addresses(2)
    known[2] = broker(9094, epoch=2)
    assert addresses(2) == TcpPeerAddress("10.0.0.2", 9094) != first


def test_a_broker_without_such_a_listener_is_logged_once_for_each_registration(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING)
    known = {2: broker(9093, listener="INSIDE")}
    addresses = RegisteredAddresses("BROKERS")
    addresses.find_by(known.get)
    assert [addresses(2), addresses(2)] == [None, None]
    assert caplog.messages == [
        "broker 2 cannot be reached: it has not registered a listener BROKERS, but CLIENTS, INSIDE; "
        "inter.broker.listener.name must be the same for all brokers of a cluster"
    ]
    known[2] = broker(9093, listener="INSIDE", epoch=2)
    addresses(2)
    assert len(caplog.messages) == 2


@pytest.mark.parametrize("make", [asyncio.SelectorEventLoop, uvloop.new_event_loop])
def test_a_connection_is_asked_whether_its_other_machine_is_there(
    make: type[asyncio.SelectorEventLoop],
) -> None:
    class Protocol(asyncio.BufferedProtocol):
        transport: asyncio.BaseTransport
        descriptor = -1

        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            self.transport = transport
            self.descriptor = transport.get_extra_info("socket").fileno()

    async def main() -> None:
        with socket.socket() as listening:
            listening.bind(("127.0.0.1", 0))
            listening.listen()
            connected = await TcpPeerAddress("127.0.0.1", listening.getsockname()[1]).connect(Protocol)
            assert isinstance(connected, Protocol)
            with socket.socket(fileno=socket.dup(connected.descriptor)) as same:
                assert same.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
            connected.transport.close()
            await asyncio.sleep(0)

    with asyncio.Runner(loop_factory=make) as runner:
        runner.run(main())
