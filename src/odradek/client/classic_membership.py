"""A member in the classic protocol, which every broker serves: one member, the leader, assigns.

    JoinGroup     all members join; the answer tells the leader each member's subscription
    SyncGroup     the leader sends the assignments, each member gets its own
    Heartbeat     keeps the session; the answer REBALANCE_IN_PROGRESS asks the member to join again

This member revokes all its partitions before it joins again ("eager"), also with a cooperative strategy:
then other members can get them at once.
"""

import time
from collections.abc import Sequence

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.ids import TopicPartition
from odradek.client.classic_assignors import ASSIGNORS
from odradek.client.core.membership.classic_share import (
    NO_GENERATION,
    STICKY,
    Previous,
    assignment,
    shares,
    subscriber_of,
    subscription,
)
from odradek.client.group_admin import GroupAdmin
from odradek.client.group_description import CLASSIC, CONSUMER_PROTOCOL_TYPE
from odradek.client.membership import REBALANCE_TIMEOUT_MS, RETRY_S, Beat
from odradek.client.refusal import known_code, raise_for
from odradek.net.blocking_connection import BrokerConnection
from odradek.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from odradek.wire.messages.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from odradek.wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity
from odradek.wire.messages.sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)

SESSION_TIMEOUT_MS = 45_000
HEARTBEAT_S = 3.0
# How often the leader checks whether a topic of the group has more partitions.
TOPICS_EVERY_S = 60.0
# How much longer than the rebalance timeout an answer may take.
_ANSWER_MS = 5_000
# Another rebalance began before this one was over.
_AGAIN = {ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.ILLEGAL_GENERATION}


class ClassicMembership:
    """See `Membership`."""

    def __init__(self, group: str, topic: str) -> None:
        self._group, self._topic = group, topic
        # Whether the next exchange joins; until then commits carry the current generation.
        self._is_to_join = True
        # For the leader: the assigned number of partitions of each of the group's topics; else empty.
        self._counts: dict[str, int] = {}
        # When the leader next compares them with the cluster, on the monotonic clock.
        self._topics_at = 0.0
        # What the leader gave it last.
        self._previous: Previous | None = None
        self.protocol = CLASSIC
        self.assignor = ""
        self.member = ""
        self.epoch = NO_GENERATION

    @property
    def is_joined(self) -> bool:
        """See `Membership`."""
        return self.epoch != NO_GENERATION

    def beat(self, admin: GroupAdmin, owned: Sequence[TopicPartition]) -> Beat:
        """See `Membership`."""
        if self._is_to_join:
            assert not owned, "partitions of an earlier generation"
            return self._join(admin)
        request = HeartbeatRequest(group_id=self._group, generation_id=self.epoch, member_id=self.member)
        with admin.coordinator_of(self._group) as connection:
            code = known_code(connection.ask(request, HeartbeatResponse).error_code)
        if code is ErrorCode.REBALANCE_IN_PROGRESS or (code is ErrorCode.NONE and self._has_grown(admin)):
            self._is_to_join = True
            return Beat(is_rebalancing=True)
        if code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION):
            return self._lost(code)
        raise_for(code, about=f"group {self._group}")
        return Beat(HEARTBEAT_S)

    def leave(self, admin: GroupAdmin) -> None:
        """See `Membership`."""
        if not self.member:
            return
        request = LeaveGroupRequest(
            group_id=self._group, member_id=self.member, members=[MemberIdentity(member_id=self.member)]
        )
        with admin.coordinator_of(self._group) as connection:
            connection.ask(request, LeaveGroupResponse)

    def _join(self, admin: GroupAdmin) -> Beat:
        with admin.coordinator_of(self._group, wait_ms=REBALANCE_TIMEOUT_MS + _ANSWER_MS) as connection:
            joined = self._ask_to_join(connection)
            code = known_code(joined.error_code)
            if code is ErrorCode.UNKNOWN_MEMBER_ID:
                return self._lost(code)
            if code in _AGAIN:
                return Beat(RETRY_S)
            if code is ErrorCode.INCONSISTENT_GROUP_PROTOCOL:
                known = ", ".join(ASSIGNORS)
                raise ApiError(code, f"the members of group {self._group} use none of the strategies {known}")
            raise_for(code, about=f"group {self._group}")
            self.member, self.epoch = joined.member_id, joined.generation_id
            self.assignor = joined.protocol_name or ""
            self._counts = {}
            is_leader = joined.leader == self.member and not joined.skip_assignment
            request = SyncGroupRequest(
                group_id=self._group,
                generation_id=self.epoch,
                member_id=self.member,
                protocol_type=CONSUMER_PROTOCOL_TYPE,
                protocol_name=joined.protocol_name,
                assignments=self._assign(admin, joined) if is_leader else [],
            )
            synced = connection.ask(request, SyncGroupResponse)
        code = known_code(synced.error_code)
        if code in _AGAIN:
            self.epoch = NO_GENERATION
            return Beat(RETRY_S)
        if code is ErrorCode.UNKNOWN_MEMBER_ID:
            return self._lost(code)
        raise_for(code, about=f"group {self._group}")
        self._is_to_join = False
        self._previous = Previous(assignment(bytes(synced.assignment)), self.epoch)
        return Beat(HEARTBEAT_S, assigned=self._previous.partitions)

    def _ask_to_join(self, connection: BrokerConnection) -> JoinGroupResponse:
        """Send a JoinGroup; on MEMBER_ID_REQUIRED (KIP-394) send it again with the id received."""
        told = {
            name: subscription(
                [self._topic], (), NO_GENERATION, "", self._previous if name == STICKY else None
            )
            for name in ASSIGNORS
        }
        request = JoinGroupRequest(
            group_id=self._group,
            session_timeout_ms=SESSION_TIMEOUT_MS,
            rebalance_timeout_ms=REBALANCE_TIMEOUT_MS,
            member_id=self.member,
            protocol_type=CONSUMER_PROTOCOL_TYPE,
            protocols=[JoinGroupRequestProtocol(name, metadata) for name, metadata in told.items()],
        )
        answer = connection.ask(request, JoinGroupResponse)
        if known_code(answer.error_code) is ErrorCode.MEMBER_ID_REQUIRED:
            self.member = request.member_id = answer.member_id
            answer = connection.ask(request, JoinGroupResponse)
        return answer

    def _assign(self, admin: GroupAdmin, joined: JoinGroupResponse) -> list[SyncGroupRequestAssignment]:
        """As the group's leader, compute the partitions of each member."""
        topics = sorted({topic for one in joined.members for topic in subscriber_of(one).topics})
        self._counts = admin.partition_counts(topics)
        self._topics_at = time.monotonic() + TOPICS_EVERY_S
        return shares(self.assignor, joined.members, self._counts)

    def _has_grown(self, admin: GroupAdmin) -> bool:
        """Whether this member leads and a topic's number of partitions is not the one that was assigned."""
        now = time.monotonic()
        if not self._counts or now < self._topics_at:
            return False
        self._topics_at = now + TOPICS_EVERY_S
        return admin.partition_counts(sorted(self._counts)) != self._counts

    def _lost(self, code: ErrorCode) -> Beat:
        if code is ErrorCode.UNKNOWN_MEMBER_ID:
            self.member = ""
        self.epoch, self._is_to_join = NO_GENERATION, True
        return Beat(RETRY_S, is_lost=True)
