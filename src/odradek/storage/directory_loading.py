"""Opens and recovers the logs of each log directory at startup, and compares them with the expected logs.

`expected` comes from the metadata store. Logs of unknown topics are set aside, directories that are old
copies are detected, and missing logs are reported; those of a missing directory are not created (R15, L4).
"""

from collections.abc import Callable, Collection
from uuid import UUID

from odradek.base.errors import DataDirectoryError
from odradek.base.ids import NO_BROKER_EPOCH, Offset, TopicPartition
from odradek.base.settings import TopicConfig
from odradek.base.topic_names import KRAFT_METADATA_TOPIC
from odradek.storage import file_names
from odradek.storage.expected_logs import ExpectedLogs
from odradek.storage.hosted_logs import HostedLogs
from odradek.storage.log import Log
from odradek.storage.log_checkpoints import LogCheckpoints
from odradek.storage.log_directory import LogDirectory
from odradek.storage.log_moves import LogMoves
from odradek.storage.move_marks import SettledMoves, settle_moves
from odradek.storage.opening_report import OpeningReport
from odradek.storage.recovery import load_log
from odradek.storage.strays import discard, is_stray, is_superseded, set_aside, take_back, where_moved
from odradek.storage.unfinished_creations import is_remnant, undo_creations
from odradek.storage.unfinished_moves import UnfinishedMoves


