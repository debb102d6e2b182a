"""Brokers that start and stop as a process does, as one cluster: on one loop, with real sockets between them.

Their metadata store is served over a socket, too. Clients are on TCP connections of the same loop. Between
themselves the brokers use Unix sockets, or TCP, where each start of a broker has another port.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest

from odradek.base.clock import SystemClock
from odradek.base.error_codes import ErrorCode
from odradek.base.ids import BrokerId
from odradek.base.settings import SettingLayers
from odradek.metadata.embedded import METADATA_FILE
from odradek.net.client_connection import ClientConnection
from odradek.net.request_pipeline import Answer, Failure, Outcome, decode_answer
from odradek.server.admin.descriptions import describe
from odradek.server.edge.cannot_listen import CannotListen
from odradek.server.process import lifecycle
from odradek.server.process.broker import Broker
from odradek.server.process.event_loop import new_event_loop
from odradek.server.process.shell import Shell
from odradek.server.process.store_server import serve_store
from odradek.storage.faulty_files import FaultyFileSystem
from odradek.timer import Timer
from odradek.wire.message import Message, Request, ResponseT
from odradek.wire.messages.allocate_producer_ids import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
)
from odradek.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from odradek.wire.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from odradek.wire.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from odradek.wire.messages.envelope import EnvelopeRequest, EnvelopeResponse
from odradek.wire.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ReplicaState,
)
from odradek.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from odradek.wire.messages.leader_and_isr import LeaderAndIsrRequest, LeaderAndIsrResponse
from odradek.wire.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from odradek.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from odradek.wire.messages.stop_replica import StopReplicaRequest, StopReplicaResponse
from odradek.wire.messages.update_metadata import UpdateMetadataRequest, UpdateMetadataResponse
from tests.batches import make_batch

pytestmark = pytest.mark.slow

BROKERS = (1, 2, 3)
WAIT_S = 60.0


class Client:
    """A client's connection to one broker."""

    def __init__(self, broker: Broker, address: str | None = None) -> None:
        """`address` is that of the broker's first listener for clients unless it is given."""
        host, _, port = (address or broker.bootstrap_servers).rpartition(":")
        loop = asyncio.get_running_loop()
        connect = partial(loop.create_connection, host=host, port=int(port))
        self.received = b""
        """All answers."""
        self._connection = ClientConnection(
            broker.bootstrap_servers, connect, loop, Timer(SystemClock()), client_id="client"
        )

    async def outcome(self, request: Message, version: int) -> Outcome:
        ended: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self._connection.send(request, version, 60_000, ended.set_result)
        return await ended

    async def ask(self, request: Request[ResponseT], response: type[ResponseT], version: int) -> ResponseT:
        outcome = await self.outcome(request, version)
        assert isinstance(outcome, Answer), outcome.error.message
        self.received += bytes(outcome.frame)
        return decode_answer("the broker", outcome, response)

    def close(self) -> None:
        self._connection.close()


