"""A reader's membership in a group, in either protocol."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from odradek.base.ids import TopicPartition
from odradek.client.group_admin import GroupAdmin

REBALANCE_TIMEOUT_MS = 60_000
RETRY_S = 0.2


@dataclass(frozen=True, slots=True)
class Beat:
    """The outcome of one exchange with the coordinator."""

    next_s: float = 0.0
    """The seconds until the next exchange."""
    assigned: frozenset[TopicPartition] | None = None
    """All partitions of the member from now on; None if nothing changed."""
    is_rebalancing: bool = False
    """Whether the member must commit and revoke all partitions before the next exchange."""
    is_lost: bool = False
    """Whether the coordinator has given the partitions to others: they cannot be committed any more."""


class Membership(Protocol):
    """One member of one group. Raises ApiError when the group refuses it, ConnectionFailed."""

    protocol: str
    """CLASSIC or CONSUMER."""
    assignor: str
    """The members' assignment strategy; empty where the broker assigns."""
    member: str
    """The member's id; empty before the first exchange of a classic one."""
    epoch: int
    """The member's epoch, or the generation of a classic group; what commits carry."""

    @property
    def is_joined(self) -> bool:
        """Whether the member is in the group."""

    def beat(self, admin: GroupAdmin, owned: Sequence[TopicPartition]) -> Beat:
        """Join, or send a heartbeat; `owned` are the member's partitions."""

    def leave(self, admin: GroupAdmin) -> None:
        """Leave the group, also while a join is under way."""
