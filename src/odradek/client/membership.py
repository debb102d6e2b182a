"""What a reader's membership in a group does, whichever of the two protocols it speaks."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from odradek.base.ids import TopicPartition
from odradek.client.group_admin import GroupAdmin

REBALANCE_TIMEOUT_MS = 60_000
RETRY_S = 0.2


@dataclass(frozen=True, slots=True)
class Beat:
    """What one exchange with the coordinator led to."""

    next_s: float = 0.0
    """In how many seconds the next exchange is due."""
    assigned: frozenset[TopicPartition] | None = None
    """All partitions that the member has from now on; None where nothing changed."""
    is_rebalancing: bool = False
    """Whether all partitions are to be committed and given back before the next exchange."""
    is_lost: bool = False
    """Whether the coordinator has given the partitions to others: they cannot be committed any more."""


class Membership(Protocol):
    """One member of one group. Raises ApiError when the group refuses it, ConnectionFailed."""

    protocol: str
    """CLASSIC or CONSUMER."""
    assignor: str
    """Who shares out the partitions: a strategy of the members; empty where the broker does it."""
    member: str
    """The member's id; empty before the first exchange of a classic one."""
    epoch: int
    """The member's epoch, or the generation of a classic group; what commits carry."""

    @property
    def is_joined(self) -> bool:
        """Whether the coordinator has the member."""

    def beat(self, admin: GroupAdmin, owned: Sequence[TopicPartition]) -> Beat:
        """Join, or say that the member, which has `owned`, is alive."""

    def leave(self, admin: GroupAdmin) -> None:
        """Leave the group, also where joining it is under way."""
