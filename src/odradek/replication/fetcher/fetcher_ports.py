"""The ports of a fetcher: the logs that it writes, and whom it tells what happens.

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
        """Append whole batches of the leader, which may be none, and follow its HW and log start (R11).

        Raises an OdradekError; nothing of `batches` is appended then (X5).
        """

    def truncate(self, topic_partition: TopicPartition, offset: Offset) -> None:
        """Drop what lies at or behind `offset`, epochs included (X4, X6). Raises an OdradekError."""

    def start_anew(self, topic_partition: TopicPartition, offset: Offset) -> None:
        """Drop everything; the log is empty and begins at `offset` (X3). Raises an OdradekError."""


class NoteKind(Enum):
    """What a fetcher tells of."""

    TRUNCATED = "truncated"
    """The end of a log was cut off; below HW it is a loss."""
    STARTED_ANEW = "started anew"
    """A whole log was dropped: the leader's begins behind its end."""
    DELAYED = "delayed"
    """A partition rests after an error."""
    FAILED = "failed"
    """A partition is not fetched any more."""
    SESSION_LOST = "session lost"
    """The leader did not have the session; a new one is opened."""
    SOURCE_LOST = "source lost"
    """A request was not answered; the fetcher rests."""


@dataclass(frozen=True, slots=True)
class Note:
    """Something that a person, a metric or a simulation may want to know."""

    kind: NoteKind
    source: BrokerId
    topic_partition: TopicPartition | None
    """None where it is about all partitions of a fetcher."""
    words: str
    error: Exception | None = None
    """Our own mistake, where that was the reason."""


class Notes(Protocol):
    """Takes what a fetcher tells."""

    def __call__(self, note: Note, /) -> None:
        """Take one."""
