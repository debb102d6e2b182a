"""Values of Avro: the columns of a schema, what becomes a row, and what is refused."""

import io
import json
from collections.abc import Mapping
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from odradek.base.errors import SettingError
from odradek.cli.main import run
from odradek.spark.pipeline.avro import AvroFormat, fields_of
from odradek.spark.pipeline.decoding import Decoded, Decoder, decode
from odradek.spark.pipeline.description import read_description, read_fields

fastavro = pytest.importorskip("fastavro")

SCHEMA = {
    "type": "record",
    "name": "Flight",
    "fields": [
        {"name": "origin", "type": "string"},
        {"name": "minutes", "type": ["null", "int"], "default": None},
        {"name": "speed", "type": "float"},
        {"name": "is_late", "type": "boolean"},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "local", "type": {"type": "long", "logicalType": "local-timestamp-micros"}},
        {"name": "fare", "type": {"type": "bytes", "logicalType": "decimal", "precision": 8, "scale": 2}},
        {"name": "code", "type": {"type": "enum", "name": "Code", "symbols": ["A", "B"]}},
        {"name": "other_code", "type": ["null", "Code"]},
        {"name": "id", "type": {"type": "string", "logicalType": "uuid"}},
        {"name": "gate_closes", "type": {"type": "int", "logicalType": "time-millis"}},
        {"name": "stops", "type": {"type": "array", "items": {"type": "map", "values": ["null", "double"]}}},
        {"name": "either", "type": ["null", "string", "long"]},
    ],
}
FLIGHT = {
    "origin": "EWR",
    "minutes": None,
    "speed": 0.5,
    "is_late": True,
    "day": date(2013, 1, 1),
    "at": datetime(2013, 1, 1, 5, 15, tzinfo=UTC),
    "local": datetime(2013, 1, 1, 5, 15),
    "fare": Decimal("1200.50"),
    "code": "B",
    "other_code": "A",
    "id": UUID(int=1),
    "gate_closes": time(5, 10),
    "stops": [{"ORD": 1.5}, {"LAX": None}],
    "either": 7,
}


def written(schema: Any, record: Mapping[str, object]) -> bytes:
    """One record in Avro's binary form."""
    content = io.BytesIO()
    fastavro.schemaless_writer(content, fastavro.parse_schema(schema), record)
    return content.getvalue()


def decoded(schema: Any, *values: bytes | None, header: str = "") -> Decoded:
    text = json.dumps(schema)
    return decode(
        Decoder("avro", fields_of(text, Path("a.avsc")), avro=AvroFormat(text, header)), list(values)
    )


def record_of(**fields: object) -> dict[str, object]:
    return {
        "type": "record",
        "name": "R",
        "fields": [{"name": name, "type": kind} for name, kind in fields.items()],
    }


def test_every_type_has_a_column_and_keeps_its_value() -> None:
    found = decoded(SCHEMA, written(SCHEMA, FLIGHT))
    assert found.errors == [None]
    assert fields_of(json.dumps(SCHEMA), Path("a.avsc")) == {
        "origin": "string",
        "minutes": "long",
        "speed": "double",
        "is_late": "boolean",
        "day": "date",
        "at": "timestamp",
        "local": "timestamp",
        "fare": "string",
        "code": "string",
        "other_code": "string",
        "id": "string",
        "gate_closes": "string",
        "stops": "json",
        "either": "json",
    }
    assert {name: column[0] for name, column in found.columns.items()} == FLIGHT | {
        "local": datetime(2013, 1, 1, 5, 15, tzinfo=UTC),
        "fare": "1200.50",
        "id": "00000000-0000-0000-0000-000000000001",
        "gate_closes": "05:10:00",
        "stops": '[{"ORD":1.5},{"LAX":null}]',
        "either": "7",
    }


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (None, "the value is null (a tombstone)"),
        (b"", "the value is not a record of the schema"),
        (b"\x06EW", "the value is not a record of the schema"),
        (b"\x06\xff\xff\xff\x02", "the value is not a record of the schema"),
        (b"\x06EWR\x02more", "the value has 4 bytes behind the record of the schema"),
        (b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "the value is not a record of the schema"),
        (b"\x00\x00\x00\x00\x07\x06EWR\x02", "the value has"),
    ],
)
def test_what_is_no_record_is_a_dead_letter(value: bytes | None, sentence: str) -> None:
    schema = record_of(origin="string", minutes="int")
    found = decoded(schema, value, b"\x06EWR\x02")
    error = found.errors[0]
    assert error is not None
    assert error.startswith(sentence)
    assert (found.errors[1], found.columns["origin"][1], found.columns["minutes"][1]) == (None, "EWR", 1)


