"""Questions to leaders: the one that leads now is asked, as often as leadership moves."""

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError, ElementsRefused
from odradek.base.ids import TopicPartition
from odradek.client.core.admin.offsets import delete_records
from odradek.client.core.admin.transactions import (
    PartitionProducer,
    abort_transaction,
    describe_producers,
)
from odradek.client.core.requests import ToAny, ToNode
from odradek.wire.messages.delete_records import (
    DeleteRecordsPartitionResult,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)
from odradek.wire.messages.describe_producers import (
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)
from odradek.wire.messages.metadata import (
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from odradek.wire.messages.write_txn_markers import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from tests.client.core.running import Running

FIRST, SECOND = TopicPartition("flights", 0), TopicPartition("flights", 1)
PRODUCER = PartitionProducer(FIRST, 7, 3, -1, 5, 1_000, 40)


def led(*leaders: int) -> MetadataResponse:
    """The leaders of the partitions of flights."""
    parts = [MetadataResponsePartition(0, number, leader) for number, leader in enumerate(leaders)]
    return MetadataResponse(topics=[MetadataResponseTopic(0, "flights", partitions=parts)])


def deleted(*results: tuple[int, int, ErrorCode]) -> DeleteRecordsResponse:
    parts = [DeleteRecordsPartitionResult(number, start, code) for number, start, code in results]
    return DeleteRecordsResponse(topics=[DeleteRecordsTopicResult("flights", parts)])


def test_where_a_leader_has_moved_its_successor_is_asked() -> None:
    running = Running(delete_records({FIRST: 10, SECOND: 20}))
    assert running.sends[0].to == ToAny()
    running.answer(led(1, 2))
    assert [send.to for send in running.sends] == [ToNode(1), ToNode(2)]
    running.answer(deleted((0, 10, ErrorCode.NONE)), deleted((1, -1, ErrorCode.NOT_LEADER_OR_FOLLOWER)))
    running.resume()
    running.answer(led(1, 3))
    assert [send.to for send in running.sends] == [ToNode(3)]
    running.answer(deleted((1, 20, ErrorCode.NONE)))
    assert running.result == {FIRST: 10, SECOND: 20}


def test_a_partition_without_a_leader_is_waited_for() -> None:
    running = Running(delete_records({FIRST: 10, SECOND: 20}))
    running.answer(led(1, -1))
    running.answer(deleted((0, 10, ErrorCode.NONE)))
    assert running.pause.error.message == "flights-1 has no leader"
    running.resume()
    running.answer(led(1, 1))
    running.answer(deleted((1, 20, ErrorCode.NONE)))
    assert running.result == {FIRST: 10, SECOND: 20}


def test_a_leader_that_has_not_heard_of_its_partition_is_asked_again() -> None:
    running = Running(delete_records({FIRST: 10}))
    running.answer(led(1))
    running.answer(deleted((0, -1, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)))
    assert running.pause.error.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_leader_that_the_client_does_not_know_yet_is_asked_again() -> None:
    running = Running(delete_records({FIRST: 10}))
    running.answer(led(2))
    running.answer(ApiError(ErrorCode.BROKER_NOT_AVAILABLE, "the cluster has no broker 2"))
    assert running.pause.error.code is ErrorCode.BROKER_NOT_AVAILABLE
    running.resume()
    running.answer(led(2))
    running.answer(deleted((0, 10, ErrorCode.NONE)))
    assert running.result == {FIRST: 10}


def test_a_partition_that_does_not_exist_ends_it_before_anything_is_done() -> None:
    running = Running(delete_records({FIRST: 10, TopicPartition("flights", 7): 1}))
    with pytest.raises(ApiError, match="there is no partition flights-7"):
        running.answer(led(1, 1))


def test_a_refusal_says_what_was_done() -> None:
    running = Running(delete_records({FIRST: 10, SECOND: 20}))
    running.answer(led(1, 1))
    with pytest.raises(ElementsRefused, match="flights-1: offset out of range; deleted in: flights-0"):
        running.answer(deleted((0, 10, ErrorCode.NONE), (1, -1, ErrorCode.OFFSET_OUT_OF_RANGE)))


def producers(number: int, code: ErrorCode, *states: ProducerState) -> DescribeProducersResponse:
    part = PartitionResponse(number, code, None, list(states))
    return DescribeProducersResponse(topics=[TopicResponse("flights", [part])])


def test_producers_are_those_that_the_leader_knows() -> None:
    running = Running(describe_producers([FIRST]))
    running.answer(led(2))
    assert running.sends[0].to == ToNode(2)
    state = ProducerState(7, 3, last_sequence=5, last_timestamp=1_000, coordinator_epoch=-1)
    state.current_txn_start_offset = 40
    running.answer(producers(0, ErrorCode.NONE, state))
    assert running.result == {FIRST: [PRODUCER]}


def test_producers_may_be_asked_of_one_broker_which_is_not_waited_for() -> None:
    running = Running(describe_producers([FIRST], broker_id=3))
    assert running.sends[0].to == ToNode(3)
    with pytest.raises(ElementsRefused, match="flights-0: not leader or follower"):
        running.answer(producers(0, ErrorCode.NOT_LEADER_OR_FOLLOWER))


def marked(code: ErrorCode) -> WriteTxnMarkersResponse:
    part = WritableTxnMarkerPartitionResult(0, code)
    topic = WritableTxnMarkerTopicResult("flights", [part])
    return WriteTxnMarkersResponse(markers=[WritableTxnMarkerResult(7, [topic])])


def test_a_transaction_is_aborted_by_a_marker_in_its_partition() -> None:
    running = Running(abort_transaction(PRODUCER))
    running.answer(led(1))
    running.answer(marked(ErrorCode.NOT_LEADER_OR_FOLLOWER))
    running.resume()
    running.answer(led(2))
    (send,) = running.sends
    assert (send.to, send.highest) == (ToNode(2), 1)
    assert isinstance(send.request, WriteTxnMarkersRequest)
    (marker,) = send.request.markers
    assert (marker.producer_id, marker.producer_epoch, marker.transaction_result) == (7, 3, False)
    assert marker.coordinator_epoch == 0
    assert [(one.name, one.partition_indexes) for one in marker.topics] == [("flights", [0])]
    running.answer(marked(ErrorCode.NONE))
    assert running.result is None


def test_a_marker_of_an_old_producer_is_refused() -> None:
    running = Running(abort_transaction(PRODUCER))
    running.answer(led(1))
    with pytest.raises(ElementsRefused, match="flights-0: invalid producer epoch"):
        running.answer(marked(ErrorCode.INVALID_PRODUCER_EPOCH))
