"""KIP-392 with Apache Kafka's consumer and with kcat: reading from the follower in the client's rack.

The broker that gives the records is known by its own count of bytes that consumers got. A follower that falls
behind, or dies, gives nothing any more: then the leader does, and nothing is missing or out of order.

Kafka's consumer asks the leader again with each refresh of its metadata. librdkafka keeps to a follower for
five minutes, also to one that is gone: it reads on when the follower is back, and that is tried with it.
"""

import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path

import pytest
from confluent_kafka import Producer
from peers import JarsMissing, KafkaTools
from peers.waiting import WAIT_S_MAX, wait_until

from compat.clients import CLIENTS
from odradek import Admin
from odradek.base.ids import BrokerId, TopicPartition
from odradek.base.settings import RACK_AWARE_SELECTOR
from odradek.client.core.admin.cluster_states import partition_states
from odradek.client.core.admin.topics import await_leaders
from odradek.testing.admin_requests import asked_admin
from odradek.testing.broker_process import BrokerProcess
from odradek.testing.store_thread import StoreThread

TOPIC = "near"
FIRST = TopicPartition(TOPIC, 0)
RACKS = {1: "a", 2: "b", 3: "c"}
COUNT = 200
REFRESH_MS = "500"


@dataclass(frozen=True)
class Racks:
    """Three brokers in three racks, with a topic of one partition."""

    brokers: dict[BrokerId, BrokerProcess]

    @property
    def bootstrap(self) -> str:
        return ",".join(one.bootstrap_servers for one in self.brokers.values())

    def leader_and_isr(self, told_by: BrokerId) -> tuple[BrokerId, set[BrokerId]]:
        """As that broker knows it; one that is cut off hears nothing new."""
        with Admin(self.brokers[told_by].bootstrap_servers) as admin:
            known, _ = admin.carry_out(partition_states([TOPIC]))
        (found,) = [one for one in known if one.topic_partition == FIRST]
        return found.leader, set(found.isr)

    def controller(self) -> BrokerId:
        with Admin(self.bootstrap) as admin:
            return admin.describe_cluster().controller

    def given_by(self, broker_id: BrokerId) -> int:
        """How many bytes of the topic consumers have got from a broker."""
        address = self.brokers[broker_id].admin_address
        assert address is not None
        connection = HTTPConnection(address, timeout=WAIT_S_MAX)
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
        connection.close()
        given = f'odradek_topic_bytes_out_total{{topic="{TOPIC}"}} '
        return sum(
            int(float(line.removeprefix(given))) for line in text.splitlines() if line.startswith(given)
        )

    def fault(self, broker_id: BrokerId, document: str) -> dict[str, int]:
        address = self.brokers[broker_id].admin_address
        assert address is not None
        answer: dict[str, int] = asked_admin(address, "/test/faults", document.encode())
        return answer


@pytest.fixture
def racks(tmp_path: Path) -> Iterator[Racks]:
    store = StoreThread(tmp_path / "metadata.db")
    store.start()
    made = {
        broker_id: BrokerProcess(
            tmp_path / f"data-{broker_id}",
            admin_port=0,
            test_faults=True,
            settings={
                "node.id": str(broker_id),
                "broker.rack": rack,
                "replica.selector.class": RACK_AWARE_SELECTOR,
                "replica.lag.time.max.ms": "1500",
                "min.insync.replicas": "2",
                "odradek.cluster.directory": store.directory,
                "odradek.cluster.brokers": "3",
            },
        )
        for broker_id, rack in RACKS.items()
    }
    try:
        with ThreadPoolExecutor(len(made)) as threads:
            list(threads.map(BrokerProcess.start, made.values()))
        cluster = Racks(made)
        with Admin(cluster.bootstrap) as admin:
            admin.create_topic(TOPIC, partitions=1, replication_factor=3)
            admin.carry_out(await_leaders(TOPIC, 1))
        yield cluster
    finally:
        for one in made.values():
            if one.is_running:
                one.kill()
        store.stop()


def kafka(bootstrap: str, rack: str) -> list[str]:
    """Kafka's own consumer."""
    properties = {"client.rack": rack, "metadata.max.age.ms": REFRESH_MS}
    # Without a group: with `client.rack` its member joins again whenever the racks of the replicas change.
    where = ["--topic", TOPIC, "--partition", "0", "--offset", "earliest"]
    arguments = ["--bootstrap-server", bootstrap, *where]
    for name, text in properties.items():
        arguments += ["--command-property", f"{name}={text}"]
    try:
        return KafkaTools.java(KafkaTools.MAIN_CLASSES["console-consumer"], *arguments)
    except JarsMissing as missing:
        pytest.skip(str(missing))


