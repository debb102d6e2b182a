"""What all consumer groups of a broker share: topics, settings, assignors."""

from odradek.base.settings import BrokerSettings, GroupBounds, GroupConfig
from odradek.coordinator.classic.terms import Terms
from odradek.coordinator.consumer.expression_lookup import ExpressionLookup
from odradek.coordinator.consumer.topics import Topics


class GroupSurroundings:
    """The shared objects of all consumer groups of a broker."""

    __slots__ = ("_bounds", "_bounds_of", "expressions", "terms", "topics")

    def __init__(self, terms: Terms, topics: Topics, expressions: ExpressionLookup) -> None:
        self.terms = terms
        self.topics = topics
        """The cluster's topics."""
        self.expressions = expressions
        # The result of `_bounds_of`; computed again when the settings change.
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
        """A group's settings: the session timeout and the heartbeat interval."""
        return self.group_bounds.config(self.terms.group_overrides(group_id))

    @property
    def assignors(self) -> tuple[str, ...]:
        """The assignors that members may ask for, the default first."""
        return self.terms.settings.group_consumer_assignors
