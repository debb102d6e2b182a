"""The requests of the application and their answers, as they pass through its connections.

traffic.latest          the last exchanges, undecoded: for reports; also requests that were not answered
traffic.acknowledged    the batches that a broker has acknowledged with acks=all: for checks
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from odradek.base.buffers import Buffer
from odradek.base.clock import Clock
from odradek.base.error_codes import ErrorCode
from odradek.base.ids import BrokerId, Offset, TopicId
from odradek.base.values import value
from odradek.net.framing import SCRATCH_BYTES, FrameReader
from odradek.replication.append import ACKS_ALL
from odradek.wire.apis import APIS
from odradek.wire.headers import RequestHeader, decode_request_header, decode_response_header
from odradek.wire.message import Message
from odradek.wire.messages.produce import ProduceRequest, ProduceResponse

FRAME_BYTES_MAX: Final = 1 << 30
KEPT_MAX: Final = 5_000
KEPT_BYTES_MAX: Final = 16 << 20
"""As many of the last exchanges are kept, of at most so many bytes together."""


@dataclass(slots=True)
class Exchange:
    """A request of the application, and its answer."""

    at_ms: int
    """When it was sent; once it is answered or lost, when the answer arrived or the connection ended."""
    process: str
    broker_id: BrokerId
    header: RequestHeader
    request_frame: Buffer
    answer_frame: Buffer | None = None

    @property
    def api(self) -> str:
        """Kafka's name of the API."""
        return APIS[self.header.api_key].name

    @property
    def size_bytes(self) -> int:
        """Of its frames."""
        return len(self.request_frame) + len(self.answer_frame or b"")

    def request(self) -> Message:
        """The request, decoded."""
        _, position = decode_request_header(self.request_frame)
        version = self.header.api_version
        return APIS[self.header.api_key].request_class.decode(self.request_frame, version, position)

    def answer(self) -> Message | None:
        """The answer, decoded; None if there is none."""
        if self.answer_frame is None:
            return None
        key, version = self.header.api_key, self.header.api_version
        _, position = decode_response_header(self.answer_frame, key, version)
        return APIS[key].response_class.decode(self.answer_frame, version, position)


@value
class Acknowledged:
    """A batch that is on all in-sync replicas, as the application was told."""

    topic: str
    """Empty if the request named its topic by id."""
    topic_id: TopicId
    partition: int
    base_offset: Offset
    batch: bytes
    process: str
    broker_id: BrokerId
    at_ms: int


class Traffic:
    """All exchanges of one run."""

    def __init__(self, clock: Clock) -> None:
        self.latest: deque[Exchange] = deque()
        """The last exchanges that were answered, or lost with their connection, oldest first."""
        self.are_all_kept = True
        """Whether `latest` has them all."""
        self.acknowledged: list[Acknowledged] = []
        """The batches of acks=all, in the order of their acknowledgements."""
        self.count = 0
        """How many requests were answered."""
        self._clock = clock
        self._kept_bytes = 0
        self._scratch = memoryview(bytearray(SCRATCH_BYTES))

    def observer(self, process: str, broker_id: BrokerId) -> Conversation:
        """Returns what sees the bytes of a new connection."""
        return Conversation(self, process, broker_id)

    def reader(self) -> FrameReader:
        """Cuts one direction of a connection into frames."""
        return FrameReader(self._scratch, FRAME_BYTES_MAX)

    def now_ms(self) -> int:
        """The world's time."""
        return self._clock.monotonic_ms()

    def note(self, exchange: Exchange) -> None:
        """Called with each request that was answered."""
        self.count += 1
        self._keep(exchange)
        if exchange.header.api_key == ProduceRequest.API_KEY:
            request, answer = exchange.request(), exchange.answer()
            assert isinstance(request, ProduceRequest)
            assert isinstance(answer, ProduceResponse)
            if request.acks == ACKS_ALL:
                self._note_acknowledged(exchange, request, answer)

    def note_lost(self, exchange: Exchange) -> None:
        """Called with each request whose connection has ended before its answer came."""
        self._keep(exchange)

    def _keep(self, exchange: Exchange) -> None:
        self.latest.append(exchange)
        self._kept_bytes += exchange.size_bytes
        while len(self.latest) > KEPT_MAX or (self._kept_bytes > KEPT_BYTES_MAX and len(self.latest) > 1):
            self._kept_bytes -= self.latest.popleft().size_bytes
            self.are_all_kept = False

    def _note_acknowledged(
        self, exchange: Exchange, request: ProduceRequest, answer: ProduceResponse
    ) -> None:
        sent = {
            (topic.name, topic.topic_id, part.index): part.records
            for topic in request.topic_data
            for part in topic.partition_data
        }
        for topic in answer.responses:
            for part in topic.partition_responses:
                records = sent.get((topic.name, topic.topic_id, part.index))
                if part.error_code == ErrorCode.NONE and records is not None and part.base_offset >= 0:
                    self.acknowledged.append(
                        Acknowledged(
                            topic.name,
                            topic.topic_id,
                            part.index,
                            part.base_offset,
                            bytes(records),
                            exchange.process,
                            exchange.broker_id,
                            exchange.at_ms,
                        )
                    )


class Conversation:
    """The `Observer` of one connection."""

    def __init__(self, traffic: Traffic, process: str, broker_id: BrokerId) -> None:
        self._traffic = traffic
        self._process = process
        self._broker_id = broker_id
        self._sent = traffic.reader()
        self._arrived = traffic.reader()
        # Those that are not answered, by correlation id.
        self._pending: dict[int, Exchange] = {}

    def on_sent(self, data: bytes) -> None:
        """See `Observer.on_sent`."""
        _read(self._sent, data, self._on_request)

    def on_arrived(self, data: bytes) -> None:
        """See `Observer.on_arrived`."""
        _read(self._arrived, data, self._on_answer)

    def on_end(self) -> None:
        """See `Observer.on_end`."""
        lost, self._pending = self._pending, {}
        for exchange in lost.values():
            exchange.at_ms = self._traffic.now_ms()
            self._traffic.note_lost(exchange)

    def _on_request(self, frame: Buffer) -> None:
        header, _ = decode_request_header(frame)
        exchange = Exchange(self._traffic.now_ms(), self._process, self._broker_id, header, frame)
        self._pending[header.correlation_id] = exchange

    def _on_answer(self, frame: Buffer) -> None:
        exchange = self._pending.pop(int.from_bytes(frame[:4], "big"), None)
        if exchange is not None:
            exchange.answer_frame = frame
            exchange.at_ms = self._traffic.now_ms()
            self._traffic.note(exchange)


def _read(reader: FrameReader, data: bytes, on_frame: Callable[[Buffer], None]) -> None:
    rest = memoryview(data)
    while rest:
        place = reader.writable()
        size_bytes = min(len(place), len(rest))
        place[:size_bytes] = rest[:size_bytes]
        rest = rest[size_bytes:]
        for frame in reader.received(size_bytes):
            on_frame(frame)
