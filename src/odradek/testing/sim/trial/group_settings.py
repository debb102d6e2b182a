"""The settings of groups that a seed decides."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from odradek.base.chance import SeededChance

CONSUMER_SESSION_MS: Final = 6_000
"""How long a member of a consumer group may be silent."""


def group_settings(seed: int) -> Mapping[str, str]:
    """What brokers are told about groups; the seed's other draws do not depend on it."""
    chance = SeededChance(seed + 3)
    return {
        "group_initial_rebalance_delay_ms": ("0", "500", "3000")[chance.below(3)],
        "group_min_session_timeout_ms": "1000",
        "group_consumer_min_session_timeout_ms": "1000",
        "group_consumer_session_timeout_ms": str(CONSUMER_SESSION_MS),
        "group_consumer_min_heartbeat_interval_ms": "500",
        "group_consumer_heartbeat_interval_ms": "1000",
        "group_consumer_assignors": ("uniform,range", "range,uniform")[chance.below(2)],
        "offsets_commit_timeout_ms": ("1000", "5000")[chance.below(2)],
    }
