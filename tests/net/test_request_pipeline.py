"""The requests of one connection, without one: order, versions, deadlines, ends."""

import struct

import pytest

from odradek.base.clock import ManualClock
from odradek.base.error_codes import ErrorCode
from odradek.net.framing import framed
from odradek.net.request_pipeline import (
    Answer,
    ConnectionFailed,
    Failure,
    Outcome,
    RequestPipeline,
    SentRequest,
    decode_answer,
)
from odradek.wire.headers import decode_request_header, encode_response_header
from odradek.wire.message import Message
from odradek.wire.messages.api_versions import ApiVersion, ApiVersionsResponse
from odradek.wire.messages.create_topics import CreateTopicsRequest
from odradek.wire.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse

VERSION = 1


class Link:
    """A pipeline, and what a broker would do at its other end."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.pipeline = RequestPipeline("broker:9092", self.clock, in_flight_max=3)
        self.written: list[bytes] = []

    def send(self, timeout_ms: int = 1_000) -> SentRequest:
        sent, parts = self.pipeline.send(DescribeClusterRequest(), VERSION, timeout_ms)
        self.written.append(b"".join(parts))
        return sent

    def answer_to(self, correlation_id: int, cluster_id: str = "c") -> bytes:
        header = encode_response_header(DescribeClusterRequest.API_KEY, VERSION, correlation_id)
        return b"".join(framed([header, DescribeClusterResponse(cluster_id=cluster_id).encode(VERSION)]))

    def receive(self, data: bytes, at_once: int = 1 << 16) -> list[Outcome]:
        outcomes: list[Outcome] = []
        while data:
            room = self.pipeline.writable()
            size = min(len(room), len(data), at_once)
            room[:size] = data[:size]
            outcomes += self.pipeline.received(size)
            data = data[size:]
        return outcomes


@pytest.fixture
def link() -> Link:
    return Link()


def codes(outcomes: list[Outcome]) -> list[ErrorCode | None]:
    return [one.error.code if isinstance(one, Failure) else None for one in outcomes]


def test_a_request_is_written_as_a_frame_with_its_header(link: Link) -> None:
    sent = link.send()
    (frame,) = link.written
    header, _ = decode_request_header(frame[4:])
    assert (header.api_key, header.api_version, header.correlation_id) == (60, VERSION, sent.correlation_id)
    assert header.client_id == "odradek"


@pytest.mark.parametrize("at_once", [1, 7, 1 << 16])
def test_answers_belong_to_the_requests_in_their_order(link: Link, at_once: int) -> None:
    first, second = link.send(), link.send()
    data = link.answer_to(first.correlation_id, "one") + link.answer_to(second.correlation_id, "two")
    outcomes = link.receive(data, at_once)
    assert [outcome.request for outcome in outcomes] == [first, second]
    names = [
        decode_answer("broker:9092", outcome, DescribeClusterResponse).cluster_id
        for outcome in outcomes
        if isinstance(outcome, Answer)
    ]
    assert (names, link.pipeline.in_flight) == (["one", "two"], 0)


def test_an_answer_out_of_order_ends_everything(link: Link) -> None:
    link.send()
    second = link.send()
    outcomes = link.receive(link.answer_to(second.correlation_id))
    assert codes(outcomes) == [ErrorCode.CORRUPT_MESSAGE] * 2
    assert not link.pipeline.is_open
    with pytest.raises(ConnectionFailed, match="is closed: an answer to no request"):
        link.send()


def test_what_was_answered_before_the_confusion_is_answered(link: Link) -> None:
    first = link.send()
    link.send()
    outcomes = link.receive(link.answer_to(first.correlation_id) + link.answer_to(99))
    assert codes(outcomes) == [None, ErrorCode.CORRUPT_MESSAGE]


def test_a_request_that_is_late_ends_the_connection_and_the_others_with_it(link: Link) -> None:
    link.send(timeout_ms=5_000)
    link.send(timeout_ms=1_000)
    assert link.pipeline.next_deadline_ms() == 1_000
    link.clock.advance(999)
    assert link.pipeline.expire() == ()
    link.clock.advance(1)
    outcomes = list(link.pipeline.expire())
    assert codes(outcomes) == [ErrorCode.NETWORK_EXCEPTION, ErrorCode.REQUEST_TIMED_OUT]
    assert all(code is not None and code.is_retriable for code in codes(outcomes))
    assert link.pipeline.next_deadline_ms() is None


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        (DescribeClusterRequest(), "did not answer within 1.5 s (describe cluster)"),
        (CreateTopicsRequest(), "did not answer within 1.5 s (create topics); it may be done later"),
    ],
)
def test_what_was_not_answered_is_said_in_words(link: Link, request_: Message, said: str) -> None:
    link.pipeline.send(request_, request_.VERSIONS.highest, 1_500)
    link.send(timeout_ms=2_000)
    link.clock.advance(1_500)
    late, other = link.pipeline.expire()
    assert isinstance(late, Failure)
    assert isinstance(other, Failure)
    assert late.error.message == f"broker:9092 {said}"
    lost = "the connection to broker:9092 is lost: the broker " + said.removesuffix("; it may be done later")
    assert other.error.message == lost


def test_a_connection_that_is_lost_fails_what_is_in_flight_once(link: Link) -> None:
    link.send()
    assert codes(list(link.pipeline.lost("the broker closed it"))) == [ErrorCode.NETWORK_EXCEPTION]
    assert link.pipeline.lost("again") == []


def test_what_is_no_frame_ends_the_connection(link: Link) -> None:
    link.send()
    assert codes(link.receive(b"\xff\xff\xff\xff")) == [ErrorCode.CORRUPT_MESSAGE]


def test_an_answer_that_cannot_be_read_is_said_to_be_so(link: Link) -> None:
    sent = link.send()
    header = encode_response_header(60, VERSION, sent.correlation_id)
    (outcome,) = link.receive(b"".join(framed([header, b"\0"])))
    assert isinstance(outcome, Answer)
    with pytest.raises(ConnectionFailed, match="answered what cannot be read"):
        decode_answer("broker:9092", outcome, DescribeClusterResponse)


def test_in_flight_is_bounded(link: Link) -> None:
    for _ in range(3):
        link.send()
    with pytest.raises(AssertionError, match="without waiting"):
        link.send()


@pytest.mark.parametrize(("served", "version"), [((0, 9), 2), ((0, 1), 1), ((1, 1), 1)])
def test_the_newest_common_version_is_spoken(link: Link, served: tuple[int, int], version: int) -> None:
    link.pipeline.learn_versions(ApiVersionsResponse(api_keys=[ApiVersion(60, *served)]))
    highest = DescribeClusterRequest.VERSIONS.highest
    assert link.pipeline.version_of(DescribeClusterRequest) == min(version, highest)
    assert link.pipeline.serves(DescribeClusterRequest)


def test_no_common_version_is_an_error_that_is_not_tried_again(link: Link) -> None:
    link.pipeline.learn_versions(ApiVersionsResponse(api_keys=[ApiVersion(60, 90, 91)]))
    with pytest.raises(ConnectionFailed, match="in a version known here") as refused:
        link.pipeline.version_of(DescribeClusterRequest)
    assert refused.value.code is ErrorCode.UNSUPPORTED_VERSION
    assert not refused.value.code.is_retriable


def test_a_request_that_cannot_be_encoded_is_not_in_flight(link: Link) -> None:
    wrong = CreateTopicsRequest(timeout_ms="soon")  # type: ignore[arg-type]
    with pytest.raises(struct.error):
        link.pipeline.send(wrong, wrong.VERSIONS.highest, 1_000)

    assert link.pipeline.in_flight == 0
    sent = link.send()
    (answer,) = link.receive(link.answer_to(sent.correlation_id))
    assert isinstance(answer, Answer)
    assert answer.request is sent
