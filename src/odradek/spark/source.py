"""The PySpark data source `odradek`: topics in batches and streams, like Spark's Kafka source and sink.

    options = {"kafka.bootstrap.servers": "127.0.0.1:9092", "subscribe": "flights"}
    frame = spark.read.format("odradek").options(**options).load()
    frame.write.format("odradek").options(**servers, topic="copy").mode("append").save()

No jar is needed: offsets are planned on the driver, and each task fetches and decodes its own range (the
options: `source_options`; the plan: `batch_planning`; the reading: `range_reader`; writes: `sink`). Executors
must be able to import this module.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from odradek.spark.batch_planning import plan_batch
from odradek.spark.first_sentence import sentence_first, sentence_first_of_rows
from odradek.spark.range_partition import RangePartition
from odradek.spark.range_reader import read_range
from odradek.spark.sink import OdradekStreamWriter, OdradekWriter
from odradek.spark.source_options import flag, parse_options
from odradek.spark.stream_reader import CAN_BOUND, OdradekStreamReader
from odradek.spark.worker_imports import read_zips_once

__all__ = ["OdradekDataSource"]

SCHEMA = (
    "key binary, value binary, topic string, partition int, offset bigint,"
    " timestamp timestamp, timestampType int"
)
HEADERS_SCHEMA = ", headers array<struct<key: string, value: binary>>"


def schema_of(options: Mapping[str, str]) -> str:
    """The columns of a read with these options. Raises SettingError."""
    return SCHEMA + (HEADERS_SCHEMA if flag(options, "includeHeaders", default=False) else "")


class OdradekDataSource(DataSource):
    """The source `odradek`, registered with `spark.dataSource.register(OdradekDataSource)`."""

    @classmethod
    def name(cls) -> str:
        """The name for `format(...)`."""
        return "odradek"

    @sentence_first
    def schema(self) -> str:
        """The Kafka source's columns, with headers when `includeHeaders` is true."""
        read_zips_once()
        return schema_of(self.options)

    @sentence_first
    def reader(self, schema: StructType) -> "OdradekReader":
        """A batch reader; its options are checked here, before any task starts."""
        return OdradekReader(self.options)

    @sentence_first
    def writer(self, schema: StructType, overwrite: bool) -> OdradekWriter:
        """A batch writer; options and columns are checked here, before any task starts."""
        return OdradekWriter(self.options, schema, overwrite=overwrite)

    def streamReader(self, schema: StructType) -> OdradekStreamReader:  # noqa: N802 - Spark's name
        """A reader of streams, which checks its options when Spark first asks it for a position."""
        if not CAN_BOUND:
            return OdradekStreamReader(self.options)
        from odradek.spark.bounded_stream import BoundedStreamReader

        return BoundedStreamReader(self.options)

    @sentence_first
    def streamWriter(self, schema: StructType, overwrite: bool) -> OdradekStreamWriter:  # noqa: N802
        """A writer of a streaming query's micro-batch; `overwrite` is Spark's word for the complete mode."""
        return OdradekStreamWriter(self.options, schema)


class OdradekReader(DataSourceReader):
    """Plans ranges on the driver, reads them on executors. Raises SettingError for bad options."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = parse_options(options)

    @sentence_first
    def partitions(self) -> Sequence[InputPartition]:
        """One task for each planned range, on the driver."""
        read_zips_once()
        return [RangePartition(one) for one in plan_batch(self._options)]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """The rows of one range, on an executor."""
        read_zips_once()
        if not isinstance(partition, RangePartition):
            return iter(())  # Spark calls once without a partition when there are no ranges.
        return sentence_first_of_rows(read_range(partition.wanted, self._options.reading))
