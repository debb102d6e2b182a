"""What must happen after a step of a consumer group, once the log has its changes.

Values that are carried out in order. An answer leaves when all that was appended by then is replicated (R19).
"""

from typing import TypeAlias

from odradek.base.values import value
from odradek.coordinator.classic.classic_membership import GroupSnapshot
from odradek.coordinator.consumer.member import Share
from odradek.coordinator.runtime.answers import AnyHeldAnswer


@value
class StartSession:
    """A member sent a request: its next one must come within this time."""

    member_id: str
    timeout_ms: int


@value
class AwaitRevocation:
    """A member must revoke partitions: at the deadline its share must differ from this one."""

    member_id: str
    share: Share
    timeout_ms: int


@value
class AwaitRejoin:
    """A member of the classic protocol was asked to join again."""

    member_id: str
    timeout_ms: int


@value
class AwaitSync:
    """A member of the classic protocol has joined: it must send a SyncGroup."""

    member_id: str
    timeout_ms: int


@value
class Rejoined:
    """A member of the classic protocol has joined again."""

    member_id: str


@value
class Synced:
    """A member of the classic protocol has sent its SyncGroup."""

    member_id: str


@value
class EndClassic:
    """The members of a classic group have become members of this one. The first effect of a step."""


@value
class BecomeClassic:
    """Only members of the classic protocol remain: the group becomes a classic one again."""

    snapshot: GroupSnapshot


ConsumerEffect: TypeAlias = (
    AnyHeldAnswer
    | StartSession
    | AwaitRevocation
    | AwaitRejoin
    | AwaitSync
    | Rejoined
    | Synced
    | EndClassic
    | BecomeClassic
)
ConsumerEffects: TypeAlias = list[ConsumerEffect]
