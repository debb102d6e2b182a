"""What `odradek consume` reads with, on a broker in this process: without a group, and in both protocols."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer

from odradek import Admin
from odradek.base.errors import ApiError
from odradek.base.ids import TopicPartition
from odradek.base.offset_timestamps import EARLIEST
from odradek.cli.main import run
from odradek.cli.reading import Reading
from odradek.client.choices import GROUP_PROTOCOLS
from odradek.testing import Broker
from tests.heartbeats import heartbeats_every

pytestmark = pytest.mark.integration

WAIT_S = 20.0


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(settings=heartbeats_every(100)) as running:
        yield running


@pytest.fixture(autouse=True)
def where(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODRADEK_BOOTSTRAP_SERVERS", broker.bootstrap_servers)


@pytest.fixture
def topic(broker: Broker) -> str:
    name = broker.create_topic(partitions=4)
    for number in range(4):
        broker.produce(name, f"v{number}", partition=number)
    return name


def settings(broker: Broker, **named: object) -> dict[str, object]:
    return {"bootstrap.servers": broker.bootstrap_servers, **named}


class Member:
    """A member of the group that is named as the topic, on a thread of its own, as a process would be."""

    def __init__(self, broker: Broker, topic: str, protocol: str | None = None) -> None:
        given: dict[str, object] = {"group.id": topic, "group.protocol": protocol}
        if protocol == "classic":
            given["heartbeat.interval.ms"] = 50
        if protocol is None:
            del given["group.protocol"]
        self._topic = topic
        self._reading = Reading(settings(broker, **given), topic)
        self.partitions: set[int] = set()
        self.values: list[object] = []
        self.said: list[str] = []
        self.failure: ApiError | None = None
        self._changed = threading.Condition()
        self._is_ending = False
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def wait_for(self, is_so: Callable[["Member"], bool]) -> None:
        with self._changed:
            came = self._changed.wait_for(lambda: is_so(self) or self.failure is not None, WAIT_S)
        assert came
        assert self.failure is None, self.failure

    def end(self) -> None:
        self._is_ending = True
        self._thread.join(WAIT_S)
        assert not self._thread.is_alive()

    def _read(self) -> None:
        try:
            with self._reading as reading:
                reading.subscribe(self._topic, EARLIEST)
                while not self._is_ending:
                    found = [one.value for one in reading.poll(0.02, 500)]
                    assigned = {one.partition for one in reading.consumer.assignment()}
                    with self._changed:
                        self.values += found
                        self.partitions = assigned
                        self.said, reading.rebalances = self.said + reading.rebalances, []
                        self._changed.notify_all()
        except ApiError as error:
            with self._changed:
                self.failure = error
                self._changed.notify_all()


@pytest.mark.parametrize("protocol", GROUP_PROTOCOLS)
def test_two_members_share_a_topic_and_say_what_they_have(broker: Broker, topic: str, protocol: str) -> None:
    first = Member(broker, topic, protocol)
    first.wait_for(lambda one: len(one.values) == 4)
    second = Member(broker, topic, protocol)
    first.wait_for(lambda one: len(one.partitions) == 2)
    second.wait_for(lambda one: len(one.partitions) == 2)
    assert first.partitions | second.partitions == {0, 1, 2, 3}
    first.end()
    second.wait_for(lambda one: len(one.partitions) == 4)
    second.end()
    assert second.values == [], "the first one had committed what it read"
    sentences = " / ".join(first.said)
    assert f"group {topic} ({protocol} protocol, " in sentences
    assert f"this member has {topic} 0-3; got {topic} 0-3" in sentences
    assert "gave back" in sentences


@pytest.mark.parametrize("protocol", GROUP_PROTOCOLS)
def test_a_member_that_was_expired_says_so_and_joins_again(broker: Broker, topic: str, protocol: str) -> None:
    member = Member(broker, topic, protocol)
    member.wait_for(lambda one: len(one.values) == 4)
    with Admin(broker.bootstrap_servers) as admin:
        (known,) = admin.describe_group(topic).members
    broker.faults.expire_member(topic, known.member)
    member.wait_for(lambda one: any("no longer has this member" in said for said in one.said))
    broker.produce(topic, "later", partition=0)
    member.wait_for(lambda one: b"later" in one.values)
    member.end()


def run_member(topic: str, *options: str) -> int:
    arguments = ["consume", topic, "--group", topic, "--from-beginning", "--timeout", "20", "--verbose"]
    return run([*arguments, *options])


@pytest.mark.parametrize("strategy", ["range", "roundrobin", "cooperative-sticky"])
def test_a_group_of_classic_members_is_joined_in_their_protocol(
    broker: Broker, topic: str, strategy: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """Another client's member shares with this one, whichever strategy the group has settled on."""
    other = Consumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": topic,
            "group.protocol": "classic",
            "partition.assignment.strategy": strategy,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": "false",
            "heartbeat.interval.ms": 50,
        }
    )
    other.subscribe([topic])
    while other.poll(WAIT_S) is None or len(other.assignment()) < 4:
        pass
    reader = threading.Thread(target=run_member, args=(topic, "--max-messages", "1"))
    reader.start()
    while reader.is_alive():
        other.poll(0.05)
    other.close()
    assert f"(classic protocol, {strategy}, generation" in capfd.readouterr().err


