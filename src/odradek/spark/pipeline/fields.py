"""Types of a table's columns, what values they accept, and how they are inferred from JSON.

A value either has the type of its field or is refused with a sentence; it never becomes null in silence.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, date, datetime
from typing import Any, Final

from odradek.base.errors import OdradekError, SettingError

LONG_MAX: Final = (1 << 63) - 1
# The columns that say where a row comes from; a field may not have such a name.
ORIGIN: Final = ("_topic", "_partition", "_offset", "_timestamp", "_key")
# Columns of the engine's own, which are in no table.
INTERNAL: Final = ("_raw", "_error", "_new_fields", "_headers", "_change")

# Column names to their types, in the order of the columns.
Fields = dict[str, str]


class Unreadable(OdradekError):
    """A value that is not of its field's type, or a record that cannot be decoded; the message says why."""


def _string(value: object) -> object:
    if isinstance(value, str):
        return _whole(value)
    raise ValueError


def _long(value: object) -> object:
    if isinstance(value, int) and not isinstance(value, bool) and -LONG_MAX - 1 <= value <= LONG_MAX:
        return value
    raise ValueError


def _double(value: object) -> object:
    if isinstance(value, int | float) and not isinstance(value, bool):
        number = float(value)
        if isinstance(value, float) or int(number) == value:  # others would be rounded in silence
            return number
    raise ValueError


def _boolean(value: object) -> object:
    if isinstance(value, bool):
        return value
    raise ValueError


def _timestamp(value: object) -> object:
    if isinstance(value, str) and len(value) > len("2013-01-01"):
        moment = datetime.fromisoformat(value)
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    raise ValueError


def _date(value: object) -> object:
    if isinstance(value, str) and len(value) == len("2013-01-01"):
        return date.fromisoformat(value)
    raise ValueError


def _json(value: object) -> object:
    return _whole(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def _whole(text: str) -> str:
    """The text; half of a surrogate pair is in no column. Raises ValueError."""
    if not text.isascii():
        text.encode()
    return text


TYPES: Final[Mapping[str, Callable[[object], object]]] = {
    "string": _string,
    "long": _long,
    "double": _double,
    "boolean": _boolean,
    "timestamp": _timestamp,
    "date": _date,
    "json": _json,
}
"""Each type, and what makes its value of a value of JSON; raises ValueError for one of another type."""


def value_of(name: str, type_name: str, value: object) -> object:
    """The value of a field from a value of JSON; null stays null. Raises Unreadable."""
    if value is None:
        return None
    try:
        return TYPES[type_name](value)
    except (ValueError, OverflowError):
        raise Unreadable(f"field {name} is to be a {type_name}, and has {_shown(value)}") from None


def value_of_text(name: str, type_name: str, text: str) -> object:
    """The value of a field from text, as CSV has it; no text is null, but for strings. Raises Unreadable."""
    if type_name == "string":
        return text
    if not text:
        return None
    value: object = text
    if type_name in ("long", "double", "boolean", "json"):
        try:
            value = json.loads(text, parse_constant=_refuse_constant)
        except (ValueError, RecursionError):
            raise Unreadable(f"field {name} is to be a {type_name}, and has {_shown(text)}") from None
    return value_of(name, type_name, value)


def type_of(value: object) -> str | None:
    """The type that a value of JSON shows; None for null, which shows none."""
    if value is None:
        return None
    if isinstance(value, str):
        return "string"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "long" if isinstance(value, int) else "double"
    return "json"


def joined_type(one: str, other: str) -> str:
    """The type that holds values of both: whole and other numbers are doubles, other types are JSON."""
    if one == other:
        return one
    return "double" if {one, other} == {"long", "double"} else "json"


def inferred(documents: Iterable[Mapping[str, Any]]) -> Fields:
    """The fields of all documents, in the order in which they are met.

    Whole and other numbers together are doubles; other different types of one field are JSON. A field
    that is null throughout has no type, and is left out.
    """
    found: Fields = {}
    for document in documents:
        for name, value in document.items():
            type_name = type_of(value)
            if type_name is not None:
                found[name] = joined_type(found.get(name, type_name), type_name)
    return found


def fault_in_name(name: str, others: Iterable[str]) -> str:
    """Why a field of that name cannot stand beside `others`; "" if it can."""
    if name.lower() in (*ORIGIN, *INTERNAL):
        return f"field {name} has a name that the table uses itself"
    if not name or re.search(r"[,;{}()\n\t=`\ud800-\udfff]", name):
        return f"a field has the name {name!r}, which no column can have"
    same = [other for other in others if other.lower() == name.lower() and other != name]
    return f"fields {same[0]} and {name} differ only in upper and lower case" if same else ""


def check_fields(fields: Mapping[str, Any], where: str) -> Fields:
    """`fields`, if all their names and types can be those of columns. Raises SettingError."""
    for name, type_name in fields.items():
        if fault := fault_in_name(name, fields):
            raise SettingError(f"{where}: {fault}")
        if type_name not in TYPES:
            raise SettingError(
                f"{where}: field {name} has the type {type_name!r}; types are {', '.join(TYPES)}"
            )
    return dict(fields)


def _refuse_constant(text: str) -> object:
    raise ValueError(text)


def _shown(value: object) -> str:
    # Half of a surrogate pair is shown as its escape.
    text = json.dumps(value, ensure_ascii=False).encode(errors="backslashreplace").decode()
    return text if len(text) <= 60 else f"{text[:57]}..."
