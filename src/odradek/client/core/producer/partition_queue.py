"""The batches of one partition: which may be sent now, in which order, and with which sequence numbers.

    waiting   1 2 3            in flight            1 and 2 are sent
    waiting   3                in flight  1 2       the answer to 1 is lost, 2 is refused: OUT_OF_ORDER
    waiting   1 2 3            in flight            1 is sent again, alone, with its old stamp; then 2, 3

Invariants:
- Batches are sent, and sent again, in the order in which they were opened. While one is sent again nothing
  else is in flight, and nothing new is sent.
- With idempotence, a batch keeps its stamp until the broker's answer proves that it is not stored: the oldest
  outstanding batch is refused as OUT_OF_ORDER or UNKNOWN_PRODUCER_ID. Later batches cannot be stored either,
  so all of them *restart*: sequence numbers from 0 under the next epoch (KIP-360).
- A batch that failed for good leaves a *gap* unless it was stored after all. Those that were sent behind it
  are sent again as they are, and their answers say which; what was never sent waits until then.
- Until the first batch under an epoch is acknowledged it is alone in flight: a broker that knows nothing of
  the producer takes any sequence number as the first one.
- The parts of a batch that was too large take its place, and the numbers of its records. If an attempt of the
  whole may be stored all the same, the numbers of a part cannot tell: then a part that is refused as
  OUT_OF_ORDER fails, since sending it again under another epoch might store it twice.
- In transactions nothing restarts within an epoch: a gap ends in an abort, and the next epoch begins at 0.
"""

from collections import deque
from enum import Enum
from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import NO_PRODUCER_ID, ProducerId, TopicPartition
from odradek.client.core.producer.batch import SEQUENCE_MASK, Batch, Stamp
from odradek.client.core.producer.identity import Identity
from odradek.client.core.producer.settings import IDEMPOTENT_IN_FLIGHT_MAX

_NOT_IN_SEQUENCE: Final = frozenset({ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, ErrorCode.UNKNOWN_PRODUCER_ID})
_NOT_STORED: Final = _NOT_IN_SEQUENCE | {
    ErrorCode.MESSAGE_TOO_LARGE,
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.CONCURRENT_TRANSACTIONS,
}
"""With these a broker says that it appended nothing; after another error the batch may be stored."""


class Verdict(Enum):
    """What a broker's answer means for a batch."""

    STORED = "stored"
    RETRY = "retry"
    SPLIT = "split"
    FAILED = "failed"


