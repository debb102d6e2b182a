import asyncio
from dataclasses import replace
from typing import Any

import pytest

from odradek.base.clock import ManualClock
from odradek.base.errors import SettingError
from odradek.base.settings import BrokerSettings
from odradek.server.edge.listener import CannotListen, ListenerAddress, Listeners, parse_listener


def settings(*listeners: str, **more: Any) -> BrokerSettings:
    return replace(BrokerSettings(), listeners=listeners, **more)


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("PLAINTEXT://127.0.0.1:9092", ListenerAddress("PLAINTEXT", "127.0.0.1", 9092)),
        (" plaintext://:0 ", ListenerAddress("PLAINTEXT", "", 0)),
        ("INSIDE://[::1]:7", ListenerAddress("INSIDE", "::1", 7)),
    ],
)
def test_listeners_are_written_as_in_kafka(text: str, parsed: ListenerAddress) -> None:
    assert parse_listener(text) == parsed


@pytest.mark.parametrize("text", ["", "9092", "PLAINTEXT://host", "://h:1", "P://h:99999", "P://h:x"])
def test_what_is_no_listener_is_said_in_a_sentence(text: str) -> None:
    with pytest.raises(SettingError, match="a listener is written NAME://host:port"):
        parse_listener(text)


@pytest.mark.asyncio
async def test_port_0_is_advertised_as_what_it_became() -> None:
    listeners = Listeners(settings("PLAINTEXT://127.0.0.1:0"), ManualClock())
    await listeners.bind()
    (endpoint,) = listeners.advertised()
    assert (endpoint.listener, endpoint.host) == ("PLAINTEXT", "127.0.0.1")
    assert endpoint.port == listeners.bound[0].port > 0
    listeners.stop_accepting()


@pytest.mark.asyncio
async def test_advertised_listeners_are_told_instead_of_the_bound_ones() -> None:
    listeners = Listeners(
        settings("PLAINTEXT://127.0.0.1:0", advertised_listeners=("PLAINTEXT://kafka.example:443",)),
        ManualClock(),
    )
    await listeners.bind()
    assert [tuple(endpoint) for endpoint in listeners.advertised()] == [
        ("PLAINTEXT", "PLAINTEXT", "kafka.example", 443)
    ]
    listeners.stop_accepting()


@pytest.mark.asyncio
async def test_a_port_in_use_is_said_in_a_sentence() -> None:
    async def ignore(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    async with await asyncio.start_server(ignore, "127.0.0.1", 0) as other:
        port = other.sockets[0].getsockname()[1]
        with pytest.raises(CannotListen, match=rf"cannot listen on 127\.0\.0\.1:{port}: "):
            await Listeners(settings(f"PLAINTEXT://127.0.0.1:{port}"), ManualClock()).bind()


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("listener", "sentence"),
    [("SSL://127.0.0.1:0", "wants SSL"), ("INSIDE://127.0.0.1:0", "does not name the listener INSIDE")],
)
async def test_protocols_that_are_not_served_are_refused(listener: str, sentence: str) -> None:
    with pytest.raises(SettingError, match=sentence):
        await Listeners(settings(listener), ManualClock()).bind()
