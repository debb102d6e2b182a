"""Whole brokers in this process, on real sockets and real files."""

import json
import logging
import re
import socket
import struct
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from odradek import Admin
from odradek.base.clock import Clock
from odradek.base.errors import DataDirectoryError
from odradek.base.settings import SettingLayers
from odradek.net.blocking_connection import BrokerConnection
from odradek.net.request_pipeline import ConnectionFailed
from odradek.records.header import iter_headers
from odradek.server.process.broker_thread import BrokerThread
from odradek.testing.virtual_clock import VirtualClock
from odradek.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from odradek.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from odradek.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from odradek.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from tests.batches import BatchOf

API_VERSIONS_V0 = struct.pack(">ihhih", 10, 18, 0, 7, -1)


def broker_in(directory: Path, clock: Clock | None = None, **settings: str) -> BrokerThread:
    named = {name.replace("_", "."): value for name, value in settings.items()}
    layers, unknown = SettingLayers.from_static(
        {"listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": str(directory), **named}
    )
    assert not unknown
    return BrokerThread(layers, clock=clock)


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[BrokerThread]:
    running = broker_in(tmp_path / "logs")
    running.start()
    yield running
    running.stop()


def address_of(broker: BrokerThread) -> tuple[str, int]:
    host, _, port = broker.bootstrap_servers.rpartition(":")
    return host, int(port)


def connect(broker: BrokerThread) -> BrokerConnection:
    return BrokerConnection(*address_of(broker), timeout_s=10)


def make_topic(connection: BrokerConnection, name: str) -> None:
    request = CreateTopicsRequest([CreatableTopic(name, 1, 1)], timeout_ms=5000)
    assert connection.ask(request, CreateTopicsResponse).topics[0].error_code == 0


def produce(connection: BrokerConnection, topic: str, records: bytes, acks: int = -1) -> Any:
    data = [TopicProduceData(topic, partition_data=[PartitionProduceData(0, records)])]
    answer = connection.ask(ProduceRequest(None, acks, 5000, data), ProduceResponse, 12)
    return answer.responses[0].partition_responses[0]


def fetch(topic: str, *, wait_ms: int = 0) -> FetchRequest:
    part = FetchPartition(0, fetch_offset=0, partition_max_bytes=1 << 20)
    return FetchRequest(max_wait_ms=wait_ms, min_bytes=1, topics=[FetchTopic(topic, partitions=[part])])


def latest(connection: BrokerConnection, topic: str) -> int:
    asked = ListOffsetsTopic(topic, [ListOffsetsPartition(0, -1, -1)])
    answer = connection.ask(ListOffsetsRequest(-1, 0, [asked]), ListOffsetsResponse)
    return answer.topics[0].partitions[0].offset


def test_requests_sent_together_are_answered_in_order(broker: BrokerThread) -> None:
    with socket.create_connection(address_of(broker), 10) as client:
        client.sendall(API_VERSIONS_V0 * 3)
        answers = client.makefile("rb")
        for _ in range(3):
            (size,) = struct.unpack(">i", answers.read(4))
            assert answers.read(size)[:4] == struct.pack(">i", 7)


def test_a_large_answer_is_sent_as_its_reader_takes_it(broker: BrokerThread, batch: BatchOf) -> None:
    """The bytes of a fetch above 1 MB stay in the file until then, and are what was produced."""
    batches = [batch(bytes([number]) * 900_000) for number in range(8)]
    with connect(broker) as slow, connect(broker) as other:
        make_topic(slow, "t")
        for data in batches:
            assert produce(slow, "t", data).error_code == 0
        part = FetchPartition(0, fetch_offset=0, partition_max_bytes=50 << 20)
        slow.send(FetchRequest(min_bytes=1, topics=[FetchTopic("t", partitions=[part])]), 12)
        assert latest(other, "t") == 8, "others are answered meanwhile"
        records = slow.receive(FetchResponse).responses[0].partitions[0].records
    assert records is not None
    assert len(records) == sum(map(len, batches))
    for number, (at, header) in enumerate(iter_headers(records)):
        assert header.base_offset == number
        # Offset, length and leader epoch stand before what the CRC covers.
        assert records[at + 16 : at + header.size_bytes] == batches[number][16:]


