"""Counts replays: each dead letter that was open is a row now, or a dead letter of the replay.

    batch 1   reads 10 records: 8 rows, dead letters of the offsets 3 and 7
    batch 2   a replay of 2 dead letters: a row of offset 3, a dead letter of offset 7

The dead letters of batch 1 stay where they are: with its rows they are what it read. The rows of a lake table
do not say which batch they are of; there the row of offset 3 is left out of what batch 1 has.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa

from odradek.base.ids import TopicPartition
from odradek.records.columnar.varints import Longs
from odradek.spark.pipeline.dead_letters import letter_files
from odradek.spark.pipeline.ledger import Commit, Table, TableRefused
from odradek.spark.pipeline.row_offsets import (
    PartitionOffsets,
    common,
    in_words,
    joined,
    offsets_in,
    without,
)


@dataclass(frozen=True, slots=True)
class Replays:
    """What the replays of a table took back, as its ledger has it."""

    open: Mapping[int, PartitionOffsets] = field(default_factory=dict)
    """Of each replay the dead letters that were open before it."""
    taken: Mapping[int, PartitionOffsets] = field(default_factory=dict)
    """Of each replay those that are no dead letters of its own."""
    left: PartitionOffsets = field(default_factory=dict)
    """Those that are open now."""

    def all_taken(self) -> PartitionOffsets:
        """Those that any replay took back."""
        found: PartitionOffsets = {}
        for one in self.taken.values():
            found = joined(found, one)
        return found


def replays_of(ledger: Table) -> Replays:
    """The replays of a table; batches and files that cannot be read are left out, as if they were empty."""
    still: PartitionOffsets = {}
    opened: dict[int, PartitionOffsets] = {}
    taken: dict[int, PartitionOffsets] = {}
    for commit in readable_commits(ledger):
        letters = letters_of(ledger, commit)
        if commit.is_replay:
            opened[commit.batch] = still
            taken[commit.batch] = without(still, letters)
            still = letters
        else:
            still = joined(still, letters)
    return Replays(opened, taken, still)


def check_replay(
    fault: Callable[[str], None],
    commit: Commit,
    replays: Replays,
    offsets: Mapping[TopicPartition, Longs],
    *,
    is_one_to_one: bool,
) -> None:
    """Note what is wrong with a replay that has rows and dead letters of these offsets."""
    opened = replays.open.get(commit.batch, {})
    for words in in_words(without(offsets, opened)):
        fault(f"batch={commit.batch}, a replay, has rows of records that were no open dead letters, {words}")
    if not is_one_to_one:
        return
    for words in in_words(without(opened, offsets)):
        fault(f"batch={commit.batch}, a replay, lacks dead letters that were open, {words}")
    double = {partition: mine[1:][mine[1:] == mine[:-1]] for partition, mine in offsets.items()}
    for words in in_words({partition: mine for partition, mine in double.items() if len(mine)}):
        fault(f"batch={commit.batch}, a replay, has dead letters more than once, {words}")


def rows_of_replay(
    commit: Commit, replays: Replays, rows: Mapping[TopicPartition, Longs]
) -> PartitionOffsets:
    """Which of a lake table's rows are those of this replay."""
    return common(rows, replays.taken.get(commit.batch, {}))


def readable_commits(ledger: Table) -> Iterator[Commit]:
    """The commits of a ledger but those that are damaged."""
    for batch in ledger.batches():
        try:
            yield ledger.commit(batch)
        except TableRefused:  # `verify` names it
            continue


def letters_of(ledger: Table, commit: Commit) -> PartitionOffsets:
    """The dead letters of a batch; files that cannot be read are left out."""
    found: PartitionOffsets = {}
    for name in letter_files(commit):
        found = joined(found, _offsets(ledger.directory_of(commit.batch) / name))
    return {partition: np.unique(mine) for partition, mine in found.items()}


def _offsets(file: Path) -> PartitionOffsets:
    try:
        return offsets_in([file])
    except (OSError, pa.ArrowException):
        return {}
