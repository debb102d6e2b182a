import asyncio
import socket
from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import pytest
import uvloop

from odradek.base.clock import ManualClock
from odradek.base.errors import SettingError
from odradek.base.execution import TurnTime
from odradek.base.settings import BrokerSettings
from odradek.server.edge.cannot_listen import CannotListen
from odradek.server.edge.connections import ConnectionMaker, Connections
from odradek.server.edge.dispatch import FrameDispatcher
from odradek.server.edge.listener import Listeners, limits_of
from odradek.server.edge.tcp_servers import TcpServers
from odradek.server.process.event_loop import new_event_loop

NO_TIME = TurnTime(lambda: 0)
"""For connections that never come."""


class NoDisk:
    """A background that nobody may use."""

    def submit(self, call: object, done: object, failed: object) -> None:
        raise AssertionError(f"nothing is read here: {call}")


def settings(*listeners: str, **more: Any) -> Callable[[], BrokerSettings]:
    return lambda: replace(BrokerSettings(), listeners=listeners, **more)


def listeners_of(settings: Callable[[], BrokerSettings], **more: Any) -> Listeners:
    connections = Connections(
        ConnectionMaker(settings, NoDisk(), NO_TIME), ManualClock(), lambda: limits_of(settings())
    )
    return Listeners(settings, connections, **more)


@pytest.mark.asyncio
async def test_port_0_is_advertised_as_what_it_became() -> None:
    listeners = listeners_of(settings("PLAINTEXT://127.0.0.1:0"))
    await listeners.bind()
    (endpoint,) = listeners.endpoints()
    assert (endpoint.listener, endpoint.host) == ("PLAINTEXT", "127.0.0.1")
    assert endpoint.port == listeners.bound[0].port > 0
    listeners.stop_accepting()


@pytest.mark.asyncio
async def test_advertised_listeners_are_told_instead_of_the_bound_ones() -> None:
    listeners = listeners_of(
        settings("PLAINTEXT://127.0.0.1:0", advertised_listeners=("PLAINTEXT://kafka.example:443",))
    )
    await listeners.bind()
    assert [tuple(endpoint) for endpoint in listeners.endpoints()] == [
        ("PLAINTEXT", "PLAINTEXT", "kafka.example", 443)
    ]
    port = listeners.bound[0].port
    assert listeners.describe() == f"on 127.0.0.1:{port}, advertised as kafka.example:443"
    listeners.stop_accepting()


def test_of_two_that_bound_one_port_the_second_to_listen_is_refused() -> None:
    async def both() -> None:
        one = listeners_of(settings("PLAINTEXT://127.0.0.1:0"))
        await one.bind()
        port = one.bound[0].port
        other = listeners_of(settings(f"PLAINTEXT://127.0.0.1:{port}"))
        await other.bind()  # neither listens yet, so the system lets both
        try:
            await one.accept(cast(FrameDispatcher, None))
            with pytest.raises(CannotListen, match=rf"cannot listen on 127\.0\.0\.1:{port}: "):
                await other.accept(cast(FrameDispatcher, None))
        finally:
            one.stop_accepting()
            other.stop_accepting()

    with asyncio.Runner(loop_factory=new_event_loop) as runner:  # uvloop says nothing of it
        runner.run(both())


