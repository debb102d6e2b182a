"""`LocalCluster` with unmodified clients: brokers are killed, stopped and paused, and nothing is lost."""

import asyncio
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from confluent_kafka import Consumer, Producer

from odradek.testing import ApiError, BrokerNotRunning, FaultRefused, LocalCluster, SettingError, WaitTimeout

pytestmark = [pytest.mark.integration, pytest.mark.slow]

WAIT_S = 60


@pytest.fixture
def cluster() -> Iterator[LocalCluster]:
    with LocalCluster() as made:
        yield made


class Writer:
    """Writes numbers with acks=all, and knows which were acknowledged."""

    def __init__(self, cluster: LocalCluster, topic: str) -> None:
        self._topic = topic
        self._producer = Producer(
            {
                "bootstrap.servers": cluster.bootstrap_servers,
                "acks": "all",
                "enable.idempotence": True,
                "log_level": 2,
            }
        )
        self.acknowledged: list[int] = []

    def write(self, numbers: range) -> None:
        """Send these, and wait until all are acknowledged."""
        self.send(numbers)
        assert self._producer.flush(WAIT_S) == 0

    def send(self, numbers: range) -> None:
        """Send these."""
        for number in numbers:
            self._producer.produce(self._topic, str(number).encode(), on_delivery=self._on_delivery)
            self._producer.poll(0)

    def _on_delivery(self, error: object, message: object) -> None:
        assert error is None, str(error)
        self.acknowledged.append(int(message.value()))  # type: ignore[attr-defined]


def member(cluster: LocalCluster, topic: str, group: str) -> Consumer:
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "log_level": 2,
        }
    )
    consumer.subscribe([topic])
    return consumer


def read(consumer: Consumer, count: int) -> list[int]:
    """Returns the next numbers."""
    found: list[int] = []
    until = time.monotonic() + WAIT_S
    while len(found) < count and time.monotonic() < until:
        for message in consumer.consume(count - len(found), 0.5):
            value = message.value()
            assert message.error() is None
            assert value is not None
            found.append(int(value))
    return found


def test_nothing_is_lost_when_the_leader_and_the_coordinator_are_killed(cluster: LocalCluster) -> None:
    topic = cluster.create_topic("orders")
    writer = Writer(cluster, topic)
    writer.write(range(100))
    leader = cluster.leader_of(topic)
    cluster.kill(leader)
    assert cluster.leader_of(topic) != leader
    writer.write(range(100, 200))
    assert sorted(writer.acknowledged) == list(range(200))
    cluster.start(leader)
    cluster.wait_in_sync()
    consumer = member(cluster, topic, "readers")
    first = read(consumer, 100)
    consumer.commit(asynchronous=False)
    coordinator = cluster.coordinator_of("readers")
    cluster.kill(coordinator)
    assert cluster.coordinator_of("readers") != coordinator
    assert sorted(first + read(consumer, 100)) == list(range(200))
    consumer.commit(asynchronous=False)
    consumer.close()


def test_a_killed_broker_comes_back_on_its_port_with_its_data(cluster: LocalCluster) -> None:
    topic = cluster.create_topic(partitions=3)
    addresses = cluster.bootstrap_servers
    controller = cluster.controller()
    cluster.kill(controller)
    assert cluster.running == [one for one in cluster.broker_ids if one != controller]
    assert cluster.controller() != controller
    with pytest.raises(WaitTimeout, match=f"broker {controller} does not answer"):
        cluster.wait_in_sync(timeout=0.1)
    with pytest.raises(BrokerNotRunning, match=f"broker {controller} is not running"):
        cluster.kill(controller)
    cluster.start(controller)
    assert cluster.bootstrap_servers == addresses
    cluster.wait_in_sync(topic)
    assert {cluster.move_leader(topic, number) for number in range(3)} == {1, 2, 3}
    assert {cluster.leader_of(topic, number) for number in range(3)} == {1, 2, 3}


def test_all_brokers_may_be_stopped(cluster: LocalCluster) -> None:
    topic = cluster.create_topic()
    Writer(cluster, topic).write(range(10))
    for one in cluster.broker_ids:
        cluster.stop(one)
    with pytest.raises(BrokerNotRunning, match="no broker of the cluster is running"):
        cluster.controller()
    cluster.start()
    cluster.wait_in_sync()
    consumer = member(cluster, topic, "readers")
    assert read(consumer, 10) == list(range(10))
    consumer.close()


def test_a_paused_broker_loses_its_leaderships() -> None:
    with LocalCluster(settings={"broker.session.timeout.ms": 1000}) as cluster:
        topic = cluster.create_topic()
        leader = cluster.leader_of(topic)
        cluster.pause(leader)
        assert cluster.leader_of(topic) != leader
        Writer(cluster, topic).write(range(10))
        cluster.resume(leader)
        cluster.wait_in_sync()


