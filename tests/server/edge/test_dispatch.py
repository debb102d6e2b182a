import gc
import logging
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.server.edge.context import RequestContext, Respond
from odradek.server.edge.dispatch import Dispatcher, Handler
from odradek.server.edge.few_at_once import AT_ONCE_MAX, FREE_STEPS
from odradek.server.edge.loop_stalls import LoopStalls
from odradek.server.handlers.api_versions import unsupported_version
from odradek.server.handlers.registry import Handlers
from odradek.server.node.core import BrokerCore
from odradek.testing.sim import CountedTime, SimNode
from odradek.wire.apis import APIS
from odradek.wire.headers import RequestHeader, decode_response_header, encode_request_header
from odradek.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from odradek.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from odradek.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from odradek.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from odradek.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
    ListOffsetsTopicResponse,
)
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.batches import BatchOf
from tests.server.nodes import NewNode, ShortClock
from tests.server.recording_client import RecordingClient

INIT_PRODUCER_ID, API_VERSIONS = 22, 18


class Handled:
    """A handler whose behaviour the test sets."""

    def __init__(self) -> None:
        self.contexts: list[RequestContext] = []
        self.requests: list[Any] = []
        self.responds: list[Respond] = []
        self.error: Exception | None = None
        self.answers_first = False

    def handle(self, core: BrokerCore, context: RequestContext, request: Any, respond: Respond) -> None:
        self.contexts.append(context)
        self.requests.append(request)
        self.responds.append(respond)
        if self.answers_first:
            respond(InitProducerIdResponse(producer_id=1))
        if self.error is not None:
            raise self.error


@pytest.fixture
def handled() -> Handled:
    return Handled()


@pytest.fixture
def dispatcher(node: SimNode, handled: Handled, stalls: LoopStalls) -> Dispatcher[Any]:
    def refuse(request: Any, code: ErrorCode) -> InitProducerIdResponse:
        return InitProducerIdResponse(error_code=code)

    handlers = {
        INIT_PRODUCER_ID: Handler("InitProducerId", 0, 5, InitProducerIdRequest, handled.handle, refuse),
        API_VERSIONS: Handler("ApiVersions", 0, 4, ApiVersionsRequest, handled.handle, None),
    }
    return Dispatcher(
        node.core, handlers, lambda: ApiVersionsResponse(int(ErrorCode.UNSUPPORTED_VERSION)), stalls
    )


def frame(version: int, api_key: int = INIT_PRODUCER_ID, body: bytes | None = None) -> bytes:
    header = encode_request_header(RequestHeader(api_key, version, 77, "me"))
    return header + (InitProducerIdRequest(None, 5).encode(version) if body is None else body)


def decode(answer: bytes | None, version: int) -> InitProducerIdResponse:
    assert answer is not None
    correlation_id, position = decode_response_header(answer, INIT_PRODUCER_ID, version)
    assert correlation_id == 77
    return InitProducerIdResponse.decode(answer, version, position)


@pytest.mark.parametrize("version", range(6))
def test_a_request_reaches_its_handler_and_the_answer_its_connection(
    dispatcher: Dispatcher[Any], handled: Handled, fake_client: RecordingClient, version: int
) -> None:
    dispatcher.dispatch(fake_client, frame(version))
    (context,) = handled.contexts
    assert (context.api_version, context.correlation_id, context.client_id) == (version, 77, "me")
    assert handled.requests[0].transaction_timeout_ms == 5
    assert fake_client.answers == [], "a handler may answer later"
    handled.responds[0](InitProducerIdResponse(producer_id=9))
    assert decode(fake_client.answers[0], version).producer_id == 9


def test_a_handler_may_answer_nothing(
    dispatcher: Dispatcher[Any], handled: Handled, fake_client: RecordingClient
) -> None:
    dispatcher.dispatch(fake_client, frame(4))
    handled.responds[0](None)
    assert fake_client.answers == [None]


