"""What tests do with topics, groups and faults: the same in this process and in a process of its own."""

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import pytest
from confluent_kafka import Consumer, KafkaError, Producer

from odradek import Admin
from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError, OdradekError
from odradek.base.ids import TopicPartition
from odradek.net.request_pipeline import ConnectionFailed
from odradek.server.faults.rules import HELPERS_CLIENT_ID
from odradek.testing import Broker
from odradek.testing.deadline import WaitTimeout
from tests.heartbeats import heartbeats_every

pytestmark = [pytest.mark.integration, pytest.mark.slow]

WAIT_S = 30.0
QUIET = {"log_level": 0, "retry.backoff.ms": 10}
HEARTBEAT_MS = 200
"""The interval of heartbeats, and of automatic commits."""


@pytest.fixture(scope="module", params=[False, True], ids=["thread", "process"])
def module_broker(request: pytest.FixtureRequest) -> Iterator[Broker]:
    with Broker(process=request.param, settings=heartbeats_every(HEARTBEAT_MS)) as running:
        yield running


@pytest.fixture
def broker(module_broker: Broker) -> Iterator[Broker]:
    yield module_broker
    module_broker.clear_faults()
    module_broker.start()


@pytest.fixture
def topic(broker: Broker) -> str:
    return broker.create_topic(partitions=3)


def producer_of(broker: Broker, **settings: object) -> Producer:
    return Producer({"bootstrap.servers": broker.bootstrap_servers, **QUIET, **settings})


@pytest.fixture
def consumer(broker: Broker, topic: str) -> Iterator[Consumer]:
    found = Consumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": f"readers-of-{topic}",
            "client.id": "reader",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "heartbeat.interval.ms": HEARTBEAT_MS,
            "fetch.error.backoff.ms": 10,
            **QUIET,
        }
    )
    found.subscribe([topic])
    yield found
    found.close()


# --- records


def test_records_come_back_as_they_were_written(broker: Broker, topic: str) -> None:
    at = datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=UTC)
    written = broker.produce(
        topic, "a", b"\xff", None, key="k", headers={"h": "x", "none": None}, partition=1, timestamp=at
    )
    assert broker.records(topic) == written
    assert [record.offset for record in written] == [0, 1, 2]
    first = written[0]
    assert (first.topic, first.partition, first.key, first.value) == (topic, 1, b"k", b"a")
    assert first.headers == (("h", b"x"), ("none", None))
    assert (first.timestamp, first.text) == (at, "a")
    assert broker.records(topic, partition=0) == []
    with pytest.raises(ValueError, match="tombstone"):
        _ = written[2].text


def test_a_key_goes_where_librdkafka_sends_it(broker: Broker, topic: str) -> None:
    producer = producer_of(broker, partitioner="murmur2")
    for number in range(20):
        producer.produce(topic, b"theirs", key=f"key-{number}")
    producer.flush(WAIT_S)
    theirs = {record.key: record.partition for record in broker.records(topic)}
    assert len(set(theirs.values())) == 3
    for number in range(20):
        (ours,) = broker.produce(topic, "ours", key=f"key-{number}")
        assert ours.partition == theirs[ours.key]


def test_records_without_a_key_go_to_the_partitions_in_turn(broker: Broker, topic: str) -> None:
    broker.produce(topic, *"abcd")
    assert [(one.partition, one.text) for one in broker.records(topic)] == [
        (0, "a"),
        (0, "d"),
        (1, "b"),
        (2, "c"),
    ]


def test_more_than_one_batch_of_records(broker: Broker, topic: str) -> None:
    values = [f"{number:05}" * 1000 for number in range(300)]
    broker.produce(topic, *values, partition=0)
    assert [record.text for record in broker.records(topic)] == values


def test_compressed_records(broker: Broker, topic: str) -> None:
    for codec in ("gzip", "snappy", "lz4", "zstd"):
        producer = producer_of(broker, **{"compression.type": codec})
        producer.produce(topic, codec.encode() * 50, partition=0)
        producer.flush(WAIT_S)
    texts = [record.text for record in broker.records(topic)]
    assert texts == [codec * 50 for codec in ("gzip", "snappy", "lz4", "zstd")]


