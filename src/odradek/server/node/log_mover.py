"""Moves logs of this broker to other log directories, as AlterReplicaLogDirs asks (KIP-113).

Each move has a copy, which is filled in steps between the requests, while its log is served. A few moves
run at a time (`num.replica.alter.log.dirs.threads`), the others wait. What waits for the disk runs in the
background:

    copy what the log has                     in steps, no faster than the limit
    complete: flush the copy, mark both       in the background
    its lines in the checkpoints              in the background
    copy what has come meanwhile, swap        in one step: from now on the copy is the log
    the names on disk                         in the background; then the old files go after their delay

Invariants: a copy becomes the log only when it holds every record of the log, has on disk at least what the
log has on disk, and has its lines in the checkpoints of its directory. No flush of a copy is under way when
it is renamed. A move ends when its log or its copy is deleted, replaced or offline; an offline directory
keeps the copy's files.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final
from uuid import UUID

from odradek.base.clock import Clock
from odradek.base.error_codes import ErrorCode
from odradek.base.errors import LogError, StorageFailure
from odradek.base.execution import Background, Defer, Slices, Steps
from odradek.base.ids import Offset, TopicPartition
from odradek.base.settings import BrokerSettings
from odradek.base.settings.definition import LONG_MAX
from odradek.replication.byte_rate import ByteRate
from odradek.replication.log_copying import agree, copy_some
from odradek.replication.replica_manager import ReplicaManager
from odradek.server.node.checkpoints import Checkpoints
from odradek.server.node.group_flush import GroupFlush
from odradek.storage import Log, LogManager, file_names
from odradek.storage.log_moves import Failures
from odradek.timer import TimedCall, Timer

COPIED_PER_STEP: Final = 128 * 1024
"""The most bytes of a step, unless one batch is larger."""
FLUSHED_AT_ONCE: Final = 16 * 1024 * 1024
"""How many bytes are copied between two flushes: the last one, before the swap, has as much at most."""
FLUSHES_MAX: Final = 3
"""How often a complete copy is flushed in the background as its log is flushed too; then once in the step."""
LOOKED_AGAIN_MS: Final = 50
"""When a log whose truncation is not on disk is looked at again."""
_NAME_BYTES_MAX: Final = 255

_log = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class _Move:
    """One move, from its copy's creation to the swap."""

    log: Log
    copy: Log
    began_ms: int
    truncations: int | None = None
    """The log's number of truncations when the copy last agreed with it; None before that."""
    recorded_start: Offset | None = None
    """The log start in the checkpoint lines of the copy, which is marked; None until both are on disk."""
    unflushed_bytes: int = 0
    """What was copied since the last flush began."""
    flushes: int = 0
    """How often the complete copy was flushed because the log had more on disk."""
    copied_bytes: int = 0

    @property
    def name(self) -> TopicPartition:
        """The partition."""
        return self.log.topic_partition


