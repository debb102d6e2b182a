"""One vocabulary for a broker in this process and for one in a process of its own."""

import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import freezegun
import pytest
import time_machine
from confluent_kafka import Consumer, Message, Producer

from odradek.net.blocking_connection import BrokerConnection
from odradek.net.request_pipeline import ConnectionFailed
from odradek.testing import Broker, FaultRefused, OdradekError, SettingError
from odradek.testing.host import SUBJECTS, BrokerNotRunning
from odradek.wire.messages.metadata import MetadataRequest, MetadataResponse

pytestmark = [pytest.mark.integration, pytest.mark.slow]

WAIT_S = 30.0


@pytest.fixture(params=[False, True], ids=["thread", "process"])
def broker(request: pytest.FixtureRequest) -> Iterator[Broker]:
    with Broker(process=request.param) as running:
        yield running


def send(broker: Broker, topic: str, value: bytes) -> Message:
    """Send one record; what was reported of it."""
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "log_level": 0})
    reports: list[Message] = []
    producer.produce(topic, value, on_delivery=lambda _, message: reports.append(message))
    producer.flush(WAIT_S)
    (report,) = reports
    assert report.error() is None, report.error()
    return report


def values_in(broker: Broker, topic: str, count: int) -> list[bytes | None]:
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": "readers",
            "auto.offset.reset": "earliest",
            "log_level": 0,
        }
    )
    consumer.subscribe([topic])
    try:
        return [message.value() for message in consumer.consume(count, WAIT_S)]
    finally:
        consumer.close()


def accepts_connections(broker: Broker) -> bool:
    host, _, port = broker.bootstrap_servers.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=WAIT_S).close()
    except ConnectionRefusedError:
        return False
    return True


@pytest.mark.parametrize("end", [Broker.stop, Broker.kill], ids=["stop", "kill"])
def test_a_broker_that_ended_starts_again_on_its_port_with_its_data(
    broker: Broker, end: Callable[[Broker], None]
) -> None:
    topic = broker.create_topic(partitions=1)
    send(broker, topic, b"before")
    address = broker.bootstrap_servers
    end(broker)
    assert not broker.is_running
    assert not accepts_connections(broker)
    broker.start()
    assert broker.bootstrap_servers == address
    assert send(broker, topic, b"after").offset() == 1
    assert values_in(broker, topic, 2) == [b"before", b"after"]


def test_restart(broker: Broker) -> None:
    topic = broker.create_topic()
    send(broker, topic, b"before")
    broker.restart()
    assert broker.is_running
    assert values_in(broker, topic, 1) == [b"before"]


def test_a_killed_broker_answers_nothing_more_and_marks_nothing(tmp_path: Path) -> None:
    with Broker(data_dir=tmp_path) as broker:
        topic = broker.create_topic()
        host, _, port = broker.bootstrap_servers.rpartition(":")
        connection = BrokerConnection(host, int(port))
        send(broker, topic, b"a")
        broker.kill()
        with pytest.raises(ConnectionFailed):
            connection.ask(MetadataRequest(topics=None), MetadataResponse)
        connection.close()
        assert not list(tmp_path.rglob(".kafka_cleanshutdown"))
        broker.start()
        assert values_in(broker, topic, 1) == [b"a"]
        broker.stop()
        assert list(tmp_path.rglob(".kafka_cleanshutdown"))


def test_a_paused_broker_keeps_its_connections_and_answers_when_it_goes_on(broker: Broker) -> None:
    topic = broker.create_topic()
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "log_level": 0})
    producer.produce(topic, b"before")
    assert producer.flush(WAIT_S) == 0
    broker.pause()
    assert broker.is_running
    producer.produce(topic, b"meanwhile")
    assert producer.flush(0.2) == 1
    broker.resume()
    assert producer.flush(WAIT_S) == 0
    assert values_in(broker, topic, 2) == [b"before", b"meanwhile"]


def test_a_paused_broker_can_be_ended(broker: Broker) -> None:
    broker.pause()
    broker.stop()
    assert not broker.is_running


def test_a_broker_that_is_not_running_says_so(broker: Broker) -> None:
    broker.stop()
    broker.stop()
    for verb in (broker.kill, broker.pause, broker.resume, lambda: broker.describe("groups")):
        with pytest.raises(BrokerNotRunning):
            verb()
    broker.close()
    with pytest.raises(BrokerNotRunning):
        _ = broker.bootstrap_servers


def test_what_it_kept_in_temporary_files_is_removed(broker: Broker) -> None:
    assert broker._scratch is not None
    path = broker._scratch.data_dir.parent
    assert path.exists()
    broker.close()
    assert not path.exists()


def test_a_directory_that_was_given_is_kept(tmp_path: Path) -> None:
    with Broker(data_dir=tmp_path) as broker:
        topic = broker.create_topic()
    with Broker(data_dir=tmp_path) as broker:
        assert broker.topics() == [topic]


