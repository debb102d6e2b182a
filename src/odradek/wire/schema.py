"""The language of the field tables in `schemas/`: a message's fields, their types and their versions.

It must not know how bytes are read or written: the generator turns a table into code, `explain` follows it.
One file describes one API, a request and a response, or a family of records that are not requests:

    api 1 Fetch

    request FetchRequest 4-18 flexible 12+
        cluster_id: string? @12+ tag 0 = null
        replica_id: int32 @0-14 = -1
        topics: [FetchTopic]
            topic: string @0-12
            topic_id: uuid @13+
            partitions: [FetchPartition]
                ...

A field is `name: type`, then what deviates from the plain case:

- `[type]` is an array; a type with fields indented below it is a structure, which a later field of the same
  type refers to without repeating them.
- `?` after the type: may be null; `?3+`: may be null from version 3 on.
- `@0-12`, `@13+`: the versions that have the field; without it, all of the message's.
- `tag 0`: a tagged field (KIP-482), on the wire only when it is not the default.
- `= -1`: the default; without it zero, empty or a fresh structure. The default of a tagged structure is null:
  it is absent. Where it may be null (`?`) it is always there, and says so: absence is no null to Kafka.

`flexible 12+` names the first version with compact lengths and tagged fields; without any it is left out.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from odradek.wire.versions import VERSION_LIMIT, Versions

# Types that are a value by themselves, and the least bytes that each takes on the wire.
SCALAR_BYTES_MIN: Final = {
    "bool": 1,
    "int8": 1,
    "int16": 2,
    "uint16": 2,
    "int32": 4,
    "int64": 8,
    "float64": 8,
    "uuid": 16,
    "string": 1,
    "bytes": 1,
    "records": 1,
}
# Those with a length before them, and its bytes when it is not a compact one.
LENGTH_BYTES: Final = {"string": 2, "bytes": 4, "records": 4}
# Those whose size is always the same.
FIXED_TYPES: Final = frozenset({"bool", "int8", "int16", "uint16", "int32", "int64", "float64"})

_INDENT: Final = "    "
_FIELD: Final = re.compile(
    r"(?P<name>\w+): (?P<array>\[)?(?P<type>\w+)\]?(?P<null>\?(?P<null_versions>[\d+-]+)?)?"
    r"(?: @(?P<versions>[\d+-]+))?(?: tag (?P<tag>\d+))?(?: = (?P<default>.+))?"
)
_MESSAGE: Final = re.compile(
    r"(?P<kind>request|response|record) (?P<name>\w+) (?P<versions>[\d-]+)(?: flexible (?P<flexible>\d+)\+)?"
)


class SchemaError(Exception):
    """A field table that does not follow the language: a programming error."""


@dataclass(slots=True)
class Struct:
    """A structure: a name, and its fields over all versions in wire order."""

    name: str
    fields: list["Field"] = field(default_factory=list)

    def fields_in(self, version: int) -> list["Field"]:
        """The untagged fields of one version, in wire order."""
        return [one for one in self.fields if version in one.versions and one.tag is None]

    def tagged_fields_in(self, version: int) -> list["Field"]:
        """The tagged fields of one version, by rising tag."""
        tagged = [(one.tag, one) for one in self.fields if version in one.versions and one.tag is not None]
        return [one for _, one in sorted(tagged, key=lambda pair: pair[0])]


@dataclass(slots=True)
class Field:
    """One field of a structure or message."""

    name: str
    # A key of SCALAR_BYTES_MIN, or the name of `struct`.
    type: str
    is_array: bool
    # The structure that a value, or an element of the array, is; None for scalars.
    struct: Struct | None
    # The versions that have the field.
    versions: Versions
    # The versions in which the value (for an array, the array itself) may be null; None: never.
    null_versions: Versions | None
    # The tag of a tagged field; None: on the wire in its place, always.
    tag: int | None
    # As it is written in the table, "null" for none; None: the type's own.
    default: str | None

    def nullable_in(self, version: int) -> bool:
        """Whether null may stand here in a version."""
        return self.null_versions is not None and version in self.null_versions


@dataclass(slots=True)
class MessageSchema(Struct):
    """A request, a response, or a record that is stored on its own."""

    # "request", "response" or "record".
    kind: str = ""
    versions: Versions = field(default=Versions(0, 0))
    # The first version with compact lengths and tagged fields; VERSION_LIMIT when there is none.
    flexible_from: int = VERSION_LIMIT

    def is_flexible(self, version: int) -> bool:
        """Whether a version has compact lengths and tagged fields."""
        return version >= self.flexible_from


@dataclass(slots=True)
class SchemaFile:
    """All of one file: an API's request and response, or a family of records."""

    # "Fetch"; for records the family's name.
    name: str
    # The API key; None for a family of records.
    api_key: int | None
    messages: list[MessageSchema]
    # Every structure below the messages by name, in the order of their first mention.
    structs: dict[str, Struct]


