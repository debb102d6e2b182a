"""What a report tells of a run, and what it folds."""

import pytest
from aiokafka import AIOKafkaProducer

from odradek.base.error_codes import ErrorCode
from odradek.testing import Cluster
from odradek.testing.application import history, traffic
from odradek.testing.application.history import Event, Line, _folded, _shortened
from odradek.testing.application.simulation import Simulation
from odradek.testing.application.traffic import Exchange
from odradek.testing.application.words import words_of
from odradek.wire.headers import RequestHeader, encode_request_header, encode_response_header
from odradek.wire.message import Message
from odradek.wire.messages.fetch import FetchRequest
from odradek.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from odradek.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from odradek.wire.messages.produce import ProduceRequest


def told(request: Message, answer: Message, version: int) -> str | None:
    header = RequestHeader(request.API_KEY, version, 1, "test")
    frame = encode_request_header(header) + request.encode(version)
    answered = encode_response_header(request.API_KEY, version, 1) + answer.encode(version)
    return words_of(Exchange(0, "worker", 2, header, frame, answered))


def lost(request: Message, version: int) -> str | None:
    header = RequestHeader(request.API_KEY, version, 1, "test")
    return words_of(Exchange(0, "worker", 2, header, encode_request_header(header) + request.encode(version)))


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


def test_a_request_without_an_answer_is_told_unless_the_client_does_not_wait_for_it() -> None:
    produced = "worker: Produce at broker 2: no answer, the connection has ended"
    assert lost(ProduceRequest(acks=-1), 9) == produced
    assert lost(ProduceRequest(acks=0), 9) is None
    assert lost(FetchRequest(), 12) is None


def test_a_long_report_leaves_out_old_requests_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "SHOWN_MAX", 4)
    words = ["broker 1 is killed", "a: 1", "a: 2", "cut", "a: 3", "healed"]
    lines = [Line(text, is_request=":" in text) for text in words]
    assert [line.strip() for line in _shortened(lines)] == [
        *("broker 1 is killed", "... 2 more lines", "cut", "a: 3", "healed")
    ]
    only_faults = [Line(str(number), is_request=False) for number in range(5)]
    assert [line.strip() for line in _shortened(only_faults)] == ["... 1 more line", "1", "2", "3", "4"]


def test_what_is_not_kept_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traffic, "KEPT_MAX", 2)

    async def send(cluster: Cluster) -> None:
        await cluster.create_topic("orders")
        async with AIOKafkaProducer(bootstrap_servers=cluster.bootstrap_servers) as producer:
            for _ in range(9):
                await producer.send_and_wait("orders", b"lamp")
        raise ValueError("over")

    simulation = Simulation(1, brokers=1)
    with pytest.raises(ValueError, match="over"):
        simulation.run(send)
    *_, marker, first, last = simulation.told
    assert marker.endswith("the application's requests before are not kept")
    assert (first[13:], last[13:]) == tuple(f"test: acks=1 for orders-0 {n} at broker 1" for n in (7, 8))


def test_many_alike_are_folded_up_to_the_next_event_of_the_cluster() -> None:
    events = [Event(number * 500, f"{'ab'[number % 2]}{number}", "ab"[number % 2]) for number in range(9)]
    events[7:7] = [Event(3_250, "broker 1 is killed")]
    assert [line.text.strip() for line in _folded(events)] == [
        *("0.000 s  a0", "... 2 more like this"),
        *("0.500 s  b1", "1.500 s  b3", "2.500 s  b5"),
        *("3.000 s  a6", "3.250 s  broker 1 is killed", "3.500 s  b7", "4.000 s  a8"),
    ]
