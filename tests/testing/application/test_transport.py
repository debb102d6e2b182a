"""Connections of an application to simulated brokers, as asyncio shows them."""

import asyncio
import struct
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from odradek.testing import Cluster
from odradek.testing.application.simulation import Simulation
from odradek.testing.application.transport import ARRIVED_BYTES_MAX, UNSENT_BYTES_HIGH

API_VERSIONS = b"\x00\x12\x00\x00\x00\x00\x00\x07\x00\x04test"
"""ApiVersions 0, correlation id 7, client id test."""


def run(test: Callable[[Cluster], Coroutine[Any, Any, Any]], brokers: int = 1) -> Any:
    return Simulation(1, brokers=brokers).run(test)


async def open_to(broker: int = 1) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_connection(f"broker{broker}.example", 9092)


async def ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
    writer.write(struct.pack(">i", len(API_VERSIONS)) + API_VERSIONS)
    await writer.drain()
    (size_bytes,) = struct.unpack(">i", await reader.readexactly(4))
    return await reader.readexactly(size_bytes)


def test_a_request_is_answered() -> None:
    async def test(cluster: Cluster) -> None:
        reader, writer = await open_to()
        assert (await ask(reader, writer))[:4] == struct.pack(">i", 7)
        assert writer.get_extra_info("peername") == ("10.0.1.1", 9092)
        writer.close()
        await writer.wait_closed()

    run(test)


def test_a_dead_broker_refuses_connections_until_it_is_started() -> None:
    async def test(cluster: Cluster) -> None:
        cluster.kill(1)
        with pytest.raises(ConnectionRefusedError):
            await open_to()
        await cluster.start(1)
        reader, writer = await open_to()
        assert await ask(reader, writer)
        writer.close()

    run(test)


def test_the_death_of_a_broker_ends_its_connections() -> None:
    async def test(cluster: Cluster) -> None:
        reader, writer = await open_to()
        cluster.kill(1)
        assert await reader.read() == b""
        writer.close()

    run(test)


def test_a_connection_that_the_network_drops_is_reset() -> None:
    async def test(cluster: Cluster) -> None:
        reader, writer = await open_to()
        await ask(reader, writer)
        cluster.faults(1).drop_connections()
        with pytest.raises(ConnectionResetError):
            await reader.readexactly(1)
        writer.close()

    run(test)


def test_an_isolated_broker_does_not_answer_until_the_network_is_healed() -> None:
    async def test(cluster: Cluster) -> None:
        reader, writer = await open_to()
        cluster.isolate(1)
        asking = asyncio.create_task(ask(reader, writer))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(10):
                await open_to()
        assert not asking.done()
        cluster.heal()
        assert await asking
        writer.close()

    run(test)


def test_what_is_slow_takes_its_time_both_ways() -> None:
    async def test(cluster: Cluster) -> float:
        (process,) = simulation.processes
        cluster.slow(process, 1, 0.5)
        loop = asyncio.get_running_loop()
        reader, writer = await open_to()
        before = loop.time()
        await ask(reader, writer)
        writer.close()
        return loop.time() - before

    simulation = Simulation(1, brokers=1)
    assert simulation.run(test) == pytest.approx(1.0)


class Reading(asyncio.Protocol):
    """Counts what it is handed."""

    def __init__(self) -> None:
        self.bytes = 0
        self.calls: list[str] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.calls.append("made")

    def data_received(self, data: bytes) -> None:
        self.bytes += len(data)

    def pause_writing(self) -> None:
        self.calls.append("pause")

    def resume_writing(self) -> None:
        self.calls.append("resume")

    def connection_lost(self, error: Exception | None) -> None:
        self.calls.append(f"lost {error}")


@pytest.mark.slow
def test_a_protocol_that_pauses_gets_nothing_and_the_broker_stops_when_the_machine_is_full() -> None:
    async def test(cluster: Cluster) -> None:
        transport, protocol = await asyncio.get_running_loop().create_connection(
            Reading, "broker1.example", 9092
        )
        transport.pause_reading()
        frame = struct.pack(">i", len(API_VERSIONS)) + API_VERSIONS
        for _ in range(5_000):
            transport.write(frame)
        await asyncio.sleep(10)
        held = transport._arrived_bytes  # type: ignore[attr-defined]
        assert protocol.bytes == 0
        assert ARRIVED_BYTES_MAX <= held < 2 * ARRIVED_BYTES_MAX
        transport.resume_reading()
        await asyncio.sleep(10)
        assert protocol.bytes > 2 * held
        transport.abort()
        await asyncio.sleep(1)
        assert protocol.calls[-1] == "lost None"

    run(test)


@pytest.mark.slow
def test_a_protocol_that_writes_too_much_is_to_pause_until_the_broker_has_read() -> None:
    async def test(cluster: Cluster) -> list[str]:
        (process,) = simulation.processes
        transport, protocol = await asyncio.get_running_loop().create_connection(
            Reading, "broker1.example", 9092
        )
        cluster.cut(process, 1)
        frame = struct.pack(">i", len(API_VERSIONS)) + API_VERSIONS
        while transport.get_write_buffer_size() <= UNSENT_BYTES_HIGH:
            transport.write(frame)
        paused = list(protocol.calls)
        cluster.heal()
        await asyncio.sleep(5)
        transport.close()
        await asyncio.sleep(1)
        assert paused == ["made", "pause"]
        return protocol.calls

    simulation = Simulation(1, brokers=1)
    assert simulation.run(test) == ["made", "pause", "resume", "lost None"]


class Buffered(asyncio.BufferedProtocol):
    """Takes five bytes at a time."""

    def __init__(self) -> None:
        self.place = bytearray(5)
        self.taken = b""

    def get_buffer(self, sizehint: int) -> bytearray:
        return self.place

    def buffer_updated(self, nbytes: int) -> None:
        self.taken += self.place[:nbytes]


def test_a_buffered_protocol_is_filled_piece_by_piece() -> None:
    async def test(cluster: Cluster) -> bytes:
        reader, writer = await open_to()
        expected = await ask(reader, writer)
        writer.close()
        transport, protocol = await asyncio.get_running_loop().create_connection(
            Buffered, "broker1.example", 9092
        )
        transport.write(struct.pack(">i", len(API_VERSIONS)) + API_VERSIONS)
        await asyncio.sleep(1)
        transport.close()
        assert protocol.taken[4:] == expected
        return protocol.taken

    assert run(test)
