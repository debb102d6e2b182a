"""Checks the arguments of a function by the types that it declares, before anything is sent.

    check_arguments(list_offsets, ([TopicPartition("flights", 0)],), {})
    TypeError: list_offsets: times is a dict of TopicPartition to int, not a list

It knows the types that operations of an admin client declare, and looks into lists, dicts and dataclasses.
Without it what is wrong fails much later: as a request that cannot be encoded, or as an attribute that is
missing.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from inspect import Signature, signature
from operator import index
from types import NoneType, UnionType
from typing import Any, Final, NamedTuple, Union, get_args, get_origin, get_type_hints

_LISTS: Final = (Sequence, Iterable, Collection, list, tuple, set, frozenset)


class _Fault(NamedTuple):
    """What is wrong with a value: where, what belongs there, and what is there."""

    where: str
    wanted: str
    found: object

    def __str__(self) -> str:
        return f"{self.where} is {self.wanted}, not {_shown(self.found)}"


def check_arguments(
    function: Callable[..., object], arguments: Sequence[object], named: Mapping[str, object]
) -> None:
    """Raises TypeError, with a sentence, for arguments that the function does not take."""
    hints = _hints(function)
    try:
        bound = _signature(function).bind(*arguments, **named)
    except TypeError as refused:
        raise TypeError(f"{function.__name__}: {refused}") from None
    for name, value in bound.arguments.items():
        fault = _fault(name, value, hints[name])
        if fault is not None:
            raise TypeError(f"{function.__name__}: {fault}")


@cache
def _signature(function: Callable[..., object]) -> Signature:
    return signature(function)


@cache
def _hints(declaring: Any) -> Mapping[str, Any]:  # noqa: ANN401 - a function or a class
    return get_type_hints(declaring)


def _fault(where: str, value: object, hint: Any) -> _Fault | None:  # noqa: ANN401 - a type, as declared
    """The first thing that is wrong with a value; None if it is of the type."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        faults = [_fault(where, value, one) for one in inner]
        if None in faults:
            return None
        deep = [one for one in faults if one is not None and one.where != where]
        return deep[0] if deep else _Fault(where, _words(hint), value)
    if origin is Mapping or origin is dict:
        if not isinstance(value, Mapping):
            return _Fault(where, _words(hint), value)
        in_keys = (_fault(f"a key of {where}", key, inner[0]) for key in value)
        in_values = (_fault(f"{where}[{key!r}]", one, inner[1]) for key, one in value.items())
        return next((one for one in (*in_keys, *in_values) if one is not None), None)
    if origin in _LISTS:
        is_one = isinstance(value, str | bytes) or (isinstance(value, Mapping) and origin is not Iterable)
        if is_one or not isinstance(value, Iterable):
            return _Fault(where, _words(hint), value)
        if not isinstance(value, Collection):
            return None  # it can be read only once
        elements = (_fault(f"{where}[{at}]", one, inner[0]) for at, one in enumerate(value))
        return next((one for one in elements if one is not None), None)
    if not _is_a(value, hint):
        return _Fault(where, _words(hint), value)
    return _fault_within(where, value) if is_dataclass(hint) else None


def _fault_within(where: str, value: Any) -> _Fault | None:  # noqa: ANN401 - a dataclass's object
    hints = _hints(value.__class__)
    inside = (
        _fault(f"{where}.{one.name}", getattr(value, one.name), hints[one.name]) for one in fields(value)
    )
    return next((one for one in inside if one is not None), None)


def _is_a(value: object, kind: type) -> bool:
    if kind is int:
        return not isinstance(value, bool) and _is_whole(value)
    if kind is float:
        return isinstance(value, float) or _is_a(value, int)
    return isinstance(value, kind)


def _is_whole(value: Any) -> bool:  # noqa: ANN401 - numpy's numbers, too
    try:
        index(value)
    except TypeError:
        return False
    return True


def _words(hint: Any) -> str:  # noqa: ANN401 - a type, as declared
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return " or ".join(_words(one) for one in inner)
    if origin is Mapping or origin is dict:
        return f"a dict of {_name(inner[0])} to {_name(inner[1])}"
    if origin in _LISTS:
        return f"a list of {_name(inner[0])}"
    return "None" if hint is NoneType else f"{'an' if _name(hint)[0] in 'aeiouAEIOU' else 'a'} {_name(hint)}"


def _name(hint: Any) -> str:  # noqa: ANN401 - a type, as declared
    if get_origin(hint) is not None:
        return _words(hint)
    return "None" if hint is NoneType else str(hint.__name__)


def _shown(value: object) -> str:
    """A value that is short, else what kind it is of."""
    shown = repr(value)
    return shown if len(shown) <= 60 else f"a {type(value).__name__}"
