"""Reads a topic as a member of a group (KIP-848): the broker assigns partitions, the reader commits.

A heartbeat goes out between two fetches. Its answer may bring an assignment; what was taken away is committed
and let go of, what is new begins at the group's offset, and the next heartbeat says what this member has.
"""

import time
import uuid
from collections.abc import Iterator

from odradek.base.closing import Closing
from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.ids import Offset, TopicPartition
from odradek.client.cluster import list_offsets
from odradek.client.configuration import ClientConfig
from odradek.client.group_admin import GroupAdmin
from odradek.client.leader_connections import LeaderConnections
from odradek.client.record_reader import FetchedRecord, RecordReader
from odradek.client.refusal import known_code
from odradek.net.request_pipeline import ConnectionFailed
from odradek.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)

_JOIN_EPOCH, _LEAVE_EPOCH = 0, -1
COMMIT_EVERY_S = 5.0
REBALANCE_TIMEOUT_MS = 60_000
# How long the coordinator may be away before reading fails.
UNAVAILABLE_MAX_S = 30.0
_RETRY_S = 0.2
_REJOIN = {ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH}


class GroupReader(Closing):
    """Raises ApiError when the group refuses this member, ConnectionFailed when brokers stay away."""

    def __init__(self, config: ClientConfig, group: str, topic: str, start: int) -> None:
        """`start` is EARLIEST or LATEST: where partitions begin of which the group has committed nothing."""
        self._config, self._group, self._topic, self._start = config, group, topic, start
        self._connections = LeaderConnections(config, [topic])
        self._reader = RecordReader(config, {}, self._connections)
        self._admin = GroupAdmin(config)
        self._member = str(uuid.uuid4())
        self._epoch = _JOIN_EPOCH
        # When the next heartbeat is due, on the monotonic clock.
        self._heartbeat_at = 0.0
        self._commit_at = time.monotonic() + COMMIT_EVERY_S
        # What was committed last, per partition.
        self._committed: dict[TopicPartition, Offset] = {}
        # Whether the coordinator is still to be told what this member has.
        self._is_owed = True

    @property
    def notes(self) -> list[str]:
        """Sentences about records that were lost on the way; the caller takes them out."""
        return self._reader.notes

    def lag(self) -> int | None:
        """How many offsets are still to be read; None while that is not known."""
        return self._reader.lag() if self._reader.positions else None

    def poll(self, wait_ms: int) -> Iterator[FetchedRecord]:
        """The records that come within `wait_ms`; those of earlier polls may be committed."""
        now = time.monotonic()
        if now >= self._commit_at:
            self._commit_or_later()
        if self._is_owed or now >= self._heartbeat_at:
            self._heartbeat()
        left_ms = max(1, int((self._heartbeat_at - time.monotonic()) * 1000))
        if self._reader.positions:
            yield from self._reader.poll(min(wait_ms, left_ms))
        else:
            time.sleep(min(wait_ms, left_ms) / 1000)

    def commit(self) -> None:
        """Commit the offset after the last record returned, of each partition that moved on."""
        self._commit_at = time.monotonic() + COMMIT_EVERY_S
        moved = {
            partition: position
            for partition, position in self._reader.positions.items()
            if self._committed.get(partition) != position
        }
        if moved:
            self._admin.commit(self._group, moved, member=self._member, epoch=self._epoch)
            self._committed.update(moved)

    def _commit_or_later(self) -> None:
        """Commit now; where the group is about to change, the next commit will do."""
        try:
            self.commit()
        except ApiError as refused:
            if not (refused.code.is_retriable or refused.code in _REJOIN | {ErrorCode.STALE_MEMBER_EPOCH}):
                raise

    def close(self) -> None:
        """Commit, leave the group, end the connections; what a dead coordinator refuses is lost."""
        try:
            if self._epoch > _JOIN_EPOCH:
                self.commit()
                self._epoch = _LEAVE_EPOCH
                self._send()
        except ApiError:
            pass
        finally:
            self._admin.close()
            self._connections.close()

    def _heartbeat(self) -> None:
        deadline = time.monotonic() + UNAVAILABLE_MAX_S
        while True:
            try:
                answer = self._send()
                code = known_code(answer.error_code)
                failure = ApiError(code, f"group {self._group}: {answer.error_message or code.name}")
            except ApiError as failed:
                failure, code = failed, failed.code
                if isinstance(failed, ConnectionFailed):
                    self._reconnect()
                if code is ErrorCode.UNSUPPORTED_VERSION:
                    said = "reading as a group needs the consumer group protocol of Kafka 4.0 (KIP-848)"
                    raise ApiError(code, f"{said}, which {failed}") from failed
            if code is ErrorCode.NONE:
                break
            if code in _REJOIN:
                self._epoch, self._is_owed = _JOIN_EPOCH, True
                self._reader.assign({})
                self._committed = {}
            elif code is ErrorCode.INCONSISTENT_GROUP_PROTOCOL:
                raise ApiError(code, f"group {self._group} is in use by members that this one cannot join")
            elif not code.is_retriable or time.monotonic() > deadline:
                raise failure
            time.sleep(_RETRY_S)
        self._epoch = answer.member_epoch
        self._is_owed = False
        self._heartbeat_at = time.monotonic() + answer.heartbeat_interval_ms / 1000
        if answer.assignment is not None:
            self._take(answer.assignment.topic_partitions)

    def _reconnect(self) -> None:
        try:
            admin = GroupAdmin(self._config)
        except ConnectionFailed:
            return  # Tried again by the next heartbeat.
        self._admin.close()
        self._admin = admin

    def _send(self) -> ConsumerGroupHeartbeatResponse:
        is_joining = self._epoch == _JOIN_EPOCH
        topic_id = self._connections.leaders.topic_ids[self._topic]
        numbers = sorted(one.partition for one in self._reader.positions)
        owned = [TopicPartitions(topic_id=topic_id, partitions=numbers)] if numbers else []
        request = ConsumerGroupHeartbeatRequest(
            group_id=self._group,
            member_id=self._member,
            member_epoch=self._epoch,
            rebalance_timeout_ms=REBALANCE_TIMEOUT_MS if is_joining else -1,
            subscribed_topic_names=[self._topic] if is_joining else None,
            topic_partitions=[] if is_joining else owned if self._is_owed else None,
        )
        with self._admin.coordinator_of(self._group) as connection:
            return connection.ask(request, ConsumerGroupHeartbeatResponse)

    def _take(self, assigned: list[TopicPartitions]) -> None:
        """Go over to a new assignment."""
        topic_id = self._connections.leaders.topic_ids[self._topic]
        wanted = {
            TopicPartition(self._topic, number)
            for topic in assigned
            if topic.topic_id == topic_id
            for number in topic.partitions
        }
        kept = {one: at for one, at in self._reader.positions.items() if one in wanted}
        if len(kept) < len(self._reader.positions):
            self._commit_or_later()
        self._connections.refresh()
        fresh = sorted(wanted - kept.keys())
        self._reader.assign(kept | self._starts_of(fresh))
        self._is_owed = True

    def _starts_of(self, partitions: list[TopicPartition]) -> dict[TopicPartition, Offset]:
        committed = self._admin.committed(self._group)
        found = {one: committed[one] for one in partitions if one in committed}
        self._committed.update(found)
        missing = [one for one in partitions if one not in committed]
        if missing:
            isolation = self._config.isolation_level
            leaders = self._connections.leaders
            found |= list_offsets(leaders, self._start, missing, isolation, self._config.connect)
        return found
