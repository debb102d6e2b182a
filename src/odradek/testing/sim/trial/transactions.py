"""What the transactional producers of a trial did, and what read-committed consumers saw: see `history`.

A transaction ends in one of three ways, as its producer knows it:

    COMMITTED    it was told so: all of its records are there for readers, in all of its partitions
    ABORTED      it never asked for a commit, or was told that it is aborted: none of them is
    UNKNOWN      it asked for a commit and was not told: all of them or none
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from odradek.base.ids import Offset
from odradek.testing.sim.trial.history import Place, SentBatch


class Fate(Enum):
    """How a transaction has ended, as far as its producer knows."""

    ABORTED = "aborted"
    UNKNOWN = "asked to commit, without an answer"
    COMMITTED = "committed"


@dataclass(slots=True)
class SentTransaction:
    """One transaction of one producer."""

    transactional_id: str
    producer: str
    """The name of its client, with its producer id and epoch."""
    began_ms: int
    timeout_ms: int
    batches: list[SentBatch] = field(default_factory=list)
    """What it has sent, acknowledged or not; before it asked for a commit everything was acknowledged."""
    fate: Fate = Fate.ABORTED
    ended_ms: int | None = None
    """When it was told that the transaction has ended."""

    def __str__(self) -> str:
        return f"the transaction of {self.producer} as {self.transactional_id}, begun at {self.began_ms:,} ms"


@dataclass
class Transactions:
    """Grows while the trial runs."""

    sent: list[SentTransaction] = field(default_factory=list)
    visible: dict[tuple[str, Place], dict[Offset, int]] = field(default_factory=dict)
    """By read-committed reader and partition, the number of each record that it has seen, by offset."""
    read_to: dict[tuple[str, Place], Offset] = field(default_factory=dict)
    """How far each of them has read: everything below that it has seen, or was told to leave out."""

    def begin(self, transactional_id: str, producer: str, now_ms: int, timeout_ms: int) -> SentTransaction:
        """Returns a transaction that a producer is about to begin."""
        transaction = SentTransaction(transactional_id, producer, now_ms, timeout_ms)
        self.sent.append(transaction)
        return transaction

    def note_visible(self, reader: str, place: Place, offset: Offset, number: int) -> None:
        """Called with each record that a read-committed reader shows to its application."""
        self.visible.setdefault((reader, place), {})[offset] = number

    def note_read_to(self, reader: str, place: Place, offset: Offset) -> None:
        """Called when such a reader has read everything below an offset."""
        known = self.read_to.get((reader, place), 0)
        self.read_to[reader, place] = max(known, offset)