def test_a_parked_request_holds_back_the_next_ones(broker: BrokerThread, batch: BatchOf) -> None:
    with connect(broker) as consumer, connect(broker) as producer:
        make_topic(producer, "t")
        consumer.send(fetch("t", wait_ms=60_000), 12)
        consumer.send(fetch("t"), 12)
        assert produce(producer, "t", batch(b"a")).error_code == 0
        first, second = consumer.receive(FetchResponse), consumer.receive(FetchResponse)
        assert first.responses[0].partitions[0].high_watermark == 1
        assert second.responses[0].partitions[0].high_watermark == 1


@pytest.mark.parametrize("bad", [b"GET / HTTP/1.1\r\n\r\n", struct.pack(">i", -5), struct.pack(">ii", 4, 0)])
def test_bad_input_closes_that_connection_and_no_other(broker: BrokerThread, bad: bytes) -> None:
    with connect(broker) as good, socket.create_connection(address_of(broker), 10) as client:
        client.sendall(bad)
        assert client.recv(100) == b""
        make_topic(good, "t")


def test_what_was_acknowledged_is_there_after_a_clean_stop(tmp_path: Path, batch: BatchOf) -> None:
    first = broker_in(tmp_path)
    first.start()
    with connect(first) as connection:
        make_topic(connection, "t")
        assert produce(connection, "t", batch(b"a", b"b")).error_code == 0
    first.stop()
    assert (tmp_path / ".kafka_cleanshutdown").exists()
    second = broker_in(tmp_path)
    second.start()
    try:
        with connect(second) as connection:
            assert latest(connection, "t") == 2
            assert produce(connection, "t", batch(b"c")).base_offset == 2
    finally:
        second.stop()


def test_settings_of_topics_brokers_and_groups_outlive_a_restart(tmp_path: Path) -> None:
    changes = [
        ("topic", "kept", "retention.ms", "12345"),
        ("broker", "0", "message.max.bytes", "2345678"),
        ("broker", "", "log.retention.bytes", "3456789"),
        ("group", "team/readers", "consumer.session.timeout.ms", "50000"),
    ]
    running = broker_in(tmp_path)
    running.start()
    with Admin(running.bootstrap_servers) as admin:
        admin.create_topic("kept")
        for kind, name, setting, value in changes:
            admin.alter_configs(kind, name, {setting: value})
    running.stop()
    running = broker_in(tmp_path)
    running.start()
    with Admin(running.bootstrap_servers) as admin:
        for kind, name, setting, value in changes:
            found = {one.name: one.value for one in admin.describe_configs(kind, name)}
            assert found[setting] == value
    running.stop()


def test_a_limit_of_connections_holds_after_a_restart_too(tmp_path: Path) -> None:
    running = broker_in(tmp_path)
    running.start()
    with Admin(running.bootstrap_servers) as admin:
        admin.alter_configs("broker", "", {"max.connections.per.ip": "1"})
    running.stop()
    running = broker_in(tmp_path)
    running.start()
    try:
        with connect(running) as first, socket.create_connection(address_of(running), 10) as second:
            make_topic(first, "t")
            assert second.recv(1) == b""
    finally:
        running.stop()


def test_acks_may_wait_for_the_disk(tmp_path: Path, batch: BatchOf) -> None:
    broker = broker_in(tmp_path, odradek_log_flush_before_ack="true")
    broker.start()
    try:
        with connect(broker) as connection:
            make_topic(connection, "t")
            assert produce(connection, "t", batch(b"a")).error_code == 0
        (log,) = broker.run(lambda: list(broker.core.logs.logs()))
        assert log.flushed_offset == 1
    finally:
        broker.stop()


def test_a_directory_in_use_is_refused_and_left_alone(broker: BrokerThread, tmp_path: Path) -> None:
    with pytest.raises(DataDirectoryError, match="in use"):
        broker_in(tmp_path / "logs").start()
    with connect(broker) as connection:
        make_topic(connection, "t")


