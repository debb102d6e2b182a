"""The APIs that write, read and look up records, over a whole broker without a loop."""

import uuid
from collections.abc import Callable
from typing import Any

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import TopicPartition
from odradek.records.builder import BatchBuilder
from odradek.records.compression import Codec
from odradek.records.work import finish
from odradek.testing.sim import SimNode
from odradek.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from odradek.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from odradek.wire.messages.delete_topics import DeleteTopicsRequest
from odradek.wire.messages.describe_log_dirs import DescribeLogDirsRequest
from odradek.wire.messages.describe_producers import DescribeProducersRequest, TopicRequest
from odradek.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from odradek.wire.messages.find_coordinator import FindCoordinatorRequest
from odradek.wire.messages.init_producer_id import InitProducerIdRequest
from odradek.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from odradek.wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.batches import BatchOf

Batch = Callable[..., bytes]
UNKNOWN = uuid.UUID(int=5)


@pytest.fixture
def topic_id(node: SimNode) -> uuid.UUID:
    """The topic "flights" with two partitions."""
    request = CreateTopicsRequest([CreatableTopic("flights", 2, 1)], timeout_ms=1000)
    return node.ask(request).topics[0].topic_id


def never(result: object) -> None:
    raise AssertionError(f"an event although the call returned the result: {result}")


def produce(records: bytes | None, *, partition: int = 0, acks: int = 1, **topic: Any) -> ProduceRequest:
    named = topic or {"name": "flights"}
    part = PartitionProduceData(partition, records)
    return ProduceRequest(None, acks, 1000, [TopicProduceData(partition_data=[part], **named)])


def fetch(
    offset: int = 0, *, session: tuple[int, int] = (0, -1), wait_ms: int = 0, **topic: Any
) -> FetchRequest:
    named = topic or {"topic": "flights"}
    part = FetchPartition(0, fetch_offset=offset, partition_max_bytes=1 << 20)
    return FetchRequest(
        max_wait_ms=wait_ms,
        min_bytes=1,
        session_id=session[0],
        session_epoch=session[1],
        topics=[FetchTopic(partitions=[part], **named)],
    )


def only_partition(answer: Any) -> Any:
    ((partition,),) = [getattr(t, "partition_responses", None) or t.partitions for t in answer.responses]
    return partition


@pytest.mark.usefixtures("topic_id")
def test_what_is_produced_is_fetched_byte_for_byte(node: SimNode, batch: Batch) -> None:
    for version in range(3, 13):
        written = only_partition(node.ask(produce(batch(b"a", b"b")), version))
        assert (written.error_code, written.base_offset) == (0, 2 * (version - 3))
    for version in range(4, 13):
        read = only_partition(node.ask(fetch(), version))
        assert (read.error_code, read.high_watermark, read.last_stable_offset) == (0, 20, 20)
        assert len(read.records) == 10 * len(batch(b"a", b"b"))


def test_topics_go_by_id_from_version_13_on(node: SimNode, topic_id: uuid.UUID, batch: Batch) -> None:
    assert only_partition(node.ask(produce(batch(b"a"), topic_id=topic_id), 13)).error_code == 0
    assert only_partition(node.ask(fetch(topic_id=topic_id), 13)).high_watermark == 1
    unknown = only_partition(node.ask(produce(batch(b"a"), topic_id=UNKNOWN), 13))
    assert (unknown.error_code, unknown.base_offset) == (ErrorCode.UNKNOWN_TOPIC_ID, -1)
    assert only_partition(node.ask(fetch(topic_id=UNKNOWN), 13)).error_code == ErrorCode.UNKNOWN_TOPIC_ID


@pytest.mark.usefixtures("topic_id")
def test_acks_other_than_0_1_and_all_are_refused(node: SimNode, batch: Batch) -> None:
    """P1: INVALID_REQUIRED_ACKS for every partition, nothing written."""
    refused = only_partition(node.ask(produce(batch(b"a"), acks=2), 12))
    assert refused.error_code == ErrorCode.INVALID_REQUIRED_ACKS
    assert only_partition(node.ask(fetch(), 12)).high_watermark == 0


