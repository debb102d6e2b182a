"""What a report tells of a run, and what it folds."""

from odradek.base.error_codes import ErrorCode
from odradek.testing.application.history import Event, _folded
from odradek.testing.application.traffic import Exchange
from odradek.testing.application.words import words_of
from odradek.wire.headers import RequestHeader, encode_request_header, encode_response_header
from odradek.wire.message import Message
from odradek.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from odradek.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)


def told(request: Message, answer: Message, version: int) -> str | None:
    header = RequestHeader(request.API_KEY, version, 1, "test")
    frame = encode_request_header(header) + request.encode(version)
    answered = encode_response_header(request.API_KEY, version, 1) + answer.encode(version)
    return words_of(Exchange(0, "worker", 2, header, frame, answered))


def commit(code: ErrorCode) -> str | None:
    asked = OffsetCommitRequestPartition(1, 20, committed_metadata="")
    answered = OffsetCommitResponsePartition(1, code)
    return told(
        OffsetCommitRequest("billing", topics=[OffsetCommitRequestTopic("orders", partitions=[asked])]),
        OffsetCommitResponse(topics=[OffsetCommitResponseTopic("orders", partitions=[answered])]),
        8,
    )


def test_a_commit_is_told_with_group_partition_and_offset() -> None:
    assert commit(ErrorCode.NONE) == "worker: group billing committed orders-1 at 20 at broker 2"


def test_an_error_is_told_with_its_partition() -> None:
    error = commit(ErrorCode.UNKNOWN_MEMBER_ID)
    assert error == "worker: OffsetCommit at broker 2: orders-1 UNKNOWN_MEMBER_ID"


def test_a_heartbeat_is_told_only_when_it_fails() -> None:
    request = HeartbeatRequest("billing", 3, "member")
    assert told(request, HeartbeatResponse(), 4) is None
    failed = told(request, HeartbeatResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS), 4)
    assert failed == "worker: Heartbeat at broker 2: REBALANCE_IN_PROGRESS"


def test_many_alike_are_folded_up_to_the_next_event_of_the_cluster() -> None:
    events = [Event(number * 500, f"{'ab'[number % 2]}{number}", "ab"[number % 2]) for number in range(9)]
    events[7:7] = [Event(3_250, "broker 1 is killed")]
    assert [line.strip() for line in _folded(events)] == [
        *("0.000 s  a0", "... 2 more like this"),
        *("0.500 s  b1", "1.500 s  b3", "2.500 s  b5"),
        *("3.000 s  a6", "3.250 s  broker 1 is killed", "3.500 s  b7", "4.000 s  a8"),
    ]
