"""A group of two members: what `examination` asks of groups of the classic protocol.

a joins and syncs              generation 1
b joins, a joins again         generation 2; with generation 1 a may neither sync, nor beat, nor commit
a joins again, b leaves        a waits no longer: generation 3
c joins and waits for a, and the coordinator moves    c is told so; a is a member still, with its offset
"""

from __future__ import annotations

from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import Offset, TopicPartition
from odradek.base.topic_names import OFFSETS_TOPIC
from odradek.testing.sim.client import SimRequest
from odradek.testing.sim.trial.checkers.examiner import Examiner, Unanswered
from odradek.wire.messages.heartbeat import HeartbeatRequest
from odradek.wire.messages.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from odradek.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from odradek.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from odradek.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from odradek.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment

GROUP: Final = "examined"
SESSION_MS: Final = 30_000
PARTITION: Final = TopicPartition(OFFSETS_TOPIC, 0)
OFFSET: Final = 5
AT_ONCE_MS: Final = 500


class _Member:
    """A member, as it knows itself."""

    def __init__(self, examiner: Examiner) -> None:
        self.examiner = examiner
        self.member_id = ""
        self.generation = -1

    def begin_join(self) -> SimRequest[JoinGroupResponse]:
        """Send a JoinGroup, under the id that a first one gets."""
        if not self.member_id:
            self.member_id = self.examiner.ask(self.examiner.leader(PARTITION), self._join()).member_id
        return self.examiner.send(self.examiner.leader(PARTITION), self._join())

    def joined(self, sent: SimRequest[JoinGroupResponse], within_ms: int | None = None) -> ErrorCode:
        """Wait for the answer to a JoinGroup."""
        response = self.examiner.answer_to(sent, within_ms)
        if response.error_code == ErrorCode.NONE:
            self.generation = response.generation_id
        return ErrorCode(response.error_code)

    def _join(self) -> JoinGroupRequest:
        protocols = [JoinGroupRequestProtocol("range", b"")]
        return JoinGroupRequest(
            GROUP, SESSION_MS, SESSION_MS, self.member_id, None, "consumer", protocols=protocols
        )

    def sync(self, generation: int, others: tuple[str, ...] = ()) -> ErrorCode:
        """Sync, with an assignment for everybody."""
        given = [SyncGroupRequestAssignment(one, b"") for one in (self.member_id, *others)]
        request = SyncGroupRequest(GROUP, generation, self.member_id, assignments=given)
        return ErrorCode(self.examiner.ask(self.examiner.leader(PARTITION), request).error_code)

    def beat(self, generation: int) -> ErrorCode:
        """Send a heartbeat."""
        request = HeartbeatRequest(GROUP, generation, self.member_id)
        return ErrorCode(self.examiner.ask(self.examiner.leader(PARTITION), request).error_code)

    def commit(self, generation: int, offset: Offset) -> ErrorCode:
        """Commit an offset."""
        place = self.examiner.place
        partition = OffsetCommitRequestPartition(place.partition, offset)
        topic = OffsetCommitRequestTopic(place.topic, place.topic_id, [partition])
        request = OffsetCommitRequest(GROUP, generation, self.member_id, topics=[topic])
        response = self.examiner.ask(self.examiner.leader(PARTITION), request)
        return ErrorCode(response.topics[0].partitions[0].error_code)

    def leave(self) -> ErrorCode:
        """Leave the group."""
        request = LeaveGroupRequest(GROUP, members=[MemberIdentity(self.member_id)])
        return ErrorCode(self.examiner.ask(self.examiner.leader(PARTITION), request).error_code)


def examine_groups(examiner: Examiner) -> None:
    """The life of a group; see the module's head."""
    examiner.make_offsets_topic()
    expect, none = examiner.expect, ErrorCode.NONE
    a, b, c, d = (_Member(examiner) for _ in range(4))
    expect("the first member joins", a.joined(a.begin_join()), none)
    expect("the first member syncs", a.sync(a.generation), none)
    earlier, waiting = a.generation, b.begin_join()
    expect("a heartbeat while a member joins", a.beat(earlier), ErrorCode.REBALANCE_IN_PROGRESS)
    expect("the first member joins again", a.joined(a.begin_join(), AT_ONCE_MS), none)
    expect("the second member joins", b.joined(waiting, AT_ONCE_MS), none)
    expect("a sync of an earlier generation", a.sync(earlier), ErrorCode.ILLEGAL_GENERATION)
    expect("a heartbeat of an earlier generation", a.beat(earlier), ErrorCode.ILLEGAL_GENERATION)
    expect("a commit of an earlier generation", a.commit(earlier, 1), ErrorCode.ILLEGAL_GENERATION)
    expect("the first member syncs again", a.sync(a.generation, (b.member_id,)), none)
    expect("the second member syncs", b.sync(b.generation), none)
    rejoining = a.begin_join()
    expect("the second member leaves", b.leave(), none)
    expect("a join that waits for nobody any more", a.joined(rejoining, AT_ONCE_MS), none)
    waiting = c.begin_join()
    expect("the first member joins with a third", a.joined(a.begin_join(), AT_ONCE_MS), none)
    expect("the third member joins", c.joined(waiting, AT_ONCE_MS), none)
    expect("the first member syncs with a third", a.sync(a.generation, (c.member_id,)), none)
    expect("the third member leaves", c.leave(), none)
    expect("a heartbeat after a member left", a.beat(a.generation), ErrorCode.REBALANCE_IN_PROGRESS)
    expect("the last member joins", a.joined(a.begin_join(), AT_ONCE_MS), none)
    expect("the last member syncs", a.sync(a.generation), none)
    expect("the last member commits", a.commit(a.generation, OFFSET), none)
    waiting = d.begin_join()
    examiner.move_leader(PARTITION)
    expect("a join whose coordinator moved", d.joined(waiting, AT_ONCE_MS), ErrorCode.NOT_COORDINATOR)
    beaten = examiner.settled(lambda: a.beat(a.generation))
    expect("a heartbeat where the coordinator has moved", beaten, none)
    expect("the offset where the coordinator has moved", _committed(examiner), OFFSET)


def _committed(examiner: Examiner) -> Offset:
    place = examiner.place
    topic = OffsetFetchRequestTopics(place.topic, place.topic_id, [place.partition])
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(GROUP, None, -1, [topic])])
    (group,) = examiner.ask(examiner.leader(PARTITION), request).groups
    if group.error_code != ErrorCode.NONE:
        raise Unanswered(f"the offset of {GROUP} is answered {ErrorCode(group.error_code).name}")
    return group.topics[0].partitions[0].committed_offset