@pytest.mark.usefixtures("topic_id")
def test_acks_0_is_not_answered_and_a_failure_closes_the_connection(node: SimNode, batch: Batch) -> None:
    """P1: acks = 0 gets no response; the connection is closed if an append failed."""
    fine = node.send(produce(batch(b"a"), acks=0), 12).arrive()
    node.settle()
    assert (fine.answers, fine.client.is_closed) == ([], False)
    failed = node.send(produce(b"junk", acks=0), 12)
    node.settle()
    assert (failed.answers, failed.client.is_closed) == ([], True)


@pytest.mark.usefixtures("topic_id")
@pytest.mark.parametrize("records", [None, b"", b"junk"])
def test_bad_batches_are_refused(node: SimNode, records: bytes | None) -> None:
    refused = only_partition(node.ask(produce(records), 12))
    assert refused.error_code == ErrorCode.INVALID_RECORD
    assert refused.base_offset == -1


@pytest.mark.usefixtures("topic_id")
def test_a_refusal_names_the_records_to_blame_and_the_log_start(node: SimNode, batch: Batch) -> None:
    """KIP-467, and the log start of KIP-360."""
    ahead = batch(b"a", b"b", timestamp_ms=1 << 50)
    refused = only_partition(node.ask(produce(ahead), 12))
    assert (refused.error_code, refused.base_offset) == (ErrorCode.INVALID_TIMESTAMP, -1)
    assert [error.batch_index for error in refused.record_errors] == [0, 1]
    assert refused.log_start_offset == 0
    damaged = bytearray(batch(b"a"))
    damaged[-1] ^= 1
    assert only_partition(node.ask(produce(bytes(damaged)), 12)).log_start_offset == -1


@pytest.mark.usefixtures("topic_id")
def test_zstd_is_for_producers_that_know_it(node: SimNode) -> None:
    """KIP-110: from Produce 7 on; the other partitions of the request are written all the same."""
    plain, packed = BatchBuilder(), BatchBuilder(codec=Codec.ZSTD)
    for builder in (plain, packed):
        builder.append(0, None, b"value" * 100)
    parts = [PartitionProduceData(0, bytes(packed.build())), PartitionProduceData(1, bytes(plain.build()))]
    request = ProduceRequest(None, 1, 1000, [TopicProduceData("flights", partition_data=parts)])
    for version, code in ((6, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE), (7, ErrorCode.NONE)):
        (topic,) = node.ask(request, version).responses
        assert [part.error_code for part in topic.partition_responses] == [code, ErrorCode.NONE]


def test_internal_topics_are_for_the_admin_client(node: SimNode, batch: Batch) -> None:
    """R6: __consumer_offsets only for coordinators and client id __admin_client."""
    node.ask(CreateTopicsRequest([CreatableTopic("__consumer_offsets", 1, 1)], timeout_ms=1000))
    request = produce(batch(b"a"), name="__consumer_offsets")
    assert only_partition(node.ask(request, 12)).error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    admitted = only_partition(node.ask(request, 12, client_id="__admin_client"))
    assert admitted.error_code != ErrorCode.INVALID_TOPIC_EXCEPTION


def test_a_partition_that_nobody_has_is_unknown(node: SimNode, batch: Batch) -> None:
    assert (
        only_partition(node.ask(produce(batch(b"a")), 12)).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    )
    assert only_partition(node.ask(fetch(), 12)).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.usefixtures("topic_id")
def test_a_fetch_waits_for_records_and_is_answered_by_the_produce(node: SimNode, batch: Batch) -> None:
    """F1, D5"""
    waiting = node.send(fetch(wait_ms=500), 12)
    assert waiting.answers == []
    node.ask(produce(batch(b"a")), 12)
    node.settle()
    assert bytes(only_partition(waiting.answer).records)[61:] == batch(b"a")[61:]


@pytest.mark.usefixtures("topic_id")
def test_a_fetch_that_waits_in_vain_is_answered_at_its_deadline(node: SimNode) -> None:
    """F1: deadline = max wait."""
    waiting = node.send(fetch(wait_ms=500), 12)
    node.advance(499)
    assert waiting.answers == []
    node.advance(2)
    assert only_partition(waiting.answer).error_code == 0


