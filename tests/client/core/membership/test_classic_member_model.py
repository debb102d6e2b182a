"""A Hypothesis machine that holds a member of a classic group to a model of its coordinator.

Another member leads the group, and gives this one whatever the machine draws. Rebalances begin at any moment,
answers are lost, the session ends, the application is slow. When all that ends, the application has what it
was given last, also in the middle of a run. A member whose strategy is eager never joins with partitions; a
cooperative one tells those that the application has.
"""

from enum import Enum, auto

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from odradek.base.chance import SeededChance
from odradek.base.error_codes import ErrorCode
from odradek.base.ids import TopicPartition
from odradek.client.core.cluster_view import ClusterView
from odradek.client.core.membership.classic_member import ClassicMember
from odradek.client.core.membership.classic_share import subscriber_of
from odradek.client.core.membership.member import MemberOptions
from odradek.client.core.requests import Outcome, Send
from odradek.client.core.routing import Routing
from odradek.net.request_pipeline import ConnectionFailed
from odradek.wire.message import Message
from odradek.wire.messages.consumer_protocol import ConsumerProtocolAssignment
from odradek.wire.messages.consumer_protocol import TopicPartition as Partitions
from odradek.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from odradek.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse, JoinGroupResponseMember
from odradek.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from odradek.wire.versioned import encode_versioned
from tests.client.core.membership.application import Application

TOPIC, PARTITIONS, INTERVAL_MS = "orders", 4, 3_000
GONE = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION)
NUMBERS = st.frozensets(st.integers(0, PARTITIONS - 1))
STEPS_MAX = 14
"""Requests after which a member without faults is at rest: two rounds of a cooperative rebalance."""


class Fate(Enum):
    """What becomes of a request."""

    ANSWERED = auto()
    ANSWER_LOST = auto()
    NOT_SENT = auto()
    LOADING = auto()
    FENCED = auto()
    """The session of the member ended before."""


class CoordinatorModel:
    """What the group's coordinator knows of one member."""

    def __init__(self, strategy: str) -> None:
        self.strategy = strategy
        self.target: frozenset[int] = frozenset()
        """What the leader gives it in the next generation."""
        self.generation = 0
        self.known: str | None = None
        self.is_rebalancing = False
        self._ids = 0

    def rebalance(self, numbers: frozenset[int]) -> None:
        self.target, self.is_rebalancing = numbers, True

    def answer(self, request: Message) -> Message:
        match request:
            case JoinGroupRequest():
                return self._join(request)
            case SyncGroupRequest():
                code = self._refusal(request.member_id, request.generation_id)
                return SyncGroupResponse(error_code=code, assignment=b"" if code else self._assignment())
            case HeartbeatRequest():
                return HeartbeatResponse(error_code=self._refusal(request.member_id, request.generation_id))
        raise AssertionError(f"a member that does not leave sends no {type(request).__name__}")

    def _join(self, request: JoinGroupRequest) -> JoinGroupResponse:
        if not request.member_id:
            self._ids += 1
            self.known = f"m{self._ids}"
            return JoinGroupResponse(error_code=ErrorCode.MEMBER_ID_REQUIRED, member_id=self.known)
        if request.member_id != self.known:
            return JoinGroupResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID)
        self.generation, self.is_rebalancing = self.generation + 1, False
        return JoinGroupResponse(
            generation_id=self.generation,
            protocol_name=self.strategy,
            leader="another",
            member_id=self.known,
        )

    def _refusal(self, member_id: str, generation: int) -> ErrorCode:
        if member_id != self.known:
            return ErrorCode.UNKNOWN_MEMBER_ID
        if generation != self.generation:
            return ErrorCode.ILLEGAL_GENERATION
        return ErrorCode.REBALANCE_IN_PROGRESS if self.is_rebalancing else ErrorCode.NONE

    def _assignment(self) -> bytes:
        given = [Partitions(TOPIC, sorted(self.target))] if self.target else []
        return encode_versioned(ConsumerProtocolAssignment(assigned_partitions=given), 3)


