"""Settings of a broker whose groups of the consumer protocol (KIP-848) have frequent heartbeats.

A member learns of a change in its group from the answer to its next heartbeat: after 5 s by default.
"""


def heartbeats_every(interval_ms: int) -> dict[str, int]:
    """The settings for this interval."""
    return {
        "group.consumer.min.heartbeat.interval.ms": interval_ms,
        "group.consumer.heartbeat.interval.ms": interval_ms,
    }
