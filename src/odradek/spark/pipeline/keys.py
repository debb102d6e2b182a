"""Keys of a table: which records are of the same row, and what a record without a value does to that row.

With keys a record replaces the row of its key instead of adding one. A record without a value, a tombstone,
has its key in the record's key alone, as in a compacted topic; `key_format` says how the columns of the
table's key are written there:

    json   an object that has all of them; what else it has is left aside
    text   the whole key is the text of the only column, as a line of CSV has it

The column `_key` is the record's key as it is, and needs no format.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from odradek.base.errors import SettingError
from odradek.spark.pipeline.change_events import Envelope, open_envelopes
from odradek.spark.pipeline.decoding import Decoded, Decoder, decode, documents
from odradek.spark.pipeline.fields import ORIGIN, Fields, Unreadable, value_of, value_of_text

RECORD_KEY: Final = "_key"
"""The column of the record's key."""
TOMBSTONES: Final = ("delete", "ignore")
KEY_FORMATS: Final = ("json", "text")
DELETE: Final = "delete"
"""The change of a record that deletes the row of its key."""
IGNORE: Final = "ignore"
"""The change of a record that is skipped."""
NO_RECORD_KEY: Final = f"the record has no key, and {RECORD_KEY} is part of the table's key"


@dataclass(frozen=True, slots=True)
class Keying:
    """What the description says of the table's key; sent to the executors."""

    columns: tuple[str, ...] = ()
    """The columns whose values identify a row; empty for a table that only grows."""
    tombstones: str = ""
    """What a record without a value does, one of TOMBSTONES; "" if it is read as any other record."""
    key_format: str = ""
    """How the key of a tombstone is written, one of KEY_FORMATS; "" if nothing needs to be known of it."""
    is_transformed: bool = False
    """Whether transforms make the rows, so that only these have the columns of the key."""
    envelope: Envelope | None = None
    """How changes are written, of which some delete; None if values are the rows themselves."""

    @property
    def fields(self) -> tuple[str, ...]:
        """The columns of the key that are not the record's key itself."""
        return tuple(name for name in self.columns if name != RECORD_KEY)

    @property
    def may_delete(self) -> bool:
        """Whether there are records that delete rows."""
        return self.tombstones == DELETE or self.envelope is not None


def check_keying(keying: Keying, sink_format: str, file: object) -> None:
    """Raises SettingError for a key that this table cannot have."""
    if not keying.columns:
        if keying.tombstones:
            raise SettingError(f"{file}: sink.tombstones has an effect only with sink.key")
        if keying.envelope is not None:
            raise SettingError(f"{file}: decode.cdc needs sink.key, which says which row a change is of")
    elif sink_format == "parquet":
        raise SettingError(
            f'{file}: sink.key needs a table whose rows can be changed: set sink.format to "delta" or'
            ' "iceberg", or remove the key'
        )
    for name in keying.columns:
        if name in ORIGIN and name != RECORD_KEY:
            raise SettingError(f"{file}: sink.key cannot name {name}, which differs for each record")
    if keying.is_transformed and keying.may_delete and keying.fields:
        setting = "decode.cdc" if keying.envelope else 'sink.tombstones = "delete"'
        raise SettingError(
            f'{file}: {setting} goes together with [[transform]] only where sink.key is "{RECORD_KEY}": a'
            f" deletion passes no transform, which may change {keying.fields[0]}"
        )
    if keying.tombstones != DELETE or not keying.fields:
        if keying.key_format:
            raise SettingError(
                f"{file}: decode.key_format has an effect only where records without a value delete rows by"
                " fields: remove it"
            )
        return
    if not keying.key_format:
        raise SettingError(
            f'{file}: decode.key_format is missing: sink.tombstones = "delete" finds {keying.fields[0]} in'
            f" the record's key, and must know how it is written, {' or '.join(KEY_FORMATS)}"
        )
    if keying.key_format == "text" and len(keying.fields) > 1:
        raise SettingError(
            f'{file}: decode.key_format = "text" can hold one column of sink.key, not {len(keying.fields)}:'
            ' write keys as "json"'
        )


