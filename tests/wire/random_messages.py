"""Random messages of every kind, as Hypothesis strategies made from the field tables."""

import sys
from dataclasses import fields
from typing import Any

from hypothesis import strategies as st

from odradek.base.ids import NO_TOPIC_ID
from odradek.wire.message import Message, Structure
from odradek.wire.schema import Field, MessageSchema, Struct, parse

SCALARS: dict[str, st.SearchStrategy[Any]] = {
    "bool": st.booleans(),
    "int8": st.integers(-(2**7), 2**7 - 1),
    "int16": st.integers(-(2**15), 2**15 - 1),
    "uint16": st.integers(0, 2**16 - 1),
    "int32": st.integers(-(2**31), 2**31 - 1),
    "int64": st.integers(-(2**63), 2**63 - 1),
    "float64": st.floats(allow_nan=False),
    "uuid": st.one_of(st.just(NO_TOPIC_ID), st.uuids()),
    "string": st.one_of(st.text(max_size=4), st.just("ü" * 100)),
    "bytes": st.one_of(st.binary(max_size=4), st.just(bytes(200))),
    "records": st.one_of(st.binary(max_size=4), st.just(bytes(5000))),
}


def schema_of(kind: type[Message]) -> MessageSchema:
    return next(one for one in parse(kind.SCHEMA).messages if one.name == kind.__name__)


def messages_of(kind: type[Message]) -> st.SearchStrategy[Message]:
    """Messages with a value in every field, of whatever version."""
    return _structures(kind, schema_of(kind))


def _structures(kind: type[Any], struct: Struct) -> st.SearchStrategy[Any]:
    return st.builds(kind, **{one.name: _values(kind, one) for one in struct.fields})


def _values(owner: type[Structure], one: Field) -> st.SearchStrategy[Any]:
    if one.struct is not None:
        plain = _structures(getattr(sys.modules[owner.__module__], one.type), one.struct)
    elif one.name.endswith("_ms"):
        # kio keeps times as datetimes, which end with the year 9999.
        plain = st.integers(-1, 2**31 - 1)
    elif one.name.endswith("error_code"):
        plain = st.integers(-1, 130)
    else:
        plain = SCALARS[one.type]
    if one.is_array:
        plain = st.lists(plain, max_size=2)
    if (
        one.null_versions is not None
        or one.default == "null"
        or (one.tag is not None and one.struct is not None)
    ):
        return st.one_of(st.none(), plain) if not one.is_array or one.null_versions is not None else plain
    return plain


def _as_sent(message: Any, struct: Struct, version: int) -> Any:
    """What is left of a message in a version: what the wire cannot say takes its default."""
    plain = type(message)()
    for one in fields(message):
        told = next(
            (each for each in struct.fields if each.name == one.name and version in each.versions), None
        )
        value = getattr(message, one.name)
        if told is None:
            continue
        if value is None and not told.nullable_in(version) and told.tag is None:
            value = (
                {"string": "", "bytes": b"", "records": b""}.get(told.type, []) if not told.is_array else []
            )
        elif told.struct is not None and value is not None:
            if told.is_array:
                value = [_as_sent(each, told.struct, version) for each in value]
            else:
                value = _as_sent(value, told.struct, version)
                if told.tag is not None and value == type(value)():
                    value = None
        setattr(plain, one.name, value)
    return plain


def sent(message: Message, version: int) -> Message:
    """What a version can say of the message."""
    found: Message = _as_sent(message, schema_of(type(message)), version)
    return found
