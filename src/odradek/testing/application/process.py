"""A process of the application: a coroutine with a loop and a host of its own, which can be killed.

    worker = cluster.spawn(work(cluster), name="worker")
    worker.pause(), worker.resume()     it stands still, as by SIGSTOP; the cluster goes on around it
    worker.kill()                       it ends between two turns of its loop: no `finally` of it runs
    await worker                        its result, in any other process

Processes share the objects of Python, so a test can see what they do. They have one `random`, too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Generator
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from odradek.base.errors import OdradekError
from odradek.testing.application.loop import SimLoop
from odradek.testing.application.network import HostNetwork

if TYPE_CHECKING:
    from odradek.testing.sim.world import World

T = TypeVar("T")

BURIAL_TURNS_MAX: Final = 1_000


class ProcessKilled(OdradekError):
    """The process that is awaited was killed."""


class Process(Generic[T]):
    """One process; `Cluster.spawn` starts it."""

    def __init__(
        self, world: World, network: HostNetwork, name: str, coroutine: Coroutine[Any, Any, T]
    ) -> None:
        self.name = name
        """For reports."""
        self.loop = SimLoop(world.clock, network, name)
        """Its event loop."""
        self.was_killed = False
        """Whether it has ended by `kill`."""
        self.is_awaited = False
        """Whether somebody has its result, or will."""
        self.on_killed: Callable[[], None] = lambda: None
        """Called when it is killed."""
        self._world = world
        self._network = network
        self._waiting: list[asyncio.Future[None]] = []
        # What it runs; the process ends with it. None once it is buried.
        self._task: asyncio.Task[T] | None = self.loop.create_task(coroutine, name=name)
        self._task.add_done_callback(lambda _: self._notify())
        world.actors.append(self.loop)

    def __repr__(self) -> str:
        return f"<Process {self.name}>"

    @property
    def host(self) -> str:
        """The address of its host, for `cluster.cut` and the like."""
        return self._network.host

    @property
    def is_alive(self) -> bool:
        """Whether it has not ended."""
        return not (self.was_killed or self._task is None or self._task.done())

    def result(self) -> T:
        """The result of a process that has ended. Raises what it has raised, or ProcessKilled."""
        assert not self.is_alive, f"{self.name} has not ended"
        self.is_awaited = True
        if self.was_killed or self._task is None:
            raise ProcessKilled(f"{self.name} was killed")
        return self._task.result()

    @property
    def has_failed_unheard(self) -> bool:
        """Whether it has ended with an error, and nobody has its result, or will."""
        task = self._task
        if self.is_alive or self.was_killed or self.is_awaited or task is None or task.cancelled():
            return False
        return task.exception() is not None

    @property
    def is_connected(self) -> bool:
        """Whether a broker may send it something, or its connection may end."""
        return any(transport.stream.is_open for transport in self._network.transports)

    def pause(self) -> None:
        """Let it stand still until `resume`; what arrives for it waits."""
        self.loop.is_paused = True

    def resume(self) -> None:
        """Let it continue."""
        self.loop.is_paused = False

    def kill(self) -> None:
        """End it at once, as by kill -9; what it has sent still arrives. Does nothing if it has ended."""
        if not self.is_alive:
            return
        self.was_killed = True
        self.loop.is_paused = True
        self._world.actors.remove(self.loop)
        self._network.is_up = False
        self.on_killed()
        for transport in self._network.transports:
            transport.die()
        self._notify()

    def __await__(self) -> Generator[Any, None, T]:
        """Wait for its end. Raises what it has raised, or ProcessKilled."""
        self.is_awaited = True
        if self.is_alive:
            ended = asyncio.get_running_loop().create_future()
            self._waiting.append(ended)
            yield from ended
        return self.result()

    def _notify(self) -> None:
        waiting, self._waiting = self._waiting, []
        for ended in waiting:
            if not ended.done():
                ended.set_result(None)

    # --- the end of the simulation

    def end(self) -> None:
        """Cancel what it still runs; steps to come do the rest."""
        self.resume()
        for task in self.loop.tasks():
            task.cancel()
        self.loop.create_task(self.loop.shutdown_asyncgens())

    def bury(self) -> None:
        """Let tasks that have not ended do so where nothing that they do reaches the world; close the loop.

        Python would run their `finally` blocks some time later.
        """
        self.resume()
        self._network.is_up = False
        for transport in self._network.transports:
            transport.end()
        for _ in range(BURIAL_TURNS_MAX):
            for task in self.loop.tasks():
                task.cancel()
            if not self.loop.steps():
                break
            self.loop.turn()
        self.loop.close()
        # No reference to what it had is to remain.
        self._task = None
        for transport in self._network.transports:
            transport.set_protocol(asyncio.BaseProtocol())