def durations(dispatcher: Dispatcher[Any]) -> tuple[int, list[int], list[int], list[int]]:
    """Quick requests, and the sums of the others by phase."""
    found = dispatcher.latencies[INIT_PRODUCER_ID]
    sums = [found.total.sum_ns, found.queue.sum_ns, found.remote.sum_ns]
    return found.quick, sums, found.total.counts, found.remote.counts


def test_a_request_that_is_answered_in_its_turn_is_counted_as_quick(
    dispatcher: Dispatcher[Any], handled: Handled, fake_client: RecordingClient
) -> None:
    handled.answers_first = True
    dispatcher.dispatch(fake_client, frame(4))
    quick, sums, _, _ = durations(dispatcher)
    assert (quick, sums) == (1, [0, 0, 0])


def test_the_time_of_a_request_is_told_apart_by_what_it_waited_for(
    dispatcher: Dispatcher[Any], handled: Handled, fake_client: RecordingClient, short_clock: ShortClock
) -> None:
    fake_client.queued_ns = 1_000
    short_clock.now_ns = 4_000
    dispatcher.dispatch(fake_client, frame(4))
    assert durations(dispatcher)[:2] == (0, [0, 0, 0]), "it is not answered yet"
    short_clock.now_ns = 60_004_000
    handled.responds[0](InitProducerIdResponse(producer_id=9))
    quick, sums, total, remote = durations(dispatcher)
    assert (quick, sums) == (0, [60_003_000, 3_000, 60_000_000])
    assert total == remote == [0, 0, 0, 0, 1, 0, 0, 0, 0], "up to 100 ms"


def test_a_request_that_waited_for_its_turn_is_not_quick(
    dispatcher: Dispatcher[Any], handled: Handled, fake_client: RecordingClient, short_clock: ShortClock
) -> None:
    handled.answers_first = True
    fake_client.queued_ns = 1_000
    short_clock.now_ns = 2_001_000
    dispatcher.dispatch(fake_client, frame(4))
    assert durations(dispatcher)[:2] == (0, [2_000_000, 2_000_000, 0])


def test_the_time_that_a_client_takes_for_an_answer_is_counted_for_its_api(
    dispatcher: Dispatcher[Any], handled: Handled, fake_client: RecordingClient, short_clock: ShortClock
) -> None:
    handled.answers_first = True
    dispatcher.dispatch(fake_client, frame(4))
    dispatcher.answer_waits(fake_client)
    short_clock.now_ns += 60_000_000
    dispatcher.answer_taken(fake_client)
    assert dispatcher.latencies[INIT_PRODUCER_ID].send.sum_ns == 60_000_000
    assert list(dispatcher.latencies) == [INIT_PRODUCER_ID]


def test_an_answer_that_is_taken_at_once_costs_no_call(
    dispatcher: Dispatcher[Any], handled: Handled, fake_client: RecordingClient
) -> None:
    """A quick request is counted by two additions."""
    handled.answers_first = True
    called: list[str] = []

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            called.append(Path(frame.f_code.co_filename).stem)

    dispatcher.dispatch(fake_client, frame(4))
    sys.setprofile(note)
    try:
        dispatcher.dispatch(fake_client, frame(4))
    finally:
        sys.setprofile(None)
    assert "dispatch" in called
    assert "latencies" not in called


def test_a_connection_that_is_closed_is_named_by_address_and_client_id(
    dispatcher: Dispatcher[Any], fake_client: RecordingClient, caplog: pytest.LogCaptureFixture
) -> None:
    dispatcher.dispatch(fake_client, frame(4, body=b"\xff"))
    assert caplog.messages[0].startswith("closing the connection of 10.0.0.1:4000 ('me'): ")
    assert vars(caplog.records[0])["client_id"] == "me"
    assert vars(caplog.records[0])["address"] == "10.0.0.1:4000"


