"""Bugs of transactions: their coordinator, their markers, the logs that hold them, and their readers."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from campaigns.sim.planted.planting import Plant, replaced, together
from odradek.base.execution import Steps
from odradek.coordinator.runtime.partition_log import PartitionLog
from odradek.coordinator.transactions import ending, initializing, transaction_coordinator
from odradek.coordinator.transactions.marker_delivery import MarkerDelivery
from odradek.coordinator.transactions.state_store import StatePartition
from odradek.coordinator.transactions.transaction import Producer, Transaction, TransactionRecord
from odradek.coordinator.transactions.transaction_coordinator import TransactionCoordinator
from odradek.server.node.coordinators.transaction_admission import TransactionAdmission


def _first_partition_only(original: Any) -> Any:
    def apply(self: Transaction, record: TransactionRecord) -> None:
        original(self, record)
        self.unmarked = dict(list(self.unmarked.items())[:1])

    return apply


def _prepared_left_alone(original: Any) -> Any:
    def load(partition: StatePartition, reader: Any) -> Steps[None]:
        log = partition.log
        partition.log = _Deaf(log)  # type: ignore[assignment]
        try:
            yield from original(partition, reader)
        finally:
            partition.log = log

    return load


class _Deaf:
    """A partition's log that carries nothing out."""

    def __init__(self, log: Any) -> None:
        self._log = log

    def carry_out(self, effect: object) -> None:
        """Forgets it."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)


def _same_epoch(original: Any) -> Any:
    def fence(record: TransactionRecord, *given: Any, **named: Any) -> TransactionRecord:
        fenced: TransactionRecord = original(record, *given, **named)
        return replace(fenced, producer_epoch=record.producer_epoch)

    return fence


def _same_epoch_for_the_next(original: Any) -> Any:
    def initialize(transaction: Transaction, *given: Any, **named: Any) -> Any:
        decided, before = original(transaction, *given, **named), transaction.current.producer_epoch
        if isinstance(decided, TransactionRecord) and not decided.is_prepared and before >= 0:
            return replace(decided, producer_epoch=before)
        return decided

    return initialize


def _any_earlier_owner(original: Any) -> Any:
    def event(record: TransactionRecord, producer: Producer, committed: bool) -> Any:
        is_earlier = producer.producer_id == record.producer_id and producer.epoch < record.producer_epoch
        return original(record, record.producer if is_earlier else producer, committed)

    return event


def _partitions_not_added(original: Any) -> Any:
    def admit(self: TransactionAdmission, *given: Any) -> Any:
        return {}

    return admit


def _answered_at_append(original: Any) -> Any:
    def answer(self: PartitionLog[Any], held: Any) -> None:
        self._trampoline.answer(held)

    return answer


def _no_second_attempt(original: Any) -> Any:
    return lambda self, attempt: None


TRANSACTIONS: Final[Mapping[str, Plant]] = {
    "marker to the first partition only": replaced(Transaction, "apply", _first_partition_only),
    "no marker again where one was refused": replaced(MarkerDelivery, "_retry", _no_second_attempt),
    "PrepareCommit forgotten at a failover": replaced(transaction_coordinator, "load", _prepared_left_alone),
    "a commit answered before it is replicated": replaced(PartitionLog, "answer", _answered_at_append),
    "epoch not bumped by a timeout or a fencing": together(
        replaced(ending, "fence", _same_epoch), replaced(initializing, "fence", _same_epoch)
    ),
    "epoch not bumped for the next owner": replaced(initializing, "initialize", _same_epoch_for_the_next),
    "a fenced producer ends a transaction": replaced(ending, "_classic_event", _any_earlier_owner),
    "transactions kept after the leadership": replaced(
        TransactionCoordinator, "resign", lambda original: lambda self, index: None
    ),
    "timeouts abort nothing": replaced(
        TransactionCoordinator, "_abort_if_late", lambda original: lambda self, partition, transaction: False
    ),
    "partitions not added by a produce": replaced(TransactionAdmission, "admit", _partitions_not_added),
}
"""By what a person would call them."""
