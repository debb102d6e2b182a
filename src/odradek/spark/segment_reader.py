"""Plans and reads offset ranges of segment files: no broker is asked, and no file is changed or locked.

What may be read ends where a consumer would end:

- In a directory that no broker holds, at the end of the log. Records behind the high watermark, which a
  cluster might have taken back, cannot be told from others there.
- In the directory of a running broker, at the high watermark that it last wrote to its checkpoint (every 5 s
  by default). What lies behind it may still be taken back, so an ending offset beyond it is refused.
- With read_committed before the first transaction that is open there.

A segment may be compacted or merged with others while it is read. Records are taken by their offsets, each
once; records that were deleted meanwhile are an error.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, Final

from odradek.base.errors import OdradekError, SettingError
from odradek.base.ids import TopicPartition
from odradek.base.offset_timestamps import EARLIEST
from odradek.client.cluster import Offsets
from odradek.records.columnar.record_sets import RecordSet, record_batches
from odradek.records.isolation import AbortedTransactions
from odradek.spark.offset_ranges import OffsetRange, bounds, resolve
from odradek.spark.range_reader import DataLost
from odradek.spark.segment_options import SegmentOptions
from odradek.storage.reading import PartitionFiles, is_in_use, topic_partitions

SET_BYTES: Final = 8 << 20
"""Bytes of batches that are decoded together; a larger batch is decoded alone."""


def plan_segments(options: SegmentOptions) -> list[OffsetRange]:
    """The tasks of a read: one for each segment that has offsets to be read.

    Raises SettingError for a directory, topic, partition or offset that is not there, and CorruptRecord for
    files that are no log.
    """
    try:
        partitions = _partitions(options)
        in_use = is_in_use(options.path)
        ends = {one: _end(options, one, in_use=in_use) for one in partitions}
        starts = {one: _files(options, one).start_offset() for one in partitions}
        wanted = _bounded(options, partitions, starts, ends, in_use=in_use)
        return [piece for one in wanted for piece in _by_segment(options, one)]
    except OSError as error:
        raise OdradekError(f"cannot read {options.path}: {error.strerror or error}") from error


def read_segments(wanted: OffsetRange, options: SegmentOptions) -> Iterator[Any]:
    """Yield the rows of `wanted` as pyarrow record batches in the schema of the source.

    Raises CorruptRecord for damaged files, DataLost when records were deleted since the read was planned.
    """
    files = _files(options, wanted.topic_partition)
    aborted = AbortedTransactions() if options.is_committed else None
    try:
        if aborted is not None:
            aborted.learn(files.aborted_between(wanted.start, wanted.end))
        position = wanted.start
        for records in _record_sets(files, wanted):
            one = RecordSet(wanted.topic_partition, records, position, wanted.end, aborted)
            position = one.next_offset
            yield from record_batches([one], with_headers=options.with_headers)
        start = files.start_offset()
    except FileNotFoundError as error:
        raise DataLost(f"a file of {wanted.topic_partition} is gone: {error.filename}") from error
    except OSError as error:
        raise OdradekError(f"cannot read {wanted.topic_partition} in {options.path}: {error}") from error
    if start > wanted.start:
        raise DataLost(
            f"{wanted.topic_partition} no longer has offset {wanted.start}; its log begins at {start} now"
        )


def _record_sets(files: PartitionFiles, wanted: OffsetRange) -> Iterator[bytes]:
    """The batches of the range, some MB at a time."""
    gathered: list[memoryview] = []
    size = 0
    # CRCs are checked where the sets are decoded.
    for _, _, batch in files.batches(wanted.start, wanted.end, verify=False):
        gathered.append(batch)
        size += len(batch)
        if size >= SET_BYTES:
            yield b"".join(gathered)
            gathered, size = [], 0
    if gathered:
        yield b"".join(gathered)


def _files(options: SegmentOptions, partition: TopicPartition) -> PartitionFiles:
    return PartitionFiles(f"{options.path.rstrip('/')}/{partition}")


def _partitions(options: SegmentOptions) -> list[TopicPartition]:
    """What is read of what the directory has: a broker of a cluster does not have all of a topic."""
    there = topic_partitions(options.path)
    counts: dict[str, int] = {}
    for topic, number in there:
        counts[topic] = max(counts.get(topic, 0), number + 1)
    found = options.subscription.partitions(counts)
    missing = sorted(set(found) - set(there))
    if options.subscription.assigned and missing:
        raise SettingError(f"there is no partition {missing[0].partition} of topic {missing[0].topic}")
    return [one for one in found if one in set(there)]


def _end(options: SegmentOptions, partition: TopicPartition, *, in_use: bool) -> int:
    files = _files(options, partition)
    end = files.high_watermark() if in_use else files.end_offset()
    return files.stable_end(end) if options.is_committed else end


def _bounded(
    options: SegmentOptions,
    partitions: Sequence[TopicPartition],
    starts: Offsets,
    ends: Offsets,
    *,
    in_use: bool,
) -> list[OffsetRange]:
    """The ranges that the options ask for, which must lie within `starts` and `ends`."""

    def at_edge(word: int, asked: list[TopicPartition]) -> Offsets:
        return {one: (starts if word == EARLIEST else ends)[one] for one in asked}

    wanted = {
        edge.option: resolve(bounds(edge.option, edge.text, partitions), at_edge)
        for edge in (options.start, options.end)
    }
    for option, offsets in wanted.items():
        for partition, offset in sorted(offsets.items()):
            if offset > ends[partition] and offset > starts[partition]:
                why = ", up to which a running broker holds it for certain" if in_use else ""
                raise SettingError(
                    f"{option} {offset} of {partition} is beyond what can be read, {ends[partition]}{why}"
                )
            if offset < starts[partition] and option == options.start.option:
                raise SettingError(
                    f"{option} {offset} of {partition} is before the start of its log, {starts[partition]}"
                )
    first, last = wanted[options.start.option], wanted[options.end.option]
    return [OffsetRange(one, first[one], last[one]) for one in partitions if first[one] < last[one]]


def _by_segment(options: SegmentOptions, wanted: OffsetRange) -> list[OffsetRange]:
    bases = [one.base_offset for one in _files(options, wanted.topic_partition).segments()]
    edges = [wanted.start, *(base for base in bases if wanted.start < base < wanted.end), wanted.end]
    return [OffsetRange(wanted.topic_partition, low, high) for low, high in pairwise(edges)]
