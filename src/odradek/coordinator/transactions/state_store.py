"""The partitions of `__transaction_state` that this broker leads, with their transactional ids in memory.

Memory follows the log: a record is current as soon as it is appended, and answers that build on it wait until
every in-sync replica has it (R19). What the log refuses has not happened.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from odradek.base.clock import Clock
from odradek.base.error_codes import ErrorCode
from odradek.base.ids import LeaderEpoch, TopicPartition
from odradek.base.topic_names import TRANSACTION_STATE_TOPIC
from odradek.coordinator.placement import partition_for
from odradek.coordinator.ports import PartitionWriter
from odradek.coordinator.runtime.partition_log import PartitionLog
from odradek.coordinator.runtime.trampoline import Trampoline
from odradek.coordinator.transactions.state import TransactionState
from odradek.coordinator.transactions.state_records import build_batch
from odradek.coordinator.transactions.transaction import Transaction, TransactionRecord, Unmarked

WRITE_TIMEOUT_MS: Final = 30_000
"""How long a producer waits for its record to be replicated before it must send its request again."""

_COORDINATOR_ERRORS: Final = {
    ErrorCode.NONE: ErrorCode.NONE,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
}


def error_for_producers(error: ErrorCode) -> ErrorCode:
    """The error of a producer where the log answered `error`."""
    return _COORDINATOR_ERRORS.get(error, ErrorCode.UNKNOWN_SERVER_ERROR)


@dataclass(frozen=True, slots=True)
class WriteMarkers:
    """A transaction's end is decided, and every in-sync replica has that: markers may be written."""

    partition: "StatePartition"
    transaction: Transaction


StateLog = PartitionLog[WriteMarkers]


class StatePartition:
    """One partition of `__transaction_state`, for as long as this broker leads it in one epoch."""

    __slots__ = ("_clock", "coordinator_epoch", "is_loaded", "log", "transactions")

    def __init__(self, log: StateLog, coordinator_epoch: LeaderEpoch, clock: Clock) -> None:
        self.log = log
        self._clock = clock
        self.coordinator_epoch = coordinator_epoch
        """The leader epoch; markers carry it."""
        self.is_loaded = False
        """Whether `transactions` holds all that the log does."""
        self.transactions: dict[str, Transaction] = {}
        """By transactional id."""

    @property
    def topic_partition(self) -> TopicPartition:
        """Which partition it is."""
        return self.log.topic_partition

    @property
    def is_led(self) -> bool:
        """False for ever once the leadership has ended."""
        return self.log.is_open

    def store(
        self,
        transactional_id: str,
        record: TransactionRecord | None,
        batch: bytearray | None = None,
        unmarked: Unmarked | None = None,
    ) -> ErrorCode:
        """Append a record, which is current then; None forgets the id. The log's error: nothing happened.

        `batch` has the record, and `unmarked` what it leaves unmarked, where they were made before.
        """
        if batch is None:
            batch = build_batch(transactional_id, record, self._clock.wall_ms())
        error = self.log.append(batch).error
        if error is ErrorCode.NONE:
            self.apply(transactional_id, record, unmarked)
        return error

    def apply(
        self, transactional_id: str, record: TransactionRecord | None, unmarked: Unmarked | None = None
    ) -> None:
        """Make an appended or loaded record of the log the current one."""
        if record is None:
            self.transactions.pop(transactional_id, None)
            return
        known = self.transactions.get(transactional_id)
        was_open = known is not None and known.current.state is TransactionState.ONGOING
        if known is None:
            known = self.transactions[transactional_id] = Transaction(transactional_id, record)
        known.apply(record, unmarked)
        if record.state is TransactionState.ONGOING and not was_open:
            # From now on its age does not depend on the wall clock, which may be set back.
            age_ms = max(0, self._clock.wall_ms() - record.started_ms)
            known.open_since_ms = self._clock.monotonic_ms() - age_ms


class StateStore:
    """All of them."""

    def __init__(
        self,
        writer: PartitionWriter,
        clock: Clock,
        partition_count: Callable[[], int],
        trampoline: Trampoline,
        write_markers: Callable[[WriteMarkers], None],
    ) -> None:
        """`partition_count` is asked with every lookup; the topic may not have been made yet."""
        self._writer = writer
        self._clock = clock
        self._partition_count = partition_count
        self._trampoline = trampoline
        self._write_markers = write_markers
        self._led: dict[int, StatePartition] = {}

    def continues(self, index: int, coordinator_epoch: LeaderEpoch) -> bool:
        """Enter the next epoch of a partition that is led and loaded; False if it is not."""
        partition = self._led.get(index)
        if partition is None or not partition.is_loaded:
            return False
        partition.coordinator_epoch = coordinator_epoch
        return True

    def lead(self, index: int, coordinator_epoch: LeaderEpoch) -> StatePartition:
        """Add a partition that this broker now leads; it must be loaded before it serves requests."""
        self.resign(index)
        log: StateLog = PartitionLog(
            TopicPartition(TRANSACTION_STATE_TOPIC, index),
            self._writer,
            self._trampoline,
            lambda: WRITE_TIMEOUT_MS,
            self._write_markers,
        )
        partition = self._led[index] = StatePartition(log, coordinator_epoch, self._clock)
        return partition

    def resign(self, index: int) -> None:
        """Drop a partition and its state; does nothing if it is not led."""
        partition = self._led.pop(index, None)
        if partition is not None:
            partition.log.close()

    def led(self) -> Iterator[StatePartition]:
        """All partitions led here, loaded or not."""
        return iter(tuple(self._led.values()))

    @property
    def id_count(self) -> int:
        """How many transactional ids are known here."""
        return sum(len(partition.transactions) for partition in self._led.values())

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
