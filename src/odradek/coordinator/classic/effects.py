"""What must happen after a step of a classic group: values that are carried out in order.

A step changes the group and returns effects; nothing is answered or written before the change is complete.
An answer is sent when everything that was appended before it is replicated (R19).
"""

from collections.abc import Callable
from typing import TypeAlias

from odradek.base.error_codes import ErrorCode
from odradek.base.values import value
from odradek.coordinator.classic.classic_membership import GroupSnapshot
from odradek.coordinator.runtime.answers import AnyHeldAnswer


@value
class StartSession:
    """A member sent a request: its next one must come within this time (G2)."""

    member_id: str
    timeout_ms: int


@value
class StartPendingSession:
    """A member id was handed out: it must be used within this time."""

    member_id: str
    timeout_ms: int


@value
class AwaitJoins:
    """Members are to join: wait for them (G1)."""

    # Whether the group had no members: then the join phase waits for more members.
    is_first: bool


@value
class AwaitSyncs:
    """Members are to sync: wait for them (G4)."""

    generation: int
    timeout_ms: int


@value
class Persist:
    """Append the group as this snapshot shows it, then call `then` with the outcome."""

    snapshot: GroupSnapshot
    # Called at once with NONE, or with the members' error where the log refuses.
    then: Callable[[ErrorCode], "ClassicEffects"]


ClassicEffect: TypeAlias = (
    AnyHeldAnswer | StartSession | StartPendingSession | AwaitJoins | AwaitSyncs | Persist
)
ClassicEffects: TypeAlias = list[ClassicEffect]
