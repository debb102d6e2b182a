"""One directory of `log.dirs`: its disk, its broker and cluster, and whether it is online.

A directory that failed once stays offline until the broker restarts (L7): every log in it raises
StorageFailure, and nothing is written to it.
"""

import errno
import json
from collections.abc import Callable
from uuid import UUID

from odradek.base.chance import Chance
from odradek.base.clock import Clock
from odradek.base.errors import StorageFailure
from odradek.base.ids import NO_BROKER_EPOCH, NO_TOPIC_ID
from odradek.storage import file_names
from odradek.storage.files import DirectoryLock, FileSystem, write_atomically
from odradek.storage.removals import Removals

_REMEDIES = {
    errno.ENOSPC: "free space there",
    errno.EDQUOT: "free space there, or raise the quota",
    errno.EROFS: "make it writable",
    errno.EACCES: "give this process the right to use it",
    errno.EPERM: "give this process the right to use it",
    errno.ENOENT: "put back what is missing",
    errno.EISDIR: "move it away",
    errno.ESPIPE: "move it away",
}


def explain(error: OSError) -> str:
    """Describes a disk error, and its remedy, for a person."""
    reason = error.strerror or str(error)
    if error.filename is not None:
        reason += f" ({error.filename})"
    remedy = _REMEDIES.get(error.errno or 0, "see to the disk")
    return f"{reason}; {remedy} and start the broker again"


class LogDirectory:
    """The shared state of the logs in one directory."""

    __slots__ = (
        "chance",
        "clean_epoch",
        "clock",
        "directory_id",
        "failure",
        "file_system",
        "is_new",
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
        # Indexes found damaged and rebuilt, one sentence each, until `take_repairs`.
        self.repairs: list[str] = []
        # Why it is offline, and the remedy; None while it is online.
        self.failure: str | None = None
        self.log_count = 0  # logs in it that are hosted; new ones go where the fewest are
        # Writes `recovery-point-offset-checkpoint`, now, on this thread; set by the log manager (X6).
        self.write_recovery_points: Callable[[], None] = lambda: None
        self.lock: DirectoryLock | None = None  # held from opening to closing
        self.is_new = False  # it had no id before this startup
        self.stopped_cleanly = True  # as the last broker left it; a new directory counts as clean
        # The broker epoch of the run that stopped cleanly, as the mark has it; None without a mark.
        self.clean_epoch: int | None = None

    def check_online(self) -> None:
        """Raises StorageFailure if the directory is offline."""
        if self.failure is not None:
            raise self.offline()

    def fail(self, reason: str | OSError) -> StorageFailure:
        """Take the directory offline; returns the error to raise. The first reason is kept."""
        if self.failure is None:
            self.failure = explain(reason) if isinstance(reason, OSError) else reason
        return self.offline()

    def offline(self) -> StorageFailure:
        """Returns the error for the use of an offline directory."""
        return StorageFailure(f"the log directory {self.path} is offline: {self.failure}")

    def take_repairs(self) -> list[str]:
        """The repairs of indexes since the last call, one sentence each."""
        taken = list(self.repairs)
        self.repairs.clear()
        return taken

    def take_clean_shutdown_mark(self) -> None:
        """Read whether the last stop was clean, and remove the mark; only a clean stop writes it again."""
        mark = f"{self.path}/{file_names.CLEAN_SHUTDOWN}"
        self.stopped_cleanly = self.file_system.exists(mark)
        if self.stopped_cleanly:
            self.clean_epoch = _epoch_in(self.file_system.read(mark))
            self.file_system.remove(mark)
            self.file_system.sync_directory(self.path)

    def leave_clean_shutdown_mark(self, broker_epoch: int | None) -> None:
        """Write the mark for the next start: everything in the directory is on disk.

        With None, for a broker that never joined its cluster, the mark is written as it was before.
        """
        if broker_epoch is None:
            broker_epoch = NO_BROKER_EPOCH if self.clean_epoch is None else self.clean_epoch
        mark = f"{self.path}/{file_names.CLEAN_SHUTDOWN}"
        content = f'{{"version":0,"brokerEpoch":{broker_epoch}}}'
        write_atomically(self.file_system, mark, content.encode(), durable=True)

    def forget_owner(self) -> None:
        """Remove what the start of a broker wrote that was refused by its cluster.

        With another id, which is free, the broker may then have this directory. The lock goes last, while it
        is held.
        """
        for name in (file_names.META_PROPERTIES, file_names.RECOVERY_POINTS, file_names.LOCK):
            self.file_system.remove(f"{self.path}/{name}")
        self.file_system.sync_directory(self.path)

    def release_lock(self) -> None:
        """Release the lock, so that another broker may use the directory."""
        if self.lock is not None:
            self.lock.release()
            self.lock = None


def _epoch_in(mark: bytes) -> int:
    """The broker epoch in a `.kafka_cleanshutdown`; older ones are empty."""
    try:
        return int(json.loads(mark)["brokerEpoch"])
    except (ValueError, KeyError, TypeError):
        return NO_BROKER_EPOCH
