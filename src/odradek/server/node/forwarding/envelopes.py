"""What a broker forwards to the controller: a request as a client sends it, in Kafka's Envelope (KIP-590).

The principal is empty: there is no authentication yet.
"""

from collections.abc import Generator

from odradek.base.ids import BrokerId
from odradek.wire.headers import RequestHeader, encode_request_header
from odradek.wire.message import Message


def envelope(
    header: RequestHeader, request: Message, client_host: str, broker_id: BrokerId
) -> Generator[None, None, Message]:
    """A request with its header in an Envelope of this broker; `client_host` is empty if it is its own."""
    from odradek.wire.messages.envelope import EnvelopeRequest

    parts = yield from request.encode_in_steps(header.api_version, encode_request_header(header))
    return EnvelopeRequest(b"".join(parts), b"", _address(client_host), broker_id)


def _address(host: str) -> bytes:
    """The bytes of an address; none for what is no address."""
    from ipaddress import ip_address

    try:
        return ip_address(host).packed
    except ValueError:
        return b""
