"""A table of a lake format (Delta, Iceberg) as a sink: one commit of it has the rows and the offsets.

    flights_table/
      _delta_log/ or metadata/            the table's own log; each commit of ours carries a marker
      _odradek/batch=3/_commit.json       the ledger, as of a Parquet table, but without rows
      _odradek/batch=3/_dead_letters/...
      _odradek/_staging-<random>/         a batch that is being written, its rows as Parquet

A batch is staged and sealed as in `ledger`. Then its rows are appended to the table by one commit of the
table's own, which carries the marker: the name of the staging directory, and what the batch says of itself.
That is the commit point. Only then the staging directory, without the rows, is renamed to `batch=N`.

Invariants: a batch is committed if and only if the table has its marker. The ledger is behind the table by
at most one batch; `begin` brings it up to the table. A ledger that is ahead of its table shows that the table
was set back, and nothing is written then.
"""

import json
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final, Protocol

from odradek.base.closing import Closing
from odradek.spark.pipeline.ledger import (
    COMMIT,
    DEAD_LETTERS,
    LATE,
    STATE,
    Commit,
    Table,
    TableRefused,
    refuse_others,
    refuse_unwritable,
)

LEDGER: Final = "_odradek"
MARKER: Final = "odradek.marker"


@dataclass(frozen=True, slots=True)
class Marker:
    """What a commit of the table says of the batch that it made visible."""

    staging: str
    """The name of the staging directory that the rows came from; different for each attempt."""
    commit: Commit

    def text(self) -> str:
        """The marker as the table keeps it."""
        return json.dumps({MARKER: {"staging": self.staging, "commit": asdict(self.commit)}})


def marker_of(text: object) -> Marker | None:
    """The marker that was written as `text`; None if that is something else. Raises TableRefused."""
    try:
        found = json.loads(text)[MARKER] if isinstance(text, str) else None
    except (ValueError, KeyError, TypeError):
        return None
    if found is None:
        return None
    try:
        return Marker(str(found["staging"]), Commit(**found["commit"]))
    except (KeyError, TypeError):
        raise TableRefused("the newest marker cannot be read by this version of odradek") from None


@dataclass(frozen=True, slots=True)
class LakeState:
    """What the table's own log says, read without Spark."""

    has_commits: bool
    """Whether anyone committed to the table; False where there is none."""
    marker: Marker | None
    """The newest marker of what the table is now."""
    is_cut: bool = False
    """Whether commits were expired, so that there may have been a marker where none is left."""
    is_newest: bool = False
    """Whether the marker is that of the newest commit, which no expiry removes."""


class LakeWriter(Protocol):
    """Changes the table; the part that needs Spark."""

    def hold(self, lock: Path) -> None:
        """Lock that file until the JVM ends, which may outlive a killed driver. Raises TableRefused."""

    def release(self) -> None:
        """Let go of the lock."""

    def append(self, staging: Path, marker: Marker) -> None:
        """Add the Parquet files of `staging` and the marker, by one commit. Raises OdradekError.

        Where the commit has a key, rows replace those of their key, and the keys in DELETES go.
        """


