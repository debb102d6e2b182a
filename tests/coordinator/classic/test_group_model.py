"""A group with members that come, go, stall and come back, in any order, over a log that is slow at times.

Whatever happens: the group's state is whole, nobody is answered twice, all members of one generation were
told the same, and when everybody falls silent nobody is left waiting.
"""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import TopicPartition
from odradek.base.settings import BrokerSettings
from odradek.coordinator.classic import ClassicMembership, GroupState
from odradek.wire.messages.join_group import JoinGroupResponse
from odradek.wire.messages.sync_group import SyncGroupResponse
from tests.coordinator.group_bench import GroupBench
from tests.coordinator.members import ClassicClient
from tests.coordinator.replies import CodedReply

MEMBERS_MAX = 4
T0 = TopicPartition("t", 0)

member_numbers = st.integers(0, MEMBERS_MAX - 1)


class GroupModel(RuleBasedStateMachine):
    """Members are what clients would be; the bench is the coordinator that they talk to."""

    @initialize(delay_ms=st.sampled_from([0, 3_000]))
    def begin(self, delay_ms: int) -> None:
        self.bench = GroupBench(BrokerSettings(group_initial_rebalance_delay_ms=delay_ms))
        self.members: list[ClassicClient] = []
        # Members with parked requests, and where their answers will be.
        self.joins: list[tuple[ClassicClient, CodedReply[JoinGroupResponse]]] = []
        self.syncs: list[tuple[ClassicClient, CodedReply[SyncGroupResponse]]] = []
        self.replies: list[CodedReply[JoinGroupResponse] | CodedReply[SyncGroupResponse]] = []
        # What members of a generation were told of it. A generation that never got as far as the log may
        # come again at another broker.
        self.told: dict[int, tuple[str | None, str | None]] = {}

    def group(self) -> ClassicMembership | None:
        return self.bench.group() if self.bench.state() is not None else None

    def pick(self, number: int) -> ClassicClient:
        return self.members[number % len(self.members)]

    @precondition(lambda self: len(self.members) < MEMBERS_MAX)
    @rule(is_static=st.booleans(), session_s=st.sampled_from([6, 10, 60]))
    def come(self, is_static: bool, session_s: int) -> None:
        name = f"i-{len(self.members)}" if is_static else None
        self.members.append(self.bench.member(name, session_timeout_ms=session_s * 1000))

    @precondition(lambda self: self.members)
    @rule(number=member_numbers)
    def join(self, number: int) -> None:
        member = self.pick(number)
        reply = member.join()
        self.replies.append(reply)
        self.joins.append((member, reply))
        self.collect()

    @precondition(lambda self: self.members)
    @rule(number=member_numbers)
    def crash_and_come_back(self, number: int) -> None:
        member = self.pick(number)
        member.member_id, member.generation = "", -1

    @precondition(lambda self: self.members)
    @rule(number=member_numbers, strategy=st.sampled_from(["range", "sticky"]))
    def change_what_it_offers(self, number: int, strategy: str) -> None:
        self.pick(number).protocols = ((strategy, b"1"), ("range", b"2"))

    @precondition(lambda self: self.members)
    @rule(number=member_numbers)
    def sync(self, number: int) -> None:
        member, group = self.pick(number), self.group()
        if group is None:
            return
        is_leader = group.leader_id == member.member_id
        generation = str(group.generation).encode()
        reply = member.sync(dict.fromkeys(group.members, generation) if is_leader else None)
        self.replies.append(reply)
        self.syncs.append((member, reply))
        self.collect()

    @precondition(lambda self: self.members)
    @rule(number=member_numbers)
    def heartbeat(self, number: int) -> None:
        member, group = self.pick(number), self.group()
        code = member.heartbeat()
        self.collect()
        if code is ErrorCode.NONE:
            assert group is not None
            assert group.state in (GroupState.STABLE, GroupState.COMPLETING_REBALANCE)
            assert member.generation == group.generation

    @precondition(lambda self: self.members)
    @rule(number=member_numbers)
    def leave(self, number: int) -> None:
        self.pick(number).leave()
        self.collect()

    @precondition(lambda self: self.members)
    @rule(number=member_numbers)
    def commit(self, number: int) -> None:
        member, group = self.pick(number), self.group()
        members = dict(group.members) if group is not None else {}
        is_current = (
            member.member_id in members and group is not None and group.generation == member.generation
        )
        reply = member.commit({T0: 1})
        if reply.is_answered and reply.answer[T0] is ErrorCode.NONE:
            assert is_current or (not members and member.generation < 0)

    @rule(by_ms=st.sampled_from([1, 500, 3_000, 6_000, 31_000]))
    def wait(self, by_ms: int) -> None:
        self.bench.advance(by_ms)
        self.collect()

    @rule(holds=st.booleans())
    def stall(self, holds: bool) -> None:
        if holds:
            self.bench.log.lags = True
        else:
            self.bench.log.catch_up()
        self.collect()

    @rule(failure=st.sampled_from([ErrorCode.NONE, ErrorCode.NOT_ENOUGH_REPLICAS]))
    def fail(self, failure: ErrorCode) -> None:
        self.bench.log.failure = failure

    @rule()
    def lose_patience_with_the_log(self) -> None:
        """R19: nobody knows what became of it."""
        self.bench.log.time_out()
        self.collect()

    @rule(is_replicated=st.booleans())
    def move_to_another_broker(self, is_replicated: bool) -> None:
        if is_replicated:
            self.bench.log.catch_up()
        else:
            self.bench.log.fail_over()
        self.bench.coordinator.resign_all()
        self.bench.run()
        self.collect()
        assert not self.joins
        assert not self.syncs
        self.told.clear()
        self.bench.start()

    def collect(self) -> None:
        """Let members read what they were answered."""
        for member, joined in [one for one in self.joins if one[1].is_answered]:
            self.joins.remove((member, joined))
            if joined.code is not ErrorCode.NONE:
                continue
            answer = joined.answer
            if answer.generation_id >= member.generation and answer.member_id.startswith(
                member.member_id or answer.member_id
            ):
                member.take(joined)
            told = (answer.protocol_name, answer.protocol_type)
            assert self.told.setdefault(answer.generation_id, told) == told
        for member, synced in [one for one in self.syncs if one[1].is_answered]:
            self.syncs.remove((member, synced))
            if synced.code is ErrorCode.NONE and synced.answer.assignment:
                assert int(synced.answer.assignment) <= max(member.generation, *self.told, 0)

    @invariant()
    def everybody_is_answered_once(self) -> None:
        assert all(len(reply.answers) <= 1 for reply in self.replies)

    @invariant()
    def the_state_is_whole(self) -> None:
        group = self.group()
        if group is None:
            # The log knows nothing of it, so it is forgotten: the next one of that name begins anew.
            self.told.clear()
            return
        members = group.members.values()
        assert group.joined_count == sum(member.awaiting_join is not None for member in members)
        assert group.is_rebalancing or not group.joined_count
        completing = group.state is GroupState.COMPLETING_REBALANCE
        assert completing or not any(member.awaiting_sync for member in members)
        assert all(member_id == member.member_id for member_id, member in group.members.items())
        assert group.static_members == {one.instance_id: one.member_id for one in members if one.instance_id}
        assert (group.leader_id in group.members) if group.members else group.leader_id is None
        assert group.members.keys() >= group.unsynced.keys()
        assert not group.members.keys() & group.pending_members.keys()
        # Who was told to join with a member id is waited for, as in Kafka, until the phase's time is over.
        is_awaited = bool(group.pending_members) and group.is_rebalancing
        assert group.members or group.state is GroupState.EMPTY or is_awaited or self.is_held_open()
        assert not (group.members and group.state is GroupState.EMPTY)
        assert not (group.is_rebalancing and group.has_all_joined and not self.is_held_open())

    def is_held_open(self) -> bool:
        waiting = self.bench.coordinator.purgatories.joins.describe()
        return any(operation.kind == "initial-join" for operation in waiting)

    def teardown(self) -> None:
        """When everybody falls silent, nobody is left waiting and nothing is left to do."""
        if not hasattr(self, "bench"):
            return
        self.bench.log.failure = ErrorCode.NONE
        self.bench.log.catch_up()
        self.bench.advance(600_000)
        self.collect()
        assert not self.joins
        assert not self.syncs
        group = self.group()
        assert group is None or (group.state, dict(group.members)) == (GroupState.EMPTY, {})
        assert [purgatory.delayed for purgatory in self.bench.coordinator.purgatories.all()] == [0, 0, 0, 0]


TestGroupModel = GroupModel.TestCase
TestGroupModel.settings = settings(max_examples=100, stateful_step_count=40, deadline=None)
