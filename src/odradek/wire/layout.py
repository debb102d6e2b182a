"""The layout of a structure in each version, and which versions share one.

Every distinct layout of a structure becomes one function per direction. Worked example: FetchTopic has
`topic` up to version 12 and `topic_id` from 13 on, its partitions change at 5, 9, 12 and 17, so its layouts
begin at versions 4, 5, 9, 12, 13, 17 and 18 of Fetch.
"""

from collections.abc import Iterator
from typing import Final, TypeAlias

from odradek.wire.schema import LENGTH_BYTES, SCALAR_BYTES_MIN, Field, MessageSchema, SchemaFile, Struct

Layout: TypeAlias = tuple[object, ...]

# The character of the struct module for each type of fixed size.
STRUCT_FORMATS: Final = {
    "bool": "?",
    "int8": "b",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "int64": "q",
    "float64": "d",
    # The count of tagged fields behind a run: one byte, which is looked at again unless it is zero.
    "tags": "B",
}


def layout_of(struct: Struct, version: int, flexible: bool) -> Layout:
    """A value that is equal for versions in which a structure reads and writes the same."""
    return (
        flexible,
        *(_field_layout(one, version, flexible) for one in struct.fields_in(version)),
        *((one.tag, _field_layout(one, version, flexible)) for one in struct.tagged_fields_in(version)),
    )


def _field_layout(one: Field, version: int, flexible: bool) -> Layout:
    shape: object = one.type if one.struct is None else layout_of(one.struct, version, flexible)
    return (one.name, one.is_array, one.nullable_in(version), shape)


def first_versions(struct: Struct, messages: list[MessageSchema]) -> dict[int, int]:
    """For each version of some messages the first one in which a structure of theirs looked the same."""
    first: dict[Layout, int] = {}
    versions: dict[int, int] = {}
    for message in messages:
        for version in message.versions.span():
            if _occurs(struct, message, version):
                layout = layout_of(struct, version, message.is_flexible(version))
                known = versions.setdefault(version, first.setdefault(layout, version))
                assert known == first[layout], (
                    f"{struct.name} looks different in v{version} of {message.name}"
                )
    return versions


def _occurs(struct: Struct, owner: Struct, version: int) -> bool:
    if owner.name == struct.name:
        return True
    nested = (one.struct for one in owner.fields if one.struct is not None and version in one.versions)
    return any(_occurs(struct, each, version) for each in nested)


def structs_below(owner: Struct) -> Iterator[Struct]:
    """The structures of a message, each once, the inner ones first."""
    seen: set[str] = set()
    for one in owner.fields:
        if one.struct is None:
            continue
        for each in (*structs_below(one.struct), one.struct):
            if each.name not in seen:
                seen.add(each.name)
                yield each


def owners_of(struct: Struct, schema: SchemaFile) -> Iterator[Field]:
    """Every field of a file whose type is a structure."""
    for owner in (*schema.messages, *schema.structs.values()):
        yield from (one for one in owner.fields if one.type == struct.name)


def bytes_min(struct: Struct, version: int, flexible: bool) -> int:
    """The least bytes that a structure takes; for one element of an array never zero."""
    total = sum(_field_bytes_min(one, version, flexible) for one in struct.fields_in(version))
    return total + 1 if flexible else total


def element_bytes_min(one: Field, version: int, flexible: bool) -> int:
    """The least bytes of one element of an array."""
    if one.struct is not None:
        least = bytes_min(one.struct, version, flexible)
    else:
        least = scalar_bytes_min(one.type, flexible)
    assert least > 0, f"an array of elements without bytes: {one.name}"
    return least


def _field_bytes_min(one: Field, version: int, flexible: bool) -> int:
    if one.is_array:
        return 1 if flexible else 4
    if one.struct is not None:
        return 1 if one.nullable_in(version) else bytes_min(one.struct, version, flexible)
    return scalar_bytes_min(one.type, flexible)


def scalar_bytes_min(type_name: str, flexible: bool) -> int:
    """The least bytes of one value."""
    if flexible:
        return SCALAR_BYTES_MIN[type_name]
    return LENGTH_BYTES.get(type_name, SCALAR_BYTES_MIN[type_name])


def carries_records(struct: Struct) -> bool:
    """Whether a structure, or one below it, has a records field."""
    return any(
        one.type == "records" or (one.struct is not None and carries_records(one.struct))
        for one in struct.fields
    )
