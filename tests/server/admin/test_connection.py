import asyncio
import logging
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState

from odradek.base.clock import ManualClock
from odradek.server.admin.connection import (
    EXCHANGE_MS,
    PIECES_MAX,
    REQUEST_MS,
    AdminConnection,
    AdminLimits,
)
from odradek.server.edge.complaints import SAID_MAX, Complaints
from odradek.timer import Timer

REQUEST = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"


async def answer_nothing(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})


class FakeTransport(asyncio.Transport):
    def __init__(self) -> None:
        super().__init__()
        self.is_aborted = False
        self.written = b""

    def write(self, data: Any) -> None:
        self.written += bytes(data)

    def abort(self) -> None:
        self.is_aborted = True

    def close(self) -> None:
        pass  # as with a peer that takes nothing

    def is_closing(self) -> bool:
        return self.is_aborted

    def resume_reading(self) -> None:
        pass


class Listener:
    """Connections that share limits, without sockets."""

    def __init__(self, connections_max: int = 3) -> None:
        self.clock = ManualClock()
        self.timer = Timer(self.clock)
        self.config = uvicorn.Config(answer_nothing, log_config=None, access_log=False, ws="none")
        self.state = ServerState()
        complaints = Complaints(logging.getLogger("test"), self.clock)
        self.limits = AdminLimits(self.timer, complaints, connections_max)

    def connect(self) -> tuple[AdminConnection, FakeTransport]:
        connection = AdminConnection(
            self.limits,
            config=self.config,
            server_state=self.state,
            app_state={},
            _loop=asyncio.get_running_loop(),
        )
        transport = FakeTransport()
        connection.connection_made(transport)
        return connection, transport

    def pass_ms(self, ms: int) -> None:
        self.clock.advance(ms)
        self.timer.advance()


async def answered(listener: Listener) -> None:
    await asyncio.gather(*listener.state.tasks)


@pytest.mark.asyncio
@pytest.mark.parametrize("sent", [b"", b"GET /met", REQUEST[:-2]])
async def test_half_a_request_is_not_waited_for(sent: bytes) -> None:
    listener = Listener()
    connection, transport = listener.connect()
    if sent:
        connection.data_received(sent)
    listener.pass_ms(REQUEST_MS - 1)
    assert not transport.is_aborted
    if sent:
        connection.data_received(b"")  # what trickles in gives no more time
    listener.pass_ms(1)
    assert transport.is_aborted


@pytest.mark.asyncio
async def test_who_asked_has_time_to_take_the_answer_and_no_more() -> None:
    listener = Listener()
    connection, transport = listener.connect()
    connection.data_received(REQUEST)
    await answered(listener)
    assert transport.written.startswith(b"HTTP/1.1 204")
    connection.data_received(b"G")  # a byte of the next request ends uvicorn's own patience
    listener.pass_ms(EXCHANGE_MS - 1)
    assert not transport.is_aborted
    listener.pass_ms(1)
    assert transport.is_aborted


@pytest.mark.asyncio
async def test_each_request_gives_new_time() -> None:
    listener = Listener()
    connection, transport = listener.connect()
    for _ in range(3):
        connection.data_received(REQUEST)
        await answered(listener)
        listener.pass_ms(EXCHANGE_MS - 1)
        assert not transport.is_aborted


@pytest.mark.asyncio
async def test_more_connections_than_may_be_are_closed_at_once(caplog: pytest.LogCaptureFixture) -> None:
    listener = Listener(connections_max=2)
    kept = [listener.connect() for _ in range(2)]
    surplus, transport = listener.connect()
    assert transport.is_aborted
    assert caplog.messages == ["refusing a connection of the admin listener: 2 are open"]
    surplus.connection_lost(None)
    assert not any(one.is_aborted for _, one in kept)
    kept[0][0].connection_lost(None)
    assert not listener.connect()[1].is_aborted
    assert listener.timer.size == 2, "a connection that is gone leaves nothing in the timer"


@pytest.mark.asyncio
async def test_peers_do_not_decide_how_much_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    listener = Listener(connections_max=1000)
    for _ in range(SAID_MAX + 50):
        connection, _ = listener.connect()
        connection.data_received(b"what is this\r\n\r\n")
    assert len(caplog.messages) == SAID_MAX
    assert set(caplog.messages) == {"the admin listener: Invalid HTTP request received."}


CHUNKED = REQUEST[:-2] + b"Transfer-Encoding: chunked\r\n\r\n"
CHUNK = b"1\r\na\r\n"


@pytest.mark.asyncio
async def test_a_body_in_very_many_pieces_ends_the_connection(caplog: pytest.LogCaptureFixture) -> None:
    """A MB of chunks of one byte held the loop for 0.9 s."""
    listener = Listener()
    connection, transport = listener.connect()
    connection.data_received(CHUNKED + CHUNK * PIECES_MAX)
    assert not transport.is_aborted
    connection.data_received(CHUNK * 50_000)
    assert transport.is_aborted
    assert connection.cycle.body == b"a" * PIECES_MAX, "and what follows is not taken apart"
    assert caplog.messages == [
        f"closing a connection of the admin listener: a body in more than {PIECES_MAX} pieces"
    ]


@pytest.mark.asyncio
async def test_each_request_may_have_a_body_in_pieces() -> None:
    listener = Listener()
    connection, transport = listener.connect()
    for _ in range(3):
        connection.data_received(CHUNKED + CHUNK * PIECES_MAX + b"0\r\n\r\n")
        await answered(listener)
    assert not transport.is_aborted
    assert transport.written.count(b"HTTP/1.1 204") == 3


@pytest.mark.asyncio
async def test_a_bad_body_of_a_request_that_was_answered_ends_the_connection() -> None:
    """uvicorn answers it 400, which fails: each such connection was a traceback in the log."""
    listener = Listener()
    connection, transport = listener.connect()
    connection.data_received(CHUNKED)
    await answered(listener)
    connection.data_received(b"no chunk\r\n")
    assert transport.is_aborted
    assert transport.written.count(b"HTTP/1.1") == 1