def test_descriptions_are_the_same_from_both(broker: Broker) -> None:
    topic = broker.create_topic()
    send(broker, topic, b"a")
    assert [(row["topic"], row["log_end_offset"]) for row in broker.describe("partitions")] == [(topic, 1)]


def test_a_setting_that_does_not_exist_is_refused_before_the_start() -> None:
    with pytest.raises(SettingError, match=r"no setting num\.partition; did you mean num\.partitions\?"):
        Broker(settings={"num.partition": 3})


def test_a_script_s_standard_error_has_nothing_of_a_broker_below_error() -> None:
    """Here a warning that the log was not stopped cleanly."""
    done = subprocess.run([sys.executable, "-c", CRASHING], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("started again\n", "")


CRASHING = """
from odradek.testing import Broker

with Broker() as broker:
    broker.create_topic()
    broker.kill()
    broker.start()
    print("started again")
"""


def test_a_level_that_was_set_stays() -> None:
    log = logging.getLogger("odradek")
    log.setLevel(logging.INFO)
    with Broker():
        assert log.level == logging.INFO


def test_a_process_of_its_own_has_no_clock_that_moves() -> None:
    broker = Broker(process=True)
    with pytest.raises(OdradekError, match="runs on real time: its clock cannot be moved"):
        broker.clock.advance(days=1)
    with pytest.raises(OdradekError, match="runs on real time"):
        Broker(process=True, follow_patched_time=True)
    with pytest.raises(OdradekError, match="no process of its own"):
        _ = Broker().process


def test_errors_are_the_same_from_both(broker: Broker) -> None:
    with pytest.raises(FaultRefused, match="did you mean Produce"):
        broker.faults.error("Produces", "NOT_LEADER_OR_FOLLOWER")
    with pytest.raises(OdradekError, match="nothing to describe under weather; subjects are compaction"):
        broker.describe("weather")
    for subject in SUBJECTS:
        assert isinstance(broker.describe(subject), list)


def test_an_in_process_broker_frees_its_descriptors_when_it_is_killed() -> None:
    with Broker() as broker:
        topic = broker.create_topic(partitions=20)
        send(broker, topic, b"a")
        broker.kill()
        scratch = broker._scratch
        assert scratch is not None
        held = [os.readlink(f"/proc/self/fd/{one}") for one in os.listdir("/proc/self/fd") if _is_open(one)]
        assert not [path for path in held if str(scratch.data_dir) in path]


def _is_open(descriptor: str) -> bool:
    return os.path.lexists(f"/proc/self/fd/{descriptor}")


DYING_PARENT = """
import os
import signal

from odradek.testing import Broker

broker = Broker(process=True)
broker.start()
print(broker.process.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_process_ends_with_the_one_that_started_it() -> None:
    parent = subprocess.run([sys.executable, "-c", DYING_PARENT], capture_output=True, text=True, check=False)
    assert parent.returncode == -signal.SIGKILL
    stat = Path(f"/proc/{int(parent.stdout)}/stat")
    for _ in range(600):
        if not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "Z":
            return
        threading.Event().wait(0.05)
    os.kill(int(parent.stdout), signal.SIGKILL)
    raise AssertionError("the broker outlives the process that started it")


# --- libraries that patch the clock

LONG_AGO = datetime(2001, 2, 3, tzinfo=UTC)


@pytest.mark.parametrize("freeze", [freezegun.freeze_time, lambda at: time_machine.travel(at, tick=False)])
def test_a_patched_clock_does_not_reach_the_broker(freeze: Callable[[datetime], object]) -> None:
    """Neither one that was patched before the start nor one that is patched later; groups go on."""
    before_ms = time.time_ns() // 1_000_000
    with Broker() as early, freeze(LONG_AGO):  # type: ignore[attr-defined]
        assert time.time() == LONG_AGO.timestamp()
        with Broker() as late:
            for broker in early, late:
                topic = broker.create_topic(configs={"message.timestamp.type": "LogAppendTime"})
                _, appended_ms = send(broker, topic, b"a").timestamp()
                assert appended_ms >= before_ms
                assert values_in(broker, topic, 1) == [b"a"]


@pytest.mark.parametrize("freeze", [freezegun.freeze_time, lambda at: time_machine.travel(at, tick=False)])
def test_it_follows_a_patched_time_of_day_if_it_is_asked_to(freeze: Callable[[datetime], object]) -> None:
    with Broker(follow_patched_time=True) as broker:
        topic = broker.create_topic(configs={"message.timestamp.type": "LogAppendTime"})
        with freeze(LONG_AGO):  # type: ignore[attr-defined]
            _, appended_ms = send(broker, topic, b"a").timestamp()
            assert appended_ms == LONG_AGO.timestamp() * 1000
            assert values_in(broker, topic, 1) == [b"a"]