@pytest.mark.parametrize(
    "bad",
    [
        b"",
        b"\0\x16\0",
        struct.pack(">hhih", 999, 0, 1, -1),
        frame(6, body=b""),
        frame(4, body=b"\xff"),
        frame(4)[:-1],
        struct.pack(">hhih", INIT_PRODUCER_ID, 4, 1, 500),
    ],
    ids=["empty", "short", "unknown api", "unknown version", "garbage", "truncated", "client id too long"],
)
def test_what_is_no_request_closes_the_connection(
    dispatcher: Dispatcher[Any], handled: Handled, fake_client: RecordingClient, bad: bytes
) -> None:
    dispatcher.dispatch(fake_client, bad)
    assert fake_client.is_closed
    assert handled.requests == []


def test_an_unknown_version_of_api_versions_is_answered_in_the_layout_of_version_0(
    dispatcher: Dispatcher[Any], fake_client: RecordingClient
) -> None:
    dispatcher.dispatch(fake_client, struct.pack(">hhi", API_VERSIONS, 5, 77) + b"whatever it may say")
    (frame,) = fake_client.answers
    assert frame is not None
    correlation_id, position = decode_response_header(frame, API_VERSIONS, 0)
    assert correlation_id == 77
    answer = ApiVersionsResponse.decode(frame, 0, position)
    assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert not fake_client.is_closed


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (RuntimeError("a mistake of ours"), ErrorCode.UNKNOWN_SERVER_ERROR),
        (ApiError(ErrorCode.POLICY_VIOLATION), ErrorCode.POLICY_VIOLATION),
    ],
)
def test_what_a_handler_raises_is_an_answer(
    dispatcher: Dispatcher[Any],
    handled: Handled,
    fake_client: RecordingClient,
    error: Exception,
    code: ErrorCode,
) -> None:
    handled.error = error
    dispatcher.dispatch(fake_client, frame(4))
    assert decode(fake_client.answers[0], 4).error_code == code
    assert not fake_client.is_closed


def test_a_handler_that_raises_after_its_answer_has_answered(
    dispatcher: Dispatcher[Any], handled: Handled, fake_client: RecordingClient
) -> None:
    handled.error, handled.answers_first = RuntimeError("too late"), True
    dispatcher.dispatch(fake_client, frame(4))
    assert [decode(answer, 4).producer_id for answer in fake_client.answers] == [1]


def test_an_answer_that_cannot_be_encoded_closes_the_connection(
    dispatcher: Dispatcher[Any], handled: Handled, fake_client: RecordingClient
) -> None:
    dispatcher.dispatch(fake_client, frame(4))
    handled.responds[0](InitProducerIdResponse(producer_id=1 << 70))
    assert (fake_client.answers, fake_client.is_closed) == ([], True)


def test_a_second_answer_is_our_own_mistake(
    dispatcher: Dispatcher[Any], handled: Handled, fake_client: RecordingClient
) -> None:
    dispatcher.dispatch(fake_client, frame(4))
    handled.responds[0](None)
    with pytest.raises(AssertionError, match="InitProducerId answered twice"):
        handled.responds[0](None)


# --- frames that nobody meant to send


def sound_frames(batch: bytes) -> list[bytes]:
    """Every API that is served, in its first and last version, and four requests with something in them."""
    full = (
        CreateTopicsRequest([CreatableTopic("t", 1, 1)], timeout_ms=100),
        ProduceRequest(
            acks=-1, topic_data=[TopicProduceData("t", partition_data=[PartitionProduceData(0, batch)])]
        ),
        FetchRequest(topics=[FetchTopic(topic="t", partitions=[FetchPartition(partition=0)])]),
        ListOffsetsRequest(topics=[ListOffsetsTopic("t", [ListOffsetsPartition(0, timestamp=-1)])]),
    )
    empty = [APIS[key].request_class() for key in Handlers().api_keys]
    found = []
    for request in (*full, *empty):
        versions = APIS[request.API_KEY].versions
        for version in {versions.lowest, min(versions.highest, 12), versions.highest}:
            header = encode_request_header(RequestHeader(request.API_KEY, version, 77, "me"))
            found.append(header + request.encode(version))
    return found


