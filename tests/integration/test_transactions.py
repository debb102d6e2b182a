"""Transactions of unmodified clients against a whole broker, across restarts, timeouts and kills."""

import asyncio
import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from aiokafka import AIOKafkaProducer
from confluent_kafka import (
    Consumer,
    IsolationLevel,
    KafkaError,
    KafkaException,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, OffsetSpec

from odradek.testing import Broker
from odradek.testing.broker_process import BrokerProcess

pytestmark = [pytest.mark.slow, pytest.mark.integration]

WAIT_S = 20


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker() as running:
        yield running


def begin(bootstrap_servers: str, transactional_id: str = "payments", **settings: str | int) -> Producer:
    """A producer with a transaction open."""
    named = {name.replace("_", "."): value for name, value in settings.items()}
    producer = Producer(
        {"bootstrap.servers": bootstrap_servers, "transactional.id": transactional_id, **named},
        logger=_Silent(),
    )
    producer.init_transactions(WAIT_S)
    producer.begin_transaction()
    return producer


class _Silent:
    """Brokers go away in these tests, and librdkafka has much to say about it."""

    def log(self, *what: object) -> None:
        pass


def write(producer: Producer, topic: str, *values: str) -> None:
    for value in values:
        producer.produce(topic, value, partition=0)
    assert producer.flush(WAIT_S) == 0


def read(bootstrap_servers: str, topic: str, *, offset: int = 0, committed: bool = True) -> list[str]:
    """All values of partition 0 from `offset` on, up to the end that this isolation sees."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap_servers,
            "group.id": "reader",
            "isolation.level": "read_committed" if committed else "read_uncommitted",
            "enable.partition.eof": True,
            "enable.auto.commit": False,
        }
    )
    try:
        consumer.assign([TopicPartition(topic, 0, offset)])
        values: list[str] = []
        while True:
            message = consumer.poll(WAIT_S)
            assert message is not None, f"nothing more after {values}, and no end"
            error = message.error()
            if error is not None:
                assert error.code() == KafkaError._PARTITION_EOF, error
                return values
            values.append((message.value() or b"").decode())
    finally:
        consumer.close()


def last_stable_offset(broker: Broker, topic: str) -> int:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    (future,) = admin.list_offsets(
        {TopicPartition(topic, 0): OffsetSpec.latest()}, isolation_level=IsolationLevel.READ_COMMITTED
    ).values()
    offset = future.result(WAIT_S).offset
    assert isinstance(offset, int)
    return offset


def test_what_is_committed_is_read_and_what_is_aborted_never(broker: Broker) -> None:
    topic = broker.create_topic()
    producer = begin(broker.bootstrap_servers)
    write(producer, topic, "a", "b")
    assert read(broker.bootstrap_servers, topic) == [], "not yet"
    producer.commit_transaction(WAIT_S)
    producer.begin_transaction()
    write(producer, topic, "x", "y")
    producer.abort_transaction(WAIT_S)
    producer.begin_transaction()
    write(producer, topic, "c")
    producer.commit_transaction(WAIT_S)
    assert read(broker.bootstrap_servers, topic) == ["a", "b", "c"]
    assert read(broker.bootstrap_servers, topic, committed=False) == ["a", "b", "x", "y", "c"]
    assert read(broker.bootstrap_servers, topic, offset=4) == ["c"], "from the middle of what was aborted"


def test_aborted_records_stay_hidden_across_a_restart(tmp_path: Path) -> None:
    with Broker(data_dir=tmp_path) as broker:
        topic = broker.create_topic()
        producer = begin(broker.bootstrap_servers)
        write(producer, topic, "x0", "x1", "x2")
        producer.abort_transaction(WAIT_S)
        producer.begin_transaction()
        write(producer, topic, "a")
        producer.commit_transaction(WAIT_S)
    with Broker(data_dir=tmp_path) as broker:
        assert read(broker.bootstrap_servers, topic) == ["a"]
        assert read(broker.bootstrap_servers, topic, offset=1) == ["a"]
        producer = begin(broker.bootstrap_servers)
        write(producer, topic, "b")
        producer.commit_transaction(WAIT_S)
        assert read(broker.bootstrap_servers, topic) == ["a", "b"]


def test_aborted_records_stay_hidden_in_old_segments(broker: Broker) -> None:
    topic = broker.create_topic(configs={"segment.bytes": "1048576"})
    producer = begin(broker.bootstrap_servers)
    for number in range(20):
        write(producer, topic, *(f"{number}-{'x' * 100_000}" for _ in range(4)))
        if number % 3:
            producer.abort_transaction(WAIT_S)
        else:
            producer.commit_transaction(WAIT_S)
        producer.begin_transaction()
    producer.abort_transaction(WAIT_S)
    kept = [value.split("-")[0] for value in read(broker.bootstrap_servers, topic)]
    assert kept == [str(number) for number in range(0, 20, 3) for _ in range(4)]
    behind = [value.split("-")[0] for value in read(broker.bootstrap_servers, topic, offset=52)]
    assert behind == [value for value in kept if int(value) >= 11]


def test_a_zombie_is_fenced_by_its_successor(broker: Broker) -> None:
    topic = broker.create_topic()
    zombie = begin(broker.bootstrap_servers)
    write(zombie, topic, "lost")
    successor = begin(broker.bootstrap_servers)
    write(successor, topic, "kept")
    with pytest.raises(KafkaException) as fenced:
        zombie.commit_transaction(WAIT_S)
    assert fenced.value.args[0].code() == KafkaError._FENCED
    successor.commit_transaction(WAIT_S)
    assert read(broker.bootstrap_servers, topic) == ["kept"]


def test_a_transaction_that_nobody_ends_is_aborted_after_its_timeout(broker: Broker) -> None:
    topic = broker.create_topic()
    producer = begin(broker.bootstrap_servers, transaction_timeout_ms=60_000)
    write(producer, topic, "lost")
    assert last_stable_offset(broker, topic) == 0
    broker.clock.advance(seconds=75)
    assert last_stable_offset(broker, topic) == 2, "the record and the marker"
    assert read(broker.bootstrap_servers, topic) == []
    with pytest.raises(KafkaException):
        producer.commit_transaction(WAIT_S)
    successor = begin(broker.bootstrap_servers)
    write(successor, topic, "kept")
    successor.commit_transaction(WAIT_S)
    assert read(broker.bootstrap_servers, topic) == ["kept"]


def test_a_transaction_outlives_the_broker_and_times_out_in_the_next(tmp_path: Path) -> None:
    with Broker(data_dir=tmp_path) as broker:
        topic = broker.create_topic()
        producer = begin(broker.bootstrap_servers, transaction_timeout_ms=60_000)
        write(producer, topic, "lost")
    with Broker(data_dir=tmp_path) as broker:
        assert last_stable_offset(broker, topic) == 0, "it is open still"
        broker.clock.advance(seconds=75)
        assert last_stable_offset(broker, topic) == 2
        assert read(broker.bootstrap_servers, topic) == []


def test_a_group_goes_on_where_the_transaction_says(broker: Broker) -> None:
    source, target = broker.create_topic(), broker.create_topic()
    plain = Producer({"bootstrap.servers": broker.bootstrap_servers})
    write(plain, source, *map(str, range(100)))
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": "doublers",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe([source])
    producer = begin(broker.bootstrap_servers)
    try:
        for ends_well in (True, False, True, True, True):
            messages = consumer.consume(25, WAIT_S)
            write(producer, target, *(str(2 * int(message.value() or b"")) for message in messages))
            assignment = consumer.assignment()
            producer.send_offsets_to_transaction(
                consumer.position(assignment), consumer.consumer_group_metadata(), WAIT_S
            )
            if ends_well:
                producer.commit_transaction(WAIT_S)
            else:
                producer.abort_transaction(WAIT_S)
                for committed in consumer.committed(assignment, WAIT_S):
                    consumer.seek(committed)
            producer.begin_transaction()
        (committed,) = consumer.committed(consumer.assignment(), WAIT_S)
        assert committed.offset == 100
    finally:
        consumer.close()
    producer.abort_transaction(WAIT_S)
    assert read(broker.bootstrap_servers, target) == [str(2 * number) for number in range(100)]


def test_the_classic_way_of_aiokafka(broker: Broker) -> None:
    topic = broker.create_topic()

    async def write_two() -> None:
        producer = AIOKafkaProducer(bootstrap_servers=broker.bootstrap_servers, transactional_id="aio")
        await producer.start()
        try:
            async with producer.transaction():
                await producer.send_and_wait(topic, b"a", partition=0)
            await producer.begin_transaction()
            await producer.send_and_wait(topic, b"x", partition=0)
            await producer.abort_transaction()
            async with producer.transaction():
                await producer.send_and_wait(topic, b"b", partition=0)
        finally:
            await producer.stop()

    asyncio.run(write_two())
    assert read(broker.bootstrap_servers, topic) == ["a", "b"]


def test_transactions_are_described_in_words(tmp_path: Path) -> None:
    broker = BrokerProcess(tmp_path / "data", admin_port=0)
    broker.start()
    try:
        topic = "flights"
        write(begin(broker.bootstrap_servers), topic, "a")
        url = f"http://{broker.admin_address}/describe/transactions"
        (described,) = json.load(urllib.request.urlopen(url, timeout=WAIT_S))
        assert (described["transactional_id"], described["state"]) == ("payments", "Ongoing")
        assert described["partitions"] == ["flights-0"]
        assert "unless it ends" in described["waits_for"]
    finally:
        broker.kill()


@pytest.mark.parametrize("committed", [True, False])
def test_a_decision_outlives_a_kill(tmp_path: Path, committed: bool) -> None:
    broker = BrokerProcess(tmp_path / "data", log_path=tmp_path / "log")
    broker.start()
    try:
        producer = begin(broker.bootstrap_servers)
        write(producer, "flights", "a", "b")
        if committed:
            producer.commit_transaction(WAIT_S)
        else:
            producer.abort_transaction(WAIT_S)
        broker.kill()
        broker.start()
        assert read(broker.bootstrap_servers, "flights") == (["a", "b"] if committed else [])
        successor = begin(broker.bootstrap_servers)
        write(successor, "flights", "c")
        successor.commit_transaction(WAIT_S)
        assert read(broker.bootstrap_servers, "flights")[-1] == "c"
    finally:
        broker.kill()
