"""Groups of unmodified clients against a whole broker: confluent-kafka, kafka-python and aiokafka."""

import asyncio
import contextlib
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol, TypeAlias

import pytest
from aiokafka import AIOKafkaConsumer
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, ConsumerGroupDescription

from odradek.testing import Broker

with warnings.catch_warnings():
    # kafka-python reads its schemas in a way that newer Pythons frown upon.
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka import KafkaConsumer

pytestmark = [pytest.mark.slow, pytest.mark.integration]

PATIENCE_S = 20
Setting: TypeAlias = str | int | float | bool


class NewConsumer(Protocol):
    """Makes a consumer of this group; settings by names with underscores."""

    def __call__(self, group: str, **settings: Setting) -> Consumer: ...


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as running:
        yield running


@pytest.fixture
def topic(broker: Broker) -> str:
    name = broker.create_topic(partitions=4)
    fill(broker, name, 40)
    return name


@pytest.fixture
def new_consumer(broker: Broker) -> Iterator[NewConsumer]:
    made: list[Consumer] = []

    def make(group: str, **settings: Setting) -> Consumer:
        names = {name.replace("_", "."): value for name, value in settings.items()}
        consumer = Consumer(
            {
                "bootstrap.servers": broker.bootstrap_servers,
                "group.id": group,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "heartbeat.interval.ms": 200,
                **names,
            }
        )
        made.append(consumer)
        return consumer

    yield make
    for consumer in made:
        consumer.close()


def fill(broker: Broker, topic: str, count: int) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for number in range(count):
        producer.produce(topic, str(number), partition=number % 4)
    assert producer.flush(PATIENCE_S) == 0


def until(what: Callable[[], bool], why: str) -> None:
    """Give others time, within limits."""
    deadline = time.monotonic() + PATIENCE_S
    while not what():
        assert time.monotonic() < deadline, why


def read(consumer: Consumer, count: int) -> list[str]:
    values: list[str] = []

    def poll() -> bool:
        message = consumer.poll(0.1)
        if message is not None and message.error() is None:
            values.append((message.value() or b"").decode())
        return len(values) >= count

    until(poll, f"{len(values)} of {count} records came")
    return values


def share(consumers: list[Consumer], partitions: int = 4) -> list[set[int]]:
    """Poll all until the partitions are shared out among all of them, each to one."""

    def is_shared() -> bool:
        for consumer in consumers:
            consumer.poll(0.05)
        shares = [{one.partition for one in consumer.assignment()} for consumer in consumers]
        return all(shares) and sum(map(len, shares)) == partitions == len(set().union(*shares))

    until(is_shared, "the partitions were not shared out")
    return [{one.partition for one in consumer.assignment()} for consumer in consumers]


def describe(broker: Broker, group: str) -> ConsumerGroupDescription:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    found: ConsumerGroupDescription = admin.describe_consumer_groups([group])[group].result(PATIENCE_S)
    return found


def test_a_consumer_goes_on_where_the_one_before_it_committed(
    broker: Broker, topic: str, new_consumer: NewConsumer
) -> None:
    first = new_consumer("goes-on")
    first.subscribe([topic])
    assert sorted(read(first, 40), key=int) == [str(number) for number in range(40)]
    first.commit(asynchronous=False)
    first.close()
    fill(broker, topic, 4)
    second = new_consumer("goes-on")
    second.subscribe([topic])
    assert sorted(read(second, 4)) == ["0", "1", "2", "3"]


def test_metadata_comes_back_with_the_offset(topic: str, new_consumer: NewConsumer) -> None:
    consumer = new_consumer("metadata")
    consumer.commit(offsets=[TopicPartition(topic, 1, 7, metadata="so far")], asynchronous=False)
    (found,) = consumer.committed([TopicPartition(topic, 1)], PATIENCE_S)
    assert (found.offset, found.metadata) == (7, "so far")


def test_two_consumers_share_and_one_takes_over(topic: str, new_consumer: NewConsumer) -> None:
    first, second = new_consumer("share"), new_consumer("share")
    first.subscribe([topic])
    second.subscribe([topic])
    shares = share([first, second])
    assert sorted(map(len, shares)) == [2, 2]
    second.close()
    until(lambda: first.poll(0.05) is None and len(first.assignment()) == 4, "nobody took over")


def test_cooperative_consumers_keep_what_they_have(topic: str, new_consumer: NewConsumer) -> None:
    """KIP-429."""
    first = new_consumer("cooperative", partition_assignment_strategy="cooperative-sticky")
    revoked: list[int] = []
    first.subscribe(
        [topic], on_revoke=lambda consumer, partitions: revoked.extend(one.partition for one in partitions)
    )
    share([first])
    second = new_consumer("cooperative", partition_assignment_strategy="cooperative-sticky")
    second.subscribe([topic])
    kept, taken = share([first, second])
    assert set(revoked) == taken
    assert len(kept) == 2


def test_a_static_member_comes_back_without_a_rebalance(
    broker: Broker, topic: str, new_consumer: NewConsumer
) -> None:
    """KIP-345."""
    first, second = (new_consumer("static", group_instance_id=f"i-{number}") for number in range(2))
    first.subscribe([topic])
    second.subscribe([topic])
    before = share([first, second])
    second.close()
    again = new_consumer("static", group_instance_id="i-1")
    again.subscribe([topic])
    assert share([first, again]) == before
    members = {member.group_instance_id for member in describe(broker, "static").members}
    assert members == {"i-0", "i-1"}


