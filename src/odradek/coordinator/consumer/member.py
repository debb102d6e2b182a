"""One member of a consumer group, in the log and in memory: immutable values."""

from typing import Final, NamedTuple

from odradek.coordinator.assignors.model import Assignment
from odradek.coordinator.classic.member import Protocols
from odradek.coordinator.consumer.assignments import NOTHING, together
from odradek.coordinator.consumer.states import MemberState

JOINING_EPOCH: Final = 0
AWAY_EPOCH: Final = -2
"""The epoch of a static member that left for a while (KIP-345): its place is kept for a session timeout."""


class ClassicTerms(NamedTuple):
    """What a member that speaks the classic protocol sent when it joined; None for others."""

    session_timeout_ms: int
    protocols: Protocols
    """Its strategies with their metadata, the best first; never empty."""


class MemberMetadata(NamedTuple):
    """What a member sent about itself."""

    instance_id: str | None = None
    """`group.instance.id` of a static member (KIP-345); None for a dynamic one."""
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    topics: tuple[str, ...] = ()
    """The names that it subscribed to, sorted, whether there are such topics or not."""
    expression: str = ""
    """The regular expression that it subscribed with; empty for none."""
    rebalance_timeout_ms: int = -1
    """How long it may take to give partitions back."""
    assignor: str | None = None
    """The server-side assignor that it prefers."""
    classic: ClassicTerms | None = None


class Share(NamedTuple):
    """A member's partitions, and its progress towards its target."""

    epoch: int = JOINING_EPOCH
    """The epoch of the target assignment that it has reached; -2 for a static member that is away."""
    previous_epoch: int = JOINING_EPOCH
    """The epoch before: a member that missed the last answer still sends it."""
    state: MemberState = MemberState.STABLE
    assigned: Assignment = NOTHING
    """What it may read now."""
    revoking: Assignment = NOTHING
    """What it must revoke; empty except in UNREVOKED_PARTITIONS. Until then it counts as the owner."""
    earlier: tuple[tuple[int, Assignment], ...] = ()
    """The part of `assigned` that it has had since an earlier epoch, by that epoch; none twice (KIP-1251)."""

    def held_since(self, epoch: int) -> Assignment:
        """What it has had since that epoch, which is before its own, or longer."""
        held = NOTHING
        for since, parts in self.earlier:
            if since <= epoch:
                held = together(held, parts)
        return held


NO_SHARE: Final = Share()


class Member(NamedTuple):
    """A member."""

    member_id: str
    metadata: MemberMetadata
    share: Share = NO_SHARE

    @property
    def is_away(self) -> bool:
        """Whether it is a static member whose place is kept."""
        return self.share.epoch == AWAY_EPOCH

    def has_reached(self, epoch: int) -> bool:
        """Whether it has its whole target as of that epoch."""
        return self.share.epoch == epoch and self.share.state is MemberState.STABLE
