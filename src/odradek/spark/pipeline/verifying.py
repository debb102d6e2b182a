"""Counts a table against its topics: every record exactly once, as a row, a dead letter or a recorded hole.

Three things are checked, the first two from the table alone; of replays see `verifying_replays`:

    ledger   batches follow each other without a gap; each range begins where the one before ended
    files    each file is there with the rows that its commit names, and no other file is
    records  the offsets of rows and dead letters are those that the topic has, each once

Rows of a table with keys give way to newer ones: of these the third finds only that they are of offsets that
their batch read, and `key_proof` finds out whether they are the right ones.

The third needs rows with `_topic`, `_partition` and `_offset`, and records that the topic still has; what
retention deleted since is counted by its ledger alone, and said to be.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from odradek.base.ids import TopicPartition
from odradek.client.cluster import Offsets
from odradek.records.columnar.varints import Longs
from odradek.spark.offset_ranges import OffsetRange
from odradek.spark.pipeline.ledger import Commit, Table, TableRefused
from odradek.spark.pipeline.planning import View, partition_offsets
from odradek.spark.pipeline.row_offsets import joined, offsets_in, shown, without
from odradek.spark.pipeline.verifying_replays import check_replay, replays_of, rows_of_replay

# The faults that are named; more are counted.
FAULTS_MAX: Final = 20

ReadOffsets = Callable[[OffsetRange], Iterable[Longs]]
"""Yields arrays of the offsets that the topic has in a range."""


@dataclass(frozen=True, slots=True)
class LakeOffsets:
    """The offsets that the rows of a lake table come from, of all batches together."""

    offsets: Mapping[TopicPartition, Longs]
    """Those of each partition that the table was read from, sorted."""
    rows: int
    """All rows of the table."""

    def within(self, ranges: Iterable[OffsetRange]) -> dict[TopicPartition, Longs]:
        """Those of a batch."""
        found = {}
        for one in ranges:
            mine = self.offsets.get(one.topic_partition, np.empty(0, dtype=np.int64))
            start, end = np.searchsorted(mine, [one.start, one.end])
            found[one.topic_partition] = mine[start:end]
        return found


@dataclass(slots=True)
class Findings:
    """What a verification found."""

    batches: int = 0
    records: int = 0
    rows: int = 0
    dead_letters: int = 0
    """Those that are open: no replay has taken them back."""
    holes: int = 0
    """Offsets that were deleted before they were read."""
    keys: int = 0
    """Keys whose row was compared with their newest record, and is that of it; see `key_proof`."""
    compared: int = 0
    """Records of the topics that were looked for in the table one by one."""
    no_longer_there: int = 0
    """Offsets of the table's ranges that the topics no longer have."""
    repeated: int = 0
    """Rows in a topic that were sent again, or are of a batch that was not committed, as is permitted."""
    letters_sent: int = 0
    """Dead letters that are also in their topic; see `topic_letters_proof`."""
    letters_pending: int = 0
    """Those that the next run sends there."""
    letters_gone: int = 0
    """Those that it no longer has."""
    faults: list[str] = field(default_factory=list)
    """A sentence for each thing that is wrong, at most FAULTS_MAX; empty if every record is there once."""
    fault_count: int = 0

    def fault(self, sentence: str) -> None:
        """Note a thing that is wrong."""
        self.fault_count += 1
        if len(self.faults) < FAULTS_MAX:
            self.faults.append(sentence)


def verify(
    table: Table,
    view: View,
    read_offsets: ReadOffsets,
    *,
    is_one_to_one: bool,
    rows: LakeOffsets | None = None,
) -> Findings:
    """Check the table. `is_one_to_one`: no transform adds or drops rows. Raises OdradekError.

    `rows` are those of a lake table, whose ledger is `table`; a table of Parquet files has its own.
    """
    found = Findings()
    placed = 0
    reached: Offsets = {}
    before = 0
    replays = replays_of(table)
    all_taken = replays.all_taken()
    anew: set[str] = set()
    for batch in table.batches():
        if batch != before + 1:
            found.fault(f"the ledger has batch={batch}, and lacks batch={before + 1}")
        before = batch
        try:
            commit = table.commit(batch)
        except TableRefused as error:
            found.fault(str(error))
            continue
        _check_ledger(found, commit, reached)
        for topic in sorted(made_anew(commit, view) - anew):
            found.fault(f"topic {topic} was deleted and made anew: its records are not those of the table")
            anew.add(topic)
        files = _check_files(found, table, commit)
        if commit.keeps_origin:
            offsets = offsets_in(files)
            if rows is not None:
                mine = rows.within(ranges_of(commit.ranges))
                placed += sum(len(one) for one in mine.values())
                replayed = rows_of_replay(commit, replays, rows.offsets)
                offsets = joined(offsets, replayed if commit.is_replay else without(mine, all_taken))
            has_all = is_one_to_one and not commit.key
            if commit.is_replay:
                check_replay(found.fault, commit, replays, offsets, is_one_to_one=has_all)
            else:
                _check_records(found, commit, offsets, view, read_offsets, is_one_to_one=has_all)
        _count(found, commit)
        if is_one_to_one and _accounted(commit) != commit.records:
            found.fault(
                f"batch={batch} read {commit.records} records and has other numbers of rows and dead letters"
            )
    if rows is not None and placed != rows.rows:
        found.fault(f"{rows.rows - placed:,} rows are of no batch of the ledger")
    return found


