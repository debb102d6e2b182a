"""A broker as a process: what it loads, what it prints, how it stops."""

import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from odradek.net.blocking_connection import BrokerConnection
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
def test_it_says_where_it_listens_and_stops_cleanly_on_sigterm(
    process: "subprocess.Popen[str]", tmp_path: Path
) -> None:
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line.startswith("odradek: listening on 127.0.0.1:")
    port = int(line.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), 10):
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0
    assert (tmp_path / ".kafka_cleanshutdown").exists()


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
