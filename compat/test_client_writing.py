"""Behaviour of our producers, blocking and asyncio: the same on Odradek and on Apache Kafka."""

import time
from collections.abc import Callable

import pytest
from peers.waiting import wait_until

from compat.shells import Blocking
from odradek import ApiError, Consumer, ConsumerRecord, ErrorCode, ProducerFatal, TopicPartition

SEND_S_MAX = 30
JAVA_HASHES = {
    b"21": -973932308,
    b"foobar": -790332482,
    b"a-little-bit-long-string": -985981536,
    b"a-little-bit-longer-string": -1486304829,
    b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
    b"abc": 479470107,
}
"""murmur2 of keys, as Apache Kafka's own test of it (UtilsTest) has them."""


def read(consumer: Consumer, count: int) -> list[ConsumerRecord]:
    """That many records; fails if they do not come."""
    found: list[ConsumerRecord] = []

    def are_there() -> bool:
        found.extend(consumer.poll(0.2))
        return len(found) >= count

    wait_until(are_there, f"there are fewer than {count} records")
    return found


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_a_record_comes_back_as_it_was_written(shell: Blocking, topic: str, codec: str) -> None:
    now_ms = int(time.time() * 1000)
    headers = [("a", b"1"), ("a", None), ("b", b"")]
    with shell.producer(compression_type=codec, linger_ms=20) as producer:
        sent = [
            producer.send(topic, b"value" * number, key=b"k", headers=headers, timestamp_ms=now_ms + number)
            for number in range(20)
        ]
        sent.append(producer.send(topic, None, key=b"gone", timestamp_ms=now_ms))
        assert [one.result(SEND_S_MAX).offset for one in sent] == list(range(21))
    with shell.consumer() as consumer:
        consumer.assign([TopicPartition(topic, 0)])
        *values, gone = read(consumer, 21)
    assert [one.value for one in values] == [b"value" * number for number in range(20)]
    assert [one.timestamp - now_ms for one in values] == list(range(20))
    assert [one.headers for one in values] == [tuple(headers)] * 20
    assert (gone.key, gone.value, list(gone.headers)) == (b"gone", None, [])


@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_every_kind_of_acks_stores_the_records(shell: Blocking, topic: str, acks: str) -> None:
    with shell.producer(acks=acks) as producer:
        receipts = [producer.send(topic, b"%d" % number).result(SEND_S_MAX) for number in range(5)]
    offsets = [None] * 5 if acks == "0" else list(range(5))
    assert [one.offset for one in receipts] == offsets
    with shell.consumer() as consumer:
        consumer.assign([TopicPartition(topic, 0)])
        assert [one.value for one in read(consumer, 5)] == [b"%d" % number for number in range(5)]


def test_keys_go_where_javas_producer_puts_them(shell: Blocking, new_topic: Callable[..., str]) -> None:
    topic = new_topic(partitions=7)
    with shell.producer() as producer:
        for key, hashed in JAVA_HASHES.items():
            receipt = producer.send(topic, b"value", key=key).result(SEND_S_MAX)
            assert receipt.partition == (hashed & 0x7FFFFFFF) % 7


def test_an_idempotent_producer_keeps_its_order_with_many_requests_at_once(
    shell: Blocking, topic: str
) -> None:
    with shell.producer(enable_idempotence=True, batch_size=200) as producer:
        sent = [producer.send(topic, b"%d" % number) for number in range(500)]
        assert [one.result(SEND_S_MAX).offset for one in sent] == list(range(500))


def test_a_record_that_is_too_large_fails_alone(shell: Blocking, new_topic: Callable[..., str]) -> None:
    topic = new_topic(max_message_bytes=2_000)
    with shell.producer(linger_ms=50) as producer:
        small, large, last = (producer.send(topic, b"x" * size) for size in (10, 5_000, 20))
        assert isinstance(large.exception(SEND_S_MAX), ApiError)
        with pytest.raises(ApiError) as refused:
            large.result(SEND_S_MAX)
        assert refused.value.code is ErrorCode.MESSAGE_TOO_LARGE
        assert {small.result(SEND_S_MAX).offset, last.result(SEND_S_MAX).offset} == {0, 1}


