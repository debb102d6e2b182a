"""Transactions as their APIs answer, version by version, on a whole broker without a loop."""

from typing import Any

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import TopicPartition
from odradek.records.builder import BatchBuilder
from odradek.server.edge.addresses import BROKERS
from odradek.testing.sim import SimNode
from odradek.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from odradek.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from odradek.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from odradek.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from odradek.wire.messages.describe_producers import DescribeProducersRequest, TopicRequest
from odradek.wire.messages.describe_transactions import DescribeTransactionsRequest
from odradek.wire.messages.end_txn import EndTxnRequest
from odradek.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from odradek.wire.messages.find_coordinator import FindCoordinatorRequest
from odradek.wire.messages.init_producer_id import InitProducerIdRequest
from odradek.wire.messages.list_transactions import ListTransactionsRequest
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
from odradek.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from tests.server.nodes import NewNode

ID = "payments"
READ_COMMITTED = 1


@pytest.fixture
def ready(new_node: NewNode) -> SimNode:
    """A broker with a topic of two partitions, where the id's and the group's coordinators are found."""
    node = new_node(transaction_state_log_num_partitions="3", offsets_topic_num_partitions="3")
    node.ask(CreateTopicsRequest([CreatableTopic("t", 2, 1)], timeout_ms=1000))
    node.ask(FindCoordinatorRequest(key_type=1, coordinator_keys=[ID]))
    node.ask(FindCoordinatorRequest(key_type=0, coordinator_keys=["g"]))
    node.turns.run()
    return node


@pytest.fixture
def producer(ready: SimNode) -> tuple[int, int]:
    """The id's owner."""
    answer = ready.ask(InitProducerIdRequest(ID, 60_000))
    assert answer.error_code == 0
    return answer.producer_id, answer.producer_epoch


def batch(producer: tuple[int, int], sequence: int = 0, *, value: bytes = b"v") -> bytes:
    builder = BatchBuilder(
        producer_id=producer[0], producer_epoch=producer[1], base_sequence=sequence, is_transactional=True
    )
    builder.append(1_700_000_000_000, None, value)
    return bytes(builder.build())


def add(
    node: SimNode, producer: tuple[int, int], *topics: tuple[str, list[int]], version: int = 3
) -> dict[Any, int]:
    named = [AddPartitionsToTxnTopic(name, partitions) for name, partitions in topics]
    answer = node.ask(AddPartitionsToTxnRequest(ID, *producer, named), version)
    return errors_of(answer.results_by_topic_v3_and_below)


def ask_as_broker(node: SimNode, request: AddPartitionsToTxnRequest, version: int) -> Any:
    sent = node.send(request, version, on=node.connect(listener=BROKERS))
    node.settle()
    return sent.answer


def errors_of(results: Any) -> dict[Any, int]:
    return {
        (topic.name, part.partition_index): part.partition_error_code
        for topic in results
        for part in topic.results_by_partition
    }


def produce(
    node: SimNode, records: bytes, *, version: int, transactional_id: str | None = ID, partition: int = 0
) -> int:
    data = PartitionProduceData(partition, records)
    request = ProduceRequest(transactional_id, -1, 1000, [TopicProduceData("t", partition_data=[data])])
    (answer,) = node.ask(request, version).responses[0].partition_responses
    code: int = answer.error_code
    return code


def end(node: SimNode, producer: tuple[int, int], *, committed: bool, version: int) -> Any:
    """EndTxn; its markers are there when this returns."""
    answer = node.ask(EndTxnRequest(ID, *producer, committed), version)
    node.settle()
    return answer


def fetch(node: SimNode) -> Any:
    wanted = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
    request = FetchRequest(
        max_wait_ms=0, isolation_level=READ_COMMITTED, topics=[FetchTopic("t", partitions=[wanted])]
    )
    return node.ask(request, 12).responses[0].partitions[0]


# --- the classic way


