"""Seeds of campaigns: a range of them as a text, and runs of them side by side."""

import argparse
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import Any, TypeVar

R = TypeVar("R")


def seeds_in(text: str) -> range:
    """The seeds of a text such as 0-99 or 7. Raises ArgumentTypeError."""
    first, _, last = text.partition("-")
    try:
        return range(int(first), int(last or first) + 1)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no range of seeds such as 0-99") from None


def side_by_side(jobs: int, run: Callable[..., R], *arguments: Iterable[Any]) -> Iterator[R]:
    """The results of `run`, in the order of its arguments, from so many processes; one is this process."""
    if jobs == 1:
        yield from map(run, *arguments)
        return
    with ProcessPoolExecutor(jobs) as executor:
        yield from executor.map(run, *arguments)
