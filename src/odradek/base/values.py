"""`@value`: plain data that does not change after it is made.

    @value
    class Moved:
        topic: str
        to: int = 0

A dataclass with slots: fields, defaults, `__match_args__`, `fields()` and `replace()` are those of
`dataclasses`; equal, hashed and printed by its fields. The type checker ensures that no field is
set. It is not checked again at run time, for two reasons: creating a class takes a quarter of the time of
`dataclass(frozen=True)` (a startup creates a hundred), and creating an instance takes a third.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import Any, TypeVar, cast, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def value(cls: type[T]) -> type[T]:
    """Make a class of values; all of its fields count for equality."""
    made = cast(Any, dataclass(slots=True, eq=False, repr=False)(cls))
    made.__eq__, made.__hash__ = _by_fields(made)
    made.__repr__ = _printed
    return cast(type[T], made)


def _by_fields(cls: Any) -> tuple[Callable[[Any, object], bool], Callable[[Any], int]]:  # noqa: ANN401 - any class
    names = tuple(cls.__dataclass_fields__)
    content: Callable[[Any], Any] = attrgetter(*names) if names else lambda _: ()

    def is_equal(self: Any, other: object) -> bool:  # noqa: ANN401 - any class
        return type(other) is type(self) and bool(content(self) == content(other))

    def hashed(self: Any) -> int:  # noqa: ANN401 - any class
        return hash(content(self))

    return is_equal, hashed


def _printed(self: Any) -> str:  # noqa: ANN401 - any class
    shown = ", ".join(f"{one.name}={getattr(self, one.name)!r}" for one in fields(self) if one.repr)
    return f"{type(self).__qualname__}({shown})"
