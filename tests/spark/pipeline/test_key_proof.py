"""What verify finds in a table with keys, by a whole Spark over rows in memory."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from odradek.base.ids import TopicPartition
from odradek.spark.offset_ranges import OffsetRange
from odradek.spark.pipeline.fields import Fields
from odradek.spark.pipeline.planning import View
from odradek.spark.pipeline.verifying import Findings

pytestmark = [
    pytest.mark.spark,
    pytest.mark.integration,
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),
]

ROW = "_topic string, _partition int, _offset bigint, _timestamp timestamp, n bigint"
RECORD = f"{ROW}, _raw binary, _error string, _new_fields string, _change string"
# Partition, offset, milliseconds, key; in two batches.
RECORDS = [
    (0, 0, 2000, 1),
    (1, 0, 1000, 1),
    (1, 1, 3000, 2),
    (0, 1, 2500, 2),
    (1, 2, 1500, 1),
    (1, 3, 2900, 2),
]
RANGES = [{"0": (0, 1), "1": (0, 2)}, {"0": (1, 2), "1": (2, 4)}]


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    from odradek.spark.session import spark_session

    session = spark_session("test-key-proof")
    yield session
    session.stop()


def row(record: int) -> tuple[Any, ...]:
    partition, offset, time, key = RECORDS[record]
    return "t", partition, offset, datetime.fromtimestamp(time / 1000, UTC), key


class Batch:
    """What the proof asks of a commit."""

    def __init__(self, batch: int) -> None:
        self.batch = batch
        self.ranges = {"t": RANGES[batch - 1]}
        self.fields: dict[str, str] = {}


class Ledger:
    """What the proof asks of a ledger, which has no dead letters."""

    def batches(self) -> list[int]:
        return [1, 2]

    def commit(self, batch: int) -> Batch:
        return Batch(batch)

    def directory_of(self, batch: int) -> Path:
        return Path("/nowhere")


class Job:
    """Decodes the records that are in the ranges; `deleting` are the places of those without a value."""

    def __init__(self, spark: Any, deleting: Sequence[int]) -> None:
        self._spark = spark
        self._deleting = deleting

    def decoded(self, ranges: Sequence[OffsetRange], fields: Fields) -> Any:
        bounds = {one.topic_partition.partition: range(one.start, one.end) for one in ranges}
        found = [
            (*row(place), None, None, None, "delete" if place in self._deleting else None)
            for place, record in enumerate(RECORDS)
            if record[1] in bounds.get(record[0], ())
        ]
        return self._spark.createDataFrame(found, RECORD)


@pytest.mark.parametrize(
    ("table", "deleting", "earliest", "keys", "faults"),
    [
        ((0, 5), (), 0, 2, []),
        ((0, 5), (), 2, 1, []),  # a row whose record is gone is not judged
        ((1, 5), (), 0, 1, ["has the row of an older record than the newest of 1 keys, the first n 1"]),
        ((5,), (), 0, 1, ["lacks the row of 1 keys, the first n 1"]),
        ((0,), (5,), 0, 1, []),
        ((0, 2), (5,), 0, 1, ["has a row of the deleted 1 keys, the first n 2"]),
        ((4, 5), (0,), 0, 2, []),  # a deletion leaves nothing that a later batch could be compared with
    ],
)
def test_each_key_has_the_row_of_its_newest_record(
    spark: Any, table: tuple[int, ...], deleting: tuple[int, ...], earliest: int, keys: int, faults: list[str]
) -> None:
    from odradek.spark.pipeline.key_proof import prove_keys
    from odradek.spark.pipeline.keys import Keying

    rows = spark.createDataFrame([row(place) for place in table], ROW)
    first, second = TopicPartition("t", 0), TopicPartition("t", 1)
    view = View({first: earliest, second: 0}, {first: 2, second: 4}, {})
    found = Findings()
    job: Any = Job(spark, deleting)
    ledger: Any = Ledger()
    prove_keys(found, job, Keying(("n",), "delete", "text"), ledger, view, rows)
    assert (found.keys, found.faults) == (keys, [f"the table {fault}" for fault in faults])
