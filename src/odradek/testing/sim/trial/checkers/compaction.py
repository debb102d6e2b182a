"""What compaction may not take away: the last record of each key, and every record's offset."""

from __future__ import annotations

from odradek.base.ids import BrokerId, Offset, TopicPartition
from odradek.replication import Partition
from odradek.testing.sim.trial.checkers.checker import Checker
from odradek.testing.sim.trial.checkers.committed import CommittedRecord, committed_in
from odradek.testing.sim.trial.history import ACKS_ALL, Place, key_of
from odradek.testing.sim.trial.transactions import Fate


class KeysKeepTheirLast(Checker):
    """L5: of each key the last committed record is there, at its offset, in every replica.

    That records stay at their offsets is also looked at by `records`, and by what consumers read.
    """

    NAME = "compacted topics keep the last record of each key"

    def conclude(self) -> None:
        """See `Checker.conclude`."""
        replicas: dict[TopicPartition, list[tuple[BrokerId, Partition]]] = {}
        for node, partition in self.scene.view.hosted():
            if self.scene.is_compacted(partition.log):
                replicas.setdefault(partition.topic_partition, []).append((node.broker_id, partition))
        for found in replicas.values():
            place = self.scene.view.place_of(found[0][1])
            keeps_deletions = self.scene.keeps_deletions(place, found[0][1].log)
            if self.scene.is_promised(place) and keeps_deletions:
                self._compare_replicas(place, found)
                if self.scene.is_lasting(place):
                    self._check_acknowledged(place, found)

    def _compare_replicas(self, place: Place, found: list[tuple[BrokerId, Partition]]) -> None:
        common = min(partition.log.high_watermark.offset for _, partition in found)
        (first_id, first), *others = [
            (broker_id, _last_of_keys(committed_in(partition.log, common))) for broker_id, partition in found
        ]
        for broker_id, last in others:
            for key in sorted(first.keys() | last.keys(), key=lambda key: key or b""):
                if first.get(key) != last.get(key):
                    self.violated(
                        (place, "replicas"),
                        f"the last record of key {key!r} in {place} is {_told(first.get(key))} on broker"
                        f" {first_id}, and {_told(last.get(key))} on broker {broker_id}",
                    )
                    return

    def _check_acknowledged(self, place: Place, found: list[tuple[BrokerId, Partition]]) -> None:
        expected = self._acknowledged(place)
        for broker_id, partition in found:
            last = _last_of_keys(committed_in(partition.log, partition.log.high_watermark.offset))
            for key, (offset, number) in expected.items():
                kept = last.get(key)
                if kept is None or kept.offset < offset or (kept.offset == offset and kept.number != number):
                    self.violated(
                        (place, "last"),
                        f"record {number} was acknowledged at offset {offset} of {place}, the last one of key"
                        f" {key!r}; broker {broker_id} has {_told(kept)}",
                    )

    def _acknowledged(self, place: Place) -> dict[bytes, tuple[Offset, int]]:
        """By key, offset and number of the last record that was acknowledged, and committed if need be."""
        uncommitted = {
            batch.first
            for transaction in self.scene.transactions.sent
            if transaction.fate is not Fate.COMMITTED
            for batch in transaction.batches
        }
        expected: dict[bytes, tuple[Offset, int]] = {}
        for batch in self.scene.history.acknowledged:
            base_offset = batch.acknowledged_at
            is_known = base_offset is not None and base_offset >= 0
            if batch.place != place or batch.acks != ACKS_ALL or not is_known or batch.first in uncommitted:
                continue
            assert base_offset is not None
            for index, number in enumerate(batch.numbers):
                key = key_of(number)
                expected[key] = max(expected.get(key, (-1, -1)), (base_offset + index, number))
        return expected


def _last_of_keys(records: list[CommittedRecord]) -> dict[bytes | None, CommittedRecord]:
    """The last record of each key; a key whose last is a tombstone has none, as after its removal."""
    last = {record.key: record for record in records}
    return {key: record for key, record in last.items() if record.value is not None}


def _told(record: CommittedRecord | None) -> str:
    return "missing" if record is None else f"at offset {record.offset}"