def test_what_a_transaction_has_not_committed_is_seen_only_if_it_is_asked_for(
    broker: Broker, topic: str
) -> None:
    producer = producer_of(broker, **{"transactional.id": f"of-{topic}"})
    producer.init_transactions(WAIT_S)
    for value, end in ((b"kept", producer.commit_transaction), (b"dropped", producer.abort_transaction)):
        producer.begin_transaction()
        producer.produce(topic, value, partition=0)
        producer.flush(WAIT_S)
        end(WAIT_S)
    producer.begin_transaction()
    producer.produce(topic, b"open", partition=0)
    producer.flush(WAIT_S)
    assert [one.text for one in broker.records(topic)] == ["kept"]
    everything = broker.records(topic, isolation="read_uncommitted")
    assert [one.text for one in everything] == ["kept", "dropped", "open"]
    producer.abort_transaction(WAIT_S)


def test_a_topic_that_does_not_exist(broker: Broker) -> None:
    with pytest.raises(ApiError) as error:
        broker.records("nowhere")
    assert error.value.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert "nowhere" not in broker.topics()


def test_waiting_for_records_of_a_topic_that_is_still_to_come(broker: Broker, topic: str) -> None:
    name = f"{topic}-later"
    writing = threading.Timer(0.1, lambda: broker.produce(name, "a", "b", "c"))
    writing.start()
    records = broker.wait_for(name, 2, where=lambda record: record.text != "b")
    writing.join()
    assert [record.text for record in records] == ["a", "c"]


def test_a_wait_in_vain_says_what_was_there(broker: Broker, topic: str) -> None:
    broker.produce(topic, "lamp")
    with pytest.raises(WaitTimeout, match=f"{topic} has 1 of 2 records after 0.1 s") as error:
        broker.wait_for(topic, 2, timeout=0.1)
    assert "b'lamp'" in str(error.value)
    with pytest.raises(WaitTimeout, match=r"nowhere has 0 of 1 records .* there is no topic nowhere"):
        broker.wait_for("nowhere", timeout=0.1)


# --- groups


def test_a_group_at_rest_and_without_lag(broker: Broker, topic: str, consumer: Consumer) -> None:
    group = f"readers-of-{topic}"
    with pytest.raises(WaitTimeout, match=r"no group nobody; waited 0\.1 s for any members at rest"):
        broker.wait_group_at_rest("nobody", timeout=0.1)
    broker.produce(topic, "a", "b", "c")
    messages = consumer.consume(3, WAIT_S)
    described = broker.wait_group_at_rest(group, members=1)
    assert (described.state, described.members[0].client) == ("Stable", "reader")
    with pytest.raises(WaitTimeout, match=f"group {group} is behind: {topic}-0 by 1"):
        broker.wait_lag_zero(group, timeout=0.1)
    for message in messages:
        consumer.commit(message=message, asynchronous=False)
    broker.wait_lag_zero(group)
    broker.wait_lag_zero(group, topic)
    consumer.close()
    assert broker.wait_group_at_rest(group, members=0).state == "Empty"


def test_a_group_by_its_name_has_the_same_waits(broker: Broker, topic: str, consumer: Consumer) -> None:
    group = broker.group(f"readers-of-{topic}")
    broker.produce(topic, "a", partition=0)
    (message,) = consumer.consume(1, WAIT_S)
    assert group.stable(members=1).members[0].client == "reader"
    with pytest.raises(WaitTimeout, match=f"group {group.name} is behind"):
        group.lag_zero(topic, timeout=0.1)
    consumer.commit(message=message, asynchronous=False)
    assert len(group.lag_zero(topic)) == 3
    with pytest.raises(WaitTimeout, match="no group nobody"):
        broker.group("nobody").position_resolved(timeout=0.1)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_what_is_written_when_positions_are_resolved_is_read_from_the_latest(
    broker: Broker, topic: str, protocol: str
) -> None:
    """Without the wait a record may come before the consumer has looked where the end is, and is lost."""
    broker.produce(topic, "old", partition=0)
    name = f"latest-of-{topic}-{protocol}"
    consumers = [
        Consumer(
            {
                "bootstrap.servers": broker.bootstrap_servers,
                "group.id": name,
                "group.protocol": protocol,
                "client.id": f"latest-{number}",
                "auto.offset.reset": "latest",
                "auto.commit.interval.ms": HEARTBEAT_MS,
                **({"heartbeat.interval.ms": HEARTBEAT_MS} if protocol == "classic" else {}),
                **QUIET,
            }
        )
        for number in range(2)
    ]
    read: list[bytes | None] = []
    is_over = threading.Event()

    def poll(consumer: Consumer) -> None:
        consumer.subscribe([topic])
        while not is_over.is_set():
            read.extend(one.value() for one in consumer.consume(10, 0.05))
        consumer.close()

    threads = [threading.Thread(target=poll, args=[consumer]) for consumer in consumers]
    for one in threads:
        one.start()
    group = broker.group(name)
    found = group.position_resolved(members=2)
    assert sorted(len(one.partitions) for one in found.members) == [1, 2]
    for partition in range(3):
        broker.produce(topic, f"new-{partition}", partition=partition)
    group.lag_zero(topic)
    is_over.set()
    for one in threads:
        one.join()
    assert sorted(filter(None, read)) == [b"new-0", b"new-1", b"new-2"]


