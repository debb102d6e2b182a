"""How long requests took, API by API, as histograms of a few buckets.

    total     from when a request could be served until its answer was given to the connection
    queue     of that: until its turn came, because other connections had theirs
    remote    of that: from the end of its own first turn until the answer: acks, data, a rebalance, the next
              slices of long work, another thread (Kafka's RemoteTimeMs, "purgatory")
    send      after that: until the client had taken all of the answer but what the connection's write buffer
              holds. An answer of records that lie in files is read and sent as its client takes it.

Most requests are answered within their turn, which they had at once. One of those that took less than the
first bound costs two additions: it is counted as `quick`, and put into the first bucket of each histogram
when they are read. An answer for which the write buffer has room is not timed at all.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable
from typing import Final

BOUNDS_MS: Final = (0.25, 1, 5, 25, 100, 500, 2_500, 10_000)
BOUNDS_NS: Final = tuple(int(bound * 1_000_000) for bound in BOUNDS_MS)
QUICK_NS: Final = BOUNDS_NS[0]
PHASES: Final = ("total", "queue", "remote", "send")


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

    __slots__ = ("queue", "quick", "quick_ns", "remote", "send", "sending", "total")

    def __init__(self) -> None:
        self.quick = 0
        """Requests that were answered in their turn, within QUICK_NS, and had not waited for it."""
        self.quick_ns = 0
        """What these took together."""
        # The others; what was zero is in none of the last three.
        self.total = Histogram()
        self.queue = Histogram()
        self.remote = Histogram()
        self.send = Histogram()
        self.sending = 0
        """How many answers wait for their clients now; `send` will have them."""

    def note(self, queue_ns: int, turn_ns: int, remote_ns: int) -> None:
        """Count a request that was not quick."""
        self.total.note(queue_ns + turn_ns + remote_ns)
        if queue_ns:
            self.queue.note(queue_ns)
        if remote_ns:
            self.remote.note(remote_ns)

    def phase(self, name: str) -> tuple[list[int], float]:
        """See `Histogram.cumulative`.

        Every phase has counted as many requests as `total`, `send` without those whose answers still wait.
        """
        if name == "total":
            return self.total.cumulative(self.quick, self.quick_ns)
        histogram: Histogram = getattr(self, name)
        waiting = self.sending if name == "send" else 0
        return histogram.cumulative(self.quick + sum(self.total.counts) - sum(histogram.counts) - waiting)


class Latencies(defaultdict[int, ApiLatencies]):
    """By API key."""

    def __init__(self) -> None:
        super().__init__(ApiLatencies)


class Sends:
    """The answers that wait for their clients, and since when."""

    __slots__ = ("_latencies", "_now_ns", "_waiting")

    def __init__(self, latencies: Latencies, now_ns: Callable[[], int]) -> None:
        self._latencies = latencies
        self._now_ns = now_ns
        # By connection: the API of its last request, and when its answer began to wait.
        self._waiting: dict[object, tuple[int, int]] = {}

    def began(self, connection: object, api_key: int) -> None:
        """The answer to the connection's last request waits for the client."""
        self._waiting[connection] = api_key, self._now_ns()
        self._latencies[api_key].sending += 1

    def ended(self, connection: object) -> None:
        """It was taken, or nobody is left to take it."""
        api_key, began_ns = self._waiting.pop(connection)
        latencies = self._latencies[api_key]
        latencies.sending -= 1
        latencies.send.note(self._now_ns() - began_ns)
