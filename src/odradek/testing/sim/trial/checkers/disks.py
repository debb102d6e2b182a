"""What a disk holds against what its broker relies on: a power cut at any moment would find it so.

Each property is looked at without an operation of the disk, so that a trial goes the same way with
and without the checker:

    the end of a log was cut off     that is on the disk before more is written (X6)
    recovery point 40 in a file      the batches below 40 do not change in a power cut any more (L4, X6)
    a segment was cut off            once LEO is above its base, its name does not come back (X6); where one
                                     is compacted, the names that come back belong to the log as it was
    HW 12 in a file                  a restarted broker begins with 12, or with LEO where that is lower (R12)
    epochs in a file and in memory   agree with the batches (X4)
    producers in memory              are those of the batches, also after a truncation or a start (P7)
    aborted transactions             in the indexes are those of the batches (L1)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from odradek.base.ids import NO_PRODUCER_ID, Offset, TopicPartition
from odradek.records.header import BatchHeader, iter_headers
from odradek.storage import Log, file_names
from odradek.storage.checkpoint import read_epochs, read_offsets
from odradek.storage.epoch_cache import EpochCache
from odradek.storage.memory_files import MemoryFileSystem
from odradek.storage.producer_replay import remember_batch
from odradek.storage.producer_state import ProducerEntry, ProducerStates
from odradek.storage.transaction_index import AbortedTransaction
from odradek.testing.sim.node import SimNode
from odradek.testing.sim.trial.checkers.checker import Checker, Scene

LOOK_EVERY: Final = 10
"""What lasts until the next flush is looked at in one look of so many."""
NEVER_MS: Final = 1 << 62
"""Producers are not forgotten before that."""
FIRST_OFFSET_BYTES: Final = 8
"""A batch begins with its base offset."""


class DisksKeepTheirPromises(Checker):
    """L4, R12, X4, X6: see the module's head."""

    NAME = "disks hold what brokers rely on"

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self._looks = 0
        # The HW of each partition in the files, as a life found them.
        self._found_high_watermarks: dict[SimNode, Mapping[TopicPartition, Offset]] = {}
        # The logs that were compared with their batches, with their number of truncations.
        self._compared: dict[Log, int] = {}
        self._hosted: dict[SimNode, set[TopicPartition]] = {}

    def look(self) -> None:
        """See `Checker.look`."""
        self._looks += 1
        for node in self.scene.view.living():
            if node not in self._found_high_watermarks:
                self._found_high_watermarks[node] = _offsets_in(node, file_names.HIGH_WATERMARKS)
            if node.has_opened:
                self._look_at_hosted(node)
                if self._looks % LOOK_EVERY == 0:
                    self._look_at_disk(node)

    def conclude(self) -> None:
        """See `Checker.conclude`."""
        for node in self.scene.view.living():
            if node.has_opened:
                self._look_at_disk(node)
                for log in node.logs.logs():
                    self._compare_with_batches(node, log)
                    if not self.scene.is_compacted(log) and not log.log_start_offset:
                        self._compare_with_replay(node, log)

    def _compare_with_replay(self, node: SimNode, log: Log) -> None:
        """Compare all that is known of producers with what the whole log says."""
        replayed, aborted = ProducerStates(lambda: NEVER_MS), list[AbortedTransaction]()
        for segment in log.segments:
            content = memoryview(node.disk.content(segment.file.path) or b"")
            for at, header in iter_headers(content):
                if header.producer_id != NO_PRODUCER_ID:
                    remember_batch(replayed, header, content[at : at + header.size_bytes], aborted)
        for entry in log.producers.entries():
            expected = replayed.get(entry.producer_id)
            if expected is not None and _outline(entry) != _outline(expected):
                self.violated(
                    (node.broker_id, log.topic_partition, "replay"),
                    f"broker {node.broker_id} knows of producer {entry.producer_id} in {_name(log)}"
                    f" {_outline(entry)}; its batches say {_outline(expected)}",
                )
        indexed = [one[:3] for segment in log.segments for one in segment.transaction_index.entries()]
        if indexed != [one[:3] for one in aborted]:
            self.violated(
                (node.broker_id, log.topic_partition, "aborted"),
                f"broker {node.broker_id} has the aborted transactions {indexed} in the indexes of"
                f" {_name(log)}; its batches say {[one[:3] for one in aborted]}",
            )

    def _look_at_hosted(self, node: SimNode) -> None:
        """R12: the HW with which a life begins."""
        hosted = self._hosted.setdefault(node, set())
        for partition in node.core.replicas.partitions():
            named = partition.topic_partition
            if named in hosted:
                continue
            hosted.add(named)
            found, log = self._found_high_watermarks[node].get(named, 0), partition.log
            if log.high_watermark.offset < min(found, log.end_offset):
                self.violated(
                    (node.broker_id, named, "HW"),
                    f"broker {node.broker_id} begins with the high watermark {log.high_watermark.offset} of"
                    f" {named[0]}-{named[1]}; its disk had {found}, and its log ends at {log.end_offset}",
                )

    def _look_at_disk(self, node: SimNode) -> None:
        disk = node.disk
        points = _offsets_in(node, file_names.RECOVERY_POINTS)
        for log in node.logs.logs():
            if disk.content(f"{log.path}/{file_names.LEADER_EPOCHS}") is None and not log.end_offset:
                continue  # just made
            self._check_recovery_point(node, log, points.get(log.topic_partition, 0))
            if not self.scene.is_compacted(log):
                self._check_names(node, log)
            if self._compared.get(log) != log.truncations:
                self._compared[log] = log.truncations
                self._compare_with_batches(node, log)

    def _check_recovery_point(self, node: SimNode, log: Log, recovery_point: Offset) -> None:
        # Names of compacted segments change in an order in which every start finds the log whole (L5).
        with_names = not self.scene.is_compacted(log)
        at_risk_names = node.disk.at_risk_in(log.path)
        for segment in log.segments:
            path = segment.file.path
            if path.rpartition("/")[2] not in at_risk_names:
                continue
            if node.disk.may_undo_cut(path):
                self.violated(
                    (node.broker_id, log.topic_partition, "cut"),
                    f"broker {node.broker_id} has cut off {_name(log)} and written again, and a power cut"
                    " may bring back what it has cut off",
                )
            if segment.base_offset >= recovery_point:
                return
            at_risk = node.disk.at_risk_from(path, with_names=with_names)
            if at_risk is None:
                continue
            content = node.disk.content(path) or b""
            if at_risk >= len(content):
                continue
            offset = int.from_bytes(content[at_risk : at_risk + FIRST_OFFSET_BYTES])
            if offset < recovery_point:
                self.violated(
                    (node.broker_id, log.topic_partition, "recovery point"),
                    f"broker {node.broker_id} has the recovery point {recovery_point} of {_name(log)} on its"
                    f" disk, and a power cut may change its records from offset {offset} on",
                )

    def _check_names(self, node: SimNode, log: Log) -> None:
        for name in node.disk.lingering(log.path):
            base, dot, suffix = name.partition(".")
            if dot and suffix == "log" and log.log_start_offset <= int(base) < log.end_offset:
                self.violated(
                    (node.broker_id, log.topic_partition, "names"),
                    f"a power cut may bring back the segment {name} of {_name(log)} on broker"
                    f" {node.broker_id}, whose log ends at {log.end_offset}",
                )

    def _compare_with_batches(self, node: SimNode, log: Log) -> None:
        headers = list(_headers(node.disk, log))
        stored, _ = read_epochs(node.disk, f"{log.path}/{file_names.LEADER_EPOCHS}")
        epochs = EpochCache(stored)
        for header in headers:
            offset, epoch = header.base_offset, header.leader_epoch
            known, written = log.epoch_of(offset), epochs.epoch_of(offset)
            if epoch not in (known, written) or known != written:
                self.violated(
                    (node.broker_id, log.topic_partition, "epochs"),
                    f"offset {offset} of {_name(log)} is of epoch {epoch}; broker {node.broker_id} takes it"
                    f" for epoch {known}, and has {written} on its disk",
                )
        self._compare_producers(node, log, headers)

    def _is_cleaned_away(self, log: Log, headers: list[BatchHeader], offset: Offset) -> bool:
        """Whether no batch has this offset, in a log where batches are taken out."""
        holders = (header for header in headers if header.base_offset <= offset <= header.last_offset)
        return self.scene.is_compacted(log) and offset < log.end_offset and next(holders, None) is None

    def _compare_producers(self, node: SimNode, log: Log, headers: list[BatchHeader]) -> None:
        last = {
            header.producer_id: header
            for header in headers
            if header.producer_id != NO_PRODUCER_ID and not header.is_control
        }
        for producer_id, header in last.items():
            entry = log.producers.get(producer_id)
            if entry is not None and entry.epoch > header.producer_epoch:
                continue  # a marker has begun its next epoch, with other sequences
            if entry is not None and self._is_cleaned_away(log, headers, entry.last_offset):
                continue  # for a later batch of the producer, which a power cut has taken
            known = None if entry is None else entry.last_sequence
            if known != header.last_sequence:
                self.violated(
                    (node.broker_id, log.topic_partition, "producers"),
                    f"producer {producer_id} has written sequence {header.last_sequence} to {_name(log)};"
                    f" broker {node.broker_id} knows {known} as its last one",
                )
        for entry in log.producers.entries():
            if entry.last_offset >= log.end_offset:
                self.violated(
                    (node.broker_id, log.topic_partition, "producers"),
                    f"{_name(log)} ends at {log.end_offset} on broker {node.broker_id}, which knows a batch"
                    f" of producer {entry.producer_id} at {entry.last_offset}",
                )


def _outline(entry: ProducerEntry) -> tuple[object, ...]:
    """The epoch of a producer, where its open transaction begins, and its last batches."""
    batches = [(one.first_sequence, one.last_sequence, one.first_offset) for one in entry.batches]
    return entry.epoch, entry.coordinator_epoch, entry.transaction_first_offset, batches


def _name(log: Log) -> str:
    return f"{log.topic_partition.topic}-{log.topic_partition.partition}"


def _offsets_in(node: SimNode, name: str) -> Mapping[TopicPartition, Offset]:
    """The lines of a checkpoint file of a broker's only log directory."""
    offsets, _ = read_offsets(node.disk, f"{DIRECTORY}/{name}")
    return offsets


def _headers(disk: MemoryFileSystem, log: Log) -> Iterator[BatchHeader]:
    """The batches of a log from its start on."""
    for segment in log.segments:
        for _, header in iter_headers(disk.content(segment.file.path) or b""):
            if header.base_offset >= log.log_start_offset:
                yield header


DIRECTORY: Final = "/data"
"""The log directory of each broker."""
