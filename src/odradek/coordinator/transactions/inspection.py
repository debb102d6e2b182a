"""Transactional ids as lists, as descriptions, and in words for a person.

Nothing here changes state. DescribeTransactions, the CLI and `/describe/transactions` show the same text,
such as "open for 12 s".
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import Steps, stepwise
from odradek.base.ids import ProducerId
from odradek.base.ordering import in_order
from odradek.coordinator.transactions.state import TransactionState
from odradek.coordinator.transactions.state_store import StatePartition, StateStore
from odradek.coordinator.transactions.transaction import Transaction


@dataclass(frozen=True, slots=True)
class TransactionFilter:
    """What ListTransactions asks for; None asks for all."""

    states: Collection[TransactionState] | None = None
    producer_ids: Collection[ProducerId] | None = None
    open_for_more_than_ms: int | None = None
    """Counted from the start of the transaction, of the last one where none is open."""

    def admits(self, transaction: Transaction, now_ms: int) -> bool:
        """Whether the transactional id is asked for."""
        record = transaction.current
        return (
            (self.states is None or record.state in self.states)
            and (self.producer_ids is None or record.producer_id in self.producer_ids)
            and (
                self.open_for_more_than_ms is None or now_ms - record.started_ms > self.open_for_more_than_ms
            )
        )


def list_transactions(
    store: StateStore, wanted: TransactionFilter, now_ms: int
) -> Steps[list[Transaction] | ErrorCode]:
    """Those that the filter admits; COORDINATOR_LOAD_IN_PROGRESS while not all are known."""
    if not all(partition.is_loaded for partition in store.led()):
        return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS

    def admitted(entry: tuple[StatePartition, Transaction]) -> Transaction | None:
        return entry[1] if wanted.admits(entry[1], now_ms) else None

    found = yield from stepwise(store.transactions(), admitted)
    return [transaction for transaction in found if transaction is not None]


def find_transaction(store: StateStore, transactional_id: str) -> Transaction | ErrorCode:
    """One of them; INVALID_REQUEST, TRANSACTIONAL_ID_NOT_FOUND, or what `StateStore.find` says."""
    if not transactional_id:
        return ErrorCode.INVALID_REQUEST
    partition = store.find(transactional_id)
    if isinstance(partition, ErrorCode):
        return partition
    return partition.transactions.get(transactional_id, ErrorCode.TRANSACTIONAL_ID_NOT_FOUND)


def describe_transactions(store: StateStore, now_ms: int) -> Iterator[dict[str, Any]]:
    """Every transactional id known here, by name."""
    known = [transaction for _, transaction in store.transactions()]
    for transaction in in_order(known, lambda one: one.transactional_id):
        yield _describe(transaction, now_ms)


def waits_for(transaction: Transaction, now_ms: int) -> str:
    """What has to happen next, in words."""
    return "; ".join(_words(transaction, now_ms))


def _describe(transaction: Transaction, now_ms: int) -> dict[str, Any]:
    record = transaction.current
    return {
        "transactional_id": transaction.transactional_id,
        "state": record.state.title,
        "producer_id": record.producer_id,
        "producer_epoch": record.producer_epoch,
        "version": record.version.name.lower(),
        "timeout_ms": record.timeout_ms,
        "partitions": [str(partition) for partition in sorted(record.partitions)],
        "waits_for": waits_for(transaction, now_ms),
    }


def _words(transaction: Transaction, now_ms: int) -> Iterator[str]:
    record = transaction.current
    match record.state:
        case TransactionState.ONGOING:
            age_ms = now_ms - record.started_ms
            yield f"open for {_seconds(age_ms)}"
            left_ms = record.timeout_ms - age_ms
            yield f"aborted in {_seconds(left_ms)} unless it ends" if left_ms >= 0 else "about to be aborted"
        case TransactionState.PREPARE_COMMIT | TransactionState.PREPARE_ABORT:
            end = "commit" if record.state is TransactionState.PREPARE_COMMIT else "abort"
            yield f"{end} decided {_seconds(now_ms - record.updated_ms)} ago"
            marked = len(record.partitions) - len(transaction.unmarked)
            yield f"{marked} of {len(record.partitions)} partitions have their marker"
            for partition, error in transaction.unmarked.items():
                yield f"{partition} has none" + (f": {error.name}" if error else "")
        case TransactionState.COMPLETE_COMMIT | TransactionState.COMPLETE_ABORT:
            end = "committed" if record.state is TransactionState.COMPLETE_COMMIT else "aborted"
            yield f"{end} {_seconds(now_ms - record.updated_ms)} ago"
        case _:
            yield "no transaction yet"


def _seconds(duration_ms: int) -> str:
    return f"{duration_ms // 1000} s" if duration_ms >= 1000 else f"{duration_ms} ms"
