"""Readers that are members of a group, in both protocols, on a broker in this process."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from confluent_kafka import Consumer

from odradek import Admin
from odradek.base.errors import ApiError
from odradek.base.ids import TopicPartition
from odradek.client import classic_membership
from odradek.client.cluster import EARLIEST
from odradek.client.configuration import GROUP_PROTOCOLS, ClientConfig
from odradek.client.group_admin import GroupAdmin
from odradek.client.group_reader import AT_THE_END, NEVER, REGULARLY, GroupReader
from odradek.testing import Broker

pytestmark = pytest.mark.integration

WAIT_S = 20.0


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as running:
        yield running


@pytest.fixture
def topic(broker: Broker) -> str:
    name = broker.create_topic(partitions=4)
    for number in range(4):
        broker.produce(name, f"v{number}", partition=number)
    return name


@pytest.fixture(autouse=True)
def quick_heartbeats(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(classic_membership, "HEARTBEAT_S", 0.05)


def config_of(broker: Broker, protocol: str | None = None) -> ClientConfig:
    return ClientConfig(broker.bootstrap_servers, client_id="reader", group_protocol=protocol)


class Reading:
    """A reader on a thread of its own, as a process would be; it acknowledges what it read."""

    def __init__(self, broker: Broker, topic: str, protocol: str | None = None, **options: Any) -> None:
        self.reader = GroupReader(config_of(broker, protocol), topic, topic, EARLIEST, **options)
        self.values: list[bytes | None] = []
        self.failure: Exception | None = None
        self._changed = threading.Condition()
        self._is_ending = False
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    @property
    def partitions(self) -> set[int]:
        return {one.partition for one in self.reader.partitions}

    def wait_for(self, count: int) -> None:
        """Wait until it has so many partitions."""
        with self._changed:
            came = self._changed.wait_for(lambda: len(self.reader.partitions) == count, WAIT_S)
        assert came, (self.partitions, self.reader.rebalances, self.failure)

    def wait_for_values(self, count: int) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.values) >= count, WAIT_S), self.values

    def wait_for_words(self, words: str) -> None:
        """Wait until a sentence about a rebalance has these words."""
        with self._changed:
            said = lambda: any(words in one for one in self.reader.rebalances)  # noqa: E731
            assert self._changed.wait_for(said, WAIT_S), self.reader.rebalances

    def end(self) -> None:
        self._is_ending = True
        self._thread.join(WAIT_S)
        assert not self._thread.is_alive()

    def end_after_failure(self) -> None:
        """Wait until reading has failed."""
        self._thread.join(WAIT_S)
        assert self.failure is not None

    def _read(self) -> None:
        try:
            while not self._is_ending:
                found = [one.value for one in self.reader.poll(20)]
                self.reader.acknowledge()
                with self._changed:
                    self.values += found
                    self._changed.notify_all()
        except ApiError as error:
            self.failure = error
        finally:
            self.reader.close()


def committed(broker: Broker, group: str) -> dict[TopicPartition, int]:
    with GroupAdmin(broker.bootstrap_servers) as admin:
        return admin.committed(group)


@pytest.mark.parametrize("protocol", GROUP_PROTOCOLS)
def test_two_members_share_a_topic_and_the_last_one_gets_all(
    broker: Broker, topic: str, protocol: str
) -> None:
    first = Reading(broker, topic, protocol)
    first.wait_for(4)
    first.wait_for_values(4)
    second = Reading(broker, topic, protocol)
    first.wait_for(2)
    second.wait_for(2)
    assert first.partitions | second.partitions == {0, 1, 2, 3}
    first.end()
    second.wait_for(4)
    second.end()
    assert second.values == [], "the first one had committed what it read"
    assert committed(broker, topic) == {TopicPartition(topic, number): 1 for number in range(4)}
    sentences = " / ".join(first.reader.rebalances)
    assert f"group {topic} ({protocol} protocol, " in sentences
    assert f"this member has {topic} 0-3; got {topic} 0-3" in sentences
    assert "gave back" in sentences


@pytest.mark.parametrize("strategy", ["range", "roundrobin", "cooperative-sticky"])
def test_a_group_of_classic_members_is_joined_in_their_protocol(
    broker: Broker, topic: str, strategy: str
) -> None:
    """Another client's member shares with this one, whichever strategy the group has settled on."""
    other = Consumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": topic,
            "group.protocol": "classic",
            "partition.assignment.strategy": strategy,
            "auto.offset.reset": "earliest",
            "heartbeat.interval.ms": 50,
        }
    )
    other.subscribe([topic])
    while other.poll(WAIT_S) is None or len(other.assignment()) < 4:
        pass
    reader = Reading(broker, topic)
    assert reader.reader._membership.protocol == "classic"
    while len(reader.partitions) != 2 or len(other.assignment()) != 2:
        other.poll(0.05)
        assert reader.failure is None
    assert reader.reader._membership.assignor == strategy
    theirs = {one.partition for one in other.assignment()}
    assert reader.partitions | theirs == {0, 1, 2, 3}
    other.close()
    reader.wait_for(4)
    reader.end()


