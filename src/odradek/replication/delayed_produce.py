"""A produce that waits for its records to be replicated, or to be on disk (P1-P4).

The request is answered when *no* partition is pending any more. Each partition is decided separately; a
fetch, in contrast, is answered by the sum over its partitions (S3).

    acks=all to p1 and p2, appended below 42 and below 7; three in-sync replicas each
      HW of p1 → 42          p1 closed: NONE; p2 pending → still open
      p2 loses its leader    p2 closed: NOT_LEADER_OR_FOLLOWER → answered
    or the deadline          p2 answers the REQUEST_TIMED_OUT that was set when it was appended
"""

from collections.abc import Sequence
from typing import ClassVar

from odradek.base.clock import Clock
from odradek.base.execution import Later
from odradek.replication.delayed_result import DelayedResult
from odradek.replication.hosted_partitions import HostedPartitions
from odradek.replication.metering import Meters
from odradek.replication.outcomes import AppendOutcomes
from odradek.replication.partition_description import replication_gap
from odradek.replication.produce_status import ProduceStatus, close_decided


class DelayedProduce(DelayedResult[AppendOutcomes]):
    """One produce request; watched under all partitions of the request (D3)."""

    __slots__ = ("_clock", "_hosted", "_meters", "_pending", "_statuses")

    kind: ClassVar[str] = "produce"

    def __init__(
        self,
        deadline_ms: int,
        statuses: Sequence[ProduceStatus],
        hosted: HostedPartitions,
        clock: Clock,
        meters: Meters,
        later: Later[AppendOutcomes],
    ) -> None:
        super().__init__(deadline_ms, later)
        self._statuses = statuses
        """Every partition of the request, in its order."""
        self._pending = [status for status in statuses if status.acks_pending]
        """Partitions whose result is still open; this list only shrinks."""
        self._hosted = hosted
        self._clock = clock
        self._meters = meters

    def try_complete(self) -> bool:
        """P4: complete once nothing is pending."""
        self._pending = close_decided(self._pending, self._hosted)
        return not self._pending and self.force_complete()

    @property
    def pending(self) -> Sequence[ProduceStatus]:
        """The partitions whose result was still open when it was last tried."""
        return self._pending

    def result(self) -> AppendOutcomes:
        """Returns the outcome of every partition."""
        return outcomes_of(self._statuses)

    def on_expiration(self) -> None:
        """P4: count the partitions still pending; the error of each was set when it was appended (P2)."""
        for status in self._pending:
            self._meters.note_produce_expiration(status.topic_partition)

    def waits_for(self) -> str:
        """D7: for each pending partition, its HW and the followers that are behind."""
        now_ms = self._clock.monotonic_ms()
        return "; ".join(
            f"{status.topic_partition}: {replication_gap(status, self._hosted, now_ms)}"
            for status in self._pending
        )


def outcomes_of(statuses: Sequence[ProduceStatus]) -> AppendOutcomes:
    """The answer, in the order of the request."""
    outcomes: AppendOutcomes = {}
    for status in statuses:  # a comprehension is a call, and most produces have one partition
        outcomes[status.topic_partition] = status.outcome
    return outcomes
