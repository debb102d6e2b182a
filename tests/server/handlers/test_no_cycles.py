"""No request or answer is left in a cycle of references: only a late collection would free it.

The collector of a broker's process looks at old objects rarely (`server/process/garbage`), so memory would
grow with what clients send.
"""

import gc
import random
from collections import Counter

import pytest
from campaigns.corpus import seeds

from odradek.testing.sim import SimNode
from odradek.wire.message import Message
from tests.server.recording_client import RecordingClient


@pytest.fixture
def frames() -> list[bytes]:
    """Requests of every API, in every version."""
    return seeds(random.Random(1))


def test_what_was_answered_is_freed_at_once(node: SimNode, frames: list[bytes]) -> None:
    for frame in frames:  # what is loaded, made and remembered at first
        node.node.dispatcher.dispatch(RecordingClient(), frame[4:])
        node.settle()
    gc.collect()
    gc.disable()
    try:
        gc.set_debug(gc.DEBUG_SAVEALL)
        for frame in frames:
            node.node.dispatcher.dispatch(RecordingClient(), frame[4:])
            node.settle()
        gc.collect()
        left = Counter(type(one).__name__ for one in gc.garbage if isinstance(one, Message))
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
    assert not left
