"""A DeleteRecords that waits until every live replica has dropped the records (KIP-107).

Like a produce, the request is answered when no partition is pending. A partition stops pending when its low
watermark (the least log start over the leader and the live followers) is high enough, or on its own error.
"""

from collections.abc import Hashable
from typing import ClassVar

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import ITEMS_PER_STEP, Later, Steps
from odradek.base.ids import Offset, TopicPartition
from odradek.replication.delayed_result import DelayedResult
from odradek.replication.hosted_partitions import HostedPartitions
from odradek.replication.outcomes import DeleteRecordsOutcome, DeleteRecordsOutcomes
from odradek.timer import Purgatory


class DelayedDeleteRecords(DelayedResult[DeleteRecordsOutcomes]):
    """One DeleteRecords request; watched under all partitions of the request (D3)."""

    __slots__ = ("_hosted", "_outcomes", "_pending")

    kind: ClassVar[str] = "delete-records"

    def __init__(
        self,
        deadline_ms: int,
        outcomes: dict[TopicPartition, DeleteRecordsOutcome],
        pending: dict[TopicPartition, Offset],
        hosted: HostedPartitions,
        later: Later[DeleteRecordsOutcomes],
    ) -> None:
        super().__init__(deadline_ms, later)
        self._outcomes = outcomes
        """All results; that of a pending partition has the error to answer if the request expires."""
        self._pending = pending
        """The partitions whose answer is open, and the low watermark that each must reach."""
        self._hosted = hosted

    def park_in_steps(
        self, purgatory: Purgatory[TopicPartition], keys: list[TopicPartition]
    ) -> Steps[DeleteRecordsOutcomes | None]:
        """`park` under very many keys, a few in each step."""
        if len(keys) <= ITEMS_PER_STEP:
            return self.park(purgatory, keys)
        if (yield from purgatory.watch_in_steps(self, keys)):
            return self._early
        self._is_parked = True
        return None

    def try_complete(self) -> bool:
        """Complete once nothing is pending."""
        for key in list(self._pending):
            self._look_at(key)
        return not self._pending and self.force_complete()

    def try_complete_for(self, key: Hashable) -> bool:
        """See `DelayedOperation.try_complete_for`: the others are looked at on their own events."""
        assert isinstance(key, tuple)
        self._look_at(TopicPartition(*key))
        return not self._pending and self.force_complete()

    def _look_at(self, key: TopicPartition) -> None:
        required = self._pending.get(key)
        if required is None:
            return
        found = self._hosted.replica(key)
        if isinstance(found, ErrorCode):
            self._outcomes[key] = DeleteRecordsOutcome(found)
            del self._pending[key]
            return
        outcome = self._outcomes[key]
        outcome.low_watermark = found.low_watermark()
        if outcome.low_watermark >= required:
            outcome.error_code = ErrorCode.NONE
            del self._pending[key]

    def result(self) -> DeleteRecordsOutcomes:
        """Returns the outcome of every partition."""
        return self._outcomes

    def waits_for(self) -> str:
        """D7: "topic-0: low watermark 3 < 10"."""
        return "; ".join(
            f"{key}: low watermark {self._outcomes[key].low_watermark} < {required}"
            for key, required in self._pending.items()
        )
