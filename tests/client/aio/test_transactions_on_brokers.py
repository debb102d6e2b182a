"""Transactions over sockets, on a broker and on a cluster; another client reads what was committed."""

import asyncio
from collections.abc import Iterator
from uuid import uuid4

import pytest
from confluent_kafka import Consumer as ConfluentConsumer

import odradek
from odradek.aio import Consumer, Producer, ProducerFatal, TopicPartition
from odradek.testing import Broker, LocalCluster

pytestmark = [pytest.mark.slow, pytest.mark.integration]

Servers = Broker | LocalCluster


@pytest.fixture(scope="module", params=["broker", "cluster"])
def servers(request: pytest.FixtureRequest) -> Iterator[Servers]:
    with Broker() if request.param == "broker" else LocalCluster() as made:
        yield made


def committed(servers: Servers, topic: str, count: int) -> list[bytes]:
    """The first values that librdkafka reads, with read_committed."""
    settings = {
        "bootstrap.servers": servers.bootstrap_servers,
        "group.id": uuid4().hex,
        "auto.offset.reset": "earliest",
    }
    consumer = ConfluentConsumer(settings)
    consumer.subscribe([topic])
    found: list[bytes] = []
    try:
        while len(found) < count:
            for message in consumer.consume(count - len(found), 10):
                value = message.value()
                assert value is not None
                found.append(value)
    finally:
        consumer.close()
    return found


def test_what_is_read_and_written_in_transactions_is_processed_once(servers: Servers) -> None:
    source = servers.create_topic(f"numbers-{uuid4().hex}", partitions=1)
    target = servers.create_topic(f"squares-{uuid4().hex}", partitions=1)
    servers.produce(source, *[str(number) for number in range(50)])

    async def run(stops_after: int) -> None:
        consumer = Consumer(
            source,
            bootstrap_servers=servers.bootstrap_servers,
            group_id=source,
            settings={"auto.offset.reset": "earliest", "enable.auto.commit": False},
        )
        async with consumer, Producer(servers.bootstrap_servers, transactional_id=source) as producer:
            await producer.init_transactions()
            while True:
                records = await consumer.poll(timeout=10, max_records=8)
                await producer.begin_transaction()
                for record in records:
                    assert isinstance(record.value, bytes)
                    await producer.send(target, b"%d" % int(record.value) ** 2)
                last = records[-1].offset
                await producer.send_offsets_to_transaction(
                    {TopicPartition(source, 0): last + 1}, consumer.group_metadata()
                )
                if last >= stops_after:
                    return
                await producer.commit_transaction()
                if last == 49:
                    return

    asyncio.run(run(20))
    asyncio.run(run(100))
    assert committed(servers, target, 50) == [b"%d" % number**2 for number in range(50)]


def test_a_blocking_producer_commits_and_aborts(servers: Servers) -> None:
    topic = servers.create_topic(f"orders-{uuid4().hex}", partitions=1)
    with odradek.Producer(servers.bootstrap_servers, transactional_id=topic) as producer:
        for number in range(6):
            try:
                with producer.transaction():
                    producer.send(topic, b"%d" % number)
                    if number % 2:
                        raise ZeroDivisionError
            except ZeroDivisionError:
                assert number % 2
        producer.begin_transaction()
        sent = [producer.send(topic, b"a"), producer.send(topic, b"b")]
        producer.send_offsets_to_transaction({odradek.TopicPartition(topic, 0): 1}, f"group of {topic}")
        producer.commit_transaction()
        assert [one.result(0).partition for one in sent] == [0, 0]
        producer.begin_transaction()
        lost = producer.send(topic, b"lost")
        producer.abort_transaction()
        assert lost.done()
        producer.begin_transaction()
        with odradek.Producer(servers.bootstrap_servers, transactional_id=topic) as newer:
            newer.init_transactions()
            with newer.transaction():
                newer.send(topic, b"newer")
        producer.send(topic, b"late")
        with pytest.raises(odradek.ApiError):
            producer.commit_transaction()
        with pytest.raises(ProducerFatal, match="another producer"):
            producer.abort_transaction()
    assert committed(servers, topic, 6) == [b"0", b"2", b"4", b"a", b"b", b"newer"]
