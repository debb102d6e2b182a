"""The PySpark data source `odradek.decoded`: a batch of a pipeline, decoded where it is read.

The task that fetches records decodes them, too. Behind a source each record would go to the JVM and back
before it is decoded: two more turns through Arrow's format and a process.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from pyspark.sql.datasource import DataSource, InputPartition
from pyspark.sql.types import StructType

from odradek.spark.first_sentence import sentence_first, sentence_first_of_rows
from odradek.spark.pipeline.decoded_rows import Decoding, decode_rows
from odradek.spark.source import OdradekReader

NAME: Final = "odradek.decoded"
DECODING: Final = "decoding"
"""The option that has `Decoding.as_text`; the others are those of the source `odradek`."""


class DecodedDataSource(DataSource):
    """The source; its schema is given, and is that of `decoded_schema`."""

    @classmethod
    def name(cls) -> str:
        """The name for `format(...)`."""
        return NAME

    @sentence_first
    def reader(self, schema: StructType) -> "DecodedReader":
        """A batch reader; its options are checked here, before any task starts."""
        options = dict(self.options)
        return DecodedReader(Decoding.from_text(options.pop(DECODING)), options)


class DecodedReader(OdradekReader):
    """Plans and reads as the source `odradek` does, and decodes what it has read."""

    def __init__(self, decoding: Decoding, options: Mapping[str, str]) -> None:
        super().__init__(options)
        self._decoding = decoding

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """The decoded records of one range, on an executor."""
        return sentence_first_of_rows(decode_rows(self._decoding, super().read(partition)))
