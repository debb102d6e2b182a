"""`odradek serve --brokers 3` with unmodified clients: crashes of brokers and of the supervisor, restarts."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from odradek.server.supervisor.processes import find_processes
from tests.integration.processes import Serve

pytestmark = [pytest.mark.slow, pytest.mark.integration]

WAIT_S = 60
IDS = (1, 2, 3)
TOPIC = "orders"


class Cluster:
    """One supervisor after another over one data directory; the standard error goes to a file."""

    def __init__(self, directory: Path) -> None:
        self.data = directory / "data"
        self._log = directory / "cluster.log"
        self._supervisor: subprocess.Popen[str] | None = None
        self._killed: list[subprocess.Popen[str]] = []

    def start(self, *options: str) -> list[str]:
        """Start a supervisor; returns the brokers' addresses when they serve."""
        command = [sys.executable, "-m", "odradek", "serve", "--brokers", "3", "--until-eof"]
        with self._log.open("ab") as errors:
            self._supervisor = subprocess.Popen(
                [*command, "--port", "0", "--data-dir", str(self.data), *options],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        assert self._supervisor.stdout is not None
        line = self._supervisor.stdout.readline()
        assert line.endswith("(3 brokers)\n"), self.log()
        return re.findall(r"127\.0\.0\.1:\d+", line)

    def log(self) -> str:
        """What supervisors and brokers have logged so far."""
        return self._log.read_text()

    def pids(self) -> dict[int, int]:
        """The brokers' processes that live."""
        return {one: found.pid for one, (found, _) in find_processes(self.data, IDS).items()}

    def stop(self) -> int:
        """Stop the supervisor and its brokers; returns the exit code."""
        return self._end(signal.SIGTERM)

    def crash(self) -> None:
        """Kill the supervisor only: the pipe to its brokers stays open."""
        assert self._supervisor is not None
        self._supervisor.kill()
        self._supervisor.wait(WAIT_S)
        self._killed.append(self._supervisor)
        self._supervisor = None

    def close_input(self) -> None:
        """End the pipes that `--until-eof` is about."""
        for one in (self._supervisor, *self._killed):
            if one is not None and one.stdin is not None:
                one.stdin.close()

    def wait(self) -> int:
        """Wait for the supervisor's end; returns its exit code."""
        supervisor, self._supervisor = self._supervisor, None
        assert supervisor is not None
        code = supervisor.wait(WAIT_S)
        _close(supervisor)
        return code

    def clean_up(self) -> None:
        """Kill whatever runs."""
        if self._supervisor is not None:
            self._end(signal.SIGKILL)
        for pid in self.pids().values():
            os.kill(pid, signal.SIGKILL)
        for one in self._killed:
            _close(one)
        if (self.data / "cluster.json").exists():
            sockets = json.loads((self.data / "cluster.json").read_text())["sockets"]
            shutil.rmtree(sockets, ignore_errors=True)

    def _end(self, how: signal.Signals) -> int:
        assert self._supervisor is not None
        self._supervisor.send_signal(how)
        return self.wait()


def _close(ended: "subprocess.Popen[str]") -> None:
    for pipe in (ended.stdin, ended.stdout):
        if pipe is not None:
            pipe.close()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    made = Cluster(tmp_path)
    yield made
    made.clean_up()


class Writer:
    """Writes numbers with acks=all, and knows which were acknowledged."""

    def __init__(self, addresses: list[str]) -> None:
        self._producer = Producer(
            {
                "bootstrap.servers": ",".join(addresses),
                "acks": "all",
                "enable.idempotence": True,
                "log_level": 2,
            }
        )
        self.acknowledged: list[int] = []

    def write(self, numbers: range) -> None:
        """Send these, and wait until all are acknowledged."""
        for number in numbers:
            self._producer.produce(
                TOPIC, str(number).encode(), partition=number % 3, on_delivery=self._on_delivery
            )
            self._producer.poll(0)
        assert self._producer.flush(WAIT_S) == 0

    def _on_delivery(self, error: object, message: object) -> None:
        assert error is None, str(error)
        value = message.value()  # type: ignore[attr-defined]
        self.acknowledged.append(int(value))


def create_topic(addresses: list[str]) -> None:
    admin = AdminClient({"bootstrap.servers": ",".join(addresses), "log_level": 2})
    topic = NewTopic(TOPIC, 3, 3, config={"min.insync.replicas": "2"})
    admin.create_topics([topic])[TOPIC].result(WAIT_S)


def read_all(addresses: list[str], count: int) -> list[int]:
    """Returns the numbers in the topic, sorted."""
    consumer = Consumer({"bootstrap.servers": ",".join(addresses), "group.id": "readers", "log_level": 2})
    consumer.assign([TopicPartition(TOPIC, partition, 0) for partition in range(3)])
    found: list[int] = []
    until = time.monotonic() + WAIT_S
    while len(found) < count and time.monotonic() < until:
        for message in consumer.consume(1000, 1.0):
            value = message.value()
            assert message.error() is None
            assert value is not None
            found.append(int(value))
    consumer.close()
    return sorted(found)


def wait_for(cluster: Cluster, text: str, times: int = 1) -> None:
    """Wait until the log has a text so often."""
    until = time.monotonic() + WAIT_S
    while cluster.log().count(text) < times:
        assert time.monotonic() < until, f"never '{text}': {cluster.log()}"
        time.sleep(0.05)


def test_settings_without_effect_are_told_by_the_supervisor_only(cluster: Cluster) -> None:
    """And by each broker at the level debug."""
    cluster.start("--set", "no.such.setting=1", "--log-level", "odradek.server.process.serve=debug")
    assert cluster.stop() == 0
    told = [line for line in cluster.log().splitlines() if "no.such.setting" in line]
    assert sorted(line.split()[2:4] for line in told if "supervisor" not in line) == [
        ["broker", "1"],
        ["broker", "2"],
        ["broker", "3"],
    ]
    assert all(" DEBUG " in line for line in told if "supervisor" not in line)
    assert [line.split()[2:4] for line in told if "supervisor" in line] == [["supervisor", "WARNING"]]


def test_a_broker_that_is_killed_comes_back_on_its_port_and_nothing_is_lost(cluster: Cluster) -> None:
    addresses = cluster.start()
    assert len(set(addresses)) == 3
    create_topic(addresses)
    writer = Writer(addresses)
    writer.write(range(300))
    before = cluster.pids()
    os.kill(before[2], signal.SIGKILL)
    writer.write(range(300, 600))
    wait_for(cluster, "of cluster", times=4)  # each start ends with a line that names the cluster
    after = cluster.pids()
    assert after[2] != before[2]
    assert {**after, 2: 0} == {**before, 2: 0}
    writer.write(range(600, 900))
    assert sorted(writer.acknowledged) == list(range(900))
    assert cluster.stop() == 0
    assert cluster.pids() == {}
    assert cluster.log().count("was not stopped cleanly") == 1, "the one that was killed"
    assert cluster.start() == addresses
    assert read_all(addresses, 900) == list(range(900))
    assert cluster.stop() == 0


def test_brokers_outlive_their_supervisor_and_the_next_one_goes_on_with_them(cluster: Cluster) -> None:
    addresses = cluster.start()
    create_topic(addresses)
    writer = Writer(addresses)
    writer.write(range(300))
    before = cluster.pids()
    cluster.crash()
    writer.write(range(300, 600))
    assert cluster.start() == addresses
    assert cluster.pids() == before
    assert "broker 3 has come back" in cluster.log()
    os.kill(before[1], signal.SIGKILL)
    wait_for(cluster, "of cluster", times=4)
    writer.write(range(600, 900))
    assert read_all(addresses, 900) == list(range(900))
    assert cluster.stop() == 0
    assert cluster.pids() == {}


def test_nothing_outlives_the_program_that_started_it(cluster: Cluster) -> None:
    cluster.start()
    cluster.close_input()
    assert cluster.wait() == 0
    assert cluster.pids() == {}


def test_not_even_when_the_supervisor_has_been_killed(cluster: Cluster) -> None:
    cluster.start()
    cluster.crash()
    assert len(cluster.pids()) == 3
    cluster.close_input()
    wait_for(cluster, "stopped within", times=3)
    assert "leaderships" not in cluster.log(), "nobody is left who could take them over"


def test_a_start_that_is_refused_changes_nothing(serve: Serve, tmp_path: Path) -> None:
    data = tmp_path / "data"
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        found = serve("--brokers", "3", "--data-dir", data, "--port", str(port))
    assert found.returncode == 2
    assert found.stderr == f"odradek: cannot listen on 127.0.0.1:{port}: address already in use\n"
    found = serve("--brokers", "2", "--data-dir", data, "--set", "node.id=7")
    assert found.returncode == 2
    assert found.stderr == "odradek: node.id=7 cannot be given with --brokers 2: the ids are 1 to 2\n"
    assert not data.exists()


def test_brokers_replicate_over_a_tcp_listener_of_their_own(cluster: Cluster) -> None:
    """A broker that is killed comes back on its port; clients are never told of the brokers' listener."""
    addresses = cluster.start(
        *("--set", "listeners=BROKERS://127.0.0.1:0,CLIENTS://127.0.0.1:0"),
        *("--set", "listener.security.protocol.map=BROKERS:PLAINTEXT,CLIENTS:PLAINTEXT"),
        *("--set", "inter.broker.listener.name=BROKERS"),
    )
    create_topic(addresses)
    writer = Writer(addresses)
    writer.write(range(300))
    kept = json.loads((cluster.data / "cluster.json").read_text())
    assert not list(Path(kept["sockets"]).glob("broker-*.sock")), "they use TCP"
    ports = {one: int(by_name["BROKERS"]) for one, by_name in kept["ports"].items()}
    assert not {f"127.0.0.1:{port}" for port in ports.values()} & set(addresses)
    metadata = AdminClient({"bootstrap.servers": addresses[0], "log_level": 2}).list_topics(timeout=WAIT_S)
    assert sorted(f"{one.host}:{one.port}" for one in metadata.brokers.values()) == sorted(addresses)
    for broker_id in IDS:
        os.kill(cluster.pids()[broker_id], signal.SIGKILL)
        writer.write(range(300 * broker_id, 300 * (broker_id + 1)))
        wait_for(cluster, "of cluster", times=3 + broker_id)
    assert sorted(writer.acknowledged) == list(range(1_200))
    assert read_all(addresses, 1_200) == list(range(1_200))
    assert cluster.stop() == 0
