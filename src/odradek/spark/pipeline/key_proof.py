"""Proves a table with keys against its topics: each key has the row of its newest record, and no other.

The topics are decoded again, and what each batch did to each key is done again in the order of the batches,
by the rule of `keyed_rows`. Then keys and origins of the table's rows are compared with that:

    a key whose newest record puts a row there   has this record's row
    a key whose newest record deletes            has no row
    a row of a record that is gone               cannot be judged, and is counted apart

Retention and compaction take old records first. Only where the records of one key are in several partitions,
and the newest of them are gone, the proof takes an older one for the newest.
"""

from collections.abc import Sequence
from functools import reduce
from typing import Any, Final

from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from odradek.spark.offset_ranges import OffsetRange
from odradek.spark.pipeline.keyed_rows import DELETED, ORDER, column, ranked
from odradek.spark.pipeline.keys import DELETE, IGNORE, Keying
from odradek.spark.pipeline.ledger import DEAD_LETTERS, Commit, Table
from odradek.spark.pipeline.merging import newer
from odradek.spark.pipeline.planning import View
from odradek.spark.pipeline.spark_job import SparkJob
from odradek.spark.pipeline.verifying import Findings, ranges_of

_BATCH: Final = "_odradek_batch"
_DUE: Final = "_odradek_due"
_HAS: Final = "_odradek_has"
_IS_THERE: Final = "_odradek_is_there"
_ORIGIN: Final = ORDER[:3]
_STEP: Final = (
    f"struct<{_BATCH}: bigint, _timestamp: timestamp, _topic: string, _partition: int, _offset: bigint,"
    f" {DELETED}: boolean>"
)


def prove_single_rows(found: Findings, table: DataFrame, key: Sequence[str]) -> None:
    """Note keys of which the table has several rows."""
    twice = table.groupBy(*map(column, key)).count().where("count > 1")
    _note(found, twice, key, "has several rows of")


def prove_keys(
    found: Findings, job: SparkJob, keying: Keying, ledger: Table, view: View, table: DataFrame
) -> None:
    """Note what the rows of `table` have other than the newest record of each key. Raises OdradekError.

    The ledger has been checked, and no transform makes the rows. Rows of several partitions are read again,
    as by a batch.
    """
    commits = [ledger.commit(number) for number in ledger.batches()]
    ranges = _still_there(commits, view)
    if not ranges:
        return
    decoded = job.decoded(ranges, dict(commits[-1].fields)).drop("_raw", "_new_fields")
    records = _without_dead_letters(decoded, ledger).persist(StorageLevel.MEMORY_AND_DISK)
    try:
        for name in keying.columns:
            if name not in records.columns:
                return  # no record has had the field yet: there are no rows
        broken = records.where("_error is not null")
        _note(found, broken, _ORIGIN, "has neither row nor dead letter of", "records")
        due = _due(records.where("_error is null"), commits, keying)
        _compare(found, due, records, table, keying.columns)
    finally:
        records.unpersist()


def _still_there(commits: Sequence[Commit], view: View) -> list[OffsetRange]:
    """What the batches read of each partition, as far as the topics have it."""
    starts: dict[Any, int] = {}
    ends: dict[Any, int] = {}
    for commit in commits:
        for one in ranges_of(commit.ranges):
            starts.setdefault(one.topic_partition, one.start)
            ends[one.topic_partition] = one.end
    found = []
    for partition, end in sorted(ends.items()):
        start = max(starts[partition], view.earliest.get(partition, end))
        if start < end:
            found.append(OffsetRange(partition, start, end))
    return found


def _without_dead_letters(decoded: DataFrame, ledger: Table) -> DataFrame:
    """The records that the ledger has no dead letter of."""
    places = [ledger.directory_of(number) / DEAD_LETTERS for number in ledger.batches()]
    # Not as a URI, in which Spark would take the escapes for parts of the name.
    letters = [f"file://{one.absolute()}" for one in places if one.is_dir()]
    if not letters:
        return decoded
    dead = decoded.sparkSession.read.parquet(*letters).select(*_ORIGIN)
    return decoded.join(dead, list(_ORIGIN), "left_anti")


