"""Frees values of very many objects in steps: the last reference to one of them would free all in one go.

A request of 10,000 elements is a tree of some 50,000 objects, which take 3 to 10 ms to free. Its owner lets
go of it by `freed` instead:

    values = [request]              the only reference to it
    yield from freed(values)        its shell, then a few topics, then a few partitions of these, and so on

Only what nobody else holds is taken apart, by its count of references: of a list that is also part of the
broker's state, only this reference is dropped. So what a value shares with others is never changed.
"""

import gc
from collections.abc import Iterable, Sequence
from sys import getrefcount
from typing import Any, Final

from odradek.base.execution.steps import Steps

FREED_PER_STEP: Final = 100
"""Objects with what belongs to each alone, well below a tenth of a millisecond."""
_SMALL: Final = 16
"""Of how many parts an object may be that is taken apart together with others."""


def freed(values: list[Any]) -> Steps[None]:
    """Free the values of a list, which is empty then; the caller holds no other reference to them.

    The first step ends before anything is freed: those who called the caller may still hold the values.
    """
    yield
    levels: list[Any] = [values]
    while levels:
        level = levels[-1]
        some = _taken(level)
        if not level:
            levels.pop()
        level = None
        alone = _alone(some)
        some.clear()
        levels += _large(alone)
        parts = _parts(alone)
        alone.clear()
        if parts := _alone(parts):
            levels.append(parts)
        yield


def _taken(level: Any) -> list[Any]:  # noqa: ANN401 - any container
    """Take a few elements out of a container."""
    if type(level) is list:
        some = level[-FREED_PER_STEP:]
        del level[-FREED_PER_STEP:]
        return some
    count = min(FREED_PER_STEP, len(level))
    if type(level) is dict:
        return [part for _ in range(count) for part in level.popitem()]
    return [level.pop() for _ in range(count)]


def _alone(some: Sequence[Any]) -> list[Any]:
    """Those that nothing else holds."""
    return [one for one, count in zip(some, _counts(some), strict=True) if count == _COUNT_ALONE]


def _counts(some: Sequence[Any]) -> list[int]:
    return list(map(getrefcount, some))


_COUNT_ALONE: Final = _counts([object()])[0]
"""What is counted for an object in nothing but a list."""


def _large(alone: list[Any]) -> Iterable[Any]:
    """Take out the large containers, as those from which a few elements can be taken at a time."""
    large = [one for one in alone if type(one) in _CONTAINERS and len(one) > _SMALL]
    if large:
        alone[:] = [one for one in alone if type(one) not in _CONTAINERS or len(one) <= _SMALL]
    return [list(one) if type(one) is tuple else one for one in large]


def _parts(alone: Iterable[Any]) -> list[Any]:
    """What the objects hold that may hold more in its turn.

    By their types, not by `gc.is_tracked`: of tuples and dictionaries that depends on when the collector ran
    last, and a simulated history would not be the same in every process.
    """
    return [part for part in gc.get_referents(*alone) if type(part) not in _ATOMS and part]


_CONTAINERS: Final = frozenset({list, dict, set, tuple})
_ATOMS: Final = frozenset({str, bytes, bytearray, memoryview, int, float, bool, type(None)})
