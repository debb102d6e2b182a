"""How a broker starts and stops, and which of its threads wait for the disk meanwhile."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from odradek import Admin
from odradek.base.settings import SettingLayers
from odradek.metadata.image import BrokerRegistered
from odradek.net.blocking_connection import BrokerConnection
from odradek.server.edge.loop_stalls import STALL_NS, LoopStalls
from odradek.server.node.hand_over import State
from odradek.server.node.node import Node
from odradek.server.process import lifecycle
from odradek.server.process.broker_thread import BrokerThread
from odradek.server.process.shell import Shell
from odradek.storage import LogManager, os_files
from odradek.testing.virtual_clock import VirtualClock
from odradek.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from odradek.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from tests.batches import BatchOf

GATE_S_MAX = 30


class Syncs:
    """Every wait for the disk: who waited; held up while `gate` is closed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.threads: list[str] = []
        self.gate = threading.Event()
        self.gate.set()
        self.waiting = threading.Event()
        sync_file, sync_directory = os_files._sync_descriptor, os_files.OsFileSystem.sync_directory

        def file_synced(descriptor: int) -> None:
            self._wait()
            sync_file(descriptor)

        def directory_synced(disk: os_files.OsFileSystem, path: str) -> None:
            self._wait()
            sync_directory(disk, path)

        monkeypatch.setattr(os_files, "_sync_descriptor", file_synced)
        monkeypatch.setattr(os_files.OsFileSystem, "sync_directory", directory_synced)

    def _wait(self) -> None:
        self.threads.append(threading.current_thread().name)
        self.waiting.set()
        assert self.gate.wait(GATE_S_MAX), "nobody opened the gate"

    def take(self) -> list[str]:
        taken, self.threads = self.threads, []
        return taken


@pytest.fixture
def syncs(monkeypatch: pytest.MonkeyPatch) -> Syncs:
    return Syncs(monkeypatch)


class Running:
    """A broker with a client, in moved time."""

    def __init__(self, directory: Path, **settings: str) -> None:
        named = {name.replace("_", "."): value for name, value in settings.items()}
        layers, unknown = SettingLayers.from_static(
            {"listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": str(directory), **named}
        )
        assert not unknown
        self.clock = VirtualClock()
        self.broker = BrokerThread(layers, clock=self.clock)
        self.broker.start()
        self.is_running = True
        self.clock.drive(self.broker.timer, self.broker.run)
        self.admin = Admin(self.broker.bootstrap_servers)
        host, _, port = self.broker.bootstrap_servers.rpartition(":")
        self.connection = BrokerConnection(host, int(port), timeout_s=10)

    def produce(self, topic: str, records: bytes) -> int:
        data = [TopicProduceData(topic, partition_data=[PartitionProduceData(0, records)])]
        answer = self.connection.ask(ProduceRequest(None, -1, 5000, data), ProduceResponse, 12)
        assert answer.responses[0].partition_responses[0].error_code == 0
        return int(answer.responses[0].partition_responses[0].base_offset)

    def stop(self) -> None:
        self.is_running = False
        self.connection.close()
        self.admin.close()
        self.broker.stop()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Running]]:
    started: list[Running] = []

    def run(**settings: str) -> Running:
        started.append(Running(tmp_path / "logs", **settings))
        return started[-1]

    yield run
    for running in started:
        if running.is_running:
            running.stop()


def test_the_loop_never_waits_for_the_disk(
    start: Callable[..., Running], syncs: Syncs, batch: BatchOf
) -> None:
    """R12: topics made and deleted, segments rolled, records deleted, flushes and all checkpoints."""
    running = start(log_flush_interval_ms="1000", log_flush_scheduler_interval_ms="500")
    running.admin.create_topic("kept", configs={"segment.bytes": "1048576"})
    running.admin.create_topic("gone")
    for _ in range(3):
        running.produce("kept", batch(bytes(600_000)))
        running.produce("gone", batch(b"a"))
    request = DeleteRecordsRequest(
        [DeleteRecordsTopic("kept", [DeleteRecordsPartition(0, 2)])], timeout_ms=5000
    )
    answer = running.connection.ask(request, DeleteRecordsResponse)
    assert answer.topics[0].partitions[0].error_code == 0
    running.admin.delete_topics(["gone"])
    running.clock.advance(seconds=400)
    running.broker.run(lambda: None)
    running.stop()
    threads = syncs.take()
    assert len(threads) > 20
    assert {name.rstrip("_0123456789") for name in threads} <= {"odradek-blocking", "odradek-sync"}


