"""A fetch request as replication sees it: limits for the request, and one entry per partition (F1).

Plain data, the same for a consumer, a follower and a fetch session. It must not know wire versions.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Final

from odradek.base.ids import (
    NO_BROKER_EPOCH,
    NO_EPOCH,
    NO_OFFSET,
    NO_TOPIC_ID,
    BrokerId,
    LeaderEpoch,
    Offset,
    TopicId,
    TopicPartition,
)
from odradek.replication.replication_ports import ReplicationQuota

CONSUMER_ID: Final = -1
DEBUGGING_CONSUMER_ID: Final = -2


class Isolation(Enum):
    """The offset up to which a reader may read (F3)."""

    LOG_END = "log end"
    HIGH_WATERMARK = "high watermark"
    LAST_STABLE = "last stable offset"


@dataclass(slots=True)
class ClientMetadata:
    """Describes the fetching client, so that a nearby replica can be chosen (R13)."""

    rack_id: str = ""
    client_id: str = ""
    listener: str = ""
    """The listener that it is connected to: a replica must have an address on it, too."""


@dataclass(slots=True)
class FetchParams:
    """The parameters of a fetch. Never changed; not frozen, as that would cost a small fetch 1 µs."""

    replica_id: BrokerId = CONSUMER_ID
    """R9: >= 0 a follower, -1 a consumer, -2 a debugging consumer."""
    replica_epoch: int = NO_BROKER_EPOCH
    """The epoch of the follower's registration (R16); -1 if the request does not say."""
    max_wait_ms: int = 0
    min_bytes: int = 1
    max_bytes: int = 0x7FFFFFFF
    """The limit over all partitions, which are read in request order until it is used up."""
    hard_max_bytes: bool = False
    """Fetch < 3: not even the first batch may exceed the limits."""
    isolation: Isolation = Isolation.HIGH_WATERMARK
    """Always the log end for a follower."""
    leader_only: bool = True
    """Only the leader may answer: false for a consumer from Fetch 11 on, and for a debugging consumer."""
    client: ClientMetadata | None = None
    quota: ReplicationQuota | None = None
    """For a follower: the replication throttle, which applies while it is out of sync (F8)."""

    @property
    def is_from_follower(self) -> bool:
        """Whether a follower sent it, so that it updates the leader's state of that replica (R10)."""
        return self.replica_id >= 0


@dataclass(slots=True)
class PartitionFetch:
    """One partition of a fetch request."""

    topic_partition: TopicPartition
    fetch_offset: Offset
    max_bytes: int
    current_leader_epoch: LeaderEpoch = NO_EPOCH
    """The leader epoch that the fetcher knows; -1: not given."""
    last_fetched_epoch: LeaderEpoch = NO_EPOCH
    """The epoch of the fetcher's last record (F9); -1: not given."""
    log_start_offset: Offset = NO_OFFSET
    """A follower's own log start."""
    topic_id: TopicId = NO_TOPIC_ID
    """From Fetch 13 on; zero: the request names the topic."""


def params_for_follower(
    replica_id: BrokerId,
    *,
    max_wait_ms: int,
    min_bytes: int,
    max_bytes: int,
    quota: ReplicationQuota | None = None,
) -> FetchParams:
    """A follower's fetch: from the leader only, to the log's end (R9)."""
    return FetchParams(
        replica_id=replica_id,
        max_wait_ms=max_wait_ms,
        min_bytes=min_bytes,
        max_bytes=max_bytes,
        isolation=Isolation.LOG_END,
        quota=quota,
    )
