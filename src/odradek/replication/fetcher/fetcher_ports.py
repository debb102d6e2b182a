"""The ports of a fetcher: the logs that it writes, and the receiver of its notes.

`replication.following.Following` implements the first one, on the partitions that this broker hosts; the
server implements the second. Neither may call back before it returns.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from odradek.base.buffers import Buffer
from odradek.base.ids import BrokerId, Offset, TopicPartition
from odradek.base.settings import TopicConfig
from odradek.replication.fetcher.truncation import EpochHistory


class FollowedLog(EpochHistory, Protocol):
    """What a fetcher reads of a log, as `storage.Log` documents it."""

    @property
    def config(self) -> TopicConfig:
        """The topic's settings in force."""

    @property
    def log_start_offset(self) -> Offset:
        """The first offset that may be read."""

    @property
    def latest_epoch(self) -> int:
        """The leader epoch of the last batch or assignment, or -1."""

    @property
    def is_settled(self) -> bool:
        """Whether the last truncation is on disk with its recovery point (X6)."""


class FollowerLogs(Protocol):
    """The replicas that follow here."""

    def log(self, topic_partition: TopicPartition) -> FollowedLog | None:
        """The log of a replica; None where this broker leads, has no replica, or its directory is offline."""

    def apply(
        self,
        topic_partition: TopicPartition,
        batches: Buffer,
        high_watermark: Offset,
        log_start_offset: Offset,
    ) -> None:
        """Append the leader's batches, if any, each of them whole, and take over its HW and log start (R11).

        A log without records whose LEO lies within the first batch begins at that batch. That is not on disk
        at once, as after `truncate`: the log is not settled, nothing was appended, and the batches have to be
        fetched again. Raises an OdradekError; then none of `batches` is appended (X5).
        """

    def truncate(self, topic_partition: TopicPartition, offset: Offset) -> None:
        """Drop all records and epochs from `offset` on (X4). Raises an OdradekError.

        The log is settled later, in the background (X6); the fetcher gets `on_settled`.
        """

    def start_anew(self, topic_partition: TopicPartition, offset: Offset) -> None:
        """Drop everything; the log is empty and begins at `offset` (X3). See `truncate`."""


class NoteKind(Enum):
    """The kinds of events that a fetcher reports."""

    TRUNCATED = "truncated"
    """A log was truncated; if below HW, committed records are lost."""
    DIVERGED = "diverged"
    """The log held an epoch that the leader's log does not have, or has otherwise (X4, KIP-101)."""
    STARTED_ANEW = "started anew"
    """A whole log was dropped, because the leader's log starts above its LEO."""
    BEGUN_WITHIN = "begun within a batch"
    """A log without records begins at the leader's batch that holds the leader's log start."""
    DELAYED = "delayed"
    """A partition waits for the backoff after an error that may pass, as in a change of leaders."""
    UNUSABLE = "unusable"
    """A partition waits for the backoff because what the leader sent cannot be appended here (X5)."""
    RESUMED = "resumed"
    """A partition that was delayed is fetched again."""
    FAILED = "failed"
    """A partition is not fetched any more."""
    FENCED = "waiting for its next leader"
    """The leader has a later epoch; the order that brings it here ends the wait, as in any failover."""
    SESSION_LOST = "session lost"
    """The leader no longer had the session; the fetcher opens a new one."""
    SOURCE_LOST = "source lost"
    """A request was not answered; the fetcher backs off."""
    SOURCE_FOUND = "source found"
    """A request was answered after some that were not."""


@dataclass(frozen=True, slots=True)
class Note:
    """One event of a fetcher, for logs, metrics and simulations."""

    kind: NoteKind
    source: BrokerId
    topic_partition: TopicPartition | None
    """None if the note concerns all partitions of a fetcher."""
    words: str
    error: Exception | None = None
    """The exception, if the reason was a programming error in Odradek."""


class Notes(Protocol):
    """Receives the notes of a fetcher."""

    def __call__(self, note: Note, /) -> None:
        """Receive one note."""
