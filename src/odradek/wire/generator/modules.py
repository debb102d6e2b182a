"""Writes a module: its field table, its classes, and a codec for every layout of each."""

import re
from collections.abc import Iterator
from typing import Final

from odradek.wire.generator.decoders import DecoderWriter
from odradek.wire.generator.encoders import EncoderWriter
from odradek.wire.generator.names import annotation, default, format_name, module_name
from odradek.wire.layout import first_versions, owners_of, structs_below
from odradek.wire.schema import Field, MessageSchema, SchemaFile, Struct, render
from odradek.wire.snake_case import snake_case
from odradek.wire.versions import VERSION_LIMIT

_IMPORTABLE: Final = {
    "dataclasses": ("dataclass", "field"),
    "struct": ("Struct",),
    "typing": ("ClassVar", "Final"),
    "uuid": ("UUID",),
    "odradek.base.buffers": ("Buffer",),
    "odradek.base.ids": ("NO_TOPIC_ID",),
    "odradek.wire.message": ("Decoder", "Encoder", "Message", "Request", "Structure"),
    "odradek.wire.versions": ("Versions", "VERSION_LIMIT"),
}
# Of these modules everything that begins so, or is named here, may be imported.
_CODEC_NAMES: Final = {
    "odradek.wire.decoding": re.compile(
        r"\b(?:(?:read_\w+|skip_tags|new)(?=\()|Undecodable\b|ElementBudget\b)"
    ),
    "odradek.wire.encoding": re.compile(r"\b(?:write_\w+(?=\()|NULL_INT32\b|Payloads\b)"),
}


def write_module(schema: SchemaFile) -> str:
    """The text of a file's module, not yet formatted."""
    writer = _ModuleWriter(schema)
    body = "\n".join(writer.write())
    table = f'FIELD_TABLE: Final = """\n{render(schema)}"""\n'
    constants = "\n".join(_constants(writer))
    source = f"schemas/{module_name(schema)}.fields"
    opening = f'"""Generated from `{source}` by `odradek.wire.generator`: do not edit."""\n'
    imports = "\n".join(_imports(table + constants + body))
    return (
        "\n\n".join((opening + "\nfrom __future__ import annotations\n\n" + imports, table, constants, body))
        + "\n"
    )


class _ModuleWriter:
    """Writes the classes and functions of one file, and remembers the struct formats that they use."""

    def __init__(self, schema: SchemaFile) -> None:
        self.schema = schema
        # For each structure and message: the first version with the layout that it has in a version.
        self.layouts = {
            one.name: first_versions(one, schema.messages)
            for one in (*schema.structs.values(), *schema.messages)
        }
        # The formats of the struct module that decoders and encoders use.
        self.unpacked: set[str] = set()
        self.packed: set[str] = set()
        # Structures whose class and codec stand already: a response may share the request's.
        self._written: set[str] = set()

    def write(self) -> Iterator[str]:
        """The lines of all messages."""
        for message in self.schema.messages:
            structs = [one for one in structs_below(message) if one.name not in self._written]
            for one in structs:
                self._written.add(one.name)
                yield from self._write_struct(one, message)
            for one in structs:
                yield from self._write_codecs(one, message)
            yield from self._write_codecs(message, message)
            yield from self._write_message(message)

    def _write_struct(self, struct: Struct, message: MessageSchema) -> Iterator[str]:
        yield "@dataclass(slots=True, eq=False, repr=False)"
        yield f"class {struct.name}(Structure):"
        yield f'    """{message.name}.{_path_to(struct, message)}"""'
        yield ""
        yield from _write_fields(struct)
        yield ""

    def _write_message(self, message: MessageSchema) -> Iterator[str]:
        first = self.layouts[message.name]
        lowest, highest = message.versions
        key = -1 if self.schema.api_key is None else self.schema.api_key
        flexible = "VERSION_LIMIT" if message.flexible_from == VERSION_LIMIT else message.flexible_from
        yield "@dataclass(slots=True, eq=False, repr=False)"
        yield f"class {message.name}({self._base(message)}):"
        yield f'    """{_versions_in_words(message)}"""'
        yield ""
        yield f"    API_KEY: ClassVar[int] = {key}"
        yield f"    VERSIONS: ClassVar[Versions] = Versions({lowest}, {highest})"
        yield f"    FLEXIBLE_FROM: ClassVar[int] = {flexible}"
        yield "    SCHEMA: ClassVar[str] = FIELD_TABLE"
        for name, kind, function in (("DECODERS", "Decoder", "_read"), ("ENCODERS", "Encoder", "_write")):
            stem = f"{function}_{snake_case(message.name)}"
            entries = ", ".join(f"{version}: {stem}_v{first[version]}" for version in message.versions.span())
            yield f"    {name}: ClassVar[dict[int, {kind}]] = {{{entries}}}"
        yield ""
        yield from _write_fields(message)
        yield ""

    def _base(self, message: MessageSchema) -> str:
        """The base class: of a request it names the class of the response."""
        response = message.name.removesuffix("Request") + "Response"
        is_asked = message.name.endswith("Request") and any(
            one.name == response for one in self.schema.messages
        )
        return f'Request["{response}"]' if is_asked else "Message"

    def _write_codecs(self, struct: Struct, message: MessageSchema) -> Iterator[str]:
        in_arrays = any(one.is_array for one in owners_of(struct, self.schema))
        alone = struct is message or any(not one.is_array for one in owners_of(struct, self.schema))
        for version in sorted(set(self.layouts[struct.name].values())):
            decoders = DecoderWriter(message, version, self.layouts)
            encoders = EncoderWriter(message, version, self.layouts)
            for writer in (decoders, encoders):
                if in_arrays:
                    yield from writer.write_array(struct)
                    yield ""
                if alone:
                    yield from writer.write_one(struct)
                    yield ""
            self.unpacked |= decoders.formats
            self.packed |= encoders.formats


