"""What a producer counts and measures of its batches."""

from collections.abc import Iterable

from odradek.client.core.producer.batch import Batch
from odradek.client.sampled import Sampled, Sampling, average_and_maximum


class SendFigures:
    """Grows while the producer works."""

    def __init__(self, sampling: Sampling) -> None:
        # Records in requests, in requests after the first, and in batches that failed.
        self._sent = self._sent_again = self._failed = 0
        # Batches, and parts of batches, that were split.
        self._splits = 0
        self._records = Sampled(sampling)
        self._failures = Sampled(sampling)
        self._retries = Sampled(sampling)
        self._sizes = Sampled(sampling)
        self._queue_times = Sampled(sampling)

    def note_sent(self, batches: Iterable[Batch], now_ms: int) -> None:
        """These are the batches of one request."""
        records = 0
        for batch in batches:
            records += batch.record_count
            self._sizes.add(batch.size_bytes, now_ms)
            if batch.attempts <= 1:
                self._queue_times.add(max(0, now_ms - batch.opened_ms), now_ms)
        self._sent += records
        self._records.add(records, now_ms)

    def note_again(self, batch: Batch, now_ms: int) -> None:
        """The batch is to be sent again."""
        self._sent_again += batch.record_count
        self._retries.add(batch.record_count, now_ms)

    def note_failed(self, batch: Batch, now_ms: int) -> None:
        """The batch was given up."""
        self._failed += batch.record_count
        self._failures.add(batch.record_count, now_ms)

    def note_split(self) -> None:
        """A batch was too large, and was split."""
        self._splits += 1

    def figures(self, now_ms: int) -> dict[str, float]:
        """By Kafka's names (`client.metrics`)."""
        found: dict[str, float] = {
            "record-send-total": self._sent,
            "record-retry-total": self._sent_again,
            "record-error-total": self._failed,
            "batch-split-total": self._splits,
            "record-send-rate": self._records.total_per_second(now_ms),
            "record-retry-rate": self._retries.total_per_second(now_ms),
            "record-error-rate": self._failures.total_per_second(now_ms),
            **average_and_maximum("batch-size", self._sizes, now_ms),
            **average_and_maximum("record-queue-time", self._queue_times, now_ms),
        }
        per_request = self._records.average(now_ms)
        return found if per_request is None else {**found, "records-per-request-avg": per_request}
