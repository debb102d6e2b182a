"""Derives the field tables of the client APIs from kio's schemas, and writes them into `schemas/`.

Only facts are taken (names, types, versions, tags, defaults), no text. kio has one class per message *and
version*, so the versions are merged here: a field's versions are those in which some class has it. What kio
renames for Python gets Kafka's name back: `max_wait`, a timedelta there, is `max_wait_ms` here.

Run after an update of kio: ``python -m odradek.wire.generator.derive``, then ``python -m
odradek.wire.generator``.
"""

import dataclasses
import importlib
from pathlib import Path
from types import ModuleType, NoneType, UnionType
from typing import Any, Final, TypeAlias, get_args, get_origin

from odradek.wire.apis import APIS, Api
from odradek.wire.generator.later_versions import add_later_version, known_to_kio
from odradek.wire.schema import Field, MessageSchema, SchemaFile, Struct, render
from odradek.wire.versions import VERSION_LIMIT, Versions

SCHEMAS: Final = Path(__file__).parent.parent / "schemas"

# kio's types that carry more meaning than the bytes do.
_PLAIN_TYPES: Final = {
    "error_code": "int16",
    "timedelta_i32": "int32",
    "timedelta_i64": "int64",
    "datetime_i64": "int64",
}
# Where None means a value on the wire, -1 or zero, and not null.
_NONE_FOR_VALUES: Final = {"datetime_i64": "-1", "uuid": None}
_MS_TYPES: Final = frozenset({"timedelta_i32", "timedelta_i64", "datetime_i64"})
# Arrays of structures whose default is null, which kio's classes do not tell.
_NULL_BY_DEFAULT: Final = {
    ("ListPartitionReassignmentsRequest", "topics"),
    ("ConsumerGroupHeartbeatRequest", "topic_partitions"),
}
# The versions in which a class of kio represents one structure, rising.
_Classes: TypeAlias = dict[int, type[Any]]


def derive(api: Api) -> SchemaFile:
    """The field table of one API."""
    structs: dict[str, Struct] = {}
    messages = [_derive_message(api, kind, structs) for kind in ("request", "response")]
    schema = SchemaFile(api.name, api.key, messages, structs)
    add_later_version(schema)
    return schema


def _derive_message(api: Api, kind: str, structs: dict[str, Struct]) -> MessageSchema:
    classes: _Classes = {}
    versions = known_to_kio(api.name, api.versions)
    for version in versions.span():
        module = _kio_module(api, version, kind)
        classes[version] = getattr(module, api.name + kind.capitalize())
    flexible = [version for version, one in classes.items() if one.__flexible__]
    known = dict(structs)
    structs_here: dict[str, Struct] = {}
    message = MessageSchema(
        name=api.name + kind.capitalize(),
        fields=_merge_fields(classes, versions, structs_here),
        kind=kind,
        versions=versions,
        flexible_from=min(flexible, default=VERSION_LIMIT),
    )
    for one in message.fields:
        if (message.name, one.name) in _NULL_BY_DEFAULT:
            one.default = "null"
    _keep_names_apart(message, structs_here, known)
    structs.update(structs_here)
    return message


def _kio_module(api: Api, version: int, kind: str) -> ModuleType:
    return importlib.import_module(f"kio.schema.{api.snake_name}.v{version}.{kind}")


def _merge_fields(classes: _Classes, all_versions: Versions, structs: dict[str, Struct]) -> list[Field]:
    """Merge the fields of one structure over its versions, keeping each version's order."""
    order: list[str] = []
    for one in classes.values():
        place = len(order)
        for each in reversed(dataclasses.fields(one)):
            if each.name in order:
                place = order.index(each.name)
            else:
                order.insert(place, each.name)
    return [_merge_field(name, classes, all_versions, structs) for name in order]


def _merge_field(name: str, classes: _Classes, all_versions: Versions, structs: dict[str, Struct]) -> Field:
    found: dict[int, dataclasses.Field[Any]] = {}
    for version, one in classes.items():
        for each in dataclasses.fields(one):
            if each.name == name:
                found[version] = each
    element_types = {version: _unwrap(each.type) for version, each in found.items()}
    newest = found[max(found)]
    wire_type, is_array, _ = element_types[max(found)]
    struct = None
    if isinstance(wire_type, type) and dataclasses.is_dataclass(wire_type):
        nested: _Classes = {version: kind for version, (kind, _, _) in element_types.items()}
        struct = Struct(wire_type.__name__, _merge_fields(nested, Versions(min(found), max(found)), structs))
        structs[struct.name] = struct
        type_name = struct.name
    else:
        type_name = newest.metadata["kafka_type"]
    nullable = [version for version, (_, _, null) in element_types.items() if null]
    if type_name in _NONE_FOR_VALUES:
        nullable = []
    tags = {each.metadata.get("tag") for each in found.values()}
    assert len(tags) == 1, f"{name} is tagged in some versions only"
    return Field(
        name=name + "_ms" if type_name in _MS_TYPES else name,
        type=_PLAIN_TYPES.get(type_name, type_name),
        is_array=is_array,
        struct=struct,
        versions=_open_ended(sorted(found), all_versions),
        null_versions=_open_ended(nullable, Versions(min(found), max(found))) if nullable else None,
        tag=tags.pop(),
        default=_default(newest),
    )


def _unwrap(annotation: Any) -> tuple[Any, bool, bool]:  # noqa: ANN401 - an annotation is any object
    """The type of a value or an element, whether it is an array, whether it may be null."""
    nullable = False
    if get_origin(annotation) is UnionType:
        annotation = next(each for each in get_args(annotation) if each is not NoneType)
        nullable = True
    if get_origin(annotation) is tuple:
        return get_args(annotation)[0], True, nullable
    return annotation, False, nullable


def _open_ended(versions: list[int], all_versions: Versions) -> Versions:
    """The range of a list of versions, open where it reaches an end of what there is."""
    lowest, highest = versions[0], versions[-1]
    assert versions == list(range(lowest, highest + 1)), versions
    return Versions(
        0 if lowest == all_versions.lowest else lowest,
        VERSION_LIMIT if highest == all_versions.highest else highest,
    )


def _default(one: dataclasses.Field[Any]) -> str | None:
    """What the table says after `=`; None where the type's own default is meant."""
    value = one.default
    if value is dataclasses.MISSING or dataclasses.is_dataclass(value) or value == ():
        return None
    if value is None:
        return _NONE_FOR_VALUES.get(one.metadata.get("kafka_type", ""), "null")
    if isinstance(value, bool):
        return "true" if value else None
    if isinstance(value, str):
        return f'"{value}"' if value else None
    if isinstance(value, int | float):
        return repr(value) if value else None
    milliseconds = int(value.total_seconds() * 1000)
    return str(milliseconds) if milliseconds else None


def _keep_names_apart(message: MessageSchema, here: dict[str, Struct], known: dict[str, Struct]) -> None:
    """Rename the response's structures that share a name, but not a shape, with one of the request."""
    clashing = {name for name, struct in here.items() if name in known and known[name] != struct}
    for owner in (message, *here.values()):
        for each in owner.fields:
            if each.struct is not None and each.type in clashing:
                each.type += "Response"
    for name in clashing:
        struct = here.pop(name)
        struct.name += "Response"
        here[struct.name] = struct


def main() -> None:
    """Write the table of every API that kio knows."""
    for api in APIS.values():
        if not api.inter_broker_only:
            path = SCHEMAS / f"{api.snake_name}.fields"
            path.write_text(render(derive(api)))


if __name__ == "__main__":
    main()
