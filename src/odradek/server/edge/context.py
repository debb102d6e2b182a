"""What a handler may know of a request besides its body: its client and its version."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias

from odradek.base.buffers import Buffer
from odradek.base.execution import Steps
from odradek.wire.apis import APIS


class Response(Protocol):
    """A response message of `odradek.wire`."""

    def encode_parts(self, version: int, head: bytes = b"") -> list[Buffer]:
        """The body in that version, behind `head`; record batches are passed on as parts of their own."""

    def encode_in_steps(self, version: int, head: bytes = b"") -> Steps[list[Buffer]]:
        """The same for a response that may have many elements."""


Respond: TypeAlias = Callable[[Response | Steps[Response] | None], None]
"""Answers a request, exactly once: with a response, with one made in steps, or, by None, not at all."""


class Client(Protocol):
    """The connection that a request came on, as far as handlers may use it."""

    listener: str
    peer_host: str
    peer_port: int
    client_id: str
    """As it named itself on this connection; empty before."""

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
    is_answered: bool = False
    parked_ns: int = 0
    """When its first turn ended without an answer, on the short clock; 0 before, and where it had one."""
    queue_ns: int = 0
    turn_ns: int = 0
    """Of a parked request: how long it had waited for its turn, and how long that was."""

    def __str__(self) -> str:
        """As warnings name it: "Fetch v13 of 'consumer-1' from 10.0.0.7:51234", its words escaped."""
        client = self.client
        named = f"{APIS[self.api_key].name} v{self.api_version} of {self.client_id!r}"
        return f"{named} from {client.peer_host}:{client.peer_port}"

    @property
    def listener(self) -> str:
        """The name of the listener, by which advertised addresses are chosen."""
        return self.client.listener


CLIENT_ID_CHARACTERS_MAX: Final = 250
"""What is logged of a client id."""


def named(client: Client, client_id: str | None = None) -> str:
    """A client as warnings name it: "10.0.0.7:51234 ('consumer-1')", its words escaped."""
    known = (client_id or client.client_id)[:CLIENT_ID_CHARACTERS_MAX]
    address = f"{client.peer_host}:{client.peer_port}"
    return f"{address} ({known!r})" if known else address


def log_fields(client: Client, client_id: str | None = None) -> dict[str, str]:
    """A client in fields of a log event."""
    return {
        "address": f"{client.peer_host}:{client.peer_port}",
        "client_id": (client_id or client.client_id)[:CLIENT_ID_CHARACTERS_MAX],
        "listener": client.listener,
    }
