"""Simulated classic consumers on a `Crowd`, one connection each: they join, rebalance and leave.

A rebalance as the members of a real group go through it, without the wait for their next heartbeat:

    the newcomers ask to join and are given ids, then join with them
    every other member sends a heartbeat, gets REBALANCE_IN_PROGRESS, and joins again
    each syncs when its join is answered; the leader, who was first, brings everybody's assignment
"""

import struct
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NoReturn

from peers.waiting import wait_until

from benchmarks.macro.crowd import Crowd, Frame, frame_of
from odradek.base.error_codes import ErrorCode
from odradek.wire.headers import decode_response_header
from odradek.wire.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    TopicPartition,
)
from odradek.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from odradek.wire.messages.heartbeat import HeartbeatRequest
from odradek.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from odradek.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from odradek.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from odradek.wire.versioned import encode_versioned

FIND_COORDINATOR_VERSION = 4
JOIN_VERSION = 9
SYNC_VERSION = 5
HEARTBEAT_VERSION = 4
LEAVE_VERSION = 5
SUBSCRIPTION_VERSION = 1
TIMEOUT_MS = 120_000
SERVED_TIMEOUT_S = 60.0
PROTOCOL_TYPE = "consumer"
PROTOCOL = "range"

# How answers begin: correlation id, no tags, throttle time, error; a join's continues with the generation.
ERROR = struct.Struct(">ixih")
JOINED = struct.Struct(">ixihi")


@dataclass(slots=True)
class Member:
    """One consumer; its JoinGroup is encoded once, because it is the same in every rebalance."""

    connection: int
    member_id: str
    join: bytearray
    generation: int = -1