def test_a_new_group_speaks_the_consumer_protocol(topic: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run_member(topic, "--max-messages", "1") == 0
    assert f"group {topic} (consumer protocol, epoch" in capfd.readouterr().err


def test_a_broker_without_the_consumer_protocol_is_read_in_the_classic_one(
    broker: Broker, topic: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """As Apache Kafka before 4.0, which advertises the API and answers UNSUPPORTED_VERSION."""
    with broker.faults.error("ConsumerGroupHeartbeat", "UNSUPPORTED_VERSION"):
        assert run_member(topic, "--max-messages", "4") == 0
        assert "(classic protocol, range, generation" in capfd.readouterr().err
        assert run_member(topic, "--protocol", "consumer") == 1
    assert "needs the consumer group protocol of Kafka 4.0" in capfd.readouterr().err


def test_strategies_that_nobody_here_knows_are_named(
    broker: Broker, topic: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with broker.faults.error("JoinGroup", "INCONSISTENT_GROUP_PROTOCOL"):
        assert run_member(topic, "--protocol", "classic") == 1
    assert capfd.readouterr().err == (
        f"odradek: the members of group {topic} use none of the strategies"
        " range, cooperative-sticky, sticky, roundrobin\n"
    )


def test_a_topic_that_is_none_is_refused_at_once(broker: Broker, capfd: pytest.CaptureFixture[str]) -> None:
    for options in ((), ("--group", "g")):
        assert run(["consume", "nowhere", *options]) == 1
        assert capfd.readouterr().err == "odradek: there is no topic nowhere\n"
    with Admin(broker.bootstrap_servers) as admin:
        assert "nowhere" not in admin.list_topics()


def test_records_that_are_gone_are_skipped_with_a_word(broker: Broker) -> None:
    topic = broker.create_topic()
    broker.produce(topic, *"abcd")
    one = TopicPartition(topic, 0)
    with Admin(broker.bootstrap_servers) as admin:
        admin.delete_records({one: 3})
    with Reading(settings(broker)) as reading:
        reading.assign({one: 1})
        assert [record.value for record in reading.poll(WAIT_S, 10)] == [b"d"]
        assert reading.notes == [f"{one} no longer has offset 1; reading goes on at 3"]


def test_an_offset_beyond_the_end_is_refused(broker: Broker) -> None:
    one = TopicPartition(broker.create_topic(), 0)
    with Reading(settings(broker)) as reading:
        reading.assign({one: 7})
        with pytest.raises(ApiError, match="ends before offset 7: it was truncated, or deleted and created"):
            reading.poll(WAIT_S, 1)


def test_a_broker_that_goes_away_is_named_and_found_again(tmp_path: Path) -> None:
    """When it is back, on the same port."""
    with Broker(data_dir=tmp_path / "data") as own:
        topic = own.create_topic()
        own.produce(topic, "before")
        with Reading(settings(own)) as reading:
            reading.assign({TopicPartition(topic, 0): 0})
            assert [one.value for one in reading.poll(WAIT_S, 10)] == [b"before"]
            own.stop()
            while not reading.notes:
                reading.poll(0.01, 10)
            assert "trying again for 30 s" in reading.notes[0]
            own.start()
            own.produce(topic, "after")
            found: list[object] = []
            while not found:
                found = [one.value for one in reading.poll(0.5, 10)]
            assert found == [b"after"]
