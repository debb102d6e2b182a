"""What must hold of transactions that read from one topic, write to another and commit their offsets.

Every record that is read becomes `COPIES` records, in random partitions. Each copy names its transaction, how
many records that transaction has, the place of the record that was read, and its own number. What a reader
sees is checked by itself, against what producers know, and against the committed offsets:

    a whole transaction, or none of it   all records that a copy names are there, and none twice
    as its producer was told             committed: there; aborted, or never asked to commit: not
    exactly once                         every record up to the committed offset has its copies, no other has
"""

import threading
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum, auto

from campaigns.crash.campaign import Broken

COPIES = 2
SHOWN = 5


@dataclass(frozen=True, slots=True, order=True)
class Written:
    """One record of the output."""

    transaction: str
    size: int
    partition: int
    offset: int
    copy: int

    def encode(self) -> str:
        """As the value of a record."""
        return f"{self.transaction} {self.size} {self.partition} {self.offset} {self.copy}"

    @classmethod
    def decode(cls, value: bytes) -> "Written":
        """From the value of a record."""
        transaction, *numbers = value.decode().split()
        size, partition, offset, copy = map(int, numbers)
        return cls(transaction, size, partition, offset, copy)


class Outcome(Enum):
    """What a producer knows of its transaction."""

    OPEN = auto()
    """Nobody asked to commit it."""
    ENDING = auto()
    """Asked to commit, no answer: either may be."""
    COMMITTED = auto()
    ABORTED = auto()


class Ledger:
    """What the producers know of their transactions; they write it, the check reads it."""

    def __init__(self) -> None:
        self._outcomes: dict[str, Outcome] = {}
        self._lock = threading.Lock()

    def note(self, transaction: str, outcome: Outcome) -> None:
        """From now on the producer knows this."""
        with self._lock:
            self._outcomes[transaction] = outcome

    def outcome(self, transaction: str) -> Outcome | None:
        """What its producer knows of the transaction; None: it has not begun."""
        return self._outcomes.get(transaction)

    def snapshot(self) -> dict[str, Outcome]:
        """All that is known."""
        with self._lock:
            return dict(self._outcomes)

    def count(self, outcome: Outcome) -> int:
        """How many transactions are known to have that outcome."""
        return sum(one is outcome for one in self.snapshot().values())


def check_output(
    outcomes: Mapping[str, Outcome], seen: Iterable[Written], committed_offsets: Mapping[int, int]
) -> None:
    """Compare what a committed reader sees, and the group's offsets, with the outcomes. Raises Broken."""
    records = Counter(seen)
    doubled = [record for record, times in records.items() if times > 1]
    if doubled:
        raise Broken(f"{len(doubled)} records are there twice: {doubled[:SHOWN]}")
    _check_wholeness(records)
    _check_outcomes(outcomes, {record.transaction for record in records})
    _check_exactly_once(records, committed_offsets)


def _check_wholeness(records: Iterable[Written]) -> None:
    there = Counter((record.transaction, record.size) for record in records)
    parts = [f"{name}: {count} of {size}" for (name, size), count in there.items() if count != size]
    if parts:
        raise Broken(f"{len(parts)} transactions are half visible: {parts[:SHOWN]}")


def _check_outcomes(outcomes: Mapping[str, Outcome], visible: set[str]) -> None:
    lost = [
        name for name, outcome in outcomes.items() if outcome is Outcome.COMMITTED and name not in visible
    ]
    if lost:
        raise Broken(f"{len(lost)} committed transactions are not visible: {lost[:SHOWN]}")
    wrong = [
        (name, outcomes.get(name))
        for name in visible
        if outcomes.get(name) not in (Outcome.COMMITTED, Outcome.ENDING)
    ]
    if wrong:
        raise Broken(f"{len(wrong)} transactions are visible that nobody committed: {wrong[:SHOWN]}")


def _check_exactly_once(records: Iterable[Written], committed_offsets: Mapping[int, int]) -> None:
    copies = Counter((record.partition, record.offset, record.copy) for record in records)
    twice = [place for place, times in copies.items() if times > 1]
    if twice:
        raise Broken(f"{len(twice)} records were transformed by two transactions: {sorted(twice)[:SHOWN]}")
    due = {
        (partition, offset, copy)
        for partition, end in committed_offsets.items()
        for offset in range(end)
        for copy in range(COPIES)
    }
    missing, early = due - copies.keys(), copies.keys() - due
    if missing:
        raise Broken(
            f"{len(missing)} copies are missing below the committed offsets: {sorted(missing)[:SHOWN]}"
        )
    if early:
        raise Broken(f"{len(early)} copies are there above the committed offsets: {sorted(early)[:SHOWN]}")
