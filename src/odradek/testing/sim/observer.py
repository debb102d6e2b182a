"""The port through which somebody watches a world: `history.recorder` implements it.

    world.observer = recorder       None by default; then nothing is called

An observer is called at the moments that the world's state alone does not show: bytes are delivered, a
connection ends, a fault happens, a step is over. It must change nothing and draw nothing from the seed, so
that a world runs the same with and without it.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Protocol

from odradek.base.values import value

if TYPE_CHECKING:
    from odradek.testing.sim.streams import Place, Stream


class FaultKind(Enum):
    """The kinds of faults; the values are shown to people."""

    KILLED = "killed"
    POWER_LOST = "power lost"
    PAUSED = "paused"
    CUT = "cut"
    CUT_ONE_WAY = "cut one way"
    ISOLATED = "isolated"
    MENDED = "mended"
    REJOINED = "no longer isolated"
    HEALED = "healed"
    SLOWED = "slowed"
    DROPPED = "connections dropped"
    STORE_CUT = "cut from the metadata store"
    STORE_MENDED = "reaches the metadata store again"
    STORE_ANSWER_LOST = "answer of the metadata store lost"
    SESSION_EXPIRED = "session expired"
    CLOCK_SET = "clock set"
    SET = "set on the broker"


@value
class Fault:
    """A fault, or the end of faults (`HEALED`), at the moment at which it happens."""

    kind: FaultKind
    place: Place | None = None
    """Where it happens; None for the whole network."""
    other: Place | None = None
    """Of a fault between two places: the other one."""
    detail: str = ""
    """What else there is to say, for a person: "500 ms"."""


class Observer(Protocol):
    """Watches one world."""

    def on_step(self) -> None:
        """A step of the world is over."""

    def on_delivered(self, stream: Stream, data: bytes, *, to_server: bool) -> None:
        """Called with bytes that arrive, before their receiver gets them."""

    def on_ended(self, stream: Stream, reason: str) -> None:
        """Called when the opener of a connection has ended it, or learns of its end."""

    def on_fault(self, fault: Fault) -> None:
        """A fault happens now."""
