"""Which broker a request goes to: the coordinator of a key, the controller, a node, or any broker.

    routing.place(Send(ToCoordinator("g1"), ...), now)   held; due: FindCoordinator g1
    outcome(FindCoordinator: node 2)                     ready(): [(send, 2)]
    refused(send, NOT_COORDINATOR)                       the next one finds the coordinator again

A request waits here while its broker is not known, at most for its own timeout, and then fails with what kept
it. Invariant: each placed request is returned once, by `ready` or by `failed`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from odradek.base.chance import Chance
from odradek.base.error_codes import ErrorCode, known_code
from odradek.base.errors import ApiError
from odradek.base.ids import NO_BROKER, BrokerId
from odradek.client.core.answers import Answers
from odradek.client.core.backoff import Backoff
from odradek.client.core.cluster_view import BACKOFF_MAX_MS, BACKOFF_MS, ClusterView
from odradek.client.core.requests import (
    Outcome,
    Send,
    ToAny,
    ToController,
    ToCoordinator,
    ToNode,
    earliest,
)
from odradek.client.core.waiting import Cause, Why
from odradek.client.refusal import name_of
from odradek.net.request_pipeline import ConnectionFailed
from odradek.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse

ANY: Final = None
"""As a place: any broker will do."""

COORDINATOR_MOVED: Final = frozenset({ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE})
"""What a broker answers that is not the coordinator, or not any more."""


@dataclass(slots=True)
class _Coordinator:
    """What is known about the coordinator of one key."""

    node: BrokerId = NO_BROKER
    """NO_BROKER while it is not known."""
    as_of: int = -1
    """The version of the view when it was found: a later one that lacks it says that it has left."""
    search: Send | None = None
    """The FindCoordinator under way."""
    not_before_ms: int = 0
    """When it may be looked for again."""
    failures: int = 0
    """How many searches in a row found none."""
    since_ms: int | None = None
    """Since when it is looked for, or does not answer; None while it answers."""
    refusal: ErrorCode = ErrorCode.NONE
    """What the broker that was found answered last, where that says that it is not the coordinator."""
    before_ms: int | None = None
    """What `since_ms` was before the last answer, which may have been such a refusal."""
    is_refused: bool = False
    """Whether a search was refused for good, and those that waited for it do not know yet."""
    error: ApiError = field(default_factory=lambda: ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE))
    """What the last search said."""


class Routing:
    """See the module; it reads the view and asks it to refresh."""

    def __init__(
        self,
        view: ClusterView,
        chance: Chance,
        *,
        backoff_ms: int = BACKOFF_MS,
        backoff_max_ms: int = BACKOFF_MAX_MS,
    ) -> None:
        self._view = view
        self.answers = Answers(view)
        """Which brokers answer."""
        self._backoff = Backoff(backoff_ms, backoff_max_ms, chance)
        self._coordinators: dict[ToCoordinator, _Coordinator] = {}
        # The requests whose broker is not known, with the times at which they fail, the oldest first.
        self._held: list[tuple[Send, int]] = []

    def place(self, send: Send, now_ms: int) -> None:
        """Take over a request; `ready` returns it when its broker is known."""
        if isinstance(send.to, ToCoordinator) and send.to not in self._coordinators:
            self._coordinators[send.to] = _Coordinator(since_ms=now_ms)
        self._held.append((send, now_ms + send.timeout_ms))

    def ready(self, now_ms: int) -> list[tuple[Send, BrokerId | None, int]]:
        """(request, broker or ANY, ms left) of those whose broker is known; they are held no longer."""
        found: list[tuple[Send, BrokerId | None, int]] = []
        still: list[tuple[Send, int]] = []
        for send, deadline_ms in self._held:
            node = self._node_of(send, now_ms)
            if node == NO_BROKER or now_ms >= deadline_ms:
                still.append((send, deadline_ms))
            else:
                found.append((send, node, deadline_ms - now_ms))
                self.answers.sent(send, node, now_ms)
        self._held = still
        return found

    def failed(self, now_ms: int) -> list[Outcome]:
        """The outcomes of held requests that will not be sent: too late, or to a broker that is unknown."""
        outcomes = []
        still = []
        for send, deadline_ms in self._held:
            if now_ms >= deadline_ms or self._is_hopeless(send):
                if isinstance(send.to, ToNode):  # it may have joined since
                    self._view.refresh_soon(now_ms)
                outcomes.append(Outcome(send, error=self._reason(send, now_ms)))
            else:
                still.append((send, deadline_ms))
        self._held = still
        for known in self._coordinators.values():
            known.is_refused = False  # the next request looks again: what was forbidden may be allowed since
        return outcomes

    def finished(self, outcome: Outcome, now_ms: int) -> int | None:
        """A request has its outcome, which nobody else has yet; see `Answers.finished`."""
        if isinstance(outcome.send.to, ToCoordinator) and outcome.response is not None:
            known = self._coordinators[outcome.send.to]
            known.before_ms, known.since_ms, known.refusal = known.since_ms, None, ErrorCode.NONE
        return self.answers.finished(outcome, now_ms)

    def refused(self, send: Send, code: ErrorCode) -> None:
        """A broker answered with this code, or the connection to it failed: it may be the wrong one."""
        if isinstance(send.to, ToCoordinator):
            known = self._coordinators.get(send.to)
            is_wrong = code in COORDINATOR_MOVED or code is ErrorCode.NETWORK_EXCEPTION
            if known is not None and is_wrong:
                known.node = NO_BROKER
                if code in COORDINATOR_MOVED:
                    known.refusal, known.since_ms = code, known.before_ms
        elif isinstance(send.to, ToController) and code is ErrorCode.NOT_CONTROLLER:
            self._view.refresh_soon(0)

    def node_of_coordinator(self, to: ToCoordinator) -> BrokerId:
        """The coordinator's id; NO_BROKER while it is not known."""
        known = self._coordinators.get(to)
        return NO_BROKER if known is None else known.node

    def was_found(self, to: ToCoordinator) -> bool:
        """Whether this coordinator was ever found: before that no broker has got a request for it."""
        known = self._coordinators.get(to)
        return known is not None and known.as_of >= 0

    def why(self, now_ms: int) -> list[Why]:
        """The causes that lie here: no broker answers, brokers refuse the client, a coordinator does not
        answer, or the controller is not known."""
        causes = []
        refusal = self._view.refusal
        if refusal is not None:
            text = f"the brokers refuse this client: {refusal}"
            causes.append(Why(Cause.REFUSED, text, {"code": refusal.code.name, "error": str(refusal)}))
        elif (nobody := self.answers.nobody(now_ms)) is not None:
            causes.append(nobody)
        for to, known in self._coordinators.items():
            cause = self._why_coordinator(to, known, now_ms)
            if cause is not None:
                causes.append(cause)
        if self._view.controller == NO_BROKER and any(
            isinstance(one.to, ToController) for one, _ in self._held
        ):
            causes.append(Why(Cause.NO_CONTROLLER, "the cluster has no controller"))
        return causes

    # --- the core's side

    def due(self, now_ms: int) -> Sequence[Send]:
        """See `Core`: the searches for coordinators that held requests need."""
        sends = []
        wanted = {send.to for send, _ in self._held if isinstance(send.to, ToCoordinator)}
        for to in sorted(wanted, key=lambda one: (one.kind, one.key)):
            known = self._coordinators[to]
            if known.node == NO_BROKER and known.search is None and now_ms >= known.not_before_ms:
                request = FindCoordinatorRequest(key=to.key, key_type=to.kind, coordinator_keys=[to.key])
                known.search = Send(ToAny(), request, tag=to)
                sends.append(known.search)
        return sends

    def outcome(self, outcome: Outcome, now_ms: int) -> None:
        """See `Core`."""
        to = outcome.send.tag
        assert isinstance(to, ToCoordinator)
        known = self._coordinators[to]
        known.search = None
        error = outcome.error
        if error is None:
            answer = outcome.answer(FindCoordinatorResponse)
            # Up to version 3 the answer has one coordinator, in fields of its own.
            one = answer.coordinators[0] if answer.coordinators else answer
            code = known_code(one.error_code)
            if code is ErrorCode.NONE and one.node_id < 0:
                code = ErrorCode.COORDINATOR_NOT_AVAILABLE  # else it would be looked for again at once
            if code is ErrorCode.NONE:
                known.node, known.as_of = one.node_id, self._view.version
                if one.node_id in self._view.nodes:
                    known.failures = 0
                    return
                # If the next metadata does not have it either it is looked for again, but not at once.
                self._view.refresh_soon(now_ms)
                said = f"brokers name broker {one.node_id}, which the cluster does not have"
                error = ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE, said)
            else:
                error = ApiError(code, one.error_message or name_of(code))
        known.error, known.is_refused = error, not error.code.is_retriable
        known.not_before_ms = now_ms + self._backoff.after(known.failures)
        known.failures += 1

    def next_deadline_ms(self) -> int | None:
        """See `Core`."""
        waits = [
            known.not_before_ms
            for to, known in self._coordinators.items()
            if known.node == NO_BROKER
            and known.search is None
            and any(send.to == to for send, _ in self._held)
        ]
        return earliest(min(waits, default=None), min((at for _, at in self._held), default=None))

    # --- helpers

    def _why_coordinator(self, to: ToCoordinator, known: _Coordinator, now_ms: int) -> Why | None:
        name = f"{to.kind.name.lower()} {to.key}"
        waited_ms = 0 if known.since_ms is None else now_ms - known.since_ms
        data: dict[str, object] = {"key": to.key, "kind": to.kind.name, "ms": waited_ms}
        lasting = f"the coordinator of {name} has not been found for {waited_ms / 1000:.0f} s"
        if known.refusal is not ErrorCode.NONE:
            words = name_of(known.refusal)
            text = f"{lasting}: the broker that was named answers {words}"
            return Why(Cause.NO_COORDINATOR, text, {**data, "error": words, "code": known.refusal.name})
        if known.node == NO_BROKER or known.node not in self._view.nodes:
            more = f": {known.error}" if known.failures else ""
            data |= {"error": str(known.error), "code": known.error.code.name}
            return Why(Cause.NO_COORDINATOR, f"{lasting}{more}", data)
        away = self.answers.unreachable(known.node, now_ms)
        if away is not None:
            text = f"{away}; it is the coordinator of {name}"
            return Why(Cause.NO_COORDINATOR, text, {**data, "error": away.data["error"], "node": known.node})
        late = self.answers.overdue(to, now_ms)
        return (
            None
            if late is None
            else Why(late.cause, f"{late}; it is the coordinator of {name}", {**late.data, "key": to.key})
        )

    def _node_of(self, send: Send, now_ms: int) -> BrokerId | None:
        match send.to:
            case ToAny():
                return ANY
            case ToNode(node):
                return node if node in self._view.nodes else NO_BROKER
            case ToController():
                node = self._view.controller
            case ToCoordinator():
                known = self._coordinators[send.to]
                if known.node not in self._view.nodes and self._view.version > known.as_of:
                    known.node = NO_BROKER
                node = known.node
                if node == NO_BROKER and known.since_ms is None:
                    known.since_ms = now_ms
        if node not in self._view.nodes:
            self._view.refresh_soon(now_ms)
            return NO_BROKER
        return node

    def _is_hopeless(self, send: Send) -> bool:
        """Whether waiting is no use: the cluster has no such node, or a search or the client is refused."""
        if isinstance(send.to, ToNode):
            return self._view.is_known and send.to.node not in self._view.nodes
        if isinstance(send.to, ToCoordinator):
            return self._coordinators[send.to].is_refused
        if isinstance(send.to, ToController):
            return self._view.refusal is not None
        return False

    def _reason(self, send: Send, now_ms: int) -> ApiError:
        match send.to:
            case ToCoordinator():
                return self._not_found(send.to, now_ms)
            case ToNode(node):
                return ApiError(ErrorCode.BROKER_NOT_AVAILABLE, f"the cluster has no broker {node}")
            case _:
                if self._view.refusal is not None:
                    return self._view.refusal
                error = self._view.last_error
                said = "no broker was found in time" if error is None else str(error)
                return ApiError(ErrorCode.REQUEST_TIMED_OUT, said)

    def _not_found(self, to: ToCoordinator, now_ms: int) -> ApiError:
        """Why the coordinator of this key is not known."""
        known = self._coordinators[to]
        said = f"the coordinator of {to.kind.name.lower()} {to.key} was not found in time"
        if not known.failures:  # no search was answered since it was last known
            late = self.answers.overdue(ToAny(), now_ms)
            kept = late or self._view.last_error or "no broker has answered"
            return ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE, f"{said}: {kept}")
        if known.is_refused or isinstance(known.error, ConnectionFailed):
            return known.error
        return ApiError(known.error.code, f"{said}: {known.error}")
