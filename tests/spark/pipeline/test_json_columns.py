"""The columns that Arrow reads are those of record by record, or there are none."""

import json
import math
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pa = pytest.importorskip("pyarrow")

from odradek.spark.pipeline.column_types import ARROW_TYPES  # noqa: E402
from odradek.spark.pipeline.decoding import Decoder, decode  # noqa: E402
from odradek.spark.pipeline.json_columns import json_columns  # noqa: E402

FIELDS = {"s": "string", "n": "long", "x": "double", "b": "boolean"}


def columns(*values: bytes | None, **fields: str) -> list[list[Any]] | None:
    found = json_columns(fields or FIELDS, pa.array(values, pa.binary()))
    return None if found is None else [one.to_pylist() for one in found]


def test_each_type_and_what_is_absent_or_null() -> None:
    found = columns(
        b'{"s": "EWR", "n": 227, "x": 1.5, "b": true}',
        b"{}",
        b'{"x":227,"b":false,"n":-9223372036854775808,"s":"\\u00e4\\ud83d\\ude00\\n\\u0000"}',
        b'{"s":null,"n":null,"x":null,"b":null}',
    )
    assert found == [
        ["EWR", None, "ä😀\n\0", None],
        [227, None, -(1 << 63), None],
        [1.5, None, 227.0, None],
        [True, None, False, None],
    ]


@pytest.mark.parametrize(
    "value",
    [
        None,
        b"",
        b" ",
        b"17",
        b'["s"]',
        b'{"s":"a"',
        b'{"s":"a"}{"s":"b"}',
        b'{"s":"a"}\n{"s":"b"}',
        b'{"s":"a"}\n',
        b'{"s":\n"a"}',
        b'{"s":\r"a"}',
        b'{"s":"\xff"}',
        b'{"s":"\\ud800"}',
        b'{"s":"\\udc00"}',
        b'{"s":"\x01"}',
        b'{"s":1}',
        b'{"s":"a","s":"b"}',
        b'{"n":1.0}',
        b'{"n":"1"}',
        b'{"n":true}',
        b'{"n":9223372036854775808}',
        b'{"x":9007199254740993}',
        b'{"x":NaN}',
        b'{"x":-Infinity}',
        b'{"x":1e400}',
        b'{"x":-0}',
        b'{"x":-0.0}',
        b'{"x":"1"}',
        b'{"b":0}',
        b'{"other":1}',
        b'{"other":null}',
        b'{"s":["a"]}',
        b'{"s":' + b"[" * 100_000 + b"}",
    ],
)
def test_a_batch_with_such_a_value_is_left_to_record_by_record(value: bytes | None) -> None:
    assert columns(b'{"s":"a"}', value, b'{"n":1}') is None


def test_a_type_that_has_rules_of_its_own() -> None:
    assert columns(b'{"f":"2013-01-01"}', f="json") is None


def test_moments_and_days() -> None:
    at = datetime(2013, 1, 1, 5, 15, tzinfo=UTC)
    found = columns(
        b'{"t":"2013-01-01T05:15:00Z","d":"2013-01-01"}',
        b'{"t":"2013-01-01 06:45:00.25+01:30"}',
        b"{}",
        b'{"t":null,"d":null}',
        t="timestamp",
        d="date",
    )
    assert found == [
        [at, at.replace(microsecond=250_000), None, None],
        [at.date(), None, None, None],
    ]


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("timestamp", b"1"),
        ("timestamp", b'"2013-01-01"'),
        ("timestamp", b'"2013-02-29T00:00:00"'),
        ("timestamp", b'"2013-01-01T00:00:00+25:00"'),
        ("date", b"1"),
        ("date", b'"2013-02-29"'),
        ("date", b'"2013-W01-1"'),
    ],
)
def test_what_is_no_moment_or_day_of_the_usual_form(kind: str, value: bytes) -> None:
    assert columns(b'{"f":%b}' % value, f=kind) is None


def test_no_values_and_no_fields() -> None:
    assert columns() is None
    assert json_columns({}, pa.array([b"{}"])) is None


def test_a_slice_of_an_array() -> None:
    values = pa.array([b"no JSON", b'{"n":1}', b'{"n":2}', b"no JSON"])
    found = json_columns({"n": "long"}, values[1:3])
    assert found is not None
    assert [one.to_pylist() for one in found] == [[1, 2]]


scalars = st.none() | st.booleans() | st.integers(-(1 << 65), 1 << 65) | st.floats() | st.text(max_size=5)
documents = st.dictionaries(
    st.sampled_from(["s", "n", "x", "b", "other", "S"]),
    scalars | st.lists(scalars, max_size=2),
    max_size=4,
)
fitting = st.fixed_dictionaries(
    {},
    optional={
        "s": st.none() | st.text(max_size=5),
        "n": st.none() | st.integers(-(1 << 63), (1 << 63) - 1),
        "x": st.none() | st.floats(allow_nan=False) | st.integers(-(1 << 55), 1 << 55),
        "b": st.none() | st.booleans(),
    },
)


def written(document: dict[str, Any], *, is_ascii: bool, cut: int, tail: bytes) -> bytes:
    text = json.dumps(document, ensure_ascii=is_ascii).encode(errors="surrogatepass")
    return text[: len(text) - cut] + tail


values = st.builds(
    written,
    fitting | documents,
    is_ascii=st.booleans(),
    cut=st.just(0) | st.integers(0, 3),
    tail=st.sampled_from([b"", b"", b"", b"}", b"\n", b" ", b"{}", b"1"]),
) | st.binary(max_size=8)


@given(st.lists(values, min_size=1, max_size=4))
def test_what_is_read_is_what_record_by_record_reads(records: list[bytes]) -> None:
    found = json_columns(FIELDS, pa.array(records, pa.binary()))
    if found is None:
        return
    one_by_one = decode(Decoder("json", FIELDS), records)
    assert one_by_one.errors == [None] * len(records)
    assert one_by_one.new_fields == [None] * len(records)
    for (name, kind), column in zip(FIELDS.items(), found, strict=True):
        assert column.equals(pa.array(one_by_one.columns[name], ARROW_TYPES[kind]))
        if kind == "double":
            signs = [None if one is None else math.copysign(1, one) for one in column.to_pylist()]
            expected = one_by_one.columns[name]
            assert signs == [None if one is None else math.copysign(1, float(str(one))) for one in expected]


@given(st.lists(fitting, min_size=1, max_size=8))
def test_fitting_records_are_read_unless_a_number_is_special(records: list[dict[str, Any]]) -> None:
    special = [
        record
        for record in records
        if (x := record.get("x")) is not None and (abs(x) >= 1 << 53 or (x == 0 and math.copysign(1, x) < 0))
    ]
    found = json_columns(FIELDS, pa.array([json.dumps(record).encode() for record in records]))
    assert (found is None) == bool(special)
