"""The simulated network as the application sees it: the names of the brokers, and connections to them.

A broker is reached by the name under which it is registered, or by the address that the name resolves to.
"""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from odradek.base.ids import BrokerId
from odradek.testing.application.refusals import refuse
from odradek.testing.application.transport import Observer, SimTransport
from odradek.testing.sim.node import PORT

if TYPE_CHECKING:
    from odradek.testing.application.loop import SimLoop
    from odradek.testing.sim.world import World

FIRST_OWN_PORT: Final = 40_000


class HostNetwork:
    """The network as the processes on one host see it."""

    def __init__(self, world: World, host: str, observer: Callable[[BrokerId], Observer]) -> None:
        """`observer` is called with the broker of each new connection."""
        self.host = host
        """The address of this host."""
        self.transports: list[SimTransport] = []
        """The connections of this host that were accepted, oldest first, those that have ended included."""
        self.is_up = True
        """Whether connections can be opened; not from a process that was killed."""
        self._world = world
        self._observer = observer
        self._attempts = 0

    def resolve(self, host: str | bytes | None, port: bytes | str | int | None) -> list[tuple[str, int]]:
        """See `loop.Network.resolve`."""
        name = host.decode() if isinstance(host, bytes) else host
        return [(_address(self._broker(name)), int(port or 0))]

    async def connect(
        self, loop: SimLoop, protocol_factory: Callable[[], asyncio.BaseProtocol], host: str, port: int
    ) -> tuple[asyncio.Transport, asyncio.BaseProtocol]:
        """See `loop.Network.connect`."""
        broker_id = self._broker(host)
        if port != PORT:
            refuse(f"port {port}", f"the brokers listen on {PORT}")
        if not self.is_up:
            raise ConnectionRefusedError(errno.ECONNREFUSED, "the process has ended")
        protocol = protocol_factory()
        self._attempts += 1
        own = (self.host, FIRST_OWN_PORT + self._attempts)
        transport = SimTransport(
            loop,
            self._world.links,
            protocol,
            (self.host, broker_id),
            (own, (_address(broker_id), port)),
            self._observer(broker_id),
        )
        self.transports.append(transport)
        transport.stream.connect()
        try:
            await transport.opened
        except BaseException:
            transport.stream.reset()
            self.transports.remove(transport)
            raise
        return transport, protocol

    def _broker(self, host: str | None) -> BrokerId:
        for broker_id, node in self._world.nodes.items():
            if host in (node.host, _address(broker_id)):
                return broker_id
        known = ", ".join(node.host for node in self._world.nodes.values())
        return refuse(f"the host {host}", f"there are {known}")


def _address(broker_id: BrokerId) -> str:
    return f"10.0.1.{broker_id}"
