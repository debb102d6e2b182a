"""A whole broker without a loop, in a world of its own."""

from collections.abc import Callable

import pytest

from odradek.base.clock import ManualClock
from odradek.records.builder import BatchBuilder
from odradek.server.edge.loop_stalls import LoopStalls
from odradek.testing.sim import SimClient, SimNode, World


class ShortClock:
    """A clock for short times that stands still until the test moves it."""

    def __init__(self) -> None:
        self.now_ns = 0

    def __call__(self) -> int:
        return self.now_ns


@pytest.fixture
def short_clock() -> ShortClock:
    return ShortClock()


@pytest.fixture
def stalls(short_clock: ShortClock) -> LoopStalls:
    return LoopStalls(short_clock, ManualClock())


@pytest.fixture
def node() -> SimNode:
    """One broker, alone in its cluster."""
    return World().node()


@pytest.fixture
def new_node() -> Callable[..., SimNode]:
    """Makes one with settings, by their names with underscores."""
    return lambda **settings: World().node(**settings)


@pytest.fixture
def batch() -> Callable[..., bytes]:
    """A batch with these values."""

    def make(*values: bytes, timestamp_ms: int = 1_700_000_000_000) -> bytes:
        builder = BatchBuilder()
        for value in values:
            builder.append(timestamp_ms, None, value)
        return bytes(builder.build())

    return make


@pytest.fixture
def fake_client() -> SimClient:
    return SimClient()
