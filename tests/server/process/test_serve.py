"""A broker as a process: what it loads, what it prints, how it stops."""

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest

from odradek import __version__
from odradek.base.clock import ManualClock
from odradek.base.execution import Steps
from odradek.net.blocking_connection import BrokerConnection
from odradek.server.edge.loop_stalls import LoopStalls
from odradek.server.process.serve import WARM_UP_REST, warm_up
from odradek.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse

# Libraries that a broker needs only when somebody asks for what they do.
LATE = ("typer", "rich", "prometheus_client", "starlette", "uvicorn", "aiokafka", "structlog", "kazoo")

SERVE = [sys.executable, "-m", "odradek.cli.main", "serve", "--port", "0", "--data-dir"]


@pytest.fixture
def process(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [*SERVE, str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        yield running
        running.kill()


@pytest.mark.slow
def test_a_start_loads_nothing_that_can_wait() -> None:
    found = subprocess.run(
        [sys.executable, "-c", "import odradek.server.process.serve, sys; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = {name.partition(".")[0] for name in found.stdout.split()}
    assert not loaded & set(LATE)
    late = ("odradek.wire.messages.produce", "odradek.coordinator.groups", "odradek.coordinator.transactions")
    assert not [name for name in found.stdout.split() if name.startswith(late)]


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_it_says_where_it_listens_and_stops_cleanly_on_a_signal(
    process: "subprocess.Popen[str]", tmp_path: Path, number: signal.Signals
) -> None:
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line.startswith("odradek: listening on 127.0.0.1:")
    port = int(line.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), 10):
        process.send_signal(number)
        assert process.wait(10) == 0
    assert (tmp_path / ".kafka_cleanshutdown").exists()


@pytest.mark.slow
def test_under_nohup_it_outlives_its_terminal(tmp_path: Path) -> None:
    command = ["nohup", *SERVE, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        port = int(running.stdout.readline().rpartition(":")[2])
        running.send_signal(signal.SIGHUP)
        with BrokerConnection("127.0.0.1", port) as client:
            client.ask(
                CreateTopicsRequest([CreatableTopic("t", 1, 1)], timeout_ms=5000), CreateTopicsResponse
            )
        running.send_signal(signal.SIGTERM)
        assert running.wait(10) == 0


# What config/server.properties of Apache Kafka 4.3 sets, but for the directory.
KAFKA_PROPERTIES = """
process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=localhost:9093
listeners=PLAINTEXT://:9092,CONTROLLER://:9093
inter.broker.listener.name=PLAINTEXT
advertised.listeners=PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT
num.network.threads=3
num.io.threads=8
socket.send.buffer.bytes=102400
socket.receive.buffer.bytes=102400
socket.request.max.bytes=104857600
num.partitions=1
num.recovery.threads.per.data.dir=2
offsets.topic.replication.factor=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
log.retention.hours=168
log.segment.bytes=1073741824
log.retention.check.interval.ms=300000
"""


@pytest.mark.slow
def test_kafka_s_own_settings_file_starts_a_broker_and_what_it_ignores_is_said(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text(KAFKA_PROPERTIES)
    command = [*SERVE, str(tmp_path / "data"), "--config", str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        line = running.stdout.readline()
        running.send_signal(signal.SIGTERM)
        assert running.wait(10) == 0
        said = running.stderr.read()
    port = line.removeprefix("odradek: listening on 0.0.0.0:").partition(",")[0]
    assert line == f"odradek: listening on 0.0.0.0:{port}, advertised as localhost:9092\n"
    assert port != "9092", "--port wins over the file"
    assert "num.network.threads, num.io.threads have no effect here" in said
    assert "the listener CONTROLLER is not opened" in said
    assert "Traceback" not in said


@pytest.mark.slow
def test_a_port_in_use_is_one_sentence_and_exit_code_2(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        found = subprocess.run(
            [*SERVE, str(tmp_path), "--port", str(port)], capture_output=True, text=True, timeout=20
        )
    assert found.returncode == 2
    assert f"odradek: cannot listen on 127.0.0.1:{port}: " in found.stderr
    assert "Traceback" not in found.stderr


@pytest.mark.slow
def test_a_second_signal_does_not_wait(process: "subprocess.Popen[str]", tmp_path: Path) -> None:
    """The logs are then verified at the next start, as after a crash."""
    assert process.stdout is not None
    port = int(process.stdout.readline().rpartition(":")[2])
    with BrokerConnection("127.0.0.1", port) as parked:
        request = CreateTopicsRequest([CreatableTopic("t", 1, 1)], timeout_ms=5000)
        assert parked.ask(request, CreateTopicsResponse).topics[0].error_code == 0
        process.send_signal(signal.SIGSTOP)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGCONT):
            process.send_signal(number)
        assert process.wait(10) == 130
    assert not (tmp_path / ".kafka_cleanshutdown").exists()


def logged_by(tmp_path: Path, *options: str) -> list[str]:
    """What a broker writes to its log from its start to a stop by SIGTERM."""
    command = [*SERVE, str(tmp_path / "data"), *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        port = int(running.stdout.readline().rpartition(":")[2])
        with BrokerConnection("127.0.0.1", port) as client:
            client.ask(
                CreateTopicsRequest([CreatableTopic("payments", 1, 1)], timeout_ms=5000), CreateTopicsResponse
            )
        running.send_signal(signal.SIGTERM)
        assert running.wait(10) == 0
        lines = running.stderr.read().splitlines()
    return [line for line in lines if "loop_stalls" not in line]  # on a busy machine


def events_in(lines: list[str]) -> dict[str, dict[str, Any]]:
    """Lines of JSON, by what their sentences begin with."""
    events = [json.loads(line) for line in lines]
    return {re.split(r": | within ", event["event"])[0]: event for event in events}


@pytest.mark.slow
def test_its_log_says_what_started_what_clients_did_and_why_it_stopped(tmp_path: Path) -> None:
    found = events_in(logged_by(tmp_path, "--log-format", "json"))
    started, created, stopping, stopped = (
        found[kind] for kind in ("started", "topics created", "stopping", "stopped")
    )
    assert started["logs"] == 0
    assert started["version"] == __version__
    assert started["pid"] != os.getpid()
    assert created["event"] == "topics created: payments"
    assert created["topics"] == ["payments"]
    assert stopping["event"] == "stopping: SIGTERM"
    assert stopped["took_ms"] >= 0
    found = events_in(logged_by(tmp_path, "--log-format", "json"))
    assert found["started"]["logs"] == 1
    assert "topics created" not in found, "it was there"


@pytest.mark.slow
def test_it_logs_no_less_and_no_more_than_it_is_told(tmp_path: Path) -> None:
    assert logged_by(tmp_path, "--log-level", "warning") == []
    lines = logged_by(tmp_path, "--log-level", "warning", "--log-level", "odradek.server.edge=debug")
    assert [line.partition(" DEBUG ")[2].partition(" 127.")[0] for line in lines] == [
        "odradek.server.edge.connections: a connection of",
        "odradek.server.edge.connections: the connection of",
    ]


class Turns:
    """A loop whose time the test's work moves, and which says how long it was left alone."""

    def __init__(self) -> None:
        self.now_ns = 0
        self.calls: list[Callable[[], None]] = []
        self.rests_ms: list[float] = []

    def call_soon(self, call: Callable[..., None], *given: Any) -> None:
        self.calls.append(partial(call, *given))

    def call_later(self, delay_s: float, call: Callable[..., None], *given: Any) -> None:
        self.rests_ms.append(round(delay_s * 1000, 3))
        self.call_soon(call, *given)


def test_what_is_loaded_by_and_by_leaves_most_of_the_time_to_clients() -> None:
    loop = Turns()

    def modules() -> Steps[None]:
        for took_ms in (5, 40):
            loop.now_ns += took_ms * 1_000_000
            yield

    warm_up(cast(asyncio.AbstractEventLoop, loop), LoopStalls(lambda: loop.now_ns, ManualClock()), modules())
    while loop.calls:
        loop.calls.pop()()
    assert loop.rests_ms == [5 * WARM_UP_REST, 40 * WARM_UP_REST]
