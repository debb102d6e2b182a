"""Which offsets the next batch reads. Pure: what the cluster and the table say goes in, a plan comes out."""

from collections.abc import Mapping
from dataclasses import dataclass

from odradek.base.errors import OdradekError
from odradek.base.ids import TopicPartition
from odradek.client.cluster import Offsets
from odradek.spark.offset_ranges import OffsetRange


class LogChanged(OdradekError):
    """The topics are no longer those that the table was made of, or have lost records that it lacks."""


@dataclass(frozen=True, slots=True)
class View:
    """What the cluster says of the topics at one moment."""

    earliest: Offsets
    latest: Offsets
    """The ends that a reader of the pipeline's isolation may read up to. Same partitions as `earliest`."""
    topic_ids: Mapping[str, str]
    """Topic to its id; a topic whose broker knows no ids is missing."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The reading of one batch."""

    ranges: tuple[OffsetRange, ...]
    """In ascending order, at most one for each partition, none empty."""
    holes: tuple[OffsetRange, ...]
    """Offsets that were deleted before they were read."""
    following: Offsets
    """The offset of the next record of each partition once this batch is committed."""


def plan_batch(
    view: View,
    position: Offsets,
    bound: Offsets | None,
    records_max: int,
    *,
    topic_ids: Mapping[str, str],
    may_lose: bool,
) -> Plan:
    """The batch after `position`, which ends at `bound` or at the ends of the partitions.

    Partitions that `position` lacks are new and are read from their first record. `topic_ids` are those of
    the table's last commit. Raises LogChanged for records that are gone, unless they may be lost, and for a
    topic that was deleted, or deleted and made anew.
    """
    _check_topics(view, position, topic_ids)
    starts: Offsets = {}
    holes = []
    for partition, earliest in sorted(view.earliest.items()):
        start = starts[partition] = max(position.get(partition, earliest), earliest)
        reached = position.get(partition, 0)
        if earliest > reached:
            holes.append(OffsetRange(partition, reached, start))
    if holes and not may_lose:
        hole = holes[0]
        raise LogChanged(
            f"{hole.topic_partition} has lost its records from {hole.start} to {hole.end - 1} before they"
            ' were read: set on_lost_offsets = "continue" in [source] to go on and record the hole'
        )
    ends = {
        partition: max(starts[partition], min(latest, (bound or {}).get(partition, latest)))
        for partition, latest in view.latest.items()
    }
    backlog = sum(ends[partition] - start for partition, start in starts.items())
    ranges = []
    for partition, start in starts.items():
        share = -(-(ends[partition] - start) * records_max // max(backlog, records_max))
        if share:
            ranges.append(OffsetRange(partition, start, start + share))
    following = starts | {one.topic_partition: one.end for one in ranges}
    return Plan(tuple(ranges), tuple(holes), following)


def is_reached(position: Offsets, bound: Offsets) -> bool:
    """Whether nothing is left to read before `bound`."""
    return all(position.get(partition, -1) >= offset for partition, offset in bound.items())


def lag(position: Offsets, view: View) -> Offsets:
    """The offsets of each partition that are not in the table yet."""
    return {
        partition: max(0, end - max(position.get(partition, 0), view.earliest[partition]))
        for partition, end in view.latest.items()
    }


def _check_topics(view: View, position: Offsets, topic_ids: Mapping[str, str]) -> None:
    for topic, known in sorted(topic_ids.items()):
        if view.topic_ids.get(topic, known) != known:
            raise LogChanged(
                f"topic {topic} was deleted and made anew: begin anew with another name and sink.path"
            )
    for partition, offset in sorted(position.items()):
        if partition not in view.latest:
            raise LogChanged(f"{partition}, which the pipeline has read, is gone")
        if offset > view.latest[partition]:
            raise LogChanged(
                f"{partition} was read up to offset {offset} and ends at {view.latest[partition]}:"
                " it has lost records that were read, or is another log"
            )


def partition_offsets(nested: Mapping[str, Mapping[str, int]]) -> Offsets:
    """Offsets from JSON: `{"flights": {"0": 23}}`."""
    return {
        TopicPartition(topic, int(number)): int(offset)
        for topic, offsets in nested.items()
        for number, offset in offsets.items()
    }


def nested_offsets(offsets: Offsets) -> dict[str, dict[str, int]]:
    """Offsets as JSON has them."""
    found: dict[str, dict[str, int]] = {}
    for (topic, number), offset in sorted(offsets.items()):
        found.setdefault(topic, {})[str(number)] = offset
    return found
