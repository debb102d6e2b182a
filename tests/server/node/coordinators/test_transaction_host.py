from typing import Any, Protocol

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import TopicPartition
from odradek.coordinator.transactions import loading
from odradek.metadata.orders import LeaderAndIsrPartition
from odradek.records.builder import BatchBuilder
from odradek.replication.role_changes import RoleChanges
from odradek.storage import Log
from odradek.testing.sim import CountedTime, SimNode
from odradek.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from odradek.wire.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from odradek.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from odradek.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from odradek.wire.messages.describe_transactions import DescribeTransactionsRequest
from odradek.wire.messages.end_txn import EndTxnRequest
from odradek.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from odradek.wire.messages.find_coordinator import FindCoordinatorRequest
from odradek.wire.messages.init_producer_id import InitProducerIdRequest
from odradek.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from odradek.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from tests.server.nodes import NewNode

TOPIC = "__transaction_state"
IDS = [f"id-{number}" for number in range(12)]


@pytest.fixture
def filled(new_node: NewNode) -> SimNode:
    """A broker with ids in both partitions of the topic."""
    node = new_node(transaction_state_log_num_partitions="2")
    node.ask(FindCoordinatorRequest(key_type=1, coordinator_keys=IDS))
    for name in IDS:
        assert init(node, name) == 0
    return node


def init(node: SimNode, name: str) -> int:
    code: int = node.ask(InitProducerIdRequest(name, 60_000)).error_code
    return code


def order(node: SimNode, **changes: Any) -> None:
    node.core.transactions.on_roles(RoleChanges(**changes))


def leading(node: SimNode) -> list[LeaderAndIsrPartition]:
    topic = node.topic(TOPIC)
    return [
        LeaderAndIsrPartition(TopicPartition(TOPIC, index), topic.topic_id, state, is_new=False)
        for index, state in topic.partitions.items()
    ]


def test_the_topic_is_made_as_kafka_makes_it(filled: SimNode) -> None:
    config = filled.core.topic_config(TOPIC)
    assert (config.cleanup_policy, config.segment_bytes) == (frozenset({"compact"}), 100 << 20)
    assert (config.compression_type, config.min_insync_replicas) == ("uncompressed", 2)
    assert filled.topic(TOPIC).partitions[0].replicas == (0,), "no more than there are"


def test_partitions_are_loaded_in_slices(filled: SimNode, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "READ_BYTES_MAX", 1)
    filled.short_clock = CountedTime()
    run_next = filled.turns.run_next
    turns = 0

    def run_and_count() -> None:
        nonlocal turns
        turns += 1
        run_next()

    monkeypatch.setattr(filled.turns, "run_next", run_and_count)
    order(filled, stopped=[one.topic_partition for one in leading(filled)])
    order(filled, leading=leading(filled))
    asked = [filled.send(InitProducerIdRequest(name, 60_000)).arrive() for name in IDS[:2]]
    while filled.turns.waiting:
        filled.turns.run_next()
    assert turns >= len(IDS) // 3, "a few batches in each turn"
    filled.settle()
    assert {one.answer.error_code for one in asked} == {ErrorCode.COORDINATOR_LOAD_IN_PROGRESS}
    assert {init(filled, name) for name in IDS} == {0}


@pytest.mark.parametrize("change", ["following", "stopped"])
def test_partitions_that_go_take_their_ids_along(filled: SimNode, change: str) -> None:
    gone = leading(filled) if change == "following" else [one.topic_partition for one in leading(filled)]
    order(filled, **{change: gone})
    assert {init(filled, name) for name in IDS} == {ErrorCode.NOT_COORDINATOR}


def test_other_topics_are_nobodys_business_here(filled: SimNode) -> None:
    order(filled, stopped=[TopicPartition("t", 0)])
    assert {init(filled, name) for name in IDS} == {0}


