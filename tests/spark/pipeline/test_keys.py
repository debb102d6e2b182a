"""Keys of a table: what a description may say of them, and what records do to the rows of their keys."""

from pathlib import Path

import pytest

from odradek.base.errors import SettingError
from odradek.spark.pipeline.decoding import Decoder, decode
from odradek.spark.pipeline.description import read_description
from odradek.spark.pipeline.keys import DELETE, IGNORE, Keying, apply_keys
from odradek.spark.pipeline.ledger import TableRefused
from odradek.spark.pipeline.merging import fault_in_types, merge_statement
from tests.docs.blocks import blocks_of
from tests.spark.pipeline.fake_lakes import run_into_lake
from tests.spark.pipeline.fake_topics import FakeTopics, described

KEYED = """
[source]
bootstrap_servers = "127.0.0.1:9092"
topics = ["flights"]
[decode]
format = "json"
key_format = "json"
[sink]
path = "table"
format = "delta"
key = ["origin", "flight"]
tombstones = "delete"
"""
TEXT = Keying(("flight",), "delete", "text")
JSON = Keying(("origin", "flight"), "delete", "json")
FIELDS = {"origin": "string", "flight": "long"}


def test_a_key_is_one_column_or_several(tmp_path: Path) -> None:
    file = tmp_path / "flights.toml"
    file.write_text(KEYED)
    assert read_description(file).keying == JSON
    file.write_text(KEYED.replace('["origin", "flight"]', '"flight"').replace('= "json"\n[s', '= "text"\n[s'))
    assert read_description(file).keying == TEXT


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('"delta"', '"parquet"', "sink.key needs a table whose rows can be changed: set sink.format to"),
        ('key = ["origin", "flight"]', "", "sink.tombstones has an effect only with sink.key"),
        ('key = ["origin", "flight"]', "key = []", "sink.key must be a column or a list of columns, not []"),
        ('key = ["origin", "flight"]', "key = 1", "sink.key must be a list of texts, not 1"),
        ('"flight"]', '"_offset"]', "sink.key cannot name _offset, which differs for each record"),
        ('"delete"', '"drop"', "sink.tombstones must be one of delete, ignore, not 'drop'"),
        ('key_format = "json"', "", "decode.key_format is missing: sink.tombstones"),
        ('key_format = "json"', 'key_format = "avro"', "decode.key_format must be one of json, text"),
        ('key_format = "json"', 'key_format = "text"', "can hold one column of sink.key, not 2"),
        ('"delete"', '"ignore"', "decode.key_format has an effect only where records without a value"),
        ('key_format = "json"', "cdc = {op = 1}", "there is no setting decode.cdc.op; it has operation"),
        ('"json"\nkey', '"csv"\nfields = {n = "long"}\ncdc = {}\nkey', "decode.cdc reads objects of JSON"),
        (
            'key = ["origin", "flight"]\ntombstones = "delete"',
            "[decode.cdc]",
            "decode.cdc needs sink.key, which says which row a change is of",
        ),
        (
            "[sink]",
            '[[transform]]\nsql = "select * from records"\n[sink]',
            'goes together with [[transform]] only where sink.key is "_key"',
        ),
    ],
)
def test_what_a_key_cannot_be_is_refused_by_name(tmp_path: Path, old: str, new: str, sentence: str) -> None:
    file = tmp_path / "flights.toml"
    file.write_text(KEYED.replace(old, new, 1))
    with pytest.raises(SettingError) as refused:
        read_description(file)
    assert sentence in str(refused.value)


def test_the_pages_example_is_read(tmp_path: Path) -> None:
    file = tmp_path / "flights.toml"
    (example,) = [one for one in blocks_of("docs/pipeline.md") if "key_format" in one.text]
    file.write_text(example.text)
    assert read_description(file).keying == JSON


def changed(
    keying: Keying, *records: tuple[bytes | None, bytes | None], fields: dict[str, str] = FIELDS
) -> list[tuple[object, ...]]:
    """Of each record of (key, value) its change, its error and the columns of its row."""
    keys, values = [key for key, _ in records], [value for _, value in records]
    decoded = decode(Decoder("json", fields), values)
    changes = apply_keys(keying, fields, decoded, keys, values)
    columns = decoded.columns.values()
    return [
        (change, decoded.errors[place], *(column[place] for column in columns))
        for place, change in enumerate(changes)
    ]


@pytest.mark.parametrize(
    ("keying", "key", "row"),
    [
        (TEXT, b"227", (None, 227)),
        (JSON, b'{"flight": 227, "origin": "EWR", "more": 1}', ("EWR", 227)),
        (Keying(("_key",), "delete"), b"\xff", (None, None)),
    ],
)
def test_a_tombstone_deletes_the_row_of_the_records_key(
    keying: Keying, key: bytes, row: tuple[object, ...]
) -> None:
    assert changed(keying, (key, None)) == [(DELETE, None, *row)]


