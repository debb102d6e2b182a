"""Connections to a node of the simulation: the wire's bytes there, answers back, each in steps of its own.

    connection.send(frame)      on its way
    a step                      the node gets it, unless an earlier one of this connection is not answered yet
    a step                      the client gets the answer, or the next piece of what an answer left in files

A node that dies takes its connections along: what was on its way is lost.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from odradek.base.buffers import Buffer
from odradek.base.stored_bytes import StoredBytes
from odradek.net.framing import Part
from odradek.net.server_connection import PIECE_BYTES
from odradek.server.edge.dispatch import Answerable
from odradek.wire.apis import APIS
from odradek.wire.headers import decode_response_header
from odradek.wire.message import Message


def whole(parts: Sequence[Part]) -> bytes:
    """An answer as its receiver has it at last."""
    return b"".join(
        part.read_at(len(part), 0) if isinstance(part, StoredBytes) else bytes(part) for part in parts
    )


class FrameTaker(Protocol):
    """A life of a broker, as its connections see it."""

    accepts: bool
    """Whether it takes frames."""

    @property
    def is_alive(self) -> bool:
        """Whether its connections are open."""

    def take_frame(self, client: Answerable, frame: Buffer) -> None:
        """Serve a request."""

    def note_answer(self, answer: bytes) -> None:
        """Called with each answer that has reached a client."""


@dataclass(eq=False)
class SimClient:
    """A connection as the dispatcher and the handlers see it, which takes every answer at once."""

    listener: str = "PLAINTEXT"
    peer_host: str = "10.0.0.1"
    peer_port: int = 4000
    client_id: str = ""
    queued_ns: int = 0
    is_closed: bool = False
    answers: list[bytes | None] = field(default_factory=list)
    """As the broker gave them; None for an answer of nothing."""
    abandon: Callable[[], None] | None = None
    """What is to be called when the connection is lost."""

    def answer(self, parts: Sequence[Part]) -> None:
        """See `Answerable.answer`."""
        self.answers.append(whole(parts))

    def answer_nothing(self) -> None:
        """See `Answerable.answer_nothing`."""
        self.answers.append(None)

    def close(self) -> None:
        """See `Client.close`."""
        self.is_closed = True

    def identify(self, client_id: str, software: str) -> None:
        """See `Client.identify`."""

    def when_lost(self, abandon: Callable[[], None]) -> None:
        """See `Client.when_lost`."""
        self.abandon = abandon


class SimConnection(SimClient):
    """A connection whose frames and answers are on their way until the world takes the next step of it."""

    def __init__(self, node: FrameTaker) -> None:
        super().__init__()
        self._node = node
        # On their way to the node, oldest first.
        self._frames: deque[bytes] = deque()
        # Whether the node has a frame that it has not answered.
        self._is_handling = False
        # On its way to the client: the answer to the last frame, and how much of it has arrived.
        self._unsent: deque[Part] = deque()
        self._arrived = bytearray()
        # How much of the first unsent part has been read.
        self._read_bytes = 0

    # --- the client's side

    def send(self, frame: bytes) -> int:
        """Send a frame on its way; returns the place of its answer in `answers`."""
        place = len(self.answers) + self._is_handling + bool(self._unsent) + len(self._frames)
        self._frames.append(frame)
        return place

    def arrive(self) -> None:
        """Take the step in which the next frame reaches the node."""
        assert not self._is_handling, "an earlier frame is at work"
        self._deliver()

    def lose(self) -> None:
        """Lose the connection: the node learns of it, if it lives."""
        super().close()
        self._frames.clear()
        self._unsent.clear()
        abandon, self.abandon = self.abandon, None
        if abandon is not None and self._node.is_alive:
            abandon()

    # --- the node's side

    def answer(self, parts: Sequence[Part]) -> None:
        """See `Answerable.answer`."""
        self._end_handling()
        if not self.is_closed:
            self._unsent.extend(parts)

    def answer_nothing(self) -> None:
        """See `Answerable.answer_nothing`."""
        self._end_handling()
        super().answer_nothing()

    def close(self) -> None:
        """See `Client.close`."""
        super().close()
        self._frames.clear()

    def _end_handling(self) -> None:
        assert self._node.is_alive, "the dead answer nobody"
        assert self._is_handling, "an answer without a request"
        self._is_handling, self.abandon = False, None

    # --- the world's side

    @property
    def is_idle(self) -> bool:
        """Whether nothing is on its way, at work or parked."""
        return not (self._frames or self.is_at_work)

    @property
    def is_at_work(self) -> bool:
        """Whether the node has a frame that it has not answered, or the answer is on its way."""
        return bool(self._unsent) or (self._is_handling and not self.is_closed)

    def steps(self) -> list[Callable[[], None]]:
        """What may happen next here: one step, or none."""
        if not self._node.is_alive:
            return []
        if self._unsent:
            return [self._take_piece]
        if self._frames and not self._is_handling and self._node.accepts:
            return [self._deliver]
        return []

    def _deliver(self) -> None:
        self._is_handling = True
        self._node.take_frame(self, self._frames.popleft())

    def _take_piece(self) -> None:
        """Let the client have what comes before the first part in a file, or the next piece of that."""
        first = self._unsent[0]
        if isinstance(first, StoredBytes):
            self._read_piece(first)
        else:
            while self._unsent and not isinstance(part := self._unsent[0], StoredBytes):
                self._arrived += part
                self._unsent.popleft()
        if not self._unsent and not self.is_closed:
            answer = bytes(self._arrived)
            self._arrived.clear()
            self.answers.append(answer)
            self._node.note_answer(answer)

    def _read_piece(self, part: StoredBytes) -> None:
        wanted_bytes = min(PIECE_BYTES, len(part) - self._read_bytes)
        piece = part.read_at(wanted_bytes, self._read_bytes)
        if len(piece) < wanted_bytes:  # cut off the log meanwhile: the rest cannot be sent
            self.lose()
            return
        self._arrived += piece
        self._read_bytes += len(piece)
        if self._read_bytes == len(part):
            self._unsent.popleft()
            self._read_bytes = 0


@dataclass
class SimRequest:
    """A request on its way."""

    request: Message
    version: int
    client: SimConnection
    place: int
    """Where its answer is among those of the connection."""

    def arrive(self) -> "SimRequest":
        """Take the step in which it reaches the node, before any other step."""
        self.client.arrive()
        return self

    @property
    def answers(self) -> list[Any]:
        """The answers so far, decoded: none or one."""
        return [self._decoded(frame) for frame in self.client.answers[self.place : self.place + 1]]

    @property
    def answer(self) -> Any:  # noqa: ANN401 - whatever response class the API has
        """The answer; None where the broker had nothing to say."""
        answers = self.answers
        assert answers, f"{type(self.request).__name__} is not answered"
        return answers[0]

    def _decoded(self, frame: bytes | None) -> Any:  # noqa: ANN401
        if frame is None:
            return None
        _, position = decode_response_header(frame, self.request.API_KEY, self.version)
        return APIS[self.request.API_KEY].response_class.decode(frame, self.version, position)
