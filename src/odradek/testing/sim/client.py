"""Requests to a node of the simulation: the wire's bytes into its dispatcher, and the answer decoded."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from odradek.base.buffers import Buffer
from odradek.wire.apis import APIS
from odradek.wire.headers import decode_response_header
from odradek.wire.message import Message


@dataclass
class SimClient:
    """A connection, as the dispatcher and the handlers see it."""

    listener: str = "PLAINTEXT"
    peer_host: str = "10.0.0.1"
    peer_port: int = 4000
    is_closed: bool = False
    answers: list[bytes | None] = field(default_factory=list)
    """As the broker gave them; None for an answer of nothing."""
    abandon: Callable[[], None] | None = None
    """What is to be called when the connection is lost."""

    def answer(self, parts: list[Buffer]) -> None:
        """See `Answerable.answer`."""
        self.answers.append(b"".join(parts))

    def answer_nothing(self) -> None:
        """See `Answerable.answer_nothing`."""
        self.answers.append(None)

    def close(self) -> None:
        """See `Client.close`."""
        self.is_closed = True

    def when_lost(self, abandon: Callable[[], None]) -> None:
        """See `Client.when_lost`."""
        self.abandon = abandon


@dataclass
class SimRequest:
    """A request on its way, on a connection of its own."""

    request: Message
    version: int
    client: SimClient = field(default_factory=SimClient)

    @property
    def answers(self) -> list[Any]:
        """The answers so far, decoded: none or one."""
        return [self._decoded(frame) for frame in self.client.answers]

    @property
    def answer(self) -> Any:  # noqa: ANN401 - whatever response class the API has
        """The answer; None where the broker had nothing to say."""
        answers = self.answers
        assert len(answers) == 1, f"answered {len(answers)} times"
        return answers[0]

    def _decoded(self, frame: bytes | None) -> Any:  # noqa: ANN401
        if frame is None:
            return None
        _, position = decode_response_header(frame, self.request.API_KEY, self.version)
        return APIS[self.request.API_KEY].response_class.decode(frame, self.version, position)
