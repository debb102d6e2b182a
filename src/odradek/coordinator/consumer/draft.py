"""A group as it will be when the log has what a step wants to change.

Invariant: the group itself stays as it is; only the step that makes a draft sees it. A step that changes
nothing costs no copy.
"""

from collections.abc import Iterable

from odradek.base.ids import NO_OFFSET
from odradek.coordinator.consumer.changes import GroupChange
from odradek.coordinator.consumer.consumer_membership import ConsumerMembership


class Draft:
    """One step's changes, and the group with them."""

    __slots__ = (
        "_is_forked",
        "_topics_changed",
        "after",
        "before",
        "changes",
        "first_epoch",
        "group",
        "has_looked",
        "log_offset",
    )

    def __init__(self, group: ConsumerMembership, *, topics_changed: bool = False) -> None:
        self.group = group
        """Read it freely; it is a fork as soon as there are changes."""
        self._topics_changed = topics_changed
        self.has_looked = False
        """Whether the step asked for `topics_changed`, and so took note of the topics."""
        self.first_epoch = group.epoch
        """The group's epoch before this step."""
        self._is_forked = False
        self.changes: list[GroupChange] = []
        """What is to be written, in order."""
        self.before: list[tuple[bytes, bytes | None]] = []
        """Records of other kinds that are to be written in the same batch, before the changes."""
        self.after: list[tuple[bytes, bytes | None]] = []
        """And those that are to stand behind them."""
        self.log_offset = NO_OFFSET
        """Where the log has the first of them; -1 until it has."""

    @property
    def topics_changed(self) -> bool:
        """Whether topics that the group may read have changed since a step looked."""
        self.has_looked = True
        return self._topics_changed

    def put(self, change: GroupChange) -> None:
        """Let one change be."""
        if not self._is_forked:
            self.group, self._is_forked = self.group.fork(), True
        self.group.apply(change)
        self.changes.append(change)

    @property
    def is_blank(self) -> bool:
        """Whether nothing is to be written."""
        return not (self.before or self.changes or self.after)

    def put_all(self, changes: Iterable[GroupChange]) -> None:
        """Let several be, in order."""
        for change in list(changes):
            self.put(change)