class PartitionQueue:
    """See the module."""

    def __init__(self, partition: TopicPartition, identity: Identity | None) -> None:
        """`identity` is that of the producer; None for one that is not idempotent."""
        self.partition: Final = partition
        self._identity = identity
        self.waiting: deque[Batch] = deque()
        """Not in flight, the oldest first: those to be sent again, then those never sent."""
        self.in_flight: list[Batch] = []
        """Sent, without an outcome yet, the oldest first; also those that have failed meanwhile."""
        # The producer id and epoch of the stamps; no id before the first one.
        self._producer_id: ProducerId = NO_PRODUCER_ID
        self._epoch = -1
        # The sequence number of the next record that gets one, and of the one after the last acknowledged.
        self._next_sequence = 0
        self._acknowledged_to = 0
        # Whether a batch was acknowledged under this id and epoch.
        self._is_confirmed = False
        # Whether a stamped batch failed whose sequence numbers no later answer has covered.
        self._has_gap = False
        # Whether stamps begin anew when nothing is in flight any more.
        self._is_restart_due = False

    @property
    def is_idle(self) -> bool:
        """Whether it holds no batch."""
        return not self.waiting and not self.in_flight

    # --- sending

    def is_sendable(self, now_ms: int) -> bool:
        """Whether the first batch that waits may be sent now, as far as order and numbers go."""
        if not self.waiting:
            return False
        head = self.waiting[0]
        if head.not_before_ms > now_ms:
            return False
        if self._identity is not None and not self._is_numbered(head):
            return False
        if not self.in_flight:
            return True
        is_retrying = head.attempts > 0 or any(batch.attempts > 1 for batch in self.in_flight)
        return not is_retrying

    def _is_numbered(self, head: Batch) -> bool:
        """Whether the head may get its sequence numbers, or has them."""
        assert self._identity is not None
        if self._producer_id == NO_PRODUCER_ID or self._must_restart(head):
            return not self.in_flight and self._identity.is_known
        limit = IDEMPOTENT_IN_FLIGHT_MAX if self._is_confirmed else 1
        return len(self.in_flight) < limit and not (self._has_gap and head.stamp is None)

    def _must_restart(self, head: Batch) -> bool:
        """Whether the sequence must begin anew before `head` is sent."""
        assert self._identity is not None
        if self._identity.is_transactional:
            return (self._producer_id, self._epoch) != (self._identity.producer_id, self._identity.epoch)
        return self._is_restart_due or (self._has_gap and head.stamp is None and not self.in_flight)

    def take(self) -> Batch | None:
        """The first batch, stamped and from now on in flight; None if there is no epoch left to stamp it.

        Called only when `is_sendable`.
        """
        head = self.waiting[0]
        if self._identity is not None and not self._prepare_stamps(head, self._identity):
            return None
        self.waiting.popleft()
        if self._identity is not None and head.stamp is None:
            head.put_stamp(Stamp(self._producer_id, self._epoch, self._next_sequence))
            self._next_sequence = (self._next_sequence + head.record_count) & SEQUENCE_MASK
        head.attempts += 1
        self.in_flight.append(head)
        return head

    def _prepare_stamps(self, head: Batch, identity: Identity) -> bool:
        if self._producer_id != NO_PRODUCER_ID:
            if not self._must_restart(head):
                return True
            # Another id is as good as another epoch.
            is_own = self._producer_id == identity.producer_id and not identity.is_transactional
            if is_own and not identity.next_epoch():
                return False
        for batch in self.waiting:
            batch.take_off_stamp()
        self._producer_id, self._epoch = identity.producer_id, identity.epoch
        self._next_sequence = self._acknowledged_to = 0
        self._is_confirmed = self._has_gap = self._is_restart_due = False
        return True

    # --- outcomes

    def returned(self, batch: Batch) -> None:
        """The request that held it has its outcome."""
        self.in_flight.remove(batch)

    def judge(self, batch: Batch, code: ErrorCode) -> Verdict:
        """What an answer means for a batch that has `returned`."""
        if code is ErrorCode.NONE or code is ErrorCode.DUPLICATE_SEQUENCE_NUMBER:
            self._acknowledge(batch)
            return Verdict.STORED
        batch.may_be_stored = batch.may_be_stored or code not in _NOT_STORED
        if code is ErrorCode.MESSAGE_TOO_LARGE and batch.record_count > 1 and not batch.is_done:
            return Verdict.SPLIT
        if self._identity is not None and code in _NOT_IN_SEQUENCE:
            if self._is_oldest(batch):
                if self._identity.is_transactional or batch.is_doubtful:
                    return Verdict.FAILED
                self._is_restart_due = True
            return Verdict.RETRY
        return Verdict.RETRY if code.is_retriable else Verdict.FAILED

    def again(self, batch: Batch) -> None:
        """It is to be sent again, in its old place."""
        place = 0
        for other in self.waiting:
            if other.order > batch.order:
                break
            place += 1
        self.waiting.insert(place, batch)

    def gave_up(self, batch: Batch) -> None:
        """It failed for good, wherever it is."""
        if batch.stamp is not None:
            self._has_gap = True

    def _acknowledge(self, batch: Batch) -> None:
        for other in self.waiting:
            if other.id == batch.id:  # the whole is not stored, since this part of it was
                other.is_doubtful = False
        stamp = batch.stamp
        if stamp is None or (stamp.producer_id, stamp.epoch) != (self._producer_id, self._epoch):
            return
        self._is_confirmed = True
        end = (stamp.sequence + batch.record_count) & SEQUENCE_MASK
        # Numbers wrap: of two, the one that is less than half the range ahead is the later one.
        if (end - self._acknowledged_to) & SEQUENCE_MASK < SEQUENCE_MASK // 2:
            self._acknowledged_to = end
        if self._acknowledged_to == self._next_sequence:
            self._has_gap = False

    def _is_oldest(self, batch: Batch) -> bool:
        outstanding = [*self.waiting, *self.in_flight]
        return all(other.stamp is None or other.order > batch.order or other.is_done for other in outstanding)
