"""Which tables are records to send, and what is said of those that are not."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.base.errors import ApiError
from odradek.client.core.producer.batch import record_bytes_max
from odradek.records.framing import RecordHeaders

pa = pytest.importorskip("pyarrow")

from odradek.client.core.producer import table_columns  # noqa: E402
from odradek.client.core.producer.table_columns import Rows, TableColumns  # noqa: E402
from odradek.records.columnar.header_columns import HEADER_TYPE  # noqa: E402

BYTES = st.none() | st.binary(max_size=20)


def rows_of(table: Any, topic: str | None = "t") -> Rows:
    (rows,) = TableColumns(table, topic).windows()
    return rows


@pytest.mark.parametrize(
    ("columns", "topic", "said"),
    [
        ({"key": [b"k"]}, "t", "the table has no column value"),
        ({"value": [b"v"]}, None, "the table has no column topic, and the call names none"),
        ({"value": [b"v"], "topic": ["t"]}, "t", "has a column topic, and the call names one, too"),
        ({"value": [b"v"], "offset": [3]}, "t", "the column offset of the table would have no effect"),
    ],
)
def test_columns_that_are_missing_or_have_no_effect_are_named(
    columns: dict[str, list[Any]], topic: str | None, said: str
) -> None:
    with pytest.raises(ApiError, match=said):
        TableColumns(pa.table(columns), topic)


def test_a_column_that_is_there_twice_is_refused() -> None:
    table = pa.Table.from_arrays([pa.array([b"v"])] * 2, names=["value", "value"])
    with pytest.raises(ApiError, match="the table has two columns value"):
        TableColumns(table, "t")


@pytest.mark.parametrize(
    ("name", "column", "said"),
    [
        ("value", pa.array([1]), "the column value of the table is int64; it must be binary or string"),
        ("key", pa.array([[b"k"]]), "the column key of the table is list.*; it must be binary or string"),
        ("topic", pa.array([b"t"]), "the column topic of the table is binary; it must be string"),
        ("partition", pa.array(["1"]), "the column partition of the table is string; it must be an integer"),
        ("timestamp", pa.array([5]), "the column timestamp of the table is int64; it must be a timestamp"),
        ("headers", pa.array([{"a": b"1"}]), "the column headers of the table is struct.*; it must be list<"),
    ],
)
def test_types_that_are_wrong_are_named(name: str, column: Any, said: str) -> None:
    table = pa.table({"value": pa.array([b"v"]), name: column})
    with pytest.raises(TypeError, match=said):
        TableColumns(table, None if name == "topic" else "t")


def test_what_is_no_table_is_refused() -> None:
    with pytest.raises(TypeError, match=r"takes a pyarrow\.Table or RecordBatch, not list"):
        TableColumns([b"v"], "t")
    with pytest.raises(TypeError, match="the topic of records is a str, not bytes"):
        TableColumns(pa.table({"value": [b"v"]}), b"t")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"topic": pa.array(["t", "t", None])}, "row 2 of the table has no topic"),
        ({"partition": pa.array([0, None, -3])}, "row 2 of the table: partition -3 is below 0"),
        (
            {"timestamp": pa.array([1, -1, 2], pa.timestamp("us"))},
            "row 1 of the table: the timestamp is before 1970",
        ),
        (
            {"headers": pa.array([None, [{"key": None, "value": b""}], None], HEADER_TYPE)},
            "a header in the table has no key",
        ),
        ({"key": pa.array([b"", b"k" * 40, b""])}, "row 1 of the table takes up to 138 bytes, .* is 100"),
    ],
)
def test_rows_that_cannot_be_records_are_named(columns: dict[str, Any], said: str) -> None:
    table = pa.table({"value": [b"v", b"v", b"v"], **columns})

    def check() -> None:
        for rows in TableColumns(table, None if "topic" in columns else "t").windows():
            rows.check(100, "max.request.size")

    with pytest.raises(ApiError, match=said):
        check()


def test_any_kind_of_bytes_timestamps_and_topics_is_taken() -> None:
    table = pa.table(
        {
            "key": pa.array(["a", None], pa.large_string()),
            "value": pa.array([b"v", None], pa.large_binary()),
            "topic": pa.array(["t", "u"]).dictionary_encode(),
            "partition": pa.array([None, 4], pa.uint8()),
            "timestamp": pa.array([datetime(1970, 1, 2, tzinfo=UTC), None], pa.timestamp("ns", "UTC")),
        }
    )
    rows = rows_of(table, topic=None)
    assert (rows.keys.to_pylist(), rows.values.to_pylist()) == ([b"a", None], [b"v", None])
    assert rows.partitions is not None
    assert rows.timestamps_ms is not None
    assert (rows.partitions.tolist(), rows.timestamps_ms.tolist()) == ([-1, 4], [86_400_000, -1])
    assert [(topic, numbers.tolist()) for topic, numbers in rows.by_topic(0, 2)] == [("t", [0]), ("u", [1])]
    assert [(topic, numbers.tolist()) for topic, numbers in rows.by_topic(1, 2)] == [("u", [1])]


def test_columns_in_which_every_row_is_null_are_taken() -> None:
    names = ("key", "value", "headers", "partition", "timestamp")
    rows = rows_of(pa.table({name: pa.nulls(2) for name in names}))
    assert rows.keys.to_pylist() == rows.values.to_pylist() == [None, None]
    assert rows.partitions is not None
    assert rows.timestamps_ms is not None
    assert (rows.partitions.tolist(), rows.timestamps_ms.tolist()) == ([-1, -1], [-1, -1])
    assert rows.sizes.tolist() == [record_bytes_max(None, None, ())] * 2
    rows.check(1_000, "max.request.size")
    with pytest.raises(TypeError, match="the column topic of the table is null; it must be string"):
        TableColumns(pa.table({"value": [b"v"], "topic": [None]}), None)


def test_timestamps_are_rounded_down_to_milliseconds() -> None:
    rows = rows_of(pa.table({"value": [b""], "timestamp": pa.array([1_999], pa.timestamp("us"))}))
    assert rows.timestamps_ms is not None
    assert rows.timestamps_ms.tolist() == [1]


@given(st.lists(st.tuples(BYTES, BYTES, st.none() | st.lists(st.tuples(st.text(max_size=4), BYTES)))))
def test_sizes_are_those_of_records_one_by_one(contents: list[Any]) -> None:
    expected = []
    for key, value, pairs in contents:
        headers: RecordHeaders = tuple((name.encode(), content) for name, content in pairs or ())
        expected.append(record_bytes_max(key, value, headers))
    lists = [
        None if pairs is None else [{"key": name, "value": content} for name, content in pairs]
        for _, _, pairs in contents
    ]
    table = pa.table(
        {
            "key": pa.array([key for key, _, _ in contents], pa.binary()),
            "value": pa.array([value for _, value, _ in contents], pa.binary()),
            "headers": pa.array(lists, HEADER_TYPE),
        }
    )
    sizes = [size for rows in TableColumns(table, "t").windows() for size in rows.sizes.tolist()]
    assert sizes == expected


def test_windows_and_runs_cover_each_row_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_columns, "ROWS_MAX", 10)
    monkeypatch.setattr(table_columns, "BYTES_MAX", 200)
    parts = [pa.table({"value": [b"%d" % number * 20]}) for number in range(10, 35)]
    table = pa.concat_tables(parts)
    windows = list(TableColumns(table, "t").windows())
    assert [value for rows in windows for value in rows.values.to_pylist()] == table["value"].to_pylist()
    assert [rows.first for rows in windows] == [
        sum(one.count for one in windows[:i]) for i in range(len(windows))
    ]
    assert max(rows.count for rows in windows) < 5
    (rows,) = TableColumns(parts[0], "t").windows()
    assert list(rows.within(1)) == [(0, 1)]
    monkeypatch.setattr(table_columns, "BYTES_MAX", 20)
    with pytest.raises(ApiError, match=r"row 0 of the table takes \d+ bytes"):
        list(TableColumns(table, "t").windows())
