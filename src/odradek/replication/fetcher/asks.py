"""What a fetcher asks its leader, and what it is answered: plain values, without wire versions.

The owner makes wire requests of the asks, adds what is the same for all of them (replica id, broker epoch,
limits, waits), and makes answers of the responses.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from odradek.base.buffers import Buffer
from odradek.base.error_codes import ErrorCode
from odradek.base.ids import LeaderEpoch, Offset, TopicId, TopicPartition
from odradek.storage import EpochEnd

# --- fetching


class PartitionAsk(NamedTuple):
    """One partition's line in a Fetch."""

    topic_partition: TopicPartition
    topic_id: TopicId
    leader_epoch: LeaderEpoch
    """The epoch under which the partition is followed."""
    fetch_offset: Offset
    """The follower's LEO."""
    last_fetched_epoch: LeaderEpoch
    """The epoch of the follower's last record (F9); -1 when it has none."""
    log_start_offset: Offset
    """The follower's log start, which the leader's low watermark waits for."""


@dataclass(frozen=True, slots=True)
class FetchAsk:
    """A Fetch within a session (KIP-227); see `leader_session`."""

    session_id: int
    session_epoch: int
    """0: a full fetch, which opens a session; else what an incremental one has next."""
    asks: Sequence[PartitionAsk]
    """All partitions of a full fetch; what is new or changed in an incremental one."""
    forgotten: Sequence[PartitionAsk] = ()
    """What the leader is not to fetch any more, as it was asked for last."""
    may_wait: bool = True
    """False: answer at once, for there is more to ask."""


class PartitionAnswer(NamedTuple):
    """What a leader answers about one partition."""

    topic_partition: TopicPartition
    error_code: ErrorCode = ErrorCode.NONE
    high_watermark: Offset = -1
    """The leader's HW; -1 with an error."""
    log_start_offset: Offset = -1
    """The leader's log start; -1 with an error."""
    records: Buffer = b""
    """Batches with their offsets; the last one may be cut short."""
    diverging: EpochEnd | None = None
    """Where the leader's log parted from the follower's (F9)."""


@dataclass(slots=True)
class FetchAnswer:
    """The answer to a `FetchAsk`."""

    error_code: ErrorCode = ErrorCode.NONE
    """Of the fetch as a whole: its session is lost, or the leader failed."""
    session_id: int = 0
    """0: there is no session."""
    partitions: Iterable[PartitionAnswer] = ()
    """Read once, in steps."""


# --- truncating


class EpochAsk(NamedTuple):
    """One partition's line in an OffsetForLeaderEpoch (X4)."""

    topic_partition: TopicPartition
    leader_epoch: LeaderEpoch
    epoch: LeaderEpoch
    """Where does this epoch end in the leader's log?"""


@dataclass(frozen=True, slots=True)
class EpochEndsAsk:
    """An OffsetForLeaderEpoch; names each partition once."""

    asks: Sequence[EpochAsk]


class EpochEndAnswer(NamedTuple):
    """The largest epoch not above the one asked for, and its end; unknown with an error."""

    topic_partition: TopicPartition
    error_code: ErrorCode
    end: EpochEnd


# --- locating


class OffsetAsk(NamedTuple):
    """One partition's line in a ListOffsets (X3)."""

    topic_partition: TopicPartition
    leader_epoch: LeaderEpoch
    is_earliest: bool
    """Whether the leader's log start is asked for, or else its LEO."""


@dataclass(frozen=True, slots=True)
class OffsetsAsk:
    """A ListOffsets; names each partition once."""

    asks: Sequence[OffsetAsk]


class OffsetAnswer(NamedTuple):
    """The offset asked for; -1 with an error."""

    topic_partition: TopicPartition
    error_code: ErrorCode
    offset: Offset


Ask: TypeAlias = FetchAsk | EpochEndsAsk | OffsetsAsk
"""What a fetcher sends: one of them at a time."""
