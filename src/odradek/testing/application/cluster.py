"""The simulated cluster as a test holds it: topics, faults, and checks.

    await cluster.create_topic("orders", partitions=3)
    cluster.kill(cluster.leader_of("orders"))
    await asyncio.sleep(10)
    await cluster.start(1)
    await cluster.check()

Faults come at once, between two steps. What takes time is awaited, and takes virtual time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from odradek.base.error_codes import ErrorCode, known_code
from odradek.base.ids import NO_BROKER, BrokerId, TopicPartition
from odradek.client.refusal import raise_for
from odradek.metadata.codec import StateDocument
from odradek.records.control import is_abort_marker
from odradek.records.framing import iter_records
from odradek.records.header import iter_headers
from odradek.records.isolation import AbortedTransactions
from odradek.testing.application.checks import (
    PromiseBroken,
    check_acknowledged,
    check_logs,
    what_is_missing,
)
from odradek.testing.application.process import Process
from odradek.testing.application.simulated_group import Ask, SimulatedGroup
from odradek.testing.faults import Faults
from odradek.testing.sim.client import SimRequest
from odradek.testing.sim.node import PORT, SimNode
from odradek.testing.sim.stored import READ_BYTES, StoredCluster
from odradek.testing.sim.streams import Place
from odradek.testing.topic_records import TestRecord, of_log
from odradek.wire.message import Request, ResponseT
from odradek.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from odradek.wire.messages.fetch import AbortedTransaction
from odradek.wire.versions import VERSION_LIMIT

if TYPE_CHECKING:
    from odradek.testing.application.simulation import Simulation

T = TypeVar("T")
AnyPlace: TypeAlias = "BrokerId | Process[Any]"

SESSION_S: Final = 18.0
"""The metadata store ends the session of a broker that it has not heard of for so long."""
RECOVERY_S: Final = 60.0
"""When faults have ended, every replica is to be in sync within this time."""
_ADMIN_HOST: Final = "10.0.2.1"
"""Requests of the test itself come from here; no fault applies to this host."""
_LOOK_EVERY_S: Final = 0.1
_ANSWER_S: Final = 5.0
_RETRIED: Final = frozenset(
    {ErrorCode.NOT_CONTROLLER, ErrorCode.REQUEST_TIMED_OUT, ErrorCode.INVALID_REPLICATION_FACTOR}
)
"""Errors of CreateTopics that go away when the brokers have joined and there is a controller."""


class Cluster:
    """The brokers of one run; their ids are 1, 2, 3 ..."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._world = simulation.world
        self._stored = StoredCluster(simulation.world)

    @property
    def seed(self) -> int:
        """The seed of this run."""
        return self._simulation.seed

    @property
    def bootstrap_servers(self) -> str:
        """The addresses of all brokers, for a client's setting of this name."""
        return ",".join(f"{node.host}:{PORT}" for node in self._world.nodes.values())

    @property
    def brokers(self) -> list[BrokerId]:
        """The ids of all brokers, dead ones included."""
        return list(self._world.nodes)

    # --- processes of the application

    def spawn(self, coroutine: Coroutine[Any, Any, T], *, name: str = "") -> Process[T]:
        """Run a coroutine as a process of its own, on its own host, which can be killed; see `Process`."""
        return self._simulation.spawn(coroutine, name)

    # --- topics

    async def create_topic(
        self,
        name: str,
        *,
        partitions: int = 1,
        replication_factor: int | None = None,
        min_insync_replicas: int | None = None,
        configs: Mapping[str, str] | None = None,
    ) -> None:
        """Create a topic, and wait until its partitions have leaders. Raises ApiError, TimeoutError.

        For RECOVERY_S it waits for a controller, and for as many brokers as the topic has replicas.

        Without a replication factor it has the brokers' default: three replicas, or one on each broker.
        """
        all_configs = dict(configs or {})
        if min_insync_replicas is not None:
            all_configs["min.insync.replicas"] = str(min_insync_replicas)
        topic = CreatableTopic(name, partitions, -1 if replication_factor is None else replication_factor)
        topic.configs = [CreatableTopicConfig(key, value) for key, value in all_configs.items()]
        ends = asyncio.get_running_loop().time() + RECOVERY_S
        while True:
            answer = await self._ask_controller(CreateTopicsRequest([topic], timeout_ms=5_000))
            code = ErrorCode.NOT_CONTROLLER if answer is None else known_code(answer.topics[0].error_code)
            is_too_many = replication_factor is not None and replication_factor > len(self.brokers)
            if code not in _RETRIED or (code is ErrorCode.INVALID_REPLICATION_FACTOR and is_too_many):
                break
            if asyncio.get_running_loop().time() > ends:
                break
            await asyncio.sleep(_LOOK_EVERY_S)
        if answer is None:
            raise TimeoutError(f"no controller answered for {RECOVERY_S:g} s, so topic {name} is not created")
        raise_for(code, answer.topics[0].error_message, about=f"topic {name}")
        for number in range(partitions):
            await self._leader(TopicPartition(name, number))

    async def records(self, topic: str, *, partition: int | None = None) -> list[TestRecord]:
        """The committed records of a topic, as its leaders hold them; waits for leaders.

        They come partition by partition, in the order of offsets. Raises LookupError, TimeoutError.
        """
        found = []
        for one in self._partitions(topic, partition):
            found += _committed(await self._leader(one), one)
        return found

    def group(self, name: str) -> SimulatedGroup:
        """A consumer group, which need not exist yet, with what a test waits for; see `SimulatedGroup`."""
        return SimulatedGroup(name, _Asked(self._stored, self._ask))

    def leader_of(self, topic: str, partition: int = 0) -> BrokerId:
        """The leader of a partition. Raises LookupError if there is no such partition, or no leader."""
        state = self._state(topic, partition)
        if state.leader == NO_BROKER:
            raise LookupError(f"{topic}-{partition} has no leader")
        return state.leader

    def in_sync(self, topic: str, partition: int = 0) -> list[BrokerId]:
        """The ISR of a partition. Raises LookupError if there is no such partition."""
        return list(self._state(topic, partition).isr)

    @property
    def controller(self) -> BrokerId:
        """The controller. Raises LookupError while there is none."""
        found = self._stored.controller()
        if found == NO_BROKER:
            raise LookupError("there is no controller")
        return found

    # --- faults: brokers

    def kill(self, broker: BrokerId) -> None:
        """End a broker as by kill -9; its disk keeps everything."""
        node = self._node(broker)
        self._note(f"broker {broker} is killed")
        node.kill()

    def lose_power(self, broker: BrokerId) -> None:
        """End a broker; its disk loses some of what was not synced."""
        node = self._node(broker)
        self._note(f"broker {broker} loses power")
        node.lose_power()

    def pause(self, broker: BrokerId) -> None:
        """Let a broker's process stand still, as by SIGSTOP; its session expires after SESSION_S."""
        self._node(broker)
        self._note(f"broker {broker} is paused")
        self._world.pause(broker)
        self._expire_later(broker)

    def resume(self, broker: BrokerId) -> None:
        """Let a paused broker continue."""
        self._node(broker)
        self._note(f"broker {broker} is resumed")
        self._world.resume(broker)

    async def stop(self, broker: BrokerId) -> None:
        """Stop a broker in good order."""
        node = self._node(broker)
        self._note(f"broker {broker} is stopped")
        node.begin_stop()
        while node.is_alive:
            await asyncio.sleep(_LOOK_EVERY_S)

    async def start(self, broker: BrokerId) -> None:
        """Start a broker that has ended, on its disk, and wait until it serves. Raises why it does not."""
        settings = self._node(broker).given_settings
        self._note(f"broker {broker} is started")
        node = self._world.begin(broker, **settings)
        while not node.is_serving:
            if node.start_error is not None:
                raise node.start_error
            await asyncio.sleep(_LOOK_EVERY_S)

    async def restart(self, broker: BrokerId) -> None:
        """Stop a broker in good order, unless it has ended already, and start it again."""
        if self._node(broker).is_alive:
            await self.stop(broker)
        await self.start(broker)

    def expire_session(self, broker: BrokerId) -> None:
        """End the session of a broker with the metadata store; it joins anew."""
        self._node(broker)
        self._note(f"the session of broker {broker} expires")
        self._world.expire_session(broker)

    def faults(self, broker: BrokerId) -> Faults:
        """Errors, delays, lost connections and a full or slow disk of a broker, until its end."""
        return self._node(broker).faults

    # --- faults: the network

    def cut(self, a: AnyPlace, b: AnyPlace, *, one_way: bool = False) -> None:
        """Let nothing pass between two brokers, or processes, until `heal`."""
        self._note(f"cut: {_name(a)} {'->' if one_way else '<->'} {_name(b)}")
        self._world.cut(_place(a), _place(b), one_way=one_way)

    def isolate(self, place: AnyPlace) -> None:
        """Let nothing pass to or from a broker or a process, until `heal`.

        A broker also loses the metadata store, where its session expires after SESSION_S.
        """
        self._note(f"{_name(place)} is isolated")
        self._world.isolate(_place(place))
        if not isinstance(place, Process):
            self._world.cut_store(place)
            self._expire_later(place)

    def slow(self, a: AnyPlace, b: AnyPlace, seconds: float) -> None:
        """Let everything between two brokers or processes take that long, until `heal`."""
        self._note(f"slow: {_name(a)} <-> {_name(b)}, {seconds:g} s")
        self._world.links.slow(_place(a), _place(b), round(seconds * 1000))
        self._world.links.slow(_place(b), _place(a), round(seconds * 1000))

    def heal(self) -> None:
        """End what `cut`, `isolate` and `slow` have begun."""
        self._note("the network is healed")
        self._world.heal()

    # --- checks

    async def recover(self, within: float = RECOVERY_S) -> None:
        """End all faults, start brokers that have ended, and wait until every replica is in sync.

        Raises PromiseBroken if that takes more than `within` seconds.
        """
        self.heal()
        for broker, node in self._world.nodes.items():
            self._world.resume(broker)
            if node.is_serving:
                node.faults.clear()
            elif node.is_over:
                await self.start(broker)
        ends = asyncio.get_running_loop().time() + within
        while missing := what_is_missing(self._world):
            if asyncio.get_running_loop().time() > ends:
                raise PromiseBroken(f"{within:g} s after the faults have ended, {missing}")
            await asyncio.sleep(_LOOK_EVERY_S)

    async def check(self) -> None:
        """`recover`, and check what Kafka promises: no acknowledged record lost, replicas equal below HW.

        Raises PromiseBroken.
        """
        await self.recover()
        check_logs(self._world)
        check_acknowledged(self._world, self._simulation.traffic.acknowledged)

    # --- inside

    def _expire_later(self, broker: BrokerId) -> None:
        """Expire the session of a broker that the metadata store has not heard of for SESSION_S."""
        node = self._node(broker)
        session = node.session

        def expire() -> None:
            if node.is_alive and node.session is session and (session.is_cut or node.is_paused):
                self.expire_session(broker)

        asyncio.get_running_loop().call_later(SESSION_S, expire)

    def _note(self, event: str) -> None:
        self._simulation.history.note(event)

    def _node(self, broker: BrokerId) -> SimNode:
        node = self._world.nodes.get(broker)
        if node is None:
            raise LookupError(f"there is no broker {broker}; there are {self.brokers}")
        return node

    def _state(self, topic: str, partition: int) -> StateDocument:
        (found,) = self._partitions(topic, partition)
        state = self._stored.state(found)
        if state is None:
            raise LookupError(f"{found} has no leader yet")
        return state

    def _partitions(self, topic: str, partition: int | None) -> list[TopicPartition]:
        all_of_it = [one for one in self._stored.partitions() if one.topic == topic]
        if not all_of_it:
            raise LookupError(f"there is no topic {topic}")
        if partition is None:
            return all_of_it
        found = [one for one in all_of_it if one.partition == partition]
        if not found:
            raise LookupError(f"there is no partition {partition} of topic {topic}: it has {len(all_of_it)}")
        return found

    async def _leader(self, partition: TopicPartition) -> SimNode:
        """Wait for its leader. Raises TimeoutError."""
        ends = asyncio.get_running_loop().time() + RECOVERY_S
        while (leader := self._stored.leader(partition)) is None:
            if asyncio.get_running_loop().time() > ends:
                raise TimeoutError(f"{partition} has had no leader for {RECOVERY_S:g} s")
            await asyncio.sleep(_LOOK_EVERY_S)
        return leader

    async def _ask_controller(self, request: Request[ResponseT]) -> ResponseT | None:
        """Returns the controller's answer; None if there is no controller, or it does not answer."""
        node = self._world.nodes.get(self._stored.controller())
        return None if node is None else await self._ask(node, request)

    async def _ask(
        self, node: SimNode, request: Request[ResponseT], version_max: int = VERSION_LIMIT
    ) -> ResponseT | None:
        """Returns a broker's answer; None if it does not answer."""
        if not node.is_serving:
            return None
        handler = node.handlers.get(request.API_KEY)
        assert handler is not None, "brokers serve what a test asks"
        ended = asyncio.get_running_loop().create_future()
        connection = node.connect("simulate", _ADMIN_HOST)
        version = min(handler.highest_version, version_max)
        sent = SimRequest(connection, request, version, lambda _: _finish(ended))
        await asyncio.wait([ended], timeout=_ANSWER_S)
        connection.close()
        return sent.answers[0] if sent.answers else None


