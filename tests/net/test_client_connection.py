"""The pipeline's shell on a loop, over TCP; `server/node/test_peers` has it over unix sockets."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial

import pytest

from odradek.base.clock import ManualClock
from odradek.base.error_codes import ErrorCode
from odradek.net.client_connection import ClientConnection, Connect
from odradek.net.framing import framed
from odradek.net.request_pipeline import (
    Answer,
    ConnectionFailed,
    NotConnected,
    Outcome,
    decode_answer,
)
from odradek.timer import Timer
from odradek.wire.headers import decode_request_header, encode_response_header
from odradek.wire.message import Message
from odradek.wire.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
VERSION = 1
SETUP_MS = 500


async def read_request(reader: asyncio.StreamReader) -> tuple[int, int, int]:
    size = int.from_bytes(await reader.readexactly(4))
    header, _ = decode_request_header(await reader.readexactly(size))
    return header.api_key, header.api_version, header.correlation_id


def answer(request: tuple[int, int, int], response: Message) -> bytes:
    key, version, correlation_id = request
    return b"".join(framed([encode_response_header(key, version, correlation_id), response.encode(version)]))


class Asker:
    """A connection in virtual time."""

    def __init__(self, connect: Connect, *, setup_ms: int | None = None) -> None:
        self.clock = ManualClock()
        self.timer = Timer(self.clock)
        self.connection = ClientConnection(
            "broker 2",
            connect,
            asyncio.get_running_loop(),
            self.timer,
            client_id="test",
            setup_ms=setup_ms,
        )

    def send(self, timeout_ms: int = 1_000) -> "asyncio.Future[Outcome]":
        """Send a request; the future gets its outcome."""
        outcome: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self.connection.send(DescribeClusterRequest(), VERSION, timeout_ms, outcome.set_result)
        assert not outcome.done(), "nothing calls back before it returns"
        return outcome

    def advance(self, by_ms: int) -> None:
        self.clock.advance(by_ms)
        self.timer.advance()


def cluster_id(outcome: Outcome) -> str:
    assert isinstance(outcome, Answer), outcome
    return decode_answer("broker 2", outcome, DescribeClusterResponse).cluster_id


def error(outcome: Outcome) -> ConnectionFailed:
    assert not isinstance(outcome, Answer), "it was answered"
    return outcome.error


def tcp(port: int) -> Connect:
    return partial(asyncio.get_running_loop().create_connection, host="127.0.0.1", port=port)


@asynccontextmanager
async def connected(serve: Serve, *, setup_ms: int | None = None) -> AsyncIterator[Asker]:
    """A connection to a broker that does what `serve` does."""
    done: list[asyncio.Task[None]] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await serve(reader, writer)
        writer.close()

    def begin(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        done.append(asyncio.create_task(talk(reader, writer)))

    server = await asyncio.start_server(begin, "127.0.0.1", 0)
    asker = Asker(tcp(server.sockets[0].getsockname()[1]), setup_ms=setup_ms)
    try:
        yield asker
    finally:
        asker.connection.close()
        server.close()
        await asyncio.gather(*done, return_exceptions=True)


@pytest.mark.asyncio
async def test_answers_find_their_requests() -> None:
    async def in_order(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        first, second = await read_request(reader), await read_request(reader)
        assert first[:2] == (60, VERSION), "in the version that was asked for, without any other request"
        writer.write(answer(first, DescribeClusterResponse(cluster_id="first")))
        writer.write(answer(second, DescribeClusterResponse(cluster_id="second")))
        await reader.read()

    async with connected(in_order) as asker:
        found = await asyncio.gather(asker.send(), asker.send())
        assert [cluster_id(outcome) for outcome in found] == ["first", "second"]
        assert (asker.connection.in_flight, asker.connection.is_open) == (0, True)


@pytest.mark.asyncio
async def test_requests_in_flight_fail_when_the_broker_closes() -> None:
    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)

    async with connected(hang_up) as asker:
        failed = error(await asker.send())
        assert not isinstance(failed, NotConnected), "it may have been executed"
        assert failed.message == "the connection to broker 2 is lost: the broker closed it"
        assert not asker.connection.is_open
        with pytest.raises(ConnectionFailed, match="is closed"):
            asker.send()


@pytest.mark.asyncio
async def test_a_request_that_times_out_ends_the_connection() -> None:
    ended = asyncio.Event()
    arrived = asyncio.Event()

    async def say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        arrived.set()
        assert await reader.read() == b""
        ended.set()

    async with connected(say_nothing) as asker:
        outcome = asker.send(timeout_ms=500)
        await arrived.wait()
        asker.advance(SETUP_MS - 1)
        assert not outcome.done()
        asker.advance(1)
        failed = error(outcome.result())
        assert failed.code == ErrorCode.REQUEST_TIMED_OUT
        assert failed.message == "broker 2 did not answer within 0.5 s (describe cluster)"
        assert not asker.connection.is_open
        await ended.wait()


@pytest.mark.asyncio
async def test_an_answer_to_nothing_that_was_asked_ends_the_connection() -> None:
    async def confuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        key, version, correlation_id = await read_request(reader)
        writer.write(answer((key, version, correlation_id + 1), DescribeClusterResponse()))
        await reader.read()

    async with connected(confuse) as asker:
        assert "an answer to no request" in error(await asker.send()).message
        assert not asker.connection.is_open


@pytest.mark.asyncio
async def test_nobody_there_is_said_in_a_sentence() -> None:
    asker = Asker(tcp(1))
    failed = error(await asker.send())
    assert isinstance(failed, NotConnected)
    assert failed.message.startswith("the connection to broker 2 is lost: it was never made: ")


@pytest.mark.asyncio
async def test_a_connection_that_is_given_up_while_it_opens_is_closed() -> None:
    begun, may_connect = asyncio.Event(), asyncio.Event()

    async def never(protocol: Callable[[], asyncio.BufferedProtocol]) -> None:
        begun.set()
        try:
            await may_connect.wait()
        finally:
            may_connect.set()

    asker = Asker(never)
    outcome = asker.send()
    await begun.wait()
    asker.connection.close()
    failed = error(outcome.result())
    assert isinstance(failed, NotConnected)
    await may_connect.wait()


@pytest.mark.asyncio
async def test_a_connection_that_is_made_although_it_was_given_up_is_closed() -> None:
    ended = asyncio.Event()

    async def wait_for_the_end(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert await reader.read() == b""
        ended.set()

    async with connected(wait_for_the_end) as other:
        pass_on = other.connection
        await asyncio.sleep(0)
        while pass_on._transport is None:
            await asyncio.sleep(0)
        transport = pass_on._transport
        asker = Asker(lambda protocol: asyncio.sleep(60))
        outcome = asker.send()
        asker.connection.close()
        asker.connection.connection_made(transport)
        assert isinstance(error(outcome.result()), NotConnected)
        await ended.wait()


@pytest.mark.asyncio
async def test_a_callback_that_fails_costs_no_other_request_its_outcome() -> None:
    reported: list[str] = []
    asyncio.get_running_loop().set_exception_handler(
        lambda loop, context: reported.append(f"{context['message']}: {context['exception']}")
    )

    def fail(outcome: Outcome) -> None:
        raise ValueError("a bug")

    asker = Asker(lambda protocol: asyncio.sleep(60))
    asker.connection.send(DescribeClusterRequest(), VERSION, 1_000, fail)
    second = asker.send()
    asker.connection.close()
    assert isinstance(error(second.result()), NotConnected)
    assert reported == ["DescribeClusterRequest's outcome was not handled: a bug"]


@pytest.mark.asyncio
async def test_a_connection_that_is_not_made_in_time_is_given_up() -> None:
    async def never(protocol: Callable[[], asyncio.BufferedProtocol]) -> object:
        return await asyncio.get_running_loop().create_future()

    asker = Asker(never, setup_ms=SETUP_MS)
    outcome = asker.send(1_000)
    asker.advance(SETUP_MS - 1)
    assert asker.connection.is_open
    asker.advance(1)
    failed = error(await outcome)
    assert isinstance(failed, NotConnected), "the broker has got nothing"
    assert "it was not made within 500 ms" in failed.message
    assert (asker.connection.is_open, asker.connection.was_connected) == (False, False)


@pytest.mark.asyncio
async def test_a_connection_that_was_made_in_time_is_not_ended_later() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await read_request(reader)
        writer.write(answer(request, DescribeClusterResponse(cluster_id="ours")))
        assert not await reader.read()

    async with connected(serve, setup_ms=SETUP_MS) as asker:
        assert cluster_id(await asker.send()) == "ours"
        asker.advance(SETUP_MS)
        assert (asker.connection.is_open, asker.connection.was_connected) == (True, True)


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("host", "port"), [("a..b", 9092), ("a" * 70, 9092), ("a\0b", 9092), ("127.0.0.1", 70_000)]
)
async def test_an_address_that_cannot_be_is_told_at_once(host: str, port: int) -> None:
    connect = partial(asyncio.get_running_loop().create_connection, host=host, port=port)
    failed = error(await Asker(connect, setup_ms=SETUP_MS).send())
    assert isinstance(failed, NotConnected)
    assert "it was never made" in str(failed)