class DirectoryLoader:
    """Loads one broker's logs; its fields hold the results."""

    __slots__ = (
        "_checkpoints",
        "_config_for",
        "_directories",
        "_expected",
        "_hosted",
        "_moves",
        "_settled",
        "_unknown_points",
        "high_watermarks",
        "missing",
        "reached",
        "report",
    )

    def __init__(
        self,
        directories: list[LogDirectory],
        hosted: HostedLogs,
        checkpoints: LogCheckpoints,
        config_for: Callable[[str], TopicConfig],
        expected: ExpectedLogs | None,
    ) -> None:
        self._directories = directories
        self._hosted = hosted
        self._checkpoints = checkpoints
        self._config_for = config_for
        self._expected = expected
        """None: every log is accepted."""
        # Without a sound checkpoint of recovery points, which names all logs, before one is written here.
        self._unknown_points: list[LogDirectory] = []
        self._moves = UnfinishedMoves()
        self._settled = SettledMoves({}, (), is_whole=False)
        """What `settle_moves` found, before any log was opened."""
        self.report = OpeningReport()
        self.high_watermarks: dict[TopicPartition, Offset] = {}
        """The checkpointed HW of each log; that of its own directory, which may not be the only one."""
        self.reached: dict[TopicPartition, Offset] = {}
        """The offset that each log had reached by the checkpoints, including logs that are gone."""
        self.missing: dict[TopicPartition, None] = {}
        """Logs of a directory that is missing or offline; see `LogManager.give_up_missing`."""

    def load_all(self) -> None:
        """Open every log of every directory; a directory that fails goes offline.

        Raises DataDirectoryError if a partition has two logs.
        """
        self._settled = settle_moves(self._directories, none_is_missing=not self._missing_ids())
        self.report.moves_done = self._settled.done
        if len(self._directories) > 1:
            self.report.creations_undone = undo_creations(self._directories, self._has_reached)
        for directory in self._directories:
            if directory.failure is None:
                try:
                    self._load(directory)
                except OSError as error:
                    directory.fail(error)
            if directory.failure is not None:
                self.report.offline_directories[directory.path] = directory.failure
            elif not directory.stopped_cleanly and any(log.place is directory for log in self._hosted.all()):
                self.report.unclean_directories.append(directory.path)
        self._moves.end(self._hosted, self.report)
        if self._expected is not None:
            self._note_missing(self._expected)

    def begin_moves_anew(self, moves: LogMoves) -> None:
        """Make the copies that are to be made again; a directory that fails goes offline."""
        self._moves.begin_anew(moves)

    def _missing_ids(self) -> tuple[UUID, ...]:
        """The directories that this broker had and that are not there."""
        if self._expected is None:
            return ()
        present = {directory.directory_id for directory in self._directories}
        known = (*self._expected.directory_ids, *self._expected.missing_directory_ids)
        return tuple(one for one in known if one not in present)

    def _load(self, directory: LogDirectory) -> None:
        recovery_points = self._read_checkpoint(directory, file_names.RECOVERY_POINTS)
        points_are_known = self._checkpoints.is_sound(directory, file_names.RECOVERY_POINTS)
        if not points_are_known:
            self._unknown_points.append(directory)
        start_offsets = self._read_checkpoint(directory, file_names.LOG_START_OFFSETS)
        # A log without a line starts at its first segment, if the file is credible: it exists, and each of
        # its lines is of a log that exists, or of the copy of one.
        names = {
            str(file_names.partition_of_future(name) or name)
            for name, size_bytes in directory.file_system.list_directory(directory.path)
        }
        is_known = self._checkpoints.is_sound(directory, file_names.LOG_START_OFFSETS) and all(
            str(partition) in names for partition in start_offsets
        )
        start_otherwise = 0 if is_known else None
        cleaned = self._read_checkpoint(directory, file_names.CLEANED_OFFSETS)
        high_watermarks = self._read_checkpoint(directory, file_names.HIGH_WATERMARKS)
        for partition, offset in high_watermarks.items():
            self.high_watermarks.setdefault(partition, offset)
        for checkpoint in (recovery_points, high_watermarks):
            for reached_by, offset in checkpoint.items():
                self.reached[reached_by] = max(offset, self.reached.get(reached_by, 0))
        self._note_copy(directory)
        partitions = self._logs_in(directory)
        if not partitions and not points_are_known:
            # So that a start after a power cut knows that nothing was compacted here before that.
            self._checkpoints.write_recovery_points(directory)
        for partition in partitions:
            other = self._hosted.get(partition)
            if other is not None:
                raise DataDirectoryError(
                    f"{partition} has a log in {other.directory} and one in {directory.path}:"
                    " move one of them away"
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
                gaps_below=max(recovery_points.get(partition, 0), cleaned.get(partition, 0))
                if points_are_known
                else None,
            )
            log = Log(partition, directory, config, loaded)
            self._hosted.add(log)
            self.high_watermarks[partition] = high_watermarks.get(partition, 0)
            log.mark_cleaned(cleaned.get(partition, 0))
            if not (loaded.report.clean and loaded.report.is_uneventful()):
                self.report.logs.append(loaded.report)
        self._checkpoints.lower_recovery_points(directory)

    def _read_checkpoint(self, directory: LogDirectory, name: str) -> dict[TopicPartition, Offset]:
        offsets, damage = self._checkpoints.read(directory, name)
        if damage is not None:
            self.report.damages.append(damage)
        return dict(offsets)

    def _has_reached(self, directory: LogDirectory, partition: TopicPartition) -> bool:
        """Whether the log in a directory had records, by its checkpoints; also if they cannot be read."""
        for name in (file_names.RECOVERY_POINTS, file_names.HIGH_WATERMARKS):
            offsets, damage = self._checkpoints.read(directory, name)
            if damage is not None or offsets.get(partition, 0) > 0:
                return True
        return False

    def _logs_in(self, directory: LogDirectory) -> list[TopicPartition]:
        """The partitions that have a log in a directory, by name; other entries are reported."""
        found: list[TopicPartition] = []
        report, path, expected = self.report, directory.path, self._expected
        for name, size_bytes in directory.file_system.list_directory(path):
            if size_bytes >= 0:
                continue
            partition = file_names.topic_partition_of(name)
            if partition is not None and partition.topic == KRAFT_METADATA_TOPIC:
                pass  # Left as Kafka wrote it: it may be started here again.
            elif file_names.is_deleted_directory(name):
                directory.removals.add(f"{path}/{name}", 0)
            elif file_names.partition_of_stray(name) is not None:
                back = None
                if expected is not None and self._settled.is_whole:
                    back = take_back(directory, name, expected, self._settled.present)
                if back is None:
                    self._note_stray_left(directory, name)
                else:
                    report.strays_back.setdefault(path, []).append(back)
                    found.append(back)
            elif self._moves.note(directory, name):
                pass
            elif partition is None:
                report.ignored.append(f"{path}/{name}")
            elif not self._settled.is_whole and is_remnant(directory, partition, self._has_reached):
                pass  # The log may be in the directory that is missing or offline.
            elif expected is None or not is_stray(directory, partition, expected):
                found.append(partition)
            else:
                self._leave_out(directory, partition, expected)
        return found

    def _leave_out(self, directory: LogDirectory, partition: TopicPartition, expected: ExpectedLogs) -> None:
        """Set a log aside that the store does not have here; remove it if others surely have all of it."""
        report, path, name = self.report, directory.path, str(partition)
        moved = where_moved(directory, name, partition.partition, expected)
        if moved is not None and not self._is_store_old(expected) and is_superseded(directory, name, moved):
            deleted = discard(directory, partition)
            if deleted is not None:
                delay_ms = self._config_for(partition.topic).file_delete_delay_ms
                directory.removals.add(f"{path}/{deleted}", delay_ms)
                report.moved_away.setdefault(path, []).append(partition)
                return
        if set_aside(directory, partition) is None:
            report.ignored.append(f"{path}/{name}")
        else:
            kept = report.strays if moved is None else report.strays_moved
            kept.setdefault(path, []).append(partition)

    def _note_stray_left(self, directory: LogDirectory, name: str) -> None:
        """Report what an earlier start has set aside, and a person has not removed."""
        expected, number = self._expected, file_names.partition_of_stray(name)
        is_known = (
            expected is not None
            and number is not None
            and where_moved(directory, name, number, expected) is not None
        )
        left = self.report.moved_left if is_known else self.report.strays_left
        left.setdefault(directory.path, []).append(name)

    def _is_store_old(self, expected: ExpectedLogs) -> bool:
        """Whether a directory was stopped cleanly in a later run of this broker than the store knows."""
        epochs = (directory.clean_epoch for directory in self._directories)
        return any(epoch is not None and epoch > expected.broker_epoch for epoch in epochs)

    def _note_copy(self, directory: LogDirectory) -> None:
        """R15: a clean-stop mark of a run before the last one shows that the directory is an old copy.

        The mark of a run after the last one that the store knows shows that the store is one.
        It is not a copy if the last run did not have the directory, and so wrote nothing to it.
        """
        expected = self._expected
        if expected is None:
            return
        epoch, last_epoch = directory.clean_epoch, expected.broker_epoch
        if epoch in (None, NO_BROKER_EPOCH, last_epoch) or last_epoch == NO_BROKER_EPOCH:
            return
        if epoch > last_epoch:
            self.report.later_directories[directory.path] = epoch
        elif directory.directory_id not in expected.missing_directory_ids:
            self.report.copied_directories[directory.path] = epoch

    def _note_missing(self, expected: ExpectedLogs) -> None:
        """R15: a missing directory's logs are not created again while needed; others keep their offsets.

        A replica that is in no ISR may be needed, too: an ISR write of a leader that has seen this broker's
        last life may come after the states were read.
        """
        missing = [partition for partition in expected.in_sync if self._hosted.get(partition) is None]
        gone = self._missing_ids()
        if gone or self.report.offline_directories:
            absent = (partition for partition in expected.topic_ids if self._hosted.get(partition) is None)
            self.missing = dict.fromkeys(absent)
            if missing:
                self.report.missing_logs, self.report.missing_directories = missing, gone
                self.report.new_directories = [one.path for one in self._directories if one.is_new]
            return
        if not missing:
            return
        unmade = set(self._never_made(missing, expected)) - set(self.reached)
        self.report.unmade_logs = [partition for partition in missing if partition in unmade]
        self.report.vanished_logs = [partition for partition in missing if partition not in unmade]

    def _never_made(
        self, missing: Collection[TopicPartition], expected: ExpectedLogs
    ) -> Collection[TopicPartition]:
        """Those of the missing logs that were never made, unless a checkpoint names them.

        After a clean stop the checkpoints name all logs that there were: the others were never made, such as
        that of a partition whose order did not reach this broker, however many leaders it has had since.
        """
        if self.report.damages or self.report.copied_directories:
            return ()
        names_all = all(
            directory.is_new
            or (directory.clean_epoch == expected.broker_epoch and directory not in self._unknown_points)
            for directory in self._directories
        )
        return missing if names_all else expected.new
