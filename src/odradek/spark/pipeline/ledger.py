"""The directory of a table: batches become visible by one rename each, and say themselves what they hold.

    flights_table/
      batch=1/part-....parquet            rows; Spark shows the column `batch`
      batch=1/_commit.json                offsets, counts and files of the batch
      batch=1/_dead_letters/part-...      records without a row
      batch=1/_late, batch=1/_state       of stages that keep state; see `stage_state`
      _staging-<random>/                  a batch that is being written; swept away by the next run
      _lock                               held by the process that writes; dies with it

Readers skip names that begin with an underscore. A batch is written into a staging directory, made durable,
and renamed to `batch=N`: so its rows, dead letters and offsets appear together. A directory that is there is
never written again. N counts from 1; a rename to an N that exists fails, so two writers cannot both win.
"""

import fcntl
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final
from uuid import uuid4

from odradek.base.closing import Closing
from odradek.base.errors import OdradekError
from odradek.base.system_errors import reason_of

COMMIT: Final = "_commit.json"
DEAD_LETTERS: Final = "_dead_letters"
DELETES: Final = "_deletes"
"""Where a staged batch has the keys whose rows it deletes; no part of a committed batch."""
STATE: Final = "_state"
"""Where a batch has what its stages keep for the next one; see `stage_state`."""
LATE: Final = "_late"
"""Where a batch has the rows that came too late for a stage."""
_LOCK: Final = "_lock"
_STAGING: Final = "_staging-"
_BATCH: Final = re.compile(r"batch=([1-9][0-9]*)")
_VERSION: Final = 1


class TableRefused(OdradekError):
    """The directory cannot be this pipeline's table, or is in use; the message is a sentence."""


@dataclass(frozen=True, slots=True)
class Commit:
    """What a committed batch says of itself."""

    pipeline: str
    batch: int
    ranges: Mapping[str, Mapping[str, tuple[int, int]]]
    """Topic to partition to (first offset, offset behind the last): what the batch read."""
    holes: Mapping[str, Mapping[str, tuple[int, int]]]
    """In the same form: what was deleted before it was read."""
    following: Mapping[str, Mapping[str, int]]
    """The next offset of every partition: where the following batch begins."""
    topic_ids: Mapping[str, str]
    fields: Mapping[str, str]
    """The decoder's fields, with their types."""
    records: int
    """The records, or dead letters, that were read.

    Without transforms equal to `rows`, `deletes`, `superseded`, `ignored` and `dead_letters` together.
    """
    rows: int
    dead_letters: int
    files: Mapping[str, int]
    """Every file of rows and of dead letters, relative to the batch's directory, and its rows."""
    records_total: int
    """Records of the topics that this batch and all before read."""
    dead_letters_total: int
    """The dead letters that are open after this batch."""
    committed_at_ms: int
    took_ms: int
    keeps_origin: bool = True
    """Whether the rows have the columns that say where they come from."""
    key: Sequence[str] = ()
    """The columns that identify a row; empty if each batch only adds rows."""
    deletes: int = 0
    """The keys whose rows this batch deletes, whether there are such rows or not."""
    superseded: int = 0
    """Rows and deletions that gave way to a newer one of the same key within the batch."""
    ignored: int = 0
    """Records without a value that were skipped, as told."""
    late: int = 0
    """The rows that came too late for a stage, once for each window that they were too late for."""
    late_total: int = 0
    """Those of this batch and of all before."""
    stages: Sequence[str] = ()
    """The stages that keep state, in words."""
    state: str = ""
    """The digest of what they keep; "" before they have seen a batch."""
    is_replay: bool = False
    """Whether it read all dead letters that were open, and no topic; see `dead_letters`."""
    may_repeat: bool = False
    """Whether its rows may be in the topic that they went to more than once."""
    letters_topic: str = ""
    """The topic that its dead letters are also sent to; "" for none."""
    version: int = _VERSION


