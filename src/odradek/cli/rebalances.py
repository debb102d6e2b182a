"""Says what `odradek consume --group --verbose` has of its group's partitions.

group tower (classic protocol, range, generation 2): this member has flights 0-1; gave back flights 2
group tower is rebalancing: gave back flights 0-1
group tower no longer has this member, which joins again: lost flights 0-1
"""

from collections.abc import Collection

from odradek.base.ids import TopicPartition
from odradek.client.aio.rebalance_listener import RebalanceListener
from odradek.client.core.membership.member import CLASSIC, Membership
from odradek.client.group_description import in_ranges


class Rebalances(RebalanceListener):
    """Gathers what a poll tells, which `sentences` puts into words."""

    def __init__(self, group: str) -> None:
        self._group = group
        self._got: set[TopicPartition] = set()
        self._gave_back: set[TopicPartition] = set()
        self._lost: set[TopicPartition] = set()
        # Whether the group has given partitions, or none, since the last sentences.
        self._is_assigned = False

    @property
    def has_news(self) -> bool:
        """Whether anything has changed since the last sentences."""
        return self._is_assigned or bool(self._gave_back or self._lost)

    def on_partitions_assigned(self, partitions: frozenset[TopicPartition]) -> None:
        """See `RebalanceListener`."""
        self._got |= partitions
        self._is_assigned = True

    def on_partitions_revoked(self, partitions: frozenset[TopicPartition]) -> None:
        """See `RebalanceListener`."""
        self._gave_back |= partitions

    def on_partitions_lost(self, partitions: frozenset[TopicPartition]) -> None:
        """See `RebalanceListener`."""
        self._lost |= partitions

    def sentences(self, membership: Membership | None, assigned: Collection[TopicPartition]) -> list[str]:
        """What has changed since the last call; `assigned` are the member's partitions now."""
        said = []
        if self._lost:
            said.append(
                f" no longer has this member, which joins again: lost {in_ranges(sorted(self._lost))}"
            )
        if self._is_assigned or (self._gave_back and assigned):
            said.append(self._has(membership, assigned))
        elif self._gave_back:
            said.append(f" is rebalancing: gave back {in_ranges(sorted(self._gave_back))}")
        for changed in (self._got, self._gave_back, self._lost):
            changed.clear()
        self._is_assigned = False
        return [f"group {self._group}{one}" for one in said]

    def _has(self, membership: Membership | None, assigned: Collection[TopicPartition]) -> str:
        has = f"this member has {in_ranges(sorted(assigned)) if assigned else 'no partitions'}"
        changes = [f"got {in_ranges(sorted(self._got))}"] if self._got else []
        changes += [f"gave back {in_ranges(sorted(self._gave_back))}"] if self._gave_back else []
        spoken = ""
        if membership is not None:
            protocol = ", ".join(filter(None, (f"{membership.protocol} protocol", membership.strategy)))
            counted = "generation" if membership.protocol == CLASSIC else "epoch"
            spoken = f" ({protocol}, {counted} {membership.epoch})"
        return f"{spoken}: {'; '.join([has, *changes])}"
