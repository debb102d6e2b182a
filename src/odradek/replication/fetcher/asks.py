"""The requests of a fetcher to its leader ("asks"), and the answers: plain values without wire versions.

The owner encodes the asks as wire requests, adds the fields that are the same for all of them (replica id,
broker epoch, limits, waits), and decodes the responses into answers.
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
    """One partition of a Fetch request."""

    topic_partition: TopicPartition
    topic_id: TopicId
    leader_epoch: LeaderEpoch
    """The epoch under which the partition is followed."""
    fetch_offset: Offset
    """The follower's LEO."""
    last_fetched_epoch: LeaderEpoch
    """The epoch of the follower's last record (F9); -1 when it has none."""
    log_start_offset: Offset
    """The follower's log start; the leader computes its low watermark from it."""


@dataclass(frozen=True, slots=True)
class FetchAsk:
    """A Fetch within a session (KIP-227); see `leader_session`."""

    session_id: int
    session_epoch: int
    """0: a full fetch, which opens a session; otherwise the next epoch of an incremental fetch."""
    asks: Sequence[PartitionAsk]
    """All partitions of a full fetch; the new and changed ones of an incremental fetch."""
    forgotten: Sequence[PartitionAsk] = ()
    """The partitions to remove from the session, as they were last requested."""
    may_wait: bool = True
    """False: the leader answers at once, because the fetcher has more requests to send."""


class PartitionAnswer(NamedTuple):
    """One partition of a Fetch response."""

    topic_partition: TopicPartition
    error_code: ErrorCode = ErrorCode.NONE
    high_watermark: Offset = -1
    """The leader's HW; -1 with an error."""
    log_start_offset: Offset = -1
    """The leader's log start; -1 with an error."""
    records: Buffer = b""
    """Batches with their offsets; the last one may be incomplete."""
    diverging: EpochEnd | None = None
    """The end of the last epoch that both logs have, if the two logs diverge (F9)."""


@dataclass(slots=True)
class FetchAnswer:
    """The answer to a `FetchAsk`."""

    error_code: ErrorCode = ErrorCode.NONE
    """The error of the whole fetch: its session is lost, or the leader failed."""
    session_id: int = 0
    """0: there is no session."""
    partitions: Iterable[PartitionAnswer] = ()
    """Iterated once, in steps."""


# --- truncating


class EpochAsk(NamedTuple):
    """One partition of an OffsetForLeaderEpoch request (X4)."""

    topic_partition: TopicPartition
    leader_epoch: LeaderEpoch
    epoch: LeaderEpoch
    """The epoch whose end in the leader's log is requested."""


@dataclass(frozen=True, slots=True)
class EpochEndsAsk:
    """An OffsetForLeaderEpoch request; names each partition once."""

    asks: Sequence[EpochAsk]


class EpochEndAnswer(NamedTuple):
    """The largest epoch not above the requested one, and its end offset; unknown with an error."""

    topic_partition: TopicPartition
    error_code: ErrorCode
    end: EpochEnd


# --- locating


class OffsetAsk(NamedTuple):
    """One partition of a ListOffsets request (X3)."""

    topic_partition: TopicPartition
    leader_epoch: LeaderEpoch
    is_earliest: bool
    """True: the request is for the leader's log start; False: for its LEO."""


@dataclass(frozen=True, slots=True)
class OffsetsAsk:
    """A ListOffsets request; names each partition once."""

    asks: Sequence[OffsetAsk]


class OffsetAnswer(NamedTuple):
    """The requested offset; -1 with an error."""

    topic_partition: TopicPartition
    error_code: ErrorCode
    offset: Offset


Ask: TypeAlias = FetchAsk | EpochEndsAsk | OffsetsAsk
"""A request of a fetcher; one is in flight at a time."""
