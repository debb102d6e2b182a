"""Envelopes of changes: what they put, what they delete, and what is refused by a sentence."""

import json
from pathlib import Path

import pytest

from odradek.spark.pipeline.change_events import Envelope, open_envelopes
from odradek.spark.pipeline.decoding import Decoder
from odradek.spark.pipeline.description import read_description
from odradek.spark.pipeline.keys import DELETE, IGNORE, Keying, decode_changes
from tests.docs.blocks import blocks_of

FIELDS = {"id": "long", "late": "long"}
KEYING = Keying(("id",), "ignore", envelope=Envelope())


def event(op: object, before: object = None, after: object = None) -> bytes:
    return json.dumps({"op": op, "before": before, "after": after, "ts_ms": 1}).encode()


def changed(*values: bytes | None, fields: dict[str, str] = FIELDS) -> list[tuple[object, ...]]:
    """Of each record its change, its error and its row."""
    decoded, changes = decode_changes(KEYING, Decoder("json", fields), [None] * len(values), values)
    rows = zip(*decoded.columns.values(), strict=True)
    return [(*one, row) for *one, row in zip(changes, decoded.errors, rows, strict=True)]


def test_inserts_and_updates_put_the_row_after_and_deletes_take_that_before() -> None:
    row, newer = {"id": 7, "late": 1}, {"id": 7, "late": 5}
    assert changed(event("c", None, row), event("r", None, row), event("u", row, newer)) == [
        (None, None, (7, 1)),
        (None, None, (7, 1)),
        (None, None, (7, 5)),
    ]
    assert changed(event("d", row), event("d", {"id": 7}), None) == [
        (DELETE, None, (7, None)),
        (DELETE, None, (7, None)),
        (IGNORE, None, (None, None)),
    ]


@pytest.mark.parametrize(
    ("value", "error"),
    [
        (b"broken", "the value is not an object of JSON, as an envelope of a change is"),
        (event("x"), 'the operation op is "x", not one of c, r, u, d'),
        (b"{}", "the operation op is null, not one of c, r, u, d"),
        (event(["c"]), 'the operation op is ["c"], not one of'),
        (event("c"), "the change c has no after that is an object"),
        (event("d"), "the change d has no before that is an object"),
        (event("d", {"late": 1}), "field id is part of the table's key, and is null or missing"),
        (event("u", None, {"late": 1}), "field id is part of the table's key, and is null or missing"),
        (
            event("u", {"id": 7}, {"id": 8}),
            "the change turns id, which is part of the table's key, from 7 to 8",
        ),
        (event("c", None, {"id": "x"}), 'field id is to be a long, and has "x"'),
    ],
)
def test_what_cannot_be_applied_is_a_dead_letter(value: bytes, error: str) -> None:
    ((change, said, _),) = changed(value)
    assert change is None
    assert str(said).startswith(error)


def test_a_delete_adds_no_fields() -> None:
    decoded, changes = decode_changes(
        KEYING, Decoder("json", {}), [None] * 2, [event("d", {"id": 7}), event("c", None, {"id": 7})]
    )
    assert (changes, decoded.new_fields) == ([IGNORE, None], [None, {"id": "long"}])


def test_a_row_that_is_deleted_needs_only_its_key_of_the_right_types() -> None:
    assert changed(event("d", {"id": 7, "late": "x", "gate": "B4"})) == [(DELETE, None, (7, None))]


def test_the_names_of_an_envelope_are_the_descriptions() -> None:
    envelope = Envelope("type", "old", "data", ("insert",), ("update",), ("delete",))
    opened = open_envelopes(
        envelope,
        ("id",),
        [b'{"type": "update", "data": {"id": 7, "x": 1.5}}', b'{"type": "delete", "old": {}}'],
    )
    assert [json.loads(one or b"") for one in opened.values] == [{"id": 7, "x": 1.5}, {"id": None}]
    assert (opened.is_delete, opened.errors) == ([False, True], [None, None])


def test_the_pages_example_is_read(tmp_path: Path) -> None:
    file = tmp_path / "flights.toml"
    (example,) = [one for one in blocks_of("docs/pipeline.md") if "decode.cdc" in one.text]
    file.write_text(example.text)
    keying = read_description(file).keying
    assert (keying.columns, keying.envelope, keying.may_delete) == (("id",), Envelope(), True)