def test_a_new_group_speaks_the_consumer_protocol(broker: Broker, topic: str) -> None:
    with GroupReader(config_of(broker), topic, topic, EARLIEST) as reader:
        assert reader._membership.protocol == "consumer"


def test_a_broker_without_the_consumer_protocol_is_read_in_the_classic_one(
    topic: str, broker: Broker
) -> None:
    """As Apache Kafka before 4.0, which advertises the API and answers UNSUPPORTED_VERSION."""
    with broker.faults.error("ConsumerGroupHeartbeat", "UNSUPPORTED_VERSION"):
        reading = Reading(broker, topic)
        reading.wait_for_values(4)
        reading.end()
    assert reading.reader._membership.protocol == "classic"
    with broker.faults.error("ConsumerGroupHeartbeat", "UNSUPPORTED_VERSION"):
        asked = Reading(broker, topic, "consumer")
        asked.end_after_failure()
    assert "needs the consumer group protocol of Kafka 4.0" in str(asked.failure)


@pytest.mark.parametrize("protocol", GROUP_PROTOCOLS)
def test_nothing_is_committed_where_that_is_asked_for(broker: Broker, topic: str, protocol: str) -> None:
    reading = Reading(broker, topic, protocol, commits=NEVER)
    reading.wait_for_values(4)
    reading.end()
    assert committed(broker, topic) == {}


@pytest.mark.parametrize("protocol", GROUP_PROTOCOLS)
def test_only_what_was_acknowledged_is_committed(broker: Broker, topic: str, protocol: str) -> None:
    with GroupReader(config_of(broker, protocol), topic, topic, EARLIEST) as reader:
        read = 0
        while not read:
            read = sum(1 for _ in reader.poll(20))
    assert set(committed(broker, topic).values()) <= {0}


@pytest.mark.parametrize(("commits", "is_early"), [(REGULARLY, True), (AT_THE_END, False)])
def test_offsets_are_committed_when_that_is_asked_for(
    broker: Broker, topic: str, commits: str, is_early: bool
) -> None:
    config = replace(config_of(broker), auto_commit_interval_ms=1)
    with GroupReader(config, topic, topic, EARLIEST, commits=commits) as reader:
        read = 0
        while read < 4:
            read += sum(1 for _ in reader.poll(20))
            reader.acknowledge()
        list(reader.poll(1))
        assert (set(committed(broker, topic).values()) == {1}) is is_early
    assert set(committed(broker, topic).values()) == {1}


@pytest.mark.parametrize("protocol", GROUP_PROTOCOLS)
def test_a_member_that_was_expired_joins_again(broker: Broker, topic: str, protocol: str) -> None:
    reading = Reading(broker, topic, protocol)
    reading.wait_for_values(4)
    broker.faults.expire_member(topic, reading.reader._membership.member)
    reading.wait_for_words("no longer has this member")
    broker.produce(topic, "later", partition=0)
    reading.wait_for_values(5)
    reading.end()


def test_a_leader_shares_out_partitions_that_its_topic_gets(
    broker: Broker, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(classic_membership, "TOPICS_EVERY_S", 0.0)
    reading = Reading(broker, topic, "classic")
    reading.wait_for(4)
    with Admin(broker.bootstrap_servers) as admin:
        admin.create_partitions({topic: 6})
    reading.wait_for(6)
    reading.end()


def test_strategies_that_nobody_here_knows_are_named(broker: Broker, topic: str) -> None:
    with broker.faults.error("JoinGroup", "INCONSISTENT_GROUP_PROTOCOL"):
        reading = Reading(broker, topic, "classic")
        reading.end_after_failure()
    assert str(reading.failure) == (
        f"the members of group {topic} use none of the strategies"
        " range, cooperative-sticky, sticky, roundrobin"
    )
