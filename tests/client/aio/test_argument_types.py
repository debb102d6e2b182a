"""Arguments are checked by the types that a function declares."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
import pytest

from odradek.base.ids import TopicPartition
from odradek.client.aio.admin import Admin
from odradek.client.aio.argument_types import check_arguments

P0 = TopicPartition("orders", 0)


class Way(Enum):
    """Of an election, say."""

    UP = 1


@dataclass
class Made:
    """A topic, say."""

    name: str
    assignments: Mapping[int, Sequence[int]] | None = None


def function(
    times: Mapping[TopicPartition, int] | None = None,
    names: Sequence[str] = (),
    some: Iterable[TopicPartition] | None = None,
    made: Sequence[Made] = (),
    *,
    way: Way = Way.UP,
    is_quick: bool = False,
    share: float = 0.5,
) -> None:
    """Declares what operations declare."""


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"times": {P0: 5}, "names": ["a", "b"], "some": [P0], "way": Way.UP, "is_quick": True},
        {"times": None, "names": {"a"}, "some": None, "share": 1},
        {"times": {P0: np.int64(5)}, "names": ("a",), "some": iter([P0])},
        {"some": {P0: 5}},
        {"made": [Made("a"), Made("b", {0: [1, 2]})]},
    ],
)
def test_what_is_declared_is_taken(given: dict[str, Any]) -> None:
    check_arguments(function, (), given)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"times": [P0]}, "times is a dict of TopicPartition to int or None, not [TopicPartition(topic='ord"),
        ({"times": {P0: "5"}}, "times[TopicPartition(topic='orders', partition=0)] is an int, not '5'"),
        ({"times": {("orders", 0): 5}}, "a key of times is a TopicPartition, not ('orders', 0)"),
        ({"times": {P0: True}}, "is an int, not True"),
        ({"names": "a"}, "names is a list of str, not 'a'"),
        ({"names": ["a", 5]}, "names[1] is a str, not 5"),
        ({"names": 5}, "names is a list of str, not 5"),
        ({"names": {"a": 5}}, "names is a list of str, not {'a': 5}"),
        ({"some": P0}, "some[0] is a TopicPartition, not 'orders'"),
        ({"way": "up"}, "way is a Way, not 'up'"),
        ({"is_quick": "no"}, "is_quick is a bool, not 'no'"),
        ({"share": "half"}, "share is a float, not 'half'"),
        ({"made": [Made("a", {0: 1})]}, None),  # type: ignore[dict-item]
        ({"made": [Made(5)]}, "made[0].name is a str, not 5"),  # type: ignore[arg-type]
        ({"names": [b"x" * 99]}, "names[0] is a str, not a bytes"),
    ],
)
def test_what_is_not_declared_is_refused_in_words(given: dict[str, Any], words: str | None) -> None:
    with pytest.raises(TypeError) as refused:
        check_arguments(function, (), given)
    assert (words or "made[0].assignments[0] is a list of int, not 1") in str(refused.value)
    assert str(refused.value).startswith("function: ")


def test_too_many_and_unknown_arguments_are_pythons_to_refuse() -> None:
    with pytest.raises(TypeError, match="too many positional arguments"):
        check_arguments(function, (None, (), None, (), 5), {})
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        check_arguments(function, (), {"colour": 5})


def operations() -> list[Callable[..., object]]:
    """What the methods of Admin carry out."""
    return [one.__wrapped__ for one in vars(Admin).values() if hasattr(one, "__wrapped__")]


@pytest.mark.parametrize("operation", operations(), ids=lambda one: one.__name__)
def test_each_operation_of_an_admin_client_declares_what_can_be_checked(
    operation: Callable[..., object],
) -> None:
    nothing = object()
    names = operation.__annotations__.keys() - {"return"}
    for name in names:
        others = dict.fromkeys(names - {name}, nothing)
        with pytest.raises(TypeError, match=f"^{operation.__name__}: .* not <object"):
            check_arguments(operation, (), {name: nothing, **others})
    assert len(operations()) > 30