def test_stopping_answers_what_waits_and_ends_every_thread(tmp_path: Path) -> None:
    before = threading.active_count()
    broker = broker_in(tmp_path)
    broker.start()
    with connect(broker) as consumer:
        make_topic(consumer, "t")
        consumer.send(fetch("t", wait_ms=60_000), 12)
        broker.run(lambda: None)
        while not broker.run(lambda: broker.core.replicas.purgatories.fetch.delayed):
            pass
        stopping = threading.Thread(target=broker.stop)
        stopping.start()
        assert consumer.receive(FetchResponse).responses[0].partitions[0].error_code == 0
        stopping.join()
    assert threading.active_count() == before


def test_a_moved_clock_expires_what_waits_and_closes_who_is_idle(tmp_path: Path) -> None:
    """T6: through the same timer as in production, with no sleep."""
    clock = VirtualClock()
    broker = broker_in(tmp_path, clock, connections_max_idle_ms="60000")
    broker.start()
    clock.drive(broker.timer, broker.run)
    try:
        with connect(broker) as consumer:
            make_topic(consumer, "t")
            consumer.send(fetch("t", wait_ms=45_000), 12)
            while not broker.run(lambda: broker.core.replicas.purgatories.fetch.delayed):
                pass
            clock.advance(seconds=45)
            assert consumer.receive(FetchResponse).responses[0].partitions[0].error_code == 0
            clock.advance(seconds=70)
            with pytest.raises(ConnectionFailed):
                consumer.call(fetch("t"), FetchResponse, 12)
    finally:
        clock.release()
        broker.stop()


def test_connections_over_the_limit_are_closed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    broker = broker_in(tmp_path, max_connections_per_ip="1")
    broker.start()
    try:
        with (
            caplog.at_level(logging.WARNING),
            connect(broker),
            socket.create_connection(address_of(broker), 10) as second,
        ):
            assert second.recv(1) == b""
        assert "1 of 127.0.0.1 are open; max.connections.per.ip allows 1" in caplog.text
    finally:
        broker.stop()


@pytest.mark.slow
def test_the_admin_listener_shows_what_the_broker_does(tmp_path: Path) -> None:
    """D7, R8: what waits, and what went through each topic."""
    broker = broker_in(tmp_path, odradek_admin_port="0", odradek_loop_spin_max_us="0")
    broker.start()

    def get(path: str) -> str:
        assert broker.broker.admin is not None
        with urllib.request.urlopen(f"http://{broker.broker.admin.address}{path}", timeout=10) as answer:
            return str(answer.read().decode())

    try:
        with connect(broker) as connection:
            make_topic(connection, "t")
            assert (get("/healthz"), get("/readyz")) == ("alive\n", "ready\n")
            assert [row["topic"] for row in json.loads(get("/describe/partitions"))] == ["t"]
            assert json.loads(get("/describe/connections"))[0]["requests"] == 2
            assert json.loads(get("/describe/purgatories")) == []
            connection.send(fetch("t", wait_ms=60_000), 12)
            while not (waiting := json.loads(get("/describe/purgatories"))):
                pass
            assert (waiting[0]["purgatory"], waiting[0]["keys"]) == ("Fetch", ["t-0"])
            longest_ns = 3_600_000_000_000  # longer than whatever this machine makes the broker wait
            broker.run(lambda: broker.broker.stalls.note(longest_ns, "a test"))
            metrics = get("/metrics")
            (longest,) = re.findall(r"^odradek_loop_stall_ms_max (\S+)", metrics, re.MULTILINE)
            assert float(longest) > 3_500_000, "but for what the thread waited for a processor"
            assert "odradek_loop_stalls_total 0.0" not in metrics
            assert "odradek_loop_spin_seconds_total 0.0" in metrics, "nothing was polled"
            assert 'odradek_requests_total{api="CreateTopics"} 1.0' in metrics
            assert 'odradek_log_end_offset{partition="0",topic="t"} 0.0' in metrics
            assert 'odradek_topic_fetch_requests_total{topic="t"} 1.0' in metrics
            assert 'odradek_topic_messages_in_total{topic="t"} 0.0' in metrics
            assert "odradek_isr_shrinks_total 0.0" in metrics
            with pytest.raises(urllib.error.HTTPError, match="404"):
                get("/describe/nothing")
    finally:
        broker.stop()
