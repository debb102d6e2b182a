"""A DeleteRecords that waits until every live replica has dropped the records (KIP-107).

Like a produce, the request is answered when no partition is pending. A partition stops pending when its low
watermark (the least log start over the leader and the live followers) is high enough, or on its own error.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import Later
from odradek.base.ids import NO_OFFSET, Offset, TopicPartition
from odradek.replication.delayed_result import DelayedResult
from odradek.replication.hosted_partitions import HostedPartitions
from odradek.replication.outcomes import DeleteRecordsOutcome, DeleteRecordsOutcomes


@dataclass(slots=True)
class DeletionStatus:
    """One partition of a DeleteRecords."""

    topic_partition: TopicPartition
    outcome: DeleteRecordsOutcome
    """The result for this partition; while it is pending, the error to answer if the request expires."""
    required_offset: Offset = NO_OFFSET
    """The low watermark must reach it."""
    is_pending: bool = False
    """Whether the answer for this partition is still open."""


class DelayedDeleteRecords(DelayedResult[DeleteRecordsOutcomes]):
    """One DeleteRecords request; watched under all partitions of the request (D3)."""

    __slots__ = ("_hosted", "_statuses")

    kind: ClassVar[str] = "delete-records"

    def __init__(
        self,
        deadline_ms: int,
        statuses: Mapping[TopicPartition, DeletionStatus],
        hosted: HostedPartitions,
        later: Later[DeleteRecordsOutcomes],
    ) -> None:
        super().__init__(deadline_ms, later)
        self._statuses = statuses
        self._hosted = hosted

    def try_complete(self) -> bool:
        """Complete once nothing is pending."""
        is_open = False
        for status in self._statuses.values():
            if status.is_pending:
                self._look_at(status)
                is_open = is_open or status.is_pending
        return not is_open and self.force_complete()

    def _look_at(self, status: DeletionStatus) -> None:
        found = self._hosted.replica(status.topic_partition)
        if isinstance(found, ErrorCode):
            status.outcome = DeleteRecordsOutcome(found)
            status.is_pending = False
            return
        status.outcome.low_watermark = found.low_watermark()
        if status.outcome.low_watermark >= status.required_offset:
            status.outcome.error_code = ErrorCode.NONE
            status.is_pending = False

    def result(self) -> DeleteRecordsOutcomes:
        """Returns the outcome of every partition."""
        return {status.topic_partition: status.outcome for status in self._statuses.values()}

    def waits_for(self) -> str:
        """D7: "topic-0: low watermark 3 < 10"."""
        return "; ".join(
            f"{key}: low watermark {status.outcome.low_watermark} < {status.required_offset}"
            for key, status in self._statuses.items()
            if status.is_pending
        )
