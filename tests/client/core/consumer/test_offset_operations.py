"""What an application asks about offsets and commits, event by event, also of brokers that answer badly."""

from dataclasses import dataclass

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.ids import TopicPartition
from odradek.base.offset_timestamps import LATEST
from odradek.client.core.consumer.offset_operations import (
    OffsetAndTimestamp,
    commit_offsets,
    committed_offsets,
    offsets_for_times,
)
from odradek.client.core.offset_and_metadata import OffsetAndMetadata
from odradek.client.core.requests import ToNode
from odradek.net.request_pipeline import ConnectionFailed
from odradek.wire.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from odradek.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from odradek.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)
from tests.client.core.producer.model_broker import ORDERS, known_view
from tests.client.core.running import Running

OTHER = TopicPartition("planes", 3)


@dataclass
class Member:
    """An `Identity`: a consumer of the protocol of KIP-848."""

    group: str = "billing"
    member: str = "m1"
    epoch: int = 4
    instance: str | None = None
    checks_epoch: bool = True


def listed(
    partition: TopicPartition, offset: int, code: ErrorCode = ErrorCode.NONE, timestamp: int = -1
) -> ListOffsetsResponse:
    part = ListOffsetsPartitionResponse(partition.partition, code, offset=offset, timestamp=timestamp)
    return ListOffsetsResponse(topics=[ListOffsetsTopicResponse(partition.topic, [part])])


def fetched(offset: int, code: ErrorCode = ErrorCode.NONE) -> OffsetFetchResponse:
    part = OffsetFetchResponsePartitions(0, committed_offset=offset, metadata=None, error_code=code)
    topic = OffsetFetchResponseTopics(ORDERS.topic, partitions=[part])
    return OffsetFetchResponse(groups=[OffsetFetchResponseGroup("billing", topics=[topic])])


def committed(code: ErrorCode = ErrorCode.NONE) -> OffsetCommitResponse:
    part = OffsetCommitResponsePartition(partition_index=0, error_code=code)
    return OffsetCommitResponse(topics=[OffsetCommitResponseTopic(ORDERS.topic, partitions=[part])])


# --- offsets for timestamps


def test_the_leader_is_asked_for_each_timestamp() -> None:
    running = Running(offsets_for_times(known_view(), {ORDERS: 1_000}, is_committed_only=True))
    (send,) = running.sends
    assert isinstance(send.to, ToNode)
    assert isinstance(send.request, ListOffsetsRequest)
    assert send.request.isolation_level == 1
    running.answer(listed(ORDERS, 7, timestamp=1_001))
    assert running.result == {ORDERS: OffsetAndTimestamp(7, 1_001)}


def test_a_partition_without_a_record_as_late_has_none() -> None:
    running = Running(offsets_for_times(known_view(), {ORDERS: 1_000}, is_committed_only=False))
    running.answer(listed(ORDERS, -1))
    assert running.result == {ORDERS: None}


def test_an_answer_about_another_partition_is_none_about_this_one() -> None:
    running = Running(offsets_for_times(known_view(), {ORDERS: LATEST}, is_committed_only=False))
    running.answer(listed(OTHER, 9))
    assert running.pause.error.code is ErrorCode.LEADER_NOT_AVAILABLE
    running.resume()
    running.answer(listed(ORDERS, 7))
    assert running.result == {ORDERS: OffsetAndTimestamp(7, -1)}


def test_a_partition_that_nobody_leads_is_waited_for() -> None:
    running = Running(offsets_for_times(known_view(), {OTHER: LATEST}, is_committed_only=False))
    assert running.sends == []
    running.answer()
    assert "planes-3 has no leader" in str(running.pause.error)


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.OFFSET_NOT_AVAILABLE,
    ],
)
def test_a_leader_that_has_moved_is_looked_for_and_asked_again(code: ErrorCode) -> None:
    running = Running(offsets_for_times(known_view(), {ORDERS: LATEST}, is_committed_only=False))
    running.answer(listed(ORDERS, -1, code))
    assert (running.pause.number, running.pause.error.code) == (0, code)
    running.resume()
    running.answer(ConnectionFailed("the connection broke"))
    assert running.pause.number == 1
    running.resume()
    running.answer(listed(ORDERS, 7))
    assert running.result[ORDERS] == OffsetAndTimestamp(7, -1)