def test_the_marker_of_a_transaction_is_no_lag(broker: Broker, topic: str, consumer: Consumer) -> None:
    producer = producer_of(broker, **{"transactional.id": f"of-{topic}"})
    producer.init_transactions(WAIT_S)
    producer.begin_transaction()
    producer.produce(topic, b"a", partition=0)
    producer.commit_transaction(WAIT_S)
    (message,) = consumer.consume(1, WAIT_S)
    consumer.commit(message=message, asynchronous=False)
    (row, *_) = broker.wait_lag_zero(f"readers-of-{topic}", topic)
    assert (row.committed, row.end) == (1, 2)


# --- coroutines


def test_coroutines_wait_without_holding_up_their_loop(broker: Broker, topic: str) -> None:
    async def application() -> None:
        await asyncio.sleep(0.05)
        await broker.aio.produce(topic, "a")

    async def scenario() -> list[str]:
        task = asyncio.create_task(application())
        records = await broker.aio.wait_for(topic, 1)
        await task
        return [record.text for record in records]

    assert asyncio.run(scenario()) == ["a"]


def test_a_broker_is_an_asynchronous_context_manager_too() -> None:
    async def scenario() -> bool:
        async with Broker() as broker:
            await broker.aio.produce("orders", "a")
            await broker.aio.restart()
            assert [record.text for record in await broker.aio.records("orders")] == ["a"]
        return broker.is_running

    assert not asyncio.run(scenario())


# --- faults


def test_an_error_for_a_topic_is_met_and_counted(broker: Broker, topic: str) -> None:
    other = broker.create_topic()
    fault = broker.faults.error("Produce", "NOT_LEADER_OR_FOLLOWER", topic=topic, times=2)
    producer = producer_of(broker)
    producer.produce(other, b"a")
    producer.flush(WAIT_S)
    assert fault.hits == 0
    producer.produce(topic, b"a", partition=0)
    producer.flush(WAIT_S)
    fault.wait_hit(2)
    assert fault.hits == 2
    assert [record.text for record in broker.records(topic)] == ["a"]
    fault.remove()
    assert fault.hits == 2, "also when it is gone"


@pytest.mark.parametrize(("idempotent", "copies"), [(True, 1), (False, 2)])
def test_an_answer_that_is_lost(broker: Broker, topic: str, idempotent: bool, copies: int) -> None:
    with broker.faults.drop("Produce", times=1):
        producer = producer_of(broker, **{"enable.idempotence": idempotent})
        producer.produce(topic, b"a", partition=0)
        producer.flush(WAIT_S)
    assert [record.text for record in broker.records(topic)] == ["a"] * copies


def test_a_consumer_reads_on_after_errors_of_fetches(broker: Broker, topic: str, consumer: Consumer) -> None:
    broker.produce(topic, "a", partition=0)
    assert [message.value() for message in consumer.consume(1, WAIT_S)] == [b"a"]
    fault = broker.faults.error("Fetch", "NOT_LEADER_OR_FOLLOWER", topic=topic, client="reader", times=2)
    fault.wait_hit(2)
    broker.produce(topic, "b", partition=0)
    assert [message.value() for message in consumer.consume(1, WAIT_S)] == [b"b"]


def test_connections_are_refused_and_dropped(broker: Broker, topic: str) -> None:
    with broker.faults.refuse_connections(), pytest.raises(ConnectionFailed):
        broker.records(topic)
    assert broker.records(topic) == []
    producer = producer_of(broker)
    producer.produce(topic, b"a", partition=0)
    producer.flush(WAIT_S)
    assert broker.faults.drop_connections() >= 1
    producer.produce(topic, b"b", partition=0)
    producer.flush(WAIT_S)
    assert [record.text for record in broker.records(topic)] == ["a", "b"]


def test_a_full_disk_ends_the_broker_and_its_data_is_there_again(broker: Broker, topic: str) -> None:
    broker.produce(topic, "a", partition=0)
    broker.faults.full_disk()
    with pytest.raises((ApiError, ConnectionFailed)):
        broker.produce(topic, "b", partition=0)
    deadline = threading.Event()
    for _ in range(600):
        if not broker.is_running:
            break
        deadline.wait(0.05)
    assert not broker.is_running
    broker.start()
    assert [record.text for record in broker.produce(topic, "c", partition=0)] == ["c"]
    assert [record.text for record in broker.records(topic)] == ["a", "c"]