@pytest.mark.parametrize("new_loop", [uvloop.new_event_loop, asyncio.SelectorEventLoop])
def test_a_connection_that_is_made_after_the_close_is_closed(
    new_loop: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    """Else the loop ends with an open connection: it is accepted, but nobody has it in a table yet."""

    async def accept_and_stop() -> None:
        listeners = listeners_of(settings("PLAINTEXT://127.0.0.1:0"))
        make = listeners.connections.make

        def stop_before_it_is_made(listener: str) -> asyncio.BufferedProtocol:
            asyncio.get_running_loop().call_soon(listeners.stop_accepting)
            return make(listener)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(listeners.connections, "make", stop_before_it_is_made)
            await listeners.bind()
            await listeners.accept(cast(FrameDispatcher, None))
            reader, writer = await asyncio.open_connection("127.0.0.1", listeners.bound[0].port)
            assert await reader.read() == b""
            writer.close()
        assert not len(listeners.connections.table)

    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(asyncio.wait_for(accept_and_stop(), 30))


@pytest.mark.asyncio
@pytest.mark.parametrize("host", ["0.0.0.0", ""])
async def test_all_addresses_are_advertised_as_the_machine(host: str) -> None:
    listeners = listeners_of(
        settings(f"PLAINTEXT://{host}:0"),
        own_host=lambda: "kafka.example",
    )
    await listeners.bind()
    (address,) = listeners.bound
    assert listeners.describe() == f"on 0.0.0.0:{address.port}, advertised as kafka.example:{address.port}"
    assert listeners.endpoints()[0].host == "kafka.example"
    listeners.stop_accepting()


@pytest.mark.asyncio
async def test_port_0_of_all_addresses_is_one_port_for_both_families() -> None:
    listeners = listeners_of(
        settings("PLAINTEXT://:0"),
        own_host=lambda: "kafka.example",
    )
    await listeners.bind()
    ports = {socket.getsockname()[1] for socket in listeners._of_clients.sockets}
    assert ports == {listeners.bound[0].port}
    listeners.stop_accepting()


@pytest.mark.asyncio
async def test_a_listener_for_controllers_is_not_opened(caplog: pytest.LogCaptureFixture) -> None:
    asked = settings(
        "CONTROLLER://127.0.0.1:0",
        "PLAINTEXT://127.0.0.1:0",
        controller_listener_names=("CONTROLLER",),
        advertised_listeners=("PLAINTEXT://localhost:9092", "CONTROLLER://localhost:9093"),
    )
    listeners = listeners_of(asked)
    await listeners.bind()
    assert [address.name for address in listeners.bound] == ["PLAINTEXT"]
    assert [endpoint.listener for endpoint in listeners.endpoints()] == ["PLAINTEXT"]
    (said,) = caplog.messages
    assert said.startswith("the listener CONTROLLER is not opened: ")
    listeners.stop_accepting()


@pytest.mark.asyncio
async def test_a_listener_for_brokers_is_advertised_but_not_to_clients() -> None:
    asked = settings(
        "BROKERS://127.0.0.1:0",
        "CLIENTS://127.0.0.1:0",
        listener_security_protocol_map=("BROKERS:PLAINTEXT", "CLIENTS:PLAINTEXT"),
        inter_broker_listener_name="BROKERS",
        odradek_cluster_directory="/sockets",
    )
    maker = ConnectionMaker(asked, NoDisk(), NO_TIME)
    servers = TcpServers(Connections(maker, ManualClock(), lambda: limits_of(asked())), lambda: 50)
    listeners = listeners_of(asked, of_brokers=servers)
    await listeners.bind()
    of_brokers, of_clients = listeners.bound
    assert [endpoint.listener for endpoint in listeners.endpoints()] == ["BROKERS", "CLIENTS"]
    assert listeners.advertised_to_clients == [of_clients]
    assert listeners.describe() == f"on {of_clients}"
    await listeners.accept(cast(FrameDispatcher, None))
    with socket.create_connection((of_clients.host, of_clients.port)):
        pass
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((of_brokers.host, of_brokers.port))
    listeners.stop_accepting()
    servers.close()


@pytest.mark.asyncio
async def test_a_port_in_use_is_said_in_a_sentence() -> None:
    async def ignore(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    async with await asyncio.start_server(ignore, "127.0.0.1", 0) as other:
        port = other.sockets[0].getsockname()[1]
        with pytest.raises(CannotListen, match=rf"cannot listen on 127\.0\.0\.1:{port}: "):
            await listeners_of(settings(f"PLAINTEXT://127.0.0.1:{port}")).bind()


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("listener", "sentence"),
    [("SSL://127.0.0.1:0", "uses SSL"), ("INSIDE://127.0.0.1:0", "does not name the listener INSIDE")],
)
async def test_protocols_that_are_not_served_are_refused(listener: str, sentence: str) -> None:
    with pytest.raises(SettingError, match=sentence):
        await listeners_of(settings(listener)).bind()
