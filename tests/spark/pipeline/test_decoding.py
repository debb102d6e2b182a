"""Record values become columns, or an error that names what is wrong; nothing becomes null in silence."""

import json
from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.spark.pipeline.decoding import Decoder, decode, documents
from odradek.spark.pipeline.fields import inferred


def decoded(value: bytes | None, **fields: str) -> tuple[object, str | None]:
    found = decode(Decoder("json", fields), [value])
    return {name: column[0] for name, column in found.columns.items()}, found.errors[0]


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("string", '"EWR"', "EWR"),
        ("long", "227", 227),
        ("double", "227", 227.0),
        ("double", "1.5", 1.5),
        ("boolean", "true", True),
        ("timestamp", '"2013-01-01T05:15:00+02:00"', datetime(2013, 1, 1, 3, 15, tzinfo=UTC)),
        ("timestamp", '"2013-01-01 05:15:00"', datetime(2013, 1, 1, 5, 15, tzinfo=UTC)),
        ("date", '"2013-01-01"', date(2013, 1, 1)),
        ("json", '{"a": [1]}', '{"a":[1]}'),
        ("long", "null", None),
    ],
)
def test_values_of_each_type(kind: str, text: str, expected: object) -> None:
    assert decoded(b'{"f": %s}' % text.encode(), f=kind) == ({"f": expected}, None)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("string", "1"),
        ("string", '"\\ud800"'),
        ("json", '["\\udc00"]'),
        ("long", '"1"'),
        ("long", "1.0"),
        ("long", "true"),
        ("long", "9223372036854775808"),
        ("double", "9007199254740993"),
        ("double", '"x"'),
        ("boolean", "0"),
        ("timestamp", '"yesterday"'),
        ("timestamp", '"2013-01-01"'),
        ("date", '"2013-02-30"'),
    ],
)
def test_values_of_other_types_are_errors(kind: str, text: str) -> None:
    row, error = decoded(b'{"f": %s}' % text.encode(), f=kind)
    assert row == {"f": None}
    assert error is not None
    assert error.startswith(f"field f is to be a {kind}, and has ")
    assert error.encode().decode() == error


def test_a_new_field_whose_name_no_column_can_have_is_an_error() -> None:
    _, error = decoded(b'{"\\ud800": 1}', f="long")
    assert error == "a field has the name '\\ud800', which no column can have"


@pytest.mark.parametrize(
    ("value", "error"),
    [
        (None, "the value is null (a tombstone)"),
        (b"\xff", "the value is not UTF-8"),
        (b"broken", "the value is not JSON: "),
        (b'{"f": NaN}', "the value is not JSON: NaN is not a number of JSON"),
        (b"[1]", "the value is JSON, but not an object"),
        (b"[" * 200_000, "the value is nested too deep"),
        (b'{"_offset": 1}', "field _offset has a name that the table uses itself"),
        (b'{"F": 1}', "fields f and F differ only in upper and lower case"),
        (b'{"a b;": 1}', "a field has the name 'a b;', which no column can have"),
    ],
)
def test_values_that_have_no_row(value: bytes | None, error: str) -> None:
    assert (decoded(value, f="long")[1] or "").startswith(error)


def test_new_fields_are_reported_with_their_types() -> None:
    found = decode(Decoder("json", {"f": "long"}), [b'{"f": 1, "gate": "B4", "none": null}', b'{"f": 2}'])
    assert found.new_fields == [{"gate": "string"}, None]
    closed = decode(Decoder("json", {"f": "long"}, adds_fields=False), [b'{"f": 1, "gate": "B4"}'])
    assert closed.errors == ["field gate is not one of the table"]


def test_lines_of_csv() -> None:
    decoder = Decoder("csv", {"origin": "string", "minutes": "long", "late": "boolean"})
    found = decode(decoder, [b'"EWR, NJ",227,true', b"JFK,,false", b"LGA,x,true", b"LGA", None, b'"open'])
    assert found.columns["origin"][:2] == ["EWR, NJ", "JFK"]
    assert found.columns["minutes"][:2] == [227, None]
    assert found.errors[:2] == [None, None]
    assert found.errors[2] == 'field minutes is to be a long, and has "x"'
    assert found.errors[3] == "the line has 1 fields, not 3"
    assert found.errors[4] == "the value is null (a tombstone)"
    assert (found.errors[5] or "").startswith("the value is not a line of CSV")


def test_fields_are_inferred_from_all_documents() -> None:
    values = [b'{"a": 1, "b": null, "c": "x"}', b"broken", b'{"a": 1.5, "d": [1], "c": 1, "e": true}']
    assert inferred(documents(values)) == {"a": "double", "c": "json", "d": "json", "e": "boolean"}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(st.lists(st.binary(max_size=20) | JSON.map(lambda one: json.dumps(one).encode()), max_size=8))
def test_every_value_has_a_row_or_an_error_or_new_fields(values: list[bytes]) -> None:
    found = decode(Decoder("json", {"f": "long"}), values)
    assert len(found.columns["f"]) == len(found.errors) == len(found.new_fields) == len(values)
    for value, row, error, new in zip(
        values, found.columns["f"], found.errors, found.new_fields, strict=True
    ):
        if error is None and not new:
            document = json.loads(value)
            assert document.get("f") == row
            assert all(name == "f" or inner is None for name, inner in document.items())
