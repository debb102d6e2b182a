"""Reads a topic as a member of a group, in either protocol, and commits.

It sends heartbeats between fetches. An answer may carry an assignment: revoked partitions are committed and
dropped, new ones are read from the group's committed offset.
"""

import time
from collections.abc import Iterable, Iterator

from odradek.base.closing import Closing
from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.ids import Offset, TopicPartition
from odradek.client.classic_membership import ClassicMembership
from odradek.client.cluster import list_offsets
from odradek.client.configuration import ClientConfig
from odradek.client.consumer_membership import ConsumerMembership
from odradek.client.group_admin import GroupAdmin
from odradek.client.group_description import CLASSIC, CONSUMER, in_ranges
from odradek.client.leader_connections import LeaderConnections
from odradek.client.membership import RETRY_S, Beat, Membership
from odradek.client.record_reader import FetchedRecord, RecordReader
from odradek.net.request_pipeline import ConnectionFailed
from odradek.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest

REGULARLY, AT_THE_END, NEVER = COMMITS = ("regularly", "end", "never")
"""When offsets are committed: every `auto.commit.interval.ms` and at the end, at the end alone, or never."""
# How long the coordinator may be unreachable before reading fails.
UNAVAILABLE_MAX_S = 30.0
# Errors of a commit during a rebalance; the next commit covers it.
_CHANGING = {
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.FENCED_MEMBER_EPOCH,
    ErrorCode.STALE_MEMBER_EPOCH,
    ErrorCode.ILLEGAL_GENERATION,
    ErrorCode.REBALANCE_IN_PROGRESS,
}