def kcat(bootstrap: str, rack: str) -> list[str]:
    """librdkafka's consumer."""
    if missing := CLIENTS["kcat"].missing():
        pytest.skip(missing)
    settings = (f"client.rack={rack}", f"topic.metadata.refresh.interval.ms={REFRESH_MS}")
    given = [word for one in settings for word in ("-X", one)]
    return ["kcat", "-C", "-u", "-q", "-b", bootstrap, "-t", TOPIC, "-p", "0", "-o", "beginning", *given]


class Reader:
    """A consumer in a process of its own, which prints what it reads."""

    def __init__(self, command: list[str], directory: Path) -> None:
        self._output = directory / "read.txt"
        with self._output.open("wb") as output, (directory / "errors.txt").open("wb") as errors:
            self._process = subprocess.Popen(command, stdout=output, stderr=errors)

    def values(self) -> list[int]:
        """What it has read so far, in its order."""
        text = self._output.read_text()
        return [int(line) for line in text[: text.rfind("\n") + 1].splitlines()]

    def await_values(self, expected: range) -> None:
        """Wait until it has read all of that, and nothing else."""
        wait_until(
            lambda: len(self.values()) >= len(expected), "records did not come", timeout_s=2 * WAIT_S_MAX
        )
        assert self.values() == list(expected)

    def close(self) -> None:
        self._process.kill()
        self._process.wait()


class Writer:
    """Writes numbers that all replicas in sync must have."""

    def __init__(self, racks: Racks) -> None:
        self._producer = Producer({"bootstrap.servers": racks.bootstrap, "enable.idempotence": True})
        self.written = range(0)

    def write(self, count: int = COUNT) -> None:
        begin = self.written.stop
        self.written = range(begin + count)
        for number in range(begin, begin + count):
            self._producer.produce(TOPIC, str(number), partition=0)
        assert self._producer.flush(WAIT_S_MAX) == 0


Command = Callable[[str, str], list[str]]


@pytest.fixture(params=[kafka, kcat], ids=["java", "librdkafka"])
def command(request: pytest.FixtureRequest) -> Command:
    """Each client in turn."""
    made: Command = request.param
    return made


@pytest.mark.three_brokers
def test_a_reader_leaves_a_follower_that_lags_or_dies(racks: Racks, command: Command, tmp_path: Path) -> None:
    """R13: and comes back to one that is in sync again."""
    leader, _ = racks.leader_and_isr(1)
    # A controller that is cut off from all brokers could not tell them that the ISR has changed.
    near = min(set(RACKS) - {leader, racks.controller()})
    (other,) = set(RACKS) - {leader, near}
    writer = Writer(racks)
    writer.write()
    reader = Reader(command(racks.bootstrap, RACKS[near]), tmp_path)
    try:
        reader.await_values(writer.written)
        writer.write()
        reader.await_values(writer.written)
        assert racks.given_by(near) > 0
        assert racks.given_by(leader) == racks.given_by(other) == 0

        cut = racks.fault(near, '{"fault": "isolate", "from": "brokers"}')
        writer.write()  # acknowledged when the follower has fallen out of the ISR
        wait_until(
            lambda: racks.leader_and_isr(leader)[1] == {leader, other},
            "the follower does not fall out of the ISR",
        )
        if command is kafka:
            reader.await_values(writer.written)
            assert racks.given_by(leader) > 0
        racks.fault(near, f'{{"fault": "remove", "id": {cut["id"]}}}')
        wait_until(lambda: len(racks.leader_and_isr(leader)[1]) == 3, "the follower does not come back")
        reader.await_values(writer.written)
        await_given_by(racks, near, writer, reader)

        racks.brokers[near].kill()
        by_leader = racks.given_by(leader)
        writer.write()
        if command is kafka:
            reader.await_values(writer.written)
            assert racks.given_by(leader) > by_leader
        racks.brokers[near].start()
        reader.await_values(writer.written)
    finally:
        reader.close()


def await_given_by(racks: Racks, broker_id: BrokerId, writer: Writer, reader: Reader) -> None:
    """Write until that broker gives records again."""
    before = racks.given_by(broker_id)

    def gives() -> bool:
        writer.write(1)
        reader.await_values(writer.written)
        return racks.given_by(broker_id) > before

    wait_until(gives, f"broker {broker_id} gives nothing again")