def test_a_partition_that_cannot_be_read_is_logged_and_the_other_serves(
    filled: SimNode, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    coordinator = filled.core.transactions.coordinator
    log = filled.log(TOPIC)
    log.truncate_fully_and_start_at(0)
    end = log.end_offset
    real: property = vars(Log)["end_offset"]
    nothing_there = property(lambda self: 5 if self is log else real.__get__(self))
    monkeypatch.setattr(Log, "end_offset", nothing_there)
    order(filled, stopped=[one.topic_partition for one in leading(filled)])
    order(filled, leading=leading(filled))
    monkeypatch.undo()
    assert log.end_offset == end
    filled.turns.run()
    assert f"{TOPIC}-0 is not served: its transactions cannot be loaded" in caplog.text
    loaded = {
        partition.topic_partition.partition: partition.is_loaded for partition in coordinator.store.led()
    }
    assert loaded == {1: True}


# --- a restart between the decision and its markers


PAYMENTS = "payments"


class Decided(Protocol):
    """Ends a transaction that wrote records and offsets; the broker writes none of its markers."""

    def __call__(self, *, committed: bool) -> SimNode: ...


@pytest.fixture
def decided(new_node: NewNode, monkeypatch: pytest.MonkeyPatch) -> Decided:
    def end(*, committed: bool) -> SimNode:
        node = new_node(transaction_state_log_num_partitions="1", offsets_topic_num_partitions="1")
        node.ask(CreateTopicsRequest([CreatableTopic("t", 1, 1)], timeout_ms=1000))
        node.ask(FindCoordinatorRequest(key_type=1, coordinator_keys=[PAYMENTS]))
        node.ask(FindCoordinatorRequest(key_type=0, coordinator_keys=["g"]))
        node.turns.run()
        owner = node.ask(InitProducerIdRequest(PAYMENTS, 60_000))
        producer = owner.producer_id, owner.producer_epoch
        topics = [AddPartitionsToTxnTopic("t", [0])]
        node.ask(AddPartitionsToTxnRequest(PAYMENTS, *producer, topics), 3)
        node.ask(AddOffsetsToTxnRequest(PAYMENTS, *producer, "g"))
        builder = BatchBuilder(
            producer_id=producer[0], producer_epoch=producer[1], base_sequence=0, is_transactional=True
        )
        builder.append(node.clock.wall_ms(), None, b"paid")
        data = [TopicProduceData("t", partition_data=[PartitionProduceData(0, bytes(builder.build()))])]
        (produced,) = node.ask(ProduceRequest(PAYMENTS, -1, 1000, data), 9).responses
        assert produced.partition_responses[0].error_code == 0
        offsets = [TxnOffsetCommitRequestTopic("t", partitions=[TxnOffsetCommitRequestPartition(0, 7)])]
        node.ask(TxnOffsetCommitRequest(PAYMENTS, "g", *producer, topics=offsets), 3)
        monkeypatch.setattr(node.core.transactions.markers, "write_markers", lambda *_: {})
        assert node.ask(EndTxnRequest(PAYMENTS, *producer, committed), 1).error_code == 0
        return node

    return end


def state_of(node: SimNode) -> str:
    (found,) = node.ask(DescribeTransactionsRequest([PAYMENTS])).transaction_states
    assert found.error_code == 0
    return str(found.transaction_state)


@pytest.mark.parametrize(
    ("committed", "end", "offset"), [(True, "CompleteCommit", 7), (False, "CompleteAbort", -1)]
)
def test_a_restart_between_decision_and_markers_loses_no_marker(
    decided: Decided, committed: bool, end: str, offset: int
) -> None:
    node = decided(committed=committed)
    assert state_of(node) == ("PrepareCommit" if committed else "PrepareAbort")
    node = node.restarted()
    node.turns.run()
    node.advance(1_000)
    assert state_of(node) == end
    wanted = FetchPartition(partition=0, partition_max_bytes=1 << 20)
    request = FetchRequest(max_wait_ms=0, isolation_level=1, topics=[FetchTopic("t", partitions=[wanted])])
    (fetched,) = node.ask(request, 12).responses[0].partitions
    assert (fetched.high_watermark, fetched.last_stable_offset) == (2, 2), "the record and its marker"
    assert [one.first_offset for one in fetched.aborted_transactions or ()] == ([] if committed else [0])
    topics = [OffsetFetchRequestTopics("t", partition_indexes=[0])]
    asked = OffsetFetchRequest(groups=[OffsetFetchRequestGroup("g", topics=topics)], require_stable=True)
    (part,) = node.ask(asked, 9).groups[0].topics[0].partitions
    assert (part.error_code, part.committed_offset) == (0, offset)


def test_a_topic_that_was_deleted_before_its_marker_needs_none(decided: Decided) -> None:
    node = decided(committed=True)
    node.ask(DeleteTopicsRequest(topics=[DeleteTopicState("t")], timeout_ms=1000))
    node = node.restarted()
    node.turns.run()
    node.advance(1_000)
    assert state_of(node) == "CompleteCommit"
