"""What a fetcher counts and measures of its fetches."""

from odradek.client.sampled import Sampled, Sampling, average_and_maximum


class FetchFigures:
    """Grows while the fetcher works. Sizes are those of batches as they came, compressed or not."""

    def __init__(self, sampling: Sampling) -> None:
        self.fetches = 0
        """How many fetch requests were made."""
        self.records = 0
        """How many records were taken from the fetcher."""
        # How many of them `note_taken` has seen.
        self._noted = 0
        self.size_bytes = 0
        """How many bytes of batches came."""
        self._made = Sampled(sampling)
        self._latencies = Sampled(sampling)
        self._throttled = Sampled(sampling)
        self._sizes = Sampled(sampling)
        self._taken = Sampled(sampling)

    def note_request(self, now_ms: int) -> None:
        """A fetch request is sent."""
        self.fetches += 1
        self._made.add(1, now_ms)

    def note_answer(self, size_bytes: int, latency_ms: int, throttled_ms: int, now_ms: int) -> None:
        """It was answered, with so many bytes of batches; the broker held it back because of a quota."""
        self.size_bytes += size_bytes
        self._latencies.add(latency_ms, now_ms)
        self._throttled.add(max(0, throttled_ms), now_ms)
        self._sizes.add(size_bytes, now_ms)

    def note_taken(self, now_ms: int) -> None:
        """Called soon after records were taken, as the next fetches are due then (C2)."""
        if self.records > self._noted:
            self._taken.add(self.records - self._noted, now_ms)
            self._noted = self.records

    def figures(self, now_ms: int) -> dict[str, float]:
        """By Kafka's names (`client.metrics`)."""
        return {
            "fetch-total": self.fetches,
            "fetch-rate": self._made.count_per_second(now_ms),
            "bytes-consumed-total": self.size_bytes,
            "bytes-consumed-rate": self._sizes.total_per_second(now_ms),
            "records-consumed-total": self.records,
            "records-consumed-rate": self._taken.total_per_second(now_ms),
            **average_and_maximum("fetch-latency", self._latencies, now_ms),
            **average_and_maximum("fetch-throttle-time", self._throttled, now_ms),
            **average_and_maximum("fetch-size", self._sizes, now_ms),
        }
