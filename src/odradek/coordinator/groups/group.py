"""One group: its members, under whichever protocol they speak, and its offsets."""

from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.coordinator.classic import ClassicMembership, ClassicProtocol, GroupState
from odradek.coordinator.classic.classic_membership import CONSUMER_PROTOCOL_TYPE
from odradek.coordinator.consumer.consumer_protocol import ConsumerProtocol
from odradek.coordinator.groups.offsets import GroupOffsets

CLASSIC_TYPE: Final = "classic"
CONSUMER_TYPE: Final = "consumer"


class Group:
    """A group of one partition of `__consumer_offsets`, which its shard holds."""

    __slots__ = ("classic", "consumer", "group_id", "is_stored", "offsets")

    def __init__(self, group_id: str, classic: ClassicProtocol, offsets: GroupOffsets) -> None:
        self.group_id = group_id
        self.classic = classic
        """Its classic members, unless `consumer` has members; a group that only commits offsets has none."""
        self.consumer: ConsumerProtocol | None = None
        """Its members while it is a group of the consumer protocol (KIP-848); else None."""
        self.offsets = offsets
        self.is_stored = False
        """Whether the log holds a record of its classic members, for which a deletion writes a tombstone."""

    @property
    def membership(self) -> ClassicMembership:
        """The state of its classic members."""
        return self.classic.membership

    @property
    def kind(self) -> str:
        """The members' protocol: `classic` or `consumer`, as ListGroups names them (KIP-848)."""
        return CLASSIC_TYPE if self.consumer is None else CONSUMER_TYPE

    @property
    def state(self) -> str:
        """The group's state, by Kafka's name."""
        if self.consumer is not None:
            return self.consumer.membership.state.value
        return self.membership.state.value

    @property
    def protocol_type(self) -> str | None:
        """The protocol type of its members; None before the first one."""
        return self.membership.protocol_type if self.consumer is None else CONSUMER_PROTOCOL_TYPE

    @property
    def has_members(self) -> bool:
        """Whether there are members, or member ids that were handed out."""
        if self.consumer is not None:
            return bool(self.consumer.membership.members)
        return bool(self.membership.members or self.membership.pending_members)

    @property
    def is_empty(self) -> bool:
        """Whether there are no members, and no rebalance that may still show some."""
        if self.consumer is not None:
            return not self.has_members
        return self.membership.state is GroupState.EMPTY

    @property
    def is_forgettable(self) -> bool:
        """Whether it has neither records in the log nor members."""
        is_stored = self.is_stored or (self.consumer is not None and self.consumer.membership.is_stored)
        return self.offsets.is_empty and not is_stored and not self.has_members

    def subscribed_topics(self) -> frozenset[str] | None:
        """The topics that members read; None when they do not say."""
        if self.consumer is not None:
            return self.consumer.membership.subscribed_topics()
        return self.membership.subscribed_topics()

    def resume(self) -> None:
        """It was loaded: its members' sessions begin."""
        if self.consumer is not None:
            self.consumer.resume()
        elif self.has_members:
            self.classic.resume()

    def close(self, code: ErrorCode) -> None:
        """End; requests that wait are answered `code`."""
        if self.consumer is not None:
            self.consumer.close()
        self.classic.close(code)
