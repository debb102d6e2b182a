"""Gathers what goes to other brokers: one request in flight to each, with all that has come meanwhile.

    send(2, a)               a goes out alone
    send(2, b), send(2, c)   they wait
    a is answered            b and c go out together
    broker 2 is gone         what waits is refused; what is in flight has its outcome soon

The coordinator of transactions sends its markers in this way, and a leader of partitions asks coordinators in
this way (KIP-890). Nothing is repeated here: an item without an answer is refused, and its owner decides what
becomes of it. Each user has connections of its own (`Peers`), since an answer may take long.

Invariants: an item is answered or refused once, in an event of its own, unless its owner does not want it any
more; no two requests are in flight to the same broker.
"""

import logging
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from typing import Final, Generic, Protocol, TypeVar

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.execution import Slices, Steps
from odradek.base.ids import BrokerId
from odradek.server.node.peers import PeerOutcome, PeerRequest, Peers
from odradek.wire.message import Message

_log = logging.getLogger(__name__)

ITEMS_MAX: Final = 256
"""How many items one request may have."""
PARTITIONS_MAX: Final = 1_000
"""How many partitions a request may name, unless its only item names more."""


class Item(Protocol):
    """A part of a request."""

    @property
    def key(self) -> Hashable:
        """Items with the same key never share a request: their answers could not be told apart."""

    @property
    def size(self) -> int:
        """How many partitions it names."""

    @property
    def is_wanted(self) -> bool:
        """Whether its owner still waits for it; what is not wanted is dropped before it is sent."""

    def refuse(self, code: ErrorCode) -> None:
        """Called when it has no answer; no effect after its answer."""


I = TypeVar("I", bound=Item)  # noqa: E741 - an item
I_contra = TypeVar("I_contra", bound=Item, contravariant=True)


class Kind(Protocol[I_contra]):
    """The API that the items of one user belong to."""

    def to_message(self, items: Sequence[I_contra]) -> Steps[Message]:
        """One request for all of them."""

    def read(self, items: Sequence[I_contra], answer: Message) -> Steps[None]:
        """Give each item its part of the answer."""


class _Queue(Generic[I]):
    """What goes to one broker."""

    __slots__ = ("in_flight", "waiting")

    def __init__(self) -> None:
        # The items of the request in flight; None if there is none.
        self.in_flight: list[I] | None = None
        # The others, oldest first; empty unless a request is in flight.
        self.waiting: deque[I] = deque()


class PeerBatches(Generic[I]):
    """The requests of one kind of one broker."""

    def __init__(
        self,
        kind: Kind[I],
        connect_peers: Callable[[], Peers],
        is_live: Callable[[BrokerId], bool],
        slices: Slices,
        timeout_ms: Callable[[], int],
    ) -> None:
        """`timeout_ms` returns how long an answer may take."""
        self._kind = kind
        self._connect_peers = connect_peers
        self._is_live = is_live
        self._slices = slices
        self._timeout_ms = timeout_ms
        # The connections; made when they are first needed.
        self._peers: Peers | None = None
        # By broker; kept when they are empty.
        self._queues: dict[BrokerId, _Queue[I]] = {}

    def __len__(self) -> int:
        """How many items have no answer."""
        return sum(len(one.waiting) + len(one.in_flight or ()) for one in self._queues.values())

    def send(self, broker_id: BrokerId, item: I) -> None:
        """Send an item with the next request to that broker."""
        queue = self._queues.get(broker_id)
        if queue is None:
            queue = self._queues[broker_id] = _Queue()
        queue.waiting.append(item)
        if queue.in_flight is None:
            self._begin(broker_id, queue)

    def refuse_gone(self) -> None:
        """Refuse what waits for brokers that are gone; called after each order of a controller."""
        for broker_id, queue in list(self._queues.items()):
            if queue.waiting and not self._is_live(broker_id):
                waiting, queue.waiting = list(queue.waiting), deque()
                self._run(self._refuse(waiting, ErrorCode.BROKER_NOT_AVAILABLE), waiting)

    def close(self) -> None:
        """The broker stops: refuse everything."""
        queues, self._queues = self._queues, {}
        for queue in queues.values():
            items = [*(queue.in_flight or ()), *queue.waiting]
            self._run(self._refuse(items, ErrorCode.NETWORK_EXCEPTION), items)

    def _begin(self, broker_id: BrokerId, queue: _Queue[I]) -> None:
        items = _take(queue.waiting)
        if items:
            queue.in_flight = items
            self._run(self._transmit(broker_id, queue, items), items)

    def _transmit(self, broker_id: BrokerId, queue: _Queue[I], items: list[I]) -> Steps[None]:
        message = yield from self._kind.to_message(items)
        if self._peers is None:
            self._peers = self._connect_peers()
        self._peers.send(
            PeerRequest(broker_id, message, type(message).VERSIONS.highest, self._timeout_ms()),
            lambda outcome: self._on_outcome(broker_id, queue, items, outcome),
        )

    def _on_outcome(
        self, broker_id: BrokerId, queue: _Queue[I], items: list[I], outcome: PeerOutcome
    ) -> None:
        if isinstance(outcome, ApiError):
            self._run(self._refuse(items, outcome.code), items)
        else:
            self._run(self._kind.read(items, outcome), items)
        if self._queues.get(broker_id) is queue:
            queue.in_flight = None
            self._begin(broker_id, queue)

    def _refuse(self, items: Sequence[I], code: ErrorCode) -> Steps[None]:
        for item in items:
            item.refuse(code)
            yield

    def _run(self, steps: Steps[None], items: Sequence[I]) -> None:
        def failed(error: Exception) -> None:
            """A bug of ours, or an answer that cannot be read."""
            _log.error("a request to another broker, or its answer, has failed", exc_info=error)
            for item in items:
                item.refuse(ErrorCode.UNKNOWN_SERVER_ERROR)

        self._slices.run(steps, failed)


def _take(waiting: deque[I]) -> list[I]:
    """Remove the items of the next request from the queue, the oldest first."""
    taken: list[I] = []
    later: list[I] = []
    keys: set[Hashable] = set()
    size = 0
    while waiting and len(taken) + len(later) < ITEMS_MAX:
        item = waiting[0]
        if taken and size + item.size > PARTITIONS_MAX:
            break
        waiting.popleft()
        if not item.is_wanted:
            continue
        if item.key in keys:
            later.append(item)
        else:
            keys.add(item.key)
            taken.append(item)
            size += item.size
    waiting.extendleft(reversed(later))
    return taken
