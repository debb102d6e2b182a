"""The source of a pipeline's batches, without a JVM: it reads as `odradek` does, and decodes."""

import traceback
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("pyspark")

from pyspark.sql.types import StructType

from odradek.base.errors import OdradekError, SettingError
from odradek.base.ids import TopicPartition
from odradek.spark import source
from odradek.spark.offset_ranges import OffsetRange
from odradek.spark.pipeline.decoded_rows import Decoding
from odradek.spark.pipeline.decoded_source import DECODING, DecodedDataSource, DecodedReader
from odradek.spark.pipeline.decoding import Decoder
from odradek.spark.pipeline.keys import Keying
from odradek.spark.range_partition import RangePartition
from tests.spark.pipeline.test_decoded_rows import batch_of, one_by_one

DECODED = Decoding(Decoder("json", {"n": "long"}), Keying())
RECORDS = [(b"k", b'{"n": 1}'), (None, b"broken"), (None, b'{"n": 2, "new": "x"}')]
PARTITION = RangePartition(OffsetRange(TopicPartition("flights", 1), 7, 10))


def reader(**options: str) -> DecodedReader:
    given = {"kafka.bootstrap.servers": "127.0.0.1:9", "subscribe": "flights", DECODING: DECODED.as_text()}
    return DecodedDataSource(given | options).reader(StructType())


def test_what_is_read_is_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "read_range", lambda wanted, options: iter([batch_of(RECORDS)]))
    (found,) = reader().read(PARTITION)
    assert found.to_pylist() == one_by_one(DECODED, RECORDS)


def test_without_a_range_there_is_nothing() -> None:
    assert list(reader().read(None)) == []  # type: ignore[arg-type]  # as Spark calls it


def test_an_error_on_the_way_begins_with_its_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def read(*_: Any) -> Iterator[Any]:
        yield batch_of(RECORDS)
        raise OdradekError("flights-1 is gone")

    monkeypatch.setattr(source, "read_range", read)
    rows = reader().read(PARTITION)
    assert len(next(rows)) == 3
    with pytest.raises(OdradekError) as refused:
        next(rows)
    assert traceback.format_exception(refused.value)[0].endswith(": flights-1 is gone\n")


def test_options_are_those_of_the_source() -> None:
    with pytest.raises(SettingError, match="the source odradek has no option nothing"):
        reader(nothing="1")
