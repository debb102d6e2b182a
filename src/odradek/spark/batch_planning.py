"""Plans a batch read on the driver: asks the cluster for leaders and offsets until it has them all.

A time becomes the offset of the first record of that time or later. Without such a record a read ends at the
partition's end, and it begins there only if `startingOffsetsByTimestampStrategy` is `latest`.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from odradek.base.errors import ApiError, OdradekError, SettingError
from odradek.base.ids import TopicId, TopicPartition
from odradek.base.offset_timestamps import LATEST
from odradek.client.cluster import Leaders, Offsets, fetch_leaders, list_offsets
from odradek.spark.offset_ranges import Edge, OffsetRange, bounds, plan, resolve, times
from odradek.spark.source_options import SourceOptions

T = TypeVar("T")

# What ListOffsets answers where no record has the time or a later one.
_NO_RECORD = -1


def plan_batch(options: SourceOptions) -> list[OffsetRange]:
    """The ranges of a read; raises as `with_attempts` does."""
    return with_attempts(options, lambda: Planning(options).ranges())


def with_attempts(options: SourceOptions, ask: Callable[[], T]) -> T:
    """What `ask` returns, which is called up to `offset_attempts` times.

    Raises SettingError for partitions, offsets or times that do not fit the cluster, and the last
    OdradekError when the cluster gave no answer.
    """
    for attempt in range(1, options.offset_attempts + 1):
        try:
            return ask()
        except SettingError:
            raise
        except OdradekError as failure:
            is_final = isinstance(failure, ApiError) and not failure.code.is_retriable
            if is_final or attempt == options.offset_attempts:
                raise
            time.sleep(options.offset_retry_ms / 1000)
    raise AssertionError("there is always a first attempt")


class Planning:
    """One attempt, with the leaders as of its beginning."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._leaders = self._fetch_leaders()

    def ranges(self) -> list[OffsetRange]:
        """The tasks of a batch."""
        partitions = self.partitions()
        starts = self.starts()
        ends = self._ends(partitions)
        return plan(starts, ends, self._options.partitions_min, self._options.records_max)

    def partitions(self, *, may_lack: bool = False) -> list[TopicPartition]:
        """What is read; `may_lack` leaves out subscribed topics that do not exist."""
        return self._options.subscription.partitions(self._leaders.counts, may_lack=may_lack)

    def topic_ids(self) -> Mapping[str, TopicId]:
        """The ids of the topics, zero where the broker knows none."""
        return self._leaders.topic_ids

    def starts(self) -> Offsets:
        """Where reading begins."""
        partitions = self.partitions()
        edge = self._options.start
        if not edge.is_time:
            return self._resolved(edge, partitions)
        found = self._at_times(edge, partitions)
        missing = sorted(part for part, offset in found.items() if offset == _NO_RECORD)
        if missing and not self._options.is_latest_without_match:
            raise SettingError(
                f"{edge.option}: {missing[0]} has no record of that time or later"
                " (startingOffsetsByTimestampStrategy=latest reads such partitions from their end)"
            )
        return found | self.list_offsets(LATEST, missing)

    def _ends(self, partitions: Sequence[TopicPartition]) -> Offsets:
        edge = self._options.end
        if not edge.is_time:
            return self._resolved(edge, partitions)
        found = self._at_times(edge, partitions)
        missing = [part for part, offset in found.items() if offset == _NO_RECORD]
        latest = self.list_offsets(LATEST, list(found))
        # Read-committed, a record of that time may lie beyond the end that such a read has.
        return {part: min(offset, latest[part]) for part, offset in found.items()} | {
            part: latest[part] for part in missing
        }

    def _resolved(self, edge: Edge, partitions: Sequence[TopicPartition]) -> Offsets:
        wanted = bounds(edge.option, edge.text, partitions, is_stream=self._options.is_stream)
        self._check_ends(edge, {part: offset for part, offset in wanted.items() if offset >= 0})
        return resolve(wanted, self.list_offsets)

    def _check_ends(self, edge: Edge, numbers: Offsets) -> None:
        """Raises SettingError for a number beyond its log's end, which no wait may be trusted to cure."""
        if not numbers:
            return
        ends = self.list_offsets(LATEST, sorted(numbers), "read_uncommitted")
        for partition, offset in sorted(numbers.items()):
            if offset > ends[partition]:
                raise SettingError(
                    f"{edge.option} {offset} of {partition} is beyond the end of its log, {ends[partition]}"
                )

    def _at_times(self, edge: Edge, partitions: Sequence[TopicPartition]) -> Offsets:
        by_time: dict[int, list[TopicPartition]] = defaultdict(list)
        for partition, milliseconds in times(edge, partitions).items():
            by_time[milliseconds].append(partition)
        found: Offsets = {}
        for milliseconds, asked in by_time.items():
            found |= self.list_offsets(milliseconds, asked)
        return found

    def list_offsets(
        self, timestamp: int, partitions: Sequence[TopicPartition], isolation: str | None = None
    ) -> Offsets:
        """`cluster.list_offsets` with the isolation of the read unless one is given."""
        if not partitions:
            return {}
        isolation = isolation or self._options.reading.isolation
        return list_offsets(self._leaders, timestamp, partitions, isolation, self._options.reading.connect)

    def _fetch_leaders(self) -> Leaders:
        with self._options.reading.connect_any() as connection:
            return fetch_leaders(connection, self._options.subscription.named_topics)
