"""Reads the records of `odradek consume` with a consumer, and says what happens meanwhile.

with Reading(settings) as reading:
    reading.assign({TopicPartition("flights", 0): 5})     or reading.subscribe("flights", EARLIEST)
    reading.poll(0.5, 500)      records; those of the poll before count as processed
    reading.notes               sentences; the caller removes them
"""

import time
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Self

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.ids import Offset, TopicPartition
from odradek.base.offset_timestamps import EARLIEST
from odradek.cli.outage import Outage
from odradek.client.blocking.consumer import Consumer
from odradek.client.core.consumer.completed_fetch import ConsumerRecord
from odradek.client.core.consumer.positions import NoPosition

if TYPE_CHECKING:
    from odradek.cli.rebalances import Rebalances


class Reading:
    """Raises ApiError if a partition or a group cannot be read, also if brokers stay unreachable.

    After an exception a `with` block commits all but the records that the last poll returned.
    """

    def __init__(self, settings: Mapping[str, object], group: str | None = None) -> None:
        """`settings` are those of a consumer, without `auto.offset.reset`. Raises SettingError."""
        self._rebalances = None if group is None else _rebalances_of(group)
        self.consumer = Consumer(
            settings={**settings, "auto.offset.reset": "none"}, listener=self._rebalances
        )
        """For questions about offsets."""
        self._is_from_earliest = False
        self._outage = Outage()
        self.has_begun = group is not None
        """Whether a leader has answered: before that nobody knows that there are no records.

        A member of a group may have no partitions.
        """
        self.notes: list[str] = []
        """Sentences about records that no longer exist, and about what is waited for."""
        self.rebalances: list[str] = []
        """Sentences about partitions that the group gave and took; the caller removes them."""

    def assign(self, positions: Mapping[TopicPartition, Offset]) -> None:
        """Read these partitions, from these offsets on."""
        self.consumer.assign(positions)
        for partition, offset in positions.items():
            self.consumer.seek(partition, offset)

    def keep(self, partitions: Mapping[TopicPartition, Offset]) -> None:
        """From now on read only these of the current partitions."""
        self.consumer.assign(partitions)

    def subscribe(self, topic: str, start: int) -> None:
        """Read a topic with the group; `start` (EARLIEST or LATEST) is for what has no committed offset."""
        self._is_from_earliest = start == EARLIEST
        self.consumer.subscribe([topic])

    def poll(self, timeout_s: float, max_records: int) -> list[ConsumerRecord]:
        """The records that come within this time."""
        while True:
            try:
                records = self.consumer.poll(timeout_s, max_records=max_records)
            except NoPosition as lost:
                self._find_position(lost)
                continue
            finally:
                self._note_rebalances()
            if records:
                self._outage.over()
                self.has_begun = True
            else:
                self._look()
            return records

    @property
    def is_away(self) -> bool:
        """Whether brokers keep all records away: then nobody knows that there are none."""
        return self._outage.is_away

    def position(self, partition: TopicPartition) -> Offset:
        """The offset of the next record, also where none has come."""
        while True:
            try:
                return self.consumer.position(partition)
            except NoPosition as lost:
                self._find_position(lost)

    def __enter__(self) -> Self:
        self.consumer.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Commit, leave the group, end the connections."""
        self.consumer.__exit__(kind, error, trace)

    # --- helpers

    def _find_position(self, lost: NoPosition) -> None:
        """Go on at the log's start where records are gone, at the chosen end where there is no position."""
        one = lost.partition
        if lost.offset is None:
            seek = self.consumer.seek_to_beginning if self._is_from_earliest else self.consumer.seek_to_end
            seek([one])
            return
        start = self.consumer.beginning_offsets([one])[one]
        if start <= lost.offset:
            raise ApiError(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"{one} ends before offset {lost.offset}: it was truncated, or deleted and created again",
            ) from lost
        self.notes.append(f"{one} no longer has offset {lost.offset}; reading goes on at {start}")
        self.consumer.seek(one, start)

    def _look(self) -> None:
        """No record has come: note what keeps them away, if it is worth a word."""
        assigned = self.consumer.assignment()
        self.has_begun = self.has_begun or any(self.consumer.lag(one) is not None for one in assigned)
        said = self._outage.sentence(self.consumer.why(), assigned, time.monotonic())
        if said is not None:
            self.notes.append(said)

    def _note_rebalances(self) -> None:
        if self._rebalances is not None and self._rebalances.has_news:
            self.rebalances += self._rebalances.sentences(
                self.consumer.membership(), self.consumer.assignment()
            )


def _rebalances_of(group: str) -> "Rebalances":
    from odradek.cli.rebalances import Rebalances  # 20 ms that only members need

    return Rebalances(group)