class _Asked:
    """See `GroupsCluster`."""

    def __init__(self, stored: StoredCluster, ask: Ask) -> None:
        self._stored = stored
        self._ask = ask

    @property
    def ask(self) -> Ask:
        return self._ask

    def partitions(self) -> Iterable[TopicPartition]:
        return self._stored.partitions()

    def leader(self, partition: TopicPartition) -> SimNode | None:
        return self._stored.leader(partition)

    def committed_records(self, node: SimNode, partition: TopicPartition) -> list[TestRecord]:
        return _committed(node, partition)


def _finish(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def _place(place: AnyPlace) -> Place:
    return place.host if isinstance(place, Process) else place


def _name(place: AnyPlace) -> str:
    return place.name if isinstance(place, Process) else f"broker {place}"


def _committed(leader: SimNode, partition: TopicPartition) -> list[TestRecord]:
    """What a consumer with read_committed gets."""
    log = leader.log(*partition)
    found, aborted = [], AbortedTransactions()
    position = log.log_start_offset
    while position < log.last_stable.offset:
        read = log.read(position, READ_BYTES, log.last_stable, at_least_one=True, committed_only=True)
        aborted.learn(
            [AbortedTransaction(one.producer_id, one.first_offset) for one in read.aborted_transactions or ()]
        )
        data = read.held_records
        for at, header in iter_headers(data):
            is_abort = header.is_control and is_abort_marker(data[at : at + header.size_bytes])
            if not aborted.hides(header, is_abort):
                found += [of_log(*partition, record) for record in iter_records(data, header, at)]
            position = header.next_offset
    return found
