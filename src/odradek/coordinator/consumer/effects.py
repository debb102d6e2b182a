"""What must happen after a step of a consumer group, once the log has its changes.

Law: values that the coordinator carries out, in order.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from odradek.coordinator.consumer.member import Share


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer a request."""

    respond: Callable[[Any], None]
    response: Any


@dataclass(frozen=True, slots=True)
class StartSession:
    """A member was heard of: it has this long until it must be heard of again."""

    member_id: str
    timeout_ms: int


@dataclass(frozen=True, slots=True)
class AwaitRevocation:
    """A member has to give partitions back: its share must be another than this one by then."""

    member_id: str
    share: Share
    timeout_ms: int


@dataclass(frozen=True, slots=True)
class AwaitRejoin:
    """A member of the classic protocol was told to join again."""

    member_id: str
    timeout_ms: int


@dataclass(frozen=True, slots=True)
class AwaitSync:
    """A member of the classic protocol has joined: it has to ask for its assignment."""

    member_id: str
    timeout_ms: int


@dataclass(frozen=True, slots=True)
class Rejoined:
    """A member of the classic protocol did join again."""

    member_id: str


@dataclass(frozen=True, slots=True)
class Synced:
    """A member of the classic protocol did ask for its assignment."""

    member_id: str


@dataclass(frozen=True, slots=True)
class BecomeClassic:
    """Only members of the classic protocol are left: the group is theirs again. The last effect of a step."""

    become: Callable[[], None]


Effect: TypeAlias = (
    Answer | StartSession | AwaitRevocation | AwaitRejoin | AwaitSync | Rejoined | Synced | BecomeClassic
)
Effects: TypeAlias = list[Effect]