def test_a_leader_that_is_not_in_sync_is_not_elected(cluster: LocalCluster) -> None:
    topic = cluster.create_topic()
    preferred = cluster.move_leader(topic)
    cluster.kill(preferred)
    other = cluster.leader_of(topic)
    with pytest.raises(ApiError):
        cluster.move_leader(topic)
    assert cluster.leader_of(topic) == other


def test_one_broker_is_a_cluster() -> None:
    with LocalCluster(1) as cluster:
        topic = cluster.create_topic()
        assert cluster.leader_of(topic) == cluster.controller() == 1


def test_a_test_writes_and_reads_whatever_broker_leads(cluster: LocalCluster) -> None:
    """What a test writes and reads itself goes to each partition's leader, also after that was killed."""
    topic = cluster.create_topic(partitions=3)
    assert {cluster.leader_of(topic, number) for number in range(3)} == {1, 2, 3}
    written = cluster.produce(topic, *"abcdef")
    assert [(one.partition, one.offset) for one in written] == [(p, o) for p in range(3) for o in range(2)]
    cluster.kill(cluster.leader_of(topic, 2))
    (last,) = cluster.produce(topic, "g", partition=2)
    assert (last.offset, cluster.records(topic, partition=2)[-1].text) == (2, "g")
    assert len(cluster.wait_for(topic, 7)) == 7
    assert cluster.topics() == [topic]
    cluster.delete_topic(topic)
    with pytest.raises(ApiError, match=f"there is no topic {topic}"):
        cluster.records(topic)


def test_a_group_is_waited_for_whatever_broker_coordinates_it(cluster: LocalCluster) -> None:
    topic = cluster.create_topic(partitions=3)
    cluster.produce(topic, *"012345")
    consumer = member(cluster, topic, "readers")
    with ThreadPoolExecutor(1) as threads:
        joined = threads.submit(read, consumer, 6)
        assert len(cluster.wait_group_at_rest("readers", members=1).members) == 1
        joined.result()
    with pytest.raises(WaitTimeout, match="group readers is behind"):
        cluster.wait_lag_zero("readers", topic, timeout=0.1)
    consumer.commit(asynchronous=False)
    cluster.kill(cluster.coordinator_of("readers"))
    assert len(cluster.wait_lag_zero("readers", topic)) == 3
    consumer.close()


def test_positions_are_resolved_at_whatever_broker_leads(cluster: LocalCluster) -> None:
    """The three partitions are led by three brokers, each of which sees the fetches of one alone."""
    topic = cluster.create_topic(partitions=3)
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "group.id": "latest",
            "auto.offset.reset": "latest",
            "log_level": 2,
        }
    )
    consumer.subscribe([topic])
    group = cluster.group("latest")

    async def resolved() -> int:
        await cluster.aio.group("latest").stable(members=1)
        found = await cluster.aio.group("latest").position_resolved()
        return len(found.members[0].partitions)

    with ThreadPoolExecutor(1) as threads:
        reading = threads.submit(read, consumer, 3)
        assert asyncio.run(resolved()) == 3
        cluster.produce(topic, *"012")
        assert reading.result() == [0, 1, 2]
    consumer.commit(asynchronous=False)
    assert len(group.lag_zero(topic)) == 3
    consumer.close()


def test_a_broker_is_restarted_whether_it_runs_or_was_killed(cluster: LocalCluster) -> None:
    topic = cluster.create_topic()
    writer = Writer(cluster, topic)
    for number, is_killed in enumerate((False, True)):
        leader = cluster.leader_of(topic)
        address = cluster.address_of(leader)
        if is_killed:
            cluster.kill(leader)
        cluster.restart(leader)
        assert (sorted(cluster.running), cluster.address_of(leader)) == ([1, 2, 3], address)
        cluster.wait_in_sync(topic)
        writer.write(range(number, number + 1))

    async def once_more() -> None:
        await cluster.aio.restart(1)

    asyncio.run(once_more())
    cluster.wait_in_sync()
    assert [one.text for one in cluster.records(topic)] == ["0", "1"]


@pytest.mark.parametrize("is_named", [True, False], ids=["topic", "all topics"])
def test_a_lag_is_waited_for_while_a_partition_has_no_leader(cluster: LocalCluster, is_named: bool) -> None:
    """Its lag is unknown until a leader is back: neither zero nor an error."""
    with ThreadPoolExecutor(1) as threads:
        coordinator = cluster.coordinator_of("readers")
        made = (cluster.create_topic(replication_factor=1) for _ in range(50))
        topic = next(one for one in made if cluster.leader_of(one) != coordinator)
        cluster.produce(topic, *"012")
        consumer = member(cluster, topic, "readers")
        assert read(consumer, 3) == [0, 1, 2]
        consumer.commit(asynchronous=False)
        named = topic if is_named else None
        assert len(cluster.wait_lag_zero("readers", named)) == 1
        leader = cluster.leader_of(topic)
        cluster.kill(leader)
        with pytest.raises(WaitTimeout, match=f"{topic}-0 has no leader|connect|has no broker"):
            cluster.wait_lag_zero("readers", named, timeout=2.0)
        waiting = threads.submit(cluster.wait_lag_zero, "readers", named)
        cluster.start(leader)
        assert len(waiting.result()) == 1
        consumer.close()


