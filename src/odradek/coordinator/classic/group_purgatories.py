"""Where groups wait: one purgatory of each kind for a broker (D9)."""

from dataclasses import dataclass

from odradek.coordinator.classic.delayed_heartbeat import MemberKey
from odradek.timer import Purgatory


@dataclass(frozen=True, slots=True)
class GroupPurgatories:
    """The purgatories of one broker's groups."""

    joins: Purgatory[str]
    syncs: Purgatory[str]
    heartbeats: Purgatory[MemberKey]
    members: Purgatory[MemberKey]
    """Members of consumer groups that must revoke partitions, join again or sync."""

    def all(self) -> tuple[Purgatory[str], Purgatory[str], Purgatory[MemberKey], Purgatory[MemberKey]]:
        """For metrics and listings."""
        return self.joins, self.syncs, self.heartbeats, self.members
