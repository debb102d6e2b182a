"""A whole broker without a loop, in a world of its own."""

import pytest

from odradek.base.clock import ManualClock
from odradek.server.edge.loop_stalls import LoopStalls
from odradek.testing.sim import SimNode, World
from tests.batches import BatchOf, make_batch
from tests.server.nodes import NewNode, ShortClock
from tests.server.recording_client import RecordingClient


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
def new_node() -> NewNode:
    return lambda **settings: World().node(**settings)


@pytest.fixture
def batch() -> BatchOf:
    """A batch with these values."""
    return make_batch


@pytest.fixture
def fake_client() -> RecordingClient:
    return RecordingClient()
