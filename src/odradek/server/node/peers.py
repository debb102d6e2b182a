"""The port to the other brokers: requests out, responses or failures back as events.

    peers.send(PeerRequest(2, LeaderAndIsrRequest(...), 7, timeout_ms=30_000), on_outcome)
    later                    on_outcome(LeaderAndIsrResponse(...)), or on_outcome(ApiError(...))

Every outcome is an event of its own: `done` is called once, never before `send` has returned, and not at
all when the life of the node is over. Requests and responses travel in Kafka's encoding: an implementation
uses a `net.request_pipeline` per connection, and decodes each answer with the API's response class.

`server/process/peer_sockets` implements it over sockets, `testing/sim/links` over simulated connections, and
`NoPeers` for a broker that is alone; `tests/server/node/test_peers.py` tests all of them.

An implementation keeps one connection per broker, opened when there is a request to send, and again after it
failed. A broker answers the requests of a connection one after another, so requests are executed in the order
of `send` as long as nothing fails. After a failure it is unknown whether a request was executed or still will
be, unless it is `NotConnected`; the caller decides whether to retry. A peer is served by the handlers of the
listener between brokers (`Node.peer_dispatcher`).

The controller uses it for its orders (`outgoing_orders`). A follower's requests (Fetch with a replica id,
OffsetForLeaderEpoch, ListOffsets) have the same shape, and so have requests of brokers to the controller. A
Fetch may wait at the leader for `replica.fetch.wait.max.ms`, and would delay every order behind it: fetchers
(`replica_fetchers`) have a `Peers` with connections of their own (X1), never this one, and so have what is
forwarded to the controller (`forwarding`) and what coordinators and leaders ask each other (`peer_batches`).
Announcements of ISR changes (R4) need no peer: they go through the metadata store.
"""

from collections.abc import Callable
from typing import Protocol, TypeAlias

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.execution import Defer
from odradek.base.ids import BrokerId
from odradek.base.values import value
from odradek.net.request_pipeline import Answer, ConnectionFailed, NotConnected, Outcome, decode_answer
from odradek.wire.apis import APIS
from odradek.wire.message import Message

PeerOutcome: TypeAlias = Message | ApiError
"""The response, in the API and version of the request; or an error (see `net`'s ConnectionFailed)."""
OnPeerOutcome: TypeAlias = Callable[[PeerOutcome], None]


@value
class PeerRequest:
    """One request to another broker."""

    broker_id: BrokerId
    message: Message
    version: int
    """The version in which the message and its response are encoded."""
    timeout_ms: int
    """After this time the outcome is REQUEST_TIMED_OUT, and the connection is closed."""


class Peers(Protocol):
    """The other brokers, as one broker reaches them; see the module's head."""

    def send(self, request: PeerRequest, done: OnPeerOutcome) -> None:
        """Send a request after all earlier ones to that broker; `done` is called once, with the outcome."""


def peer_outcome(broker_id: BrokerId, outcome: Outcome) -> PeerOutcome:
    """The outcome of a request to a broker as `Peers` reports it: the answer is decoded."""
    if not isinstance(outcome, Answer):
        return outcome.error
    try:
        return decode_answer(f"broker {broker_id}", outcome, APIS[outcome.request.api_key].response_class)
    except ConnectionFailed as failed:
        return failed


class NoPeers:
    """The `Peers` of a broker that is alone in its cluster."""

    def __init__(self, defer: Defer) -> None:
        self._defer = defer

    def send(self, request: PeerRequest, done: OnPeerOutcome) -> None:
        """See `Peers.send`."""
        unknown = NotConnected(
            f"broker {request.broker_id} is not known here", ErrorCode.BROKER_NOT_AVAILABLE
        )
        self._defer(lambda: done(unknown))
