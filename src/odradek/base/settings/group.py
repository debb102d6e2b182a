"""The settings of one consumer group (KIP-848): their defaults and bounds are settings of the broker."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from odradek.base.settings.broker import BrokerSettings
from odradek.base.settings.definition import Kind, setting, settings_of


@dataclass(frozen=True, slots=True)
class GroupConfig:
    """The settings in force for one group; `GroupConfig()` holds Kafka's defaults."""

    consumer_heartbeat_interval_ms: int = setting(
        Kind.INT,
        "consumer.heartbeat.interval.ms",
        5000,
        "How often the group's members send heartbeats.",
        least=1,
        broker_names=(("group.consumer.heartbeat.interval.ms", 1),),
    )
    consumer_session_timeout_ms: int = setting(
        Kind.INT,
        "consumer.session.timeout.ms",
        45_000,
        "How long a member of the group may be silent.",
        least=1,
        broker_names=(("group.consumer.session.timeout.ms", 1),),
    )


GROUP_SETTINGS: Final = settings_of(GroupConfig)


@dataclass(frozen=True, slots=True)
class GroupBounds:
    """What a broker allows its groups, as pairs of the least and the most, in milliseconds."""

    heartbeat_interval_ms: tuple[int, int] = (5000, 15_000)
    session_timeout_ms: tuple[int, int] = (45_000, 60_000)

    @classmethod
    def of(cls, settings: BrokerSettings) -> "GroupBounds":
        """The bounds that a broker's settings give."""
        return cls(
            (
                settings.group_consumer_min_heartbeat_interval_ms,
                settings.group_consumer_max_heartbeat_interval_ms,
            ),
            (settings.group_consumer_min_session_timeout_ms, settings.group_consumer_max_session_timeout_ms),
        )

    def fault(self, overrides: Mapping[str, str]) -> str | None:
        """What is wrong with overrides that are good each for itself, in one sentence; None if nothing is."""
        for name, (least, most) in (
            ("consumer.heartbeat.interval.ms", self.heartbeat_interval_ms),
            ("consumer.session.timeout.ms", self.session_timeout_ms),
        ):
            if name in overrides and not least <= int(overrides[name]) <= most:
                return f"{name} must be between {least} and {most} here, not {overrides[name]}"
        return None


def group_config(settings: BrokerSettings, overrides: Mapping[str, str]) -> GroupConfig:
    """All settings in force for a group that overrides these, within the broker's bounds."""
    bounds = GroupBounds.of(settings)
    heartbeat = overrides.get("consumer.heartbeat.interval.ms", settings.group_consumer_heartbeat_interval_ms)
    session = overrides.get("consumer.session.timeout.ms", settings.group_consumer_session_timeout_ms)
    return GroupConfig(
        _within(int(heartbeat), bounds.heartbeat_interval_ms),
        _within(int(session), bounds.session_timeout_ms),
    )


def _within(value: int, bounds: tuple[int, int]) -> int:
    least, most = bounds
    return max(least, min(value, most))
