"""Keeps a lake table small: few large files instead of many small ones, and no files that nobody needs.

    rewrite   small files become large ones, by one commit of the table that carries the marker again
    restate   where the newest commit has no marker, an empty one that has it
    expire    states older than `keep_hours`, and files that no state has which is kept

Invariant: before anything is expired, the newest commit of the table carries the marker. No expiry removes
the newest commit, so the table can always say how far it is.

A kill between two of these steps costs nothing: each leaves a table with the same rows and the same marker.
"""

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from odradek.base.errors import OdradekError
from odradek.spark.pipeline.description import Compaction
from odradek.spark.pipeline.lake import LEDGER, LakeTable, Marker
from odradek.spark.pipeline.ledger import Commit, TableRefused

# Where the ledger notes the last batch that was compacted. Lost, it costs one compaction more.
NOTE: Final = "_compacted.json"


class CompactionFailed(OdradekError):
    """Files could not be rewritten or removed; the table has the rows that it had."""


@dataclass(frozen=True, slots=True)
class Rewritten:
    """What one rewriting did."""

    files_before: int = 0
    """The small files that were rewritten."""
    files_after: int = 0
    """The files that took their place."""


@dataclass(frozen=True, slots=True)
class Compacted:
    """What one compaction did."""

    rewritten: Rewritten
    files_removed: int
    """Files of rows that were in no state of the table any more, and are deleted."""


class Compactor(Protocol):
    """Changes the files of a table and none of its rows; the part that needs Spark."""

    def rewrite(self, marker: Marker, file_bytes: int) -> Rewritten:
        """Make files of about `file_bytes`, by one commit with the marker. Raises CompactionFailed."""

    def restate(self, marker: Marker) -> None:
        """Make an empty commit with the marker. Raises CompactionFailed."""

    def expire(self, marker: Marker, keep_hours: int) -> None:
        """Forget states older than that, and delete their files. Raises CompactionFailed.

        If that makes commits, they carry the marker.
        """


def compact(table: LakeTable, compactor: Compactor, settings: Compaction) -> Compacted:
    """Compact a table that is open for writing and begun. Raises CompactionFailed, TableRefused."""
    marker = table.newest_marker()
    if marker is None:
        return Compacted(Rewritten(), 0)
    rewritten = compactor.rewrite(marker, settings.file_bytes)
    if not table.ends_with(marker):
        compactor.restate(marker)
    _check(table, marker)
    before = _files_of_rows(table.directory)
    compactor.expire(marker, settings.keep_hours)
    _check(table, marker)
    removed = before - _files_of_rows(table.directory)
    _write_note(table, marker.commit.batch)
    return Compacted(rewritten, len(removed))


class Upkeep:
    """Compacts the table of a run each time that enough batches were committed."""

    def __init__(
        self,
        table: LakeTable,
        compactor: Compactor,
        settings: Compaction,
        compacted: Callable[[Compacted], None],
        warned: Callable[[str], None],
    ) -> None:
        self._table = table
        self._compactor = compactor
        self._settings = settings
        self._compacted = compacted
        self._warned = warned
        # The first batch that is not compacted again before it is due.
        self._not_before = 0

    def __call__(self, commit: Commit) -> None:
        """Compact if it is due. A table that cannot be compacted now is tried later. Raises TableRefused."""
        every = self._settings.after_commits
        if not every or commit.batch < max(self._not_before, compacted_up_to(self._table) + every):
            return
        self._not_before = commit.batch + every
        try:
            done = compact(self._table, self._compactor, self._settings)
        except CompactionFailed as error:
            self._warned(f"{error}; this is tried again after batch {self._not_before}")
        else:
            self._compacted(done)


def compacted_up_to(table: LakeTable) -> int:
    """The last batch that was there when the table was compacted; 0 if that is not known."""
    try:
        return int(json.loads((table.ledger.directory / NOTE).read_text())["batch"])
    except (OSError, ValueError, KeyError, TypeError):
        return 0


def _write_note(table: LakeTable, batch: int) -> None:
    note = table.ledger.directory / NOTE
    beside = note.with_suffix(".new")
    with suppress(OSError):  # a full disk
        beside.write_text(json.dumps({"batch": batch}) + "\n")
        beside.replace(note)


def _check(table: LakeTable, marker: Marker) -> None:
    if not table.ends_with(marker):
        raise TableRefused(
            f"{table.directory} was changed by someone else while it was compacted: compact it again"
        )


def _files_of_rows(directory: Path) -> set[Path]:
    """The Parquet files below the directory, those of the ledger left out."""
    return {one for one in directory.rglob("*.parquet") if one.relative_to(directory).parts[0] != LEDGER}
