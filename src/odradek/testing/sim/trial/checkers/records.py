"""What became of the records: none acknowledged is lost, none comes twice, all replicas are equal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from odradek.base.ids import BrokerId, Offset
from odradek.base.topic_names import INTERNAL_TOPICS
from odradek.records.header import iter_headers
from odradek.replication import Partition
from odradek.testing.sim.stored import content_of
from odradek.testing.sim.trial.checkers.checker import Checker, Scene
from odradek.testing.sim.trial.history import ACKS_ALL, Place, batches_in

LOOK_EVERY: Final = 5
"""Epochs are compared in one look of so many."""


class ReplicasAreEqual(Checker):
    """R2, X4: below the smallest HW all replicas are equal, byte for byte; offsets have no gaps."""

    NAME = "logs are equal below the high watermark"

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self._looks = 0

    def look(self) -> None:
        """See `Checker.look`: compare the leader epochs of the last record that all say is committed."""
        self._looks += 1
        if self._looks % LOOK_EVERY:
            return
        replicas: dict[Place, list[tuple[BrokerId, Partition]]] = {}
        for node, partition in self.scene.view.hosted():
            topic, number = partition.topic_partition
            place = Place(topic, partition.topic_id, number)
            replicas.setdefault(place, []).append((node.broker_id, partition))
        for place, found in replicas.items():
            if self.scene.is_compacted(found[0][1].log):
                continue  # across a gap, replicas may know other beginnings of an epoch
            last = min(partition.log.high_watermark.offset for _, partition in found) - 1
            if last < 0 or not self.scene.is_promised(place):
                continue
            epochs = {broker_id: partition.log.epoch_of(last) for broker_id, partition in found}
            if len(set(epochs.values())) > 1:
                self.violated(
                    (place, "last epoch"),
                    f"offset {last} of {place} is below the high watermark of brokers {sorted(epochs)}, and"
                    f" was written in the epochs {[epochs[broker_id] for broker_id in sorted(epochs)]}",
                )

    def conclude(self) -> None:
        """See `Checker.conclude`."""
        replicas: dict[Place, list[tuple[BrokerId, Partition]]] = {}
        for node, partition in self.scene.view.hosted():
            topic, number = partition.topic_partition
            replicas.setdefault(Place(topic, partition.topic_id, number), []).append(
                (node.broker_id, partition)
            )
        for place, found in replicas.items():
            if self.scene.is_compacted(found[0][1].log):
                continue  # see `compaction`
            common = min(partition.log.high_watermark.offset for _, partition in found)
            contents = {broker_id: content_of(partition.log, common) for broker_id, partition in found}
            first_id, first = next(iter(contents.items()))
            for broker_id, content in contents.items():
                if content != first:
                    at = next(
                        (n for n, pair in enumerate(zip(first, content, strict=False)) if pair[0] != pair[1]),
                        min(len(first), len(content)),
                    )
                    self.violated(
                        place,
                        f"the logs of {place} on brokers {first_id} and {broker_id} differ from byte {at} on,"
                        f" below the high watermark {common}",
                    )
            self._check_offsets(place, first_id, found[0][1], first)

    def _check_offsets(self, place: Place, broker_id: BrokerId, partition: Partition, content: bytes) -> None:
        expected, last_epoch = partition.log.log_start_offset, -1
        for _, header in iter_headers(content):
            offset, epoch = header.base_offset, header.leader_epoch
            if offset != expected:
                self.violated((place, "offsets"), f"offset {expected} of {place} is missing on {broker_id}")
            if epoch < last_epoch:
                self.violated(
                    (place, "epochs"),
                    f"the log of {place} on broker {broker_id} goes from epoch {last_epoch} to {epoch}"
                    f" at offset {offset}",
                )
            expected, last_epoch = offset + header.last_offset_delta + 1, epoch


class NothingAcknowledgedIsLost(Checker):
    """R7, R15e: what acks=all acknowledged is in the log, at its offset; so is what consumers have read.

    Idempotent producers' records come once and in their order.
    """

    NAME = "nothing acknowledged is lost or comes twice"

    def conclude(self) -> None:
        """See `Checker.conclude`."""
        kept, compacted = self._kept()
        for batch in self.scene.history.batches:
            place = batch.place
            if batch.acks != ACKS_ALL or batch.acknowledged_at is None:
                continue
            if place not in kept:
                if self.scene.is_lasting(place) and not self.scene.may_wait(place):
                    self.violated((place, "gone"), f"no broker leads {place}, which has acknowledged records")
            elif self.scene.keeps_acknowledged(place):
                for index, number in enumerate(batch.numbers):
                    offsets = kept[place].get(number, [])
                    if not offsets and place in compacted:
                        continue  # see `compaction`
                    if not offsets:
                        self.violated(
                            (place, "lost"),
                            f"record {number} of {place}, acknowledged to {batch.producer} at"
                            f" {batch.acknowledged_ms:,} ms, is lost",
                        )
                    elif batch.acknowledged_at >= 0 and batch.acknowledged_at + index not in offsets:
                        self.violated(
                            (place, "moved"),
                            f"record {number} of {place} was acknowledged at offset"
                            f" {batch.acknowledged_at + index} and is at {offsets[0]}",
                        )
        self._check_order({place: found for place, found in kept.items() if place not in compacted})
        self._check_reads({place: found for place, found in kept.items() if place not in compacted})

    def _kept(self) -> tuple[dict[Place, dict[int, list[Offset]]], set[Place]]:
        """The offsets of every record by partition and number, in the logs of the leaders.

        And the partitions that are compacted.
        """
        kept: dict[Place, dict[int, list[Offset]]] = {}
        compacted = set()
        for _, partition in self.scene.view.hosted():
            if partition.leadership is not None and partition.topic_partition.topic not in INTERNAL_TOPICS:
                topic, number = partition.topic_partition
                place = Place(topic, partition.topic_id, number)
                found = kept.setdefault(place, {})
                for batch in batches_in(content_of(partition.log, partition.log.end_offset)):
                    for offset, record in batch.numbers:
                        found.setdefault(record, []).append(offset)
                if self.scene.is_compacted(partition.log):
                    compacted.add(place)
        return kept, compacted

    def _check_order(self, kept: Mapping[Place, Mapping[int, list[Offset]]]) -> None:
        last: dict[tuple[str, Place], Offset] = {}
        missing: dict[tuple[str, Place], int] = {}
        for batch in self.scene.history.batches:
            place = batch.place
            if place not in kept or not self.scene.keeps_acknowledged(place):
                continue
            for number in batch.numbers:
                offsets = kept[place].get(number, [])
                key = (batch.producer, place)
                if len(offsets) > 1:
                    self.violated(
                        (place, "twice"), f"record {number} of {place} is there twice, at {offsets[:5]}"
                    )
                if not batch.is_idempotent:
                    continue
                if not offsets:
                    missing.setdefault(key, number)
                    continue
                if key in missing:
                    self.violated(
                        (place, "gap"),
                        f"record {number} of {batch.producer} is in {place}, and {missing[key]} is not",
                    )
                if offsets[0] <= last.get(key, -1):
                    self.violated(
                        (place, "order"), f"record {number} of {batch.producer} is out of order in {place}"
                    )
                last[key] = offsets[0]

    def _check_reads(self, kept: Mapping[Place, Mapping[int, list[Offset]]]) -> None:
        for place, read in self.scene.history.read.items():
            if place not in kept or not self.scene.is_promised(place):
                continue
            for offset, record in read.items():
                if offset not in kept[place].get(record.number, ()):
                    self.violated(
                        (place, "read"),
                        f"{record.reader} read record {record.number} at offset {offset} of {place} from"
                        f" broker {record.broker_id} at {record.at_ms:,} ms; it is not there any more",
                    )
                    break


class AnswersAgree(Checker):
    """F3, F10: what a consumer reads stays, and is below the HW of its answer; no sequence is forgotten."""

    NAME = "answers agree"

    def look(self) -> None:
        """See `Checker.look`."""
        for place, words in self.scene.history.contradictions:
            if place is None or self.scene.is_promised(place):
                self.violated((place, words.split(":", 1)[-1][:20]), words)
