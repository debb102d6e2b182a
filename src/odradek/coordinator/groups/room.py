"""The bounds on a broker's groups and members."""

from collections.abc import Mapping

from odradek.coordinator.classic import Terms
from odradek.coordinator.classic.group_purgatories import GroupPurgatories
from odradek.coordinator.groups.shard import Shard
from odradek.coordinator.runtime.bounds import Bound


class Room:
    """The bounds of one broker's groups."""

    __slots__ = ("_groups", "_members", "_purgatories", "_shards")

    def __init__(self, terms: Terms, purgatories: GroupPurgatories, shards: Mapping[int, Shard]) -> None:
        """`shards` are the partitions led here."""
        self._purgatories = purgatories
        self._shards = shards
        self._groups = Bound(
            "odradek.groups.max", "groups", lambda: terms.settings.odradek_groups_max, terms.clock
        )
        self._members = Bound(
            "odradek.group.members.max",
            "members of groups",
            lambda: terms.settings.odradek_group_members_max,
            terms.clock,
        )

    def refusal(self, shard: Shard, group_id: str, *, is_newcomer: bool = False) -> str | None:
        """Why the broker accepts no new group or no further member, as a sentence; None if it does."""
        if group_id not in shard.groups:
            words = self._groups.refusal(sum(len(one.groups) for one in self._shards.values()), group_id)
            if words is not None:
                return words
        # Every member, and every id that was handed out, has one session that is watched.
        return self._members.refusal(self._purgatories.heartbeats.delayed) if is_newcomer else None
