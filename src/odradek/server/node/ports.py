"""What the synchronous part of a broker needs of the outside: given by the loop, or by a simulator."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias, TypeVar

from odradek.base.chance import Chance
from odradek.base.clock import Clock
from odradek.metadata.store import MetadataStore
from odradek.timer import Timer

T = TypeVar("T")

Defer: TypeAlias = Callable[[Callable[[], None]], None]
"""Runs a callback in a later turn of the loop, in the order of the calls."""


class Background(Protocol):
    """Runs calls that block somewhere else, and reports on the thread that owns the broker."""

    def submit(
        self, call: Callable[[], T], done: Callable[[T], None], failed: Callable[[Exception], None]
    ) -> None:
        """Run `call`; then `done` with what it returned, or `failed` with what it raised."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Everything outside of one node that it uses: time, chance, threads, the metadata store, its owner."""

    clock: Clock
    chance: Chance
    timer: Timer
    """The one timer that everything waits on."""
    background: Background
    defer: Defer
    store: MetadataStore
    """The session whose events go to the node's `ControllerHost`."""
    on_failure: Callable[[str], None]
    """Called with the reason when the node cannot go on; the owner then stops it."""
