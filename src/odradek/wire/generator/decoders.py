"""Writes the functions that read one layout of a structure.

A run of fields of fixed size is read by one struct; every other field by one call. A structure that stands in
arrays is read by the array, so that its elements cost no call each.
"""

from collections.abc import Iterator
from struct import calcsize

from odradek.wire.generator.names import default, format_name, struct_format
from odradek.wire.layout import element_bytes_min
from odradek.wire.schema import FIXED_TYPES, LENGTH_BYTES, Field, MessageSchema, Struct
from odradek.wire.snake_case import snake_case


class DecoderWriter:
    """Writes decoders for one structure in one version."""

    def __init__(self, message: MessageSchema, version: int, layouts: dict[str, dict[int, int]]) -> None:
        self.version = version
        self.flexible = message.is_flexible(version)
        # For each structure the first version with the layout that it has in a version.
        self.layouts = layouts
        # The formats for which the module must hold an unpacker.
        self.formats: set[str] = set()

    def write_one(self, struct: Struct) -> Iterator[str]:
        """The function that reads one structure."""
        yield f"def {self.name_of(struct)}(buffer: Buffer, at: int, budget: ElementBudget)" + (
            f" -> tuple[{struct.name}, int]:"
        )
        yield f"    item = new({struct.name})"
        yield from ("    " + line for line in self._body(struct))
        yield "    return item, at"

    def write_array(self, struct: Struct) -> Iterator[str]:
        """The function that reads the elements of an array."""
        yield (
            f"def {self.name_of(struct)}_array(buffer: Buffer, at: int, elements: int, budget: ElementBudget)"
            + (f" -> tuple[list[{struct.name}], int]:")
        )
        yield "    items = []"
        yield "    for _ in range(elements):"
        yield f"        item = new({struct.name})"
        yield from ("        " + line for line in self._body(struct))
        yield "        items.append(item)"
        yield "    return items, at"

    def name_of(self, struct: Struct) -> str:
        """The function that reads a structure in this version."""
        return f"_read_{snake_case(struct.name)}_v{self.layouts[struct.name][self.version]}"

    def _body(self, struct: Struct) -> Iterator[str]:
        in_place = struct.fields_in(self.version)
        for one in struct.fields:
            if one not in in_place:
                yield f"item.{one.name} = {default(one)}"
        run: list[tuple[str, str]] = []
        for one in in_place:
            if one.type in FIXED_TYPES and not one.is_array:
                run.append((f"item.{one.name}", one.type))
                continue
            yield from self._read_run(run)
            run = []
            yield from self._read_field(one)
        if not self.flexible:
            yield from self._read_run(run)
            return
        yield from self._read_run([*run, ("tags", "tags")])
        yield "if tags:"
        yield from ("    " + line for line in self._read_tags(struct.tagged_fields_in(self.version)))

    def _read_run(self, run: list[tuple[str, str]]) -> Iterator[str]:
        if not run:
            return
        if [target for target, _ in run] == ["tags"]:
            yield "tags = buffer[at]"
            yield "at += 1"
            return
        text = struct_format([type_name for _, type_name in run])
        self.formats.add(text)
        targets = ", ".join(target for target, _ in run)
        if len(run) == 1:
            targets = f"({targets},)"
        yield f"{targets} = _unpack_{format_name(text)}(buffer, at)"
        yield f"at += {calcsize('>' + text)}"

    def _read_field(self, one: Field) -> Iterator[str]:
        target = f"item.{one.name}"
        nullable = one.nullable_in(self.version)
        if one.is_array:
            yield from self._read_array(one, target, nullable)
        elif one.struct is not None:
            read = f"{target}, at = {self.name_of(one.struct)}(buffer, at, budget)"
            if not nullable:
                yield read
                return
            tagged = "" if one.tag is None else "tagged_"
            yield f"present, at = read_{tagged}presence(buffer, at)"
            yield "if present:"
            yield f"    {read}"
            yield "else:"
            yield f"    {target} = None"
        elif one.type in FIXED_TYPES:
            yield from self._read_run([(target, one.type)])
        else:
            yield f"{target}, at = {self._scalar_reader(one.type, nullable)}(buffer, at)"

    def _scalar_reader(self, type_name: str, nullable: bool) -> str:
        if type_name not in LENGTH_BYTES:
            return f"read_{type_name}"
        return f"read_{'compact_' * self.flexible}{'nullable_' * nullable}{type_name}"

    def _read_array(self, one: Field, target: str, nullable: bool) -> Iterator[str]:
        least = element_bytes_min(one, self.version, self.flexible)
        counter = f"read_{'compact_' * self.flexible}{'nullable_' * nullable}count"
        yield f"count, at = {counter}(buffer, at, {least}, budget)"
        if one.struct is not None:
            read = f"{target}, at = {self.name_of(one.struct)}_array(buffer, at, count, budget)"
        else:
            compact = "compact_" * (self.flexible and one.type in LENGTH_BYTES)
            read = f"{target}, at = read_{compact}{one.type}s(buffer, at, count)"
        if not nullable:
            yield read
            return
        yield "if count < 0:"
        yield f"    {target} = None"
        yield "else:"
        yield f"    {read}"

    def _read_tags(self, tagged: list[Field]) -> Iterator[str]:
        if not tagged:
            yield "at = skip_tags(buffer, at - 1, budget)"
            return
        yield "tags, at = read_tag_count(buffer, at - 1, budget)"
        yield "for _ in range(tags):"
        yield "    tag, at, end = read_tag(buffer, at)"
        branch = "if"
        for one in tagged:
            yield f"    {branch} tag == {one.tag}:"
            yield from ("        " + line for line in self._read_field(one))
            branch = "elif"
        yield "    else:"
        yield "        at = end"
        yield "    if at != end:"
        yield "        raise Undecodable"
