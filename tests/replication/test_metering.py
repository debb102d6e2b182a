"""What is counted."""

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import CorruptRecord, InvalidRecord, StorageFailure
from odradek.base.ids import TopicPartition
from odradek.replication.metering import Meters, TopicMeter

p1, p2 = TopicPartition("flights", 1), TopicPartition("flights", 2)
OTHER = TopicPartition("weather", 0)


def test_requests_bytes_and_messages_are_counted_by_topic_and_in_total(bench):
    """R8."""
    for partition in (p1, p2, OTHER):
        bench.order(partition, isr=(1, 2))
    bench.produce(p1, p2, OTHER, acks=1, size_bytes=60)
    bench.follow(2, {p1: 0}, max_wait_ms=0)
    bench.follow(2, {p1: 1}, max_wait_ms=0)
    bench.consume({p1: 0}, max_wait_ms=0)
    flights = bench.manager.meters.of_topic("flights")
    assert flights == TopicMeter(
        produce_requests=2,
        fetch_requests=3,
        bytes_in=120,
        bytes_out=60,
        replication_bytes_out=60,
        messages_in=2,
    )
    total = bench.manager.meters.total()
    assert (total.produce_requests, total.bytes_in, total.messages_in) == (3, 180, 3)


def test_a_parked_fetch_is_one_fetch_and_its_bytes_are_counted_once(bench):
    """R8, F7."""
    bench.order(p1)
    bench.consume({p1: 0}, min_bytes=150)
    bench.produce(p1)
    bench.produce(p1)
    meter = bench.manager.meters.of_topic("flights")
    assert (meter.fetch_requests, meter.bytes_out) == (1, 200)


def test_only_unexpected_errors_are_failures(bench):
    """R8: not unknown, not leader, too large, corrupt, out of range."""
    bench.order(p1)
    bench.set_config(max_message_bytes=1000)
    bench.produce(p1, size_bytes=2000)
    bench.log(p1).fails_with = CorruptRecord("no")
    bench.produce(p1)
    bench.consume({p1: 0}, max_wait_ms=0)
    bench.log(p1).fails_with = None
    bench.consume({p1: 9})
    meter = bench.manager.meters.of_topic("flights")
    assert (meter.failed_produce_requests, meter.failed_fetch_requests) == (0, 0)
    bench.log(p1).fails_with = InvalidRecord("a count that does not match")
    bench.produce(p1)
    bench.log(p1).fails_with = StorageFailure("no")
    bench.produce(p1)
    assert meter.failed_produce_requests == 2


def test_a_name_from_the_wire_alone_is_not_counted(bench):
    """R8: or else strangers would fill the memory."""
    bench.produce(OTHER)
    bench.consume({OTHER: 0})
    assert list(bench.manager.meters.topics()) == []


def test_failures_of_fetches_are_told_apart_in_the_same_way():
    meter = Meters().of_topic("flights")
    meter.note_fetch_error(ErrorCode.OFFSET_OUT_OF_RANGE)
    meter.note_fetch_error(ErrorCode.KAFKA_STORAGE_ERROR)
    assert meter.failed_fetch_requests == 1