class ClassicMemberMachine(RuleBasedStateMachine):
    """The member, its application, and the model of its coordinator."""

    strategy = "range"

    def __init__(self) -> None:
        super().__init__()
        chance = SeededChance(1)
        view = ClusterView(chance)
        options = MemberOptions("billing", strategies=(self.strategy,), heartbeat_interval_ms=INTERVAL_MS)
        self.member = ClassicMember(options, view, Routing(view, chance), chance)
        self.application = Application(self.member)
        self.coordinator = CoordinatorModel(self.strategy)
        self.now_ms = 0
        self.under_way: Send | None = None
        self.member.subscribe(frozenset([TOPIC]))

    # --- what happens

    @rule(numbers=NUMBERS)
    def the_group_rebalances(self, numbers: frozenset[int]) -> None:
        self.coordinator.rebalance(numbers)

    @rule()
    def the_application_polls(self) -> None:
        self.application.step()

    @precondition(lambda self: self.under_way is None)
    @rule()
    def a_request_is_sent(self) -> None:
        due_ms = self.member.next_deadline_ms()
        if due_ms is None:
            return
        self.now_ms = max(self.now_ms, due_ms)
        (self.under_way,) = self.member.due(self.now_ms)
        if isinstance(self.under_way.request, JoinGroupRequest):
            self.joins(self.under_way.request)

    def joins(self, request: JoinGroupRequest) -> None:
        assert not self.application.has, "with an eager strategy everything is given back before"

    @precondition(lambda self: self.under_way is None)
    @rule(fate=st.sampled_from(Fate))
    def a_request_ends_at_once(self, fate: Fate) -> None:
        self.a_request_is_sent()
        if self.under_way is not None:
            self.it_ends(fate)

    @precondition(lambda self: self.under_way is not None)
    @rule(fate=st.sampled_from(Fate))
    def it_ends(self, fate: Fate) -> None:
        assert self.under_way is not None
        send, self.under_way = self.under_way, None
        if fate is Fate.FENCED:
            self.coordinator.known = None
        if fate is Fate.NOT_SENT:
            outcome = Outcome(send, error=ConnectionFailed("closed"))
        elif fate is Fate.LOADING:
            outcome = Outcome(send, _loading(send.request))
        else:
            answer = self.coordinator.answer(send.request)
            is_lost = fate is Fate.ANSWER_LOST
            outcome = Outcome(send, error=ConnectionFailed("closed")) if is_lost else Outcome(send, answer)
        self.member.outcome(outcome, self.now_ms)
        response = outcome.response
        if getattr(response, "error_code", ErrorCode.NONE) in GONE and self.application.has:
            target = self.member.target()
            assert target is not None
            assert target.is_lost, "others may have its partitions already"

    # --- what is always so

    @invariant()
    def something_is_due_unless_the_application_must_hear_first(self) -> None:
        due_ms = self.member.next_deadline_ms()
        if self.under_way is not None:
            assert due_ms is None
            assert not self.member.due(self.now_ms + 60_000)
        elif due_ms is None:
            target = self.member.target()
            assert target is not None
            assert target.is_lost
        else:
            assert due_ms <= self.now_ms + INTERVAL_MS, "a session must not end for want of heartbeats"

    def teardown(self) -> None:
        self.it_comes_to_rest()

    @rule()
    def it_comes_to_rest(self) -> None:
        """Without faults the application gets what the member was given last."""
        for _ in range(STEPS_MAX):
            while self.application.step():
                pass
            if self.under_way is None:
                self.a_request_is_sent()
            self.it_ends(Fate.ANSWERED)
        while self.application.step():
            pass
        assert self.application.has == {TopicPartition(TOPIC, number) for number in self.coordinator.target}
        assert (self.member.member, self.member.epoch) == (
            self.coordinator.known,
            self.coordinator.generation,
        )
        assert not self.coordinator.is_rebalancing


class CooperativeMemberMachine(ClassicMemberMachine):
    """A member that keeps what it has while the group rebalances (KIP-429)."""

    strategy = "cooperative-sticky"

    def joins(self, request: JoinGroupRequest) -> None:
        (protocol,) = request.protocols
        told = subscriber_of(JoinGroupResponseMember("", None, protocol.metadata))
        assert told.owned == self.application.has


def _loading(request: Message) -> Message:
    code = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    match request:
        case JoinGroupRequest():
            return JoinGroupResponse(error_code=code)
        case SyncGroupRequest():
            return SyncGroupResponse(error_code=code)
    return HeartbeatResponse(error_code=code)


SETTINGS = settings(max_examples=100, stateful_step_count=20, deadline=None)
TestClassicMember = pytest.mark.slow(ClassicMemberMachine.TestCase)
TestClassicMember.settings = SETTINGS
TestCooperativeMember = pytest.mark.slow(CooperativeMemberMachine.TestCase)
TestCooperativeMember.settings = SETTINGS
