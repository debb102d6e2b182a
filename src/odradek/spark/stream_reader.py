"""Streams of the source: plans their batches on the driver, reads ranges on executors."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from typing import Any, Final

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from odradek.spark.first_sentence import sentence_first, sentence_first_of_rows
from odradek.spark.range_partition import RangePartition
from odradek.spark.range_reader import read_range
from odradek.spark.source_options import SourceOptions, parse_options
from odradek.spark.stream_planning import (
    Position,
    first_position,
    latest_position,
    not_after,
    ranges_between,
)
from odradek.spark.worker_imports import read_zips_once

CAN_BOUND: Final = find_spec("pyspark.sql.streaming.datasource") is not None
"""Whether this PySpark lets a source bound its batches: from 4.2 on (SPARK-55304); see `bounded_stream`."""
ATTEMPTS_OF_A_RUNNING_STREAM: Final = 60
"""How often a stream that has been answered asks by default, a minute long; one that begins fails earlier."""
_ATTEMPTS: Final = "fetchoffset.numretries"


class OdradekStreamReader(DataSourceStreamReader):
    """Plans the batches of a stream on the driver, reads their ranges on executors.

    Options are checked late, because Spark replaces an exception of the constructor by another error.
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        self._given = dict(options)
        self._says_attempts = any(name.lower() == _ATTEMPTS for name in options)
        # Set when the brokers have answered for the first time.
        self._first_latest: Position | None = None

    @sentence_first
    def initialOffset(self) -> Position:  # noqa: N802 - Spark's name
        """Where a stream without a checkpoint begins."""
        return not_after(first_position(self._options()), self._first_latest)

    @sentence_first
    def latestOffset(self) -> Position:  # noqa: N802 - Spark's name
        """How far the stream may go now; Spark 4.1 asks for it before the initial offset."""
        latest = latest_position(self._options())
        if self._first_latest is None:
            self._first_latest = latest
        return latest

    @sentence_first
    def partitions(self, start: Position, end: Position) -> Sequence[InputPartition]:
        """One task for each range of a batch."""
        return [RangePartition(one) for one in ranges_between(self._options(), start, end)]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """The rows of one range, on an executor."""
        read_zips_once()
        if not isinstance(partition, RangePartition):
            return iter(())
        return sentence_first_of_rows(read_range(partition.wanted, self._options().reading))

    def _options(self) -> SourceOptions:
        options = parse_options(self._given, is_stream=True, can_bound=CAN_BOUND)
        if self._first_latest is None or self._says_attempts:
            return options
        return replace(options, offset_attempts=ATTEMPTS_OF_A_RUNNING_STREAM)
