"""Which dead letters of a table are open, that is, can be taken back by a replay.

A replay is a batch like others, but it reads the open dead letters instead of topics. It takes all of them:
those that can be read now become rows, and the others are dead letters of the replay, with today's error.

    batch 1   dead letters a, b       open until batch 4
    batch 3   dead letter c           open until batch 4
    batch 4   a replay: a and c become rows; b is its dead letter
    batch 5   dead letter d           open are b, of batch 4, and d

So the open ones are those of the last replay and of the batches behind it, and that a batch is a replay is
all that its commit has to say: rows and "taken back" become visible as one.
"""

from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from odradek.spark.pipeline.ledger import DEAD_LETTERS, Commit, Table, TableRefused


@dataclass(frozen=True, slots=True)
class DeadLetters:
    """Dead letters, where they are."""

    files: tuple[Path, ...] = ()
    count: int = 0


def open_letters(ledger: Table) -> DeadLetters:
    """The open dead letters of a table. Raises TableRefused if files of them are gone or damaged."""
    files: list[Path] = []
    count = 0
    for batch in reversed(ledger.batches()):
        commit = ledger.commit(batch)
        files += checked_files(ledger, commit)
        count += commit.dead_letters
        if commit.is_replay:
            break
    return DeadLetters(tuple(files), count)


def checked_files(ledger: Table, commit: Commit) -> list[Path]:
    """The files of a batch's dead letters. Raises TableRefused if any is gone or damaged."""
    files = []
    for name, rows in sorted(letter_files(commit).items()):
        file = ledger.directory_of(commit.batch) / name
        _check(file, rows)
        files.append(file)
    return files


def letter_files(commit: Commit) -> dict[str, int]:
    """The files of a batch's dead letters, relative to its directory, and their rows."""
    return {name: rows for name, rows in commit.files.items() if name.startswith(DEAD_LETTERS)}


def _check(file: Path, rows: int) -> None:
    try:
        counted = pq.read_metadata(file).num_rows
    except (OSError, pa.ArrowException):
        raise TableRefused(f"{file} is missing or damaged: its dead letters cannot be taken back") from None
    if counted != rows:
        raise TableRefused(f"{file} has {counted} dead letters, where {rows} were written")
