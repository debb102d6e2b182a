"""What the operations of a client wait for, for its `why`."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from odradek.base.ids import NO_BROKER, BrokerId
from odradek.client.core.cluster_view import ClusterView
from odradek.client.core.operation import Pause
from odradek.client.core.requests import Send, ToController, ToNode
from odradek.client.core.routing import Routing
from odradek.client.core.waiting import Cause, Why

_RANKS: Final = {
    cause: rank
    for rank, cause in enumerate(
        (
            Cause.REFUSED,
            Cause.NO_BROKER,
            Cause.NO_CONTROLLER,
            Cause.NO_COORDINATOR,
            Cause.NO_CONNECTION,
            Cause.RETRY,
            Cause.REQUEST,
        )
    )
}


@dataclass(slots=True, eq=False)
class UnderWay:
    """One operation that has not ended."""

    name: str
    """That of its method."""
    since_ms: int
    sends: Sequence[Send] = field(default=())
    """The requests that it waits for; none while it pauses."""
    pause: Pause | None = None
    """Its latest pause, until a request is answered; None if the latest request was."""


def why(operations: Sequence[UnderWay], view: ClusterView, routing: Routing, now_ms: int) -> list[Why]:
    """What keeps operations from ending, the worst cause first; empty without any."""
    if not operations:
        return []
    causes = [*routing.why(now_ms), *(why_one(one, view, routing, now_ms) for one in operations)]
    return sorted(causes, key=lambda one: _RANKS.get(one.cause, len(_RANKS)))


def why_one(one: UnderWay, view: ClusterView, routing: Routing, now_ms: int) -> Why:
    """What one operation waits for, apart from what keeps all requests."""
    data: dict[str, object] = {"operation": one.name, "ms": now_ms - one.since_ms}
    for send in one.sends:
        node = _node(send, view)
        away = None if node == NO_BROKER else routing.answers.unreachable(node, now_ms)
        late = away or routing.answers.overdue(send.to, now_ms)
        if late is not None:
            return Why(late.cause, f"{late}; {one.name} waits for it", {**late.data, "operation": one.name})
    if one.pause is not None:
        error = one.pause.error
        said = f"{one.name} has been refused for {(now_ms - one.since_ms) / 1000:.0f} s: {error}"
        return Why(Cause.RETRY, said, {**data, "code": error.code.name})
    return Why(Cause.REQUEST, f"{one.name} waits for an answer", data)


def _node(send: Send, view: ClusterView) -> BrokerId:
    """The broker that a request is for, if that is known without the routing."""
    match send.to:
        case ToNode(node):
            return node
        case ToController():
            return view.controller
        case _:
            return NO_BROKER
