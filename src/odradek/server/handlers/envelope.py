"""Envelope: another broker forwards a client's request, which the controller decides (R17, KIP-590).

Served to brokers alone. The answer is sent when the broker that forwards has obeyed the orders of the
decision: its client finds there what was decided.
"""

from collections.abc import Callable
from ipaddress import ip_address
from types import GeneratorType
from typing import Final, cast

from odradek.base.buffers import Buffer
from odradek.base.error_codes import ErrorCode
from odradek.base.errors import MalformedRequest
from odradek.base.execution import Steps
from odradek.base.ids import NO_BROKER
from odradek.server.edge.context import RequestContext, Respond, Response
from odradek.server.edge.serving import Serves
from odradek.server.handlers.registry import decided_by_controller
from odradek.server.node.core import BrokerCore
from odradek.wire.headers import decode_request_header, encode_response_header
from odradek.wire.message import Message
from odradek.wire.messages.envelope import EnvelopeRequest, EnvelopeResponse

SERVES: Final = Serves(58, 0, 0, kips={0: 590})


def handle(
    core: BrokerCore, context: RequestContext, request: EnvelopeRequest, respond: Respond
) -> Steps[None] | None:
    """Decide what is in the envelope; a broker that is not the controller says so."""
    if not core.controller.is_active:
        respond(EnvelopeResponse(error_code=ErrorCode.NOT_CONTROLLER))
        return None
    return _opened(core, context, request, respond)


def _opened(
    core: BrokerCore, context: RequestContext, request: EnvelopeRequest, respond: Respond
) -> Steps[None]:
    frame = request.request_data
    try:
        header, position = decode_request_header(frame)
        handler = decided_by_controller(header.api_key)
        if handler is None or not handler.lowest_version <= header.api_version <= handler.highest_version:
            raise MalformedRequest(f"API {header.api_key} v{header.api_version} is not for an envelope")
        inner = handler.request_class.begin_decoding(frame, header.api_version, position)
        if not isinstance(inner, handler.request_class):
            inner = yield from cast(Steps[Message], inner)
    except MalformedRequest:
        respond(EnvelopeResponse(error_code=ErrorCode.INVALID_REQUEST))
        return
    client = EnvelopedClient(context, _host(request.client_host_address), header.client_id or "")
    opened = RequestContext(
        header.api_key, header.api_version, header.correlation_id, header.client_id, client
    )
    if request.asked_broker_id != NO_BROKER:
        opened.forwarded_by = request.asked_broker_id
    opened.when_moved = lambda: respond(EnvelopeResponse(error_code=ErrorCode.NOT_CONTROLLER))

    def answer_later(answer: Response | Steps[Response] | None) -> None:
        assert answer is not None, "what the controller decides is answered"
        core.controller.after_orders(request.asked_broker_id, lambda: respond(_sealed(opened, answer)))

    steps = handler.handle(core, opened, inner, answer_later)
    if steps is not None:
        yield from steps


def _sealed(opened: RequestContext, answer: Response | Steps[Response]) -> Steps[Response]:
    """The answer as bytes, with the header for the client."""
    response = cast(Response, (yield from answer) if isinstance(answer, GeneratorType) else answer)
    version = opened.api_version
    head = encode_response_header(opened.api_key, version, opened.correlation_id)
    parts: list[Buffer] = yield from response.encode_in_steps(version, head)
    return EnvelopeResponse(b"".join(parts))


def _host(address: bytes) -> str:
    try:
        return str(ip_address(address))
    except ValueError:
        return ""


class EnvelopedClient:
    """The client of another broker, as far as the envelope tells of it; a `Client`."""

    def __init__(self, context: RequestContext, host: str, client_id: str) -> None:
        """`context` is that of the envelope."""
        self.listener = context.listener
        self.peer_host = host
        self.peer_port = 0
        self.client_id = client_id
        self._broker = context.client

    def close(self) -> None:
        """See `Client.close`; ends the connection of the broker."""
        self._broker.close()

    def identify(self, client_id: str, software: str) -> None:
        """See `Client.identify`; clients tell their software to the broker that they are connected to."""

    def when_lost(self, abandon: Callable[[], None]) -> None:
        """See `Client.when_lost`."""
        self._broker.when_lost(abandon)
