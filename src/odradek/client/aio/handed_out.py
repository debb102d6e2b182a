"""The records between a consumer's core and its application: which of them the application has.

Iteration takes many records from the core and hands them out one by one. A position that is committed must be
behind what the application has, not behind what was taken.

Invariant: of each partition, `pending` holds the records from the application's position up to the core's,
and is empty where both are the same.
"""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from odradek.base.ids import Offset, TopicPartition
from odradek.client.core.consumer.completed_fetch import ConsumerRecord
from odradek.client.core.consumer.fetcher import Piece
from odradek.client.core.consumer.subscription import Subscription
from odradek.client.core.offset_and_metadata import OffsetAndMetadata

Refused: TypeAlias = tuple[ConsumerRecord[Any, Any], str]
"""A record that the application could not read, and why."""


class HandedOut:
    """See the module."""

    def __init__(self, subscription: Subscription) -> None:
        self._subscription = subscription
        self.pending: deque[ConsumerRecord[Any, Any]] = deque()
        """What was taken from the core and the application does not have yet."""
        self.last: Sequence[ConsumerRecord[Any, Any]] = ()
        """What the application got last, and has not said to have processed by polling again."""
        # Records that were taken from the core, and were given back to it or forgotten.
        self._undone = 0

    @property
    def withheld(self) -> int:
        """How many records were taken from the core that the application did not get."""
        return self._undone + len(self.pending)

    def take(self, count: int) -> list[ConsumerRecord[Any, Any]]:
        """Up to `count` pending records."""
        return [self.pending.popleft() for _ in range(min(count, len(self.pending)))]

    def put_back(self, records: Iterable[ConsumerRecord[Any, Any]], refused: Refused | None = None) -> None:
        """The application does not have these, the last ones that it got; it cannot read `refused`."""
        self.pending.extendleft(reversed(list(records)))
        if refused is not None:
            record, why = refused
            state = self._subscription.states.get(TopicPartition(record.topic, record.partition))
            if state is not None:
                state.unreadable = record.offset, why

    def put_back_unless_committed(
        self, records: Iterable[ConsumerRecord[Any, Any]], committed: Mapping[TopicPartition, int]
    ) -> None:
        """The application got these last and has not processed them, except for what it has committed."""
        states = self._subscription.states
        self.put_back(
            record
            for record in records
            if (one := TopicPartition(record.topic, record.partition)) in states
            and committed.get(one, -1) <= record.offset < states[one].offset
        )
        self.last = ()

    def give_back(self, partitions: Iterable[TopicPartition]) -> None:
        """Undo that pending records of these partitions were taken from the core."""
        gone = set(partitions)
        if not self.pending or not gone:
            return
        states = self._subscription.states
        for record in reversed(self.pending):
            one = TopicPartition(record.topic, record.partition)
            # A position below it is one of a topic that was made again.
            if one in gone and one in states and states[one].offset > record.offset:
                states[one].give_back(record.offset)
        kept = [one for one in self.pending if TopicPartition(one.topic, one.partition) not in gone]
        self._undone += len(self.pending) - len(kept)
        self.pending = deque(kept)

    def undo(self, pieces: Iterable[Piece]) -> None:
        """The application did not get these columns, the last ones that were taken."""
        states = self._subscription.states
        for piece in reversed(list(pieces)):
            state = states.get(piece.partition)
            if state is not None and state.offset > piece.first:
                state.give_back(piece.first)

    def clear(self) -> None:
        """Forget all records."""
        self._undone += len(self.pending)
        self.pending.clear()
        self.last = ()

    def positions(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """The positions behind what the application has."""
        found = {
            one: OffsetAndMetadata(offset, leader_epoch=epoch)
            for one, (offset, epoch) in self._subscription.positions().items()
        }
        found.update({one: OffsetAndMetadata(offset) for one, offset in self.firsts().items()})
        return found

    def firsts(self) -> dict[TopicPartition, Offset]:
        """The first pending record of each partition."""
        # An object for every record would take long.
        firsts = {(record.topic, record.partition): record.offset for record in reversed(self.pending)}
        return {TopicPartition(topic, number): offset for (topic, number), offset in firsts.items()}
