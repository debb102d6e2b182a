"""The newest row of each key in a batch, on Spark: what a table with keys gets of it.

The order of rows of one key is that of their records:

    of one partition   the record with the higher offset is newer
    of several         the newest of each partition are compared: by timestamp, then topic, then partition

A log orders the records of a partition alone. Across partitions only their timestamps can say which is newer;
topic and partition make the answer the same each time where these are equal. The same rule compares a record
with the row that the table has, so that the order in which batches read partitions does not decide. For a
key in several partitions this has two limits: a deleted row leaves nothing to compare with, and where the
timestamps of a partition go backwards, the newest of each partition is that of the batch, not of all batches.

Rows without the columns that say where they come from have no order; two of them of one key are refused.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as f

from odradek.base.errors import OdradekError
from odradek.spark.pipeline.fields import ORIGIN
from odradek.spark.pipeline.ledger import DELETES
from odradek.spark.pipeline.row_files import save_rows

ORDER: Final = ORIGIN[:4]
"""The columns that say which of two rows is newer."""
DELETED: Final = "_odradek_deleted"
"""The column that tells a deletion from a row."""
_RANK: Final = "_odradek_rank"
_SAME: Final = "_odradek_same"
_TIED: Final = "_odradek_tied"


class KeysRefused(OdradekError):
    """Rows of a batch have no key, or one key without an order; the message is a sentence."""


@dataclass(frozen=True, slots=True)
class Newest:
    """The newest row or deletion of each key of a batch, kept by Spark until `unpersist`."""

    frame: DataFrame
    """The rows, those of deletions with DELETED set and null but for key and origin."""
    rows: int
    deletes: int
    superseded: int
    """Rows and deletions that gave way to a newer one of the same key."""

    def save(self, directory: Path, names: Sequence[str], key: Sequence[str]) -> None:
        """Write rows with the columns `names` as Parquet into `directory`, deletions below it."""
        save_rows(self.frame.where(~f.col(DELETED)).select(*map(column, names)), directory)
        if self.deletes:
            known = dict.fromkeys([*key, *ORDER])
            save_rows(self.frame.where(DELETED).select(*map(column, known)), directory / DELETES)


def newest_of_keys(rows: DataFrame, deletions: DataFrame | None, key: Sequence[str]) -> Newest:
    """The newest of each key among `rows` and `deletions`; the latter have the key and the origin.

    Raises KeysRefused for a null in a key, and for two of one key of which none is newer.
    """
    changes = rows.withColumn(DELETED, f.lit(False))
    is_ordered = set(ORDER) <= set(rows.columns)
    if deletions is not None:
        if not is_ordered:
            raise KeysRefused(
                f"the rows have no {', '.join(ORDER)}, and without these nothing says whether a row or the"
                " deletion of its key is newer"
            )
        changes = changes.unionByName(deletions.withColumn(DELETED, f.lit(True)), allowMissingColumns=True)
    frame = ranked(changes, key, is_ordered=is_ordered).persist(StorageLevel.MEMORY_AND_DISK)
    try:
        return _counted(frame, key, is_ordered=is_ordered)
    except BaseException:
        frame.unpersist()
        raise


def column(name: str) -> Column:
    """A column of that name, which may have dots in it."""
    return f.col(f"`{name}`")


def ranked(changes: DataFrame, key: Sequence[str], *, is_ordered: bool) -> DataFrame:
    """The newest of each key, with the numbers of all of that key and of those that none is newer than."""
    columns = [column(name) for name in key]
    # One shuffle serves all windows, which are finer than the key or equal to it.
    gathered = changes.repartition(*columns)
    of_key = Window.partitionBy(*columns)
    gathered = gathered.withColumn(_SAME, f.count(f.lit(1)).over(of_key))
    if not is_ordered:
        return gathered.withColumn(_TIED, f.col(_SAME))
    in_partition = Window.partitionBy(*columns, "_topic", "_partition").orderBy(f.desc("_offset"))
    across = of_key.orderBy(f.desc("_timestamp"), f.desc("_topic"), f.desc("_partition"))
    last = gathered.withColumn(_RANK, f.rank().over(in_partition)).where(f.col(_RANK) == 1)
    newest = last.withColumn(_RANK, f.rank().over(across)).where(f.col(_RANK) == 1).drop(_RANK)
    return newest.withColumn(_TIED, f.count(f.lit(1)).over(of_key))


def _counted(frame: DataFrame, key: Sequence[str], *, is_ordered: bool) -> Newest:
    nulls = [
        f.coalesce(f.sum(f.when(column(name).isNull(), f.col(_SAME))), f.lit(0)).alias(f"null_{place}")
        for place, name in enumerate(key)
    ]
    counts = frame.agg(
        f.count(f.lit(1)).alias("all"),
        f.count_if(f.col(DELETED)).alias("deletes"),
        f.coalesce(f.sum(_SAME), f.lit(0)).alias("before"),
        f.coalesce(f.max(_TIED), f.lit(1)).alias("tied"),
        *nulls,
    ).collect()[0]
    for place, name in enumerate(key):
        if missing := counts[f"null_{place}"]:
            raise KeysRefused(f"{missing:,} rows have no value in {name}, which is part of the table's key")
    if counts["tied"] > 1:
        raise KeysRefused(_ambiguous(frame, key, is_ordered=is_ordered))
    rows = int(counts["all"]) - int(counts["deletes"])
    return Newest(frame, rows, int(counts["deletes"]), int(counts["before"]) - int(counts["all"]))


def _ambiguous(frame: DataFrame, key: Sequence[str], *, is_ordered: bool) -> str:
    columns = [column(name) for name in key]
    twice = frame.where(f.col(_TIED) > 1).orderBy(*columns).first()
    shown = ", ".join(f"{name} {twice[name]!r}" for name in key) if twice else ""
    if is_ordered:
        return f"one record makes several rows of one key, {shown}: the key does not identify a row"
    return (
        f"several rows of a batch have one key, {shown}, and no {', '.join(ORDER)} that say which is the"
        " newest: let the transforms keep these columns, or make one row of each key"
    )
