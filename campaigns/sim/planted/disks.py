"""Bugs of logs and of what they leave on a disk: syncs, checkpoints, recovery, producers, epochs."""

from collections.abc import Mapping
from typing import Any, Final
from unittest.mock import patch

from campaigns.sim.planted.planting import Plant, replaced, together
from odradek.base.ids import Offset, TopicPartition
from odradek.replication.following import Following
from odradek.storage import directory_loading, log, recovery, truncation
from odradek.storage.appending import LogAppender
from odradek.storage.flushing import FlushState
from odradek.storage.log import Log
from odradek.storage.log_checkpoints import LogCheckpoints
from odradek.storage.log_manager import LogManager
from odradek.storage.log_parts import LogParts
from odradek.storage.verification import Verification
from odradek.testing.sim.disk import DiskHandle


def _unsettled_truncation(original: Any) -> Any:
    def truncate(self: Following, topic_partition: TopicPartition, offset: Offset) -> None:
        log = self._logs.get(topic_partition)
        assert log is not None
        log.truncate_to(offset)

    return truncate


def _no_barrier(original: Any) -> Any:
    def forget(self: LogAppender) -> None:
        self._flushes.is_cut = False

    return forget


def _no_cut_at_the_end(original: Any) -> Any:
    def truncate_to(parts: LogParts, offset: Offset) -> bool:
        return offset < parts.offsets.end and original(parts, offset)

    return truncate_to


def _checkpoint_before_data(original: Any) -> Any:
    def recovery_points(self: LogCheckpoints) -> Any:
        with patch.object(Log, "flushed_offset", Log.end_offset):
            due = yield from original(self)
        return due

    return recovery_points


def _nothing_verified(original: Any) -> Any:
    def verify(self: Verification, segment: Any, header: Any, batch: object) -> None:
        """No check of the batch."""

    return verify


def _taken_for_clean(original: Any) -> Any:
    def load_log(*given: Any, clean: bool, **named: Any) -> Any:
        return original(*given, clean=True, **named)

    return load_log


def _recovery_point_kept(original: Any) -> Any:
    def truncated_to(self: FlushState, offset: Offset) -> None:
        flushed_offset = self.flushed_offset
        original(self, offset)
        self.flushed_offset = flushed_offset

    return truncated_to


DISKS: Final[Mapping[str, Plant]] = {
    "truncation without barrier": together(
        replaced(Following, "truncate", _unsettled_truncation),
        replaced(Log, "is_settled", lambda original: property(lambda self: True)),
        replaced(LogAppender, "_bring_cut_to_disk", _no_barrier),
    ),
    "epoch cache not cut at LEO": replaced(log, "truncate_to", _no_cut_at_the_end),
    "directory not synced": replaced(DiskHandle, "sync_directory", lambda original: lambda self, path: None),
    "checkpoint before the data": replaced(LogCheckpoints, "recovery_points", _checkpoint_before_data),
    "recovery point kept at a truncation": replaced(FlushState, "truncated_to", _recovery_point_kept),
    "leader epochs not saved": replaced(LogParts, "save_epochs", lambda original: lambda self: None),
    "producers kept after a truncation": replaced(
        truncation, "rebuild_producers", lambda original: lambda *_: []
    ),
    "producers forgotten at a start": replaced(recovery, "rebuild_producers", lambda original: lambda *_: []),
    "HW forgotten at a start": replaced(
        LogManager, "checkpointed_high_watermark", lambda original: lambda self, topic_partition: 0
    ),
    "batches not verified after a crash": replaced(Verification, "_check_batch", _nothing_verified),
    "an unclean log taken for clean": replaced(directory_loading, "load_log", _taken_for_clean),
}
"""By what a person would call them."""
