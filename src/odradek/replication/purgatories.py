"""The purgatories of replication, and the only function that wakes what waits on a partition (D9, R14).

Invariant: `wake` is called after a change is complete, never during one.
"""

from collections.abc import Callable

from odradek.base.ids import TopicPartition
from odradek.base.settings import BrokerSettings
from odradek.timer import Purgatory, Timer


class Purgatories:
    """Produce, fetch and delete-records, by partition."""

    __slots__ = ("delete_records", "fetch", "produce")

    def __init__(
        self, timer: Timer, settings: BrokerSettings, defer: Callable[[Callable[[], None]], None] | None
    ) -> None:
        self.produce: Purgatory[TopicPartition] = Purgatory(
            "Produce", timer, purge_interval=settings.producer_purgatory_purge_interval_requests, defer=defer
        )
        self.fetch: Purgatory[TopicPartition] = Purgatory(
            "Fetch", timer, purge_interval=settings.fetch_purgatory_purge_interval_requests, defer=defer
        )
        self.delete_records: Purgatory[TopicPartition] = Purgatory(
            "DeleteRecords",
            timer,
            purge_interval=settings.delete_records_purgatory_purge_interval_requests,
            defer=defer,
        )

    def all(self) -> tuple[Purgatory[TopicPartition], ...]:
        """For metrics and listings."""
        return (self.produce, self.fetch, self.delete_records)

    def wake(self, topic_partition: TopicPartition) -> None:
        """R14: HW or the low watermark rose, or the partition changed its role or is gone."""
        self.produce.check_and_complete(topic_partition)
        self.fetch.check_and_complete(topic_partition)
        self.delete_records.check_and_complete(topic_partition)
