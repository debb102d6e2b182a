"""A record that is to be sent."""

from typing import NamedTuple

from odradek.records.framing import RecordHeaders


class Outgoing(NamedTuple):
    """A record to send, checked."""

    topic: str
    value: bytes | None
    key: bytes | None
    headers: RecordHeaders
    partition: int | None
    """None: the partitioner decides."""
    timestamp_ms: int | None
    """None: the time when it is added."""
