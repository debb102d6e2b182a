"""The controller's orders on their way to the brokers: one queue for each, one request in flight in each.

An order is sent again until it is answered, or until its broker is gone from the controller's image: orders
never overtake each other, and none is skipped but one that a bug of ours keeps from being sent. A broker that
registers again gets all its orders anew, so orders for its earlier registration are dropped.

    send(2, A), send(2, B)      A goes out
    A has no answer             A again, RETRY_MS later
    A is answered               B goes out, the answer goes to the controller
    broker 2 is gone            B is dropped, and what comes for it ignored

Orders to this broker itself do not go through `Peers`. They are made into requests and obeyed in the same
way, after the same fences, but they are never encoded as bytes.
"""

import logging
from collections import deque
from collections.abc import Callable
from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.execution import Defer, Slices, Steps
from odradek.base.ids import BrokerId
from odradek.metadata.orders import Order, OrderOutcome
from odradek.metadata.orders_on_wire import OrderRequest, outcome_in, to_request
from odradek.server.node.peers import PeerOutcome, PeerRequest, Peers
from odradek.server.node.received_orders import Obeyed
from odradek.timer import TimedCall, Timer

_log = logging.getLogger(__name__)

RETRY_MS: Final = 100
"""How long after an order that was not answered it is sent again."""
EVERYONE_MS_MAX: Final = 5_000
"""How long `after_everyone` waits for a broker that does not answer."""
TIMEOUT_MS: Final = 30_000
"""How long an answer may take: Kafka's `controller.socket.timeout.ms`."""


class _Queue:
    """The orders to one registration of a broker."""

    __slots__ = ("after", "broker_id", "request", "retry", "waiting")

    def __init__(self, broker_id: BrokerId) -> None:
        self.broker_id = broker_id
        # (number, order), the oldest first, which is the one in flight; empty when all are answered.
        self.waiting: deque[tuple[int, Order]] = deque()
        # (number, callback): what is called when the order with that number is answered, or dropped.
        self.after: deque[tuple[int, Callable[[], None]]] = deque()
        # The first order as a request; None while it is being made.
        self.request: OrderRequest | None = None
        # The timer task that sends the first order again; None while that order is in flight.
        self.retry: TimedCall | None = None


class OutgoingOrders:
    """The queues of one controller."""

    def __init__(
        self,
        broker_id: BrokerId,
        peers: Peers,
        obey: Callable[[OrderRequest, Obeyed], None],
        slices: Slices,
        defer: Defer,
        timer: Timer,
        answered: Callable[[int, BrokerId, OrderOutcome], None],
    ) -> None:
        """`broker_id` is this broker, which obeys by `obey`; `answered` is called with an order's number."""
        self._broker_id = broker_id
        self._peers = peers
        self._obey = obey
        self._slices = slices
        self._defer = defer
        self._timer = timer
        self._answered = answered
        # By broker; a broker has a queue from its first order until `forget`.
        self._queues: dict[BrokerId, _Queue] = {}

    def send(self, broker_id: BrokerId, number: int, order: Order) -> None:
        """Send an order after all earlier ones to that broker; `answered` is called when an answer comes."""
        queue = self._queues.get(broker_id)
        if queue is None:
            queue = self._queues[broker_id] = _Queue(broker_id)
        queue.waiting.append((number, order))
        if len(queue.waiting) == 1:
            self._begin(queue)

    def after_all(self, broker_id: BrokerId, then: Callable[[], None]) -> None:
        """Call `then` in a later turn, once a broker has answered the orders sent so far, or is forgotten."""
        queue = self._queues.get(broker_id)
        if queue is None or not queue.waiting:
            self._defer(then)
        else:
            number, _ = queue.waiting[-1]
            queue.after.append((number, then))

    def after_everyone(self, then: Callable[[], None]) -> None:
        """Call `then` once, in a later turn: when all brokers have answered the orders sent so far, or are
        forgotten, but after EVERYONE_MS_MAX in any case.
        """
        unanswered = [broker_id for broker_id in self._queues if self.has_unanswered(broker_id)]
        if not unanswered:
            self._defer(then)
            return
        left = len(unanswered)

        def answered() -> None:
            nonlocal left
            left -= 1
            if not left and limit.is_pending:
                limit.cancel()
                then()

        limit = TimedCall(self._timer.clock.monotonic_ms() + EVERYONE_MS_MAX, then)
        self._timer.add(limit)
        for broker_id in unanswered:
            self.after_all(broker_id, answered)

    def forget(self, broker_id: BrokerId) -> None:
        """The broker's registration is over: drop its orders, and ignore answers that still arrive."""
        queue = self._queues.pop(broker_id, None)
        if queue is None:
            return
        if queue.retry is not None:
            queue.retry.cancel()
        for _, then in queue.after:
            self._defer(then)

    def forget_all(self) -> None:
        """This broker lost or regained the controller role: send no order from before."""
        for broker_id in list(self._queues):
            self.forget(broker_id)

    def has_unanswered(self, broker_id: BrokerId) -> bool:
        """Whether a broker has not answered all its orders."""
        queue = self._queues.get(broker_id)
        return queue is not None and bool(queue.waiting)

    def _begin(self, queue: _Queue) -> None:
        self._defer(
            lambda: self._slices.run(
                self._first_request(queue), lambda error: self._on_not_sent(queue, error)
            )
        )

    def _first_request(self, queue: _Queue) -> Steps[None]:
        """Make the first order into a request, and send it."""
        _, order = queue.waiting[0]
        queue.request = yield from to_request(order)
        self._transmit(queue)

    def _transmit(self, queue: _Queue) -> None:
        queue.retry = None
        request = queue.request
        if request is None or self._queues.get(queue.broker_id) is not queue:
            return
        if queue.broker_id == self._broker_id:
            self._obey(request, lambda outcome: self._on_outcome(queue, request, outcome))
            return
        version = type(request).VERSIONS.highest
        self._peers.send(
            PeerRequest(queue.broker_id, request, version, TIMEOUT_MS),
            lambda answer: self._on_answer(queue, request, answer),
        )

    def _on_answer(self, queue: _Queue, request: OrderRequest, answer: PeerOutcome) -> None:
        if self._queues.get(queue.broker_id) is not queue or queue.request is not request:
            return
        if isinstance(answer, ApiError):
            deadline_ms = self._timer.clock.monotonic_ms() + RETRY_MS
            queue.retry = TimedCall(deadline_ms, lambda: self._transmit(queue))
            self._timer.add(queue.retry)
        else:
            self._on_outcome(queue, request, outcome_in(request, answer))

    def _on_not_sent(self, queue: _Queue, error: Exception) -> None:
        """A bug of ours: to the controller the broker has failed to obey; the next order is sent."""
        order = type(queue.waiting[0][1]).__name__
        _log.error("%s could not be sent to broker %d", order, queue.broker_id, exc_info=error)
        self._on_outcome(queue, queue.request, OrderOutcome(ErrorCode.UNKNOWN_SERVER_ERROR))

    def _on_outcome(self, queue: _Queue, request: OrderRequest | None, outcome: OrderOutcome) -> None:
        """Called with the outcome of the order that was made into `request`, unless it has one already."""
        if self._queues.get(queue.broker_id) is not queue or queue.request is not request:
            return
        number, _ = queue.waiting.popleft()
        queue.request = None
        while queue.after and queue.after[0][0] == number:
            _, then = queue.after.popleft()
            self._defer(then)
        if queue.waiting:
            self._begin(queue)
        self._answered(number, queue.broker_id, outcome)