@pytest.mark.parametrize(
    ("keying", "key", "error"),
    [
        (TEXT, None, "the value is null (a tombstone), and the key is null, too: whose row is to go?"),
        (TEXT, b"EWR", 'field flight is to be a long, and has "EWR"'),
        (TEXT, b"", "the key of a tombstone has no flight, which is part of the table's key"),
        (TEXT, b"\xff", "the key of a tombstone is not UTF-8"),
        (JSON, b"EWR", "the key of a tombstone is not an object of JSON, as decode.key_format says"),
        (JSON, b'{"flight": 1}', "the key of a tombstone has no origin, which is part of the table's key"),
        (JSON, b'{"flight": 1, "origin": 2}', "field origin is to be a string, and has 2"),
        (Keying(("_key",), "delete"), None, "the value is null (a tombstone), and the key is null, too"),
    ],
)
def test_a_tombstone_whose_key_cannot_be_read_is_a_dead_letter(
    keying: Keying, key: bytes | None, error: str
) -> None:
    ((change, said, *_),) = changed(keying, (key, None))
    assert change is None
    assert str(said).startswith(error)


def test_tombstones_are_ignored_or_dead_letters_as_told() -> None:
    assert changed(Keying(("flight",), "ignore"), (None, None)) == [(IGNORE, None, None, None)]
    ((change, error, *_),) = changed(Keying(("flight",)), (b"227", None))
    assert (change, error) == (None, "the value is null (a tombstone)")


def test_a_tombstone_of_a_field_that_no_record_had_deletes_nothing() -> None:
    assert changed(TEXT, (b"227", None), fields={"origin": "string"}) == [(IGNORE, None, None)]


def test_a_record_without_its_key_is_a_dead_letter() -> None:
    missing = "field flight is part of the table's key, and is null or missing"
    nulls = [(None, b'{"origin": "EWR"}'), (None, b'{"origin": "EWR", "flight": null}')]
    assert [error for _, error, *_ in changed(TEXT, *nulls)] == [missing, missing]
    assert changed(TEXT, (None, b'{"flight": 1}')) == [(None, None, None, 1)]
    by_record_key = Keying(("_key",))
    ((_, error, *_),) = changed(by_record_key, (None, b'{"flight": 1}'))
    assert error == "the record has no key, and _key is part of the table's key"


def test_the_key_may_be_a_new_field() -> None:
    decoded = decode(Decoder("json", {}), [b'{"flight": 1}', b'{"origin": "EWR"}'])
    apply_keys(TEXT, {}, decoded, [None, None], [b"", b""])
    assert decoded.new_fields == [{"flight": "long"}, None]
    assert decoded.errors == [None, "field flight is part of the table's key, and is null or missing"]


def test_transforms_may_make_the_key() -> None:
    made = Keying(("hour",), is_transformed=True)
    assert changed(made, (None, b'{"flight": 1}')) == [(None, None, None, 1)]


def test_a_table_keeps_its_key(tmp_path: Path) -> None:
    topics = FakeTopics(1)
    topics.logs[0] = [b'{"n": 1}']
    run_into_lake(described(tmp_path), topics, "delta")
    keyed = described(tmp_path, sink='format = "delta"\nkey = "n"')
    with pytest.raises(TableRefused, match=r"was written with no key, and .* has the key n: give it the key"):
        run_into_lake(keyed, topics, "delta")


def test_types_that_a_table_would_turn_into_others_are_refused() -> None:
    table = {"n": "bigint", "late": "double", "gate": "string"}
    assert fault_in_types({"n": "int", "late": "float", "new": "date"}, table) == ""
    assert fault_in_types({"gate": "bigint"}, table) == (
        "column gate is of the type string in the table and bigint in the rows"
    )
    assert fault_in_types({"n": "double"}, table) != ""


def test_rows_without_an_origin_always_give_way() -> None:
    order = ["_topic", "_partition", "_offset", "_timestamp"]
    compared = merge_statement("t1", "v", ["n", *order], ["n", *order], ["n"], order)
    assert "WHEN MATCHED AND coalesce(CASE WHEN s.`_topic` = t.`_topic`" in compared
    blind = merge_statement("t1", "v", ["n"], ["n", *order], ["n"], order)
    assert "WHEN MATCHED AND true THEN UPDATE SET `n` = s.`n`" in blind
    begun = merge_statement("t1", "v", ["n"], order, ["n"], order)
    assert "USING v s ON false" in begun