@pytest.mark.usefixtures("topic_id")
def test_a_parked_fetch_ends_with_its_connection(node: SimNode, batch: Batch) -> None:
    """A dead connection's fetches were kept until a time that the client chose: up to 24 days."""
    purgatory = node.core.replicas.purgatories.fetch
    timers = node.timer.size
    waiting = node.send(fetch(wait_ms=2**31 - 1), 12).arrive()
    assert (purgatory.delayed, node.timer.size) == (1, timers + 1)
    waiting.client.lose()
    assert (purgatory.delayed, node.timer.size) == (0, timers)
    node.ask(produce(batch(b"a")), 12)
    node.settle()
    assert waiting.answers == []
    assert purgatory.watched == 0


@pytest.mark.usefixtures("topic_id")
def test_no_fetch_waits_longer_than_its_connection_may_be_idle(node: SimNode) -> None:
    waiting = node.send(fetch(wait_ms=2**31 - 1), 12)
    node.advance(600_000 - 1)
    assert waiting.answers == []
    node.advance(2)
    assert only_partition(waiting.answer).error_code == 0


@pytest.mark.usefixtures("topic_id")
def test_a_session_answers_only_what_is_new(node: SimNode, batch: Batch) -> None:
    """F10"""
    opened = node.ask(fetch(session=(0, 0)), 12)
    assert opened.session_id > 0
    nothing = FetchRequest(min_bytes=1, session_id=opened.session_id, session_epoch=1)
    assert node.ask(nothing, 12).responses == []
    node.ask(produce(batch(b"a")), 12)
    nothing.session_epoch = 2
    assert only_partition(node.ask(nothing, 12)).high_watermark == 1
    assert node.ask(nothing, 12).error_code == ErrorCode.INVALID_FETCH_SESSION_EPOCH
    lost = FetchRequest(session_id=opened.session_id ^ 1, session_epoch=1)
    assert node.ask(lost, 12).error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def list_offset(node: SimNode, timestamp: int, version: int = 9) -> Any:
    topic = ListOffsetsTopic("flights", [ListOffsetsPartition(0, -1, timestamp)])
    return node.ask(ListOffsetsRequest(-1, 0, [topic]), version).topics[0].partitions[0]


@pytest.mark.usefixtures("topic_id")
def test_offsets_by_name_and_by_time(node: SimNode, batch: Batch) -> None:
    """L6"""
    now_ms = node.clock.wall_ms()
    for age_ms in (2000, 1000, 0):
        node.ask(produce(batch(b"a", timestamp_ms=now_ms - age_ms)), 12)
    assert (list_offset(node, -1).offset, list_offset(node, -2).offset) == (3, 0)
    assert list_offset(node, -4).offset == 0
    assert (list_offset(node, -3).offset, list_offset(node, -3).timestamp) == (2, now_ms)
    assert (list_offset(node, now_ms - 1500).offset, list_offset(node, now_ms + 1).offset) == (1, -1)


@pytest.mark.usefixtures("topic_id")
def test_a_name_that_the_version_does_not_have_is_refused(node: SimNode) -> None:
    assert list_offset(node, -3, version=6).error_code == ErrorCode.UNSUPPORTED_VERSION
    assert list_offset(node, -9).error_code == ErrorCode.UNSUPPORTED_VERSION


@pytest.mark.usefixtures("topic_id")
def test_a_partition_asked_for_twice_is_refused(node: SimNode) -> None:
    twice = [ListOffsetsPartition(0, -1, -1)] * 2
    answer = node.ask(ListOffsetsRequest(-1, 0, [ListOffsetsTopic("flights", twice)]))
    assert [part.error_code for part in answer.topics[0].partitions] == [ErrorCode.INVALID_REQUEST] * 2


@pytest.mark.usefixtures("topic_id")
def test_where_an_epoch_ends(node: SimNode, batch: Batch) -> None:
    """X4"""
    node.ask(produce(batch(b"a", b"b")), 12)
    topic = OffsetForLeaderTopic("flights", [OffsetForLeaderPartition(0, -1, 0)])
    answer = node.ask(OffsetForLeaderEpochRequest(-1, [topic]))
    (found,) = answer.topics[0].partitions
    assert (found.error_code, found.leader_epoch, found.end_offset) == (0, 0, 2)


