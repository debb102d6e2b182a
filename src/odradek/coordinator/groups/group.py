"""One group: its members, under whichever protocol they speak, and its offsets."""

from odradek.coordinator.classic import ClassicCoordinator, ClassicGroup
from odradek.coordinator.groups.offsets import GroupOffsets


class Group:
    """A group of one partition of `__consumer_offsets`, which its shard holds."""

    __slots__ = ("classic", "group_id", "is_stored", "offsets")

    def __init__(self, group_id: str, classic: ClassicCoordinator, offsets: GroupOffsets) -> None:
        self.group_id = group_id
        self.classic = classic
        """Its members; a group that only ever committed offsets has none."""
        self.offsets = offsets
        self.is_stored = False
        """Whether the log holds a record of its members, which a deletion has to take back."""

    @property
    def membership(self) -> ClassicGroup:
        """What is known of its members."""
        return self.classic.group

    @property
    def has_members(self) -> bool:
        """Whether anybody is, or is about to be, a member."""
        return bool(self.membership.members or self.membership.pending_members)
