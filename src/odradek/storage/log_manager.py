"""All logs of a broker, over all of its log directories: opened and recovered, made, deleted, closed.

Nothing here runs by itself: flushing, retention and checkpoints are methods that the server calls when
they are due. What waits for the disk is returned as a value, with what was to be written as it was then;
the caller runs it on another thread. One directory that fails takes its logs with it and no others.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any
from uuid import UUID

from odradek.base.chance import Chance
from odradek.base.clock import Clock
from odradek.base.errors import DataDirectoryError, StorageFailure
from odradek.base.execution import Steps, exhaust, stepwise
from odradek.base.ids import NO_TOPIC_ID, Offset, TopicPartition
from odradek.base.settings import BrokerSettings, TopicConfig
from odradek.storage import file_names
from odradek.storage.checkpoint import CheckpointWrite, read_offsets, write_offsets
from odradek.storage.expected_logs import NO_BROKER_EPOCH, ExpectedLogs
from odradek.storage.files import FileSystem
from odradek.storage.flushing import InParallel, PendingFlush, one_after_another
from odradek.storage.log import Log
from odradek.storage.log_directory import LogDirectory
from odradek.storage.opening import make_log, open_directories
from odradek.storage.opening_report import OpeningReport
from odradek.storage.recovery import load_log
from odradek.storage.strays import is_stray, set_aside, take_back

_CHECKPOINTS = (
    file_names.HIGH_WATERMARKS,
    file_names.RECOVERY_POINTS,
    file_names.LOG_START_OFFSETS,
    file_names.CLEANED_OFFSETS,
)

LOGS_CLOSED_AT_ONCE = 64
"""How many logs a clean stop brings to disk together: each holds duplicates of its descriptors meanwhile."""


class LogManager:
    """The logs by partition. `open` is the way to get one; `close` is the clean stop."""

    def __init__(
        self, directories: list[LogDirectory], clock: Clock, config_of: Callable[[str], TopicConfig]
    ) -> None:
        self.directories = directories  # in the order of log.dirs, those offline included
        self.report = OpeningReport()
        self._clock = clock
        self._config_of = config_of
        self._logs: dict[TopicPartition, Log] = {}  # all that are hosted, those offline included
        self._by_topic: dict[str, dict[TopicPartition, Log]] = {}  # the same; no topic is without a log
        self._high_watermarks: dict[TopicPartition, Offset] = {}  # as the checkpoints had them at the start
        # Up to where a partition's log had come by the checkpoints at the start, also of logs that are gone.
        self._reached: dict[TopicPartition, Offset] = {}
        # Logs that lay in a directory which is missing or offline since the start: never made anew (R15).
        self._missing: dict[TopicPartition, None] = {}
        # What each checkpoint file holds, by path, so that an unchanged one is not written again.
        self._written: dict[str, dict[TopicPartition, Offset]] = {}
        for directory in directories:
            directory.write_recovery_points = partial(self._write_recovery_points, directory)

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
        """Lock the directories, check whose they are, recover every log in them (L4).

        `expected` is what the metadata store says of them: logs of unknown topics are set aside, and those
        that are missing are reported (R15). Without it every log counts.

        DataDirectoryError, before anything is changed on disk, when a directory is in use by another broker,
        belongs to another cluster or node, or when none can be used.
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
        for directory in directories:
            if directory.failure is None:
                try:
                    manager._load(directory, expected)
                except OSError as error:
                    directory.fail(error)
            if directory.failure is not None:
                manager.report.offline_directories[directory.path] = directory.failure
            elif not directory.stopped_cleanly and any(
                log.place is directory for log in manager._logs.values()
            ):
                manager.report.unclean_directories.append(directory.path)
        if expected is not None:
            manager._note_missing(expected)
        return manager

    @property
    def stopped_cleanly(self) -> bool:
        """Whether the last stop was clean in every directory that works (R15).

        A directory that an earlier run stopped cleanly is a copy of that time, and was not.
        """
        return not self.report.copied_directories and all(
            directory.stopped_cleanly for directory in self.directories if directory.failure is None
        )

    @property
    def directory_ids(self) -> tuple[UUID, ...]:
        """The log directories that this broker has; of one that cannot be read the id is not known."""
        return tuple(one.directory_id for one in self.directories if one.directory_id != NO_TOPIC_ID)

    def get(self, topic_partition: TopicPartition) -> Log | None:
        """The log of a partition hosted here, in a directory that is online."""
        log = self._logs.get(topic_partition)
        return log if log is not None and log.place.failure is None else None

    def logs(self) -> Iterable[Log]:
        """All logs that are online."""
        return [log for log in self._logs.values() if log.place.failure is None]

    def create(
        self, topic_partition: TopicPartition, topic_id: UUID | None = None, *, is_new: bool = True
    ) -> Log:
        """The partition's log, made when missing in the directory with the fewest.

        StorageFailure when no directory works, or when the log is offline; also when the partition is not
        new (`is_new`) and its log may lie in a directory that is offline.
        """
        log = self._logs.get(topic_partition)
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

        One that lies in a missing directory is given up; it is a stray when the directory is back.
        """
        self._missing.pop(topic_partition, None)
        self._reached.pop(topic_partition, None)
        log = self._logs.pop(topic_partition, None)
        if log is not None:
            self._by_topic[topic_partition.topic].pop(topic_partition)
            if not self._by_topic[topic_partition.topic]:
                del self._by_topic[topic_partition.topic]
        if log is None or log.place.failure is not None:
            return
        log.place.log_count -= 1
        name = file_names.deleted_directory(topic_partition, log.place.chance.uuid())
        log.rename_directory(name)
        log.place.removals.add(log.path, log.config.file_delete_delay_ms)

    def is_offline(self, topic_partition: TopicPartition) -> bool:
        """Whether the partition's log lies in a directory that has failed (P3: KAFKA_STORAGE_ERROR)."""
        log = self._logs.get(topic_partition)
        return topic_partition in self._missing or (log is not None and log.place.failure is not None)

    def is_missing(self, topic_partition: TopicPartition) -> bool:
        """Whether the partition's log lies in a directory that was missing or offline at the start (R15)."""
        return topic_partition in self._missing

    def fail_directory(self, directory: str, reason: str | OSError) -> None:
        """Take a log directory offline, with all its logs (L7, R6); the first reason is the one that stays."""
        for candidate in self.directories:
            if candidate.path == directory:
                candidate.fail(reason)

    def online_directories(self) -> list[str]:
        """The log directories that still work; a broker without any stops."""
        return [directory.path for directory in self.directories if directory.failure is None]

    def failed_directories(self) -> dict[str, str]:
        """The log directories that do not work: what made each fail and what to do about it."""
        return {one.path: one.failure for one in self.directories if one.failure is not None}

    def update_config(self, topic: str, config: TopicConfig) -> None:
        """Give all logs of a topic their new settings."""
        for log in self._by_topic.get(topic, {}).values():
            log.update_config(config)

    # What the server calls when it is due.

    def checkpointed_high_watermark(self, topic_partition: TopicPartition) -> Offset:
        """What `replication-offset-checkpoint` held at start, 0 when absent (R12)."""
        return self._high_watermarks.get(topic_partition, 0)

    def high_watermark_checkpoints(self) -> Steps[list[CheckpointWrite]]:
        """`replication-offset-checkpoint` of every directory where it has changed (R12)."""
        return self._due_checkpoints(file_names.HIGH_WATERMARKS, lambda log: log.high_watermark.offset)

    def recovery_point_checkpoints(self) -> Steps[list[CheckpointWrite]]:
        """`recovery-point-offset-checkpoint` of every directory where it has changed (R12)."""
        return self._due_checkpoints(file_names.RECOVERY_POINTS, lambda log: log.flushed_offset)

    def log_start_offset_checkpoints(self) -> Steps[list[CheckpointWrite]]:
        """`log-start-offset-checkpoint` where it has changed (R12), of logs that begin inside a segment."""
        return self._due_checkpoints(
            file_names.LOG_START_OFFSETS,
            lambda log: log.log_start_offset if log.starts_inside_segment else None,
        )

    def checkpoint_written(self, write: CheckpointWrite) -> None:
        """A checkpoint is on disk: it is not written again before it changes."""
        self._written[write.path] = write.offsets

    def cleaner_checkpoint(self, directory: LogDirectory) -> Callable[[], None]:
        """Writes the directory's `cleaner-offset-checkpoint` as of now; may block, raise OSError and run on
        any thread."""
        offsets = exhaust(self._offsets_in(directory, lambda log: log.cleaned_offset or None))
        path = f"{directory.path}/{file_names.CLEANED_OFFSETS}"
        return lambda: write_offsets(directory.file_system, path, offsets)

    def delete_old_segments(self, now_ms: int) -> Steps[int]:
        """Apply retention to every log (L5); how many segments were dropped."""
        return self._sum_over_logs(lambda log: log.delete_old_segments(now_ms))

    def expire_producers(self, now_ms: int) -> Steps[int]:
        """Forget producers without a write for `producer.id.expiration.ms`; how many."""
        return self._sum_over_logs(lambda log: log.expire_producers(now_ms))

    def due_flushes(self, monotonic_ms: int) -> Steps[list[PendingFlush]]:
        """The flushes that `flush.ms` asks for by now."""
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
        """The indexes that were found damaged since the last call and made again, one sentence each."""
        return [sentence for directory in self.directories for sentence in directory.take_repairs()]

    def close(self, broker_epoch: int | None = None, in_parallel: InParallel = one_after_another) -> None:
        """The clean stop: flush, snapshots, checkpoints, `.kafka_cleanshutdown`, locks released.

        Each of these is on disk before the next begins. A directory that fails on the way is left as after
        an unclean stop. `broker_epoch` is that of this run's registration, None before there was one.
        """
        logs = list(self.logs())
        for begin in range(0, len(logs), LOGS_CLOSED_AT_ONCE):
            self._close_logs(logs[begin : begin + LOGS_CLOSED_AT_ONCE], in_parallel)
        checkpoints = [
            *exhaust(self.high_watermark_checkpoints()),
            *exhaust(self.recovery_point_checkpoints()),
            *exhaust(self.log_start_offset_checkpoints()),
        ]
        errors = in_parallel([write.run for write in checkpoints])
        for write, error in zip(checkpoints, errors, strict=True):
            if error is not None:
                self.fail_directory(write.directory, error)
        online = [directory for directory in self.directories if directory.failure is None]
        errors = in_parallel([partial(one.leave_clean_shutdown_mark, broker_epoch) for one in online])
        for directory, error in zip(online, errors, strict=True):
            if error is not None:
                directory.fail(error)
        for directory in self.directories:
            directory.release_lock()

    def describe(self) -> Mapping[str, Any]:
        """Returns a description of the directories and their logs."""
        return {
            "directories": [
                {
                    "path": directory.path,
                    "id": str(directory.directory_id),
                    "offline": directory.failure,
                    "logs": directory.log_count,
                    "size_bytes": sum(
                        log.size_bytes for log in self._logs.values() if log.place is directory
                    ),
                    "removals_waiting": len(directory.removals),
                }
                for directory in self.directories
            ],
            "logs": [log.describe() for log in self._logs.values()],
        }

    def _load(self, directory: LogDirectory, expected: ExpectedLogs | None) -> None:
        recovery_points = self._read_checkpoint(directory, file_names.RECOVERY_POINTS)
        start_offsets = self._read_checkpoint(directory, file_names.LOG_START_OFFSETS)
        # A log without a line begins with its first segment, if the file can be believed: it is there, and
        # each of its lines is of a log that is.
        names = {name for name, size_bytes in directory.file_system.list_directory(directory.path)}
        is_known = f"{directory.path}/{file_names.LOG_START_OFFSETS}" in self._written and all(
            str(partition) in names for partition in start_offsets
        )
        start_otherwise = 0 if is_known else None
        cleaned = self._read_checkpoint(directory, file_names.CLEANED_OFFSETS)
        high_watermarks = self._read_checkpoint(directory, file_names.HIGH_WATERMARKS)
        self._high_watermarks.update(high_watermarks)
        for checkpoint in (recovery_points, high_watermarks):
            for reached_by, offset in checkpoint.items():
                self._reached[reached_by] = max(offset, self._reached.get(reached_by, 0))
        if expected is not None:
            self._note_copy(directory, expected)
        for partition in self._logs_in(directory, expected):
            if partition in self._logs:
                other = self._logs[partition].directory
                raise DataDirectoryError(
                    f"{partition} has a log in {other} and one in {directory.path}: move one of them away"
                )
            config = self._config_for(partition.topic)
            loaded = load_log(
                directory,
                partition,
                config,
                clean=directory.stopped_cleanly,
                recovery_point=recovery_points.get(partition, 0),
                log_start_offset=start_offsets.get(partition, start_otherwise),
                high_watermark=high_watermarks.get(partition, 0),
                was_compacted=cleaned.get(partition, 0) > 0,
            )
            log = Log(partition, directory, config, loaded)
            self._add(partition, log)
            log.mark_cleaned(cleaned.get(partition, 0))
            directory.log_count += 1
            if not (loaded.report.clean and loaded.report.is_uneventful()):
                self.report.logs.append(loaded.report)

    def _logs_in(self, directory: LogDirectory, expected: ExpectedLogs | None) -> list[TopicPartition]:
        """The partitions that have a log in a directory, by name; other entries are reported."""
        found: list[TopicPartition] = []
        report, path = self.report, directory.path
        for name, size_bytes in directory.file_system.list_directory(path):
            if size_bytes >= 0:
                continue
            partition = file_names.topic_partition_of(name)
            if partition is not None and partition.topic == file_names.KRAFT_METADATA_TOPIC:
                pass  # Left as Kafka wrote it: it may be started here again.
            elif file_names.is_deleted_directory(name):
                directory.removals.add(f"{path}/{name}", 0)
            elif file_names.partition_of_stray(name) is not None:
                back = None if expected is None else take_back(directory, name, expected)
                if back is None:
                    report.strays_left.setdefault(path, []).append(name)
                else:
                    report.strays_back.setdefault(path, []).append(back)
                    found.append(back)
            elif partition is None:
                report.ignored.append(f"{path}/{name}")
            elif expected is None or not is_stray(directory, partition, expected):
                found.append(partition)
            elif set_aside(directory, partition) is not None:
                report.strays.setdefault(path, []).append(partition)
            else:
                report.ignored.append(f"{path}/{name}")
        return found

    def _note_copy(self, directory: LogDirectory, expected: ExpectedLogs) -> None:
        """R15: a mark of another run than the last one shows that the directory is a copy of that time.

        Unless that run did not have the directory, and wrote nothing that it could lack.
        """
        epoch, last_epoch = directory.clean_epoch, expected.broker_epoch
        if epoch in (None, NO_BROKER_EPOCH, last_epoch) or last_epoch == NO_BROKER_EPOCH:
            return
        if directory.directory_id not in expected.missing_directory_ids:
            self.report.copied_directories[directory.path] = epoch

    def _note_missing(self, expected: ExpectedLogs) -> None:
        """R15: what a missing directory held is not made anew; what else is missing begins where it was."""
        missing = [partition for partition in expected.in_sync if partition not in self._logs]
        present = {directory.directory_id for directory in self.directories}
        known = (*expected.directory_ids, *expected.missing_directory_ids)
        gone = tuple(one for one in known if one not in present)
        if not missing:
            return
        if gone or self.report.offline_directories:
            self._missing = dict.fromkeys(missing)
            self.report.missing_logs, self.report.missing_directories = missing, gone
            self.report.new_directories = [one.path for one in self.directories if one.is_new]
            return
        unmade = set() if self.report.damages else set(expected.new) - set(self._reached)
        self.report.unmade_logs = [partition for partition in missing if partition in unmade]
        self.report.vanished_logs = [partition for partition in missing if partition not in unmade]

    def _read_checkpoint(self, directory: LogDirectory, name: str) -> dict[TopicPartition, Offset]:
        offsets, damage = read_offsets(directory.file_system, f"{directory.path}/{name}")
        if damage is not None:
            self.report.damages.append(damage)
        elif directory.file_system.exists(f"{directory.path}/{name}"):
            self._written[f"{directory.path}/{name}"] = offsets
        return offsets

    def _forget_checkpointed(self, topic_partition: TopicPartition) -> None:
        """What the checkpoints say of an earlier log of that name is not true of a new one.

        Not synced: a kill finds it, and after a power cut the worst is that offsets are passed over.
        """
        for directory in self.directories:
            for name in _CHECKPOINTS:
                path = f"{directory.path}/{name}"
                written = self._written.get(path, {})
                if topic_partition in written and directory.failure is None:
                    offsets = {one: offset for one, offset in written.items() if one != topic_partition}
                    try:
                        write_offsets(directory.file_system, path, offsets, durable=False)
                    except OSError as error:
                        directory.fail(error)
                    self._written[path] = offsets

    def _make(self, topic_partition: TopicPartition, topic_id: UUID | None, reached_offset: Offset) -> Log:
        self._forget_checkpointed(topic_partition)
        for directory in sorted(self.directories, key=lambda candidate: candidate.log_count):
            if directory.failure is None:
                try:
                    config = self._config_for(topic_partition.topic)
                    log = make_log(directory, topic_partition, config, topic_id, reached_offset)
                except StorageFailure:
                    continue  # offline from now on; the next one may still work
                self._add(topic_partition, log)
                directory.log_count += 1
                return log
        raise StorageFailure(f"no log directory is left for {topic_partition}")

    def _config_for(self, topic: str) -> TopicConfig:
        """The settings of a topic, as its other logs have them: working them out costs as much as a log."""
        other = next(iter(self._by_topic.get(topic, {}).values()), None)
        return self._config_of(topic) if other is None else other.config

    def _add(self, topic_partition: TopicPartition, log: Log) -> None:
        self._logs[topic_partition] = log
        self._by_topic.setdefault(topic_partition.topic, {})[topic_partition] = log

    def _close_logs(self, logs: Sequence[Log], in_parallel: InParallel) -> None:
        flushes: list[tuple[Log, PendingFlush]] = []
        for log in logs:
            try:
                flush = log.seal()
            except StorageFailure:
                continue  # said by `directory.failure`; the others are still to be closed
            if flush is not None:
                flushes.append((log, flush))
        errors = in_parallel([flush.run for _, flush in flushes])
        for (log, flush), error in zip(flushes, errors, strict=True):
            if error is None:
                log.mark_flushed(flush)
            else:
                log.place.fail(error)
        for log in logs:
            if log.place.failure is None:
                log.close()

    def _write_recovery_points(self, directory: LogDirectory) -> None:
        for write in exhaust(self.recovery_point_checkpoints()):
            if write.directory == directory.path:
                write.run()
                self.checkpoint_written(write)

    def _due_checkpoints(
        self, name: str, offset_of: Callable[[Log], Offset | None]
    ) -> Steps[list[CheckpointWrite]]:
        due = []
        for directory in self.directories:
            if directory.failure is None:
                path = f"{directory.path}/{name}"
                offsets = yield from self._offsets_in(directory, offset_of)
                if (yield from self._differs(path, offsets)):
                    due.append(CheckpointWrite(directory.path, path, offsets, directory.file_system))
        return due

    def _offsets_in(
        self, directory: LogDirectory, offset_of: Callable[[Log], Offset | None]
    ) -> Steps[dict[TopicPartition, Offset]]:
        """What the directory's logs are at; one that is deleted meanwhile is left out."""
        offsets: dict[TopicPartition, Offset] = {}

        def look_at(log: Log) -> None:
            if log.place is directory and self._logs.get(log.topic_partition) is log:
                offset = offset_of(log)
                if offset is not None:
                    offsets[log.topic_partition] = offset

        yield from stepwise(list(self._logs.values()), look_at)
        return offsets

    def _differs(self, path: str, offsets: Mapping[TopicPartition, Offset]) -> Steps[bool]:
        """Whether a checkpoint file holds something else; compared in steps, as there are many."""
        written = self._written.get(path)
        if written is None or len(written) != len(offsets):
            return True
        differences = yield from stepwise(offsets.items(), lambda entry: written.get(entry[0]) != entry[1])
        return any(differences)

    def _sum_over_logs(self, count: Callable[[Log], int]) -> Steps[int]:
        """Count in one log in each step; one that is deleted meanwhile is passed over."""
        total = 0
        for log in list(self.logs()):
            if self.get(log.topic_partition) is log:
                try:
                    total += count(log)
                except StorageFailure:
                    continue  # its directory is offline now, which is reported; the others go on
                yield
        return total