def test_a_registrys_header_is_skipped_only_if_told() -> None:
    schema = record_of(origin="string")
    value = written(schema, {"origin": "EWR"})
    found = decoded(schema, b"\x00\x00\x00\x00\x07" + value, value, b"\x00\x00", header="confluent")
    assert found.columns["origin"] == ["EWR", None, None]
    assert found.errors == [None, *["the value does not begin with the header of confluent"] * 2]


def test_numbers_that_json_lacks_are_dead_letters() -> None:
    schema = record_of(speeds={"type": "array", "items": "double"}, speed="double")
    value = written(schema, {"speeds": [float("nan")], "speed": 1.0})
    assert decoded(schema, value).errors == ["field speeds has a number that JSON does not have"]


def test_moments_beyond_the_calendar_are_dead_letters() -> None:
    schema = record_of(at={"type": "long", "logicalType": "timestamp-millis"})
    (error,) = decoded(schema, written(record_of(at="long"), {"at": 1 << 60})).errors
    assert error is not None
    assert error.startswith("the value is not a record of the schema")


@pytest.mark.parametrize(
    ("schema", "sentence"),
    [
        ("string", "is to be one of a record"),
        (record_of(a="strnig"), "is not a schema of Avro"),
        (record_of(a="bytes"), "field a has bytes or no values"),
        (record_of(a="null"), "field a has bytes or no values"),
        (record_of(a={"type": "array", "items": "bytes"}), "field a has bytes or no values"),
        (record_of(a={"type": "map", "values": ["null", "bytes"]}), "field a has bytes or no values"),
        (record_of(a={"type": "fixed", "name": "F", "size": 4}), "field a has bytes or no values"),
        (
            record_of(a={"type": "array", "items": {"type": "record", "name": "E", "fields": []}}),
            "field a has",
        ),
        (record_of(_key="string"), "field _key has a name that the table uses itself"),
    ],
)
def test_schemas_that_no_table_can_have_are_refused(schema: object, sentence: str, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=sentence):
        read_description(described(tmp_path, schema))


def test_a_type_that_contains_itself_is_json() -> None:
    node = {"type": "record", "name": "Node", "fields": [{"name": "next", "type": ["null", "Node"]}]}
    schema = record_of(first=node)
    found = decoded(schema, written(schema, {"first": {"next": {"next": None}}}))
    assert found.columns == {"first": ['{"next":{"next":null}}']}


def described(directory: Path, schema: object, more: str = "") -> Path:
    (directory / "flight.avsc").write_text(json.dumps(schema))
    file = directory / "flights.toml"
    file.write_text(
        '[source]\nbootstrap_servers = "127.0.0.1:1"\ntopics = ["flights"]\n'
        f'[decode]\nformat = "avro"\nschema = "flight.avsc"\n{more}[sink]\npath = "table"\n'
    )
    return file


def test_the_schema_beside_the_description_gives_the_fields(tmp_path: Path) -> None:
    found = read_description(described(tmp_path, record_of(n="int"), 'skip_header = "confluent"\n'))
    assert read_fields(found) == {"n": "long"}
    decoder = found.decoder(read_fields(found))
    assert decode(decoder, [b"\x00\x00\x00\x00\x07\x04"]).columns == {"n": [2]}


def test_init_writes_a_description_that_needs_its_schema(tmp_path: Path) -> None:
    file = tmp_path / "flights.toml"
    words = ["pipeline", "init", str(file), "--topic", "flights", "--format", "avro", "-b", "127.0.0.1:1"]
    assert run(words) == 0
    with pytest.raises(SettingError, match=r"cannot read .*schema\.avsc"):
        read_description(file)
    (tmp_path / "schema.avsc").write_text(json.dumps(record_of(n="int")))
    assert read_fields(read_description(file)) == {"n": "long"}


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('schema = "flight.avsc"', "", "decode.schema is missing"),
        ("flight.avsc", "nothing.avsc", "cannot read .*nothing.avsc: no such file"),
        ("[sink]", 'fields = { n = "long" }\n[sink]', "decode.fields has no effect with Avro"),
        ("[sink]", 'new_fields = "add"\n[sink]', "decode.new_fields has no effect with Avro"),
        ("[sink]", 'skip_header = "apicurio"\n[sink]', "decode.skip_header must be one of confluent"),
        ('"avro"', '"json"', 'decode.schema has an effect only with decode.format = "avro"'),
    ],
)
def test_mistakes_are_named(tmp_path: Path, old: str, new: str, sentence: str) -> None:
    file = described(tmp_path, record_of(n="int"))
    file.write_text(file.read_text().replace(old, new))
    with pytest.raises(SettingError, match=sentence):
        read_description(file)


def test_a_file_that_is_not_json_is_named(tmp_path: Path) -> None:
    file = described(tmp_path, "")
    (tmp_path / "flight.avsc").write_text("{")
    with pytest.raises(SettingError, match=r"flight\.avsc is not a schema of Avro"):
        read_description(file)