class Cluster:
    """Three brokers on the running loop."""

    def __init__(self, directory: Path, *, is_tcp: bool) -> None:
        self.is_tcp = is_tcp
        """Whether the brokers reach each other over TCP."""
        self.directory = directory / "sockets"
        self.directory.mkdir(mode=0o700)
        self.brokers: dict[BrokerId, Broker] = {}
        """Those that run."""
        self._data = directory
        self._files: dict[BrokerId, FaultyFileSystem] = {}
        self._clients: dict[BrokerId, Client] = {}

    async def start(self, broker_id: BrokerId) -> Broker:
        given = {
            "node.id": str(broker_id),
            "listeners": "PLAINTEXT://127.0.0.1:0",
            "log.dirs": str(self._data / f"data-{broker_id}"),
            "odradek.cluster.directory": str(self.directory),
            "odradek.cluster.brokers": str(len(BROKERS)),
        }
        if self.is_tcp:
            given["listeners"] = "BROKERS://127.0.0.1:0,PLAINTEXT://127.0.0.1:0"
            given["listener.security.protocol.map"] = "BROKERS:PLAINTEXT,PLAINTEXT:PLAINTEXT"
            given["inter.broker.listener.name"] = "BROKERS"
        layers, unknown = SettingLayers.from_static(given)
        assert not unknown
        files = self._files[broker_id] = FaultyFileSystem(lambda seconds: None, durable=False)
        broker = self.brokers[broker_id] = await lifecycle.start(Shell(layers, file_system=files))
        return broker

    async def stop(self, broker_id: BrokerId) -> None:
        self._drop_client(broker_id)
        await lifecycle.stop(self.brokers.pop(broker_id))

    async def crash(self, broker_id: BrokerId) -> None:
        """End a broker as `kill -9` does; the store notices by its connection, at once."""
        broker = self.brokers.pop(broker_id)
        await lifecycle.crash(broker, self._files[broker_id].end)
        self._drop_client(broker_id)

    def client(self, broker_id: BrokerId) -> Client:
        if broker_id not in self._clients:
            self._clients[broker_id] = Client(self.brokers[broker_id])
        return self._clients[broker_id]

    def _drop_client(self, broker_id: BrokerId) -> None:
        if broker_id in self._clients:
            self._clients.pop(broker_id).close()

    async def end(self) -> None:
        for broker_id in list(self.brokers):
            await self.stop(broker_id)

    # --- what clients do and see

    async def create(self, topic: str, replicas: tuple[BrokerId, ...], *, at: BrokerId) -> None:
        assignment = [CreatableReplicaAssignment(0, list(replicas))]
        request = CreateTopicsRequest([CreatableTopic(topic, -1, -1, assignment)], timeout_ms=30_000)
        (created,) = (await self.client(at).ask(request, CreateTopicsResponse, 5)).topics
        assert created.error_code == ErrorCode.NONE, created.error_message

    async def leader(self, topic: str, *, at: BrokerId) -> tuple[BrokerId, list[BrokerId]]:
        """Leader and ISR, as a broker knows them."""
        request = MetadataRequest([MetadataRequestTopic(name=topic)])
        answer = await self.client(at).ask(request, MetadataResponse, 9)
        (partition,) = answer.topics[0].partitions
        return partition.leader_id, sorted(partition.isr_nodes)

    async def produce(self, topic: str, *values: bytes, at: BrokerId) -> int:
        """Produce with acks=all; returns the first record's offset."""
        data = [TopicProduceData(topic, partition_data=[PartitionProduceData(0, make_batch(*values))])]
        answer = await self.client(at).ask(ProduceRequest(None, -1, 30_000, data), ProduceResponse, 9)
        (partition,) = answer.responses[0].partition_responses
        assert partition.error_code == ErrorCode.NONE, partition.error_message
        return partition.base_offset

    def end_offset(self, topic: str, broker_id: BrokerId) -> int:
        (log,) = [
            log for log in self.brokers[broker_id].core.logs.logs() if log.topic_partition.topic == topic
        ]
        return log.end_offset

    def records(self, topic: str, broker_id: BrokerId) -> bytes:
        (log,) = [
            log for log in self.brokers[broker_id].core.logs.logs() if log.topic_partition.topic == topic
        ]
        read = log.read(0, 1 << 30, log.position_of(log.end_offset), at_least_one=True)
        return bytes(read.held_records)


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(WAIT_S):
        while not holds():
            await asyncio.sleep(0)


@asynccontextmanager
async def running(directory: Path, *, is_tcp: bool) -> AsyncIterator[Cluster]:
    cluster = Cluster(directory, is_tcp=is_tcp)
    store = await serve_store(str(cluster.directory), directory / METADATA_FILE, durable=False)
    try:
        for broker_id in BROKERS:
            await cluster.start(broker_id)
        yield cluster
    finally:
        await cluster.end()
        await store.stop()


@pytest.fixture(params=["unix", "tcp"])
def play(tmp_path: Path, request: pytest.FixtureRequest) -> Callable[[Callable[[Cluster], object]], None]:
    """Runs a scenario on a broker's own kind of loop."""

    async def main(scenario: Callable[[Cluster], object]) -> None:
        async with running(tmp_path, is_tcp=request.param == "tcp") as cluster:
            await scenario(cluster)  # type: ignore[misc]

    def run(scenario: Callable[[Cluster], object]) -> None:
        with asyncio.Runner(loop_factory=new_event_loop) as runner:
            runner.run(main(scenario))

    return run


Play = Callable[[Callable[[Cluster], object]], None]