class LogMover:
    """The moves of one broker; owned by the broker's thread."""

    def __init__(
        self,
        logs: LogManager,
        replicas: ReplicaManager,
        *,
        clock: Clock,
        timer: Timer,
        slices: Slices,
        background: Background,
        defer: Defer,
        checkpoints: Checkpoints,
        group_flush: GroupFlush,
        settings: Callable[[], BrokerSettings],
    ) -> None:
        self._logs = logs
        self._replicas = replicas
        self._clock = clock
        self._timer = timer
        self._slices = slices
        self._background = background
        self._defer = defer
        self._checkpoints = checkpoints
        self._group_flush = group_flush
        self._settings = settings
        fixed = settings()
        self._rate = ByteRate(
            fixed.alter_log_dirs_replication_quota_window_num,
            fixed.alter_log_dirs_replication_quota_window_size_seconds * 1_000,
        )
        self._waiting: dict[TopicPartition, _Move] = {}
        """The moves that are not begun yet, in the order in which they came."""
        self._running: dict[TopicPartition, _Move] = {}
        """At most `num.replica.alter.log.dirs.threads`; each waits for a step, a timer or the background."""
        self._is_closed = False

    def start(self) -> None:
        """Go on with the moves that the last run of the broker did not finish."""
        for copy in self._logs.moves.copies():
            log = self._logs.get(copy.topic_partition)
            if log is not None:
                self._add(log, copy)

    def close(self) -> None:
        """The broker stops: no log is moved from now on. The next start goes on with the copies."""
        self._is_closed = True

    def move(self, topic_partition: TopicPartition, path: str) -> ErrorCode:
        """Begin to move a log to the log directory with that path; the error code that Kafka answers.

        A log that is being moved elsewhere is moved there instead. One that is there already stays, and its
        move ends. A log that is not here will be made there.
        """
        if len(file_names.future_directory(topic_partition, UUID(int=0))) > _NAME_BYTES_MAX:
            return ErrorCode.INVALID_TOPIC_EXCEPTION
        directory = self._logs.directory(path.rstrip("/") or "/")
        if directory is None:
            return ErrorCode.LOG_DIR_NOT_FOUND
        if directory.failure is not None or self._logs.is_offline(topic_partition):
            return ErrorCode.KAFKA_STORAGE_ERROR
        copy = self._logs.moves.copy_of(topic_partition)
        if copy is not None and copy.place is not directory:
            self._cancel(topic_partition)
        found = self._replicas.replica(topic_partition)
        log = self._logs.get(topic_partition)
        if isinstance(found, ErrorCode) or log is None:
            if log is None:
                self._logs.prefer(topic_partition, directory.path)
            is_unknown = found is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if is_unknown else ErrorCode.REPLICA_NOT_AVAILABLE
        if log.place is directory or self._logs.moves.copy_of(topic_partition) is not None:
            return ErrorCode.NONE
        try:
            copy = self._logs.moves.begin(log, directory)
        except StorageFailure:
            self._defer(self._replicas.notice_failed_directories)
            return ErrorCode.KAFKA_STORAGE_ERROR
        _say("moving %s from %s to %s", topic_partition, log.directory, copy.directory)
        self._add(log, copy)
        return ErrorCode.NONE

    # --- which moves run

    def _add(self, log: Log, copy: Log) -> None:
        self._waiting[log.topic_partition] = _Move(log, copy, self._clock.monotonic_ms())
        self._begin_next()

    def _begin_next(self) -> None:
        settings = self._settings()
        threads = settings.num_replica_alter_log_dirs_threads or len(self._logs.directories)
        while self._waiting and len(self._running) < threads and not self._is_closed:
            move = self._waiting.pop(next(iter(self._waiting)))
            self._running[move.name] = move
            self._go_on(move)

    def _cancel(self, topic_partition: TopicPartition) -> None:
        """Give up a move because a client wants the log to be elsewhere."""
        self._waiting.pop(topic_partition, None)
        move = self._running.get(topic_partition)
        copy = self._logs.moves.copy_of(topic_partition)
        if copy is not None:
            _say("%s is not moved to %s any more", topic_partition, copy.directory)
            self._logs.moves.cancel(topic_partition)
        if move is not None:
            self._end(move)

    def _end(self, move: _Move) -> None:
        """Called when a move has ended, in any way."""
        if self._running.get(move.name) is move:
            del self._running[move.name]
            self._defer(self._begin_next)

    def _is_current(self, move: _Move) -> bool:
        """Whether the move goes on: neither its log nor its copy was deleted, replaced or went offline."""
        if self._is_closed or self._running.get(move.name) is not move:
            return False
        if move.copy.place.failure is None and self._logs.get(move.name) is move.log:
            return self._logs.moves.copy_of(move.name) is move.copy
        return False

    def _go_on(self, move: _Move) -> None:
        """Run steps of the move until it has to wait for something."""
        self._slices.run(self._steps(move), partial(self._not_moved, move))

    def _later(self, move: _Move, at_ms: int) -> None:
        self._timer.add(TimedCall(at_ms, lambda: self._go_on(move)))

    def _steps(self, move: _Move) -> Steps[None]:
        try:
            while self._is_current(move):
                if not self._step(move):
                    return
                yield
        except LogError as error:
            self._not_moved(move, error)
            return
        self._leave(move, "its log or its copy is offline")

    def _leave(self, move: _Move, reason: str) -> None:
        """End a move that cannot go on; offline, the files of its copy stay for the next start."""
        if self._logs.moves.copy_of(move.name) is move.copy and not self._is_closed:
            _say("%s stays in %s: %s", move.name, move.log.directory, reason, level=logging.WARNING)
            if move.copy.place.failure is None and move.log.place.failure is None:
                self._logs.moves.cancel(move.name)
            else:
                self._logs.moves.leave(move.name)
        self._end(move)

    def _not_moved(self, move: _Move, error: Exception) -> None:
        if isinstance(error, StorageFailure):
            self._defer(self._replicas.notice_failed_directories)
        elif not isinstance(error, LogError):
            _log.error("the move of %s to another log directory failed", move.name, exc_info=error)
        self._leave(move, str(error))

    # --- one move

    def _step(self, move: _Move) -> bool:
        """Do a little of a move; returns whether to go on with the next step."""
        log, copy = move.log, move.copy
        if not log.is_settled:  # X6: what was cut off may come back in a power cut, and with it another end
            self._later(move, self._clock.monotonic_ms() + LOOKED_AGAIN_MS)
            return False
        if move.truncations != log.truncations or copy.end_offset < log.log_start_offset:
            if agree(copy, log):
                move.recorded_start = None
            move.truncations = log.truncations
        if not copy.is_settled:
            self._flush(move)
            return False
        if copy.end_offset < log.end_offset:
            return self._copy(move)
        return self._finish(move)

    def _copy(self, move: _Move) -> bool:
        limit, now_ms = (
            self._settings().replica_alter_log_dirs_io_max_bytes_per_second,
            self._clock.monotonic_ms(),
        )
        if limit != LONG_MAX and self._rate.exceeds(limit, now_ms):
            self._later(move, self._rate.falls_at_ms(limit, now_ms))
            return False
        size_bytes = copy_some(move.copy, move.log, min(COPIED_PER_STEP, limit))
        self._rate.record(size_bytes, now_ms)
        move.copied_bytes += size_bytes
        move.unflushed_bytes += size_bytes
        if move.copy.is_settled and move.copy.end_offset == move.log.end_offset:
            return self._finish(move)
        if move.unflushed_bytes >= FLUSHED_AT_ONCE:
            self._flush(move)
            return False
        return True

    def _flush(self, move: _Move) -> None:
        """Bring the copy to disk in the background, and go on then."""
        copy = move.copy
        flush, truncations = copy.pending_flush(), copy.truncations
        move.unflushed_bytes = 0

        def flushed(_: None) -> None:
            if self._is_current(move):
                if flush is not None:
                    copy.mark_flushed(flush)
                copy.settle(truncations)
            self._go_on(move)

        self._background.submit(
            _nothing if flush is None else flush.run, flushed, partial(self._not_written, move)
        )

    def _not_written(self, move: _Move, error: Exception) -> None:
        """A background call for the copy has failed; no matter if the copy was removed meanwhile."""
        if self._is_current(move):
            if isinstance(error, OSError):
                self._replicas.directory_failed(move.copy.directory, error)
            self._not_moved(move, error)
        else:
            self._end(move)

    def _finish(self, move: _Move) -> bool:
        """The copy has all that the log has: swap them, or first do what that needs."""
        log, copy = move.log, move.copy
        if move.recorded_start != log.log_start_offset:
            self._mark(move)
        elif copy.flushed_offset < log.flushed_offset and move.flushes < FLUSHES_MAX:
            move.flushes += 1
            self._flush(move)
        else:
            if copy.flushed_offset < log.flushed_offset:
                copy.flush()
            self._swap(move)
        return False

    def _mark(self, move: _Move) -> None:
        """Flush the copy, mark it as complete, and write its lines of the checkpoints, in the background."""
        log, copy, start = move.log, move.copy, move.log.log_start_offset
        copy.restore_high_watermark(log.high_watermark.offset)
        copy.advance_log_start(start)
        copy.mark_cleaned(log.cleaned_offset)
        flush, mark = copy.pending_flush(), self._logs.moves.marking(log, copy)
        move.unflushed_bytes = 0

        def write() -> Failures:
            if flush is not None:
                flush.run()
            return mark()

        def written(failures: Failures) -> None:
            if not self._is_current(move):
                self._end(move)
                return
            if flush is not None:
                copy.mark_flushed(flush)
            for directory, error in failures:
                self._replicas.directory_failed(directory, error)
            self._checkpoints.settle_all(recorded)

        def recorded() -> None:
            if copy.log_start_offset == start:  # else it was truncated meanwhile
                move.recorded_start = start
            self._go_on(move)

        self._background.submit(write, written, partial(self._not_written, move))

    def _swap(self, move: _Move) -> None:
        log, copy, moves = move.log, move.copy, self._logs.moves
        moves.swap(log, copy)
        self._replicas.on_log_moved(move.name, copy)
        self._group_flush.want(move.name)  # acks that waited for the flush of the other files
        if log.place.failure is not None or copy.place.failure is not None:
            self._defer(self._replicas.notice_failed_directories)
        elapsed_ms = self._clock.monotonic_ms() - move.began_ms
        _say("moved %s to %s: %d bytes in %d ms", move.name, copy.directory, move.copied_bytes, elapsed_ms)
        self._background.submit(moves.settling(log, copy), partial(self._on_settled, log), _raise)
        self._end(move)

    def _on_settled(self, log: Log, failures: Failures) -> None:
        for directory, error in failures:
            self._replicas.directory_failed(directory, error)
        if not failures:
            self._logs.moves.release(log)


def _raise(error: Exception) -> None:
    raise error


def _nothing() -> None:
    """There is nothing to flush."""


def _say(sentence: str, name: TopicPartition, *arguments: object, level: int = logging.INFO) -> None:
    _log.log(level, sentence, name, *arguments, extra={"topic": name.topic, "partition": name.partition})
