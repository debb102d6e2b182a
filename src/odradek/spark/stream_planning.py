"""Plans the batches of a stream on the driver: where it begins, how far it may go, and the ranges between.

A position is JSON as in checkpoints of Spark's Kafka source: `{"flights": {"0": 23, "1": 345}}`, the offset
of the next record of each partition. Partitions that were added are read from their first record.
"""

from collections.abc import Mapping

from odradek.base.ids import TopicPartition
from odradek.base.offset_timestamps import EARLIEST, LATEST
from odradek.client.cluster import Offsets
from odradek.spark.batch_planning import Planning, with_attempts
from odradek.spark.offset_ranges import OffsetRange, plan
from odradek.spark.range_reader import DataLost
from odradek.spark.source_options import SourceOptions
from odradek.spark.trigger_limits import count, take

Position = dict[str, dict[str, int]]


def first_position(options: SourceOptions) -> Position:
    """Where a new stream begins; raises as `plan_batch` does."""
    return _to_position(with_attempts(options, lambda: Planning(options).starts()))


def latest_position(options: SourceOptions) -> Position:
    """The ends of all partitions; a topic that is gone is left out if data may be lost, else SettingError."""

    def ask() -> Offsets:
        planning = Planning(options)
        return planning.list_offsets(LATEST, planning.partitions(may_lack=_may_lose(options)))

    return _to_position(with_attempts(options, ask))


def bounded_position(options: SourceOptions, start: Position, latest: Position, offsets_max: int) -> Position:
    """Where a batch from `start` on ends that may hold `offsets_max` offsets; at most `latest`."""
    starts, ends = _to_offsets(start), _to_offsets(latest)
    if anew := sorted(set(ends) - set(starts)):
        starts |= with_attempts(options, lambda: Planning(options).list_offsets(EARLIEST, anew))
    return _to_position(take(starts, ends, offsets_max))


def offsets_between(start: Position, latest: Position) -> int:
    """How many offsets are to be read; partitions that were added are not counted."""
    return count(_to_offsets(start), _to_offsets(latest))


def ranges_between(options: SourceOptions, start: Position, end: Position) -> list[OffsetRange]:
    """The ranges of one batch. Raises DataLost where records are gone, unless that is allowed.

    Then a partition that is gone is left out, and one whose log is a new one is read from its start.
    """
    starts, ends = _to_offsets(start), _to_offsets(end)
    gone = sorted(set(starts) - set(ends))
    went_back = sorted(part for part in set(starts) & set(ends) if starts[part] > ends[part])
    if not _may_lose(options):
        for partition in gone:
            raise DataLost(f"{partition}, which the stream has read, is gone{_ALLOW}")
        for partition in went_back:
            raise DataLost(
                f"{partition} was read up to offset {starts[partition]} and ends at {ends[partition]}:"
                f" its topic was deleted and made anew{_ALLOW}"
            )
    anew = sorted(set(ends) - set(starts)) + went_back
    if anew:
        first = with_attempts(options, lambda: Planning(options).list_offsets(EARLIEST, anew))
        for partition, offset in first.items():
            if offset > 0 and partition not in starts and not _may_lose(options):
                raise DataLost(f"{partition} is new and has lost its records before {offset}{_ALLOW}")
        starts |= first
    starts = {partition: starts[partition] for partition in ends}
    return plan(starts, ends, options.partitions_min, options.records_max)


_ALLOW = " (failOnDataLoss=false goes on)"


def not_after(position: Position, bound: Position | None) -> Position:
    """`position`, with no partition beyond its offset in `bound`.

    Spark asks for the latest position before the first; a record that comes in between is not skipped.
    """
    if bound is None:
        return position
    return {
        topic: {
            number: min(offset, bound.get(topic, {}).get(number, offset))
            for number, offset in offsets.items()
        }
        for topic, offsets in position.items()
    }


def _may_lose(options: SourceOptions) -> bool:
    return not options.reading.fail_on_data_loss


def _to_position(offsets: Offsets) -> Position:
    found: Position = {}
    for (topic, number), offset in sorted(offsets.items()):
        found.setdefault(topic, {})[str(number)] = offset
    return found


def _to_offsets(position: Mapping[str, Mapping[str, int]]) -> Offsets:
    return {
        TopicPartition(topic, int(number)): offset
        for topic, offsets in position.items()
        for number, offset in offsets.items()
    }