def test_clients_are_served_while_a_checkpoint_waits_for_the_disk(
    start: Callable[..., Running], syncs: Syncs, batch: BatchOf
) -> None:
    """R12"""
    running = start()
    running.admin.create_topic("t")
    assert running.produce("t", batch(b"a")) == 0
    syncs.waiting.clear()
    syncs.gate.clear()
    try:
        running.clock.advance(seconds=5)
        assert syncs.waiting.wait(GATE_S_MAX), "the checkpoint of high watermarks is due"
        for offset in range(1, 20):
            assert running.produce("t", batch(b"a")) == offset
            running.clock.advance(seconds=5)
    finally:
        syncs.gate.set()


def test_a_clean_stop_waits_for_the_disk_with_many_threads(
    start: Callable[..., Running], syncs: Syncs, batch: BatchOf
) -> None:
    """Held up at the disk, all logs wait there together."""
    running = start()
    for number in range(8):
        running.admin.create_topic(f"t{number}")
        running.produce(f"t{number}", batch(b"a"))
    syncs.gate.clear()
    stopping = threading.Thread(target=running.stop)
    stopping.start()
    try:
        together: set[str] = set()
        while len(together) < 8:
            assert syncs.waiting.wait(GATE_S_MAX)
            syncs.waiting.clear()
            together = {name for name in list(syncs.threads) if name.startswith("odradek-sync")}
    finally:
        syncs.gate.set()
        stopping.join()


def test_a_start_that_fails_ends_the_node_before_its_logs_are_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two threads would own one state: the node on the loop, and the logs that another thread closes."""
    nodes: list[Node] = []
    seen: list[bool] = []
    close = LogManager.close

    async def fail(shell: Shell, node: Node) -> None:
        nodes.append(node)
        raise ZeroDivisionError

    def watched_close(logs: LogManager, *how: Any) -> None:
        seen.append(nodes[0].life.is_over)
        close(logs, *how)

    async def start() -> None:
        settings = {"log.dirs": str(tmp_path), "listeners": "PLAINTEXT://127.0.0.1:0"}
        await lifecycle.start(Shell(SettingLayers(settings)))

    monkeypatch.setattr(lifecycle, "_admit", fail)
    monkeypatch.setattr(LogManager, "close", watched_close)
    with pytest.raises(ZeroDivisionError):
        asyncio.run(start())
    assert seen == [True]


@pytest.mark.slow
def test_what_takes_long_in_a_start_is_no_stall(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """No client waits for it; what takes long afterwards is named."""
    join = Node.join
    stalls: list[LoopStalls] = []

    def join_slowly(node: Node, *how: Any) -> None:
        stalls.append(node._surroundings.stalls)
        node._surroundings.stalls.note(STALL_NS, "what a start does")
        join(node, *how)

    monkeypatch.setattr(Node, "join", join_slowly)
    settings = {"log.dirs": str(tmp_path), "listeners": "PLAINTEXT://127.0.0.1:0"}
    broker = BrokerThread(SettingLayers(settings))
    broker.start()
    try:
        assert not [message for message in caplog.messages if "what a start does" in message]
        broker.run(lambda: stalls[0].note(STALL_NS, "what a client waits for"))
        assert [message for message in caplog.messages if "what a client waits for" in message]
    finally:
        broker.stop()


def test_a_broker_that_is_not_alone_hands_over_before_it_refuses_clients(
    start: Callable[..., Running], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its own controller, which knows of no other broker, finds nothing to move."""
    running = start()
    node = running.broker.broker.node
    image = node.core.image
    other = replace(image.brokers[node.core.broker_id], broker_id=17)
    running.broker.run(lambda: image.apply(BrokerRegistered(other)))
    stopped: list[State] = []
    let_go = node.let_go

    def note() -> None:
        stopped.append(node.core.hand_over.state)
        let_go()

    monkeypatch.setattr(node, "let_go", note)
    running.stop()
    assert stopped == [State.ENDED]
