"""What a client says it is waiting for: one type for all clients, as text and as data.

    consumer.why()   [Why(cause="no_leader", text="orders-3 has no leader", data={"partition": "orders-3"})]

Each core describes its own causes, in the order of their importance: the first one keeps the client waiting.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Cause(StrEnum):
    """The kinds of causes; the names are stable."""

    CLOSED = "closed"
    FENCED = "fenced"
    REFUSED = "refused"
    NO_BROKER = "no_broker"
    UNKNOWN_TOPIC = "unknown_topic"
    NO_CONNECTION = "no_connection"
    NO_LEADER = "no_leader"
    NO_COORDINATOR = "no_coordinator"
    NO_CONTROLLER = "no_controller"
    NO_SUBSCRIPTION = "no_subscription"
    NO_PARTITIONS = "no_partitions"
    REBALANCE = "rebalance"
    POLL_NOT_CALLED = "poll_not_called"
    NO_POSITION = "no_position"
    OFFSET_OUT_OF_RANGE = "offset_out_of_range"
    VALIDATION = "validation"
    UNREADABLE = "unreadable"
    PAUSED = "paused"
    OPEN_TRANSACTION = "open_transaction"
    AT_END = "at_end"
    FETCHING = "fetching"
    RECORDS_READY = "records_ready"
    REQUEST = "request"
    MEMORY = "memory"
    LINGER = "linger"
    RETRY = "retry"


@dataclass(frozen=True, slots=True)
class Why:
    """One cause of a wait."""

    cause: Cause
    text: str
    """One sentence without a full stop."""
    data: Mapping[str, object] = field(default_factory=dict)
    """The same facts for programs: names of partitions, ids, milliseconds."""

    def __str__(self) -> str:
        return self.text