def test_what_is_acknowledged_is_on_all_brokers_and_who_was_away_catches_up(play: Play) -> None:
    """R5c, R10, R17: a topic of three replicas; the broker that is asked for it is not the controller."""

    async def scenario(cluster: Cluster) -> None:
        await cluster.create("orders", BROKERS, at=2)
        assert await cluster.leader("orders", at=2) == (1, [1, 2, 3])
        assert await cluster.produce("orders", b"a", at=1) == 0
        assert [cluster.end_offset("orders", broker_id) for broker_id in BROKERS] == [1, 1, 1]
        await cluster.stop(3)
        assert [path.name for path in cluster.directory.glob("broker-3*")] == []
        assert await cluster.produce("orders", b"b", b"c", at=1) == 1
        assert [cluster.end_offset("orders", broker_id) for broker_id in (1, 2)] == [3, 3]
        await cluster.start(3)
        await until(lambda: cluster.end_offset("orders", 3) == 3)
        while (await cluster.leader("orders", at=1))[1] != [1, 2, 3]:
            pass
        assert await cluster.produce("orders", b"d", at=1) == 3
        (only,) = {cluster.records("orders", broker_id) for broker_id in BROKERS}
        assert all(value in only for value in (b"a", b"b", b"c", b"d"))

    play(scenario)


def test_a_setting_changed_at_any_broker_is_in_force_on_all_and_on_who_was_away(play: Play) -> None:
    """R18, R17: a topic's and all brokers', both altered at a broker that is not the controller."""

    async def alter(cluster: Cluster, kind: int, name: str, setting: str, value: str) -> None:
        change = AlterConfigsResource(kind, name, [AlterableConfig(setting, 0, value)])
        asked = IncrementalAlterConfigsRequest([change])
        answer = await cluster.client(3).ask(asked, IncrementalAlterConfigsResponse, 1)
        assert answer.responses[0].error_code == ErrorCode.NONE, answer.responses[0].error_message

    def in_force(cluster: Cluster, broker_id: BrokerId) -> tuple[int, int]:
        core = cluster.brokers[broker_id].core
        (log,) = [log for log in core.logs.logs() if log.topic_partition.topic == "orders"]
        return log.config.retention_ms, core.settings.log_segment_delete_delay_ms

    async def scenario(cluster: Cluster) -> None:
        await cluster.create("orders", BROKERS, at=1)
        assert cluster.brokers[1].core.controller.is_active
        await cluster.stop(2)
        await alter(cluster, 2, "orders", "retention.ms", "12345")
        await alter(cluster, 4, "", "log.segment.delete.delay.ms", "678")
        await cluster.start(2)
        for broker_id in BROKERS:
            await until(partial(lambda one: in_force(cluster, one) == (12345, 678), broker_id))

    play(scenario)


@pytest.mark.parametrize("leader", [1, 2], ids=["controller", "not-controller"])
def test_when_a_leader_crashes_another_leads_and_producers_go_on(play: Play, leader: BrokerId) -> None:
    async def scenario(cluster: Cluster) -> None:
        others = tuple(broker_id for broker_id in BROKERS if broker_id != leader)
        await cluster.create("orders", (leader, *others), at=leader)
        assert await cluster.produce("orders", b"a", at=leader) == 0
        assert cluster.brokers[1].core.controller.is_active
        await cluster.crash(leader)
        while (await cluster.leader("orders", at=others[0])) != (others[0], sorted(others)):
            pass
        assert await cluster.produce("orders", b"b", at=others[0]) == 1
        assert [cluster.end_offset("orders", broker_id) for broker_id in others] == [2, 2]
        await cluster.start(leader)
        await until(lambda: cluster.end_offset("orders", leader) == 2)
        assert len({cluster.records("orders", broker_id) for broker_id in BROKERS}) == 1

    play(scenario)


def test_clients_see_clients_listeners_and_administrators_see_brokers_connections(play: Play) -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.create("orders", BROKERS, at=1)
        await cluster.produce("orders", b"a", at=1)
        addresses = {broker.bootstrap_servers for broker in cluster.brokers.values()}
        for broker_id in BROKERS:
            client = cluster.client(broker_id)
            described = await client.ask(DescribeClusterRequest(), DescribeClusterResponse, 1)
            assert {f"{one.host}:{one.port}" for one in described.brokers} == addresses
            found = await client.ask(MetadataRequest(), MetadataResponse, 12)
            assert {f"{one.host}:{one.port}" for one in found.brokers} == addresses
            assert b".sock" not in client.received
        rows = list(describe(cluster.brokers[1].view, "connections") or ())
        clients = [row for row in rows if row["listener"] == "PLAINTEXT"]
        brokers = [row for row in rows if row["listener"] == "BROKERS"]
        assert len(clients) == len(cluster.brokers[1].view.connections) == 1
        assert {row["client_id"] for row in brokers} == {"broker-2", "broker-3"}, "they fetch"
        expected = "127.0.0.1" if cluster.is_tcp else "unix"
        assert {row["client"].partition(":")[0] for row in brokers} == {expected}
        sockets = [path.name for path in cluster.directory.glob("broker-*.sock")]
        assert bool(sockets) != cluster.is_tcp

    play(scenario)


