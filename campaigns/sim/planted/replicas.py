"""Bugs of leaders and followers: the high watermark, fetches, truncation, acknowledgements."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from campaigns.sim.planted.planting import Plant, replaced, together
from odradek.base.error_codes import ErrorCode
from odradek.base.ids import Offset, TopicPartition
from odradek.replication import fetch_session, leadership
from odradek.replication.following import Following
from odradek.replication.leadership import Leadership
from odradek.replication.outcomes import FetchOutcome
from odradek.replication.partition import Partition
from odradek.replication.remote_replica import RemoteReplica
from odradek.storage.positions import LogPosition


def _high_watermark_at_append(original: Any) -> Any:
    return lambda leader_end, *_: leader_end


def _high_watermark_by_one_follower(original: Any) -> Any:
    def candidate(leader_end: LogPosition, remotes: Iterable[RemoteReplica], *_: object) -> LogPosition:
        first = max((remote.log_end for remote in remotes), key=lambda end: end.offset)
        return min(leader_end, first, key=lambda end: end.offset)

    return candidate


def _shrink_in_memory(original: Any) -> Any:
    return property(lambda self: self.isr if self.pending is None else self.pending.new_isr)


def _no_truncation(original: Any) -> Any:
    return lambda self, topic_partition, offset: None


def _truncation_to_the_high_watermark(original: Any) -> Any:
    def truncate(self: Following, topic_partition: TopicPartition, offset: Offset) -> None:
        log = self.log(topic_partition)
        assert log is not None
        original(self, topic_partition, log.high_watermark.offset)

    return truncate


def _high_watermark_above_the_end(original: Any) -> Any:
    def follow_leader(self: Partition, high_watermark: Offset, log_start_offset: Offset) -> bool:
        end = self.log.end_position
        above = LogPosition(high_watermark, end.segment_base_offset, end.byte_position)
        self.log._offsets.high_watermark = above  # type: ignore[attr-defined]
        return bool(self.log.advance_log_start(log_start_offset))

    return follow_leader


def _no_news_of_the_high_watermark(original: Any) -> Any:
    def is_news(partition: object, outcome: FetchOutcome) -> bool:
        return len(outcome.records) > 0 or outcome.error_code is not ErrorCode.NONE

    return is_news


def _high_watermark_of_any_isr(original: Any) -> Any:
    def raise_high_watermark(self: Partition, now_ms: int) -> bool:
        if self.leadership is None:
            return False
        candidate = self.leadership.high_watermark_candidate(self.log.end_position, now_ms)
        return bool(self.log.advance_high_watermark(candidate))

    return raise_high_watermark


def _own_log_start(original: Any) -> Any:
    def follow_leader(self: Partition, high_watermark: Offset, log_start_offset: Offset) -> Any:
        return original(self, high_watermark, min(log_start_offset, self.log.log_start_offset))

    return follow_leader


REPLICAS: Final[Mapping[str, Plant]] = {
    "HW at append": replaced(leadership, "high_watermark_candidate", _high_watermark_at_append),
    "HW before the whole ISR replied": replaced(
        leadership, "high_watermark_candidate", _high_watermark_by_one_follower
    ),
    "shrink in memory before the store": replaced(Leadership, "counted_isr", _shrink_in_memory),
    "truncation skipped": replaced(Following, "truncate", _no_truncation),
    "truncation to HW instead of the epoch's end": replaced(
        Following, "truncate", _truncation_to_the_high_watermark
    ),
    "follower's HW above its LEO": replaced(Partition, "follow_leader", _high_watermark_above_the_end),
    "a session misses news": replaced(fetch_session, "is_news", _no_news_of_the_high_watermark),
    "HW and acks=all below min ISR": together(
        replaced(Partition, "is_under_min_isr", lambda original: property(lambda self: False)),
        replaced(Partition, "raise_high_watermark", _high_watermark_of_any_isr),
    ),
    "anyone who fetches joins the ISR": replaced(
        leadership, "may_join", lambda original: lambda replica, isr, *_: replica.broker_id not in isr
    ),
    "deletions of records not followed": replaced(Partition, "follow_leader", _own_log_start),
    "consumers read up to LEO": replaced(
        Partition, "bound", lambda original: lambda self, isolation: self.log.end_position
    ),
}
"""By what a person would call them."""