class LakeTable(Closing):
    """The sink of a lake format. Reading needs nothing; writing needs `open_for_writing`, then `begin`."""

    def __init__(
        self,
        directory: Path,
        pipeline: str,
        read_state: Callable[[Path], LakeState],
        synced: Callable[[Path], None] | None = None,
    ) -> None:
        self.directory = directory
        # The ledger beside the table; its lock is the pipeline's.
        self.ledger = Table(directory / LEDGER, pipeline, synced)
        self._pipeline = pipeline
        self._read_state = read_state
        # Appends; None until `begin`.
        self._writer: LakeWriter | None = None

    def open_for_writing(self) -> None:
        """Lock the table against other runs; what it holds is checked. Raises TableRefused.

        A table whose ledger was deleted is the pipeline's by its marker; see `last`.
        """
        self._refuse_others()
        self.ledger.lock()
        self.last()

    def check_place(self) -> None:
        """Raises TableRefused if a run could not write here; makes and locks nothing."""
        refuse_unwritable(self.ledger.directory)
        self._refuse_others()

    def begin(self, writer: LakeWriter) -> None:
        """Wait for the JVM of a killed run to end, and finish what it committed. Raises TableRefused."""
        writer.hold(self.ledger.directory / "_lock.java")
        self._writer = writer
        last = self.last()
        if last is not None and last.batch not in self.ledger.batches():
            marker = self._read_state(self.directory).marker
            assert marker is not None
            self._record(self.ledger.directory / marker.staging, last)
        self.ledger.sweep()

    def close(self) -> None:
        """Let go of the locks."""
        if self._writer is not None:
            self._writer.release()
            self._writer = None
        self.ledger.close()

    def batches(self) -> list[int]:
        """The numbers of the batches that the ledger has, in order."""
        return self.ledger.batches()

    def last(self) -> Commit | None:
        """The last commit, None for an empty table. Raises TableRefused if table and ledger contradict."""
        # In this order: a run that commits meanwhile brings the table ahead of what was read of the ledger.
        recorded = self.ledger.last()
        state = self._read_state(self.directory)
        if state.marker is None:
            return self._without_marker(state, recorded)
        commit = state.marker.commit
        if commit.pipeline != self._pipeline:
            raise TableRefused(f"{self.directory} belongs to pipeline {commit.pipeline}")
        if recorded is not None and recorded.batch > commit.batch:
            raise self._set_back(commit, recorded)
        return commit

    def _refuse_others(self) -> None:
        if not self.ledger.directory.exists() and self.directory.is_dir() and not self._has_marker():
            refuse_others(self.directory, lambda name: name.startswith("."))

    def _has_marker(self) -> bool:
        """Whether what is in the directory is a table that a pipeline has written."""
        return self._read_state(self.directory).marker is not None

    def _set_back(self, commit: Commit, recorded: Commit) -> TableRefused:
        return TableRefused(
            f"{self.directory} was set back to batch {commit.batch}, and batch {recorded.batch} had been"
            " committed: bring the table back to its newest state, or begin a new one"
        )

    def newest_marker(self) -> Marker | None:
        """The marker of the last batch; None for an empty table. Raises TableRefused.

        It is made from the ledger where others expired the table's own.
        """
        last = self.last()
        if last is None:
            return None
        return self._read_state(self.directory).marker or Marker(f"batch={last.batch}", _without_rows(last))

    def ends_with(self, marker: Marker) -> bool:
        """Whether the newest commit of the table carries this marker. Raises TableRefused."""
        state = self._read_state(self.directory)
        return state.is_newest and state.marker is not None and state.marker.staging == marker.staging

    def _without_marker(self, state: LakeState, recorded: Commit | None) -> Commit | None:
        if recorded is None:
            if state.has_commits:
                raise TableRefused(
                    f"{self.directory} holds a table that no pipeline wrote: give an empty path"
                )
            return None
        if not state.is_cut:
            raise TableRefused(
                f"{self.directory} has lost its batches up to {recorded.batch}, which had been committed:"
                " bring the table back, or remove the directory and begin anew"
            )
        if any((one / COMMIT).exists() for one in self.ledger.staged()):
            raise TableRefused(
                f"the commits of {self.directory} were expired while a batch was being committed, so that"
                " the table cannot say whether it has it: begin a new table"
            )
        return recorded

    def stage(self) -> Path:
        """A new directory for a batch that is being written."""
        return self.ledger.stage()

    def discard(self, staging: Path) -> None:
        """Remove a batch that will not be committed."""
        self.ledger.discard(staging)

    def seal(self, staging: Path, commit: Commit) -> None:
        """Write what the ledger will say beside the rows, and make it durable."""
        self.ledger.seal(staging, _without_rows(commit))

    def publish(self, staging: Path, commit: Commit) -> None:
        """Append the rows with the marker: the commit point; then record it. Raises OdradekError."""
        assert self._writer is not None, "the table is not open for writing"
        commit = _without_rows(commit)
        self._writer.append(staging, Marker(staging.name, commit))
        marker = self._read_state(self.directory).marker
        if marker is None or marker.staging != staging.name:
            raise TableRefused(
                f"batch {commit.batch} of {self.directory} was committed by another run meanwhile;"
                " this one wrote nothing"
            )
        self._record(staging, commit)

    def _record(self, staging: Path, commit: Commit) -> None:
        """Make the sealed batch a part of the ledger, without its rows; from the marker if it is gone."""
        if not staging.is_dir():
            staging = self.ledger.stage()
            self.ledger.seal(staging, commit)
        for one in staging.iterdir():
            if one.name not in (COMMIT, DEAD_LETTERS, LATE, STATE):
                shutil.rmtree(one) if one.is_dir() else one.unlink()
        self.ledger.publish(staging, commit)


def _without_rows(commit: Commit) -> Commit:
    """The commit with the files that the ledger keeps: those of dead letters and of late rows."""
    kept = {name: rows for name, rows in commit.files.items() if name.startswith((DEAD_LETTERS, LATE))}
    return replace(commit, files=kept)
