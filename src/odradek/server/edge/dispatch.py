"""Dispatches a frame to the handler of its API, and sends the handler's answer to the connection.

The header names the API and version; it is checked before the body is decoded:

    no such API, or an unsupported version       the connection is closed: client and broker disagree
    ApiVersions in a version that is not served  answered in the layout of version 0, so that they can agree
    a body that does not decode                  the connection is closed
    a handler that raises                        a bug of ours: UNKNOWN_SERVER_ERROR, and logged

An answer is written as parts: the response header, then the parts of the body; record batches are not copied.
"""

from __future__ import annotations  # else the annotations of inner functions are evaluated for each request

import logging
from collections.abc import Callable, Generator
from dataclasses import dataclass
from types import GeneratorType
from typing import Any, Generic, Protocol, TypeVar, cast

from odradek.base.buffers import Buffer
from odradek.base.clock import Clock
from odradek.base.error_codes import ErrorCode
from odradek.base.errors import MalformedRequest, OdradekError, code_of
from odradek.base.execution import Slices, Steps, freed
from odradek.server.edge.complaints import Complaints
from odradek.server.edge.context import Client, RequestContext, Respond, Response, log_fields, named
from odradek.server.edge.few_at_once import FewAtOnce
from odradek.server.edge.latencies import QUICK_NS, Latencies, Sends
from odradek.server.edge.loop_stalls import LoopStalls
from odradek.wire.apis import API_VERSIONS, APIS
from odradek.wire.headers import FIXED_BYTES, decode_client_id, decode_fixed, encode_response_header
from odradek.wire.message import Message

_log = logging.getLogger(__name__)


class Answerable(Client, Protocol):
    """A connection; exactly one of `answer`, `answer_nothing` and `close` is called for each frame."""

    queued_ns: int
    """When the current request asked for its turn, on the short clock; 0 if it got its turn at once."""
    last_api_key: int
    """The API key of its last request; set by the dispatcher."""

    def answer(self, parts: list[Buffer]) -> None:
        """Send an answer."""

    def answer_nothing(self) -> None:
        """End the request without an answer."""


class FrameDispatcher(Protocol):
    """Where requests go."""

    def dispatch(self, client: Answerable, frame: Buffer) -> None:
        """Serve one request. Never raises."""

    def answer_waits(self, client: Answerable) -> None:
        """Called when the answer to the client's last request waits for the client to read it."""

    def answer_taken(self, client: Answerable) -> None:
        """Called when the client has read that answer, or has disconnected."""


class Served(Protocol):
    """What dispatching needs of the broker that serves the requests."""

    clock: Clock
    request_counts: dict[int, int]

    @property
    def slices(self) -> Slices:
        """Runs work that is too long for one turn."""


S = TypeVar("S", bound=Served)


@dataclass(slots=True)
class Handler(Generic[S]):
    """One API as it is served."""

    name: str
    # The versions that are decoded, both ends included; they may be fewer than those advertised.
    lowest_version: int
    highest_version: int
    request_class: type[Message]
    # Answers, now or later; returns the rest of its work, in steps.
    handle: Callable[[S, RequestContext, Any, Respond], Steps[None] | None]
    # Makes the answer to a request that could not be handled, from its error; None if the API has none.
    refuse: Callable[[Any, ErrorCode], Response | Steps[Response]] | None


class Interposed(Protocol):
    """Receives decoded requests before their handler: applies the faults that a test has set."""

    def meet(
        self, client: Answerable, handler: Handler[Any], context: RequestContext, request: Message
    ) -> tuple[Answerable, Handler[Any]] | None:
        """Returns the handler and the client for the request; None if its connection must be closed."""


class HandlerTable(Protocol[S]):
    """The APIs that are served."""

    def get(self, api_key: int) -> Handler[S] | None:
        """The handler of an API, or None when it is not served."""


