"""Decodes record values into columns. One record becomes one row, or one error that names what is wrong.

Formats are `json` (one object a record), `avro` (one record of a schema, see `avro`), `csv` (one line a
record, fields by position) and `raw` (the bytes as they are). A field that the table does not have yet is
reported apart from errors, so that the engine can add it and decode the batch again.
"""

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from odradek.spark.pipeline.avro import AvroFormat, avro_row
from odradek.spark.pipeline.fields import Fields, Unreadable, fault_in_name, type_of, value_of, value_of_text

FORMATS: Final = ("json", "avro", "csv", "raw")


@dataclass(frozen=True, slots=True)
class Decoder:
    """How values become columns; sent to the executors."""

    format: str
    fields: Fields
    adds_fields: bool = True
    """Whether a field outside `fields` is to become a column; otherwise it is an error."""
    delimiter: str = ","
    avro: AvroFormat | None = None
    """How values of Avro are written; None for other formats."""


@dataclass(slots=True)
class Decoded:
    """Columns of the same length, one entry for each value."""

    columns: dict[str, list[object]]
    errors: list[str | None]
    """Why a value has no row; None where it has one."""
    new_fields: list[dict[str, str] | None] = field(default_factory=list)
    """The fields that a value has and the table lacks, with their types; None for none."""


def decode(decoder: Decoder, values: Sequence[bytes | None]) -> Decoded:
    """Decode the values of records; a row that has an error is null in all columns."""
    names = list(decoder.fields)
    decoded = Decoded({name: [] for name in names}, [], [])
    for value in values:
        row: Sequence[object] = ()
        error: str | None = None
        new: dict[str, str] | None = None
        try:
            if decoder.format == "csv":
                row = _csv_row(decoder, value)
            elif decoder.avro is not None:
                row = avro_row(decoder.avro, decoder.fields, value)
            else:
                row, new = _json_row(decoder, value)
        except Unreadable as unreadable:
            error = str(unreadable)
        for place, name in enumerate(names):
            decoded.columns[name].append(row[place] if row else None)
        decoded.errors.append(error)
        decoded.new_fields.append(new)
    return decoded


def documents(values: Sequence[bytes | None]) -> list[dict[str, Any]]:
    """The values that are objects of JSON; others are left out."""
    found = []
    for value in values:
        try:
            found.append(_json_object(value))
        except Unreadable:
            continue
    return found


def _json_row(decoder: Decoder, value: bytes | None) -> tuple[list[object], dict[str, str] | None]:
    document = _json_object(value)
    fields = decoder.fields
    row = [value_of(name, type_name, document.get(name)) for name, type_name in fields.items()]
    new = None
    if len(document) > len(fields) or not fields.keys() >= document.keys():
        new = _new_fields(decoder, document)
    return row, new or None


def _new_fields(decoder: Decoder, document: Mapping[str, Any]) -> dict[str, str]:
    """The fields that the table lacks; those that are null here have no type yet, and nothing to lose."""
    found: dict[str, str] = {}
    for name, value in document.items():
        type_name = None if name in decoder.fields else type_of(value)
        if type_name is None:
            continue
        if fault := fault_in_name(name, (*decoder.fields, *found)):
            raise Unreadable(fault)
        if not decoder.adds_fields:
            raise Unreadable(f"field {name} is not one of the table")
        found[name] = type_name
    return found


def _json_object(value: bytes | None) -> dict[str, Any]:
    if value is None:
        raise Unreadable("the value is null (a tombstone)")
    try:
        document = json.loads(value.decode(), parse_constant=_refuse)
    except UnicodeDecodeError:
        raise Unreadable("the value is not UTF-8") from None
    except RecursionError:
        raise Unreadable("the value is nested too deep") from None
    except ValueError as error:
        raise Unreadable(f"the value is not JSON: {error}") from None
    if not isinstance(document, dict):
        raise Unreadable("the value is JSON, but not an object")
    return document


def _refuse(text: str) -> object:
    raise ValueError(f"{text} is not a number of JSON")


def _csv_row(decoder: Decoder, value: bytes | None) -> list[object]:
    if value is None:
        raise Unreadable("the value is null (a tombstone)")
    try:
        rows = list(csv.reader([value.decode()], delimiter=decoder.delimiter, strict=True))
    except UnicodeDecodeError:
        raise Unreadable("the value is not UTF-8") from None
    except csv.Error as error:
        raise Unreadable(f"the value is not a line of CSV: {error}") from None
    texts = rows[0] if rows else []
    if len(texts) != len(decoder.fields):
        raise Unreadable(f"the line has {len(texts)} fields, not {len(decoder.fields)}")
    return [
        value_of_text(name, type_name, text)
        for (name, type_name), text in zip(decoder.fields.items(), texts, strict=True)
    ]
