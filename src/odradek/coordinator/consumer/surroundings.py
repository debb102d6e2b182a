"""What a consumer group is given by its surroundings."""

from odradek.base.settings import BrokerSettings, GroupBounds, GroupConfig
from odradek.coordinator.classic.terms import Terms
from odradek.coordinator.consumer.expression_lookup import ExpressionLookup
from odradek.coordinator.consumer.topics import Topics


class GroupSurroundings:
    """The same for all groups of a broker."""

    __slots__ = ("_bounds", "_bounds_of", "expressions", "terms", "topics")

    def __init__(self, terms: Terms, topics: Topics, expressions: ExpressionLookup) -> None:
        self.terms = terms
        self.topics = topics
        """Those that there are."""
        self.expressions = expressions
        # What `_bounds_of` says; made again when other settings are in force.
        self._bounds_of: BrokerSettings = terms.settings
        self._bounds = GroupBounds.of(self._bounds_of)

    @property
    def group_bounds(self) -> GroupBounds:
        """The bounds of group settings, and their defaults, as they are in force now."""
        settings = self.terms.settings
        if settings is not self._bounds_of:
            self._bounds_of, self._bounds = settings, GroupBounds.of(settings)
        return self._bounds

    def config(self, group_id: str) -> GroupConfig:
        """What is set for a group: how long its members may be silent, how often they send heartbeats."""
        return self.group_bounds.config(self.terms.group_overrides(group_id))

    @property
    def assignors(self) -> tuple[str, ...]:
        """Those that members may ask for, the default first."""
        return self.terms.settings.group_consumer_assignors