@pytest.mark.parametrize("version", range(4))
def test_partitions_are_added_by_request(ready: SimNode, producer: tuple[int, int], version: int) -> None:
    assert add(ready, producer, ("t", [0, 1]), version=version) == {("t", 0): 0, ("t", 1): 0}
    assert produce(ready, batch(producer), version=9) == 0
    answer = fetch(ready)
    assert (answer.high_watermark, answer.last_stable_offset) == (1, 0)
    assert end(ready, producer, committed=True, version=1).error_code == 0
    answer = fetch(ready)
    assert (answer.high_watermark, answer.last_stable_offset, answer.aborted_transactions) == (2, 2, [])


def test_an_abort_is_told_to_readers(ready: SimNode, producer: tuple[int, int]) -> None:
    add(ready, producer, ("t", [0]))
    produce(ready, batch(producer), version=9)
    end(ready, producer, committed=False, version=1)
    (aborted,) = fetch(ready).aborted_transactions
    assert (aborted.producer_id, aborted.first_offset) == (producer[0], 0)


def test_all_partitions_are_added_or_none(ready: SimNode, producer: tuple[int, int]) -> None:
    assert add(ready, producer, ("t", [0, 9]), ("u", [0])) == {
        ("t", 0): ErrorCode.OPERATION_NOT_ATTEMPTED,
        ("t", 9): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ("u", 0): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    refused = add(ready, producer, ("__consumer_offsets", [0]))
    assert refused == {("__consumer_offsets", 0): ErrorCode.TOPIC_AUTHORIZATION_FAILED}


@pytest.mark.parametrize("version", [3, 9, 10, 11])
def test_a_write_without_its_partition_is_refused(
    ready: SimNode, producer: tuple[int, int], version: int
) -> None:
    """KIP-890: it would hang, for no marker would ever end it."""
    expected = ErrorCode.TRANSACTION_ABORTABLE if version >= 11 else ErrorCode.INVALID_TXN_STATE
    assert produce(ready, batch(producer), version=version) == expected


def test_a_write_without_its_partition_is_taken_where_nobody_verifies(new_node: NewNode) -> None:
    node = new_node(transaction_partition_verification_enable="false")
    node.ask(CreateTopicsRequest([CreatableTopic("t", 1, 1)], timeout_ms=1000))
    assert produce(node, batch((7, 0)), version=9) == 0


def test_transactional_batches_of_nobody_are_refused(ready: SimNode, producer: tuple[int, int]) -> None:
    code = produce(ready, batch(producer), version=12, transactional_id=None)
    assert code == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


def test_batches_of_several_producers_are_refused(ready: SimNode, producer: tuple[int, int]) -> None:
    parts = [PartitionProduceData(0, batch(producer)), PartitionProduceData(1, batch((99, 0)))]
    request = ProduceRequest(ID, -1, 1000, [TopicProduceData("t", partition_data=parts)])
    answers = ready.ask(request, 12).responses[0].partition_responses
    assert [one.error_code for one in answers] == [ErrorCode.INVALID_PRODUCER_ID_MAPPING] * 2


def test_one_refused_partition_does_not_hold_up_another(ready: SimNode, producer: tuple[int, int]) -> None:
    add(ready, producer, ("t", [1]))
    parts = [PartitionProduceData(0, batch(producer)), PartitionProduceData(1, batch(producer))]
    request = ProduceRequest(ID, -1, 1000, [TopicProduceData("t", partition_data=parts)])
    answers = ready.ask(request, 9).responses[0].partition_responses
    assert [one.error_code for one in answers] == [ErrorCode.INVALID_TXN_STATE, 0]


# --- transactions v2


def test_v2_adds_partitions_by_writing_and_counts_epochs(ready: SimNode, producer: tuple[int, int]) -> None:
    """KIP-890"""
    for epoch in range(3):
        assert produce(ready, batch(producer), version=12) == 0
        answer = end(ready, producer, committed=True, version=5)
        assert (answer.error_code, answer.producer_id, answer.producer_epoch) == (0, producer[0], epoch + 1)
        late = produce(ready, batch(producer, 1), version=12)
        assert late == ErrorCode.INVALID_PRODUCER_EPOCH, "a late write does not fall into the next one"
        producer = (answer.producer_id, answer.producer_epoch)
    assert fetch(ready).last_stable_offset == 6


def test_a_partition_of_a_v2_transaction_begins_with_the_first_sequence(
    ready: SimNode, producer: tuple[int, int]
) -> None:
    """KIP-890; else what was told to come again would find its successor written already."""
    assert produce(ready, batch(producer, 5), version=12) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert fetch(ready).high_watermark == 0
    for sequence in range(2):
        assert produce(ready, batch(producer, sequence), version=12) == 0
    assert end(ready, producer, committed=True, version=5).error_code == 0
    late = produce(ready, batch(producer, 1), version=12, partition=1)
    assert late == ErrorCode.INVALID_PRODUCER_EPOCH, "the fence is told before the sequence"


def test_brokers_ask_for_several_transactions_at_once(ready: SimNode, producer: tuple[int, int]) -> None:
    add(ready, producer, ("t", [0]))
    topics = [AddPartitionsToTxnTopic("t", [0, 1])]
    request = AddPartitionsToTxnRequest(
        transactions=[
            AddPartitionsToTxnTransaction(ID, *producer, True, topics),
            AddPartitionsToTxnTransaction("nobody", 1, 0, False, topics),
        ]
    )
    answer = ask_as_broker(ready, request, 5)
    known, unknown = (errors_of(one.topic_results) for one in answer.results_by_transaction)
    assert known == {("t", 0): 0, ("t", 1): ErrorCode.TRANSACTION_ABORTABLE}
    assert set(unknown.values()) & {ErrorCode.INVALID_PRODUCER_ID_MAPPING, ErrorCode.NOT_COORDINATOR}
    assert ask_as_broker(ready, AddPartitionsToTxnRequest(), 4).results_by_transaction == []


@pytest.mark.parametrize("version", [4, 5])
def test_clients_are_refused_the_versions_of_brokers(
    ready: SimNode, producer: tuple[int, int], version: int
) -> None:
    """Decision 0012"""
    topics = [AddPartitionsToTxnTopic("t", [0])]
    wanted = AddPartitionsToTxnTransaction(ID, *producer, False, topics)
    answer = ready.ask(AddPartitionsToTxnRequest(transactions=[wanted]), version)
    assert (answer.error_code, answer.results_by_transaction) == (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, [])
    described = ready.ask(DescribeTransactionsRequest([ID]))
    assert described.transaction_states[0].topics == []


# --- fencing, by version


def test_every_api_names_a_fenced_producer_as_its_clients_know_it(
    ready: SimNode, producer: tuple[int, int]
) -> None:
    """KIP-588: INVALID_PRODUCER_EPOCH was fatal to older clients where PRODUCER_FENCED is now."""
    old, new = ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.PRODUCER_FENCED
    ready.ask(InitProducerIdRequest(ID, 60_000))
    for version, expected in ((1, old), (2, new)):
        assert add(ready, producer, ("t", [0]), version=version) == {("t", 0): expected}
        assert end(ready, producer, committed=True, version=version).error_code == expected
        request = AddOffsetsToTxnRequest(ID, *producer, "g")
        assert ready.ask(request, version).error_code == expected
    for version, expected in ((3, old), (4, new)):
        asked = InitProducerIdRequest(ID, 60_000, producer[0], producer[1] + 9)
        assert ready.ask(asked, version).error_code == expected
    for version in (9, 12):
        assert produce(ready, batch(producer), version=version) == old


# --- offsets


def commit_offset(node: SimNode, producer: tuple[int, int], *, version: int, topic: str = "t") -> int:
    part = TxnOffsetCommitRequestPartition(0, 42, committed_metadata="note")
    request = TxnOffsetCommitRequest(
        ID, "g", *producer, topics=[TxnOffsetCommitRequestTopic(topic, partitions=[part])]
    )
    (answer,) = node.ask(request, version).topics[0].partitions
    code: int = answer.error_code
    return code


def test_a_group_without_a_name_is_refused_before_the_transaction_is_looked_at(ready: SimNode) -> None:
    part = TxnOffsetCommitRequestPartition(0, 42)
    request = TxnOffsetCommitRequest(
        ID, "", 7, 0, topics=[TxnOffsetCommitRequestTopic("t", partitions=[part])]
    )
    (answer,) = ready.ask(request, 4).topics[0].partitions
    assert answer.error_code == ErrorCode.INVALID_GROUP_ID


def committed_offset(node: SimNode, *, require_stable: bool = False) -> tuple[int, int]:
    group = OffsetFetchRequestGroup("g", topics=[OffsetFetchRequestTopics("t", partition_indexes=[0])])
    answer = node.ask(OffsetFetchRequest(groups=[group], require_stable=require_stable), 8)
    (part,) = answer.groups[0].topics[0].partitions
    return part.error_code, part.committed_offset


@pytest.mark.parametrize("version", range(5))
@pytest.mark.parametrize("committed", [True, False])
def test_offsets_count_when_the_transaction_does(
    ready: SimNode, producer: tuple[int, int], version: int, committed: bool
) -> None:
    assert ready.ask(AddOffsetsToTxnRequest(ID, *producer, "g"), 3).error_code == 0
    assert commit_offset(ready, producer, version=version) == 0
    assert committed_offset(ready) == (0, -1)
    assert committed_offset(ready, require_stable=True)[0] == ErrorCode.UNSTABLE_OFFSET_COMMIT
    end(ready, producer, committed=committed, version=1)
    assert committed_offset(ready, require_stable=True) == (0, 42 if committed else -1)


def test_v2_offsets_add_their_group_by_themselves(ready: SimNode, producer: tuple[int, int]) -> None:
    """KIP-890"""
    assert commit_offset(ready, producer, version=5) == 0
    end(ready, producer, committed=True, version=5)
    assert committed_offset(ready) == (0, 42)


def test_offsets_outside_of_the_transaction_are_refused(ready: SimNode, producer: tuple[int, int]) -> None:
    assert commit_offset(ready, producer, version=3) == ErrorCode.INVALID_TXN_STATE
    assert commit_offset(ready, producer, version=4) == ErrorCode.TRANSACTION_ABORTABLE
    assert commit_offset(ready, (producer[0], 9), version=5) == ErrorCode.INVALID_PRODUCER_EPOCH
    assert commit_offset(ready, producer, version=5, topic="u") == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


# --- what hangs, and what is known


def test_a_hanging_transaction_is_found_and_ended(new_node: NewNode) -> None:
    """KIP-664: one that its coordinator knows nothing of."""
    node = new_node(transaction_partition_verification_enable="false")
    node.ask(CreateTopicsRequest([CreatableTopic("t", 1, 1)], timeout_ms=1000))
    produce(node, batch((7, 3)), version=9)
    (hanging,) = (
        node.ask(DescribeProducersRequest([TopicRequest("t", [0])])).topics[0].partitions[0].active_producers
    )
    assert (hanging.producer_id, hanging.producer_epoch, hanging.current_txn_start_offset) == (7, 3, 0)
    topics = [WritableTxnMarkerTopic("t", [0, 8])]
    answer = node.ask(WriteTxnMarkersRequest([WritableTxnMarker(7, 3, False, topics, 0)]))
    first, unknown = answer.markers[0].topics[0].partitions
    assert (first.error_code, unknown.error_code) == (0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    assert fetch(node).last_stable_offset == 2
    assert node.ask(WriteTxnMarkersRequest()).markers == []


def test_clients_may_abort_by_a_marker_and_never_commit(ready: SimNode, producer: tuple[int, int]) -> None:
    """Decision 0012"""
    assert produce(ready, batch(producer), version=12) == 0
    topics = [WritableTxnMarkerTopic("t", [0])]
    forged = WriteTxnMarkersRequest(
        [WritableTxnMarker(*producer, committed, topics, 0) for committed in (False, True)]
    )
    for marker in ready.ask(forged).markers:
        (part,) = marker.topics[0].partitions
        assert part.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    answer = fetch(ready)
    assert (answer.high_watermark, answer.last_stable_offset) == (1, 0)


def test_transactions_are_listed_by_every_filter(ready: SimNode, producer: tuple[int, int]) -> None:
    add(ready, producer, ("t", [0]))
    ready.clock.advance(5_000)

    def listed(version: int = 2, **filters: Any) -> list[str]:
        answer = ready.ask(ListTransactionsRequest(**filters), version)
        assert answer.error_code == 0
        return [f"{one.transactional_id} {one.transaction_state}" for one in answer.transaction_states]

    found = [f"{ID} Ongoing"]
    assert [listed(version) for version in range(3)] == [found] * 3
    assert listed(state_filters=["Ongoing"]) == found
    assert listed(state_filters=["Empty"]) == []
    assert listed(producer_id_filters=[producer[0]]) == found
    assert listed(producer_id_filters=[-5]) == []
    assert listed(1, duration_filter=4_999) == found
    assert listed(1, duration_filter=5_000) == []
    assert listed(transactional_id_pattern="pay.*") == found
    assert listed(transactional_id_pattern="pay") == [], "the whole id has to match"


def test_filters_that_say_nothing_are_named(ready: SimNode, producer: tuple[int, int]) -> None:
    answer = ready.ask(ListTransactionsRequest(state_filters=["Open", "Empty"]))
    assert answer.unknown_state_filters == ["Open"]
    assert [one.transactional_id for one in answer.transaction_states] == [ID]
    answer = ready.ask(ListTransactionsRequest(transactional_id_pattern="(.{0,30}a.{0,30}){0,30}z"))
    assert answer.error_code == ErrorCode.INVALID_REGULAR_EXPRESSION, "its program is too large"
    answer = ready.ask(ListTransactionsRequest(transactional_id_pattern="("))
    assert answer.error_code == ErrorCode.INVALID_REGULAR_EXPRESSION


def test_transactions_are_described(ready: SimNode, producer: tuple[int, int]) -> None:
    add(ready, producer, ("t", [1, 0]))
    known, unknown, nobody = ready.ask(DescribeTransactionsRequest([ID, "zzz", ""])).transaction_states
    assert (known.error_code, known.transaction_state, known.transaction_timeout_ms) == (0, "Ongoing", 60_000)
    assert [(topic.topic, topic.partitions) for topic in known.topics] == [("t", [0, 1])]
    assert (known.producer_id, known.producer_epoch) == producer
    assert known.transaction_start_time_ms == ready.clock.wall_ms()
    assert unknown.error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
    assert nobody.error_code == ErrorCode.INVALID_REQUEST
    assert [one["transactional_id"] for one in ready.core.transactions.describe()] == [ID]


def test_a_deleted_topic_needs_no_marker(ready: SimNode, producer: tuple[int, int]) -> None:
    add(ready, producer, ("t", [0, 1]))
    ready.ask(DeleteTopicsRequest(topics=[DeleteTopicState("t")], timeout_ms=1000))
    assert end(ready, producer, committed=True, version=1).error_code == 0
    (known,) = ready.ask(DescribeTransactionsRequest([ID])).transaction_states
    assert known.transaction_state == "CompleteCommit"


def test_markers_wait_for_a_group_partition_that_is_being_loaded(
    ready: SimNode, producer: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    ready.ask(AddOffsetsToTxnRequest(ID, *producer, "g"), 3)
    commit_offset(ready, producer, version=3)
    groups = ready.core.groups.coordinator
    monkeypatch.setattr(groups, "is_loading", lambda partition: True)
    end(ready, producer, committed=True, version=1)
    (known,) = ready.core.transactions.describe()
    assert known["state"] == "PrepareCommit"
    assert known["waits_for"].endswith("has none: COORDINATOR_LOAD_IN_PROGRESS")
    monkeypatch.undo()
    ready.advance(100)
    assert committed_offset(ready) == (0, 42)


def test_every_partition_of_the_topic_is_led_and_loaded(ready: SimNode) -> None:
    led = list(ready.core.transactions.coordinator.store.led())
    assert len(led) == 3
    assert all(partition.is_loaded for partition in led)
    assert led[0].topic_partition == TopicPartition("__transaction_state", 0)
