"""What a transaction must know of the consumer whose offsets it commits (KIP-447).

Invariant: with it, the group's coordinator refuses the commit of a member that has lost its partitions.
"""

from odradek.base.values import value


@value
class GroupMetadata:
    """A group and, unless its consumers assign partitions themselves, the member that reads."""

    group_id: str
    generation_id: int = -1
    """The generation, or the member's epoch in the protocol of KIP-848; -1 without a member."""
    member_id: str = ""
    group_instance_id: str | None = None
