"""Requests whose records take long to look at: nothing of them is done in one piece, and nothing twice."""

import uuid
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import InvalidRecord
from odradek.base.ids import TopicPartition
from odradek.records.builder import BatchBuilder
from odradek.records.compression import Codec
from odradek.records.framing import DECOMPRESSED_USUAL_BYTES_MAX
from odradek.records.record_check import RECORDS_PER_STEP
from odradek.records.work import Away, RecordSteps
from odradek.server.node import orphans
from odradek.storage import appending
from odradek.testing.sim import SimNode
from odradek.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from odradek.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

FLIGHTS = TopicPartition("flights", 0)
NOW_MS = 1_700_000_000_000
VERSION = 12  # the last one of Produce with names of topics

pytestmark = pytest.mark.usefixtures("topic_id")


@pytest.fixture
def topic_id(node: SimNode) -> uuid.UUID:
    """The topic "flights" with two partitions."""
    request = CreateTopicsRequest([CreatableTopic("flights", 2, 1)], timeout_ms=1000)
    return node.ask(request).topics[0].topic_id


def never(result: object) -> None:
    raise AssertionError(f"an event although the call returned the result: {result}")


def batch_of(
    count: int, *, value: bytes = b"", codec: Codec = Codec.NONE, producer_id: int = -1, sequence: int = -1
) -> bytes:
    """A batch of `count` records, one a millisecond."""
    builder = BatchBuilder(
        codec=codec, producer_id=producer_id, producer_epoch=min(producer_id, 0), base_sequence=sequence
    )
    for number in range(count):
        builder.append(NOW_MS + number, None, value)
    return bytes(builder.build())


def produce(batches: Mapping[int, bytes]) -> ProduceRequest:
    parts = [PartitionProduceData(partition, records) for partition, records in batches.items()]
    return ProduceRequest(None, 1, 1000, [TopicProduceData("flights", partition_data=parts)])


def walk(work: RecordSteps[Any]) -> tuple[Any, list[Away | None]]:
    """Do the work; what it returned, and its steps."""
    taken: list[Away | None] = []
    advance: Callable[[], Away | None] = partial(next, work)
    while True:
        try:
            step = advance()
        except StopIteration as end:
            return end.value, taken
        taken.append(step)
        try:
            advance = partial(work.send, None if step is None else step.call())
        except InvalidRecord as error:
            advance = partial(work.throw, error)


def test_tiny_records_are_checked_a_few_hundred_at_a_time(node: SimNode) -> None:
    entries = {FLIGHTS: batch_of(4_000), TopicPartition("flights", 1): batch_of(2_000)}
    checked, taken = walk(node.core.replicas.check(entries))
    assert [len(one.records.headers) for one in checked.values()] == [1, 1]
    assert len(taken) >= 6_000 // RECORDS_PER_STEP


def test_the_headers_of_records_are_checked_a_few_hundred_at_a_time(node: SimNode) -> None:
    builder = BatchBuilder()
    for number in range(3):
        builder.append(NOW_MS, None, b"", ((b"", None),) * (10_000 * number))
    checked, taken = walk(node.core.replicas.check({FLIGHTS: bytes(builder.build())}))
    assert len(checked[FLIGHTS].records.headers) == 1
    assert len(taken) >= 30_000 // RECORDS_PER_STEP


def test_the_records_to_blame_are_looked_for_a_few_hundred_at_a_time(node: SimNode) -> None:
    builder = BatchBuilder()
    for number in range(4_000):
        builder.append(NOW_MS if number < 3_999 else 1 << 50, None, b"")
    checked, taken = walk(node.core.replicas.check({FLIGHTS: bytes(builder.build())}))
    assert [number for number, _ in checked[FLIGHTS].records] == [3_999]
    assert len(taken) >= 2 * 4_000 // RECORDS_PER_STEP


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
def test_what_is_large_uncompressed_is_decompressed_elsewhere(node: SimNode, codec: Codec) -> None:
    _, taken = walk(node.core.replicas.check({FLIGHTS: batch_of(3, codec=codec)}))
    assert not any(taken), "small ones are not worth the way"
    batch = batch_of(1, value=bytes(DECOMPRESSED_USUAL_BYTES_MAX), codec=codec)
    checked, taken = walk(node.core.replicas.check({FLIGHTS: batch}))
    assert checked[FLIGHTS].records.headers[0].record_count == 1
    away = [step for step in taken if step is not None]
    assert [step.bytes_max > DECOMPRESSED_USUAL_BYTES_MAX for step in away] == [False, True, False]
    assert away[-1].bytes_max == 0, "the last one gives the memory back"


