"""How a bug is planted: what it makes of a method, a function or a property, for the length of a `with`."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any, TypeAlias
from unittest.mock import patch

Plant: TypeAlias = Callable[[], AbstractContextManager[object]]


def replaced(owner: object, name: str, make: Callable[[Any], Any]) -> Plant:
    """Plants what `make` makes of the original."""
    original = vars(owner)[name]
    return lambda: patch.object(owner, name, make(original))


def together(*plants: Plant) -> Plant:
    """Plants all of them."""

    @contextmanager
    def planted() -> Iterator[None]:
        with ExitStack() as stack:
            for plant in plants:
                stack.enter_context(plant())
            yield

    return planted
