"""The application's side of a membership, as `ConsumerCore` carries it out: step by step."""

from odradek.base.ids import TopicPartition
from odradek.client.core.membership.member import Member


class Application:
    """What the application was told to have."""

    def __init__(self, member: Member) -> None:
        self.has: frozenset[TopicPartition] = frozenset()
        self._member = member

    def step(self) -> bool:
        """Carry out one change of the target, if there is one; returns whether there was."""
        target = self._member.target()
        if target is None:
            return False
        if target.is_lost:
            self.has = frozenset()
        elif gone := self.has - target.partitions:
            self.has -= gone
            if target.partitions - self.has:
                return True  # what is new comes in a step of its own
        else:
            self.has |= target.partitions
        self._member.has_now(self.has)
        return True
