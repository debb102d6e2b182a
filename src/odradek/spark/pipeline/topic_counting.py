"""Counts what a pipeline has in the topics that it writes, by the headers of their records."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from odradek.client.cluster import Offsets
from odradek.spark.brokers import committed_ranges
from odradek.spark.offset_ranges import OffsetRange
from odradek.spark.pipeline.description import Description
from odradek.spark.pipeline.ledger import Table, TableRefused
from odradek.spark.pipeline.planning import View, partition_offsets
from odradek.spark.pipeline.row_offsets import without
from odradek.spark.pipeline.topic_rows import origins_in
from odradek.spark.pipeline.topic_sink import TopicTable
from odradek.spark.pipeline.verifying import Findings, LakeOffsets, ReadOffsets, verify
from odradek.spark.pipeline.verifying_replays import readable_commits, replays_of
from odradek.spark.range_reader import read_range


def verify_topic(
    description: Description, table: TopicTable, view: View, read_offsets: ReadOffsets
) -> Findings:
    """Count the topic of a pipeline. Raises OdradekError."""
    is_one_to_one = not description.transforms
    last = table.last()
    rows = sent = sink_offsets(description) if last else None
    if last and sent and may_have_repeated(description, table.ledger):
        rows = each_once(sent, table.ledger, partition_offsets(last.following))
    found = verify(table.ledger, view, read_offsets, is_one_to_one=is_one_to_one, rows=rows)
    # Behind transforms one record may have several rows, each sent once.
    if sent and rows and is_one_to_one:
        found.repeated = sent.rows - rows.rows
    return found


def sink_offsets(description: Description) -> LakeOffsets:
    """Where the records of the sink's topic come from. Raises TableRefused if it has lost its first ones."""
    topic = description.sink_topic
    if description.brokers.is_compacted(topic):
        raise TableRefused(
            f"{topic} is compacted, and only a topic that still has all records can be counted"
        )
    ranges = committed_ranges(description.brokers.reading(topic))
    lost = [one.topic_partition for one in ranges if one.start]
    if lost:
        raise TableRefused(
            f"{lost[0]} begins after its first record, because of retention or a deletion: only a topic that"
            " still has all records can be counted"
        )
    return _origins(description, ranges)


def letter_offsets(description: Description, starts: Mapping[str, int]) -> tuple[LakeOffsets, bool]:
    """Where the records of the topic of dead letters come from, and whether it has lost its first ones.

    `starts` are the offsets that those of this table begin at.
    """
    ranges, has_lost = [], False
    for one in committed_ranges(description.brokers.reading(description.letters_topic)):
        start = starts.get(str(one.topic_partition.partition), 0)
        has_lost |= start < one.start
        ranges.append(replace(one, start=max(start, one.start), end=max(start, one.end)))
    return _origins(description, ranges), has_lost


def _origins(description: Description, ranges: Sequence[OffsetRange]) -> LakeOffsets:
    """Where the records in these ranges of a topic come from."""

    def batches() -> Iterator[Any]:
        for one in ranges:
            options = description.brokers.reading(one.topic_partition.topic)
            yield from read_range(one, options.reading)

    return origins_in(batches(), description.name)


def may_have_repeated(description: Description, ledger: Table) -> bool:
    """Whether rows may be in the topic more than once, as the description says now or said earlier."""
    return description.may_repeat or any(one.may_repeat for one in readable_commits(ledger))


def each_once(rows: LakeOffsets, ledger: Table, following: Offsets) -> LakeOffsets:
    """The rows without those that were sent again, and without those of batches that were not committed.

    `following` are the offsets that were committed. A run that ended in a batch may have sent any of its
    rows. Those behind them the next run sends again; those of records that are open dead letters are of a
    replay that was not committed, or of a batch that was decoded in another way when it was sent again.
    """
    once = {
        partition: (mine := np.unique(offsets))[mine < following.get(partition, 0)]
        for partition, offsets in rows.offsets.items()
    }
    kept = without(once, replays_of(ledger).left)
    return LakeOffsets(kept, sum(len(one) for one in kept.values()))
