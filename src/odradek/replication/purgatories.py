"""The purgatories of replication, and the only functions that wake what waits on a partition (D9, R14).

Invariant: what waits is woken after a change is complete, never during one. An append wakes its readers in a
later turn, once for all appends until then: the producer is answered first, and no reader's next request
comes while the append is still on the stack.

    append to p1, append to p1, append to p2     p1 and p2 are to be woken
    the next turn                                p1 is woken, then p2
"""

from typing import Final

from odradek.base.execution import Defer
from odradek.base.ids import TopicPartition
from odradek.base.settings import BrokerSettings
from odradek.timer import Purgatory, Timer

WOKEN_PER_TURN: Final = 16
"""Partitions whose readers are woken in one turn."""


class Purgatories:
    """Produce, fetch and delete-records, by partition."""

    __slots__ = (
        "_appended",
        "_defer",
        "_deleted",
        "_fetched",
        "_has_asked_for_turn",
        "_produced",
        "delete_records",
        "fetch",
        "produce",
    )

    def __init__(self, timer: Timer, settings: BrokerSettings, defer: Defer) -> None:
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
        # Under each append it is asked whether anybody waits: without a call.
        self._fetched = self.fetch.watched_keys
        self._produced = self.produce.watched_keys
        self._deleted = self.delete_records.watched_keys
        self._defer = defer
        self._appended: dict[TopicPartition, bool] = {}
        """What a later turn is to wake, in the order of the appends, and whether HW rose."""
        self._has_asked_for_turn = False
        """Whether that turn is still to come; always where something is to be woken."""

    def all(self) -> tuple[Purgatory[TopicPartition], ...]:
        """For metrics and listings."""
        return (self.produce, self.fetch, self.delete_records)

    def wake(self, topic_partition: TopicPartition) -> None:
        """R14: HW or the low watermark rose, or the partition changed its role or is gone."""
        self.produce.check_and_complete(topic_partition)
        self.fetch.check_and_complete(topic_partition)
        self.delete_records.check_and_complete(topic_partition)

    def wake_after_append(self, topic_partition: TopicPartition, *, high_watermark_rose: bool) -> None:
        """R7: soon, wake all that waits if HW rose; else those fetches alone that read to the log end.

        What begins to wait after this looks for itself.
        """
        appended = self._appended
        if appended and topic_partition in appended:
            appended[topic_partition] |= high_watermark_rose
        elif topic_partition in self._fetched or (
            high_watermark_rose and (topic_partition in self._produced or topic_partition in self._deleted)
        ):
            appended[topic_partition] = high_watermark_rose
            self._ask_for_turn()

    def _ask_for_turn(self) -> None:
        if self._appended and not self._has_asked_for_turn:
            self._has_asked_for_turn = True
            self._defer(self._wake_appended)

    def _wake_appended(self) -> None:
        for topic_partition in list(self._appended)[:WOKEN_PER_TURN]:
            if self._appended.pop(topic_partition):
                self.wake(topic_partition)
            else:
                self.fetch.check_and_complete(topic_partition)
        self._has_asked_for_turn = False
        self._ask_for_turn()
