"""Long work as generators of steps: what they are, small ways to write them, and their one exhauster.

A step ends at a `yield`. It takes well below a millisecond, and leaves the state whole: what is served
between two steps may read all state. It may also change it: work checks again what it relies on.

    yield                    there is more to do: others may be served
    body = yield question    what the work needs: a call on another thread, a store operation
    return value             the work is done

Work calls other work by `yield from`. `slices` decides how many steps run in a turn of the loop; `exhaust`
runs all of them.
"""

from collections import Counter
from collections.abc import Callable, Generator, Iterable
from heapq import merge
from itertools import islice
from typing import Any, Final, TypeAlias, TypeVar

Q = TypeVar("Q")
A = TypeVar("A")
T = TypeVar("T")
R = TypeVar("R")
G = TypeVar("G")
S = TypeVar("S")

Asking: TypeAlias = Generator[Q | None, A, T]
"""Steps that return a T. One that ends in a question, a Q, is sent the answer, an A."""

Steps: TypeAlias = Generator[None, None, T]
"""Steps that ask nothing, and return a T."""

RunSteps: TypeAlias = Callable[[Steps[None]], None]
"""Runs steps in slices of the loop, the first of them at once. What they raise is logged."""

ITEMS_PER_STEP: Final = 16
"""Of up to ten microseconds each."""
COUNTED_PER_STEP: Final = 200
"""Of up to a microsecond each."""
LISTED_PER_STEP: Final = 1_000
"""Of up to a tenth of a microsecond each."""


def stepwise(items: Iterable[T], make: Callable[[T], R], per_step: int = ITEMS_PER_STEP) -> Steps[list[R]]:
    """Make something of each item; returns them in order. A step ends after `per_step` items.

    made = yield from stepwise(request.topics, look_up)    [look_up(topic) for topic in request.topics]

    Few items make no step at all.
    """
    made: list[R] = []
    remaining = iter(items)
    while few := [make(item) for item in islice(remaining, per_step)]:
        made += few
        if len(few) == per_step:
            yield
    return made


def stepwise_in(
    groups: Iterable[G],
    members: Callable[[G], Iterable[T]],
    make: Callable[[T], R],
    gather: Callable[[G, list[R]], S],
    per_step: int = COUNTED_PER_STEP,
) -> Steps[list[S]]:
    """Make something of each member of each group, and of each group with what was made of its members.

    rows = yield from stepwise_in(request.topics, partitions_of, row, topic_row)    a row for each topic

    A step ends after `per_step` groups and members; few of them make no step at all.
    """
    gathered: list[S] = []
    left = per_step
    for group in groups:
        made: list[R] = []
        remaining = iter(members(group))
        while few := [make(member) for member in islice(remaining, left)]:
            made += few
            left -= len(few)
            if left <= 0:
                left = per_step
                yield
        gathered.append(gather(group, made))
        left -= 1
        if left <= 0:
            left = per_step
            yield
    return gathered


def listed(items: Iterable[T], per_step: int = LISTED_PER_STEP) -> Steps[list[T]]:
    """`list(items)` where there are very many that cost next to nothing."""
    made: list[T] = []
    remaining = iter(items)
    while few := list(islice(remaining, per_step)):
        made += few
        if len(few) == per_step:
            yield
    return made


def ordered(
    items: Iterable[T], key: Callable[[T], Any] | None = None, per_step: int = LISTED_PER_STEP
) -> Steps[list[T]]:
    """`sorted(items, key=key)` where there may be very many: runs of them are sorted, then merged."""
    runs: list[list[T]] = []
    remaining = iter(items)
    while some := list(islice(remaining, per_step)):
        some.sort(key=key)  # type: ignore[arg-type,type-var,unused-ignore]
        runs.append(some)
        if len(some) == per_step:
            yield
    if len(runs) <= 1:
        return runs[0] if runs else []
    return (yield from listed(merge(*runs, key=key), max(1, per_step // 4)))  # type: ignore[arg-type]


def counted(keys: Iterable[T], per_step: int = COUNTED_PER_STEP) -> Steps[Counter[T]]:
    """`Counter(keys)` where there may be very many."""
    counts: Counter[T] = Counter()
    remaining = iter(keys)
    while some := list(islice(remaining, per_step)):
        counts.update(some)
        if len(some) == per_step:
            yield
    return counts


def begun(steps: Steps[None]) -> Steps[None] | None:
    """Run the first step now; returns the others, or None where that was all: few things need no slices."""
    for _ in steps:
        return steps
    return None


def exhaust(steps: Asking[Any, Any, T], answer: Callable[[Any], Any] | None = None) -> T:
    """Run all steps now, and return what they return; raises what they raise.

    `answer` is called with each question; what that raises is raised in the work.
    """
    given: Any = None
    error: Exception | None = None
    while True:
        try:
            question = steps.send(given) if error is None else steps.throw(error)
        except StopIteration as end:
            value: T = end.value
            return value
        given, error = None, None
        if question is not None:
            assert answer is not None, f"nobody answers {question!r}"
            try:
                given = answer(question)
            except Exception as raised:
                error = raised
