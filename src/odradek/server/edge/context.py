"""The context of a request: what a handler may read besides the body, such as client and version."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias

from odradek.base.buffers import Buffer
from odradek.base.execution import Steps
from odradek.base.ids import BrokerId
from odradek.net.connection_table import address_of
from odradek.wire.apis import APIS


class Response(Protocol):
    """A response message of `odradek.wire`."""

    def encode_parts(self, version: int, head: bytes = b"") -> list[Buffer]:
        """Encode the body in that version, after `head`; record batches become parts of their own."""

    def encode_in_steps(self, version: int, head: bytes = b"") -> Steps[list[Buffer]]:
        """The same in steps, for a response that may have many elements."""


Respond: TypeAlias = Callable[[Response | Steps[Response] | None], None]
"""Ends a request, called exactly once: with a response, with one made in steps, or with None: no answer."""


class Client(Protocol):
    """The connection that a request came on, as far as handlers may use it."""

    listener: str
    peer_host: str
    peer_port: int
    client_id: str
    """The name that the client gave on this connection; empty before."""

    def close(self) -> None:
        """Handle no more of its requests."""

    def identify(self, client_id: str, software: str) -> None:
        """Store the client's id and software, for descriptions of the connection."""

    def when_lost(self, abandon: Callable[[], None]) -> None:
        """Call `abandon` if the connection is lost before the current request is answered."""


@dataclass(slots=True)
class RequestContext:
    """One request's header and its client."""

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None
    client: Client
    is_answered: bool = False
    parked_ns: int = 0
    """When its first turn ended without an answer, on the short clock; 0 before, or if it was answered."""
    queue_ns: int = 0
    turn_ns: int = 0
    """For a parked request: how long it waited for its first turn (`queue_ns`), and how long that took."""
    forwarded_by: BrokerId | None = None
    """The broker that the client asked, which forwarded the request to this one; None if it is this one."""
    spent: list[object] | None = None
    """Values of very many objects that only this request holds; they are freed in steps after its answer."""
    when_moved: Callable[[], None] | None = None
    """For a request that the controller decides: called instead of an answer when that is another broker."""

    def spend(self, *values: object) -> None:
        """Let values be freed in steps once the answer is sent; by then nobody else may hold them."""
        self.spent = [*(self.spent or ()), *values]

    def __str__(self) -> str:
        """The request's name in warnings: "Fetch v13 of 'consumer-1' from 10.0.0.7:51234", escaped."""
        client = self.client
        named = f"{APIS[self.api_key].name} v{self.api_version} of {self.client_id!r}"
        return f"{named} from {address_of(client)}"

    @property
    def listener(self) -> str:
        """The name of the listener; it decides which advertised addresses the client gets."""
        return self.client.listener


CLIENT_ID_CHARACTERS_MAX: Final = 250
"""At most this many characters of a client id are logged."""


def named(client: Client, client_id: str | None = None) -> str:
    """Returns a client's name in warnings: "10.0.0.7:51234 ('consumer-1')", escaped."""
    known = (client_id or client.client_id)[:CLIENT_ID_CHARACTERS_MAX]
    address = address_of(client)
    return f"{address} ({known!r})" if known else address


def log_fields(client: Client, client_id: str | None = None) -> dict[str, str]:
    """Returns the fields of a log event that name a client."""
    return {
        "address": address_of(client),
        "client_id": (client_id or client.client_id)[:CLIENT_ID_CHARACTERS_MAX],
        "listener": client.listener,
    }
