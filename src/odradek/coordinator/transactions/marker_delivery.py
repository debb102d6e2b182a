"""Markers: from the decision to end a transaction to the record that says it has ended.

Law: a prepared transaction's markers are written until every partition has its own, whatever comes between;
a partition that cannot take it now is asked again. Writing one twice does no harm: the second finds no
transaction open.

    PrepareCommit, partitions t-0 t-1     markers to both; t-0 takes it, t-1 answers NOT_ENOUGH_REPLICAS
    100 ms later                          marker to t-1, which takes it
                                          CompleteCommit is written
    the coordinator crashed in between    loading finds PrepareCommit: markers to both again, and so on
"""

from collections.abc import Callable, Mapping
from typing import Final

from odradek.base.clock import Clock
from odradek.base.error_codes import ErrorCode
from odradek.base.ids import TopicPartition
from odradek.coordinator.transactions.ending import complete
from odradek.coordinator.transactions.ports import Marker, MarkerWriter
from odradek.coordinator.transactions.state import TransactionState
from odradek.coordinator.transactions.state_store import StatePartition, StateStore
from odradek.coordinator.transactions.transaction import Transaction
from odradek.timer import Timer, TimerTask

RETRY_BACKOFF_MS: Final = 100

_SUPERSEDED: Final = frozenset({ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED})
"""A newer coordinator has taken over; it also ends the transaction."""


class MarkerDelivery:
    """Ends what is prepared."""

    def __init__(self, store: StateStore, markers: MarkerWriter, clock: Clock, timer: Timer) -> None:
        self._store = store
        self._markers = markers
        self._clock = clock
        self._timer = timer

    def deliver(self, partition: StatePartition, transaction: Transaction) -> None:
        """Write the markers of a prepared transaction, then its Complete record."""
        record = transaction.current
        transaction.pending = complete(record, now_ms=self._clock.wall_ms())
        transaction.unmarked = dict.fromkeys(sorted(record.partitions), ErrorCode.NONE)
        self._write_markers(partition, transaction)

    def _write_markers(self, partition: StatePartition, transaction: Transaction) -> None:
        if not partition.is_led:
            return
        unmarked = transaction.unmarked
        for gone in [one for one in unmarked if self._markers.is_gone(one)]:
            del unmarked[gone]
        if not unmarked:
            self._complete(partition, transaction)
            return
        record = transaction.current
        marker = Marker(
            record.producer, record.state is TransactionState.PREPARE_COMMIT, partition.coordinator_epoch
        )

        def written(outcome: Mapping[TopicPartition, ErrorCode]) -> None:
            self._on_markers_written(partition, transaction, outcome)

        self._markers.write_markers(marker, list(unmarked), written)

    def _on_markers_written(
        self,
        partition: StatePartition,
        transaction: Transaction,
        outcome: Mapping[TopicPartition, ErrorCode],
    ) -> None:
        if not partition.is_led:
            return
        unmarked = transaction.unmarked
        for topic_partition, error in outcome.items():
            if error is ErrorCode.NONE:
                unmarked.pop(topic_partition, None)
            else:
                unmarked[topic_partition] = error
        if not unmarked:
            self._complete(partition, transaction)
        elif _SUPERSEDED.isdisjoint(unmarked.values()):
            self._retry(lambda: self._write_markers(partition, transaction))

    def _complete(self, partition: StatePartition, transaction: Transaction) -> None:
        completed = transaction.pending
        assert completed is not None, f"{transaction.transactional_id} has no end to write"

        def written(error: ErrorCode) -> None:
            if error is not ErrorCode.NONE and partition.is_led:
                transaction.pending = completed
                self._retry(lambda: self._complete(partition, transaction))

        if partition.is_led:
            self._store.write(partition, transaction, completed, written)

    def _retry(self, attempt: Callable[[], None]) -> None:
        self._timer.add(_Retry(self._clock.monotonic_ms() + RETRY_BACKOFF_MS, attempt))


class _Retry(TimerTask):
    """Another attempt."""

    __slots__ = ("_attempt",)

    def __init__(self, deadline_ms: int, attempt: Callable[[], None]) -> None:
        super().__init__(deadline_ms)
        self._attempt = attempt

    def run(self) -> None:
        """See `TimerTask.run`."""
        self._attempt()
