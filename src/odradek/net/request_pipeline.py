"""Requests on one connection to a broker, without I/O: encodes requests and decodes received bytes.

Invariant: each sent request has exactly one outcome, an answer or a failure, in the order of the requests,
except those that a broker does not answer (`forget_last`).
A broker answers the requests of one connection in order, so an answer belongs to the oldest request; an
answer with another correlation id breaks the protocol, and the connection fails.

    send(A), send(B)              bytes to write; in flight: A, B
    received(70)                  [Answer(A)]
    expire() after B's deadline   [Failure(B, REQUEST_TIMED_OUT)], and the pipeline is closed: an answer to B
                                  would come between later ones
    lost("...")                   [Failure(..., NETWORK_EXCEPTION)] for all in flight: whether they were done
                                  is unknown

Every outgoing connection uses it: the asyncio shell, the blocking shell, the links between brokers.
"""

import re
import struct
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, TypeVar

from odradek.base.buffers import Buffer
from odradek.base.clock import Clock
from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError, MalformedRequest
from odradek.net.framing import FrameReader, FrameRefused, framed
from odradek.wire.headers import RequestHeader, decode_response_header, encode_request_header
from odradek.wire.message import Message
from odradek.wire.messages.api_versions import ApiVersionsResponse
from odradek.wire.versions import VERSION_LIMIT, Versions

SCRATCH_BYTES: Final = 64 * 1024
FRAME_BYTES_MAX: Final = 1 << 30
IN_FLIGHT_MAX: Final = 1_000
CORRELATION_ID_MAX: Final = 0x7FFFFFFF

_CORRELATION: Final = struct.Struct(">i")

# Where a word of an API's name begins, but for the first.
_BETWEEN_WORDS: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")
# What a person asks for: after a time-out the broker may be about to do it.
_CHANGES: Final = frozenset(
    {
        "AlterConfigs",
        "AlterPartitionReassignments",
        "AlterReplicaLogDirs",
        "CreatePartitions",
        "CreateTopics",
        "DeleteGroups",
        "DeleteRecords",
        "DeleteTopics",
        "ElectLeaders",
        "IncrementalAlterConfigs",
        "OffsetCommit",
        "OffsetDelete",
        "WriteTxnMarkers",
    }
)

R = TypeVar("R", bound=Message)


class ConnectionFailed(ApiError):
    """A request has no valid answer; `code` is the error code that says why.

    NETWORK_EXCEPTION: the broker could not be reached, or the connection ended. REQUEST_TIMED_OUT: no answer
    came in time; the request may have been carried out. UNSUPPORTED_VERSION: the two sides know no common
    version. CORRUPT_MESSAGE: the received bytes are not an answer.
    """

    def __init__(self, message: str, code: ErrorCode = ErrorCode.NETWORK_EXCEPTION) -> None:
        super().__init__(code, message)


class NotConnected(ConnectionFailed):
    """The connection was never established, so the broker has certainly got nothing of the request."""


@dataclass(frozen=True, slots=True)
class SentRequest:
    """A request that was handed out for writing."""

    correlation_id: int
    name: str
    api_key: int
    version: int
    deadline_ms: int
    """When it times out, on the pipeline's clock."""
    timeout_ms: int


@dataclass(frozen=True, slots=True)
class Answer:
    """The frame that answers a request; read it with `decode_answer`."""

    request: SentRequest
    frame: Buffer


@dataclass(frozen=True, slots=True)
class Failure:
    """The request has no answer and will have none."""

    request: SentRequest
    error: ConnectionFailed


Outcome: TypeAlias = Answer | Failure


