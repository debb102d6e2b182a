import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from odradek.net.client_connection import ClientConnection
from odradek.net.framing import framed
from odradek.net.request_pipeline import ConnectionFailed
from odradek.wire.headers import decode_request_header, encode_response_header
from odradek.wire.message import Message
from odradek.wire.messages.api_versions import ApiVersion, ApiVersionsResponse
from odradek.wire.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def read_request(reader: asyncio.StreamReader) -> tuple[int, int, int]:
    size = int.from_bytes(await reader.readexactly(4))
    header, _ = decode_request_header(await reader.readexactly(size))
    return header.api_key, header.api_version, header.correlation_id


def answer(request: tuple[int, int, int], response: Message) -> bytes:
    key, version, correlation_id = request
    return b"".join(framed([encode_response_header(key, version, correlation_id), response.encode(version)]))


@asynccontextmanager
async def connected(serve: Serve, *, timeout_ms: int = 5_000) -> AsyncIterator[ClientConnection]:
    """A connection to a broker that serves DescribeCluster 0 to 1 and then does what `serve` does."""
    done: list[asyncio.Task[None]] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        versions = ApiVersionsResponse(api_keys=[ApiVersion(60, 0, 1)])
        writer.write(answer(await read_request(reader), versions))
        await serve(reader, writer)
        writer.close()

    def begin(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        done.append(asyncio.create_task(talk(reader, writer)))

    server = await asyncio.start_server(begin, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    connection = await ClientConnection.open(host, port, timeout_ms=timeout_ms)
    try:
        yield connection
    finally:
        connection.close()
        server.close()
        await asyncio.gather(*done, return_exceptions=True)


@pytest.mark.asyncio
async def test_answers_find_their_requests() -> None:
    async def in_order(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        first, second = await read_request(reader), await read_request(reader)
        assert first[:2] == (60, 1), "the newest version that both sides know"
        writer.write(answer(first, DescribeClusterResponse(cluster_id="first")))
        writer.write(answer(second, DescribeClusterResponse(cluster_id="second")))
        await reader.read()

    async with connected(in_order) as connection:
        found = await asyncio.gather(
            connection.ask(DescribeClusterRequest(), DescribeClusterResponse),
            connection.ask(DescribeClusterRequest(), DescribeClusterResponse),
        )
        assert [response.cluster_id for response in found] == ["first", "second"]
        assert connection.in_flight == 0


@pytest.mark.asyncio
async def test_requests_in_flight_fail_when_the_broker_closes() -> None:
    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)

    async with connected(hang_up) as connection:
        with pytest.raises(ConnectionFailed, match="the broker closed it"):
            await connection.ask(DescribeClusterRequest(), DescribeClusterResponse)
        assert not connection.is_open
        with pytest.raises(ConnectionFailed, match="is closed"):
            connection.send(DescribeClusterRequest(), 0)


@pytest.mark.asyncio
async def test_a_request_that_times_out_ends_the_connection() -> None:
    async def say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async with connected(say_nothing) as connection:
        with pytest.raises(ConnectionFailed, match="DescribeClusterRequest was not answered within 0 ms"):
            await connection.ask(DescribeClusterRequest(), DescribeClusterResponse, timeout_ms=0)
        assert not connection.is_open


@pytest.mark.asyncio
async def test_an_answer_to_nothing_that_was_asked_ends_the_connection() -> None:
    async def confuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        key, version, correlation_id = await read_request(reader)
        writer.write(answer((key, version, correlation_id + 1), DescribeClusterResponse()))
        await reader.read()

    async with connected(confuse) as connection:
        with pytest.raises(ConnectionFailed, match="an answer to no request"):
            await connection.ask(DescribeClusterRequest(), DescribeClusterResponse)


@pytest.mark.asyncio
async def test_nobody_there_is_said_in_a_sentence() -> None:
    with pytest.raises(ConnectionFailed, match=r"cannot connect to 127\.0\.0\.1:1"):
        await ClientConnection.open("127.0.0.1", 1)


@pytest.mark.asyncio
async def test_a_connection_that_is_given_up_while_it_opens_is_closed() -> None:
    ended = asyncio.Event()

    async def say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        opening.cancel()
        await reader.read()
        ended.set()
        writer.close()

    async with await asyncio.start_server(say_nothing, "127.0.0.1", 0) as server:
        host, port = server.sockets[0].getsockname()
        opening = asyncio.create_task(ClientConnection.open(host, port))
        with pytest.raises(asyncio.CancelledError):
            await opening
        async with asyncio.timeout(5):
            await ended.wait()