@dataclass(slots=True)
class RawGroup:
    """A group of consumers of one topic, which get one partition each, in the order in which they came."""

    crowd: Crowd
    group_id: str
    topic: str
    members: list[Member] = field(default_factory=list)
    # The answer to the leader in the latest rebalance, checked outside of the measured time.
    leader_answer: bytes = b""

    def find(self) -> None:
        """Wait until the broker coordinates the group: it may have to make the topic of groups first."""
        connection = self.crowd.connect()
        request = frame_of(FindCoordinatorRequest(coordinator_keys=[self.group_id]), FIND_COORDINATOR_VERSION)

        def is_found() -> bool:
            answer = self.crowd.ask(connection, request)
            _, position = decode_response_header(answer, FindCoordinatorRequest.API_KEY, 4)
            found = FindCoordinatorResponse.decode(answer, FIND_COORDINATOR_VERSION, position)
            return found.coordinators[0].error_code == ErrorCode.NONE

        wait_until(is_found, f"nobody coordinates {self.group_id}", timeout_s=SERVED_TIMEOUT_S)

    def form(self, connections: Iterable[int]) -> None:
        """Form a stable group of these members; the first of them leads."""
        first, *others = connections
        wait_until(
            lambda: self._is_served(first), f"{self.group_id} is never loaded", timeout_s=SERVED_TIMEOUT_S
        )
        self.rebalance([first])
        if others:
            self.rebalance(others)

    def _is_served(self, connection: int) -> bool:
        request = HeartbeatRequest(self.group_id, 1, "nobody")
        answer = self.crowd.ask(connection, frame_of(request, HEARTBEAT_VERSION))
        return bool(ERROR.unpack_from(answer)[2] == ErrorCode.UNKNOWN_MEMBER_ID)

    def rebalance(self, newcomers: Iterable[int] = ()) -> None:
        """Let connections without a member join; returns when all members have rejoined and synced."""
        staying = list(self.members)
        self.members += self._named(list(newcomers))
        by_connection = {member.connection: member for member in self.members}
        leader = self.members[0]
        heartbeats = {member.connection: self._heartbeat(member) for member in staying}
        # The last answer to each member: 0 none or a heartbeat's, 1 a JoinGroup's, 2 a SyncGroup's.
        steps = dict.fromkeys(by_connection, 0)
        steps.update((member.connection, 1) for member in self.members if member not in staying)

        def answered(connection: int, answer: bytes) -> Frame | None:
            member = by_connection[connection]
            steps[connection] += 1
            if steps[connection] == 1:
                error = ERROR.unpack_from(answer)[2]
                if error == ErrorCode.NONE:  # it was faster than the newcomer
                    steps[connection] = 0
                    return heartbeats[connection]
                if error != ErrorCode.REBALANCE_IN_PROGRESS:
                    refused("a heartbeat", error)
                return member.join
            if steps[connection] == 2:
                _, _, error, member.generation = JOINED.unpack_from(answer)
                if error != ErrorCode.NONE:
                    refused("a join", error)
                if member is leader:
                    self.leader_answer = answer
                return self._sync(member, leads=member is leader)
            error = ERROR.unpack_from(answer)[2]
            if error != ErrorCode.NONE:
                refused("a sync", error)
            return None

        joins: dict[int, Frame] = {
            member.connection: member.join for member in self.members if member not in staying
        }
        self.crowd.exchange({**joins, **heartbeats}, answered)

    def leave(self, member: Member) -> None:
        """Let one member leave; the others do not rebalance yet."""
        request = LeaveGroupRequest(self.group_id, members=[MemberIdentity(member.member_id)])
        answer = self.crowd.ask(member.connection, frame_of(request, LEAVE_VERSION))
        error = ERROR.unpack_from(answer)[2]
        if error != ErrorCode.NONE:
            refused("leaving", error)
        self.members.remove(member)

    def check(self) -> None:
        """Assert that the latest rebalance was complete: one generation, all members known to the leader."""
        generations = {member.generation for member in self.members}
        assert len(generations) == 1, f"members are in generations {sorted(generations)}"
        joined = _joined(self.leader_answer)
        known = {each.member_id for each in joined.members}
        assert joined.leader == self.members[0].member_id, "another member leads"
        assert known == {member.member_id for member in self.members}, f"the leader knows {len(known)}"

    def _named(self, connections: list[int]) -> list[Member]:
        """New members with the ids that the broker gives them."""
        members: list[Member] = []

        def answered(connection: int, answer: bytes) -> None:
            joined = _joined(answer)
            if joined.error_code != ErrorCode.MEMBER_ID_REQUIRED:
                refused("a first join", joined.error_code)
            members.append(Member(connection, joined.member_id, self._join(joined.member_id)))

        self.crowd.exchange(dict.fromkeys(connections, self._join("")), answered)
        return sorted(members, key=lambda member: member.connection)

    def _join(self, member_id: str) -> bytearray:
        subscription = encode_versioned(ConsumerProtocolSubscription([self.topic]), SUBSCRIPTION_VERSION)
        request = JoinGroupRequest(
            self.group_id,
            TIMEOUT_MS,
            TIMEOUT_MS,
            member_id,
            protocol_type=PROTOCOL_TYPE,
            protocols=[JoinGroupRequestProtocol(PROTOCOL, subscription)],
        )
        return frame_of(request, JOIN_VERSION)

    def _heartbeat(self, member: Member) -> bytearray:
        return frame_of(
            HeartbeatRequest(self.group_id, member.generation, member.member_id), HEARTBEAT_VERSION
        )

    def _sync(self, member: Member, *, leads: bool) -> bytearray:
        assignments = []
        if leads:
            assignments = [
                SyncGroupRequestAssignment(each.member_id, self._assignment(partition))
                for partition, each in enumerate(self.members)
            ]
        request = SyncGroupRequest(
            self.group_id, member.generation, member.member_id, None, PROTOCOL_TYPE, PROTOCOL, assignments
        )
        return frame_of(request, SYNC_VERSION)

    def _assignment(self, partition: int) -> bytes:
        assigned = ConsumerProtocolAssignment([TopicPartition(self.topic, [partition])])
        return encode_versioned(assigned, SUBSCRIPTION_VERSION)


def refused(what: str, code: int) -> NoReturn:
    """Raise: the broker did not do what the scenario measures."""
    raise AssertionError(f"{what} was answered {ErrorCode(code).name}")


def _joined(answer: bytes) -> JoinGroupResponse:
    _, position = decode_response_header(answer, JoinGroupRequest.API_KEY, JOIN_VERSION)
    return JoinGroupResponse.decode(answer, JOIN_VERSION, position)
