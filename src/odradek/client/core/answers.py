"""Which brokers answer, as the requests of one client show: what is overdue, and what could not be sent.

    sent(Fetch, node 2)      at 0; Fetch may take 1,000 ms
    why(2, 1_500)            "broker 2 has not answered Fetch for 1.5 s"
    finished(a failure)      why(2): "broker 2 cannot be reached: connection refused"
    finished(an answer)      why(2): None

It only describes; other parts send requests again. Invariant: what it says of a broker ends with the next
answer of that broker.
"""

from dataclasses import dataclass
from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.ids import NO_BROKER, BrokerId
from odradek.client.core.cluster_view import ClusterView
from odradek.client.core.requests import Destination, Outcome, Send, ToNode
from odradek.client.core.waiting import Cause, Why
from odradek.net.request_pipeline import ConnectionFailed

HEARD_MS: Final = 1_000
"""While metadata cannot be had, an answer says for so long that there is a broker."""


@dataclass(frozen=True, slots=True)
class _Failure:
    """Requests to a broker have failed since its last answer."""

    since_ms: int
    error: ApiError
    """Of the latest one."""


class Answers:
    """See the module."""

    def __init__(self, view: ClusterView) -> None:
        self._view = view
        # The requests that were handed to a connection, with their brokers (None: any) and times.
        self._out: dict[Send, tuple[BrokerId | None, int]] = {}
        self._failures: dict[BrokerId, _Failure] = {}
        # When a broker answered last; None before the first answer.
        self._heard_ms: int | None = None

    def sent(self, send: Send, node: BrokerId | None, now_ms: int) -> None:
        """A request is handed to the connection to a broker; None: to any."""
        self._out[send] = node, now_ms

    def went_to(self, send: Send, node: BrokerId) -> None:
        """The connection that a request to any broker was handed to is one to this broker."""
        if node != NO_BROKER:
            _, sent_ms = self._out[send]
            self._out[send] = node, sent_ms

    def finished(self, outcome: Outcome, now_ms: int) -> int | None:
        """What became of a request; returns how many ms it took, None if it was never `sent`."""
        _, sent_ms = self._out.pop(outcome.send, (None, None))
        error = outcome.error
        if error is None or error.code is ErrorCode.UNSUPPORTED_VERSION:
            if outcome.node != NO_BROKER:
                self._failures.pop(outcome.node, None)
            self._heard_ms = now_ms
        elif isinstance(error, ConnectionFailed) and outcome.node != NO_BROKER:
            known = self._failures.get(outcome.node)
            self._failures[outcome.node] = _Failure(now_ms if known is None else known.since_ms, error)
        return None if sent_ms is None else now_ms - sent_ms

    # --- what is told

    def unreachable(self, node: BrokerId, now_ms: int) -> Why | None:
        """That requests to a broker fail; None if the last one did not."""
        failure = self._failures.get(node)
        if failure is None:
            return None
        waited_ms = now_ms - failure.since_ms
        text = f"broker {self.name_of(node)} cannot be reached for {waited_ms / 1000:.0f} s: {failure.error}"
        return Why(Cause.NO_CONNECTION, text, {"node": node, "ms": waited_ms, "error": str(failure.error)})

    def overdue(self, to: Destination, now_ms: int) -> Why | None:
        """That the oldest request to this destination is not answered; None while it need not be."""
        for send, (node, sent_ms) in self._out.items():
            waited_ms = now_ms - sent_ms
            if send.to != to or node is None or send.answer_ms is None or waited_ms < send.answer_ms:
                continue
            api = type(send.request).__name__.removesuffix("Request")
            text = f"broker {self.name_of(node)} has not answered {api} for {waited_ms / 1000:.1f} s"
            return Why(Cause.REQUEST, text, {"node": node, "api": api, "ms": waited_ms})
        return None

    def why(self, node: BrokerId, now_ms: int) -> Why | None:
        """What keeps this broker from answering; None if nothing is known to."""
        return self.unreachable(node, now_ms) or self.overdue(ToNode(node), now_ms)

    def nobody(self, now_ms: int) -> Why | None:
        """That no broker at all answers; None if one does, or if nothing was asked."""
        error, since_ms = self._view.last_error, self._view.failing_since_ms
        if error is not None:
            if self._heard_ms is not None and self._heard_ms > since_ms:
                if now_ms - self._heard_ms < HEARD_MS:
                    return None
                since_ms = self._heard_ms
            data: dict[str, object] = {"error": str(error), "ms": now_ms - since_ms}
            return Why(Cause.NO_BROKER, f"no broker answers: {error}", data)
        if self._heard_ms is not None or self._view.is_known:
            return None
        for send, (_, sent_ms) in self._out.items():
            waited_ms = now_ms - sent_ms
            if send.answer_ms is not None and waited_ms >= send.answer_ms:
                text = f"no broker has answered for {waited_ms / 1000:.1f} s"
                return Why(Cause.NO_BROKER, text, {"ms": waited_ms})
        return None

    def name_of(self, node: BrokerId) -> str:
        """A broker in a sentence: its id, and its address where that is known."""
        known = self._view.nodes.get(node)
        return f"{node}" if known is None else f"{node} at {known}"