def test_an_instance_that_is_started_twice_fences_the_first(topic: str, new_consumer: NewConsumer) -> None:
    """KIP-345."""
    first, second = (new_consumer("fenced", group_instance_id="i") for _ in range(2))
    first.subscribe([topic])
    share([first])
    second.subscribe([topic])
    share([second])
    with pytest.raises(KafkaException, match="fenced"):
        first.commit(offsets=[TopicPartition(topic, 0, 1)], asynchronous=False)
    second.commit(offsets=[TopicPartition(topic, 0, 2)], asynchronous=False)


def test_a_group_is_described_listed_and_deleted(
    broker: Broker, topic: str, new_consumer: NewConsumer
) -> None:
    consumer = new_consumer("admin", client_id="my-client")
    consumer.subscribe([topic])
    read(consumer, 40)
    consumer.commit(asynchronous=False)
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    described = describe(broker, "admin")
    (member,) = described.members
    assert (described.state.name, described.partition_assignor) == ("STABLE", "range")
    assert (member.client_id, member.host) == ("my-client", "/127.0.0.1")
    assert len(member.assignment.topic_partitions) == 4
    listed = admin.list_consumer_groups().result(PATIENCE_S).valid
    assert {group.group_id: group.state.name for group in listed}["admin"] == "STABLE"
    offsets = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions("admin")])["admin"]
    assert {one.offset for one in offsets.result(PATIENCE_S).topic_partitions} == {10}
    with pytest.raises(Exception, match="NON_EMPTY_GROUP"):
        admin.delete_consumer_groups(["admin"])["admin"].result(PATIENCE_S)
    consumer.close()
    assert admin.delete_consumer_groups(["admin"])["admin"].result(PATIENCE_S) is None
    assert describe(broker, "admin").state.name == "DEAD"


def test_kafka_python_subscribes_and_commits(broker: Broker, topic: str) -> None:
    def consume(count: int) -> list[int]:
        consumer = KafkaConsumer(
            topic,
            bootstrap_servers=broker.bootstrap_servers,
            group_id="kafka-python",
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            consumer_timeout_ms=PATIENCE_S * 1000,
        )
        values = []
        for message in consumer:
            values.append(int(message.value))
            if len(values) == count:
                break
        consumer.commit()
        consumer.close()
        return sorted(values)

    assert consume(40) == list(range(40))
    fill(broker, topic, 4)
    assert consume(4) == [0, 1, 2, 3]


def test_aiokafka_consumers_share_and_commit(broker: Broker, topic: str) -> None:
    async def consume() -> tuple[list[set[object]], list[int | None]]:
        consumers = [
            AIOKafkaConsumer(
                topic,
                bootstrap_servers=broker.bootstrap_servers,
                group_id="aiokafka",
                auto_offset_reset="earliest",
                enable_auto_commit=False,
                heartbeat_interval_ms=200,
            )
            for _ in range(2)
        ]
        await asyncio.gather(*(consumer.start() for consumer in consumers))
        try:
            async with asyncio.timeout(PATIENCE_S):
                while any(len(consumer.assignment()) != 2 for consumer in consumers):
                    await asyncio.gather(*(consumer.getmany(timeout_ms=50) for consumer in consumers))
                first = consumers[0]
                await first.seek_to_end()
                await first.commit()
                committed = [await first.committed(one) for one in first.assignment()]
            return [set(consumer.assignment()) for consumer in consumers], committed
        finally:
            for consumer in consumers:
                await consumer.stop()

    shares, committed = asyncio.run(consume())
    assert not shares[0] & shares[1]
    assert committed == [10, 10]


def test_groups_outlive_the_broker(tmp_path: Path) -> None:
    def consumer(broker: Broker) -> Consumer:
        return Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "g"})

    with Broker(data_dir=tmp_path) as broker:
        topic = broker.create_topic(partitions=2)
        one = consumer(broker)
        one.commit(offsets=[TopicPartition(topic, 0, 5), TopicPartition(topic, 1, 6)], asynchronous=False)
        one.close()
    with Broker(data_dir=tmp_path) as broker:
        one = consumer(broker)
        found = one.committed([TopicPartition(topic, index) for index in range(2)], PATIENCE_S)
        one.close()
    assert [partition.offset for partition in found] == [5, 6]


def test_a_session_of_45_s_ends_without_waiting(broker: Broker, topic: str) -> None:
    """G2, under virtual time: the same code as in production, and no waiting."""
    consumer = KafkaConsumer(
        topic,
        bootstrap_servers=broker.bootstrap_servers,
        group_id="silent",
        session_timeout_ms=45_000,
        heartbeat_interval_ms=15_000,
        auto_offset_reset="earliest",
    )
    with contextlib.closing(consumer):
        # A join that takes longer than the poll is thrown away by this client, so the poll is long.
        assert consumer.poll(timeout_ms=PATIENCE_S * 1000), "nothing came"
        assert describe(broker, "silent").state.name == "STABLE"
        began = time.monotonic()
        broker.clock.advance(seconds=45)
        assert describe(broker, "silent").state.name == "EMPTY"
        assert time.monotonic() - began < 45, "the session was waited for"


def test_a_deleted_topic_takes_its_offsets_with_it(broker: Broker, new_consumer: NewConsumer) -> None:
    kept, gone = broker.create_topic(), broker.create_topic()
    consumer = new_consumer("deleted-topic")
    consumer.commit(offsets=[TopicPartition(kept, 0, 1), TopicPartition(gone, 0, 1)], asynchronous=False)
    broker.delete_topic(gone)
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    asked = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions("deleted-topic")])
    found = asked["deleted-topic"].result(PATIENCE_S).topic_partitions
    assert [one.topic for one in found] == [kept]
