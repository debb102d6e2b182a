"""Settings that are valid one by one and contradict each other: Kafka refuses to start with them.

group.consumer.min.session.timeout.ms=60000
group.consumer.max.session.timeout.ms=45000      refused: nothing lies between them
"""

from odradek.base.settings.broker import BrokerSettings
from odradek.base.settings.definition import attribute_of

# Each pair: what must not be more than what.
_ORDERED = (
    ("group.min.session.timeout.ms", "group.max.session.timeout.ms"),
    ("group.consumer.min.heartbeat.interval.ms", "group.consumer.max.heartbeat.interval.ms"),
    ("group.consumer.min.heartbeat.interval.ms", "group.consumer.heartbeat.interval.ms"),
    ("group.consumer.heartbeat.interval.ms", "group.consumer.max.heartbeat.interval.ms"),
    ("group.consumer.min.session.timeout.ms", "group.consumer.max.session.timeout.ms"),
    ("group.consumer.min.session.timeout.ms", "group.consumer.session.timeout.ms"),
    ("group.consumer.session.timeout.ms", "group.consumer.max.session.timeout.ms"),
    ("log.cleaner.min.compaction.lag.ms", "log.cleaner.max.compaction.lag.ms"),
)


def contradiction(settings: BrokerSettings) -> str | None:
    """Returns which settings of a broker contradict each other, in one sentence; None if none do."""
    for lesser, greater in _ORDERED:
        least, most = getattr(settings, attribute_of(lesser)), getattr(settings, attribute_of(greater))
        if least > most:
            return f"{lesser} ({least}) is more than {greater} ({most})"
    return None
