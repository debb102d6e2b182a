"""A member in the protocol of Kafka 4.0 (KIP-848): the broker assigns, in the answers to heartbeats.

An answer may carry an assignment; the next heartbeat reports the partitions that the member has.
"""

import uuid
from collections.abc import Sequence

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.ids import TopicPartition
from odradek.client.group_admin import GroupAdmin
from odradek.client.group_description import CONSUMER
from odradek.client.leader_connections import LeaderConnections
from odradek.client.membership import REBALANCE_TIMEOUT_MS, RETRY_S, Beat
from odradek.client.refusal import known_code
from odradek.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)

_JOIN_EPOCH, _LEAVE_EPOCH = 0, -1
_LOST = {ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH}


class ConsumerMembership:
    """See `Membership`."""

    def __init__(self, group: str, topic: str, connections: LeaderConnections) -> None:
        """`connections` know the topic's id."""
        self._group, self._topic, self._connections = group, topic, connections
        # Whether the next heartbeat must report this member's partitions.
        self._is_owed = True
        self.protocol = CONSUMER
        self.assignor = ""
        self.member = str(uuid.uuid4())
        self.epoch = _JOIN_EPOCH

    @property
    def is_joined(self) -> bool:
        """See `Membership`."""
        return self.epoch > _JOIN_EPOCH

    def beat(self, admin: GroupAdmin, owned: Sequence[TopicPartition]) -> Beat:
        """See `Membership`."""
        answer = self._send(admin, owned)
        code = known_code(answer.error_code)
        if code in _LOST:
            self.epoch, self._is_owed = _JOIN_EPOCH, True
            return Beat(RETRY_S, is_lost=True)
        if code is ErrorCode.INCONSISTENT_GROUP_PROTOCOL:
            raise ApiError(code, f"group {self._group} is in use by members that this one cannot join")
        if code is not ErrorCode.NONE:
            raise ApiError(code, f"group {self._group}: {answer.error_message or code.name}")
        self.epoch = answer.member_epoch
        self._is_owed = answer.assignment is not None
        if answer.assignment is None:
            return Beat(answer.heartbeat_interval_ms / 1000)
        topic_id = self._connections.leaders.topic_ids[self._topic]
        assigned = frozenset(
            TopicPartition(self._topic, number)
            for topic in answer.assignment.topic_partitions
            if topic.topic_id == topic_id
            for number in topic.partitions
        )
        # The next heartbeat, sent at once, reports the member's partitions.
        return Beat(assigned=assigned)

    def leave(self, admin: GroupAdmin) -> None:
        """See `Membership`."""
        self.epoch = _LEAVE_EPOCH
        self._send(admin, ())

    def _send(self, admin: GroupAdmin, owned: Sequence[TopicPartition]) -> ConsumerGroupHeartbeatResponse:
        is_joining = self.epoch == _JOIN_EPOCH
        topic_id = self._connections.leaders.topic_ids[self._topic]
        numbers = sorted(one.partition for one in owned)
        said = [TopicPartitions(topic_id=topic_id, partitions=numbers)] if numbers else []
        request = ConsumerGroupHeartbeatRequest(
            group_id=self._group,
            member_id=self.member,
            member_epoch=self.epoch,
            rebalance_timeout_ms=REBALANCE_TIMEOUT_MS if is_joining else -1,
            subscribed_topic_names=[self._topic] if is_joining else None,
            topic_partitions=[] if is_joining else said if self._is_owed else None,
        )
        with admin.coordinator_of(self._group) as connection:
            return connection.ask(request, ConsumerGroupHeartbeatResponse)
