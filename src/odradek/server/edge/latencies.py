"""How long requests took, API by API, as histograms of a few buckets.

    total     from the moment when a request could be served until its answer was given to the connection
    queue     the part of total until the request's turn, while other connections had theirs
    remote    the part of total from the end of its first turn until the answer: acks, data, a rebalance, the
              next slices of long work, another thread (Kafka's RemoteTimeMs, "purgatory")
    send      after total: until the client had read all of the answer but what the connection's write buffer
              holds. An answer with records in files is read from disk and sent as its client reads it.

Most requests get their turn at once and are answered within it. If such a request took less than the first
bound, it costs two additions: it is counted as `quick`, and added to the first bucket of each histogram when
the histograms are read. An answer that fits into the write buffer is not timed at all.
"""

from collections import defaultdict
from collections.abc import Callable
from typing import Final

from odradek.base.durations import BOUNDS_NS, Histogram

QUICK_NS: Final = BOUNDS_NS[0]
PHASES: Final = ("total", "queue", "remote", "send")


class ApiLatencies:
    """The durations of one API's requests."""

    __slots__ = ("queue", "quick", "quick_ns", "remote", "send", "sending", "total")

    def __init__(self) -> None:
        self.quick = 0
        """Requests that got their turn at once and were answered in it, within QUICK_NS."""
        self.quick_ns = 0
        """How long these requests took together."""
        # The other requests; a duration of zero is not counted in the last three.
        self.total = Histogram()
        self.queue = Histogram()
        self.remote = Histogram()
        self.send = Histogram()
        self.sending = 0
        """How many answers wait for their clients now; `send` does not count them yet."""

    def note(self, queue_ns: int, turn_ns: int, remote_ns: int) -> None:
        """Count a request that was not quick."""
        self.total.note(queue_ns + turn_ns + remote_ns)
        if queue_ns:
            self.queue.note(queue_ns)
        if remote_ns:
            self.remote.note(remote_ns)

    def phase(self, name: str) -> tuple[list[int], float]:
        """See `Histogram.cumulative`.

        Every phase counts as many requests as `total`; `send` does not count answers that still wait.
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
    """The answers that wait for their clients, with the time at which the wait began."""

    __slots__ = ("_latencies", "_now_ns", "_waiting")

    def __init__(self, latencies: Latencies, now_ns: Callable[[], int]) -> None:
        self._latencies = latencies
        self._now_ns = now_ns
        # By connection: the API of its last request, and when its answer began to wait.
        self._waiting: dict[object, tuple[int, int]] = {}

    def began(self, connection: object, api_key: int) -> None:
        """Called when the answer to the connection's last request begins to wait for the client."""
        self._waiting[connection] = api_key, self._now_ns()
        self._latencies[api_key].sending += 1

    def ended(self, connection: object) -> None:
        """Called when the client has read that answer, or has disconnected."""
        api_key, began_ns = self._waiting.pop(connection)
        latencies = self._latencies[api_key]
        latencies.sending -= 1
        latencies.send.note(self._now_ns() - began_ns)
