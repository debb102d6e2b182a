"""The interface of all clients in the suite.

A client declares its abilities, and a test that needs an ability skips the clients without it. A refusal by
the broker raises the same Refused, with the protocol's error code, in every client.
"""

import enum
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from odradek.base.error_codes import ErrorCode

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")

# How long producers collect records, so that the records of one call are in few batches.
LINGER_MS = 50

# The consumers' name for reading committed records only, and for reading all.
ISOLATION_LEVELS = {True: "read_committed", False: "read_uncommitted"}


class Ability(enum.Enum):
    """An ability that some clients lack."""

    ACKNOWLEDGED_OFFSETS = "tells the offset of each record that was acknowledged"
    APPEND_TIMES = "tells the broker's time of a record where the topic has that"
    BINARY = "carries any bytes"
    CHOSEN_TIMESTAMPS = "sends records with timestamps of the caller's choice"
    HEADERS = "reads and writes headers"
    HEADER_ORDER = "keeps headers in their order, those of equal names too"
    IDEMPOTENCE = "has an idempotent producer"
    NEWER_ERRORS = "knows the protocol's errors from 83 (INVALID_RECORD is 87) on"
    NULL_HEADERS = "reads and writes headers without a value"
    NULLS = "tells null from empty in keys and values"
    TRANSACTIONS = "reads no markers, and where it is asked to no aborted records"
    TIME_LOOKUP = "asks for the first offset at or after a time"


ALL_ABILITIES = frozenset(Ability)


@dataclass(frozen=True, slots=True)
class Record:
    """A record to be written, or one that was read.

    To be written, `partition` None leaves the choice to the client and `timestamp_ms` None to its clock;
    `offset` is set only on records that were read.
    """

    value: bytes | None
    key: bytes | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    timestamp_ms: int | None = None
    partition: int | None = None
    offset: int | None = None

    def content(self) -> tuple[bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...]]:
        """The fields that every reader must see as written: key, value, headers."""
        return self.key, self.value, self.headers


class Refused(Exception):
    """The broker answered with this error."""

    def __init__(self, code: int) -> None:
        self.error = ErrorCode(code)
        super().__init__(self.error.name)


class Client(ABC):
    """One client library or program, pointed at one broker, reading by assignment."""

    name: ClassVar[str]
    abilities: ClassVar[frozenset[Ability]] = ALL_ABILITIES
    codecs: ClassVar[tuple[str, ...]] = CODECS

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap

    @classmethod
    def missing(cls) -> str:
        """What is missing on this machine to run this client; empty if nothing."""
        return ""

    def close(self) -> None:  # noqa: B027 - most clients keep nothing between calls
        """Close what the client keeps open between calls."""

    @abstractmethod
    def write(
        self,
        topic: str,
        records: Sequence[Record],
        *,
        codec: str = "none",
        acks: int = -1,
        idempotent: bool = False,
    ) -> list[int]:
        """Write the records and wait until each is acknowledged.

        Returns their offsets in the order of `records`; none with acks=0 or from a client that hides them.
        Raises Refused.
        """

    @abstractmethod
    def read(
        self, topic: str, count: int, *, partition: int = 0, offset: int = 0, committed_only: bool = False
    ) -> list[Record]:
        """Read `count` records of a partition from an offset on; fewer only after WAIT_S_MAX.

        `committed_only` skips records of open and aborted transactions. Raises Refused.
        """

    @abstractmethod
    def offset_range(self, topic: str, partition: int = 0) -> tuple[int, int]:
        """The partition's first offset and the one after its last: earliest and latest."""

    def offset_at(self, topic: str, timestamp_ms: int, partition: int = 0) -> int | None:
        """The first offset whose timestamp is at or after a time; None when there is no such record."""
        raise NotImplementedError(self.name)