class Dispatcher(Generic[S]):
    """Serves the frames of all connections of one broker."""

    def __init__(
        self,
        core: S,
        handlers: HandlerTable[S],
        unsupported_api_versions: Callable[[], Response],
        stalls: LoopStalls,
    ) -> None:
        self._core = core
        self._slices = core.slices
        self._wide_requests = FewAtOnce(core.slices)
        self._long_answers = FewAtOnce(core.slices)
        self._stalls = stalls
        self._now_ns = stalls.now_ns
        self._handlers = handlers
        self._unsupported_api_versions = unsupported_api_versions
        self._complaints = Complaints(_log, core.clock)
        self.latencies = Latencies()
        """How long requests took."""
        self._sends = Sends(self.latencies, self._now_ns)
        self.interposed: Interposed | None = None
        """The faults for requests that a test has set; None without such faults, so always in production."""

    def dispatch(self, client: Answerable, frame: Buffer) -> None:
        """Serve one request, and note it as a stall if it holds the loop for long. Never raises."""
        slices = self._slices
        began_ns = self._now_ns()
        context = self._serve(client, frame)
        ended_ns = self._now_ns()
        elapsed_ns = ended_ns - began_ns
        if context is not None:
            if context.is_answered and elapsed_ns <= QUICK_NS and not client.queued_ns:
                latencies = self.latencies[context.api_key]
                latencies.quick += 1
                latencies.quick_ns += elapsed_ns
            else:
                self._note_turn(client, context, began_ns, ended_ns)
        if elapsed_ns > self._stalls.notable_ns:
            cause = f"{frame_words(frame)} from {client.peer_host}" if slices.cause is None else slices.cause
            self._stalls.note(elapsed_ns, str(cause))
        slices.cause = None

    def answer_waits(self, client: Answerable) -> None:
        """See `FrameDispatcher.answer_waits`."""
        self._sends.began(client, client.last_api_key)

    def answer_taken(self, client: Answerable) -> None:
        """See `FrameDispatcher.answer_taken`."""
        self._sends.ended(client)

    def _note_turn(self, client: Answerable, context: RequestContext, began_ns: int, ended_ns: int) -> None:
        """Count a request that is answered and was not quick; of a parked request, store the times so far."""
        queue_ns = max(0, began_ns - client.queued_ns) if client.queued_ns else 0
        if context.is_answered:
            self.latencies[context.api_key].note(queue_ns, ended_ns - began_ns, 0)
        else:
            context.parked_ns, context.queue_ns, context.turn_ns = ended_ns, queue_ns, ended_ns - began_ns

    def _note_answer(self, context: RequestContext) -> None:
        """Count a request that is answered after its turn."""
        remote_ns = self._now_ns() - context.parked_ns
        self.latencies[context.api_key].note(context.queue_ns, context.turn_ns, remote_ns)

    def _serve(self, client: Answerable, frame: Buffer) -> RequestContext | None:
        """Serve one request. Returns its context; None if it was refused because of its header."""
        if len(frame) < FIXED_BYTES:
            self._close(client, f"a request of {len(frame)} bytes")
            return None
        api_key, api_version, correlation_id = decode_fixed(frame)
        handler = self._handlers.get(api_key)
        if handler is None:
            self._close(client, f"an API that is not served here: key {api_key}, version {api_version}")
            return None
        client.last_api_key = api_key
        if not handler.lowest_version <= api_version <= handler.highest_version:
            if api_key == API_VERSIONS:
                header = encode_response_header(api_key, 0, correlation_id)
                client.answer(self._unsupported_api_versions().encode_parts(0, header))
            else:
                self._close(client, f"version {api_version} of {handler.name} is not served here")
            return None
        client_id = None
        try:
            request_class = handler.request_class
            client_id, position = decode_client_id(
                frame, is_flexible=api_version >= request_class.FLEXIBLE_FROM
            )
            context = RequestContext(api_key, api_version, correlation_id, client_id, client)
            self._slices.cause = context
            request = request_class.begin_decoding(frame, api_version, position)
        except MalformedRequest as malformed:
            self._close(client, str(malformed), client_id)
            return None
        if isinstance(request, request_class):
            self._handle(client, handler, context, request)
        else:
            steps = cast("Generator[None, None, Message]", request)
            self._wide_requests.run(
                self._handle_wide(client, handler, context, steps), lambda _: client.close()
            )
        return context

    def _handle_wide(
        self,
        client: Answerable,
        handler: Handler[S],
        context: RequestContext,
        steps: Generator[None, None, Message],
    ) -> Steps[None]:
        """Decode a large request in steps, then handle it, until it is answered or waits."""
        try:
            request = yield from steps
        except MalformedRequest as malformed:
            self._close(client, str(malformed), context.client_id)
            return
        rest = self._handle(client, handler, context, request, is_wide=True)
        del request  # what answers it lets go of it in steps
        if rest is not None:
            yield from rest

    def _handle(
        self,
        client: Answerable,
        handler: Handler[S],
        context: RequestContext,
        request: Message,
        *,
        is_wide: bool = False,
    ) -> Steps[None] | None:
        """Handle a request; the answer to a wide one is encoded in steps, as it was decoded.

        Of a wide one, the rest of the handler's work is returned; else it has begun.
        """
        if self.interposed is not None:
            met = self.interposed.meet(client, handler, context, request)
            if met is None:
                client.close()
                return None
            client, handler = met
        api_key = context.api_key
        counts = self._core.request_counts
        counts[api_key] = counts.get(api_key, 0) + 1
        return self._begin(client, handler, context, request, is_wide)

    def _begin(
        self,
        client: Answerable,
        handler: Handler[S],
        context: RequestContext,
        request: Message,
        is_wide: bool,
    ) -> Steps[None] | None:
        """See `_handle`."""
        is_answered = False
        is_at_work = is_wide
        wide = request if is_wide else None

        def respond(answer: Response | Steps[Response] | None) -> None:
            nonlocal is_answered
            assert not is_answered, f"{handler.name} answered twice"
            is_answered = True
            if isinstance(answer, GeneratorType):
                steps: Steps[Response] = answer
            elif wide is not None and answer is not None:
                steps = _as_it_is(answer)  # type: ignore[arg-type]
            else:
                self._answer(client, handler, context, answer)  # type: ignore[arg-type]
                if wide is not None:
                    self._free([wide], context)
                return
            # The answer of a wide request that did not wait is a part of its own work.
            run = self._wide_requests.add if is_at_work else self._long_answers.run
            run(self._answer_in_steps(client, handler, context, steps, wide), refuse)

        def refuse(error: Exception) -> None:
            _log_failure(context, error)
            code = code_of(error) if isinstance(error, OdradekError) else ErrorCode.UNKNOWN_SERVER_ERROR
            self._refuse(client, handler, context, request, code, wide)

        def failed(error: Exception) -> None:
            nonlocal is_answered
            if is_answered:
                _log_failure(context, error)
            else:
                is_answered = True
                refuse(error)

        def done() -> None:
            nonlocal is_at_work
            is_at_work = False

        try:
            steps = handler.handle(self._core, context, request, respond)
        except Exception as error:
            failed(error)
        else:
            if steps is not None:
                if is_wide:
                    return _until_done(steps, failed, done)
                self._slices.run(steps, failed)
        done()
        return None

    def _answer_in_steps(
        self,
        client: Answerable,
        handler: Handler[S],
        context: RequestContext,
        answer: Steps[Response],
        wide: Message | None,
    ) -> Steps[None]:
        """Make an answer, encode and send it. What is large of it and of a wide request is freed in steps."""
        response = yield from answer
        version = context.api_version
        header = encode_response_header(context.api_key, version, context.correlation_id)
        is_large = False
        try:
            encoding = response.encode_in_steps(version, header)
            while True:
                try:
                    next(encoding)
                except StopIteration as end:
                    parts = end.value
                    break
                is_large = True
                yield
        except Exception:
            self._give_up(client, handler, version, response)
        else:
            if context.parked_ns:
                self._note_answer(context)
            else:
                context.is_answered = True
            client.answer(parts)
            if is_large or wide is not None:
                self._free([response, wide], context)

    def _free(self, values: list[Any], context: RequestContext) -> None:
        """Free messages of many elements, when those who work with them now have returned."""
        if context.spent is not None:
            values += context.spent
            context.spent = None
        self._wide_requests.add(freed(values), _log_unfreed)

    def _answer(
        self, client: Answerable, handler: Handler[S], context: RequestContext, response: Response | None
    ) -> None:
        if context.parked_ns:
            self._note_answer(context)
        else:
            context.is_answered = True
        if response is None:
            client.answer_nothing()
            return
        version = context.api_version
        header = encode_response_header(context.api_key, version, context.correlation_id)
        try:
            parts = response.encode_parts(version, header)
        except Exception:
            self._give_up(client, handler, version, response)
        else:
            client.answer(parts)

    @staticmethod
    def _give_up(client: Answerable, handler: Handler[S], version: int, response: Response) -> None:
        """A bug of ours: there is no answer to this request."""
        _log.exception("an answer of %s v%d cannot be encoded: %r", handler.name, version, response)
        client.close()

    def _refuse(
        self,
        client: Answerable,
        handler: Handler[S],
        context: RequestContext,
        request: Any,  # noqa: ANN401 - any API's request
        code: ErrorCode,
        wide: Message | None,
    ) -> None:
        if handler.refuse is None:
            client.close()
            return
        refusal = handler.refuse(request, code)
        if type(refusal) is not GeneratorType:
            self._answer(client, handler, context, refusal)  # type: ignore[arg-type]
            return

        def failed(error: Exception) -> None:
            _log_failure(context, error)
            client.close()

        self._long_answers.run(self._answer_in_steps(client, handler, context, refusal, wide), failed)

    def _close(self, client: Answerable, reason: str, client_id: str | None = None) -> None:
        self._complaints.say(
            "closing the connection of %s: %s",
            named(client, client_id),
            reason,
            fields=log_fields(client, client_id),
        )
        client.close()


def _as_it_is(answer: Response) -> Steps[Response]:
    """An answer that is there, where one is made in steps."""
    yield
    return answer


def _until_done(
    steps: Steps[None], failed: Callable[[Exception], None], done: Callable[[], None]
) -> Steps[None]:
    """Steps that raise nothing, but pass it to `failed`; `done` is called at the end."""
    try:
        yield from steps
    except Exception as error:
        failed(error)
    done()


def _log_unfreed(error: Exception) -> None:
    """A bug of ours; what was not taken apart is freed at once."""
    _log.error("a message was not freed in steps", exc_info=error)


def _log_failure(context: RequestContext, error: Exception) -> None:
    """Log a failure caused by a bug of ours, or by the disk."""
    fields = log_fields(context.client, context.client_id)
    _log.error("%s failed", context, exc_info=error, extra={**fields, "api": APIS[context.api_key].name})


def frame_words(frame: Buffer) -> str:
    """Describes a request whose header could not be decoded, for the log."""
    return f"a request of {len(frame)} bytes"