def test_a_topic_with_an_invalid_name_is_refused(shell: Blocking) -> None:
    with shell.producer(max_block_ms=20_000) as producer, pytest.raises(ApiError) as refused:
        producer.send("no/such/name", b"value").result(SEND_S_MAX)
    assert refused.value.code is ErrorCode.INVALID_TOPIC_EXCEPTION


def test_committed_records_are_read_and_aborted_ones_only_uncommitted(
    shell: Blocking, topic: str, fresh_name: Callable[[], str]
) -> None:
    with shell.producer(transactional_id=fresh_name()) as producer:
        producer.init_transactions()
        for value in (b"one", b"aborted", b"two"):
            producer.begin_transaction()
            producer.send(topic, value).result(SEND_S_MAX)
            if value == b"aborted":
                producer.abort_transaction()
            else:
                producer.commit_transaction()
    expected = {"read_committed": [b"one", b"two"], "read_uncommitted": [b"one", b"aborted", b"two"]}
    for level, values in expected.items():
        with shell.consumer(isolation_level=level) as consumer:
            consumer.assign([TopicPartition(topic, 0)])
            assert [one.value for one in read(consumer, len(values))] == values


def test_offsets_are_committed_and_aborted_with_their_transaction(
    shell: Blocking, topic: str, fresh_name: Callable[[], str]
) -> None:
    first, group = TopicPartition(topic, 0), fresh_name()
    with (
        shell.producer(transactional_id=fresh_name()) as producer,
        shell.consumer(topic, group_id=group, enable_auto_commit=False) as consumer,
    ):
        producer.init_transactions()
        producer.begin_transaction()
        producer.send(topic, b"value").result(SEND_S_MAX)
        producer.commit_transaction()
        read(consumer, 1)
        producer.begin_transaction()
        producer.send_offsets_to_transaction({first: 1}, consumer.group_metadata())
        producer.abort_transaction()
        assert consumer.committed([first]) == {first: None}
        producer.begin_transaction()
        producer.send_offsets_to_transaction({first: 1}, consumer.group_metadata())
        producer.commit_transaction()
        committed = consumer.committed([first])[first]
        assert committed is not None
        assert committed.offset == 1


def test_a_newer_producer_fences_the_older(
    shell: Blocking, topic: str, fresh_name: Callable[[], str]
) -> None:
    name = fresh_name()
    with shell.producer(transactional_id=name) as older, shell.producer(transactional_id=name) as newer:
        older.init_transactions()
        older.begin_transaction()
        older.send(topic, b"older").result(SEND_S_MAX)
        newer.init_transactions()
        with pytest.raises(ProducerFatal):
            older.commit_transaction()
        newer.begin_transaction()
        newer.send(topic, b"newer").result(SEND_S_MAX)
        newer.commit_transaction()
    with shell.consumer(isolation_level="read_committed") as consumer:
        consumer.assign([TopicPartition(topic, 0)])
        assert [one.value for one in read(consumer, 1)] == [b"newer"]


def test_a_topic_or_partition_that_cannot_be_is_refused_at_once_or_after_max_block_ms(
    shell: Blocking, topic: str
) -> None:
    with shell.producer(max_block_ms=1_500) as producer:
        with pytest.raises(ApiError) as invalid:
            producer.send("no/topic", b"value").result(SEND_S_MAX)
        assert invalid.value.code is ErrorCode.INVALID_TOPIC_EXCEPTION
        begun = time.monotonic()
        with pytest.raises(ApiError, match=f"partition 7 of topic {topic} is not known") as missing:
            producer.send(topic, b"value", partition=7).result(SEND_S_MAX)
        assert missing.value.code is ErrorCode.REQUEST_TIMED_OUT
        assert time.monotonic() - begun >= 1.4  # it may be made until then; clients count in milliseconds
        assert producer.send(topic, b"value", partition=0).result(SEND_S_MAX).offset == 0