class Table(Closing):
    """The table's directory. Writing needs `open_for_writing`; reading needs nothing."""

    def __init__(self, directory: Path, pipeline: str, synced: Callable[[Path], None] | None = None) -> None:
        self.directory = directory
        self._pipeline = pipeline
        # Makes a file or the names in a directory durable.
        self._sync = synced or sync
        # The descriptor of the lock file while this process may write, else None.
        self._lock: int | None = None

    @property
    def ledger(self) -> "Table":
        """Itself: its batches have the rows and the ledger."""
        return self

    def open_for_writing(self) -> None:
        """Make the directory, lock it and sweep away what a killed run left. Raises TableRefused."""
        self.lock()
        self.sweep()

    def lock(self) -> None:
        """Make the directory and lock it. Raises TableRefused.

        The lock belongs to this process: no child inherits it, and it ends with the process.
        """
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            lock = os.open(self.directory / _LOCK, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise TableRefused(f"cannot write to {self.directory}: {reason_of(error)}") from None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = _holder(lock)
            os.close(lock)
            raise TableRefused(
                f"{self.directory} is being written by another run (process {holder})"
            ) from None
        self._lock = lock
        with suppress(OSError):  # a full disk, which `sweep` may give room
            os.ftruncate(lock, 0)
            os.write(lock, b"%d\n" % os.getpid())
        self._refuse_what_is_not_ours()

    def check_place(self) -> None:
        """Raises TableRefused if a run could not write here; makes and locks nothing."""
        refuse_unwritable(self.directory)
        if self.directory.is_dir():
            self._refuse_what_is_not_ours()

    def holder(self) -> str | None:
        """The process that holds the lock, None if nobody does."""
        try:
            lock = os.open(self.directory / _LOCK, os.O_RDONLY)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise TableRefused(f"cannot read {self.directory}: {reason_of(error)}") from None
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return _holder(lock)
        finally:
            os.close(lock)
        return None

    def sweep(self) -> None:
        """Remove batches that were not committed. Raises TableRefused."""
        with self._writing():
            for left in self.staged():
                shutil.rmtree(left)

    def staged(self) -> list[Path]:
        """The directories of batches that were not committed."""
        return sorted(self.directory.glob(f"{_STAGING}*"))

    def close(self) -> None:
        """Let go of the lock."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def batches(self) -> list[int]:
        """The numbers of the committed batches, in order. Raises TableRefused."""
        try:
            names = os.listdir(self.directory)
        except FileNotFoundError:
            return []
        except OSError as error:
            raise TableRefused(f"cannot read {self.directory}: {reason_of(error)}") from None
        return sorted(int(found[1]) for name in names if (found := _BATCH.fullmatch(name)))

    def last(self) -> Commit | None:
        """The last commit, None for an empty table. Raises TableRefused."""
        numbers = self.batches()
        return self.commit(numbers[-1]) if numbers else None

    def commit(self, batch: int) -> Commit:
        """What that batch says of itself. Raises TableRefused if it is damaged or of another pipeline."""
        file = self.directory_of(batch) / COMMIT
        try:
            document = json.loads(file.read_text())
            if document["version"] != _VERSION:
                raise TableRefused(f"{file} has the format {document['version']}, which is not known here")
            found = Commit(**document)
        except (OSError, ValueError, TypeError, KeyError):
            raise TableRefused(f"{file} is missing or damaged: it says what its batch holds") from None
        if found.pipeline != self._pipeline:
            raise TableRefused(f"{self.directory} belongs to pipeline {found.pipeline}")
        return found

    def directory_of(self, batch: int) -> Path:
        """Where the files of a committed batch are."""
        return self.directory / f"batch={batch}"

    def stage(self) -> Path:
        """A new directory for a batch that is being written. Raises TableRefused."""
        assert self._lock is not None, "the table is not open for writing"
        staging = self.directory / f"{_STAGING}{uuid4().hex}"
        with self._writing():
            staging.mkdir()
        return staging

    def discard(self, staging: Path) -> None:
        """Remove a batch that will not be committed."""
        shutil.rmtree(staging, ignore_errors=True)

    def seal(self, staging: Path, commit: Commit) -> None:
        """Write the commit beside the files, and make all of it durable. Raises TableRefused."""
        with self._writing():
            (staging / COMMIT).write_text(json.dumps(asdict(commit), indent=1) + "\n")
            for root, _, names in os.walk(staging, topdown=False):
                for name in names:
                    self._sync(Path(root) / name)
                self._sync(Path(root))

    def publish(self, staging: Path, commit: Commit) -> None:
        """Make a sealed batch visible: the commit point. Raises TableRefused if that batch exists."""
        assert self._lock is not None, "the table is not open for writing"
        try:
            staging.rename(self.directory_of(commit.batch))
        except OSError as error:
            raise TableRefused(
                f"cannot commit batch {commit.batch} of {self.directory}: {reason_of(error)}"
            ) from None
        with self._writing():
            self._sync(self.directory)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Make a TableRefused of what the file system raises, as for a full disk."""
        try:
            yield
        except OSError as error:
            raise TableRefused(f"cannot write to {self.directory}: {reason_of(error)}") from None

    def _refuse_what_is_not_ours(self) -> None:
        """Raises TableRefused for visible files that no batch of a pipeline has."""
        refuse_others(
            self.directory, lambda name: name.startswith(("_", ".")) or _BATCH.fullmatch(name) is not None
        )


def refuse_others(directory: Path, is_ours: Callable[[str], bool]) -> None:
    """Raises TableRefused for the first name in a directory that a pipeline does not make."""
    for name in sorted(os.listdir(directory)):
        if not is_ours(name):
            raise TableRefused(f"{directory} holds {name}, which no pipeline wrote: give an empty path")


def refuse_unwritable(directory: Path) -> None:
    """Raises TableRefused if this process cannot write into a directory, or make it."""
    there = directory
    while not os.path.lexists(there):
        there = there.parent
    if not os.path.isdir(there):
        raise TableRefused(f"cannot write to {directory}: {there} is no directory")
    if not os.access(there, os.W_OK | os.X_OK):
        raise TableRefused(f"cannot write to {directory}: {there} is not writable for this user")


def sync(path: Path) -> None:
    """Make a file, or the names in a directory, durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _holder(lock: int) -> str:
    return os.read(lock, 20).decode(errors="replace").strip() or "unknown"
