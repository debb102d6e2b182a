"""A group as it will be when the log has the changes of a step.

Invariant: a draft never changes the group itself; only its own step sees it. A step without changes copies
nothing.
"""

from collections.abc import Iterable
from typing import Final

from odradek.base.execution import Pace
from odradek.base.ids import NO_OFFSET
from odradek.coordinator.consumer.changes import GroupChange
from odradek.coordinator.consumer.consumer_membership import ConsumerMembership

ITEMS_PER_STEP: Final = 256
"""Topics, of a few microseconds each: work on fewer makes no step at all."""


class Draft:
    """The changes of one request or deadline, and the group with them."""

    __slots__ = (
        "_base",
        "_is_forked",
        "_topics_changed",
        "after",
        "before",
        "changes",
        "encoded",
        "first_epoch",
        "group",
        "has_looked",
        "log_offset",
        "pace",
        "topics_version",
    )

    def __init__(
        self, group: ConsumerMembership, topics_version: int = 0, *, topics_changed: bool = False
    ) -> None:
        self._base = group
        self.group = group
        """The group, for reading; a fork as soon as there are changes."""
        self.topics_version = topics_version
        """The version of the cluster's topics that the draft is made with."""
        self._topics_changed = topics_changed
        self.has_looked = False
        """Whether the step called `topics_changed`, and so saw the topics."""
        self.first_epoch = group.epoch
        """The group's epoch before this step."""
        self._is_forked = False
        self.changes: list[GroupChange] = []
        """What is to be written, in order."""
        self.encoded: list[tuple[bytes, bytes | None]] = []
        """The records of the first of `changes`, made ahead of the append."""
        self.before: list[tuple[bytes, bytes | None]] = []
        """Records of other kinds that are to be written in the same batch, before the changes."""
        self.after: list[tuple[bytes, bytes | None]] = []
        """Records of other kinds in the same batch, after the changes."""
        self.log_offset = NO_OFFSET
        """The offset of the first record in the log; -1 before the append."""
        self.pace = Pace(ITEMS_PER_STEP)
        """Divides the work on the draft into steps."""

    @property
    def topics_changed(self) -> bool:
        """Whether topics that the group may read have changed since a step last saw them."""
        self.has_looked = True
        return self._topics_changed

    @property
    def is_hash_current(self) -> bool:
        """Whether the group's hash is of the topics that there are now; this does not count as a look."""
        return not self._topics_changed

    def put(self, change: GroupChange) -> None:
        """Apply one change."""
        if not self._is_forked:
            self.group, self._is_forked = self.group.fork(), True
        self.group.apply(change)
        self.changes.append(change)

    def is_of(self, group: ConsumerMembership) -> bool:
        """Whether the draft began with this group; else another step has changed the group since."""
        return self._base is group

    @property
    def is_blank(self) -> bool:
        """Whether nothing is to be written."""
        return not (self.before or self.changes or self.after)

    def put_all(self, changes: Iterable[GroupChange]) -> None:
        """Apply several changes, in order."""
        for change in list(changes):
            self.put(change)
