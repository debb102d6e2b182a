"""What a core sends, where to, and what became of it.

A core is a state machine without I/O. It gets calls of the application, outcomes and times; what it wants
sent it returns from `due`. Each `Send` has exactly one outcome, in an event of its own: a response, or an
error that says why there is none.

    core.due(1_000)              [Send(ToNode(1), FetchRequest(...), tag=...)]
    core.outcome(outcome, 1_020) outcome.send is the one above
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, Protocol, TypeAlias, TypeVar

from odradek.base.errors import ApiError
from odradek.base.ids import BrokerId
from odradek.wire.message import Message
from odradek.wire.versions import VERSION_LIMIT

REQUEST_TIMEOUT_MS: Final = 30_000
ANSWER_MS: Final = 500
"""A request that a broker need not hold back is answered in less time, or a client says that it waits."""

R = TypeVar("R", bound=Message)


class CoordinatorKind(IntEnum):
    """What a coordinator coordinates, as FindCoordinator's key_type numbers it."""

    GROUP = 0
    TRANSACTION = 1


@dataclass(frozen=True, slots=True)
class ToNode:
    """The broker with this id."""

    node: BrokerId


@dataclass(frozen=True, slots=True)
class ToAny:
    """Any broker."""


@dataclass(frozen=True, slots=True)
class ToCoordinator:
    """The coordinator of a group or of a transactional id."""

    key: str
    kind: CoordinatorKind = CoordinatorKind.GROUP


@dataclass(frozen=True, slots=True)
class ToController:
    """The active controller."""


Destination: TypeAlias = ToNode | ToAny | ToCoordinator | ToController


@dataclass(frozen=True, slots=True, eq=False)
class Send:
    """One request to send; compared by identity."""

    to: Destination
    request: Message
    tag: object = None
    """The core's own note about the request; nobody else reads it."""
    timeout_ms: int = REQUEST_TIMEOUT_MS
    """How long it may take in all: finding the broker, connecting, and the answer."""
    highest: int = VERSION_LIMIT
    """The highest version in which the core can read the answer."""
    lowest: int = 0
    """The lowest version in which the request says all that it is to say."""
    answer_ms: int | None = ANSWER_MS
    """How long the answer may rightly take, for `Answers`; None: as long as others take."""
    is_answered: bool = True
    """False for a produce with acks=0: its outcome, without a response, comes when it was written."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one request: `response` or `error`, and neither where the broker does not answer."""

    send: Send
    response: Message | None = None
    error: ApiError | None = None
    """NotConnected: the broker has got nothing; another ConnectionFailed: it may have carried it out."""
    version: int = -1
    """The version in which it was sent; -1 if it was not."""
    node: BrokerId = -1
    """The broker that it was sent to; -1 for none, or one known only by its address."""

    def answer(self, kind: type[R]) -> R:
        """The response, of this type. Raises the error if there is none."""
        if self.error is not None:
            raise self.error
        assert isinstance(self.response, kind), f"{self.response} is no {kind.__name__}"
        return self.response


class Core(Protocol):
    """What the driver of a client needs of its core."""

    def due(self, now_ms: int) -> Sequence[Send]:
        """What to send now; each request is returned once."""

    def outcome(self, outcome: Outcome, now_ms: int) -> None:
        """Process what became of a request that `due` returned."""

    def next_deadline_ms(self) -> int | None:
        """When `due` must be called next even if nothing happens; None for no time."""


def earliest(*deadlines: int | None) -> int | None:
    """The first of some deadlines, None among them standing for no time."""
    return min((one for one in deadlines if one is not None), default=None)