def parse_versions(text: str) -> Versions:
    """`3`, `3-7` or `3+`."""
    if text.endswith("+"):
        return Versions(int(text[:-1]), VERSION_LIMIT)
    lowest, _, highest = text.partition("-")
    return Versions(int(lowest), int(highest or lowest))


def parse(text: str) -> SchemaFile:
    """Read a whole file; raises SchemaError at the first line that does not follow the language."""
    lines = [line for line in text.splitlines() if line.strip()]
    keyword, *rest = lines[0].split()
    if keyword == "api":
        schema = SchemaFile(rest[1], int(rest[0]), [], {})
    elif keyword == "records":
        schema = SchemaFile(rest[0], None, [], {})
    else:
        raise SchemaError(f"a file opens with `api` or `records`, not with {lines[0]!r}")
    # The structure that fields of each depth belong to.
    owners: list[Struct] = []
    for line in lines[1:]:
        stripped = line.lstrip()
        depth = (len(line) - len(stripped)) // len(_INDENT)
        if depth == 0:
            message = _parse_message(stripped)
            schema.messages.append(message)
            owners = [message]
            continue
        if depth > len(owners):
            raise SchemaError(f"indented below nothing: {line!r}")
        added = parse_field(stripped, schema.structs)
        owners[depth - 1].fields.append(added)
        owners[depth:] = [] if added.struct is None else [added.struct]
    return schema


def _parse_message(line: str) -> MessageSchema:
    match = _MESSAGE.fullmatch(line)
    if match is None:
        raise SchemaError(f"not the head of a message: {line!r}")
    flexible = match["flexible"]
    return MessageSchema(
        name=match["name"],
        kind=match["kind"],
        versions=parse_versions(match["versions"]),
        flexible_from=VERSION_LIMIT if flexible is None else int(flexible),
    )


def parse_field(line: str, structs: dict[str, Struct]) -> Field:
    """One line's field; a structure that it names is taken from `structs`, or added. Raises SchemaError."""
    match = _FIELD.fullmatch(line)
    if match is None:
        raise SchemaError(f"not a field: {line!r}")
    type_name = match["type"]
    struct = None
    if type_name not in SCALAR_BYTES_MIN:
        struct = structs.setdefault(type_name, Struct(type_name))
    everywhere = Versions(0, VERSION_LIMIT)
    null_versions = None
    if match["null"]:
        null_versions = parse_versions(match["null_versions"]) if match["null_versions"] else everywhere
    return Field(
        name=match["name"],
        type=type_name,
        is_array=match["array"] is not None,
        struct=struct,
        versions=parse_versions(match["versions"]) if match["versions"] else everywhere,
        null_versions=null_versions,
        tag=None if match["tag"] is None else int(match["tag"]),
        default=match["default"],
    )


def render(schema: SchemaFile) -> str:
    """A file's text; `parse` reads it back."""
    head = f"records {schema.name}" if schema.api_key is None else f"api {schema.api_key} {schema.name}"
    lines = [head]
    written: set[str] = set()
    for message in schema.messages:
        lowest, highest = message.versions
        versions = str(lowest) if lowest == highest else f"{lowest}-{highest}"
        flexible = "" if message.flexible_from > highest else f" flexible {message.flexible_from}+"
        lines += ["", f"{message.kind} {message.name} {versions}{flexible}"]
        lines += _render_fields(message, 1, written)
    return "\n".join(lines) + "\n"


def _render_fields(struct: Struct, depth: int, written: set[str]) -> Iterator[str]:
    for one in struct.fields:
        text = f"{one.name}: [{one.type}]" if one.is_array else f"{one.name}: {one.type}"
        if one.null_versions is not None:
            text += "?" + _render_versions(one.null_versions)
        if one.versions != (0, VERSION_LIMIT):
            text += " @" + _render_versions(one.versions)
        if one.tag is not None:
            text += f" tag {one.tag}"
        if one.default is not None:
            text += f" = {one.default}"
        yield _INDENT * depth + text
        if one.struct is not None and one.type not in written:
            written.add(one.type)
            yield from _render_fields(one.struct, depth + 1, written)


def _render_versions(versions: Versions) -> str:
    if versions.lowest == versions.highest:
        return str(versions.lowest)
    if versions.highest == VERSION_LIMIT:
        return "" if versions.lowest == 0 else f"{versions.lowest}+"
    return f"{versions.lowest}-{versions.highest}"
