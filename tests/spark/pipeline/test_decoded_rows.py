"""Decoded batches are what decoding record by record gives, whichever way they are decoded."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pa = pytest.importorskip("pyarrow")

from odradek.spark.pipeline import decoded_rows  # noqa: E402
from odradek.spark.pipeline.avro import AvroFormat  # noqa: E402
from odradek.spark.pipeline.change_events import Envelope  # noqa: E402
from odradek.spark.pipeline.column_types import ARROW_TYPES  # noqa: E402
from odradek.spark.pipeline.decoded_rows import Decoding, decode_rows, decoded_schema  # noqa: E402
from odradek.spark.pipeline.decoding import Decoder  # noqa: E402
from odradek.spark.pipeline.keys import Keying, decode_changes  # noqa: E402

FIELDS = {"n": "long", "s": "string", "at": "timestamp", "day": "date"}
KEYINGS = [
    Keying(),
    Keying(columns=("n",)),
    Keying(columns=("n",), tombstones="delete", key_format="json"),
    Keying(columns=("_key",), tombstones="ignore"),
    Keying(columns=("_key", "n"), is_transformed=True),
    Keying(columns=("absent",)),
    Keying(columns=("n",), tombstones="ignore", envelope=Envelope()),
]
Record = tuple[bytes | None, bytes | None]


def batch_of(records: Sequence[Record]) -> Any:
    """These records, (key, value), as the source has them."""
    count = len(records)
    return pa.RecordBatch.from_arrays(
        [
            pa.array([key for key, _ in records], pa.binary()),
            pa.array([value for _, value in records], pa.binary()),
            pa.array(["flights"] * count, pa.string()),
            pa.array([1] * count, pa.int32()),
            pa.array(range(7, 7 + count), pa.int64()),
            pa.array([datetime(2013, 1, 1, tzinfo=UTC)] * count, pa.timestamp("us", "UTC")),
            pa.array([0] * count, pa.int32()),
        ],
        names=["key", "value", "topic", "partition", "offset", "timestamp", "timestampType"],
    )


def one_by_one(decoding: Decoding, records: Sequence[Record]) -> list[dict[str, Any]]:
    """The rows, each of them from a decoding of its own."""
    rows = []
    for number, (key, value) in enumerate(records):
        decoded, (change,) = decode_changes(decoding.keying, decoding.decoder, [key], [value])
        error, new = decoded.errors[0], decoded.new_fields[0]
        rows.append(
            {
                "_topic": "flights",
                "_partition": 1,
                "_offset": 7 + number,
                "_timestamp": datetime(2013, 1, 1, tzinfo=UTC),
                "_key": key,
                **{name: decoded.columns[name][0] for name in decoding.decoder.fields},
                "_raw": None if error is None else value,
                "_error": error,
                "_new_fields": None if new is None else json.dumps(new),
                "_change": change,
            }
        )
    return rows


texts = st.text("ab\n", max_size=3)
row = st.fixed_dictionaries(
    {"n": st.integers(0, 9)},
    optional={
        "s": st.none() | texts,
        "at": st.none() | st.datetimes().map(datetime.isoformat),
        "day": st.none() | st.dates().map(str),
    },
)
wrong_row = st.dictionaries(st.sampled_from(["n", "s", "at", "new"]), st.none() | st.integers() | texts)
change = st.builds(
    lambda operation, row: {"op": operation, "before": row, "after": row}, st.sampled_from("crudx"), row
)
values = (row | wrong_row | change).map(lambda one: json.dumps(one).encode())
keys = st.none() | st.sampled_from([b"k", b'{"n": 1}'])
good_records = st.lists(st.tuples(keys, row.map(lambda one: json.dumps(one).encode())), max_size=6)
any_records = st.lists(st.tuples(keys, st.none() | values | st.just(b"broken")), max_size=6)


@given(st.sampled_from(KEYINGS), st.booleans(), st.integers(1, 4), good_records | any_records)
def test_batches_of_json(keying: Keying, adds_fields: bool, rows_max: int, records: list[Record]) -> None:
    decoding = Decoding(Decoder("json", FIELDS, adds_fields), keying)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decoded_rows, "ROWS_MAX", rows_max)
        found = list(decode_rows(decoding, [batch_of(records[:2]), batch_of(records)]))
    assert all(0 < len(one) <= rows_max for one in found)
    rows = [one for batch in found for one in batch.to_pylist()]
    assert rows == one_by_one(decoding, records[:2]) + one_by_one(decoding, records)
    types = [*FIELDS.values(), "string", "string", "string"]
    for one in found:
        names = [*FIELDS, "_error", "_new_fields", "_change"]
        assert [one.schema.field(name).type for name in names] == [ARROW_TYPES[kind] for kind in types]


@given(
    st.lists(st.tuples(keys, st.none() | st.sampled_from([b"1,a", b"x,a", b"1", b"\xff", b'"'])), max_size=6)
)
def test_batches_of_csv(records: list[Record]) -> None:
    decoding = Decoding(Decoder("csv", {"n": "long", "s": "string"}), Keying())
    rows = [one for batch in decode_rows(decoding, [batch_of(records)]) for one in batch.to_pylist()]
    assert rows == one_by_one(decoding, records)


def test_which_batches_are_not_decoded_record_by_record(monkeypatch: pytest.MonkeyPatch) -> None:
    singly: list[int] = []
    original = decoded_rows._decode_one_by_one

    def counted(decoding: Decoding, batch: Any) -> Any:
        singly.append(len(batch))
        return original(decoding, batch)

    monkeypatch.setattr(decoded_rows, "_decode_one_by_one", counted)

    def is_at_once(keying: Keying, *records: Record) -> bool:
        singly.clear()
        list(decode_rows(Decoding(Decoder("json", FIELDS), keying), [batch_of(records)]))
        return not singly

    one, two = b'{"n": 1}', b'{"s": "a"}'
    assert is_at_once(Keying(), (None, one), (None, two))
    assert is_at_once(Keying(columns=("n",), tombstones="delete", key_format="json"), (None, one))
    assert not is_at_once(Keying(columns=("n",)), (b"k", one), (b"k", two))
    assert is_at_once(Keying(columns=("_key",)), (b"k", two))
    assert not is_at_once(Keying(columns=("_key",)), (b"k", one), (None, one))
    assert is_at_once(Keying(columns=("hour",), is_transformed=True), (None, two))
    assert not is_at_once(Keying(columns=("n",), envelope=Envelope()), (None, one))


@pytest.mark.parametrize(
    "keying",
    [*KEYINGS, Keying(("a", "b"), "delete", "text", True, Envelope("o", "b", "a", ("i",), ("u", "v"), ()))],
)
def test_a_decoding_is_the_same_behind_its_text(keying: Keying) -> None:
    for decoder in (
        Decoder("json", {"z": "long", "ä": "string", "a": "json"}, adds_fields=False),
        Decoder("avro", {}, delimiter=";", avro=AvroFormat('{"type": "record"}', "confluent")),
    ):
        decoding = Decoding(decoder, keying)
        found = Decoding.from_text(decoding.as_text())
        assert found == decoding
        assert list(found.decoder.fields) == list(decoder.fields)


def test_the_columns_in_the_words_of_spark() -> None:
    assert decoded_schema({"a b": "long", "c": "json"}) == (
        "_topic string, _partition int, _offset bigint, _timestamp timestamp, _key binary, `a b` bigint,"
        " `c` string, _raw binary, _error string, _new_fields string, _change string"
    )
