"""A histogram of durations, in a few buckets; /metrics shows them.

bounds in ms   0.25  1  5  25  100  500  2500  10000
note 3 ms              └─ counted here: above 1, up to 5
"""

from bisect import bisect_left
from typing import Final

BOUNDS_MS: Final = (0.25, 1, 5, 25, 100, 500, 2_500, 10_000)
BOUNDS_NS: Final = tuple(int(bound * 1_000_000) for bound in BOUNDS_MS)


class Histogram:
    """Counts durations between bounds, the lower bound excluded, and sums them."""

    __slots__ = ("counts", "sum_ns")

    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS_NS) + 1)
        """One count for each of BOUNDS_NS, and one for durations above all bounds."""
        self.sum_ns = 0

    def note(self, elapsed_ns: int) -> None:
        """Count one duration."""
        self.counts[bisect_left(BOUNDS_NS, elapsed_ns)] += 1
        self.sum_ns += elapsed_ns

    def cumulative(self, at_once: int = 0, at_once_ns: int = 0) -> tuple[list[int], float]:
        """Returns the count up to each bound, the count of all, and the sum in seconds.

        Adds `at_once` durations below the first bound, with the sum `at_once_ns`.
        """
        counts, below = [], at_once
        for count in self.counts:
            below += count
            counts.append(below)
        return counts, (self.sum_ns + at_once_ns) / 1e9
