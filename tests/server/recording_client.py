"""A connection as the dispatcher sees it, for tests of what the dispatcher says to it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from odradek.base.stored_bytes import StoredBytes
from odradek.net.framing import Part


@dataclass(eq=False)
class RecordingClient:
    """Notes what it is told, and takes every answer at once."""

    listener: str = "PLAINTEXT"
    peer_host: str = "10.0.0.1"
    peer_port: int = 4000
    client_id: str = ""
    queued_ns: int = 0
    last_api_key: int = -1
    is_closed: bool = False
    answers: list[bytes | None] = field(default_factory=list)
    """None for an answer of nothing."""
    abandon: Callable[[], None] | None = None
    """What is to be called when the connection is lost."""

    def answer(self, parts: Sequence[Part]) -> None:
        self.answers.append(
            b"".join(
                part.read_at(len(part), 0) if isinstance(part, StoredBytes) else bytes(part) for part in parts
            )
        )

    def answer_nothing(self) -> None:
        self.answers.append(None)

    def close(self) -> None:
        self.is_closed = True

    def identify(self, client_id: str, software: str) -> None:
        self.client_id = client_id

    def when_lost(self, abandon: Callable[[], None]) -> None:
        self.abandon = abandon