class RequestPipeline:
    """One connection's requests; it uses no socket, and only the clock that it is given."""

    def __init__(
        self,
        address: str,
        clock: Clock,
        *,
        client_id: str = "odradek",
        in_flight_max: int = IN_FLIGHT_MAX,
        frame_bytes_max: int = FRAME_BYTES_MAX,
    ) -> None:
        """`address` names the broker in messages, as host:port."""
        self.address = address
        self._clock = clock
        self._client_id = client_id
        self._in_flight_max = in_flight_max
        self._reader = FrameReader(memoryview(bytearray(SCRATCH_BYTES)), frame_bytes_max)
        # Sent and without an outcome, the oldest first.
        self._in_flight: deque[SentRequest] = deque()
        self._last_correlation_id = 0
        # The versions that the broker serves, by API key; empty until `learn_versions`.
        self._served: dict[int, Versions] = {}
        # Why nothing is sent any more; "" while the connection is good.
        self._closed_because = ""

    @property
    def is_open(self) -> bool:
        """Whether requests may be sent."""
        return not self._closed_because

    @property
    def in_flight(self) -> int:
        """How many requests have no outcome yet."""
        return len(self._in_flight)

    # --- versions

    def learn_versions(self, answer: ApiVersionsResponse) -> None:
        """Store the versions that the broker serves."""
        self._served = {api.api_key: Versions(api.min_version, api.max_version) for api in answer.api_keys}

    def serves(self, request: type[Message]) -> bool:
        """Whether the broker serves this API at all."""
        return request.API_KEY in self._served

    def version_of(self, request: type[Message], highest: int = VERSION_LIMIT) -> int:
        """The newest version of an API that both sides know, at most `highest`. Raises ConnectionFailed."""
        served = self._served.get(request.API_KEY, Versions(0, -1))
        version = min(served.highest, request.VERSIONS.highest, highest)
        if version < max(served.lowest, request.VERSIONS.lowest):
            raise ConnectionFailed(
                f"{self.address} does not serve {request.__name__} in a version known here",
                ErrorCode.UNSUPPORTED_VERSION,
            )
        return version

    # --- out

    def send(self, request: Message, version: int, timeout_ms: int) -> tuple[SentRequest, list[Buffer]]:
        """The bytes of a request, to be written now. Raises ConnectionFailed when it is closed.

        What the encoder raises for a field that does not fit its type leaves the pipeline as it was.
        """
        if self._closed_because:
            raise ConnectionFailed(f"the connection to {self.address} is closed: {self._closed_because}")
        assert len(self._in_flight) < self._in_flight_max, "a caller sends without waiting for any answer"
        correlation_id = (self._last_correlation_id + 1) & CORRELATION_ID_MAX
        header = RequestHeader(request.API_KEY, version, correlation_id, self._client_id)
        parts = framed(request.encode_parts(version, encode_request_header(header)))
        sent = SentRequest(
            correlation_id,
            type(request).__name__,
            request.API_KEY,
            version,
            self._clock.monotonic_ms() + timeout_ms,
            timeout_ms,
        )
        self._last_correlation_id = correlation_id
        self._in_flight.append(sent)
        return sent, parts

    def forget_last(self) -> None:
        """The request sent last has no answer: a produce with acks=0."""
        self._in_flight.pop()

    # --- in

    def writable(self) -> memoryview:
        """Where to put the next bytes that arrive: never empty, and valid until `received`."""
        return self._reader.writable()

    def received(self, size_bytes: int) -> Sequence[Outcome]:
        """Process `size_bytes` more, written to `writable`; returns their outcomes, in order."""
        try:
            frames = self._reader.received(size_bytes)
        except FrameRefused as refused:
            return self.lost(str(refused), ErrorCode.CORRUPT_MESSAGE)
        outcomes: list[Outcome] = []
        for frame in frames:
            correlation_id = _CORRELATION.unpack_from(frame)[0] if len(frame) >= _CORRELATION.size else None
            if not self._in_flight or self._in_flight[0].correlation_id != correlation_id:
                reason = f"an answer to no request, or out of order: correlation id {correlation_id}"
                return [*outcomes, *self.lost(reason, ErrorCode.CORRUPT_MESSAGE)]
            outcomes.append(Answer(self._in_flight.popleft(), frame))
        return outcomes

    # --- ends

    def next_deadline_ms(self) -> int | None:
        """When to call `expire` next; None while nothing is in flight."""
        return min((request.deadline_ms for request in self._in_flight), default=None)

    def expire(self) -> Sequence[Outcome]:
        """If a request was not answered in time, fail it and the connection; else do nothing."""
        now_ms = self._clock.monotonic_ms()
        late = [request for request in self._in_flight if request.deadline_ms <= now_ms]
        if not late:
            return ()
        api = late[0].name.removesuffix("Request")
        words = _BETWEEN_WORDS.sub(" ", api).lower()
        said = f"did not answer within {late[0].timeout_ms / 1000:g} s ({words})"
        outcomes = self.lost(f"the broker {said}")
        said += "; it may be done later" if api in _CHANGES else ""
        timed_out = ConnectionFailed(f"{self.address} {said}", ErrorCode.REQUEST_TIMED_OUT)
        return [Failure(one.request, timed_out if one.request in late else one.error) for one in outcomes]

    def lost(self, reason: str, code: ErrorCode = ErrorCode.NETWORK_EXCEPTION) -> Sequence[Failure]:
        """Called when the connection ends: fail every request in flight. The first reason is kept."""
        self._closed_because = self._closed_because or reason
        error = ConnectionFailed(f"the connection to {self.address} is lost: {reason}", code)
        failed = [Failure(request, error) for request in self._in_flight]
        self._in_flight.clear()
        return failed


def decode_answer(address: str, answer: Answer, response: type[R]) -> R:
    """The response in a frame; its byte fields are views into the frame. Raises ConnectionFailed."""
    request = answer.request
    try:
        _, position = decode_response_header(answer.frame, request.api_key, request.version)
        return response.decode(memoryview(answer.frame), request.version, position)
    except MalformedRequest as error:
        raise ConnectionFailed(
            f"{address} answered what cannot be read: {error}", ErrorCode.CORRUPT_MESSAGE
        ) from error