def _write_fields(struct: Struct) -> Iterator[str]:
    if not struct.fields:
        return
    for one in struct.fields:
        plain = default(one)
        if plain.endswith("()"):
            plain = f"field(default_factory={plain[:-2]})"
        elif plain == "[]":
            plain = "field(default_factory=list)"
        yield f"    {one.name}: {annotation(one)} = {plain}{_remark(one)}"


def _remark(one: Field) -> str:
    lowest, highest = one.versions
    if one.versions == (0, VERSION_LIMIT):
        return ""
    if highest == VERSION_LIMIT:
        return f"  # v{lowest}+"
    if lowest == highest:
        return f"  # v{lowest}"
    return f"  # v{lowest}–{highest}" if lowest else f"  # up to v{highest}"


def _versions_in_words(message: MessageSchema) -> str:
    lowest, highest = message.versions
    versions = f"Version {lowest}" if lowest == highest else f"Versions {lowest} to {highest}"
    if message.flexible_from > highest:
        return versions + "."
    if message.flexible_from <= lowest:
        return versions + ", flexible."
    return f"{versions}, flexible from {message.flexible_from}."


def _path_to(struct: Struct, owner: Struct) -> str:
    for one in owner.fields:
        if one.struct is None:
            continue
        step = f"{one.name}[]" if one.is_array else one.name
        if one.struct.name == struct.name:
            return step
        below = _path_to(struct, one.struct)
        if below:
            return f"{step}.{below}"
    return ""


def _constants(writer: _ModuleWriter) -> Iterator[str]:
    for text in sorted(writer.unpacked):
        yield f'_unpack_{format_name(text)}: Final = Struct(">{text}").unpack_from'
    for text in sorted(writer.packed):
        yield f'_pack_{format_name(text)}: Final = Struct(">{text}").pack'


def _imports(text: str) -> Iterator[str]:
    """An import line for each module of which the text uses something."""
    needed: dict[str, list[str]] = {
        module: [each for each in names if re.search(rf"\b{each}\b", text)]
        for module, names in _IMPORTABLE.items()
    }
    for module, pattern in _CODEC_NAMES.items():
        needed[module] = sorted(set(pattern.findall(text)))
    for module in sorted(needed, key=lambda name: (name.startswith("odradek"), name)):
        if needed[module]:
            yield f"from {module} import {', '.join(needed[module])}"
