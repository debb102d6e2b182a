"""A client's request that the controller decides, wherever the client has sent it (R17, KIP-590).

    here         this broker is the controller   → its handler decides, as if there were no other broker
    elsewhere    another broker is               → header and body go there in an Envelope; the bytes of its
                                                   answer come back, and go out with the client's own number

The forwarded copy has the time that is left as its own timeout.
"""

import logging
from collections.abc import Callable, Generator
from copy import copy
from typing import TYPE_CHECKING, Any

from odradek.base.buffers import Buffer
from odradek.base.error_codes import ErrorCode
from odradek.base.errors import OdradekError, code_of
from odradek.base.execution import Steps
from odradek.server.edge.context import RequestContext, Respond, Response
from odradek.server.edge.dispatch import Handler
from odradek.server.node.forwarding.envelopes import envelope
from odradek.wire.headers import RequestHeader, decode_response_header
from odradek.wire.message import Message

if TYPE_CHECKING:
    from odradek.server.node.core import BrokerCore

_log = logging.getLogger(__name__)


def forward(
    core: "BrokerCore",
    handler: "Handler[BrokerCore]",
    context: RequestContext,
    request: Message,
    respond: Respond,
) -> None:
    """Let the controller decide a client's request; a client that disconnects ends its wait."""
    forwarding = core.forwarding
    number = forwarding.begin(ForwardedRequest(core, handler, context, request, respond))
    if forwarding.is_open(number):
        context.client.when_lost(lambda: forwarding.abandon(number))


class ForwardedRequest:
    """One such request; a `Forwardable`."""

    is_repeatable = False
    """A second creation would answer TOPIC_ALREADY_EXISTS for the topic of the first one, a second deletion
    could delete a topic that was made in between, a second alteration undo a later one."""

    def __init__(
        self,
        core: "BrokerCore",
        handler: "Handler[BrokerCore]",
        context: RequestContext,
        request: Message,
        respond: Respond,
    ) -> None:
        self._core = core
        self._handler = handler
        self._context = context
        self._request = request
        self._respond = respond
        self._timeout_ms: int = getattr(request, "timeout_ms", 0)
        """The request's own; without one, `request.timeout.ms` counts."""
        timeout_ms = self._timeout_ms if self._timeout_ms > 0 else core.settings.request_timeout_ms
        self.deadline_ms = core.clock.monotonic_ms() + timeout_ms
        """Until then it waits for a controller."""

    # --- elsewhere

    def to_message(self, left_ms: int) -> Generator[None, None, Message]:
        """See `Forwardable.to_message`."""
        request, context = self._request, self._context
        if self._timeout_ms > 0:
            request = copy(request)
            request.timeout_ms = max(1, left_ms)  # type: ignore[attr-defined]
        header = RequestHeader(
            context.api_key, context.api_version, context.correlation_id, context.client_id
        )
        return (yield from envelope(header, request, context.client.peer_host, self._core.broker_id))

    def on_answer(self, answer: Any) -> None:  # noqa: ANN401 - the response of the Envelope
        """See `Forwardable.on_answer`."""
        if answer.error_code or answer.response_data is None:
            _log.error(
                "the controller has not opened the envelope with %s: error %d",
                self._context,
                answer.error_code,
            )
            self.give_up(ErrorCode.UNKNOWN_SERVER_ERROR)
        else:
            self._respond(ForwardedAnswer(answer.response_data, self._context))

    def give_up(self, code: ErrorCode) -> None:
        """See `Forwardable.give_up`."""
        refuse = self._handler.refuse
        assert refuse is not None, "what the controller decides has an answer that refuses it"
        self._respond(refuse(self._request, code))

    # --- here

    def decide(self, ended: Callable[[], None], moved: Callable[[], None]) -> None:
        """See `Forwardable.decide`."""
        is_over = False

        def respond(answer: Response | Steps[Response] | None) -> None:
            nonlocal is_over
            is_over = True
            self._respond(answer)
            ended()

        def failed(error: Exception) -> None:
            _log.error("%s failed", self._context, exc_info=error)
            if not is_over:
                self.give_up(
                    code_of(error) if isinstance(error, OdradekError) else ErrorCode.UNKNOWN_SERVER_ERROR
                )
                ended()

        self._context.when_moved = moved
        try:
            steps = self._handler.handle(self._core, self._context, self._request, respond)
        except Exception as error:
            failed(error)
        else:
            if steps is not None:
                self._core.slices.run(steps, failed)


class ForwardedAnswer:
    """An answer of the controller, in bytes; a `Response`."""

    def __init__(self, frame: bytes, context: RequestContext) -> None:
        """`frame` is the answer with its header."""
        self._frame = frame
        _, self._body_at = decode_response_header(frame, context.api_key, context.api_version)

    def encode_parts(self, version: int, head: bytes = b"") -> list[Buffer]:
        """See `Response.encode_parts`."""
        return [head, memoryview(self._frame)[self._body_at :]]

    def encode_in_steps(self, version: int, head: bytes = b"") -> Steps[list[Buffer]]:
        """See `Response.encode_in_steps`."""
        return self.encode_parts(version, head)
        yield
