"""Which row of a key is the newest of a batch, by a whole Spark."""

import random
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest

from odradek.spark.pipeline.ledger import DELETES

pytestmark = [
    pytest.mark.spark,
    pytest.mark.integration,
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),
]

# Time, topic, partition, offset, key, value.
Row = tuple[int, str, int, int, str | None, int]
SCHEMA = "_timestamp timestamp, _topic string, _partition int, _offset bigint, `k.ey` string, v bigint"
KEY = ("k.ey",)


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    from odradek.spark.session import spark_session

    session = spark_session("test-keys")
    yield session
    session.stop()


def frame(spark: Any, rows: list[Row]) -> Any:
    moments = [(datetime.fromtimestamp(time, UTC), *others) for time, *others in rows]
    return spark.createDataFrame(moments, SCHEMA)


def newest(rows: list[Row]) -> dict[str | None, int]:
    """The rule by itself: the last record of each partition, of these the latest."""
    last: dict[tuple[str | None, str, int], Row] = {}
    for row in sorted(rows, key=lambda one: one[3]):
        last[row[4], row[1], row[2]] = row
    found: dict[str | None, int] = {}
    for row in sorted(last.values()):
        found[row[4]] = row[5]
    return found


def drawn(seed: int) -> list[Row]:
    """Records of two topics and partitions, few times, so that many are equal, and few keys."""
    chance = random.Random(seed)
    places = [(topic, number, offset) for topic in "ab" for number in range(2) for offset in range(15)]
    chance.shuffle(places)
    return [
        (chance.randrange(4), *place, chance.choice("klmnopqrs"), value) for value, place in enumerate(places)
    ]


def test_the_newest_of_each_key_is_kept(spark: Any, tmp_path: Path) -> None:
    from odradek.spark.pipeline.keyed_rows import newest_of_keys

    rows = drawn(1)
    found = newest_of_keys(frame(spark, rows), None, KEY)
    found.save(tmp_path, ["v", "k.ey"], KEY)
    kept = ds.dataset(tmp_path).to_table()
    assert kept.column_names == ["v", "k.ey"]
    expected = newest(rows)
    assert {row["k.ey"]: row["v"] for row in kept.to_pylist()} == expected
    assert (found.rows, found.deletes, found.superseded) == (len(expected), 0, len(rows) - len(expected))
    assert not (tmp_path / DELETES).exists()
    found.frame.unpersist()


def test_deletions_are_in_the_order_of_the_rows(spark: Any, tmp_path: Path) -> None:
    from odradek.spark.pipeline.keyed_rows import newest_of_keys

    rows = drawn(2)
    gone = frame(spark, [row for row in rows if row[5] % 2]).drop("v")
    found = newest_of_keys(frame(spark, [row for row in rows if not row[5] % 2]), gone, KEY)
    found.save(tmp_path, ["k.ey", "v"], KEY)
    expected = newest(rows)
    kept = {row["k.ey"]: row["v"] for row in ds.dataset(tmp_path).to_table().to_pylist()}
    assert kept == {key: value for key, value in expected.items() if not value % 2}
    deleted = ds.dataset(tmp_path / DELETES).to_table()
    assert sorted(deleted["k.ey"].to_pylist()) == sorted(key for key in expected if key not in kept and key)
    assert set(deleted.column_names) == {"k.ey", "_timestamp", "_topic", "_partition", "_offset"}
    assert (found.rows, found.deletes) == (len(kept), len(expected) - len(kept))
    found.frame.unpersist()


def test_what_has_no_key_or_no_order_is_refused(spark: Any) -> None:
    from odradek.spark.pipeline.keyed_rows import KeysRefused, newest_of_keys

    def refused(rows: Any, deletions: Any = None) -> str:
        with pytest.raises(KeysRefused) as error:
            newest_of_keys(rows, deletions, KEY)
        return str(error.value)

    rows = frame(spark, [(1, "a", 0, 0, "k", 1), (1, "a", 0, 1, None, 2), (1, "a", 0, 2, None, 3)])
    assert refused(rows) == "2 rows have no value in k.ey, which is part of the table's key"
    doubled = frame(spark, [(1, "a", 0, 0, "k", 1), (1, "a", 0, 0, "k", 2)])
    assert refused(doubled).startswith("one record makes several rows of one key, k.ey 'k'")
    bare = doubled.select("`k.ey`", "v")
    assert refused(bare).startswith("several rows of a batch have one key, k.ey 'k', and no _topic")
    assert "nothing says whether a row or the deletion of its key is newer" in refused(
        bare, doubled.drop("v")
    )


def test_a_record_and_a_row_are_compared_by_the_same_rule(spark: Any) -> None:
    """What a MERGE asks for each pair, against the rule by itself."""
    from odradek.spark.pipeline.keyed_rows import ORDER
    from odradek.spark.pipeline.merging import newer

    rows = drawn(3)[:25]
    numbered = frame(spark, [(*row[:4], "k", place) for place, row in enumerate(rows)])
    pairs = numbered.alias("s").crossJoin(numbered.alias("t")).where("s.v <> t.v")
    asked = pairs.selectExpr("s.v as one", "t.v as other", f"{newer(ORDER, 's', 't')} as newer").collect()
    assert len(asked) == 25 * 24
    for pair in asked:
        two = [(*rows[place][:4], "k", place) for place in (pair.one, pair.other)]
        assert pair.newer == (newest(two)["k"] == pair.one)
