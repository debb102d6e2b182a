"""The partitions of `__transaction_state` that this broker leads, with their transactional ids in memory.

Law: memory follows the log. A record becomes current when every in-sync replica has it, and never before; an
answer that arrives after the partition has gone to another broker changes nothing here.
"""

from collections.abc import Callable, Iterator
from typing import Final

from odradek.base.clock import Clock
from odradek.base.error_codes import ErrorCode
from odradek.base.ids import LeaderEpoch, TopicPartition
from odradek.base.topic_names import TRANSACTION_STATE_TOPIC
from odradek.coordinator.placement import partition_for
from odradek.coordinator.ports import PartitionWriter, Written
from odradek.coordinator.transactions.state import TransactionState
from odradek.coordinator.transactions.state_records import build_batch
from odradek.coordinator.transactions.transaction import Transaction, TransactionRecord

WRITE_TIMEOUT_MS: Final = 30_000

_COORDINATOR_ERRORS: Final = {
    ErrorCode.NONE: ErrorCode.NONE,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
}
"""What a producer hears of a write that failed; anything else is UNKNOWN_SERVER_ERROR."""


class StatePartition:
    """One partition of `__transaction_state`, for as long as this broker leads it in one epoch."""

    __slots__ = ("coordinator_epoch", "is_led", "is_loaded", "topic_partition", "transactions")

    def __init__(self, index: int, coordinator_epoch: LeaderEpoch) -> None:
        self.topic_partition = TopicPartition(TRANSACTION_STATE_TOPIC, index)
        self.coordinator_epoch = coordinator_epoch
        """The leader epoch; markers carry it."""
        self.is_led = True
        """False for ever once the leadership has ended, for whatever still holds on to this object."""
        self.is_loaded = False
        """Whether `transactions` holds all that the log does."""
        self.transactions: dict[str, Transaction] = {}
        """By transactional id."""


class StateStore:
    """All of them."""

    def __init__(self, writer: PartitionWriter, clock: Clock, partition_count: Callable[[], int]) -> None:
        """`partition_count` is asked with every lookup; the topic may not have been made yet."""
        self._writer = writer
        self._clock = clock
        self._partition_count = partition_count
        self._led: dict[int, StatePartition] = {}

    def lead(self, index: int, coordinator_epoch: LeaderEpoch) -> StatePartition:
        """Begin with a partition, which has to be loaded before it serves anybody."""
        self.resign(index)
        partition = self._led[index] = StatePartition(index, coordinator_epoch)
        return partition

    def resign(self, index: int) -> None:
        """Let go of a partition; nothing if it is not led."""
        partition = self._led.pop(index, None)
        if partition is not None:
            partition.is_led = False

    def led(self) -> Iterator[StatePartition]:
        """All partitions led here, loaded or not."""
        return iter(tuple(self._led.values()))

    def transactions(self) -> Iterator[tuple[StatePartition, Transaction]]:
        """All transactional ids of the partitions that are loaded."""
        for partition in self.led():
            if partition.is_loaded:
                for transaction in tuple(partition.transactions.values()):
                    yield partition, transaction

    def find(self, transactional_id: str) -> StatePartition | ErrorCode:
        """The partition of an id; NOT_COORDINATOR, or COORDINATOR_LOAD_IN_PROGRESS."""
        partition = self._led.get(partition_for(transactional_id, self._partition_count()))
        if partition is None:
            return ErrorCode.NOT_COORDINATOR
        return partition if partition.is_loaded else ErrorCode.COORDINATOR_LOAD_IN_PROGRESS

    def write(
        self,
        partition: StatePartition,
        transaction: Transaction,
        record: TransactionRecord,
        done: Callable[[ErrorCode], None],
    ) -> None:
        """Let `record` be stored and then current; `done` is told what a producer may be told.

        Nothing has changed after an error, although the log may have the record all the same: the next one
        written settles it.
        """
        assert transaction.pending in (None, record), f"{transaction.transactional_id} is being written"
        transaction.pending = record

        def written(outcome: Written) -> None:
            if not partition.is_led:
                done(ErrorCode.NOT_COORDINATOR)
                return
            if outcome.error is ErrorCode.NONE:
                transaction.current = record
            transaction.pending = None
            done(_COORDINATOR_ERRORS.get(outcome.error, ErrorCode.UNKNOWN_SERVER_ERROR))

        batch = build_batch(transaction.transactional_id, record, self._clock.wall_ms())
        self._writer.append(partition.topic_partition, batch, timeout_ms=WRITE_TIMEOUT_MS, done=written)

    def bury(self, partition: StatePartition, transaction: Transaction, dead: TransactionRecord) -> None:
        """Let a transactional id be forgotten, here and in the log; it stays when that fails."""
        assert dead.state is TransactionState.DEAD, dead.state.title
        transactional_id = transaction.transactional_id
        transaction.pending = dead

        def written(outcome: Written) -> None:
            transaction.pending = None
            if outcome.error is ErrorCode.NONE:
                partition.transactions.pop(transactional_id, None)

        batch = build_batch(transactional_id, None, self._clock.wall_ms())
        self._writer.append(partition.topic_partition, batch, timeout_ms=WRITE_TIMEOUT_MS, done=written)
