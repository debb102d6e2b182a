"""The settings of one consumer group (KIP-848): their defaults and bounds are settings of the broker."""

from collections.abc import Mapping
from dataclasses import field
from typing import Final

from odradek.base.settings.broker import BrokerSettings
from odradek.base.settings.definition import Kind, setting, settings_of
from odradek.base.values import value

_HEARTBEAT: Final = "consumer.heartbeat.interval.ms"
_SESSION: Final = "consumer.session.timeout.ms"


@value
class GroupConfig:
    """The settings in force for one group; `GroupConfig()` holds Kafka's defaults."""

    consumer_heartbeat_interval_ms: int = setting(
        Kind.INT,
        _HEARTBEAT,
        5000,
        "How often the group's members send heartbeats.",
        least=1,
        broker_names=(("group.consumer.heartbeat.interval.ms", 1),),
    )
    consumer_session_timeout_ms: int = setting(
        Kind.INT,
        _SESSION,
        45_000,
        "How long a member of the group may send no heartbeat.",
        least=1,
        broker_names=(("group.consumer.session.timeout.ms", 1),),
    )


GROUP_SETTINGS: Final = settings_of(GroupConfig)


@value
class GroupBounds:
    """The bounds of group settings on a broker, as pairs of the least and the most, and their defaults."""

    heartbeat_interval_ms: tuple[int, int] = (5000, 15_000)
    session_timeout_ms: tuple[int, int] = (45_000, 60_000)
    defaults: GroupConfig = field(default_factory=GroupConfig)
    """The settings in force for a group that overrides nothing; within the bounds."""

    @classmethod
    def of(cls, settings: BrokerSettings) -> "GroupBounds":
        """The bounds that a broker's settings give."""
        intervals_ms = (
            settings.group_consumer_min_heartbeat_interval_ms,
            settings.group_consumer_max_heartbeat_interval_ms,
        )
        timeouts_ms = (
            settings.group_consumer_min_session_timeout_ms,
            settings.group_consumer_max_session_timeout_ms,
        )
        defaults = GroupConfig(
            _within(settings.group_consumer_heartbeat_interval_ms, intervals_ms),
            _within(settings.group_consumer_session_timeout_ms, timeouts_ms),
        )
        return cls(intervals_ms, timeouts_ms, defaults)

    def fault(self, overrides: Mapping[str, str]) -> str | None:
        """What is wrong with overrides that are valid one by one, in one sentence; None if nothing is."""
        for name, (least, most) in (
            (_HEARTBEAT, self.heartbeat_interval_ms),
            (_SESSION, self.session_timeout_ms),
        ):
            if name in overrides and not least <= int(overrides[name]) <= most:
                return f"{name} must be between {least} and {most} here, not {overrides[name]}"
        return None

    def config(self, overrides: Mapping[str, str]) -> GroupConfig:
        """All settings in force for a group that overrides these, within the bounds."""
        if not overrides:
            return self.defaults  # asked for with every heartbeat
        defaults = self.defaults
        heartbeat = int(overrides.get(_HEARTBEAT, defaults.consumer_heartbeat_interval_ms))
        session = int(overrides.get(_SESSION, defaults.consumer_session_timeout_ms))
        return GroupConfig(
            _within(heartbeat, self.heartbeat_interval_ms), _within(session, self.session_timeout_ms)
        )


def _within(value: int, bounds: tuple[int, int]) -> int:
    least, most = bounds
    return max(least, min(value, most))
