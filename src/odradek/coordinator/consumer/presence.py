"""The state of members that is not in the log: the time of the last request, what they have to do."""

from dataclasses import dataclass


@dataclass(slots=True)
class Presence:
    """One member, since this broker coordinates it."""

    last_heartbeat_ms: int
    """On the monotonic clock."""
    session: int = 0
    """The number of its current session; every request begins another one."""
    revokes_until_ms: int = 0
    """The deadline for its revocation; valid while its state requires one."""
    is_rejoin_due: bool = False
    """Whether a member of the classic protocol was asked to join again and has not."""
    is_sync_due: bool = False
    """Whether a member of the classic protocol has joined and not synced."""
    joins: int = 0
    """How often a member of the classic protocol has joined; only the last join needs a sync."""
