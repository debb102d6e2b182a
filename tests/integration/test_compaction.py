"""L5 as a client sees it: compaction under virtual time, and by a process of its own."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

from odradek.testing import Broker

pytestmark = [pytest.mark.integration, pytest.mark.slow]

COMPACTED = {
    "cleanup.policy": "compact",
    "min.cleanable.dirty.ratio": "0.01",
    "segment.ms": "60000",
    "delete.retention.ms": "120000",
    "message.timestamp.type": "LogAppendTime",
}
WAIT_S_MAX = 30.0


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("compaction")


@pytest.fixture(scope="module")
def broker(data_dir: Path) -> Iterator[Broker]:
    with Broker(settings={"log.cleaner.backoff.ms": "1000"}, data_dir=data_dir) as running:
        yield running


def produce(broker: Broker, topic: str, facts: Sequence[tuple[str, str | None]]) -> None:
    """Of a producer of its own, whose last batch stays in the log, if only as a header."""
    settings = {"bootstrap.servers": broker.bootstrap_servers, "linger.ms": 5, "enable.idempotence": True}
    producer = Producer(settings)
    for key, value in facts:
        producer.produce(topic, key=key, value=value)
    assert producer.flush(WAIT_S_MAX) == 0


def consume(broker: Broker, topic: str, start: int = 0) -> dict[int, tuple[str, str | None]]:
    """Every record from an offset on, by its offset."""
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": "nobody",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )
    found: dict[int, tuple[str, str | None]] = {}
    consumer.assign([TopicPartition(topic, 0, start)])
    try:
        while True:
            message = consumer.poll(WAIT_S_MAX)
            assert message is not None, "neither a record nor the partition's end"
            error = message.error()
            if error is not None and error.code() == KafkaError._PARTITION_EOF:
                return found
            assert error is None, error
            offset, key, value = message.offset(), message.key(), message.value()
            assert offset is not None
            assert key is not None, "a compacted topic holds no record without a key"
            found[offset] = (key.decode(), None if value is None else value.decode())
    finally:
        consumer.close()


def until(holds: Callable[[], bool]) -> None:
    """Wait for what another process does on real time."""
    deadline_s = time.monotonic() + WAIT_S_MAX
    while not holds():
        assert time.monotonic() < deadline_s, "it did not come to hold"
        time.sleep(0.05)


def clean(broker: Broker, data_dir: Path, topic: str) -> int:
    """Let the active segment be over, and the cleaner come by; the offset of the only record behind it."""
    broker.clock.advance(seconds=61)
    produce(broker, topic, [("active", "segment")])
    end = max(consume(broker, topic))
    checkpoint = data_dir / "cleaner-offset-checkpoint"

    def is_cleaned() -> bool:
        broker.clock.advance(seconds=1)
        return checkpoint.exists() and f"{topic} 0 {end}\n" in checkpoint.read_text()

    until(is_cleaned)
    return end


def test_a_compacted_topic_keeps_the_last_record_of_each_key(broker: Broker, data_dir: Path) -> None:
    """L5"""
    topic = broker.create_topic(configs=COMPACTED)
    produce(broker, topic, [(f"k{number % 10}", str(number)) for number in range(1_000)])
    produce(broker, topic, [("k3", None)])
    end = clean(broker, data_dir, topic)
    expected = {number: (f"k{number % 10}", str(number)) for number in range(990, 1_000) if number != 993}
    kept = consume(broker, topic)
    assert kept == {**expected, 1_000: ("k3", None), end: ("active", "segment")}
    assert consume(broker, topic, start=500) == kept, "an offset that is gone leads to the next one"
    broker.clock.advance(seconds=120)
    end = clean(broker, data_dir, topic)
    kept = consume(broker, topic)
    assert 1_000 not in kept, "the tombstone's time is over"
    assert {**kept, **expected} == kept
    produce(broker, topic, [("k0", "again")])
    assert consume(broker, topic, start=end + 1) == {end + 1: ("k0", "again")}


def test_a_record_without_a_key_is_refused(broker: Broker) -> None:
    """L5: INVALID_RECORD"""
    topic = broker.create_topic(configs=COMPACTED)
    errors: list[KafkaError | None] = []
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    producer.produce(topic, value="v", on_delivery=lambda error, message: errors.append(error))
    assert producer.flush(WAIT_S_MAX) == 0
    assert [error and error.code() for error in errors] == [KafkaError.INVALID_RECORD]


def test_consumers_of_committed_records_see_none_that_were_rolled_back(
    broker: Broker, data_dir: Path
) -> None:
    """L5: also not between the cleanings that take them away."""
    topic = broker.create_topic(configs=COMPACTED)
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "transactional.id": topic})
    producer.init_transactions(WAIT_S_MAX)
    produce(broker, topic, [("k", "1")])
    producer.begin_transaction()
    producer.produce(topic, key="k", value="never")
    producer.flush()
    producer.abort_transaction(WAIT_S_MAX)
    for _ in range(3):
        clean(broker, data_dir, topic)
        assert dict(consume(broker, topic).values()) == {"k": "1", "active": "segment"}
        broker.clock.advance(seconds=121)


def closed_segments(data_dir: Path, topic: str) -> Mapping[str, int]:
    """Name -> size of every `.log` of a partition but the active one's, read again if one goes meanwhile."""
    while True:
        logs = sorted((data_dir / f"{topic}-0").glob("*.log"))
        try:
            return {path.name: path.stat().st_size for path in logs[:-1]}
        except FileNotFoundError:  # a cleaning replaced it between the listing and this
            continue


def test_a_broker_in_production_has_a_process_do_it(tmp_path: Path) -> None:
    """L5: and serves what it served, through a restart too."""
    settings = {"log.cleaner.backoff.ms": "200", "log.initial.task.delay.ms": "200"}
    configs = {**COMPACTED, "segment.bytes": "1048576"}
    facts = [(f"k{number % 50}", f"{number:0500d}") for number in range(12_000)]
    with Broker(process=True, data_dir=tmp_path, settings=settings) as broker:
        topic = broker.create_topic(configs=configs)
        produce(broker, topic, facts)
        until(lambda: sum(closed_segments(tmp_path, topic).values()) < 500_000)
        kept = consume(broker, topic)
        assert set(kept) >= set(range(11_950, 12_000))
        assert dict(kept.values()) == dict(facts)
        until(lambda: (tmp_path / "cleaner-offset-checkpoint").exists())
    with Broker(process=True, data_dir=tmp_path, settings=settings) as broker:
        assert dict(consume(broker, topic).values()) == dict(facts)
