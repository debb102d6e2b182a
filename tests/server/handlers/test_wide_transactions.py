"""Transactions over many partitions: their requests go in steps, and what comes in between is noticed."""

from collections.abc import Callable
from typing import Any

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import exhaust
from odradek.base.ids import TopicPartition
from odradek.records.builder import BatchBuilder
from odradek.testing.sim import CountedTime, SimNode
from odradek.wire.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from odradek.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from odradek.wire.messages.end_txn import EndTxnRequest
from odradek.wire.messages.find_coordinator import FindCoordinatorRequest
from odradek.wire.messages.init_producer_id import InitProducerIdRequest
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from odradek.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)

ID = "payments"
WIDE = 60
V2, CLASSIC = 12, 9
"""Versions of Produce: of producers that leave adding partitions to us, and of those that add them."""

Producer = tuple[int, int]


@pytest.fixture
def ready(new_node: Callable[..., SimNode]) -> SimNode:
    """A broker with a wide topic, whose slices have one step each."""
    node = new_node(transaction_state_log_num_partitions="2", offsets_topic_num_partitions="2")
    node.ask(CreateTopicsRequest([CreatableTopic("wide", WIDE, 1)], timeout_ms=1000))
    node.ask(FindCoordinatorRequest(key_type=1, coordinator_keys=[ID]))
    node.ask(FindCoordinatorRequest(key_type=0, coordinator_keys=["g"]))
    node.settle()
    node.short_clock = CountedTime()
    return node


def init(node: SimNode) -> Producer:
    while (answer := node.ask(InitProducerIdRequest(ID, 60_000))).error_code:
        assert answer.error_code == ErrorCode.CONCURRENT_TRANSACTIONS
        node.settle()
    return answer.producer_id, answer.producer_epoch


def add_all(node: SimNode, producer: Producer) -> None:
    topics = [AddPartitionsToTxnTopic("wide", [*range(WIDE)])]
    answer = node.ask(AddPartitionsToTxnRequest(ID, *producer, topics), 3)
    codes = [
        part.partition_error_code
        for topic in answer.results_by_topic_v3_and_below
        for part in topic.results_by_partition
    ]
    assert codes == [0] * WIDE


def producing(producer: Producer) -> ProduceRequest:
    builder = BatchBuilder(
        producer_id=producer[0], producer_epoch=producer[1], base_sequence=0, is_transactional=True
    )
    builder.append(1_700_000_000_000, None, b"paid")
    records = bytes(builder.build())
    parts = [PartitionProduceData(number, records) for number in reversed(range(WIDE))]  # markers rise
    return ProduceRequest(ID, -1, 1000, [TopicProduceData("wide", partition_data=parts)])


def logs(node: SimNode) -> list[Any]:
    found = [node.core.logs.get(TopicPartition("wide", number)) for number in range(WIDE)]
    assert None not in found
    return found


def written(node: SimNode) -> int:
    """How many partitions have records."""
    return sum(log.end_offset > 0 for log in logs(node))


def begin_producing(node: SimNode, producer: Producer, version: int) -> Any:
    """A produce to all partitions, of which about half are written."""
    sent = node.send(producing(producer), version)
    while written(node) < WIDE // 2:
        assert not sent.answers
        assert node.world.step()
    return sent


def codes_of(answer: Any) -> list[int]:
    return [part.error_code for part in answer.responses[0].partition_responses]


@pytest.mark.parametrize("version", [V2, CLASSIC])
def test_a_wide_transaction_is_written_and_ended_in_steps(ready: SimNode, version: int) -> None:
    producer = init(ready)
    if version == CLASSIC:
        add_all(ready, producer)
    sent = begin_producing(ready, producer, version)
    ready.settle()
    assert codes_of(sent.answer) == [0] * WIDE
    assert {log.last_stable.offset for log in logs(ready)} == {0}
    ended = ready.send(EndTxnRequest(ID, *producer, True), 5 if version == V2 else 3)
    marked = {sum(log.end_offset == 2 for log in logs(ready))}
    while ready.world.step():
        marked.add(sum(log.end_offset == 2 for log in logs(ready)))
    assert ended.answer.error_code == 0
    assert marked >= set(range(1, WIDE + 1)), "a marker is a step of its own"
    assert {log.last_stable.offset for log in logs(ready)} == {2}
    assert init(ready)[0] == producer[0]


@pytest.mark.parametrize("version", [V2, CLASSIC])
def test_a_transaction_that_ends_meanwhile_is_not_written_to_any_more(ready: SimNode, version: int) -> None:
    """Else its records would be in no transaction, and hold the last stable offset back for good."""
    producer = init(ready)
    if version == CLASSIC:
        add_all(ready, producer)
    sent = begin_producing(ready, producer, version)
    successor = init(ready)
    assert successor > producer, "the transaction was aborted, and its producer is fenced"
    ready.settle()
    assert set(codes_of(sent.answer)) <= {
        ErrorCode.NONE,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.INVALID_PRODUCER_EPOCH,
    }
    assert set(codes_of(sent.answer)) != {ErrorCode.NONE}
    assert [log.last_stable.offset for log in logs(ready)] == [log.end_offset for log in logs(ready)]


def test_a_transaction_that_its_producer_ends_too_early_leaves_nothing_open(ready: SimNode) -> None:
    """In the classic way the producer keeps its epoch, which fences nothing off."""
    producer = init(ready)
    add_all(ready, producer)
    sent = begin_producing(ready, producer, CLASSIC)
    assert ready.ask(EndTxnRequest(ID, *producer, True), 3).error_code == 0
    ready.settle()
    assert set(codes_of(sent.answer)) == {ErrorCode.NONE, ErrorCode.NOT_ENOUGH_REPLICAS}
    assert [log.last_stable.offset for log in logs(ready)] == [log.end_offset for log in logs(ready)]


def test_wide_offsets_of_a_transaction_count_when_it_commits(ready: SimNode) -> None:
    producer = init(ready)
    parts = [TxnOffsetCommitRequestPartition(number, 7) for number in range(WIDE)]
    topics = [TxnOffsetCommitRequestTopic("wide", partitions=parts)]
    request = TxnOffsetCommitRequest(ID, "g", *producer, topics=topics)
    answer = ready.ask(request, 5)
    assert {part.error_code for part in answer.topics[0].partitions} == {0}
    coordinator = ready.core.groups.coordinator
    found = coordinator.fetch_offsets("g", None, require_stable=False)
    assert not isinstance(found, ErrorCode)
    assert exhaust(found) == []
    assert ready.ask(EndTxnRequest(ID, *producer, True), 5).error_code == 0
    ready.settle()
    found = coordinator.fetch_offsets("g", None, require_stable=False)
    assert not isinstance(found, ErrorCode)
    assert {(row.topic_partition.partition, row.offset) for row in exhaust(found)} == {
        (n, 7) for n in range(WIDE)
    }
