"""What a consumer group is given by its surroundings."""

from dataclasses import dataclass

from odradek.base.settings import GroupBounds, GroupConfig
from odradek.coordinator.classic.terms import Terms
from odradek.coordinator.consumer.expression_lookup import ExpressionLookup
from odradek.coordinator.consumer.topics import Topics


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The same for all groups of a broker."""

    terms: Terms
    topics: Topics
    expressions: ExpressionLookup
    group_bounds: GroupBounds

    def config(self, group_id: str) -> GroupConfig:
        """What is set for a group: how long its members may be silent, how often they send heartbeats."""
        return self.group_bounds.config(self.terms.group_overrides(group_id))

    @property
    def assignors(self) -> tuple[str, ...]:
        """Those that members may ask for, the default first."""
        return self.terms.settings.group_consumer_assignors
