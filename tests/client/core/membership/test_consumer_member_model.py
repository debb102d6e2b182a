"""A Hypothesis machine that holds a member of KIP-848 to a model of its broker, which forgets nothing.

The broker says what it has assigned when that has changed since it last said so, and to a member that joins
or tells everything. Answers are lost, the member is fenced, the application is slow. When all that ends, the
application has what the broker has assigned, also in the middle of a run.
"""

from enum import Enum, auto
from uuid import UUID

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from odradek.base.chance import SeededChance
from odradek.base.error_codes import ErrorCode
from odradek.base.ids import TopicPartition
from odradek.client.core.cluster_view import ClusterView
from odradek.client.core.membership.consumer_member import ConsumerMember
from odradek.client.core.membership.member import MemberOptions
from odradek.client.core.requests import Outcome, Send
from odradek.client.core.routing import Routing
from odradek.net.request_pipeline import ConnectionFailed
from odradek.wire.messages.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from odradek.wire.messages.metadata import (
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from tests.client.core.membership.application import Application

TOPIC, TOPIC_ID, PARTITIONS = "orders", UUID(int=7), 4
INTERVAL_MS = 1_000
NUMBERS = st.frozensets(st.integers(0, PARTITIONS - 1))
STEPS_MAX = 8
"""Heartbeats and steps of the application after which a member without faults is at rest."""


class Fate(Enum):
    """What becomes of a heartbeat."""

    ANSWERED = auto()
    ANSWER_LOST = auto()
    NOT_SENT = auto()
    LOADING = auto()
    FENCED = auto()
    """The session of the member ended before."""


class BrokerModel:
    """What the group's coordinator knows of one member."""

    def __init__(self) -> None:
        self.target: frozenset[int] = frozenset()
        self.epoch = 0
        """0: it does not know the member."""
        self.owned: frozenset[int] = frozenset()
        """What the member said to have."""
        self.subscribed: list[str] = []
        self._said: frozenset[int] | None = None

    def assign(self, numbers: frozenset[int]) -> None:
        self.target = numbers
        if self.epoch:
            self.epoch += 1

    def answer(self, request: ConsumerGroupHeartbeatRequest) -> ConsumerGroupHeartbeatResponse:
        names, told = request.subscribed_topic_names, request.topic_partitions
        if request.member_epoch == 0:
            assert names is not None, "a member that joins tells its topics"
            assert told == [], "and has nothing"
            assert request.rebalance_timeout_ms != -1, "and tells its timeout"
            self.epoch, self._said = max(1, self.epoch), None
        elif not self.epoch:
            return ConsumerGroupHeartbeatResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID)
        if names is not None:
            self.subscribed = names
        if told is not None:
            self.owned = frozenset(number for one in told for number in one.partitions)
        is_full = names is not None and told is not None and request.rebalance_timeout_ms != -1
        response = ConsumerGroupHeartbeatResponse(member_epoch=self.epoch, heartbeat_interval_ms=INTERVAL_MS)
        if is_full or self._said != self.target:
            numbers = sorted(self.target)
            response.assignment = Assignment([TopicPartitions(TOPIC_ID, numbers)] if numbers else [])
            self._said = self.target
        return response


class ConsumerMemberMachine(RuleBasedStateMachine):
    """The member, its application, and the model of its broker."""

    def __init__(self) -> None:
        super().__init__()
        chance = SeededChance(1)
        view = ClusterView(chance)
        view.want([TOPIC])
        (send,) = view.due(0)
        partitions = [
            MetadataResponsePartition(partition_index=number, leader_id=1) for number in range(PARTITIONS)
        ]
        topic = MetadataResponseTopic(name=TOPIC, topic_id=TOPIC_ID, partitions=partitions)
        view.outcome(Outcome(send, MetadataResponse(topics=[topic])), 0)
        self.member = ConsumerMember(MemberOptions("billing"), view, Routing(view, chance), chance)
        self.application = Application(self.member)
        self.broker = BrokerModel()
        self.now_ms = 0
        self.topics = frozenset([TOPIC])
        self.member.subscribe(self.topics)
        self.under_way: Send | None = None

    # --- what happens

    @rule(numbers=NUMBERS)
    def the_broker_assigns(self, numbers: frozenset[int]) -> None:
        self.broker.assign(numbers)

    @rule(is_more=st.booleans())
    def the_application_subscribes(self, is_more: bool) -> None:
        self.topics = frozenset([TOPIC, "others"] if is_more else [TOPIC])
        self.member.subscribe(self.topics)

    @rule()
    def the_application_polls(self) -> None:
        self.application.step()

    @precondition(lambda self: self.under_way is None)
    @rule()
    def a_heartbeat_is_sent(self) -> None:
        due_ms = self.member.next_deadline_ms()
        if due_ms is None:
            return
        self.now_ms = max(self.now_ms, due_ms)
        (self.under_way,) = self.member.due(self.now_ms)

    @precondition(lambda self: self.under_way is None)
    @rule(fate=st.sampled_from(Fate))
    def a_heartbeat_ends_at_once(self, fate: Fate) -> None:
        self.a_heartbeat_is_sent()
        if self.under_way is not None:
            self.it_ends(fate)

    @precondition(lambda self: self.under_way is not None)
    @rule(fate=st.sampled_from(Fate))
    def it_ends(self, fate: Fate) -> None:
        assert self.under_way is not None
        send, self.under_way = self.under_way, None
        assert isinstance(send.request, ConsumerGroupHeartbeatRequest)
        if fate is Fate.FENCED:
            self.broker.epoch = 0
        if fate is Fate.LOADING:
            refused = ConsumerGroupHeartbeatResponse(error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
            self.member.outcome(Outcome(send, refused), self.now_ms)
        elif fate is Fate.NOT_SENT:
            self.member.outcome(Outcome(send, error=ConnectionFailed("closed")), self.now_ms)
        else:
            answer = self.broker.answer(send.request)
            is_lost = fate is Fate.ANSWER_LOST
            outcome = Outcome(send, error=ConnectionFailed("closed")) if is_lost else Outcome(send, answer)
            self.member.outcome(outcome, self.now_ms)

    # --- what is always so

    @invariant()
    def one_heartbeat_is_under_way_at_a_time(self) -> None:
        if self.under_way is not None:
            assert not self.member.due(self.now_ms + 60_000)
            assert self.member.next_deadline_ms() is None

    @invariant()
    def what_is_lost_is_told_before_the_member_joins_again(self) -> None:
        target = self.member.target()
        if target is not None and target.is_lost and not self.member.is_joined and self.under_way is None:
            assert self.member.next_deadline_ms() is None

    def teardown(self) -> None:
        self.it_comes_to_rest()

    @rule()
    def it_comes_to_rest(self) -> None:
        """Without faults the application gets what the broker has assigned, and reports it to the broker."""
        for _ in range(STEPS_MAX):
            while self.application.step():
                pass
            if self.under_way is None:
                self.a_heartbeat_is_sent()
            self.it_ends(Fate.ANSWERED)
        assert self.application.has == {TopicPartition(TOPIC, number) for number in self.broker.target}
        assert self.broker.owned == self.broker.target
        assert self.broker.subscribed == sorted(self.topics)
        assert self.member.is_joined
        assert self.member.epoch == self.broker.epoch


TestConsumerMember = pytest.mark.slow(ConsumerMemberMachine.TestCase)
TestConsumerMember.settings = settings(max_examples=200, stateful_step_count=20, deadline=None)
