"""The opener's side of connections to brokers: sends requests as wire bytes, and receives the outcomes.

    connection.send(request, version, done)     on its way
    a step                                      the node gets it
    a step                                      the answer arrives, or a part of it; then `done` is called

Clients have such connections (`SimNode.connect`), and so have brokers (`links`); under each is the same
`net.request_pipeline` as everywhere, and a `Stream`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, Generic, Protocol, cast

from odradek.base.clock import Clock
from odradek.base.ids import BrokerId
from odradek.net.request_pipeline import Answer, Outcome, RequestPipeline, SentRequest
from odradek.testing.sim.streams import Network, Place, Stream
from odradek.timer import TimedCall, Timer
from odradek.wire.apis import APIS
from odradek.wire.headers import decode_response_header
from odradek.wire.message import Message, Request, ResponseT
from odradek.wire.messages.produce import ProduceRequest

CLIENT_HOST: Final = "10.0.0.1"
"""The default host of clients."""
CLIENT_PORT: Final = 4000
NEVER_MS: Final = 1 << 40
"""The timeout of a request whose client waits without limit."""


class Owner(Protocol):
    """The owner of a connection: a client, or one life of a broker."""

    @property
    def clock(self) -> Clock:
        """The clock of its request timeouts."""

    @property
    def is_alive(self) -> bool:
        """Whether it can receive outcomes."""


@dataclass(frozen=True, slots=True)
class SimClient:
    """A client, which exists as long as its world."""

    clock: Clock
    host: str = CLIENT_HOST
    client_id: str = "test"
    is_alive: bool = True


class SimConnection:
    """One connection that a client or a broker has opened to a broker."""

    def __init__(
        self,
        network: Network,
        owner: Owner,
        peer: tuple[str, int],
        ways: tuple[Place, BrokerId],
        listener: str,
        *,
        client_id: str,
        timer: Timer | None = None,
        on_answer: Callable[[bytes], None] = lambda answer: None,
    ) -> None:
        """`peer` is the address of its owner; without a timer no request times out.

        `on_answer` is called with every answer that arrives.
        """
        self.stream = Stream(network, self, peer, ways, listener)
        self.reset_because = ""
        """Why it has ended, once its owner knows; "" before."""
        self.client_id = client_id
        """The client id of its requests."""
        self._owner = owner
        self._timer = timer
        self._on_answer = on_answer
        self._pipeline = RequestPipeline(f"broker {ways[1]}", owner.clock, client_id=client_id)
        # The callbacks of the pending requests by correlation id, and their timeouts.
        self._waiting: dict[int, tuple[Callable[[Outcome], None], TimedCall | None]] = {}

    # --- the owner's side

    @property
    def is_alive(self) -> bool:
        """See `Opener.is_alive`."""
        return self._owner.is_alive

    @property
    def has_room(self) -> bool:
        """See `Opener.has_room`: always."""
        return True

    @property
    def is_closed(self) -> bool:
        """Whether it has ended, as far as its owner knows."""
        return not self._pipeline.is_open

    def send(
        self,
        request: Message,
        version: int,
        done: Callable[[Outcome], None],
        *,
        timeout_ms: int = NEVER_MS,
    ) -> SentRequest:
        """Send a request; `done` is called later with its outcome, if the request is one that is answered."""
        sent, parts = self._pipeline.send(request, version, timeout_ms)
        if is_answered(request):
            deadline = None
            if self._timer is not None:
                deadline = TimedCall(sent.deadline_ms, self._expire)
                self._timer.add(deadline)
            self._waiting[sent.correlation_id] = done, deadline
        else:
            self._pipeline.forget_last()
        self.stream.send(b"".join(parts))
        return sent

    def arrive(self) -> None:
        """Run the steps in which the sent requests reach the node and are handled, before any other step."""
        while self.stream.has_sent:
            self.stream.reach_server()
        side = self.stream.server_side
        while side is not None and side.connection.waiting_requests:
            assert not side.connection.is_handling, "an earlier request is at work"
            side.server.run_turn()

    def close(self) -> None:
        """End it; what was sent still arrives."""
        self.stream.close()
        self._end("closed by its owner")

    def lose(self) -> None:
        """Lose it and all bytes in transit; both sides notice before any other step."""
        self.stream.lose()

    def steps(self) -> list[Callable[[], None]]:
        """The steps that can happen next on it."""
        return self.stream.steps()

    def _expire(self) -> None:
        self._deliver(self._pipeline.expire())
        if self.is_closed:
            self.stream.reset()

    def _deliver(self, outcomes: Iterable[Outcome]) -> None:
        for outcome in outcomes:
            done, deadline = self._waiting.pop(outcome.request.correlation_id)
            if deadline is not None:
                deadline.cancel()
            if isinstance(outcome, Answer):
                self._on_answer(bytes(outcome.frame))
            done(outcome)

    def _end(self, reason: str) -> None:
        self.reset_because = self.reset_because or reason
        self._deliver(self._pipeline.lost(reason))

    # --- the network's side

    def on_open(self) -> None:
        """See `Opener.on_open`; never called: it begins with a request."""

    def on_taken(self, count: int) -> None:
        """See `Opener.on_taken`."""

    def on_bytes(self, data: bytes) -> None:
        """See `Opener.on_bytes`."""
        rest = memoryview(data)
        while rest and self._pipeline.is_open:
            into = self._pipeline.writable()
            count = min(len(into), len(rest))
            into[:count] = rest[:count]
            rest = rest[count:]
            self._deliver(self._pipeline.received(count))
        if self.is_closed:  # it was no answer
            self.stream.reset()

    def on_end(self, reason: str) -> None:
        """See `Opener.on_end`."""
        self._end(reason)


def is_answered(request: Message) -> bool:
    """Whether brokers answer it: all but a produce with acks=0."""
    return not (isinstance(request, ProduceRequest) and request.acks == 0)


class SimRequest(Generic[ResponseT]):
    """A request that a client has sent."""

    def __init__(
        self,
        connection: SimConnection,
        request: Request[ResponseT],
        version: int,
        ended: Callable[[SimConnection], None] = lambda connection: None,
    ) -> None:
        """`ended` is called when it has its outcome."""
        self.request = request
        self.version = version
        self.client = connection
        """The connection that it was sent on."""
        self.outcome: Outcome | None = None
        """How it ended; None before, and for one that is not answered."""
        self._ended = ended
        connection.send(request, version, self._on_outcome)

    def _on_outcome(self, outcome: Outcome) -> None:
        self.outcome = outcome
        self._ended(self.client)

    def arrive(self) -> SimRequest[ResponseT]:
        """Run the steps in which it reaches the node and is handled, before any other step."""
        self.client.arrive()
        return self

    @property
    def answers(self) -> list[ResponseT]:
        """The answers so far, decoded: none or one."""
        if not isinstance(self.outcome, Answer):
            return []
        frame = bytes(self.outcome.frame)
        _, position = decode_response_header(frame, self.request.API_KEY, self.version)
        response = APIS[self.request.API_KEY].response_class.decode(frame, self.version, position)
        return [cast(ResponseT, response)]

    @property
    def answer(self) -> ResponseT:
        """The answer, which must have arrived."""
        answers = self.answers
        assert answers, f"{type(self.request).__name__} is not answered"
        return answers[0]