def test_a_refusal_ends_it() -> None:
    running = Running(offsets_for_times(known_view(), {ORDERS: LATEST}, is_committed_only=False))
    with pytest.raises(ApiError, match="no offsets of orders-0: topic authorization failed"):
        running.answer(listed(ORDERS, -1, ErrorCode.TOPIC_AUTHORIZATION_FAILED))


# --- committed offsets


def test_a_committed_offset_is_returned_and_none_where_there_is_none() -> None:
    running = Running(committed_offsets(Member(), [ORDERS]))
    running.answer(fetched(17))
    assert running.result == {ORDERS: OffsetAndMetadata(17)}
    running = Running(committed_offsets(Member(), [ORDERS]))
    running.answer(fetched(-1))
    assert running.result == {ORDERS: None}


def test_a_committed_offset_that_the_answer_leaves_out_is_not_taken_for_none() -> None:
    running = Running(committed_offsets(Member(), [ORDERS]))
    with pytest.raises(ApiError, match="leaves out the committed offset of orders-0") as refused:
        running.answer(OffsetFetchResponse())
    assert refused.value.code is ErrorCode.UNKNOWN_SERVER_ERROR


def test_committed_offsets_are_asked_for_with_the_epoch_of_now() -> None:
    member = Member()
    running = Running(committed_offsets(member, [ORDERS]))
    running.answer(fetched(-1, ErrorCode.STALE_MEMBER_EPOCH))
    member.epoch = 5
    running.resume()
    (send,) = running.sends
    assert isinstance(send.request, OffsetFetchRequest)
    assert send.request.groups[0].member_epoch == 5


def test_an_open_transaction_is_waited_for_and_the_routing_is_told() -> None:
    running = Running(committed_offsets(Member(), [ORDERS]))
    (asked,) = running.sends
    running.answer(fetched(-1, ErrorCode.UNSTABLE_OFFSET_COMMIT))
    assert running.pause.refused == ((asked, ErrorCode.UNSTABLE_OFFSET_COMMIT),)
    running.resume()
    with pytest.raises(ApiError, match="group billing: group authorization failed"):
        running.answer(fetched(-1, ErrorCode.GROUP_AUTHORIZATION_FAILED))


# --- commits


def test_a_commit_goes_on_until_all_is_committed() -> None:
    running = Running(commit_offsets(Member(), {}, {ORDERS: OffsetAndMetadata(3)}))
    running.answer(ConnectionFailed("the connection broke"))
    assert not running.pause.refused
    running.resume()
    (asked,) = running.sends
    running.answer(committed(ErrorCode.NOT_COORDINATOR))
    assert running.pause.number == 1
    assert running.pause.refused == ((asked, ErrorCode.NOT_COORDINATOR),)
    running.resume()
    (send,) = running.sends
    assert isinstance(send.request, OffsetCommitRequest)
    assert send.request.generation_id_or_member_epoch == 4
    running.answer(committed())
    assert running.is_done


def test_a_commit_of_nothing_asks_nothing() -> None:
    assert Running(commit_offsets(Member(), {}, {})).is_done


def test_a_commit_that_the_group_refuses_ends() -> None:
    running = Running(commit_offsets(Member(), {}, {ORDERS: OffsetAndMetadata(3)}))
    with pytest.raises(ApiError, match="refuses the commit of orders-0"):
        running.answer(committed(ErrorCode.UNKNOWN_MEMBER_ID))


def test_a_request_that_cannot_be_made_ends_a_commit() -> None:
    running = Running(commit_offsets(Member(), {}, {ORDERS: OffsetAndMetadata(3)}))
    with pytest.raises(ApiError, match="too old"):
        running.answer(ApiError(ErrorCode.UNSUPPORTED_VERSION, "the broker is too old"))