def made_anew(commit: Commit, view: View) -> set[str]:
    """The topics of a batch that are other ones now."""
    return {topic for topic, known in commit.topic_ids.items() if view.topic_ids.get(topic, known) != known}


def _count(found: Findings, commit: Commit) -> None:
    found.batches += 1
    found.rows += commit.rows
    found.dead_letters += commit.dead_letters
    if commit.is_replay:
        found.dead_letters -= commit.records
    else:
        found.records += commit.records
    found.holes += sum(one.end - one.start for one in ranges_of(commit.holes))


def _accounted(commit: Commit) -> int:
    """The records whose fate the batch says."""
    kept = commit.rows + commit.deletes + commit.superseded
    return kept + commit.ignored + commit.dead_letters


def _check_ledger(found: Findings, commit: Commit, reached: Offsets) -> None:
    """Check that this batch begins where all before ended; moves `reached` on to its end."""
    for hole in ranges_of(commit.holes):
        expected = reached.get(hole.topic_partition, hole.start)
        if hole.start != expected:
            found.fault(
                f"batch={commit.batch} has a hole of {hole.topic_partition} that does not begin at {expected}"
            )
        reached[hole.topic_partition] = hole.end
    for one in ranges_of(commit.ranges):
        expected = reached.get(one.topic_partition, one.start)
        if one.start != expected:
            found.fault(
                f"batch={commit.batch} read {one.topic_partition} from {one.start},"
                f" where {expected} was to come"
            )
        reached[one.topic_partition] = one.end
    for partition, following in partition_offsets(commit.following).items():
        if reached.setdefault(partition, following) != following:
            found.fault(
                f"batch={commit.batch} says that {following} follows in {partition}, not {reached[partition]}"
            )


def _check_files(found: Findings, table: Table, commit: Commit) -> list[Path]:
    """Check the files of a batch; returns those that can be read."""
    directory = table.directory_of(commit.batch)
    there = {str(one.relative_to(directory)) for one in directory.rglob("*.parquet")}
    for name in sorted(there - set(commit.files)):
        found.fault(f"batch={commit.batch} has a file that its commit does not name: {name}")
    readable = []
    for name, rows in sorted(commit.files.items()):
        try:
            counted = pq.read_metadata(directory / name).num_rows
        except (OSError, pa.ArrowException) as error:
            found.fault(f"batch={commit.batch} has lost {name}: {error}")
            continue
        if counted != rows:
            found.fault(f"batch={commit.batch} has {counted} rows in {name}, where it wrote {rows}")
        readable.append(directory / name)
    return readable


def _check_records(
    found: Findings,
    commit: Commit,
    offsets: dict[TopicPartition, Longs],
    view: View,
    read_offsets: ReadOffsets,
    *,
    is_one_to_one: bool,
) -> None:
    none = np.empty(0, dtype=np.int64)
    for one in ranges_of(commit.ranges):
        mine = offsets.pop(one.topic_partition, none)
        where = f"batch={commit.batch} has records of {one.topic_partition}"
        if len(mine) and (mine[0] < one.start or mine[-1] >= one.end):
            found.fault(f"{where} outside the offsets that it read, {one.start} to {one.end - 1}")
        if is_one_to_one and (double := mine[1:][mine[1:] == mine[:-1]]).size:
            found.fault(f"{where} more than once: {shown(double)}")
        if one.topic_partition.topic in made_anew(commit, view):
            continue
        start = max(one.start, view.earliest.get(one.topic_partition, one.end))
        found.no_longer_there += min(start, one.end) - one.start
        if start >= one.end:
            continue
        theirs = np.concatenate([none, *read_offsets(OffsetRange(one.topic_partition, start, one.end))])
        found.compared += len(theirs)
        found.no_longer_there += int(np.count_nonzero(~np.isin(mine[mine >= start], theirs)))
        missing = theirs[~np.isin(theirs, mine)]
        if is_one_to_one and missing.size:
            found.fault(f"batch={commit.batch} lacks records of {one.topic_partition}: {shown(missing)}")
    for partition in sorted(offsets):
        found.fault(f"batch={commit.batch} has records of {partition}, which it did not read")


def ranges_of(nested: Mapping[str, Mapping[str, tuple[int, int]]]) -> list[OffsetRange]:
    """The ranges of a commit, which has them as JSON does."""
    return [
        OffsetRange(TopicPartition(topic, int(number)), start, end)
        for topic, bounds in nested.items()
        for number, (start, end) in bounds.items()
    ]
