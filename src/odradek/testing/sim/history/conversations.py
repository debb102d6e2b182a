"""The bytes of connections as requests and answers, each with who sent it to whom.

    requests(stream, bytes)     the requests that the bytes complete
    answers(stream, bytes)      the answers that they complete, each with its request
    end(stream)                 the requests on it that have no answer

The recorder reads the bytes on their way, below the code of clients and brokers: so a client may be anything
that speaks Kafka's protocol, and what is shown has arrived.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

from odradek.base.buffers import Buffer
from odradek.base.errors import MalformedRequest
from odradek.net.framing import SCRATCH_BYTES, FrameReader, FrameRefused
from odradek.net.request_pipeline import FRAME_BYTES_MAX
from odradek.testing.sim.history.events import Message
from odradek.testing.sim.history.reading import Names, read_answer, read_request
from odradek.wire.headers import decode_request_header, decode_response_header

if TYPE_CHECKING:
    from odradek.testing.sim.streams import Stream

PENDING_MAX: Final = 1_000
"""The largest number of requests of one connection that wait for an answer."""


@dataclass(slots=True)
class Asked:
    """A request that has arrived at a broker."""

    message: Message
    client_id: str
    api_key: int
    version: int
    number: int = -1
    """The number of its event."""


@dataclass(slots=True)
class _Conversation:
    """One connection."""

    to_server: FrameReader
    to_opener: FrameReader
    # Requests without an answer, the oldest first.
    asked: deque[Asked] = field(default_factory=lambda: deque(maxlen=PENDING_MAX))


class Conversations:
    """The connections on which something was sent."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._scratch = memoryview(bytearray(SCRATCH_BYTES))
        # Never iterated over: which of them are gone already is not the same in every run.
        self._of_streams: WeakKeyDictionary[Stream, _Conversation] = WeakKeyDictionary()

    def requests(self, stream: Stream, data: bytes) -> list[Asked]:
        """The requests that these bytes complete."""
        conversation = self._of(stream)
        found = []
        for frame in self._frames(conversation.to_server, data):
            asked = self._request(frame)
            if asked is not None:
                if asked.message.is_answered:
                    conversation.asked.append(asked)
                found.append(asked)
        return found

    def answers(self, stream: Stream, data: bytes) -> list[tuple[Asked, Message]]:
        """The answers that these bytes complete, each with its request: a broker answers in order."""
        conversation = self._of(stream)
        found = []
        for frame in self._frames(conversation.to_opener, data):
            if conversation.asked:
                request = conversation.asked.popleft()
                found.append((request, self._answer(request, frame)))
        return found

    def end(self, stream: Stream) -> list[Asked]:
        """The connection is over: its requests without an answer. Bytes sent before may still arrive."""
        asked = self._of(stream).asked
        unanswered = list(asked)
        asked.clear()
        return unanswered

    def _of(self, stream: Stream) -> _Conversation:
        conversation = self._of_streams.get(stream)
        if conversation is None:
            to_server, to_opener = (FrameReader(self._scratch, FRAME_BYTES_MAX) for _ in range(2))
            conversation = self._of_streams[stream] = _Conversation(to_server, to_opener)
        return conversation

    def _frames(self, reader: FrameReader, data: bytes) -> list[Buffer]:
        """The whole frames; bytes that are no frames end what can be read of a connection."""
        rest = memoryview(data)
        found: list[Buffer] = []
        while rest:
            into = reader.writable()
            count = min(len(into), len(rest))
            into[:count] = rest[:count]
            rest = rest[count:]
            try:
                found.extend(reader.received(count))
            except FrameRefused:
                break
        return found

    def _request(self, frame: Buffer) -> Asked | None:
        try:
            header, position = decode_request_header(frame)
        except MalformedRequest:
            return None
        message = read_request(header.api_key, header.api_version, frame, position, self._names)
        return Asked(message, header.client_id or "", header.api_key, header.api_version)

    def _answer(self, request: Asked, frame: Buffer) -> Message:
        try:
            _, position = decode_response_header(frame, request.api_key, request.version)
        except MalformedRequest as error:
            return Message(request.message.api, f"does not decode: {error}")
        return read_answer(request.api_key, request.version, frame, position, self._names)