def test_the_log_does_not_validate_again(node: SimNode, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(appending, "validate", None)
    answer = node.ask(produce({0: batch_of(5000), 1: batch_of(5000, codec=Codec.GZIP)}), VERSION)
    assert [part.error_code for part in answer.responses[0].partition_responses] == [0, 0]
    assert node.log("flights").end_offset == 5000


def test_each_partition_gets_the_answer_of_its_own_batch(node: SimNode) -> None:
    sound, unsound = batch_of(5000), bytearray(batch_of(5000))
    unsound[-1] ^= 1
    answer = node.ask(produce({0: sound, 1: bytes(unsound), 7: sound}), VERSION)
    assert [part.error_code for part in answer.responses[0].partition_responses] == [
        ErrorCode.NONE,
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ]
    assert node.log("flights").end_offset == 5000


def test_sequence_numbers_are_checked_when_the_batch_is_appended(node: SimNode) -> None:
    first = batch_of(3000, producer_id=9, sequence=0)
    second = batch_of(3000, producer_id=9, sequence=3000)
    late = batch_of(3000, producer_id=9, sequence=9000)
    for batch, error, offset in (
        (first, ErrorCode.NONE, 0),
        (second, ErrorCode.NONE, 3000),
        (second, ErrorCode.NONE, 3000),
        (first, ErrorCode.NONE, 0),
        (late, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1),
    ):
        part = node.ask(produce({0: batch}), VERSION).responses[0].partition_responses[0]
        assert (part.error_code, part.base_offset) == (error, offset)


def test_a_partition_that_goes_while_its_batch_is_checked_is_not_appended_to(node: SimNode) -> None:
    work = node.core.replicas.check({FLIGHTS: batch_of(5000)})
    next(work)
    node.core.replicas._hosted.remove(FLIGHTS)
    checked, _ = walk(work)
    outcomes = node.core.replicas.append(checked, acks=1, timeout_ms=1000, later=never)
    assert outcomes is not None
    assert outcomes[FLIGHTS].error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_a_partition_that_was_not_here_when_the_batch_was_checked_is_not_appended_to(node: SimNode) -> None:
    partition = node.core.replicas._hosted.get(FLIGHTS)
    assert partition is not None
    node.core.replicas._hosted.remove(FLIGHTS)
    checked, _ = walk(node.core.replicas.check({FLIGHTS: batch_of(5000)}))
    node.core.replicas._hosted.add(partition)
    outcomes = node.core.replicas.append(checked, acks=1, timeout_ms=1000, later=never)
    assert outcomes is not None
    assert outcomes[FLIGHTS].error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert partition.log.end_offset == 0


@pytest.mark.parametrize("timestamp_ms", [NOW_MS + 5_000, -3])
def test_a_lookup_by_time_in_a_large_batch_goes_in_steps(node: SimNode, timestamp_ms: int) -> None:
    """L6"""
    count = 6_000
    node.ask(produce({0: batch_of(count, value=bytes(100), codec=Codec.GZIP)}), VERSION)
    found, taken = walk(node.core.replicas.list_offset(FLIGHTS, timestamp_ms))
    assert found.offset == (count - 1 if timestamp_ms < 0 else 5_000)
    assert next(step for step in taken if step is not None).bytes_max > 0
    assert len(taken) >= 5_000 // RECORDS_PER_STEP
    part = ListOffsetsPartition(0, -1, timestamp_ms)
    answer = node.ask(ListOffsetsRequest(-1, 0, [ListOffsetsTopic("flights", [part])]))
    assert answer.topics[0].partitions[0].offset == found.offset


def test_a_lookup_by_time_goes_on_where_it_was_when_the_log_changes(node: SimNode) -> None:
    """L6: what it still needs is deleted between two steps."""
    for _ in range(2):
        node.ask(produce({0: batch_of(2000)}), VERSION)
    log = node.log("flights")
    work = node.core.replicas.list_offset(FLIGHTS, NOW_MS + 1999)
    next(work)
    log.delete_records_before(log.end_offset)
    found, _ = walk(work)
    assert (found.error_code, found.offset) == (ErrorCode.NONE, 1999)


def test_what_clients_of_acks_0_left_behind_is_bounded_by_its_bytes(
    node: SimNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client may send with acks=0 and close at once, any number of times; nothing else bounds that."""
    count = 30_000
    batch = batch_of(count)
    monkeypatch.setattr(orphans, "ORPHANED_BYTES_MAX", 2 * len(batch) + 1)
    request = produce({0: batch})
    request.acks = 0
    sent = [node.send(request, VERSION).arrive() for _ in range(4)]
    assert node.core.record_work.waiting == 4
    for one in sent:
        one.client.lose()
    assert (node.core.record_work.waiting, node.core.orphans.size_bytes) == (2, 2 * len(batch))
    node.settle()
    assert node.log("flights").end_offset == 2 * count
    assert node.core.orphans.size_bytes == 0
