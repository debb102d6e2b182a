"""How long requests took, API by API, as histograms of a few buckets.

    total     from when a request could be served until its answer was given to the connection
    queue     of that: until its turn came, because other connections had theirs
    remote    of that: from the end of its own first turn until the answer: acks, data, a rebalance, the next
              slices of long work, another thread (Kafka's RemoteTimeMs, "purgatory")

What is given to the connection may still be on its way: an answer of records that lie in files is read and
sent as its client takes it.

Most requests are answered within their turn, which they had at once. One of those that took less than the
first bound costs two additions: it is counted as `quick`, and put into the first bucket of each histogram
when they are read.
"""

from bisect import bisect_left
from collections import defaultdict
from typing import Final

BOUNDS_MS: Final = (0.25, 1, 5, 25, 100, 500, 2_500, 10_000)
BOUNDS_NS: Final = tuple(int(bound * 1_000_000) for bound in BOUNDS_MS)
QUICK_NS: Final = BOUNDS_NS[0]
PHASES: Final = ("total", "queue", "remote")


class Histogram:
    """How many durations lay between two bounds, the lower excluded, and their sum."""

    __slots__ = ("counts", "sum_ns")

    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS_NS) + 1)
        """One count for each of BOUNDS_NS, and one for what is above all."""
        self.sum_ns = 0

    def note(self, elapsed_ns: int) -> None:
        """Count one duration."""
        self.counts[bisect_left(BOUNDS_NS, elapsed_ns)] += 1
        self.sum_ns += elapsed_ns

    def cumulative(self, at_once: int = 0, at_once_ns: int = 0) -> tuple[list[int], float]:
        """The counts up to each bound and of all, and the sum in seconds.

        `at_once` durations below the first bound, of `at_once_ns` together, are added.
        """
        counts, below = [], at_once
        for count in self.counts:
            below += count
            counts.append(below)
        return counts, (self.sum_ns + at_once_ns) / 1e9


class ApiLatencies:
    """The durations of one API's requests."""

    __slots__ = ("queue", "quick", "quick_ns", "remote", "total")

    def __init__(self) -> None:
        self.quick = 0
        """Requests that were answered in their turn, within QUICK_NS, and had not waited for it."""
        self.quick_ns = 0
        """What these took together."""
        # The others; what was zero is in none of the last two.
        self.total = Histogram()
        self.queue = Histogram()
        self.remote = Histogram()

    def note(self, queue_ns: int, turn_ns: int, remote_ns: int) -> None:
        """Count a request that was not quick."""
        self.total.note(queue_ns + turn_ns + remote_ns)
        if queue_ns:
            self.queue.note(queue_ns)
        if remote_ns:
            self.remote.note(remote_ns)

    def phase(self, name: str) -> tuple[list[int], float]:
        """See `Histogram.cumulative`; every phase has counted as many requests as `total`."""
        if name == "total":
            return self.total.cumulative(self.quick, self.quick_ns)
        histogram: Histogram = getattr(self, name)
        return histogram.cumulative(self.quick + sum(self.total.counts) - sum(histogram.counts))


class Latencies(defaultdict[int, ApiLatencies]):
    """By API key."""

    def __init__(self) -> None:
        super().__init__(ApiLatencies)