def decode_changes(
    keying: Keying, decoder: Decoder, keys: Sequence[bytes | None], values: Sequence[bytes | None]
) -> tuple[Decoded, list[str | None]]:
    """Rows from the values of records, and what each does to the row of its key; see `apply_keys`."""
    if keying.envelope is None:
        decoded = decode(decoder, values)
        return decoded, apply_keys(keying, decoder.fields, decoded, keys, values)
    opened = open_envelopes(keying.envelope, keying.fields, values)
    decoded = decode(decoder, opened.values)
    for place, error in enumerate(opened.errors):
        if error is not None:
            decoded.errors[place] = error
    changes = apply_keys(keying, decoder.fields, decoded, keys, opened.values)
    for place, is_delete in enumerate(opened.is_delete):
        if is_delete and decoded.errors[place] is None:
            changes[place] = IGNORE if decoded.new_fields[place] else DELETE
            decoded.new_fields[place] = None
    return decoded, changes


def apply_keys(
    keying: Keying,
    fields: Fields,
    decoded: Decoded,
    keys: Sequence[bytes | None],
    values: Sequence[bytes | None],
) -> list[str | None]:
    """What each record does to the row of its key: DELETE, IGNORE, or None if it puts a row there.

    The columns of `decoded` get the keys of tombstones, its errors get the records whose key is null.
    """
    changes: list[str | None] = [None] * len(values)
    if not keying.columns:
        return changes
    for place, (key, value) in enumerate(zip(keys, values, strict=True)):
        if value is None and keying.tombstones:
            try:
                changes[place] = _tombstone(keying, fields, decoded, place, key)
                decoded.errors[place] = None
            except Unreadable as error:
                decoded.errors[place] = str(error)
        elif decoded.errors[place] is None and (fault := _fault_in_key(keying, decoded, place, key)):
            decoded.errors[place] = fault
            decoded.new_fields[place] = None
    return changes


def _fault_in_key(keying: Keying, decoded: Decoded, place: int, key: bytes | None) -> str:
    """Why this record, which has a row, has no key; "" if it has one."""
    for name in keying.columns:
        if name == RECORD_KEY:
            if key is None:
                return NO_RECORD_KEY
        elif keying.is_transformed:
            continue
        elif name in decoded.columns:
            if decoded.columns[name][place] is None:
                return f"field {name} is part of the table's key, and is null or missing"
        elif name not in (decoded.new_fields[place] or {}):
            return f"field {name} is part of the table's key, and is null or missing"
    return ""


def _tombstone(keying: Keying, fields: Fields, decoded: Decoded, place: int, key: bytes | None) -> str:
    """Put the key of a tombstone into the columns; returns what it does. Raises Unreadable."""
    if keying.tombstones == "ignore":
        return IGNORE
    if key is None:
        raise Unreadable("the value is null (a tombstone), and the key is null, too: whose row is to go?")
    if any(name not in fields for name in keying.fields):
        return IGNORE  # no record has had such a field yet, so there is no row of that key
    for name, value in _key_values(keying, fields, keying.fields, key).items():
        decoded.columns[name][place] = value
    return DELETE


def _key_values(keying: Keying, fields: Fields, names: Sequence[str], key: bytes) -> dict[str, object]:
    """The values of the columns `names` in a record's key, none of them null. Raises Unreadable."""
    if not names:
        return {}
    if keying.key_format == "text":
        (name,) = names
        try:
            found = {name: value_of_text(name, fields[name], key.decode())}
        except UnicodeDecodeError:
            raise Unreadable("the key of a tombstone is not UTF-8") from None
    else:
        objects = documents([key])
        if not objects:
            raise Unreadable("the key of a tombstone is not an object of JSON, as decode.key_format says")
        found = {name: value_of(name, fields[name], objects[0].get(name)) for name in names}
    for name, value in found.items():
        if value is None:
            raise Unreadable(f"the key of a tombstone has no {name}, which is part of the table's key")
    return found
