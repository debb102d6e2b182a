"""The requests between the brokers of a world, as tests look at them."""

from odradek.base.ids import BrokerId
from odradek.net.framing import LENGTH_BYTES
from odradek.testing.sim import World
from odradek.testing.sim.observer import Fault
from odradek.testing.sim.streams import Stream


class Arrivals:
    """The `Observer` of a world: keeps every request between brokers that arrives from now on."""

    def __init__(self, world: World) -> None:
        self.frames: list[tuple[BrokerId, BrokerId, bytes]] = []
        """From, to, and the frame, in the order in which they arrived."""
        world.observer = self

    def on_delivered(self, stream: Stream, data: bytes, *, to_server: bool) -> None:
        """A broker sends one request at a time."""
        sender, receiver = stream.between
        if to_server and isinstance(sender, BrokerId) and isinstance(receiver, BrokerId):
            self.frames.append((sender, receiver, data[LENGTH_BYTES:]))

    def on_step(self) -> None:
        """A step is no request."""

    def on_ended(self, stream: Stream, reason: str) -> None:
        """An end is no request."""

    def on_fault(self, fault: Fault) -> None:
        """A fault is no request."""
