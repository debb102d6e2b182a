"""Writes the functions that write one layout of a structure; the mirror of `decoders`."""

from collections.abc import Iterator

from odradek.wire.generator.names import default, format_name, is_optional, struct_format
from odradek.wire.layout import carries_records
from odradek.wire.schema import FIXED_TYPES, LENGTH_BYTES, Field, MessageSchema, Struct
from odradek.wire.snake_case import snake_case


class EncoderWriter:
    """Writes encoders for one structure in one version."""

    def __init__(self, message: MessageSchema, version: int, layouts: dict[str, dict[int, int]]) -> None:
        self.version = version
        self.flexible = message.is_flexible(version)
        # For each structure the first version with the layout that it has in a version.
        self.layouts = layouts
        # The formats for which the module must hold a packer.
        self.formats: set[str] = set()

    def write_one(self, struct: Struct) -> Iterator[str]:
        """The function that writes one structure."""
        payloads = self._payloads_parameter(struct)
        yield f"def {self.name_of(struct)}(out: bytearray, item: {struct.name}{payloads}) -> None:"
        yield from ("    " + line for line in self._body(struct))

    def write_array(self, struct: Struct) -> Iterator[str]:
        """The function that writes the elements of an array."""
        payloads = self._payloads_parameter(struct)
        parameters = f"out: bytearray, items: list[{struct.name}]{payloads}"
        yield f"def {self.name_of(struct)}_array({parameters}) -> None:"
        yield "    for item in items:"
        yield from ("        " + line for line in self._body(struct))

    def name_of(self, struct: Struct) -> str:
        """The function that writes a structure in this version."""
        return f"_write_{snake_case(struct.name)}_v{self.layouts[struct.name][self.version]}"

    @staticmethod
    def _payloads_parameter(struct: Struct) -> str:
        if isinstance(struct, MessageSchema) or carries_records(struct):
            return ", payloads: Payloads"
        return ""

    def _body(self, struct: Struct) -> Iterator[str]:
        run: list[tuple[str, str]] = []
        lines = 0
        for one in struct.fields_in(self.version):
            if one.type in FIXED_TYPES and not one.is_array:
                run.append((f"item.{one.name}", one.type))
                continue
            for line in (*self._write_run(run), *self._write_field(one, "out", f"item.{one.name}")):
                lines += 1
                yield line
            run = []
        tagged = struct.tagged_fields_in(self.version)
        if self.flexible and not tagged:
            run.append(("0", "tags"))
        for line in self._write_run(run):
            lines += 1
            yield line
        if tagged:
            yield from self._write_tags(tagged)
        elif lines == 0:
            yield "pass"

    def _write_run(self, run: list[tuple[str, str]]) -> Iterator[str]:
        if not run:
            return
        if run == [("0", "tags")]:
            yield "out.append(0)"
            return
        text = struct_format([type_name for _, type_name in run])
        self.formats.add(text)
        yield f"out += _pack_{format_name(text)}({', '.join(value for value, _ in run)})"

    def _write_field(self, one: Field, out: str, value: str) -> Iterator[str]:
        nullable = one.nullable_in(self.version)
        if is_optional(one) and not nullable and one.tag is None:
            yield f"assert {value} is not None"
        if one.is_array:
            yield from self._write_array(one, out, value, nullable)
        elif one.struct is not None:
            write = f"{self.name_of(one.struct)}({out}, {value}{self._payloads_argument(one.struct)})"
            if not nullable:
                yield write
                return
            yield f"if {value} is None:"
            yield f"    {out}.append({255 if one.tag is None else 0})"
            yield "else:"
            yield f"    {out}.append(1)"
            yield f"    {write}"
        elif one.type in FIXED_TYPES:
            text = struct_format([one.type])
            self.formats.add(text)
            yield f"{out} += _pack_{format_name(text)}({value})"
        else:
            payloads = ", payloads" if one.type == "records" else ""
            yield f"{self._scalar_writer(one.type, nullable)}({out}, {value}{payloads})"

    @staticmethod
    def _payloads_argument(struct: Struct) -> str:
        return ", payloads" if carries_records(struct) else ""

    def _scalar_writer(self, type_name: str, nullable: bool) -> str:
        if type_name not in LENGTH_BYTES:
            return f"write_{type_name}"
        return f"write_{'compact_' * self.flexible}{'nullable_' * nullable}{type_name}"

    def _write_array(self, one: Field, out: str, value: str, nullable: bool) -> Iterator[str]:
        lines = [f"write_{'compact_' * self.flexible}count({out}, {value})"]
        if one.struct is not None:
            payloads = self._payloads_argument(one.struct)
            lines.append(f"{self.name_of(one.struct)}_array({out}, {value}{payloads})")
        else:
            compact = "compact_" * (self.flexible and one.type in LENGTH_BYTES)
            lines.append(f"write_{compact}{one.type}s({out}, {value})")
        if not nullable:
            yield from lines
            return
        yield f"if {value} is None:"
        yield f"    {out}.append(0)" if self.flexible else f"    {out} += NULL_INT32"
        yield "else:"
        yield from ("    " + line for line in lines)

    def _write_tags(self, tagged: list[Field]) -> Iterator[str]:
        always = sum(self._is_always_written(one) for one in tagged)
        conditions = [None if self._is_always_written(one) else _differs_from_default(one) for one in tagged]
        counted = [f"({condition})" for condition in conditions if condition is not None]
        yield "tags = " + " + ".join([str(always), *counted] if always else counted)
        yield "out.append(tags)"
        if not always:
            yield "if tags:"
        indent = "" if always else "    "
        for one, condition in zip(tagged, conditions, strict=True):
            if condition is None:
                yield from self._write_tag(one)
            else:
                yield f"{indent}if {condition}:"
                yield from (f"{indent}    {line}" for line in self._write_tag(one))

    def _write_tag(self, one: Field) -> Iterator[str]:
        yield "value = bytearray()"
        yield from self._write_field(one, "value", f"item.{one.name}")
        yield f"write_tag(out, {one.tag}, value)"

    def _is_always_written(self, one: Field) -> bool:
        """Whether a tagged structure is written although it is None: its absence would not mean null."""
        return one.struct is not None and not one.is_array and one.nullable_in(self.version)


def _differs_from_default(one: Field) -> str:
    value = f"item.{one.name}"
    plain = default(one)
    if plain == "None":
        return f"{value} is not None"
    if plain == "[]":
        return f"len({value}) > 0"
    if one.type == "uuid":
        return f"{value}.int != 0"
    if one.type == "bool":
        return value if plain == "False" else f"not {value}"
    return f"{value} != {plain}"