def test_what_only_brokers_may_send_is_refused_on_clients_listeners(play: Play) -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.create("orders", BROKERS, at=1)
        await cluster.produce("orders", b"a", at=1)
        client, core = cluster.client(1), cluster.brokers[1].core
        epoch = core.broker_epoch
        assert epoch is not None
        codes = {
            (
                await client.ask(LeaderAndIsrRequest(1, broker_epoch=epoch), LeaderAndIsrResponse, 7)
            ).error_code,
            (await client.ask(StopReplicaRequest(1, broker_epoch=epoch), StopReplicaResponse, 4)).error_code,
            (
                await client.ask(UpdateMetadataRequest(1, broker_epoch=epoch), UpdateMetadataResponse, 8)
            ).error_code,
            (await client.ask(AllocateProducerIdsRequest(2, 0), AllocateProducerIdsResponse, 0)).error_code,
            (await client.ask(EnvelopeRequest(), EnvelopeResponse, 0)).error_code,
        }
        assert codes == {ErrorCode.CLUSTER_AUTHORIZATION_FAILED}
        topic = core.image.topics["orders"].topic_id
        fetch = FetchRequest(
            replica_id=2,
            replica_state=ReplicaState(2, -1),
            topics=[FetchTopic("orders", topic, [FetchPartition(0, -1, 0, -1, 0, 1 << 20)])],
        )
        answer = await client.ask(fetch, FetchResponse, 15)
        (partition,) = answer.responses[0].partitions
        assert partition.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED

    play(scenario)


def test_a_second_broker_of_an_id_does_not_start_and_changes_nothing(play: Play) -> None:
    async def scenario(cluster: Cluster) -> None:
        if cluster.is_tcp:  # its session waits for the end of the first one's
            return
        first = cluster.brokers[2]
        with pytest.raises(CannotListen, match=r"broker-2\.sock: another broker with this id is running"):
            await cluster.start(2)
        assert cluster.brokers[2] is first
        await cluster.create("orders", BROKERS, at=1)
        assert await cluster.produce("orders", b"a", at=1) == 0

    play(scenario)


def test_the_tcp_listener_between_brokers_serves_no_clients(tmp_path: Path) -> None:
    """What brokers send each other is served there; a client learns from ApiVersions that it is wrong."""

    async def main() -> None:
        async with running(tmp_path, is_tcp=True) as cluster:
            broker = cluster.brokers[1]
            (address,) = [one for one in broker.shell.listeners.bound if one.name == "BROKERS"]
            client = Client(broker, str(address))
            served = await client.ask(ApiVersionsRequest("a", "1"), ApiVersionsResponse, 3)
            keys = {one.api_key for one in served.api_keys}
            assert {1, 4, 5, 6, 7, 18, 58, 67} <= keys
            assert not {0, 3, 10, 19} & keys, "neither Produce, Metadata, FindCoordinator nor CreateTopics"
            order = await client.ask(LeaderAndIsrRequest(1, broker_epoch=0), LeaderAndIsrResponse, 7)
            assert order.error_code == ErrorCode.STALE_CONTROLLER_EPOCH, "it is read, and is outdated"
            refused = await client.outcome(MetadataRequest(), 12)
            assert isinstance(refused, Failure), "the connection is closed"
            client.close()

    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(main())


def test_what_brokers_register_has_all_listeners_and_clients_learn_of_their_own(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(tmp_path, is_tcp=True) as cluster:
            for broker in cluster.brokers.values():
                known = broker.core.image.brokers
                assert set(known) == set(BROKERS)
                for other_id, other in known.items():
                    bound = cluster.brokers[other_id].shell.listeners.bound
                    assert [(end.listener, end.port) for end in other.endpoints] == [
                        (one.name, one.port) for one in bound
                    ]

    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(main())


def test_a_broker_that_is_alone_has_no_listener_for_brokers(tmp_path: Path) -> None:
    async def main() -> None:
        layers, _ = SettingLayers.from_static(
            {"listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": str(tmp_path / "data")}
        )
        broker = await lifecycle.start(Shell(layers))
        assert (broker.shell.peer_listener, broker.shell.peer_sockets) == (None, None)
        assert broker.view.peer_connections is None
        await lifecycle.stop(broker)

    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(main())
