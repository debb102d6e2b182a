"""Counts what a pipeline has in the topics that it writes, by the headers of their records."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from odradek.client.cluster import Offsets
from odradek.spark.brokers import committed_ranges
from odradek.spark.pipeline.description import Description
from odradek.spark.pipeline.ledger import Commit, Table, TableRefused
from odradek.spark.pipeline.planning import View, partition_offsets
from odradek.spark.pipeline.row_offsets import without
from odradek.spark.pipeline.topic_rows import origins_in
from odradek.spark.pipeline.topic_sink import TopicTable
from odradek.spark.pipeline.verifying import Findings, LakeOffsets, ReadOffsets, verify
from odradek.spark.pipeline.verifying_replays import replays_of
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
    options = description.brokers.reading(topic)
    ranges = committed_ranges(options)
    lost = [one.topic_partition for one in ranges if one.start]
    if lost:
        raise TableRefused(
            f"{lost[0]} begins after its first record, because of retention or a deletion: only a topic that"
            " still has all records can be counted"
        )

    def batches() -> Iterator[Any]:
        for one in ranges:
            yield from read_range(one, options.reading)

    return origins_in(batches(), description.name)


def may_have_repeated(description: Description, ledger: Table) -> bool:
    """Whether rows may be in the topic more than once, as the description says now or said earlier."""
    return description.may_repeat or any(one.may_repeat for one in _readable(ledger))


def _readable(ledger: Table) -> Iterator[Commit]:
    for batch in ledger.batches():
        try:
            yield ledger.commit(batch)
        except TableRefused:  # `verify` names it
            continue


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
