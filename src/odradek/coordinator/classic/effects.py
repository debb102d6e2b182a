"""What must happen after a step of a group: values that its coordinator carries out, in order.

Law: a step changes the group and returns these; nothing is answered and nothing written while the group is
half-changed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from odradek.base.error_codes import ErrorCode
from odradek.coordinator.classic.group import GroupSnapshot


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer a request, parked or not."""

    respond: Callable[[Any], None]
    response: Any


@dataclass(frozen=True, slots=True)
class StartSession:
    """A member was heard of: it has this long until it must be heard of again (G2)."""

    member_id: str
    timeout_ms: int


@dataclass(frozen=True, slots=True)
class StartPendingSession:
    """A member id was handed out: it must be used within this time."""

    member_id: str
    timeout_ms: int


@dataclass(frozen=True, slots=True)
class AwaitJoins:
    """Members are to join: wait for them (G1)."""

    # Whether the group had no members: then others are given time to come too.
    is_first: bool


@dataclass(frozen=True, slots=True)
class AwaitSyncs:
    """Members are to sync: wait for them (G4)."""

    generation: int
    timeout_ms: int


@dataclass(frozen=True, slots=True)
class Persist:
    """Write the group as this snapshot shows it, and go on with `then` when it is known how that went."""

    snapshot: GroupSnapshot
    then: Callable[[ErrorCode], "Effects"]


Effect: TypeAlias = Answer | StartSession | StartPendingSession | AwaitJoins | AwaitSyncs | Persist
Effects: TypeAlias = list[Effect]