class GroupReader(Closing):
    """Raises ApiError if the group refuses this member, ConnectionFailed if brokers stay unreachable."""

    def __init__(
        self, config: ClientConfig, group: str, topic: str, start: int, *, commits: str = REGULARLY
    ) -> None:
        """`start` (EARLIEST or LATEST) applies to partitions without a committed offset.

        `commits` is one of COMMITS.
        """
        self._config, self._group, self._topic, self._start = config, group, topic, start
        self._commits = commits
        self._connections = LeaderConnections(config, [topic])
        self._reader = RecordReader(config, {}, self._connections)
        self._admin = GroupAdmin(config)
        self._membership = self._member_of(self._protocol())
        # When the next heartbeat and the next regular commit are due, on the monotonic clock.
        self._heartbeat_at = 0.0
        self._commit_at = time.monotonic() + config.auto_commit_interval_ms / 1000
        # Since when the coordinator has been unreachable; None while it answers.
        self._away_since: float | None = None
        # The caller's position and the last committed offset, per partition.
        self._done: dict[TopicPartition, Offset] = {}
        self._committed: dict[TopicPartition, Offset] = {}
        self.rebalances: list[str] = []
        """Sentences about partitions assigned and revoked; the caller removes them."""

    @property
    def notes(self) -> list[str]:
        """See `RecordReader.notes`."""
        return self._reader.notes

    @property
    def partitions(self) -> list[TopicPartition]:
        """The partitions of this member."""
        return sorted(self._reader.positions)

    def lag(self) -> int | None:
        """How many offsets are still to be read; None while that is not known."""
        return self._reader.lag() if self._reader.positions else None

    def poll(self, wait_ms: int) -> Iterator[FetchedRecord]:
        """The records that come within `wait_ms`."""
        now = time.monotonic()
        if self._commits == REGULARLY and now >= self._commit_at:
            self._commit_or_later()
        if now >= self._heartbeat_at:
            self._heartbeat()
        left_ms = max(1, int((self._heartbeat_at - time.monotonic()) * 1000))
        if self._reader.positions:
            yield from self._reader.poll(min(wait_ms, left_ms))
        else:
            time.sleep(min(wait_ms, left_ms) / 1000)

    def acknowledge(self) -> None:
        """Mark all records returned so far as processed: they may be committed."""
        self._done = dict(self._reader.positions)

    def commit(self) -> None:
        """Commit the offset after the last acknowledged record, where it changed since the last commit."""
        self._commit_at = time.monotonic() + self._config.auto_commit_interval_ms / 1000
        moved = {one: at for one, at in self._done.items() if self._committed.get(one) != at}
        if moved:
            membership = self._membership
            self._admin.commit(self._group, moved, member=membership.member, epoch=membership.epoch)
            self._committed.update(moved)

    def _commit_or_later(self) -> None:
        """Commit now; a refusal because of a rebalance is left to the next commit."""
        try:
            self.commit()
        except ApiError as refused:
            if not (refused.code.is_retriable or refused.code in _CHANGING):
                raise

    def close(self) -> None:
        """Commit, leave the group, close the connections; if the coordinator fails, the commit is lost."""
        try:
            # The caller may have been interrupted while an answer was on its way.
            if self._reconnect():
                if self._commits != NEVER and self._membership.is_joined:
                    self._commit_or_later()
                self._membership.leave(self._admin)
        except ApiError:
            pass
        finally:
            self._admin.close()
            self._connections.close()

    def _protocol(self) -> str:
        """The configured protocol; else the one of the group's members, else the consumer protocol."""
        if self._config.group_protocol is not None:
            return self._config.group_protocol
        if not self._admin.serves(ConsumerGroupHeartbeatRequest):
            return CLASSIC
        try:
            found = self._admin.describe(self._group)
        except ApiError as refused:
            if refused.code is not ErrorCode.GROUP_ID_NOT_FOUND:
                raise
            return CONSUMER
        return CLASSIC if found.members and found.kind == CLASSIC else CONSUMER

    def _member_of(self, protocol: str) -> Membership:
        if protocol == CLASSIC:
            return ClassicMembership(self._group, self._topic)
        return ConsumerMembership(self._group, self._topic, self._connections)

    def _heartbeat(self) -> None:
        try:
            beat = self._membership.beat(self._admin, self.partitions)
        except ApiError as failed:
            self._heartbeat_at = time.monotonic() + RETRY_S
            if failed.code is not ErrorCode.UNSUPPORTED_VERSION or not self._go_back_to_classic(failed):
                self._wait_for_coordinator(failed)
            return
        self._away_since = None
        self._heartbeat_at = time.monotonic() + beat.next_s
        self._follow(beat)

    def _wait_for_coordinator(self, failed: ApiError) -> None:
        """Retry at the next heartbeat. Raises `failed` if it is not retriable, or after failing for long."""
        now = time.monotonic()
        is_away = isinstance(failed, ConnectionFailed)
        if self._away_since is None:
            self._away_since = now
            if is_away and not self.notes:
                self.notes.append(f"{failed}; trying again for {UNAVAILABLE_MAX_S:g} s")
        if not failed.code.is_retriable or now - self._away_since > UNAVAILABLE_MAX_S:
            raise failed
        if is_away:
            self._reconnect()

    def _go_back_to_classic(self, failed: ApiError) -> bool:
        """Switch to the classic protocol if the broker does not serve the other; returns whether it did."""
        if self._membership.protocol == CLASSIC:
            return False
        if self._config.group_protocol is not None:
            said = "reading as a group needs the consumer group protocol of Kafka 4.0 (KIP-848)"
            raise ApiError(failed.code, f"{said}, which this broker does not serve") from failed
        self._membership = self._member_of(CLASSIC)
        return True

    def _reconnect(self) -> bool:
        """Returns whether a broker was reachable; if not, the next heartbeat tries again."""
        try:
            admin = GroupAdmin(self._config)
        except ConnectionFailed:
            return False
        self._admin.close()
        self._admin = admin
        return True

    def _follow(self, beat: Beat) -> None:
        """Carry out what the coordinator answered."""
        had = self._reader.positions.keys()
        if beat.is_lost:
            self._say(f"no longer has this member, which joins again: lost {in_ranges(sorted(had))}")
            self._let_go(had)
        elif beat.is_rebalancing:
            if self._commits != NEVER:
                self._commit_or_later()
            self._say(f"is rebalancing: gave back {in_ranges(sorted(had))}")
            self._let_go(had)
        elif beat.assigned is not None:
            self._take(beat.assigned)

    def _take(self, assigned: frozenset[TopicPartition]) -> None:
        """Take over a new assignment."""
        gone = self._reader.positions.keys() - assigned
        if gone and self._commits != NEVER:
            self._commit_or_later()
        self._connections.refresh()
        fresh = sorted(assigned - self._reader.positions.keys())
        membership = self._membership
        spoken = ", ".join(filter(None, (f"{membership.protocol} protocol", membership.assignor)))
        counted = "generation" if membership.protocol == CLASSIC else "epoch"
        changes = [f"got {in_ranges(fresh)}"] if fresh else []
        changes += [f"gave back {in_ranges(sorted(gone))}"] if gone else []
        has = f"this member has {in_ranges(sorted(assigned)) if assigned else 'no partitions'}"
        self._say(f"({spoken}, {counted} {membership.epoch}): {'; '.join([has, *changes])}")
        self._let_go(gone)
        self._reader.assign(self._reader.positions | self._starts_of(fresh))
        self.acknowledge()

    def _let_go(self, partitions: Iterable[TopicPartition]) -> None:
        for one in list(partitions):
            self._committed.pop(one, None)
            self._done.pop(one, None)
        self._reader.keep({one: at for one, at in self._reader.positions.items() if one in self._done})

    def _say(self, words: str) -> None:
        self.rebalances.append(f"group {self._group} {words}")

    def _starts_of(self, partitions: list[TopicPartition]) -> dict[TopicPartition, Offset]:
        if not partitions:
            return {}
        committed = self._admin.committed(self._group)
        found = {one: committed[one] for one in partitions if one in committed}
        self._committed.update(found)
        missing = [one for one in partitions if one not in committed]
        if missing:
            isolation = self._config.isolation_level
            leaders = self._connections.leaders
            found |= list_offsets(leaders, self._start, missing, isolation, self._config.connect)
        return found
