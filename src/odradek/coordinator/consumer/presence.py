"""What is known of members that no log needs to hold: when their last request came, what they have to do."""

from dataclasses import dataclass


@dataclass(slots=True)
class Presence:
    """One member, since this broker coordinates it."""

    last_heartbeat_ms: int
    """On the monotonic clock."""
    session: int = 0
    """The number of its present session; every sign of life begins another."""
    revokes_until_ms: int = 0
    """When it must have given partitions back; of use while its state says that it has to."""
    is_rejoin_due: bool = False
    """Whether a member of the classic protocol was asked to join again and has not."""
    is_sync_due: bool = False
    """Whether a member of the classic protocol has joined and not synced."""
    joins: int = 0
    """How often a member of the classic protocol has joined; a sync is due for the last time only."""