def _due(records: DataFrame, commits: Sequence[Commit], keying: Keying) -> DataFrame:
    """The key and, as _DUE, the record of each row that the table should have."""
    read = [
        (one.topic_partition.topic, one.topic_partition.partition, one.start, one.end, commit.batch)
        for commit in commits
        for one in ranges_of(commit.ranges)
    ]
    batches = records.sparkSession.createDataFrame(
        read, f"_topic string, _partition int, start bigint, end bigint, {_BATCH} bigint"
    )
    changes = (
        records.where(f.coalesce(f.col("_change"), f.lit("")) != IGNORE)
        .withColumn(DELETED, f.coalesce(f.col("_change") == DELETE, f.lit(False)))
        .select(*map(column, dict.fromkeys([*keying.columns, *ORDER])), DELETED)
        .join(f.broadcast(batches), ["_topic", "_partition"])
        .where("_offset >= start and _offset < end")
    )
    newest = ranked(changes, [_BATCH, *keying.columns], is_ordered=True)
    step = f.struct(_BATCH, "_timestamp", "_topic", "_partition", "_offset", DELETED)
    steps = newest.groupBy(*map(column, keying.columns)).agg(
        f.array_sort(f.collect_list(step)).alias("steps")
    )
    folded = f.expr(
        f"aggregate(steps, cast(null as {_STEP}), (had, one) -> CASE WHEN had IS NULL OR"
        f" {newer(ORDER, 'one', 'had')} THEN CASE WHEN one.{DELETED} THEN NULL ELSE one END ELSE had END)"
    )
    return steps.select(*map(column, keying.columns), folded.alias(_DUE)).where(f.col(_DUE).isNotNull())


def _compare(
    found: Findings, due: DataFrame, records: DataFrame, table: DataFrame, key: Sequence[str]
) -> None:
    there = records.select(*_ORIGIN).withColumn(_IS_THERE, f.lit(True))
    rows = (
        table.select(*map(column, dict.fromkeys([*key, *ORDER])))
        .join(there, list(_ORIGIN), "left")
        .select(*map(column, key), _IS_THERE, f.struct(*_ORIGIN).alias(_HAS))
    )
    mine, theirs = due.alias("due"), rows.alias("has")
    same_key = reduce(
        Column.__and__, (f.col(f"due.`{name}`").eqNullSafe(f.col(f"has.`{name}`")) for name in key)
    )
    names = [f.coalesce(f.col(f"due.`{name}`"), f.col(f"has.`{name}`")).alias(name) for name in key]
    pairs = mine.join(theirs, same_key, "full_outer").select(*names, _DUE, _HAS, _IS_THERE).persist()
    try:
        is_due, has_row = f.col(_DUE).isNotNull(), f.col(_HAS).isNotNull()
        is_same = f.struct(*(f.col(_DUE)[name].alias(name) for name in _ORIGIN)) == f.col(_HAS)
        is_there = f.coalesce(f.col(_IS_THERE), f.lit(False))
        found.keys = pairs.where(is_due & has_row & is_same).count()
        faults = (
            (is_due & ~has_row, "lacks the row of"),
            (is_due & ~is_same & is_there, "has the row of an older record than the newest of"),
            (~is_due & is_there, "has a row of the deleted"),
        )
        for is_wrong, words in faults:
            _note(found, pairs.where(is_wrong), key, words)
    finally:
        pairs.unpersist()


def _note(found: Findings, wrong: DataFrame, names: Sequence[str], words: str, what: str = "keys") -> None:
    """Note the rows of `wrong`, if there are any, with the values of the first in `names`."""
    columns = [column(name) for name in names]
    counted = wrong.agg(f.count(f.lit(1)).alias("count"), f.min(f.struct(*columns)).alias("first")).first()
    if counted and counted["count"]:
        shown = ", ".join(f"{name} {value!r}" for name, value in zip(names, counted["first"], strict=True))
        found.fault(f"the table {words} {counted['count']:,} {what}, the first {shown}")