@st.composite
def damaged(draw: st.DrawFn, frames: list[bytes]) -> bytes:
    frame = bytearray(draw(st.sampled_from(frames)))
    for _ in range(draw(st.integers(0, 4))):
        position = draw(st.integers(0, len(frame)))
        removed = draw(st.integers(0, 8))
        extreme = st.sampled_from(
            [b"\xff" * 4, b"\x7f\xff\xff\xff", b"\0" * 4, b"\xff\xff\xff\xff\x0f", b"\x80"]
        )
        frame[position : position + removed] = draw(extreme | st.binary(max_size=8))
    return bytes(frame)


@contextmanager
def mistakes_of_ours() -> Iterator[list[str]]:
    """What is logged as an error of the broker meanwhile."""
    found: list[str] = []
    collector = logging.Handler(logging.ERROR)
    collector.emit = lambda record: found.append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger("odradek")
    logger.addHandler(collector)
    try:
        yield found
    finally:
        logger.removeHandler(collector)


def test_a_request_that_holds_the_loop_is_named(
    dispatcher: Dispatcher[Any],
    handled: Handled,
    fake_client: RecordingClient,
    short_clock: ShortClock,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def slow(core: BrokerCore, context: RequestContext, request: Any, respond: Respond) -> None:
        short_clock.now_ns += 130_000_000
        respond(InitProducerIdResponse(producer_id=1))

    monkeypatch.setattr(dispatcher._handlers.get(INIT_PRODUCER_ID), "handle", slow)
    header = encode_request_header(RequestHeader(INIT_PRODUCER_ID, 5, 77, "evil\x1b[2J"))
    dispatcher.dispatch(fake_client, header + InitProducerIdRequest(None, 5).encode(5))
    assert caplog.messages == [
        "the event loop stood still for 130 ms: InitProducerId v5 of 'evil\\x1b[2J' from 10.0.0.1:4000"
    ]


@pytest.mark.slow
def test_whatever_comes_is_answered_once_or_ends_its_connection(
    new_node: NewNode, batch: BatchOf, fake_client: RecordingClient, stalls: LoopStalls
) -> None:
    """Mutated frames of every API against the whole core; `./dev fuzz` is this at length, over sockets."""
    node, client_class = new_node(), type(fake_client)
    dispatcher = Dispatcher(node.core, Handlers(), unsupported_version, stalls)
    frames = sound_frames(batch(b"value"))
    other = client_class()

    @settings(max_examples=400, suppress_health_check=list(HealthCheck))
    @given(st.binary(max_size=64) | damaged(frames))
    def hold(frame: bytes) -> None:
        client = client_class()
        with mistakes_of_ours() as mistakes:
            dispatcher.dispatch(client, frame)
            node.turns.run()
        assert mistakes == []
        assert len(client.answers) <= 1

    hold()
    dispatcher.dispatch(other, frames[-1])
    assert len(other.answers) == 1, "everybody else is still served"


def test_a_wide_request_is_decoded_in_slices_before_it_is_handled(
    node: SimNode,
    handled: Handled,
    stalls: LoopStalls,
    fake_client: RecordingClient,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    handlers = {2: Handler("ListOffsets", 1, 11, ListOffsetsRequest, handled.handle, None)}
    slices: list[Iterator[None]] = []
    kept = SimpleNamespace(run=lambda steps, failed: slices.append(steps), cause=None)

    def steps_taken() -> int:
        taken = 0
        while slices:
            taken += len(list(slices.pop()))
        return taken

    monkeypatch.setattr(node.core, "slices", kept)
    dispatcher = Dispatcher(node.core, handlers, unsupported_version, stalls)
    topic = ListOffsetsTopic("t", [ListOffsetsPartition(number) for number in range(5_000)])
    request = ListOffsetsRequest(topics=[topic])
    dispatcher.dispatch(fake_client, frame(7, api_key=2, body=request.encode(7)))
    assert handled.requests == []
    assert steps_taken() >= 5_000 // 200
    assert handled.requests == [request]
    unsound = request.encode(7)[:-2]
    dispatcher.dispatch(fake_client, frame(7, api_key=2, body=unsound))
    assert not fake_client.is_closed
    steps_taken()
    assert fake_client.is_closed


class SlicedHandler:
    """Answers in three steps, or works in three steps and then answers; the last may fail."""

    def __init__(self, *, answers_in_steps: bool, fails: bool = False) -> None:
        self.answers_in_steps = answers_in_steps
        self.fails = fails

    def handle(self, core: BrokerCore, context: RequestContext, request: Any, respond: Respond) -> Any:
        if self.answers_in_steps:
            respond(self._answering())
            return None
        return self._working(respond)

    def _answering(self) -> Any:
        for _ in range(3):
            yield
        if self.fails:
            raise ValueError("broken")
        return InitProducerIdResponse(producer_id=1)

    def _working(self, respond: Respond) -> Any:
        answer = yield from self._answering()
        respond(answer)


@pytest.mark.parametrize("answers_in_steps", [True, False])
@pytest.mark.parametrize("fails", [True, False])
def test_what_takes_several_slices_is_answered_once_by_its_last(
    node: SimNode, fake_client: RecordingClient, stalls: LoopStalls, answers_in_steps: bool, fails: bool
) -> None:
    def refuse(request: Any, code: ErrorCode) -> InitProducerIdResponse:
        return InitProducerIdResponse(error_code=code)

    node.short_clock = CountedTime()
    handler = SlicedHandler(answers_in_steps=answers_in_steps, fails=fails)
    served = Handler("InitProducerId", 0, 5, InitProducerIdRequest, handler.handle, refuse)
    dispatcher = Dispatcher(node.core, {INIT_PRODUCER_ID: served}, ApiVersionsResponse, stalls)
    dispatcher.dispatch(fake_client, frame(4))
    assert fake_client.answers == []
    node.settle()
    (answer,) = fake_client.answers
    expected = ErrorCode.UNKNOWN_SERVER_ERROR if fails else ErrorCode.NONE
    assert decode(answer, 4).error_code == expected


def test_forty_clients_that_ask_for_much_have_few_answers_half_made(
    node: SimNode, stalls: LoopStalls
) -> None:
    """They need not read them: an answer's objects take several times the memory of its bytes."""
    half_made: set[int] = set()
    most = 0

    def answering(number: int) -> Any:
        nonlocal most
        for step in range(200):
            if step > FREE_STEPS:
                half_made.add(number)
            most = max(most, len(half_made))
            yield
        half_made.discard(number)
        return InitProducerIdResponse(producer_id=number)

    def handle(core: BrokerCore, context: RequestContext, request: Any, respond: Respond) -> None:
        respond(answering(context.correlation_id))

    node.short_clock = CountedTime()
    served = Handler("InitProducerId", 0, 5, InitProducerIdRequest, handle, None)
    dispatcher = Dispatcher(node.core, {INIT_PRODUCER_ID: served}, ApiVersionsResponse, stalls)
    clients = [RecordingClient() for _ in range(40)]
    for number, client in enumerate(clients):
        header = encode_request_header(RequestHeader(INIT_PRODUCER_ID, 4, number, "me"))
        dispatcher.dispatch(client, header + InitProducerIdRequest(None, 5).encode(4))
    node.settle()
    assert all(len(client.answers) == 1 for client in clients)
    assert most == AT_ONCE_MAX


def test_of_forty_wide_requests_few_are_in_memory(node: SimNode, stalls: LoopStalls) -> None:
    """Decoded, a request takes several times the memory of its bytes, until its handler is done with it."""
    in_work: set[int] = set()
    most = 0

    def working(number: int, respond: Respond) -> Iterator[None]:
        nonlocal most
        for _ in range(100):
            in_work.add(number)
            most = max(most, len(in_work))
            yield
        in_work.discard(number)
        respond(ListOffsetsResponse())

    def handle(core: BrokerCore, context: RequestContext, request: Any, respond: Respond) -> Any:
        return working(context.correlation_id, respond)

    node.short_clock = CountedTime()
    served = Handler("ListOffsets", 1, 11, ListOffsetsRequest, handle, None)
    dispatcher = Dispatcher(node.core, {2: served}, ApiVersionsResponse, stalls)
    topic = ListOffsetsTopic("t", [ListOffsetsPartition(number) for number in range(10_000)])
    body = ListOffsetsRequest(topics=[topic]).encode(7)
    clients = [RecordingClient() for _ in range(40)]
    for number, client in enumerate(clients):
        header = encode_request_header(RequestHeader(2, 7, number, "me"))
        dispatcher.dispatch(client, header + body)
    node.settle()
    assert all(len(client.answers) == 1 for client in clients)
    assert most == AT_ONCE_MAX


class Holding:
    """Answers a wide request with its own partitions, and may hold on to both."""

    def __init__(self) -> None:
        self.held: list[Any] = []
        self.holds = False

    def handle(self, core: BrokerCore, context: RequestContext, request: Any, respond: Respond) -> None:
        topics = [
            ListOffsetsTopicResponse(
                topic.name, [ListOffsetsPartitionResponse(part.partition_index) for part in topic.partitions]
            )
            for topic in request.topics
        ]
        response = ListOffsetsResponse(topics=topics)
        if self.holds:
            self.held = [request, response]
        respond(response)


@pytest.mark.parametrize("holds", [False, True])
def test_a_wide_request_and_its_answer_are_freed_in_steps(
    node: SimNode, stalls: LoopStalls, fake_client: RecordingClient, holds: bool
) -> None:
    handler = Holding()
    handler.holds = holds
    served = Handler("ListOffsets", 1, 11, ListOffsetsRequest, handler.handle, None)
    dispatcher = Dispatcher(node.core, {2: served}, ApiVersionsResponse, stalls)
    node.short_clock = CountedTime()
    topic = ListOffsetsTopic("t", [ListOffsetsPartition(number) for number in range(5_000)])
    gc.collect()
    gc.disable()
    try:
        dispatcher.dispatch(
            fake_client, frame(7, api_key=2, body=ListOffsetsRequest(topics=[topic]).encode(7))
        )
        most, held = 0, sys.getallocatedblocks()
        while node.world.step():
            before, held = held, sys.getallocatedblocks()
            most = max(most, before - held)
    finally:
        gc.enable()
    assert len(fake_client.answers) == 1
    assert most < 1_000
    if holds:
        assert [len(message.topics[0].partitions) for message in handler.held] == [5_000, 5_000]


def test_a_refusal_in_steps_is_answered_once(
    node: SimNode, stalls: LoopStalls, fake_client: RecordingClient, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise ApiError(ErrorCode.KAFKA_STORAGE_ERROR)

    def refuse(request: Any, code: ErrorCode) -> Any:
        yield
        if is_broken:
            raise ValueError("broken")
        return InitProducerIdResponse(error_code=code)

    node.short_clock = CountedTime()
    served = Handler("InitProducerId", 0, 5, InitProducerIdRequest, fail, refuse)
    dispatcher = Dispatcher(node.core, {INIT_PRODUCER_ID: served}, ApiVersionsResponse, stalls)
    is_broken = False
    dispatcher.dispatch(fake_client, frame(4))
    assert fake_client.answers == []
    node.settle()
    assert decode(fake_client.answers[0], 4).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    is_broken = True
    dispatcher.dispatch(fake_client, frame(4))
    node.settle()
    assert len(fake_client.answers) == 1
    assert fake_client.is_closed
