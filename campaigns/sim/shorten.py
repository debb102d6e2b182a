"""Makes a failing history shorter: finds few of its mishaps that suffice for a violation by the same checker.

A trial is run again without some of its mishaps. First halves are left out, then quarters, and so on, as long
as the violation stays; at most RUNS_MAX trials are run.
"""

from collections.abc import Callable, Collection, Sequence
from typing import Final

RUNS_MAX: Final = 40


def shorten(numbers: Sequence[int], fails: Callable[[Collection[int]], bool]) -> list[int]:
    """Returns the numbers of mishaps that are left; `fails` runs a trial with only these."""
    kept = list(numbers)
    runs = 0
    size = max(1, len(kept) // 2)
    while kept:
        begin, is_shorter = 0, False
        while begin < len(kept) and runs < RUNS_MAX:
            tried = kept[:begin] + kept[begin + size :]
            runs += 1
            if fails(tried):
                kept, is_shorter = tried, True
            else:
                begin += size
        if runs >= RUNS_MAX or (size == 1 and not is_shorter):
            break
        size = max(1, size // 2)
    return kept
