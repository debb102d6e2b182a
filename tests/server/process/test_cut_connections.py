"""Connections whose bytes are held back: in order and whole, whoever closes meanwhile."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from odradek.server.faults.rules import Way
from odradek.server.process.cut_connections import Cuttable

BOTH = frozenset(Way)
NOTHING: frozenset[Way] = frozenset()


class Outer:
    """A transport that notes what is called."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.written = b""
        self.has_closed = False

    def writelines(self, parts: Any) -> None:
        self.written += b"".join(parts)

    def pause_reading(self) -> None:
        self.calls.append("pause")

    def resume_reading(self) -> None:
        self.calls.append("resume")

    def is_closing(self) -> bool:
        return self.has_closed

    def get_write_buffer_size(self) -> int:
        return 0

    def close(self) -> None:
        self.has_closed = True
        self.calls.append("close")

    def abort(self) -> None:
        self.has_closed = True
        self.calls.append("abort")


class Inner(asyncio.BufferedProtocol):
    """A protocol that notes what it is told."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.transport: Any = None
        self.buffer = bytearray(10)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self.told.append("made")

    def get_buffer(self, sizehint: int) -> bytearray:
        return self.buffer

    def buffer_updated(self, nbytes: int) -> None:
        self.told.append(bytes(self.buffer[:nbytes]).decode())

    def connection_lost(self, exc: Exception | None) -> None:
        self.told.append("lost")


class Bench:
    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.cut = Cuttable()
        self.outer, self.inner = Outer(), Inner()
        self.protocol: Any = None

    def connect(self) -> None:
        async def wrap() -> None:
            self.protocol = self.cut.wrap(self.inner)

        self.loop.run_until_complete(wrap())
        self.protocol.connection_made(self.outer)

    def turn(self) -> None:
        self.loop.run_until_complete(asyncio.sleep(0))

    def lose(self) -> None:
        self.outer.has_closed = True
        self.protocol.connection_lost(None)


@pytest.fixture
def bench() -> Iterator[Bench]:
    loop = asyncio.new_event_loop()
    yield Bench(loop)
    loop.close()


def test_what_is_written_during_a_cut_goes_out_after_it_in_order(bench: Bench) -> None:
    bench.connect()
    bench.inner.transport.write(b"a")
    bench.cut.hold(frozenset({Way.OUT}))
    part = bytearray(b"b")
    bench.inner.transport.writelines([part])
    part[0] = 0  # the memory is used again
    bench.inner.transport.write(b"c")
    assert (bench.outer.written, bench.inner.transport.get_write_buffer_size()) == (b"a", 2)
    assert bench.outer.calls == [], "what arrives is read"
    bench.cut.hold(NOTHING)
    assert (bench.outer.written, bench.inner.transport.get_write_buffer_size()) == (b"abc", 0)


def test_nothing_is_read_during_a_cut_or_while_the_protocol_wants_nothing(bench: Bench) -> None:
    bench.connect()
    bench.inner.transport.pause_reading()
    bench.cut.hold(frozenset({Way.IN}))
    bench.inner.transport.resume_reading()
    bench.inner.transport.pause_reading()
    assert bench.outer.calls == ["pause"]
    bench.cut.hold(NOTHING)
    assert bench.outer.calls == ["pause"], "the protocol still wants nothing"
    bench.inner.transport.resume_reading()
    assert bench.outer.calls == ["pause", "resume"]
    bench.inner.transport.write(b"a")
    assert bench.outer.written == b"a"


@pytest.mark.parametrize("way", Way)
def test_a_connection_that_is_made_during_a_cut_is_heard_of_after_it(bench: Bench, way: Way) -> None:
    bench.cut.hold(frozenset({way}))
    bench.connect()
    assert (bench.inner.told, bench.outer.calls) == ([], ["pause"])
    bench.cut.hold(NOTHING)
    assert (bench.inner.told, bench.outer.calls) == (["made"], ["pause", "resume"])
    bench.lose()
    assert bench.inner.told == ["made", "lost"]


def test_one_that_ends_before_it_is_heard_of_was_never_there(bench: Bench) -> None:
    bench.cut.hold(BOTH)
    bench.connect()
    bench.lose()
    bench.cut.hold(NOTHING)
    assert bench.inner.told == []


@pytest.mark.parametrize("ending", ["close", "abort"])
def test_the_other_end_hears_of_a_close_after_the_cut(bench: Bench, ending: str) -> None:
    bench.connect()
    bench.cut.hold(frozenset({Way.OUT}))
    bench.inner.transport.write(b"a")
    getattr(bench.inner.transport, ending)()
    assert bench.inner.told == ["made"], "never from within the call"
    bench.inner.transport.write(b"never")
    bench.turn()
    assert (bench.inner.told, bench.outer.calls) == (["made", "lost"], [])
    assert len(bench.protocol.get_buffer(-1)) > 0
    bench.protocol.buffer_updated(3)  # read by the loop, wanted by nobody
    bench.cut.hold(NOTHING)
    assert (bench.outer.written, bench.outer.calls) == (b"a", ["close"])
    bench.lose()
    assert bench.inner.told == ["made", "lost"]


@pytest.mark.parametrize("ending", ["close", "abort"])
def test_without_a_cut_it_hears_of_it_at_once(bench: Bench, ending: str) -> None:
    bench.connect()
    getattr(bench.inner.transport, ending)()
    assert bench.outer.calls == [ending]
    bench.lose()
    assert bench.inner.told == ["made", "lost"]


def test_that_the_other_end_has_gone_is_heard_after_the_cut(bench: Bench) -> None:
    bench.connect()
    bench.cut.hold(frozenset({Way.IN}))
    bench.lose()
    assert bench.inner.told == ["made"]
    bench.inner.transport.write(b"into nothing")
    bench.cut.hold(NOTHING)
    assert bench.inner.told == ["made", "lost"]
    bench.cut.hold(BOTH)
    bench.cut.hold(NOTHING)
    assert bench.inner.told == ["made", "lost"]


def test_it_is_closed_during_the_cut_after_the_other_end_has_gone(bench: Bench) -> None:
    bench.connect()
    bench.cut.hold(BOTH)
    bench.lose()
    bench.inner.transport.abort()
    bench.turn()
    assert bench.inner.told == ["made", "lost"]
    bench.cut.hold(NOTHING)
    assert bench.inner.told == ["made", "lost"]


def test_the_end_of_the_process_ends_all_at_once(bench: Bench) -> None:
    bench.connect()
    bench.cut.hold(BOTH)
    bench.inner.transport.close()
    bench.cut.end()
    assert bench.outer.calls[-1] == "abort"
