"""The PySpark data source `odradek.segments`: batch reads of topics from a broker's files.

    spark.read.format("odradek.segments").option("subscribe", "flights").load("/var/lib/kafka/data")

No broker needs to run. The rows are those that the source `odradek` gives for the same topic. The directory
must be visible under the same path to the driver and to the executors.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NoReturn

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from odradek.base.errors import OdradekError
from odradek.spark.first_sentence import sentence_first, sentence_first_of_rows
from odradek.spark.range_partition import RangePartition
from odradek.spark.segment_options import parse_segment_options
from odradek.spark.segment_reader import plan_segments, read_segments
from odradek.spark.source import schema_of
from odradek.spark.worker_imports import read_zips_once

__all__ = ["SegmentsDataSource"]

_ONLY: Final = "it reads the files of topics, with spark.read"


class SegmentsDataSource(DataSource):
    """The source `odradek.segments`."""

    @classmethod
    def name(cls) -> str:
        """The name for `format(...)`."""
        return "odradek.segments"

    @sentence_first
    def schema(self) -> str:
        """The columns of the source `odradek`."""
        return schema_of(self.options)

    @sentence_first
    def reader(self, schema: StructType) -> "SegmentsReader":
        """A batch reader; its options are checked here, before any task starts."""
        return SegmentsReader(self.options)

    @sentence_first
    def writer(self, schema: StructType, overwrite: bool) -> NoReturn:
        """Raises OdradekError."""
        raise OdradekError(f"the source odradek.segments writes nothing: {_ONLY}")

    @sentence_first
    def streamReader(self, schema: StructType) -> NoReturn:  # noqa: N802 - Spark's name
        """Raises OdradekError."""
        raise OdradekError(f"the source odradek.segments has no readStream: {_ONLY}")


class SegmentsReader(DataSourceReader):
    """Plans ranges on the driver, reads them on executors. Raises SettingError for bad options."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = parse_segment_options(options)

    @sentence_first
    def partitions(self) -> Sequence[InputPartition]:
        """One task for each segment with records to be read."""
        return [RangePartition(one) for one in plan_segments(self._options)]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """The rows of one range, on an executor."""
        read_zips_once()
        if not isinstance(partition, RangePartition):
            return iter(())  # Spark calls once without a partition when there are no ranges.
        return sentence_first_of_rows(read_segments(partition.wanted, self._options))
