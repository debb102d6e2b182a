"""What a consumer group is given by its surroundings."""

from dataclasses import dataclass

from odradek.coordinator.classic.terms import Terms
from odradek.coordinator.consumer.expression_lookup import ExpressionLookup
from odradek.coordinator.consumer.topics import Topics


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The same for all groups of a broker."""

    terms: Terms
    topics: Topics
    expressions: ExpressionLookup

    @property
    def session_timeout_ms(self) -> int:
        """How long a member may be silent."""
        settings = self.terms.settings
        least = settings.group_consumer_min_session_timeout_ms
        most = settings.group_consumer_max_session_timeout_ms
        return max(least, min(settings.group_consumer_session_timeout_ms, most))

    @property
    def heartbeat_interval_ms(self) -> int:
        """How often members are to send heartbeats."""
        settings = self.terms.settings
        least = settings.group_consumer_min_heartbeat_interval_ms
        most = settings.group_consumer_max_heartbeat_interval_ms
        return max(least, min(settings.group_consumer_heartbeat_interval_ms, most))

    @property
    def assignors(self) -> tuple[str, ...]:
        """Those that members may ask for, the default first."""
        return self.terms.settings.group_consumer_assignors
