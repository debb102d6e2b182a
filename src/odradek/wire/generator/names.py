"""The Python names and types of what the field tables declare."""

from typing import Final

from odradek.wire.layout import STRUCT_FORMATS
from odradek.wire.schema import Field, SchemaFile
from odradek.wire.snake_case import snake_case

PYTHON_TYPES: Final = {
    "bool": "bool",
    "int8": "int",
    "int16": "int",
    "uint16": "int",
    "int32": "int",
    "int64": "int",
    "float64": "float",
    "uuid": "UUID",
    "string": "str",
    "bytes": "bytes",
    "records": "Buffer",
}
# The same characters in names: all lower case.
_FORMAT_NAMES: Final = str.maketrans({"?": "o", "H": "u", "B": "t"})


def module_name(schema: SchemaFile) -> str:
    """The name of a file's module."""
    return snake_case(schema.name)


def struct_format(types: list[str]) -> str:
    """The struct module's format of a run of fixed fields."""
    return "".join(STRUCT_FORMATS[one] for one in types)


def format_name(struct_format_text: str) -> str:
    """A format as a part of a Python name."""
    return struct_format_text.translate(_FORMAT_NAMES)


def annotation(one: Field) -> str:
    """A field's Python type."""
    text = PYTHON_TYPES.get(one.type, one.type)
    if one.is_array:
        text = f"list[{text}]"
    if is_optional(one):
        text += " | None"
    return text


def is_optional(one: Field) -> bool:
    """Whether None is a value of the field: null in some version, or an absent tagged structure."""
    return one.null_versions is not None or is_absent_by_default(one)


def is_absent_by_default(one: Field) -> bool:
    """Whether None means that a tagged structure is not on the wire."""
    return one.tag is not None and one.struct is not None and not one.is_array


def default(one: Field) -> str:
    """A field's default as an expression that makes a fresh value."""
    if (
        one.default == "null"
        or (one.type == "records" and one.null_versions is not None)
        or is_absent_by_default(one)
    ):
        return "None"
    if one.is_array:
        return "[]"
    if one.default is not None:
        return {"true": "True", "false": "False"}.get(one.default, one.default)
    if one.struct is not None:
        return f"{one.type}()"
    return {
        "bool": "False",
        "float64": "0.0",
        "uuid": "NO_TOPIC_ID",
        "string": '""',
        "bytes": 'b""',
        "records": 'b""',
    }.get(one.type, "0")
