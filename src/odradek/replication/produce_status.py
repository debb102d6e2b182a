"""The state of a produce by partition: which acknowledgements it still waits for (P2, P3).

Invariant: it is decided by the partitions' present state, never by remembered events. With acks=all on two
partitions:

    p1  appended 40, 41  required 42  pending, error pre-set to REQUEST_TIMED_OUT
    p2  refused                       not pending, its error stands
    HW of p1 reaches 42               not pending, NONE (or NOT_ENOUGH_REPLICAS_AFTER_APPEND)
"""

from collections.abc import Iterable
from dataclasses import dataclass

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import NO_OFFSET, Offset, TopicPartition
from odradek.replication.hosted_partitions import HostedPartitions
from odradek.replication.outcomes import AppendOutcome


@dataclass(slots=True)
class ProduceStatus:
    """One partition of a produce."""

    topic_partition: TopicPartition
    outcome: AppendOutcome
    """The result for this partition; while it is pending, the error to answer if the request expires."""
    is_appended: bool = False
    """Whether the records are in the local log, written now or by an earlier attempt."""
    required_offset: Offset = NO_OFFSET
    """Last appended offset + 1, which HW (or the flushed offset) must reach; -1 if nothing was appended."""
    waits_for_replicas: bool = False
    """Whether acks=all."""
    waits_for_disk: bool = False
    """acks is not 0, and `odradek.log.flush.before.ack` or `flush.messages` requires a flush."""
    flush_due: bool = False
    """The log is to be flushed, whether acks wait for it or not."""
    high_watermark_rose: bool = False
    """Whether this append alone raised HW (R7)."""
    acks_pending: bool = False
    """Whether the answer for this partition is still open."""


def close_decided(statuses: Iterable[ProduceStatus], hosted: HostedPartitions) -> list[ProduceStatus]:
    """P3: check every pending partition, decide those that can be answered, return the others."""
    still_pending = []
    for status in statuses:
        if not status.acks_pending:
            continue
        found = hosted.replica(status.topic_partition)
        if isinstance(found, ErrorCode):  # Case A
            status.outcome.error_code = found
            status.acks_pending = False
            continue
        error_code = found.acknowledgement(
            status.required_offset, by_replicas=status.waits_for_replicas, on_disk=status.waits_for_disk
        )
        if error_code is None:
            still_pending.append(status)
        else:  # Cases B.1 and B.2
            status.outcome.error_code = error_code
            status.acks_pending = False
    return still_pending
