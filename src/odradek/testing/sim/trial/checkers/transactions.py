"""Transactions as their producers and their readers know them, compared with the logs at the end.

transactions are whole       what was told to be committed is there, all of it; what was not, is not
read-committed is exact      readers were shown what the markers say: no more, no less, nothing too early
every transaction ends       no open transaction and no missing marker holds readers back
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from odradek.base.ids import Offset
from odradek.coordinator.transactions.state import TransactionState
from odradek.replication import Partition
from odradek.testing.sim.node import SimNode
from odradek.testing.sim.trial.checkers.checker import Checker
from odradek.testing.sim.trial.checkers.committed import CommittedRecord, committed_in, shown_to_committed
from odradek.testing.sim.trial.history import Place, SentBatch, key_of
from odradek.testing.sim.trial.transactions import Fate, SentTransaction


class _OfLeaders(Checker):
    """What the checkers of this file look at: the partitions that transactions write to, at their leaders."""

    def leading(self) -> Iterator[tuple[SimNode, Place, Partition]]:
        """Those whose records nothing may take away."""
        for node, partition in self.scene.view.hosted():
            place = self.scene.view.place_of(partition)
            is_leading = partition.leadership is not None and self.scene.view.leader(
                partition.topic_partition
            )
            if (
                is_leading
                and self.scene.takes_transactions(place)
                and self.scene.keeps_deletions(place, partition.log)
            ):
                yield node, place, partition


class TransactionsAreWhole(_OfLeaders):
    """No acknowledged commit is lost, nothing aborted is there, no transaction is torn."""

    NAME = "transactions are whole"

    def conclude(self) -> None:
        """See `Checker.conclude`."""
        logs = {
            place: _Committed(
                committed_in(partition.log, partition.log.end_offset),
                is_compacted=self.scene.is_compacted(partition.log),
            )
            for _, place, partition in self.leading()
        }
        for transaction in self.scene.transactions.sent:
            there, missing = self._sorted(transaction, logs)
            match transaction.fate:
                case Fate.ABORTED if there:
                    place, number = there[0]
                    self.violated(
                        (place, "aborted"),
                        f"record {number} of {place} is committed; {transaction} never was",
                    )
                case Fate.COMMITTED if missing:
                    place, number = missing[0]
                    self.violated(
                        (place, "lost"),
                        f"record {number} of {place} is lost; it is of {transaction}, which was told at"
                        f" {transaction.ended_ms or 0:,} ms that it is committed",
                    )
                case Fate.UNKNOWN if there and missing:
                    self.violated(
                        (missing[0][0], "torn"),
                        f"{transaction} is torn: record {there[0][1]} of {there[0][0]} is committed, and"
                        f" record {missing[0][1]} of {missing[0][0]} is not",
                    )

    def _sorted(
        self, transaction: SentTransaction, logs: dict[Place, _Committed]
    ) -> tuple[list[tuple[Place, int]], list[tuple[Place, int]]]:
        """Its records that are committed, and those that are not; compaction may have removed the others."""
        there, missing = [], []
        for batch in transaction.batches:
            log = logs.get(batch.place)
            if log is None:
                continue
            for number in batch.numbers:
                if number in log.numbers:
                    there.append((batch.place, number))
                elif not log.may_lack(number, batch):
                    missing.append((batch.place, number))
        return there, missing


class _Committed:
    """The committed records of one partition."""

    def __init__(self, records: list[CommittedRecord], *, is_compacted: bool) -> None:
        self.records = records
        self._is_compacted = is_compacted

    @cached_property
    def numbers(self) -> frozenset[int]:
        """Of all of them."""
        return frozenset(record.number for record in self.records)

    @cached_property
    def _last(self) -> dict[bytes | None, Offset]:
        return {record.key: record.offset for record in self.records}

    def may_lack(self, number: int, batch: SentBatch) -> bool:
        """Whether a committed record may have been removed, because a later one has its key."""
        written_at = batch.acknowledged_at
        written_at = -1 if written_at is None else written_at
        return self._is_compacted and self._last.get(key_of(number), -1) > written_at


class ReadCommittedIsExact(_OfLeaders):
    """F10: what is shown follows from the markers, and nothing is shown before them."""

    NAME = "read-committed sees exactly what is committed"

    def conclude(self) -> None:
        """See `Checker.conclude`."""
        aborted = {
            number
            for transaction in self.scene.transactions.sent
            if transaction.fate is Fate.ABORTED
            for batch in transaction.batches
            for number in batch.numbers
        }
        for node, place, partition in list(self.leading()):
            log = partition.log
            committed = {
                record.offset: record.number for record in committed_in(log, log.high_watermark.offset)
            }
            self._compare(place, committed, shown_to_committed(node, place), f"broker {node.broker_id}")
            transactions = self.scene.transactions
            for (reader, read), end in transactions.read_to.items():
                if read != place:
                    continue
                seen = transactions.visible.get((reader, place), {})
                for offset, number in seen.items():
                    if number in aborted:
                        self.violated(
                            (place, "early"),
                            f"{reader} was shown record {number} at offset {offset} of {place}, which was"
                            " never committed",
                        )
                if not self.scene.is_compacted(log):
                    below = {offset: number for offset, number in committed.items() if offset < end}
                    self._compare(place, below, seen, reader)

    def _compare(self, place: Place, committed: dict[Offset, int], shown: dict[Offset, int], by: str) -> None:
        for offset in sorted(committed.keys() ^ shown.keys()):
            number = committed.get(offset, shown.get(offset))
            words = (
                "is committed, and was not shown"
                if offset in committed
                else "was shown, and is not committed"
            )
            self.violated((place, words), f"record {number} at offset {offset} of {place} {words} by {by}")
            return


class EveryTransactionEnds(_OfLeaders):
    """R19, KIP-890: nothing stays open for longer than its timeout, and every partition gets its marker."""

    NAME = "every transaction ends"

    def conclude(self) -> None:
        """See `Checker.conclude`."""
        for node, place, partition in self.leading():
            stable, high_watermark = partition.log.last_stable.offset, partition.log.high_watermark.offset
            if stable != high_watermark:
                self.violated(
                    (place, "stable"),
                    f"the last stable offset of {place} at broker {node.broker_id} is {stable}, and its high"
                    f" watermark {high_watermark}: a transaction does not end",
                )
        for node in self.scene.view.living():
            if not node.is_serving:
                continue
            for _, transaction in node.core.transactions.coordinator.store.transactions():
                record = transaction.current
                if record.is_prepared or record.state is TransactionState.ONGOING:
                    self.violated(
                        transaction.transactional_id,
                        f"{transaction.transactional_id} is {record.state.title} at its coordinator, broker"
                        f" {node.broker_id}, since it was written to at {record.updated_ms:,} ms",
                    )
