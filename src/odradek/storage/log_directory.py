"""One of `log.dirs`: the disk below its logs, whose it is, and whether it still works.

A directory that has failed once stays offline until the broker starts again (L7): every log in it answers
StorageFailure, and nothing is written to it any more.
"""

from collections.abc import Callable
from uuid import UUID

from odradek.base.chance import Chance
from odradek.base.clock import Clock
from odradek.base.errors import StorageFailure
from odradek.base.ids import NO_TOPIC_ID
from odradek.storage import file_names
from odradek.storage.files import DirectoryLock, FileSystem, write_atomically
from odradek.storage.removals import Removals


class LogDirectory:
    """What the logs of one directory share."""

    __slots__ = (
        "chance",
        "clock",
        "directory_id",
        "failure",
        "file_system",
        "lock",
        "log_count",
        "path",
        "producer_expiration_ms",
        "removals",
        "repairs",
        "stopped_cleanly",
        "write_recovery_points",
    )

    def __init__(
        self,
        path: str,
        file_system: FileSystem,
        clock: Clock,
        chance: Chance,
        *,
        producer_expiration_ms: Callable[[], int],
        directory_id: UUID = NO_TOPIC_ID,
    ) -> None:
        self.path = path
        self.file_system = file_system
        self.clock = clock
        self.chance = chance
        self.producer_expiration_ms = producer_expiration_ms
        self.directory_id = directory_id  # from meta.properties; a wiped directory gets another one (R15)
        self.removals = Removals(file_system, clock)
        # What was found damaged in an index and made again, one sentence each, until `take_repairs`.
        self.repairs: list[str] = []
        self.failure: str | None = None  # why it is offline, in words; None while it is online
        self.log_count = 0  # logs in it that are hosted; new ones go where the fewest are
        # Writes `recovery-point-offset-checkpoint`, now, on this thread; set by who knows all logs (X6).
        self.write_recovery_points: Callable[[], None] = lambda: None
        self.lock: DirectoryLock | None = None  # held from opening to closing
        self.stopped_cleanly = True  # as the last broker left it; a new directory counts as clean

    def check_online(self) -> None:
        """StorageFailure when the directory is offline."""
        if self.failure is not None:
            raise StorageFailure(f"log directory {self.path} is offline: {self.failure}")

    def fail(self, reason: str | OSError) -> StorageFailure:
        """Take the directory offline; the error to raise. The first reason is the one that stays."""
        if self.failure is None:
            self.failure = str(reason)
        return StorageFailure(f"log directory {self.path} is offline: {self.failure}")

    def take_repairs(self) -> list[str]:
        """The repairs of indexes since the last call, one sentence each."""
        taken = list(self.repairs)
        self.repairs.clear()
        return taken

    def take_clean_shutdown_mark(self) -> None:
        """Note how the last stop was, and forget it on disk: from here on only a clean stop is clean."""
        mark = f"{self.path}/{file_names.CLEAN_SHUTDOWN}"
        self.stopped_cleanly = self.file_system.exists(mark)
        if self.stopped_cleanly:
            self.file_system.remove(mark)
            self.file_system.sync_directory(self.path)

    def leave_clean_shutdown_mark(self, broker_epoch: int) -> None:
        """Everything in the directory is on disk: say so to whoever opens it next."""
        mark = f"{self.path}/{file_names.CLEAN_SHUTDOWN}"
        content = f'{{"version":0,"brokerEpoch":{broker_epoch}}}'
        write_atomically(self.file_system, mark, content.encode(), durable=True)

    def release_lock(self) -> None:
        """Let another broker have the directory."""
        if self.lock is not None:
            self.lock.release()
            self.lock = None
