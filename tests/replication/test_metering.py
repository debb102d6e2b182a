"""What is counted."""

import errno

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import TopicPartition
from odradek.base.settings import TopicConfig
from odradek.records.header import read_header
from odradek.replication.metering import Meters, TopicMeter
from odradek.storage.memory_files import Fault
from tests.replication.replica_bench import BATCH_BYTES, ProduceAnswers, ReplicaBench, batch_of

p1, p2 = TopicPartition("flights", 1), TopicPartition("flights", 2)
OTHER = TopicPartition("weather", 0)


def test_requests_bytes_and_messages_are_counted_by_topic_and_in_total(bench: ReplicaBench) -> None:
    """R8."""
    for partition in (p1, p2, OTHER):
        bench.order(partition, isr=(1, 2))
    bench.produce(p1, p2, OTHER, acks=1, size_bytes=80)
    bench.follow(2, {p1: 0}, max_wait_ms=0)
    bench.follow(2, {p1: 1}, max_wait_ms=0)
    bench.consume({p1: 0}, max_wait_ms=0)
    flights = bench.manager.meters.of_topic("flights")
    assert flights == TopicMeter(
        produce_requests=2,
        fetch_requests=3,
        bytes_in=160,
        bytes_out=80,
        replication_bytes_out=80,
        messages_in=2,
    )
    total = bench.manager.meters.total()
    assert (total.produce_requests, total.bytes_in, total.messages_in) == (3, 240, 3)


def test_a_parked_fetch_is_one_fetch_and_its_bytes_are_counted_once(bench: ReplicaBench) -> None:
    """R8, F7."""
    bench.order(p1)
    bench.consume({p1: 0}, min_bytes=150)
    bench.produce(p1)
    bench.produce(p1)
    meter = bench.manager.meters.of_topic("flights")
    assert (meter.fetch_requests, meter.bytes_out) == (1, 200)


def test_only_unexpected_errors_are_failures(bench: ReplicaBench) -> None:
    """R8: not unknown, not leader, too large, corrupt, out of range."""
    bench.order(p1)
    bench.set_config(TopicConfig(max_message_bytes=1000))
    bench.produce(p1, size_bytes=2000)
    bench.produce(p1)
    bench.produce(p1)
    bench.damage(p1)
    assert (
        bench.consume({p1: 0}, max_wait_ms=0, partition_max_bytes=150).only[0].error_code
        is ErrorCode.CORRUPT_MESSAGE
    )
    bench.consume({p1: 9})
    meter = bench.manager.meters.of_topic("flights")
    assert (meter.failed_produce_requests, meter.failed_fetch_requests) == (0, 0)
    miscounted = bytearray(batch_of(BATCH_BYTES, 0))
    header = read_header(miscounted)
    header.record_count = 2
    header.seal_into(miscounted)
    bench.manager.append({p1: miscounted}, acks=1, timeout_ms=0, later=ProduceAnswers())
    bench.files.inject(Fault("write", errno.EIO))
    bench.produce(p1)
    assert meter.failed_produce_requests == 2


def test_a_name_from_the_wire_alone_is_not_counted(bench: ReplicaBench) -> None:
    """R8: or else strangers would fill the memory."""
    bench.produce(OTHER)
    bench.consume({OTHER: 0})
    assert list(bench.manager.meters.topics()) == []


def test_failures_of_fetches_are_told_apart_in_the_same_way() -> None:
    meter = Meters().of_topic("flights")
    meter.note_fetch_error(ErrorCode.OFFSET_OUT_OF_RANGE)
    meter.note_fetch_error(ErrorCode.KAFKA_STORAGE_ERROR)
    assert meter.failed_fetch_requests == 1
