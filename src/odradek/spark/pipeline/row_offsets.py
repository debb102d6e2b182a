"""The offsets that rows and dead letters come from, of each partition, sorted."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq

from odradek.base.ids import TopicPartition
from odradek.records.columnar.varints import Longs
from odradek.spark.pipeline.fields import ORIGIN

PartitionOffsets = dict[TopicPartition, Longs]
"""Sorted; an offset that stands there twice is one of two rows."""


def offsets_in(files: Sequence[Path]) -> PartitionOffsets:
    """The offsets of all rows and dead letters in these files."""
    parts: dict[TopicPartition, list[Longs]] = {}
    for file in files:
        rows = pq.ParquetFile(file).read(columns=list(ORIGIN[:3]))
        for key in rows.group_by(["_topic", "_partition"]).aggregate([]).to_pylist():
            same = pc.and_(
                pc.equal(rows["_topic"], key["_topic"]), pc.equal(rows["_partition"], key["_partition"])
            )
            offsets = rows.filter(same)["_offset"].to_numpy()
            parts.setdefault(TopicPartition(key["_topic"], key["_partition"]), []).append(offsets)
    return {partition: np.sort(np.concatenate(found)) for partition, found in parts.items()}


def joined(some: Mapping[TopicPartition, Longs], others: Mapping[TopicPartition, Longs]) -> PartitionOffsets:
    """The offsets of both."""
    found = dict(some)
    for partition, offsets in others.items():
        known = found.get(partition)
        found[partition] = offsets if known is None else np.sort(np.concatenate([known, offsets]))
    return found


def without(some: Mapping[TopicPartition, Longs], others: Mapping[TopicPartition, Longs]) -> PartitionOffsets:
    """The offsets of `some` that `others` lack."""
    return _filtered(some, others, lambda mine, theirs: mine[~np.isin(mine, theirs)])


def common(some: Mapping[TopicPartition, Longs], others: Mapping[TopicPartition, Longs]) -> PartitionOffsets:
    """The offsets of `some` that `others` have, too."""
    return _filtered(some, others, lambda mine, theirs: mine[np.isin(mine, theirs)])


def shown(offsets: Longs) -> str:
    """Offsets in words: a few of them, and how many there are."""
    first = ", ".join(str(one) for one in offsets[:5])
    return f"offset {first}" if len(offsets) == 1 else f"{len(offsets):,} offsets, the first {first}"


def in_words(offsets: Mapping[TopicPartition, Longs]) -> Iterable[str]:
    """The offsets of each partition in words."""
    return (f"{partition}: {shown(mine)}" for partition, mine in sorted(offsets.items()))


def _filtered(
    some: Mapping[TopicPartition, Longs],
    others: Mapping[TopicPartition, Longs],
    left: Callable[[Longs, Longs], Longs],
) -> PartitionOffsets:
    none = np.empty(0, dtype=np.int64)
    found = {partition: left(mine, others.get(partition, none)) for partition, mine in some.items()}
    return {partition: mine for partition, mine in found.items() if len(mine)}
