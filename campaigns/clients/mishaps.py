"""What befalls a run: two series of mishaps, one of brokers and one of clients and their network.

In each series one mishap follows the other, so that two brokers are never away for more than a moment, and
every client may reach the cluster again. Requests that are refused, delayed or cut off come by both.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from random import Random
from typing import Any, Final, TypeAlias

from campaigns.clients.application import BROKER_SESSION_MS, SOURCE
from odradek.base.ids import BrokerId
from odradek.testing.application.cluster import Cluster
from odradek.testing.application.process import Process
from odradek.testing.sim.world import World

LASTS_S: Final = (0.3, 7.0)
"""How long a mishap lasts; sessions of groups are 6 s."""
PAUSE_S: Final = (0.0, 2.0)
"""The time between two of a series."""
REFUSALS: Final = (
    ("Produce", "NOT_LEADER_OR_FOLLOWER"),
    ("Produce", "NOT_ENOUGH_REPLICAS"),
    ("Fetch", "NOT_LEADER_OR_FOLLOWER"),
    ("Fetch", "FETCH_SESSION_ID_NOT_FOUND"),
    ("Fetch", "OFFSET_NOT_AVAILABLE"),
    ("Metadata", "UNKNOWN_SERVER_ERROR"),
    ("FindCoordinator", "COORDINATOR_NOT_AVAILABLE"),
    ("JoinGroup", "COORDINATOR_LOAD_IN_PROGRESS"),
    ("SyncGroup", "REBALANCE_IN_PROGRESS"),
    ("Heartbeat", "UNKNOWN_MEMBER_ID"),
    ("Heartbeat", "NOT_COORDINATOR"),
    ("ConsumerGroupHeartbeat", "FENCED_MEMBER_EPOCH"),
    ("ConsumerGroupHeartbeat", "COORDINATOR_NOT_AVAILABLE"),
    ("OffsetCommit", "NOT_COORDINATOR"),
    ("OffsetFetch", "COORDINATOR_LOAD_IN_PROGRESS"),
    ("ListOffsets", "LEADER_NOT_AVAILABLE"),
    ("InitProducerId", "CONCURRENT_TRANSACTIONS"),
    ("AddOffsetsToTxn", "CONCURRENT_TRANSACTIONS"),
    ("TxnOffsetCommit", "COORDINATOR_LOAD_IN_PROGRESS"),
    ("EndTxn", "COORDINATOR_NOT_AVAILABLE"),
    ("CreateTopics", "NOT_CONTROLLER"),
)
"""What a broker may answer without doing anything."""
CUT_OFF: Final = (
    "Produce",
    "Fetch",
    "JoinGroup",
    "SyncGroup",
    "Heartbeat",
    "ConsumerGroupHeartbeat",
    "OffsetCommit",
    "OffsetFetch",
    "InitProducerId",
    "AddOffsetsToTxn",
    "TxnOffsetCommit",
    "EndTxn",
    "CreateTopics",
    "CreatePartitions",
    "DeleteTopics",
)
"""Requests whose connection ends, before they are carried out or before they are answered."""

Client: TypeAlias = "Process[Any]"
Mishap: TypeAlias = "Callable[[Mishaps], Awaitable[str]]"


class Mishaps:
    """See the module."""

    def __init__(
        self,
        world: World,
        cluster: Cluster,
        chance: Random,
        clients: Callable[[], list[Client]],
        again: Callable[[Client], None],
    ) -> None:
        """`clients` are those that live; `again` starts another one in the place of one that was killed."""
        self.world = world
        self.cluster = cluster
        self.chance = chance
        self.clients = clients
        self.again = again
        self.happened: list[str] = []
        """Their names, in the order in which they ended."""

    async def run(self, until: float) -> None:
        """Let both series happen until this time of the loop; what has begun ends."""
        async with asyncio.TaskGroup() as series:
            series.create_task(self._series(until, OF_BROKERS))
            series.create_task(self._series(until, OF_CLIENTS))

    async def _series(self, until: float, kinds: tuple[Mishap, ...]) -> None:
        now = asyncio.get_running_loop().time
        while now() < until:
            await asyncio.sleep(self.chance.uniform(*PAUSE_S))
            self.happened.append(await self.chance.choice(kinds)(self))

    async def lasts(self) -> None:
        """Wait for as long as a mishap lasts."""
        await asyncio.sleep(self.chance.uniform(*LASTS_S))

    def broker(self) -> BrokerId:
        """A broker that serves; half of the time one that leads what is written."""
        if self.chance.random() < 0.5:
            try:
                return self.cluster.leader_of(SOURCE, self.chance.randrange(2))
            except LookupError:
                pass  # it has none just now
        return self.chance.choice(self.cluster.brokers)


async def _kill(mishaps: Mishaps) -> str:
    broker = mishaps.broker()
    mishaps.cluster.kill(broker)
    await mishaps.lasts()
    await mishaps.cluster.start(broker)
    return "broker killed"


async def _lose_power(mishaps: Mishaps) -> str:
    broker = mishaps.broker()
    mishaps.cluster.lose_power(broker)
    await mishaps.lasts()
    await mishaps.cluster.start(broker)
    return "broker without power"


async def _restart(mishaps: Mishaps) -> str:
    await mishaps.cluster.restart(mishaps.broker())
    return "broker restarted"


async def _pause(mishaps: Mishaps) -> str:
    broker = mishaps.broker()
    mishaps.cluster.pause(broker)
    if mishaps.chance.random() < 0.5:  # others take over its roles, of which it knows nothing
        await asyncio.sleep(BROKER_SESSION_MS / 1_000)
        mishaps.cluster.expire_session(broker)
    await mishaps.lasts()
    mishaps.cluster.resume(broker)
    return "broker paused"


async def _expire(mishaps: Mishaps) -> str:
    mishaps.cluster.expire_session(mishaps.broker())
    await mishaps.lasts()
    return "session expired"


async def _refuse(mishaps: Mishaps) -> str:
    api, error = mishaps.chance.choice(REFUSALS)
    times = mishaps.chance.randrange(1, 6)
    for broker in _serving(mishaps):
        mishaps.cluster.faults(broker).error(api, error, times=times)
    await mishaps.lasts()
    _clear(mishaps)
    return "requests refused"


async def _cut_off(mishaps: Mishaps) -> str:
    api = mishaps.chance.choice(CUT_OFF)
    times = mishaps.chance.randrange(1, 4)
    if mishaps.chance.random() < 0.7:
        for broker in _serving(mishaps):
            mishaps.cluster.faults(broker).drop(api, when="before_answer", times=times)
    else:
        for broker in _serving(mishaps):
            mishaps.cluster.faults(broker).drop(api, when="before_request", times=times)
    await mishaps.lasts()
    _clear(mishaps)
    return "requests cut off"


async def _delay(mishaps: Mishaps) -> str:
    api, by = mishaps.chance.choice((*CUT_OFF, None)), mishaps.chance.choice((0.3, 3.0, 5.0))
    for broker in _serving(mishaps):
        mishaps.cluster.faults(broker).delay(by, api, times=mishaps.chance.randrange(1, 6))
    await mishaps.lasts()
    _clear(mishaps)
    return "requests delayed"


async def _close_connections(mishaps: Mishaps) -> str:
    for broker in _serving(mishaps):
        mishaps.cluster.faults(broker).drop_connections()
    return "connections closed"


async def _cut(mishaps: Mishaps) -> str:
    client, broker = mishaps.chance.choice(mishaps.clients()), mishaps.broker()
    mishaps.cluster.cut(client, broker, one_way=mishaps.chance.random() < 0.3)
    await mishaps.lasts()
    mishaps.cluster.heal()
    return "client cut off from a broker"


async def _isolate_client(mishaps: Mishaps) -> str:
    mishaps.cluster.isolate(mishaps.chance.choice(mishaps.clients()))
    await mishaps.lasts()
    mishaps.cluster.heal()
    return "client isolated"


async def _isolate_broker(mishaps: Mishaps) -> str:
    broker = mishaps.broker()
    mishaps.cluster.isolate(broker)
    if mishaps.chance.random() < 0.5:
        mishaps.cluster.expire_session(broker)
    await mishaps.lasts()
    mishaps.cluster.heal()
    return "broker isolated"


async def _slow(mishaps: Mishaps) -> str:
    client = mishaps.chance.choice(mishaps.clients())
    for broker in mishaps.cluster.brokers:
        mishaps.cluster.slow(client, broker, mishaps.chance.choice((0.05, 0.5, 2.5)))
    await mishaps.lasts()
    mishaps.cluster.heal()
    return "client with a slow network"


async def _kill_client(mishaps: Mishaps) -> str:
    client = mishaps.chance.choice(mishaps.clients())
    client.kill()
    await mishaps.lasts()
    mishaps.again(client)
    return "client killed"


async def _pause_client(mishaps: Mishaps) -> str:
    client = mishaps.chance.choice(mishaps.clients())
    client.pause()
    await asyncio.sleep(mishaps.chance.choice((0.5, 3.0, 9.0)))
    client.resume()
    return "client paused"


def _serving(mishaps: Mishaps) -> Iterable[BrokerId]:
    return [one for one in mishaps.cluster.brokers if mishaps.world.nodes[one].is_serving]


def _clear(mishaps: Mishaps) -> None:
    for broker in _serving(mishaps):
        mishaps.cluster.faults(broker).clear()


OF_BROKERS: Final[tuple[Mishap, ...]] = (
    _kill,
    _kill,
    _lose_power,
    _restart,
    _restart,
    _pause,
    _pause,
    _expire,
    _refuse,
    _cut_off,
    _delay,
)
OF_CLIENTS: Final[tuple[Mishap, ...]] = (
    _cut,
    _isolate_client,
    _isolate_broker,
    _slow,
    _kill_client,
    _kill_client,
    _pause_client,
    _close_connections,
    _refuse,
    _refuse,
    _cut_off,
    _cut_off,
    _delay,
)
