"""Avro: the columns that a schema gives, and values as rows. One value is one record in Avro's binary form.

    {"type": "record", "name": "Flight", "fields": [                        column
        {"name": "origin", "type": "string"},                               origin   string
        {"name": "minutes", "type": ["null", "int"]},                       minutes  long
        {"name": "at", "type": {"type": "long",
                                "logicalType": "timestamp-millis"}},        at       timestamp
        {"name": "stops", "type": {"type": "array", "items": "string"}}]}   stops    json

The schema is that of the writer. A registry's header of five bytes before the record, of which Confluent's is
one, is skipped only if the description says so: whether it is there cannot be told from the bytes.
"""

import io
import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, time
from decimal import Decimal
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from odradek.base.errors import SettingError
from odradek.base.extras import missing_extra
from odradek.base.system_errors import reason_of
from odradek.spark.pipeline.fields import Fields, Unreadable

HEADERS: Final = ("confluent",)
"""The headers that can be skipped: a zero, and the number of a schema in four bytes."""
HEADER_BYTES: Final = 5

_PRIMITIVE: Final[Mapping[str, str]] = {
    "string": "string",
    "int": "long",
    "long": "long",
    "float": "double",
    "double": "double",
    "boolean": "boolean",
}
_LOGICAL: Final[Mapping[str, str]] = {
    "date": "date",
    "timestamp-millis": "timestamp",
    "timestamp-micros": "timestamp",
    "local-timestamp-millis": "timestamp",
    "local-timestamp-micros": "timestamp",
    # Kept exactly, as text.
    "decimal": "string",
    "time-millis": "string",
    "time-micros": "string",
    "uuid": "string",
}


@dataclass(frozen=True, slots=True)
class AvroFormat:
    """How values are written; sent to the executors."""

    schema: str
    """The schema, as JSON."""
    header: str = ""
    """The header that is skipped, one of HEADERS; "" for none."""


def read_schema(file: Path) -> str:
    """The schema in a file, as JSON. Raises SettingError, also where fastavro is not installed."""
    if missing := missing_extra("avro", 'decode.format = "avro"'):
        raise SettingError(missing)
    try:
        return json.dumps(json.loads(file.read_text()))
    except OSError as error:
        raise SettingError(f"cannot read {file}: {reason_of(error)}") from None
    except ValueError as error:
        raise SettingError(f"{file} is not a schema of Avro: {error}") from None


def fields_of(schema: str, file: Path) -> Fields:
    """The columns that records of a schema have. Raises SettingError for one that no table can have."""
    try:
        parsed, named = _parsed(schema)
    except Exception as error:  # fastavro's own, and whatever a strange document makes it raise
        raise SettingError(f"{file} is not a schema of Avro: {error}") from None
    if not isinstance(parsed, dict) or parsed.get("type") != "record":
        raise SettingError(f"{file}: the schema is to be one of a record, whose fields become columns")
    found: Fields = {}
    for one in parsed["fields"]:
        kind = _column(one["type"], named)
        if kind is None or (kind == "json" and not _is_json(one["type"], named, frozenset())):
            raise SettingError(
                f"{file}: field {one['name']} has bytes or no values, which no column can have"
            )
        found[one["name"]] = kind
    return found


def avro_row(avro: AvroFormat, fields: Fields, value: bytes | None) -> list[object]:
    """The columns of one value. Raises Unreadable for one that is not exactly a record of the schema."""
    if value is None:
        raise Unreadable("the value is null (a tombstone)")
    if avro.header:
        if len(value) < HEADER_BYTES or value[0] != 0:
            raise Unreadable(f"the value does not begin with the header of {avro.header}")
        value = value[HEADER_BYTES:]
    parsed, _ = _parsed(avro.schema)
    content = io.BytesIO(value)
    try:
        record = import_module("fastavro").schemaless_reader(content, parsed)
    except (EOFError, ValueError, IndexError, KeyError, ArithmeticError, TypeError, struct.error) as error:
        reason = f": {error}" if str(error) else ""
        raise Unreadable(f"the value is not a record of the schema{reason}") from None
    if left := len(value) - content.tell():
        raise Unreadable(f"the value has {left} bytes behind the record of the schema")
    return [_value(name, kind, record.get(name)) for name, kind in fields.items()]


def _value(name: str, kind: str, value: object) -> object:
    if value is None:
        return None
    if kind == "json":
        try:
            return json.dumps(
                value, default=_text, ensure_ascii=False, separators=(",", ":"), allow_nan=False
            )
        except ValueError:
            raise Unreadable(f"field {name} has a number that JSON does not have") from None
    if kind == "string":
        return _text(value)
    if isinstance(value, datetime) and value.tzinfo is None:
        return value.replace(tzinfo=UTC)
    return value


def _text(value: object) -> str:
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, datetime | time):
        return value.isoformat()
    return str(value)


@lru_cache(maxsize=8)
def _parsed(schema: str) -> tuple[Any, dict[str, Any]]:
    """The schema as fastavro has it, and the types that have names in it."""
    named: dict[str, Any] = {}
    return import_module("fastavro.schema").parse_schema(json.loads(schema), named), named


def _column(schema: Any, named: Mapping[str, Any]) -> str | None:
    """The type of the column for values of this schema; None if there is none."""
    if isinstance(schema, list):
        others = [one for one in schema if one != "null"]
        if len(others) == 1:
            return _column(others[0], named)
        return "json" if others else None
    if isinstance(schema, str):
        return _PRIMITIVE.get(schema) or (_column(named[schema], named) if schema in named else None)
    if kind := _LOGICAL.get(schema.get("logicalType", "")):
        return kind
    if schema["type"] == "enum":
        return "string"
    if schema["type"] in ("record", "array", "map"):
        return "json"
    return None if schema["type"] == "fixed" else _column(schema["type"], named)


def _is_json(schema: Any, named: Mapping[str, Any], within: frozenset[str]) -> bool:
    """Whether JSON can hold all values of this schema: there are no bytes in it."""
    if isinstance(schema, list):
        return all(_is_json(one, named, within) for one in schema if one != "null")
    if isinstance(schema, str):
        if schema not in named:
            return schema in _PRIMITIVE
        return schema in within or _is_json(named[schema], named, within | {schema})
    if schema.get("logicalType", "") in _LOGICAL or schema["type"] == "enum":
        return True
    if schema["type"] == "record":
        inner = within | {schema["name"]}
        # Values of a record without fields take no bytes, so an array of a few bytes could have any number.
        return bool(schema["fields"]) and all(_is_json(one["type"], named, inner) for one in schema["fields"])
    if schema["type"] == "array":
        return _is_json(schema["items"], named, within)
    if schema["type"] == "map":
        return _is_json(schema["values"], named, within)
    return schema["type"] != "fixed" and _is_json(schema["type"], named, within)