def test_a_restart_brings_back_a_broker_whose_disk_was_full(broker: Broker, topic: str) -> None:
    broker.faults.full_disk()
    with pytest.raises((ApiError, ConnectionFailed)):
        broker.produce(topic, "a", partition=0)
    broker.restart()
    assert [record.text for record in broker.produce(topic, "b", partition=0)] == ["b"]


def test_a_broker_whose_disk_was_full_is_started_again_when_faults_are_cleared(
    broker: Broker, topic: str
) -> None:
    """It may be about to end."""
    host, _, port = broker.bootstrap_servers.partition(":")
    with socket.create_connection((host, int(port)), WAIT_S) as connection:
        broker.faults.full_disk()
        broker.clear_faults()
        assert connection.recv(1) == b""
    assert [record.text for record in broker.produce(topic, "a", partition=0)] == ["a"]


def test_a_slow_disk_delays_what_is_written(broker: Broker, topic: str) -> None:
    with broker.faults.slow_disk(0.05):
        assert broker.produce(topic, "a", partition=0)[0].offset == 0
        assert [one["ms"] for one in broker.faults.rules()] == [50]
    assert broker.faults.rules() == []


def test_a_member_that_expires_joins_again(broker: Broker, topic: str, consumer: Consumer) -> None:
    broker.produce(topic, "a", partition=0)
    consumer.consume(1, WAIT_S)
    group = f"readers-of-{topic}"
    (before,) = broker.wait_group_at_rest(group).members
    assert broker.faults.expire_member(group, "reader") == [before.member]
    broker.produce(topic, "b", partition=0)
    values = [message.value() for message in consumer.consume(2, 5.0)]
    assert b"b" in values
    (after,) = broker.wait_group_at_rest(group).members
    assert after.member != before.member


def test_a_producer_is_forgotten(broker: Broker, topic: str) -> None:
    producer = producer_of(broker, **{"enable.idempotence": True})
    producer.produce(topic, b"a", partition=0)
    producer.flush(WAIT_S)
    with Admin(broker.bootstrap_servers) as admin:
        found = admin.describe_producers([TopicPartition(topic, 0)])
    (known,) = found[TopicPartition(topic, 0)]
    assert broker.faults.lose_producer_id(known.producer_id) == [f"{topic}-0"]
    assert broker.faults.lose_producer_id(known.producer_id) == []


def test_a_fault_for_all_clients_meets_one_that_is_called_odradek_and_not_the_brokers_own_verbs(
    broker: Broker, topic: str
) -> None:
    with broker.faults.error("Metadata", "CLUSTER_AUTHORIZATION_FAILED") as fault:
        broker.produce(topic, "a")
        assert broker.wait_for(topic, 1)[0].text == "a"
        assert fault.hits == 0
        with (
            Admin(broker.bootstrap_servers) as admin,
            pytest.raises(ApiError, match="cluster authorization failed"),
        ):
            admin.describe_topics([topic])
        assert fault.hits >= 1


def test_a_restart_ends_all_faults(broker: Broker, topic: str) -> None:
    broker.faults.error("Produce", "TOPIC_AUTHORIZATION_FAILED", client=HELPERS_CLIENT_ID)
    with pytest.raises(ApiError, match="topic authorization failed"):  # not retried, unlike most
        broker.produce(topic, "a")
    broker.restart()
    assert broker.faults.rules() == []
    broker.produce(topic, "a")


def test_what_is_no_fault_is_refused_with_the_same_words(broker: Broker) -> None:
    calls: list[Callable[[], object]] = [
        lambda: broker.faults.error("Produce", "NO_SUCH_ERROR"),
        lambda: broker.faults.error("produce", "NOT_LEADER_OR_FOLLOWER"),
        lambda: broker.faults.expire_member("nobody", "reader"),
    ]
    for call in calls:
        with pytest.raises(OdradekError, match="there is no"):
            call()


def test_an_error_that_clients_do_not_retry(broker: Broker, topic: str) -> None:
    broker.faults.error("Produce", "TOPIC_AUTHORIZATION_FAILED", topic=topic)
    reports: list[object] = []
    producer = producer_of(broker)
    producer.produce(topic, b"a", on_delivery=lambda error, _: reports.append(error))
    producer.flush(WAIT_S)
    (error,) = reports
    assert isinstance(error, KafkaError)
    assert error.code() == ErrorCode.TOPIC_AUTHORIZATION_FAILED
