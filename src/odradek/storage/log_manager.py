"""All logs of a broker, over all of its log directories: opens, recovers, creates, deletes and closes them.

The server calls the methods for flushing, retention and checkpoints when they are due. Work that waits for
the disk is returned as a value, with its data of that moment; the caller runs it on another thread. A
directory that fails takes only its own logs offline.

    opening             locks and checks the directories      log_checkpoints   their checkpoint files
    directory_loading   opens what is in them                 clean_stop        closes it
    log_moves           moves logs between them
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Final
from uuid import UUID

from odradek.base.chance import Chance
from odradek.base.clock import Clock
from odradek.base.errors import DataDirectoryError, StorageFailure
from odradek.base.execution import Steps, exhaust, stepwise
from odradek.base.ids import NO_TOPIC_ID, Offset, ProducerId, TopicPartition
from odradek.base.settings import BrokerSettings, TopicConfig
from odradek.storage.clean_stop import close_logs, leave_marks, write_checkpoints
from odradek.storage.directory_loading import DirectoryLoader
from odradek.storage.expected_logs import ExpectedLogs
from odradek.storage.files import FileSystem
from odradek.storage.flushing import InParallel, PendingFlush, one_after_another
from odradek.storage.hosted_logs import HostedLogs
from odradek.storage.log import Log
from odradek.storage.log_checkpoints import LogCheckpoints
from odradek.storage.log_directory import LogDirectory
from odradek.storage.log_moves import LogMoves, discard
from odradek.storage.opening import make_log, open_directories, require_one_online
from odradek.storage.opening_report import OpeningReport
from odradek.storage.retention import Retired

PREFERENCES_MAX: Final = 10_000
"""How many directories that were chosen for logs to come are kept; the oldest choices are forgotten."""


class LogManager:
    """The logs by partition. `open` is the way to get one; `close` is the clean stop."""

    def __init__(
        self, directories: list[LogDirectory], clock: Clock, config_of: Callable[[str], TopicConfig]
    ) -> None:
        self.directories = directories  # in the order of log.dirs, those offline included
        self.report = OpeningReport()
        self._clock = clock
        self._config_of = config_of
        self._hosted = HostedLogs()
        self.checkpoints = LogCheckpoints(directories, self._hosted)
        self.moves = LogMoves(self._hosted)
        # The directories that were chosen for logs that are not here yet, at most PREFERENCES_MAX (KIP-113).
        self._preferred: dict[TopicPartition, str] = {}
        self._high_watermarks: dict[TopicPartition, Offset] = {}  # as checkpointed at startup
        # The offset that each log had reached by the checkpoints at startup, including logs that are gone.
        self._reached: dict[TopicPartition, Offset] = {}
        # Logs of a directory that was missing or offline at startup: not created again before the next start,
        # unless they are deleted or given up (R15).
        self._missing: dict[TopicPartition, None] = {}
        for directory in directories:
            directory.write_recovery_points = partial(self.checkpoints.write_recovery_points, directory)

    @classmethod
    def open(
        cls,
        settings: BrokerSettings,
        *,
        cluster_id: str,
        file_system: FileSystem,
        clock: Clock,
        chance: Chance,
        config_of: Callable[[str], TopicConfig],
        expected: ExpectedLogs | None = None,
        producer_expiration_ms: Callable[[], int] | None = None,
    ) -> "LogManager":
        """Lock the directories, check that they belong to this broker, recover every log in them (L4).

        `expected` comes from the metadata store: logs of unknown topics are set aside, and missing logs are
        reported (R15). Without it every log is accepted.

        Raises DataDirectoryError, before anything is changed on disk, if a directory is in use by another
        broker or belongs to another cluster or node, or if none can be used; also if a partition has two
        logs, or the last directory fails while logs are recovered. Then the directories are unlocked.
        """
        directories = open_directories(
            settings,
            cluster_id=cluster_id,
            file_system=file_system,
            clock=clock,
            chance=chance,
            producer_expiration_ms=producer_expiration_ms or (lambda: settings.producer_id_expiration_ms),
        )
        manager = cls(directories, clock, config_of)
        loader = DirectoryLoader(
            directories, manager._hosted, manager.checkpoints, manager._config_for, expected
        )
        try:
            loader.load_all()
            require_one_online(directories)
        except DataDirectoryError:
            for directory in directories:
                directory.release_lock()
            raise
        manager.report, manager._missing = loader.report, loader.missing
        manager._high_watermarks, manager._reached = loader.high_watermarks, loader.reached
        loader.begin_moves_anew(manager.moves)
        return manager

    @property
    def stopped_cleanly(self) -> bool:
        """Whether the last stop was clean in every online directory, and all is as it was left (R15)."""
        return self.is_as_it_was_left and self._has_marks

    @property
    def is_as_it_was_left(self) -> bool:
        """Whether nothing shows that the directories are not those of the last stop (R15).

        An old copy, of a directory or of the store, is not; nor is a directory that was stopped cleanly and
        lacks records, as a clean stop writes how far each log is. After a kill that says nothing: checkpoints
        may name offsets that an earlier power cut took, and all that was there before the kill still is.
        """
        report = self.report
        is_copy = bool(report.copied_directories or report.later_directories)
        return not is_copy and not (self._has_marks and report.lacks_records)

    @property
    def _has_marks(self) -> bool:
        return all(directory.stopped_cleanly for directory in self.directories if directory.failure is None)

    @property
    def directory_ids(self) -> tuple[UUID, ...]:
        """The ids of this broker's log directories, except those that cannot be read."""
        return tuple(one.directory_id for one in self.directories if one.directory_id != NO_TOPIC_ID)

    def producer_ids(self) -> Iterator[ProducerId]:
        """The ids of the producers of all logs, some of them again and again; O(producers)."""
        return (entry.producer_id for log in self._hosted.all() for entry in log.producers.entries())

    def get(self, topic_partition: TopicPartition) -> Log | None:
        """The log of a partition hosted here, in a directory that is online."""
        log = self._hosted.get(topic_partition)
        return log if log is not None and log.place.failure is None else None

    def logs(self) -> Iterable[Log]:
        """All logs that are online."""
        return [log for log in self._hosted.all() if log.place.failure is None]

    def create(
        self, topic_partition: TopicPartition, topic_id: UUID | None = None, *, is_new: bool = True
    ) -> Log:
        """The partition's log; if missing, it is created in the directory with the fewest logs.

        Raises StorageFailure if no directory works, or if the log is offline; also if the partition is not
        new (`is_new`) and its log may be in an offline directory.
        """
        log = self._hosted.get(topic_partition)
        if log is not None:
            log.place.check_online()
            return log
        if topic_partition in self._missing:
            raise StorageFailure(f"the log of {topic_partition} lies in a log directory that is missing")
        if not is_new:
            for directory in self.directories:
                directory.check_online()
        reached_offset = 0 if is_new else self._reached.pop(topic_partition, 0)
        log = self._make(topic_partition, topic_id, reached_offset)
        log.place.repairs += log.recovery.lines()
        return log

    def delete(self, topic_partition: TopicPartition) -> None:
        """Delete a log: renamed at once, its files removed after `file.delete.delay.ms`.

        A log in a missing directory is forgotten; it becomes a stray when the directory is back.
        """
        self._missing.pop(topic_partition, None)
        self._reached.pop(topic_partition, None)
        self.moves.cancel(topic_partition)
        log = self._hosted.remove(topic_partition)
        if log is None or log.place.failure is not None:
            return
        discard(log)
        log.place.check_online()
        log.place.removals.add(log.path, log.config.file_delete_delay_ms)

    def prefer(self, topic_partition: TopicPartition, directory: str) -> None:
        """Choose the directory for a log that is not here, for when it is created; the last choice counts."""
        self._preferred.pop(topic_partition, None)
        self._preferred[topic_partition] = directory
        if len(self._preferred) > PREFERENCES_MAX:
            del self._preferred[next(iter(self._preferred))]

    def directory(self, path: str) -> LogDirectory | None:
        """The log directory with this path."""
        return next((one for one in self.directories if one.path == path), None)

    def is_offline(self, topic_partition: TopicPartition) -> bool:
        """Whether the partition's log lies in a directory that has failed (P3: KAFKA_STORAGE_ERROR)."""
        log = self._hosted.get(topic_partition)
        return topic_partition in self._missing or (log is not None and log.place.failure is not None)

    def offline_logs(self) -> dict[TopicPartition, str]:
        """The logs in directories that have failed, or were missing at the start, with the reasons."""
        found = dict.fromkeys(self._missing, "missing or offline at the start of the broker")
        if self.failed_directories():
            for log in self._hosted.all():
                if log.place.failure is not None:
                    found[log.topic_partition] = log.place.failure
        return found

    def is_missing(self, topic_partition: TopicPartition) -> bool:
        """Whether the partition's log lies in a directory that was missing or offline at the start (R15)."""
        return topic_partition in self._missing

    def give_up_missing(self, topic_partition: TopicPartition) -> None:
        """Let a log that was missing at the start be created anew: its replica copies another one (R15).

        An offline directory may have the log still, so nothing is given up while one is (`create`).
        """
        if all(directory.failure is None for directory in self.directories):
            self._missing.pop(topic_partition, None)

    def fail_directory(self, directory: str, reason: str | OSError) -> None:
        """Take a log directory offline, with all its logs (L7, R6); the first reason is kept."""
        for candidate in self.directories:
            if candidate.path == directory:
                candidate.fail(reason)

    def online_directories(self) -> list[str]:
        """The online log directories; a broker without any stops."""
        return [directory.path for directory in self.directories if directory.failure is None]

    def failed_directories(self) -> dict[str, str]:
        """The offline log directories, each with the cause and the remedy."""
        return {one.path: one.failure for one in self.directories if one.failure is not None}

    def topics(self) -> list[str]:
        """The topics that have a log on this broker, also those that the image does not name yet."""
        return self._hosted.topics()

    def update_config(self, topic: str, config: TopicConfig) -> None:
        """Give all logs of a topic their new settings."""
        for log in self._hosted.of_topic(topic):
            log.update_config(config)
        for copy in self._hosted.copies():
            if copy.topic_partition.topic == topic:
                copy.update_config(config)

    # Called by the server when due.

    def checkpointed_high_watermark(self, topic_partition: TopicPartition) -> Offset:
        """The HW in `replication-offset-checkpoint` at startup; 0 if absent (R12)."""
        return self._high_watermarks.get(topic_partition, 0)

    def retire(self, now_ms: int) -> Steps[list[Retired]]:
        """Apply retention to every log (L5); returns what it removed."""
        found: list[Retired] = []

        def retire(log: Log) -> int:
            retired = log.retire(now_ms)
            if retired is not None:
                found.append(retired)
            return 0

        yield from self._sum_over_logs(retire)
        return found

    def expire_producers(self, now_ms: int) -> Steps[int]:
        """Forget producers without a write for `producer.id.expiration.ms`; returns how many."""
        return self._sum_over_logs(lambda log: log.expire_producers(now_ms))

    def due_flushes(self, monotonic_ms: int) -> Steps[list[PendingFlush]]:
        """The flushes that are due by `flush.ms`."""
        flushes: list[PendingFlush] = []

        def look_at(log: Log) -> None:
            if log.is_flush_due(monotonic_ms) and self.get(log.topic_partition) is log:
                try:
                    flush = log.pending_flush()
                except StorageFailure:
                    return  # its directory is offline now, which is reported; the others go on
                if flush is not None:
                    flushes.append(flush)

        yield from stepwise(self.logs(), look_at)
        return flushes

    def take_due_removals(self) -> list[Callable[[], None]]:
        """Removals of files whose delay is over; each may block, raise OSError and run on any thread."""
        return [
            removal
            for directory in self.directories
            if directory.failure is None
            for removal in directory.removals.take_due()
        ]

    def take_repairs(self) -> list[str]:
        """The indexes that were found damaged and rebuilt since the last call, one sentence each."""
        return [sentence for directory in self.directories for sentence in directory.take_repairs()]

    def close(self, broker_epoch: int | None = None, in_parallel: InParallel = one_after_another) -> None:
        """The clean stop: flush, snapshots, checkpoints, `.kafka_cleanshutdown`, locks released.

        Each of these is on disk before the next begins. A directory that fails during it is left as after an
        unclean stop. `broker_epoch` is that of this run's registration; None if it never registered. A new
        directory of such a run gets none of these, and is nobody's again: the id may be another broker's.
        """
        unused = [] if broker_epoch is not None else [one for one in self.directories if _is_unused(one)]
        copies = [copy for copy in self.moves.copies() if copy.place.failure is None]
        close_logs([*self.logs(), *copies], in_parallel)
        checkpoints = self.checkpoints
        writes = [
            *exhaust(checkpoints.high_watermarks()),
            *exhaust(checkpoints.recovery_points()),
            *exhaust(checkpoints.log_start_offsets()),
        ]
        paths = {one.path for one in unused}
        writes = [write for write in writes if write.directory not in paths]
        write_checkpoints(writes, self.directories, in_parallel)
        leave_marks(self.directories, broker_epoch, in_parallel, unused)

    def describe(self) -> Mapping[str, Any]:
        """Returns a description of the directories and their logs."""
        return {
            "directories": [
                {
                    "path": directory.path,
                    "id": str(directory.directory_id),
                    "offline": directory.failure,
                    "logs": directory.log_count,
                    "size_bytes": sum(log.size_bytes for log in self._hosted.all() if log.place is directory),
                    "removals_waiting": len(directory.removals),
                }
                for directory in self.directories
            ],
            "logs": [log.describe() for log in self._hosted.all()],
            "copies": [copy.describe() for copy in self._hosted.copies()],
        }

    def _make(self, topic_partition: TopicPartition, topic_id: UUID | None, reached_offset: Offset) -> Log:
        self.checkpoints.forget(topic_partition)
        chosen = self._preferred.pop(topic_partition, None)
        for directory in sorted(self.directories, key=lambda one: (one.path != chosen, one.log_count)):
            if directory.failure is None:
                try:
                    config = self._config_for(topic_partition.topic)
                    log = make_log(directory, topic_partition, config, topic_id, reached_offset)
                except StorageFailure:
                    continue  # offline from now on; the next one may still work
                self._hosted.add(log)
                return log
        raise StorageFailure(f"no log directory is left for {topic_partition}")

    def _config_for(self, topic: str) -> TopicConfig:
        """The settings of a topic, from its other logs: computing them costs as much as opening a log."""
        other = next(iter(self._hosted.of_topic(topic)), None)
        return self._config_of(topic) if other is None else other.config

    def _sum_over_logs(self, count: Callable[[Log], int]) -> Steps[int]:
        """Sum `count` over the logs, one in each step; a log deleted meanwhile is skipped."""
        total = 0
        for log in list(self.logs()):
            if self.get(log.topic_partition) is log:
                try:
                    total += count(log)
                except StorageFailure:
                    continue  # its directory is offline now, which is reported; the others go on
                yield
        return total


def _is_unused(directory: LogDirectory) -> bool:
    """Whether this start has found the directory without an owner, and it has neither logs nor copies."""
    if not directory.is_new or directory.failure is not None:
        return False
    try:
        entries = directory.file_system.list_directory(directory.path)
    except OSError:
        return False  # the mark will fail, too, which is reported
    return all(size >= 0 for _, size in entries)  # -1: a directory
