"""Bugs of replication, planted one at a time: a campaign that does not find each of them soon finds nothing.

    with PLANTED["truncation skipped"]():
        run_trial(0)

Each is a small change to one method, of the kind that a person makes. `docs/testing.md` lists the seeds that
find them.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any, Final
from unittest.mock import patch

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import Offset, TopicPartition
from odradek.metadata.controller import election, membership
from odradek.metadata.controller.broker_messages import BrokerMessages
from odradek.metadata.image import ClusterImage, PartitionImage
from odradek.metadata.messages import LeaderAndIsr
from odradek.metadata.store import Failed, Multi, Reconnected, StoreEvent, StoreSteps
from odradek.replication import fetch_session, leadership
from odradek.replication.following import Following
from odradek.replication.leadership import Leadership
from odradek.replication.outcomes import FetchOutcome
from odradek.replication.partition import Partition
from odradek.replication.remote_replica import RemoteReplica
from odradek.replication.role_changes import RoleChanger
from odradek.server.node.received_orders import ReceivedOrders
from odradek.server.node.store_session import StoreSession
from odradek.storage import log
from odradek.storage.appending import LogAppender
from odradek.storage.log import Log
from odradek.storage.log_checkpoints import LogCheckpoints
from odradek.storage.log_parts import LogParts
from odradek.storage.positions import LogPosition
from odradek.testing.sim.disk import DiskHandle

Plant = Callable[[], AbstractContextManager[object]]


def _replaced(owner: object, name: str, make: Callable[[Any], Any]) -> Plant:
    """Plants what `make` makes of a method, a function or a property."""
    original = vars(owner)[name]
    return lambda: patch.object(owner, name, make(original))


def _all(*plants: Plant) -> Plant:
    @contextmanager
    def planted() -> Iterator[None]:
        with ExitStack() as stack:
            for plant in plants:
                stack.enter_context(plant())
            yield

    return planted


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


def _unsettled_truncation(original: Any) -> Any:
    def truncate(self: Following, topic_partition: TopicPartition, offset: Offset) -> None:
        log = self._logs.get(topic_partition)
        assert log is not None
        log.truncate_to(offset)

    return truncate


def _no_barrier(original: Any) -> Any:
    def forget(self: LogAppender) -> None:
        self._flushes.is_cut = False

    return forget


def _no_cut_at_the_end(original: Any) -> Any:
    def truncate_to(parts: LogParts, offset: Offset) -> bool:
        return offset < parts.offsets.end and original(parts, offset)

    return truncate_to


def _any_broker_epoch(original: Any) -> Any:
    def propose_expansion(
        self: Leadership, broker_id: int, high_watermark: Offset, min_isr: int, broker_epoch: int
    ) -> Any:
        return original(self, broker_id, high_watermark, min_isr)

    return propose_expansion


def _readmitted_without_an_epoch(original: Any) -> Any:
    def readmit(partition: PartitionImage, returned: Mapping[int, bool], *given: Any) -> Any:
        members = {
            one: trusted for one, trusted in returned.items() if one in (*partition.isr, *partition.elr)
        }
        return original(partition, members, *given) if members else None

    return readmit


def _roles_first(original: Any) -> Any:
    def take(self: BrokerMessages, image: ClusterImage) -> Iterator[Any]:
        messages = list(original(self, image))
        return iter(sorted(messages, key=lambda sent: not isinstance(sent[1], LeaderAndIsr)))

    return take


def _claim_not_recognised(original: Any) -> Any:
    def compete(*given: Any) -> StoreSteps[int | None]:
        process, is_lost, reply = original(*given), False, None
        while True:
            try:
                operation = process.send(reply)
            except StopIteration as end:
                return None if is_lost else end.value
            reply = yield operation
            is_lost |= isinstance(operation, Multi) and isinstance(reply, Failed)

    return compete


def _deaf_to_reconnection(original: Any) -> Any:
    def on_event(self: StoreSession, event: StoreEvent) -> None:
        if not isinstance(event, Reconnected):
            original(self, event)

    return on_event


def _checkpoint_before_data(original: Any) -> Any:
    def recovery_points(self: LogCheckpoints) -> Any:
        with patch.object(Log, "flushed_offset", Log.end_offset):
            due = yield from original(self)
        return due

    return recovery_points


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


PLANTED: Final[Mapping[str, Plant]] = {
    "HW at append": _replaced(leadership, "high_watermark_candidate", _high_watermark_at_append),
    "HW before the whole ISR replied": _replaced(
        leadership, "high_watermark_candidate", _high_watermark_by_one_follower
    ),
    "shrink in memory before the store": _replaced(Leadership, "counted_isr", _shrink_in_memory),
    "truncation skipped": _replaced(Following, "truncate", _no_truncation),
    "truncation without barrier": _all(
        _replaced(Following, "truncate", _unsettled_truncation),
        _replaced(Log, "is_settled", lambda original: property(lambda self: True)),
        _replaced(LogAppender, "_bring_cut_to_disk", _no_barrier),
    ),
    "epoch cache not cut at LEO": _replaced(log, "truncate_to", _no_cut_at_the_end),
    "controller epoch unchecked": _all(
        _replaced(ReceivedOrders, "_refusal_of", lambda original: lambda self, request: ErrorCode.NONE),
        _replaced(RoleChanger, "_obeys", lambda original: lambda self, controller_epoch: True),
    ),
    "ELR off": _all(
        _replaced(election, "eligible_after", lambda original: lambda *_: ()),
        _replaced(leadership, "eligible_after", lambda original: lambda *_: ()),
    ),
    "stale broker epoch joins": _all(
        _replaced(Leadership, "propose_expansion", _any_broker_epoch),
        _replaced(election, "readmit", _readmitted_without_an_epoch),
    ),
    "LeaderAndIsr before the image": _replaced(BrokerMessages, "take", _roles_first),
    "claim not recognised": _replaced(membership, "compete", _claim_not_recognised),
    "watches lost on reconnection": _replaced(StoreSession, "_on_event", _deaf_to_reconnection),
    "directory not synced": _replaced(DiskHandle, "sync_directory", lambda original: lambda self, path: None),
    "checkpoint before the data": _replaced(LogCheckpoints, "recovery_points", _checkpoint_before_data),
    "follower's HW above its LEO": _replaced(Partition, "follow_leader", _high_watermark_above_the_end),
    "a session misses news": _replaced(fetch_session, "is_news", _no_news_of_the_high_watermark),
}
"""The bugs by what a person would call them."""

FOUND_BY: Final[Mapping[str, int]] = {
    "HW at append": 0,
    "HW before the whole ISR replied": 0,
    "shrink in memory before the store": 2,
    "truncation skipped": 3,
    "epoch cache not cut at LEO": 3,
    "controller epoch unchecked": 3,
    "ELR off": 0,
    "claim not recognised": 3,
    "directory not synced": 3,
    "follower's HW above its LEO": 0,
    "a session misses news": 0,
}
"""The first seed that finds a bug; for the bugs that are not here none of the seeds 0 to 5 does."""
