"""Settings that are valid one by one and contradict each other: Kafka refuses to start with them.

group.consumer.min.session.timeout.ms=60000
group.consumer.max.session.timeout.ms=45000      refused: nothing lies between them

inter.broker.listener.name=BROKERS
security.inter.broker.protocol=PLAINTEXT         refused, whatever they say: each of them names the listener
"""

from collections.abc import Container

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
# Only one of them may be given.
_EITHER = ("inter.broker.listener.name", "security.inter.broker.protocol")


def contradiction(settings: BrokerSettings, given: Container[str] = ()) -> str | None:
    """Returns which settings of a broker contradict each other, in one sentence; None if none do.

    `given` are the names that the settings file has.
    """
    if all(name in given for name in _EITHER):
        return f"only one of {' and '.join(_EITHER)} may be set: both name the listener between brokers"
    for lesser, greater in _ORDERED:
        least, most = getattr(settings, attribute_of(lesser)), getattr(settings, attribute_of(greater))
        if least > most:
            return f"{lesser} ({least}) is more than {greater} ({most})"
    return None
