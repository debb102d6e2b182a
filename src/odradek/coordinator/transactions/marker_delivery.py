"""Markers: from the decision to end a transaction to the record that it has ended.

After the decision, markers are sent until every partition has one; a partition that refuses it now gets it
again later, from whoever leads it by then. Each leader answers on its own, and none waits for another.
Writing a marker twice does no harm: the second one finds no open transaction. While a marker is on its way,
it is not sent again, so that no late one meets the producer's next transaction. The first marker is sent when
every in-sync replica has the decision.

    PrepareCommit, partitions t-0 t-1     markers to the leaders of both; t-0 has it, the leader of t-1 dies
    100 ms later                          marker to the next leader of t-1, which writes it
                                          CompleteCommit is written
    the coordinator crashed in between    loading finds PrepareCommit: markers to both again, and so on
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from odradek.base.clock import Clock
from odradek.base.error_codes import ErrorCode
from odradek.base.ids import TopicPartition
from odradek.coordinator.runtime.trampoline import Trampoline
from odradek.coordinator.transactions.ending import complete
from odradek.coordinator.transactions.ports import Marker, MarkerWriter
from odradek.coordinator.transactions.state import TransactionState
from odradek.coordinator.transactions.state_store import StatePartition, WriteMarkers
from odradek.coordinator.transactions.transaction import Transaction
from odradek.timer import TimedCall, Timer

RETRY_BACKOFF_MS: Final = 100

_SUPERSEDED: Final = frozenset({ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED})
"""A newer coordinator has taken over; it also ends the transaction."""


class MarkerDelivery:
    """Ends what is prepared."""

    def __init__(self, markers: MarkerWriter, clock: Clock, timer: Timer, trampoline: Trampoline) -> None:
        self._markers = markers
        self._clock = clock
        self._timer = timer
        self._trampoline = trampoline

    def begin(self, effect: WriteMarkers) -> None:
        """Write the markers of a prepared transaction, then its Complete record."""
        transaction = effect.transaction
        record = transaction.current
        assert record.is_prepared, f"{transaction.transactional_id} is {record.state.title}"
        if transaction.unmarked:
            self._write_markers(effect.partition, transaction, list(transaction.unmarked))
        else:
            self._complete(effect.partition, transaction)

    def _write_markers(
        self, partition: StatePartition, transaction: Transaction, targets: Sequence[TopicPartition]
    ) -> None:
        record = transaction.current
        marker = Marker(
            record.producer,
            record.state is TransactionState.PREPARE_COMMIT,
            partition.coordinator_epoch,
            record.version,
        )

        def is_wanted() -> bool:
            return partition.is_led and transaction.current is record

        def on_written(outcome: Mapping[TopicPartition, ErrorCode]) -> None:
            if is_wanted():
                self._on_written(partition, transaction, outcome)

        if is_wanted():
            on_written(
                self._markers.write_markers(
                    marker,
                    targets,
                    is_wanted,
                    lambda outcome: self._trampoline.run(lambda: on_written(outcome)),
                )
            )

    def _on_written(
        self,
        partition: StatePartition,
        transaction: Transaction,
        outcome: Mapping[TopicPartition, ErrorCode],
    ) -> None:
        """Note the outcome of some partitions; those that have no marker yet get it again."""
        unmarked, record = transaction.unmarked, transaction.current
        again: list[TopicPartition] = []
        for topic_partition, error in outcome.items():
            if error is ErrorCode.NONE or self._markers.is_gone(topic_partition):
                unmarked.pop(topic_partition, None)
            elif topic_partition in unmarked:
                unmarked[topic_partition] = error
                again.append(topic_partition)
        if not unmarked:
            self._complete(partition, transaction)
        elif again and _SUPERSEDED.isdisjoint(outcome.values()):

            def retry() -> None:
                if transaction.current is record and partition.is_led:
                    self._write_markers(partition, transaction, again)

            self._retry(retry)

    def _complete(self, partition: StatePartition, transaction: Transaction) -> None:
        if not partition.is_led or not transaction.current.is_prepared:
            return
        completed = complete(transaction.current, now_ms=self._clock.wall_ms())
        if partition.store(transaction.transactional_id, completed) is not ErrorCode.NONE:
            self._retry(lambda: self._complete(partition, transaction))

    def _retry(self, attempt: Callable[[], None]) -> None:
        deadline_ms = self._clock.monotonic_ms() + RETRY_BACKOFF_MS
        self._timer.add(TimedCall(deadline_ms, lambda: self._trampoline.run(attempt)))