def test_one_broker_has_faults(cluster: LocalCluster) -> None:
    topic = cluster.create_topic()
    leader = cluster.leader_of(topic)
    with cluster.faults(leader).error("Produce", "NOT_LEADER_OR_FOLLOWER", times=2) as fault:
        Writer(cluster, topic).write(range(1))
        assert fault.hits == 2
    cluster.faults(leader).refuse_connections()
    cluster.restore()
    assert cluster.faults(leader).rules() == []
    cluster.faults(leader).full_disk()
    Writer(cluster, topic).write(range(1, 2))  # at the next leader: the full disk ends this one
    assert cluster.leader_of(topic) != leader
    cluster.restore()
    cluster.wait_in_sync(topic)
    assert [one.text for one in cluster.records(topic)] == ["0", "1"]
    with pytest.raises(BrokerNotRunning, match="there is no broker 7"):
        cluster.faults(7)


@pytest.mark.parametrize("role", ["leader", "follower"])
def test_a_log_directory_of_two_fails_and_others_lead_its_partitions(role: str) -> None:
    """R6, issue 10: the broker goes on, with what is in its other directory; nothing acknowledged is lost."""
    with LocalCluster(log_dirs=2) as cluster:
        topic = cluster.create_topic(partitions=4)
        writer = Writer(cluster, topic)
        writer.write(range(40))
        leader = cluster.leader_of(topic)
        hurt = leader if role == "leader" else next(one for one in cluster.broker_ids if one != leader)
        directory = cluster.directory_of(hurt, topic)
        kept = [one for one in range(4) if cluster.directory_of(hurt, topic, one) != directory]
        assert kept, "partitions are spread over the directories"
        with pytest.raises(FaultRefused, match="/nowhere is no log directory of this broker: it has /"):
            cluster.faults(hurt).full_disk(directory="/nowhere")
        fault = cluster.faults(hurt).full_disk(directory=directory)
        assert cluster.faults(hurt).rules()[0]["directory"] == directory
        cluster.produce(topic, "0", partition=0)  # meets the full disk
        writer.write(range(40, 80))
        assert sorted(writer.acknowledged) == list(range(80))
        assert hurt in cluster.running
        if role == "leader":
            assert cluster.leader_of(topic) != hurt
        with pytest.raises(ApiError, match=f"broker {hurt} has no replica of {topic}-0"):
            cluster.directory_of(hurt, topic)
        assert cluster.move_leader(topic, kept[0]) == cluster.leader_of(topic, kept[0])
        fault.remove()
        cluster.restore()
        assert cluster.directory_of(hurt, topic) == directory
        assert len(cluster.records(topic)) == 81


def test_records_are_written_while_the_store_is_away(cluster: LocalCluster) -> None:
    """Design 5: nothing is decided meanwhile, and nothing is lost."""
    topic = cluster.create_topic()
    writer = Writer(cluster, topic)
    writer.write(range(1))  # its producer id comes from the store
    cluster.pause_store()
    cluster.pause_store()  # once is enough
    writer.write(range(1, 10))
    assert len(cluster.records(topic)) == 10
    cluster.resume_store()
    cluster.wait_in_sync(topic)
    cluster.create_topic("later")
    cluster.pause_store()
    cluster.restore()
    cluster.create_topic("latest")
    cluster.pause_store()  # the end of the cluster does not wait for it


def test_nothing_is_left_at_the_end() -> None:
    threads, interval = threading.active_count(), sys.getswitchinterval()
    cluster = LocalCluster()
    for _ in range(2):
        cluster.start()
        cluster.kill(2)
        cluster.close()
        assert threading.active_count() == threads
        assert sys.getswitchinterval() == interval
    with pytest.raises(BrokerNotRunning, match="not started yet, or is closed"):
        cluster.bootstrap_servers  # noqa: B018
    cluster.close()


def test_code_is_loaded_before_brokers_run_on_several_threads() -> None:
    """Two threads that load a package and its module at once may see half of it, and an order fails."""
    program = """
import sys
from odradek.server.node.load_order import LOAD_ORDER
from odradek.testing import LocalCluster
from odradek.testing.thread_host import ThreadHost

def start(host):
    missing = [name for name in LOAD_ORDER if name not in sys.modules]
    print(missing)
    raise SystemExit(bool(missing))

ThreadHost.start = start
LocalCluster(2).start()
"""
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=WAIT_S
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_what_cannot_be_set_is_refused_before_the_start() -> None:
    with pytest.raises(SettingError, match="at least one broker, not 0"):
        LocalCluster(0)
    with pytest.raises(SettingError, match="at least one log directory, not 0"):
        LocalCluster(log_dirs=0)
    with pytest.raises(SettingError, match="listeners cannot be set"):
        LocalCluster(settings={"listeners": "PLAINTEXT://:9092"})
    with pytest.raises(SettingError, match="did you mean num"):
        LocalCluster(settings={"num.partition": 3})
