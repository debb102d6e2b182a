"""What a handler may know of a request besides its body: its client and its version."""

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from odradek.base.buffers import Buffer


class Response(Protocol):
    """A response message of `odradek.wire`."""

    def encode_parts(self, version: int, head: bytes = b"") -> list[Buffer]:
        """The body in that version, behind `head`; record batches are passed on as parts of their own."""


Steps: TypeAlias = Iterator[None]
"""Work in steps of well below a millisecond, between which others are served; the state is whole at each."""

Answering: TypeAlias = Generator[None, None, Response]
"""An answer that is made in steps, and returned by the last of them."""

Respond: TypeAlias = Callable[[Response | Answering | None], None]
"""Answers a request, exactly once; None sends nothing."""


class Client(Protocol):
    """The connection that a request came on, as far as handlers may use it."""

    listener: str
    peer_host: str
    peer_port: int

    def close(self) -> None:
        """Handle no more of its requests."""

    def identify(self, client_id: str, software: str) -> None:
        """Remember who the client says that it is, for descriptions of the connection."""

    def when_lost(self, abandon: Callable[[], None]) -> None:
        """Call `abandon` when the connection is lost before the request at work is answered."""


@dataclass(slots=True)
class RequestContext:
    """One request's header and where it came from."""

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None
    client: Client

    @property
    def listener(self) -> str:
        """The name of the listener, by which advertised addresses are chosen."""
        return self.client.listener
