"""What builds a stuck state: a simulated cluster, the seed's chance, clients, and other processes.

    await scene.topic("orders", partitions=2)
    consumer = scene.consumer("orders", group_id="billing")    polled in the background, as by an application
    scene.other(member(scene), "other")                        a process of its own, on its own host
    return Stuck(consumer, Expected(Cause.AT_END, {"partition": "orders-0"}))

The client under observation runs in the test's own process, so `scene.host` cuts it off from a broker.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final, Protocol

from odradek.aio import Admin, Consumer, Producer, TopicPartition
from odradek.base.errors import ApiError
from odradek.base.ids import BrokerId
from odradek.client.core.waiting import Cause, Why
from odradek.testing.application.cluster import Cluster
from odradek.testing.application.process import Process
from odradek.testing.application.simulation import Simulation
from odradek.testing.sim.node import PORT
from odradek.testing.sim.world import World

LOOK_S: Final = 0.05
PATIENCE_S: Final = 60.0
"""How long a builder waits for a client to get where it must be; virtual seconds."""


class Client(Protocol):
    """A client that says what it waits for."""

    def why(self) -> list[Why]:
        """The causes, the most important first."""


@dataclass(frozen=True, slots=True)
class Expected:
    """The true cause of a stuck state."""

    cause: Cause
    data: Mapping[str, object] = field(default_factory=dict)
    """Entries that the cause's data must have, with these values."""
    since_ms: int | None = None
    """The time at which the wait began, where the data must say how long it has lasted; None elsewhere."""


@dataclass(frozen=True, slots=True)
class Stuck:
    """A client in a stuck state, from now on."""

    client: Client
    expected: Expected


class Scene:
    """See the module."""

    def __init__(self, simulation: Simulation, cluster: Cluster) -> None:
        self.cluster = cluster
        self.chance = Random(simulation.seed)
        """Draws what the state leaves open."""
        self.errors: list[BaseException] = []
        """What the application was told by polls and deliveries, the oldest first."""
        self._simulation = simulation
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def world(self) -> World:
        """The world around the brokers."""
        return self._simulation.world

    @property
    def host(self) -> Process[Any]:
        """The process of the client under observation."""
        return self._simulation.processes[0]

    @property
    def now_ms(self) -> int:
        """The virtual time."""
        return self.world.clock.monotonic_ms()

    # --- topics and records

    async def topic(self, name: str = "orders", *, records: int = 0, partitions: int = 1, **more: Any) -> str:
        """Create a topic, and write this many records, a batch each, to each partition; returns its name."""
        await self.cluster.create_topic(name, partitions=partitions, **more)
        if records:
            async with self.producer(linger_ms=0) as producer:
                for partition in range(partitions):
                    for number in range(records):
                        await (await producer.send(name, b"%d" % number, partition=partition))
        return name

    def addresses(self, brokers: Collection[BrokerId]) -> str:
        """The addresses of these brokers, for a client's `bootstrap.servers`."""
        return ",".join(f"{self.world.nodes[broker].host}:{PORT}" for broker in brokers)

    # --- clients

    def producer(self, **settings: object) -> Producer:
        """A producer in the process that asks for it."""
        return Producer(self.cluster.bootstrap_servers, settings=settings)

    def admin(self, **settings: object) -> Admin:
        """An administrator in this process."""
        return Admin(self.cluster.bootstrap_servers, settings=settings)

    def consumer(
        self,
        *topics: str,
        assigned: Collection[TopicPartition] = (),
        is_polled: bool = True,
        **settings: object,
    ) -> Consumer:
        """A consumer in this process; polled again and again, also after errors."""
        made = self.quiet_consumer(*topics, **settings)
        if assigned:
            made.assign(assigned)
        if is_polled:
            self.poll(made)
        return made

    def quiet_consumer(self, *topics: str, **settings: object) -> Consumer:
        """A consumer that nobody polls."""
        given: dict[str, object] = {
            "bootstrap_servers": self.cluster.bootstrap_servers,
            "auto_offset_reset": "earliest",
            **settings,
        }
        return Consumer(*topics, settings=given)

    def poll(self, consumer: Consumer) -> asyncio.Task[None]:
        """Poll in the background from now on."""
        return self.begin(self._polling(consumer))

    async def _polling(self, consumer: Consumer) -> None:
        while True:
            try:
                await consumer.poll(1)
            except ApiError as error:
                self.errors.append(error)
                await asyncio.sleep(0.1)

    def begin(self, coroutine: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run a coroutine of the observed application beside the builder."""
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.append(task)
        return task

    def send(self, producer: Producer, topic: str, value: bytes = b"a", **more: Any) -> None:
        """Have a record sent; nobody waits for it."""
        self.begin(self._sending(producer, topic, value, more))

    async def _sending(self, producer: Producer, topic: str, value: bytes, more: Mapping[str, Any]) -> None:
        await self.heard(self._delivered(producer, topic, value, more))

    async def _delivered(self, producer: Producer, topic: str, value: bytes, more: Mapping[str, Any]) -> None:
        await (await producer.send(topic, value, **more))

    async def heard(self, call: Awaitable[object]) -> None:
        """Await a call whose error the application only notes."""
        try:
            await call
        except ApiError as error:
            self.errors.append(error)

    async def heard_of(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """`heard`, for `begin`."""
        await self.heard(coroutine)

    def other(self, coroutine: Coroutine[Any, Any, None], name: str) -> Process[None]:
        """Another process of the application."""
        return self.cluster.spawn(coroutine, name=name)

    async def until(self, is_so: Callable[[], object], what: str) -> None:
        """Wait, in virtual time, for something that the state needs. Raises TimeoutError."""
        ends_ms = self.now_ms + round(PATIENCE_S * 1000)
        while not is_so():
            if self.now_ms >= ends_ms:
                raise TimeoutError(f"the state was not reached: {what}")
            await asyncio.sleep(LOOK_S)

    def at(self, topic: str, partition: int = 0) -> TopicPartition:
        """A partition."""
        return TopicPartition(topic, partition)

    def end(self) -> None:
        """Stop polling and sending."""
        for task in self._tasks:
            task.cancel()
