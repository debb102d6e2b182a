"""The purgatories of replication, and the only functions that wake operations of a partition (D9, R14).

Invariant: operations are woken after a change is complete, in a later turn, and once for all changes until
then. So the request that made the change is answered first, and no other request runs while it is still on
the stack.

    append to p1, append to p1, append to p2     p1 and p2 are marked as changed
    the next turn                                operations of p1 are woken, then those of p2

Fetch sessions receive the next change of a partition at once, whether or not a fetch of theirs waits (F10):
their next fetch looks only at partitions that have changed.
"""

from itertools import islice
from typing import Final

from odradek.base.execution import Defer, RunSteps
from odradek.base.ids import TopicPartition
from odradek.base.settings import BrokerSettings
from odradek.timer import DelayedOperation, Purgatory, Timer

WOKEN_PER_TURN: Final = 16
"""The number of partitions whose operations are woken in one turn."""
WOKEN_AT_ONCE: Final = 8
"""If more operations than this wait for one partition in one purgatory, they are woken in steps."""


class Purgatories:
    """Produce, fetch and delete-records, by partition."""

    __slots__ = (
        "_changed",
        "_defer",
        "_deleted",
        "_fetched",
        "_has_asked_for_turn",
        "_produced",
        "_run_steps",
        "_sessions",
        "delete_records",
        "fetch",
        "produce",
    )

    def __init__(self, timer: Timer, settings: BrokerSettings, defer: Defer, run_steps: RunSteps) -> None:
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
        # Each append checks whether any operation waits, without a call.
        self._fetched = self.fetch.watched_keys
        self._produced = self.produce.watched_keys
        self._deleted = self.delete_records.watched_keys
        self._sessions = self.fetch.standing
        """The partitions whose next events fetch sessions are to know."""
        self._defer = defer
        self._run_steps = run_steps
        self._changed: dict[TopicPartition, bool] = {}
        """Partitions to wake in a later turn, in the order of the changes; False: only their fetches."""
        self._has_asked_for_turn = False
        """Whether that turn was requested and has not run; always True while `_changed` is not empty."""

    def all(self) -> tuple[Purgatory[TopicPartition], ...]:
        """For metrics and listings."""
        return (self.produce, self.fetch, self.delete_records)

    def wake_soon(self, topic_partition: TopicPartition, *, readers_only: bool = False) -> None:
        """R14: HW or the low watermark rose, or the partition changed its role or is gone.

        With `readers_only` HW did not move (R7): only fetches are woken, as some read to LEO, or wait for
        records that retention has dropped. They are woken in a later turn; an operation that starts to wait
        after this call checks its condition.
        """
        changed = self._changed
        in_sessions = topic_partition in self._sessions and self.fetch.note_event(topic_partition)
        if changed and topic_partition in changed:
            changed[topic_partition] |= not readers_only
        elif (
            in_sessions
            or topic_partition in self._fetched
            or (not readers_only and (topic_partition in self._produced or topic_partition in self._deleted))
        ):
            changed[topic_partition] = not readers_only
            self._ask_for_turn()

    def note_change(self, topic_partition: TopicPartition) -> None:
        """Tell fetch sessions of a change that completes no operation: their next answers hold it."""
        for entry in self._sessions.get(topic_partition, ()):
            entry.on_change()

    def complete_soon(self, operation: DelayedOperation) -> None:
        """Complete an operation in a later turn, whatever its condition."""

        def complete() -> None:
            operation.force_complete()

        self._defer(complete)

    def _ask_for_turn(self) -> None:
        if self._changed and not self._has_asked_for_turn:
            self._has_asked_for_turn = True
            self._defer(self._take_turn)

    def _take_turn(self) -> None:
        self._has_asked_for_turn = False
        self.wake_changed()
        self._ask_for_turn()

    def wake_changed(self) -> None:
        """Start now with what a later turn would wake. Called by a caller that has sent its answer.

        It saves a consumer's round trip one turn of the loop.
        """
        if self._changed:
            for topic_partition in list(islice(self._changed, WOKEN_PER_TURN)):
                wakes_all = self._changed.pop(topic_partition, None)
                if wakes_all is not None:  # else a woken operation has called this method again
                    self._wake(topic_partition, readers_only=not wakes_all)

    def _wake(self, topic_partition: TopicPartition, *, readers_only: bool) -> None:
        if not readers_only and topic_partition in self._produced:
            self._check(self.produce, topic_partition)
        if topic_partition in self._fetched or topic_partition in self._sessions:
            self._check(self.fetch, topic_partition)
        if not readers_only and topic_partition in self._deleted:
            self._check(self.delete_records, topic_partition)

    def _check(self, purgatory: Purgatory[TopicPartition], topic_partition: TopicPartition) -> None:
        if purgatory.count_of(topic_partition) > WOKEN_AT_ONCE:
            self._run_steps(purgatory.check_in_steps(topic_partition))
        else:
            purgatory.check_and_complete(topic_partition)