def test_every_producer_gets_an_id_of_its_own(node: SimNode) -> None:
    ids = [node.ask(InitProducerIdRequest(None, 1000), version).producer_id for version in range(5)]
    assert len(set(ids)) == 5
    assert min(ids) >= 0


@pytest.mark.parametrize(
    ("request_fields", "code"),
    [
        ({"transactional_id": ""}, ErrorCode.INVALID_REQUEST),
        ({"transactional_id": "t"}, ErrorCode.NOT_COORDINATOR),
        ({"transactional_id": None, "producer_id": 5, "producer_epoch": -1}, ErrorCode.INVALID_REQUEST),
    ],
)
def test_producer_ids_that_are_refused(
    node: SimNode, request_fields: dict[str, Any], code: ErrorCode
) -> None:
    answer = node.ask(InitProducerIdRequest(transaction_timeout_ms=1000, **request_fields))
    assert (answer.error_code, answer.producer_id, answer.producer_epoch) == (code, -1, -1)


@pytest.mark.usefixtures("topic_id")
def test_producers_are_described_by_the_partitions_they_write_to(node: SimNode) -> None:
    topic = TopicRequest("flights", [0, 9])
    known, unknown = node.ask(DescribeProducersRequest([topic])).topics[0].partitions
    assert (known.error_code, known.active_producers) == (0, [])
    assert unknown.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.usefixtures("topic_id")
def test_deleted_records_are_gone(node: SimNode, batch: Batch) -> None:
    node.ask(produce(batch(b"a", b"b")), 12)
    parts = [DeleteRecordsPartition(0, 1), DeleteRecordsPartition(1, 5)]
    answer = node.ask(DeleteRecordsRequest([DeleteRecordsTopic("flights", parts)], 1000))
    found = {part.partition_index: part for part in answer.topics[0].partitions}
    assert (found[0].error_code, found[0].low_watermark) == (0, 1)
    assert (found[1].error_code, found[1].low_watermark) == (ErrorCode.OFFSET_OUT_OF_RANGE, -1)
    assert list_offset(node, -2).offset == 1


@pytest.mark.usefixtures("topic_id")
def test_log_directories_show_their_partitions(node: SimNode, batch: Batch) -> None:
    node.ask(produce(batch(b"a")), 12)
    (directory,) = node.ask(DescribeLogDirsRequest(None)).results
    assert (directory.error_code, directory.log_dir) == (0, "/data")
    sizes = {part.partition_index: part.partition_size for part in directory.topics[0].partitions}
    assert sizes == {0: len(batch(b"a")), 1: 0}


def test_transactional_ids_find_their_coordinators(node: SimNode) -> None:
    first, second = node.ask(FindCoordinatorRequest(key_type=1, coordinator_keys=["a", "b"]), 4).coordinators
    assert (first.key, first.error_code, first.host) == ("a", 0, "broker.example")
    assert (second.key, second.error_code, second.node_id) == ("b", 0, 0)
    assert len(node.topic("__transaction_state").partitions) == 50


def test_records_checked_for_a_topic_do_not_go_to_its_successor(node: SimNode, batch: BatchOf) -> None:
    """Their check may take turns of the loop, in which the topic is deleted and made again."""
    key = TopicPartition("u", 0)
    node.ask(CreateTopicsRequest([CreatableTopic("u", 1, 1)], timeout_ms=1000))
    checked = finish(node.core.replicas.check({key: batch(b"a", b"b")}))
    node.ask(DeleteTopicsRequest(topic_names=["u"], timeout_ms=1000), 5)
    node.ask(CreateTopicsRequest([CreatableTopic("u", 1, 1)], timeout_ms=1000))
    outcomes = node.core.replicas.append(checked, acks=1, timeout_ms=1000, later=never)
    assert outcomes is not None
    assert outcomes[key].error_code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert node.log("u").end_offset == 0
