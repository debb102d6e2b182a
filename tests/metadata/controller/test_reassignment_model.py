"""A Hypothesis machine that moves replicas while brokers die, leaders write their ISRs and topics go.

It holds the controller's core to what reassignment promises (KIP-455):

- a partition has its original replicas, those that it is to have, or both while it moves;
- what adds or removes a replica is cleared when a move ends; a move ends when all its replicas are in sync;
- the controller lets nobody into an ISR, takes nobody out who stays, and leaves nobody without a leader;
- when a move ends the whole target is in sync, so that no partition is taken below min ISR by that;
- a live broker holds the replicas that it is assigned and no others: whoever loses one is told to delete it;
- the store has what the controller knows, so that the next one goes on.
"""

from dataclasses import dataclass, replace

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import exhaust
from odradek.base.ids import NO_BROKER, BrokerId, TopicPartition
from odradek.metadata import codec, paths
from odradek.metadata.controller import RequestArrived
from odradek.metadata.controller.requests import (
    AlterReassignments,
    CreateTopics,
    DeleteTopics,
    ElectionType,
    ElectLeaders,
    ListReassignments,
    NewTopic,
    PartitionOutcomes,
    Reassignments,
    TopicOutcomes,
    TopicToDelete,
)
from odradek.metadata.eligible import eligible_after
from odradek.metadata.image import PartitionImage
from odradek.metadata.orders import LeaderAndIsr, StopReplica
from odradek.metadata.startup import load_image
from odradek.metadata.store import Create, Data, GetData, SetData
from tests.metadata.controllers import Cluster

BROKERS = (1, 2, 3, 4, 5)
MIN_ISR = 2
REPLICAS = st.lists(st.sampled_from(BROKERS), min_size=1, max_size=4, unique=True).map(tuple)
TOPICS = ("a", "b")

Replicas = tuple[BrokerId, ...]


@dataclass
class Moving:
    """What the model knows of a partition."""

    origin: frozenset[BrokerId]
    """The replicas that a cancellation leaves."""
    target: Replicas | None = None
    """The replicas that it is to have, in order; None if it is not being moved."""


class ReassignmentModel(RuleBasedStateMachine):
    """Two topics of one partition on five brokers."""

    def __init__(self) -> None:
        super().__init__()
        self.cluster = Cluster()
        self.known: dict[TopicPartition, Moving] = {}
        self.held: dict[BrokerId, set[TopicPartition]] = {one: set() for one in BROKERS}
        """The replicas that each broker has a log of, by the orders that it got."""
        self.heard = dict.fromkeys(BROKERS, 0)
        self.may_be_in_sync: dict[TopicPartition, set[BrokerId]] = {}
        """By the state before the last rule, and by what leaders have written since."""
        self.written: dict[TopicPartition, Replicas] = {}
        """The ISRs that leaders have written in the last rule."""

    @initialize()
    def start_all(self) -> None:
        self.cluster.start(*BROKERS)

    # --- what the rules use

    @property
    def live(self) -> list[BrokerId]:
        return [one for one, member in self.cluster.members.items() if member.session is not None]

    def stored(self, named: TopicPartition) -> tuple[PartitionImage, int]:
        """The partition's state in the store, with its version."""
        session = self.cluster.store.engine.open_session()
        found = self.cluster.store.engine.apply(session, GetData(paths.partition_state(*named))).result
        assert isinstance(found, Data)
        state = codec.decode_state(found.data)
        known = self.cluster.partition(*named)
        written = replace(
            known,
            leader=state.leader,
            leader_epoch=state.leader_epoch,
            isr=state.isr,
            elr=state.elr,
            last_known_leader=state.last_known_leader,
            unclean_epoch=state.unclean_epoch,
        )
        return written, found.stat.version

    def write_isr(self, named: TopicPartition, isr: Replicas) -> None:
        """The leader writes this ISR, and announces it, as `replication` does."""
        state, version = self.stored(named)
        self.written[named] = isr
        elr = eligible_after(state.isr, state.elr, isr, min(MIN_ISR, len(state.replicas)))
        after = codec.encode_state(replace(state, isr=isr, elr=elr), 1)
        engine = self.cluster.store.engine
        session = engine.open_session()
        notice = Create(paths.ISR_CHANGE_PREFIX, codec.encode_isr_change([named]), sequential=True)
        for operation in (SetData(paths.partition_state(*named), after, version), notice):
            self.cluster.store.tell(engine.apply(session, operation).events)

    def alter(self, named: TopicPartition, target: Replicas | None) -> ErrorCode:
        before, _ = self.stored(named)
        asked = AlterReassignments(((named, target),))
        answer = self.cluster.ask_for(PartitionOutcomes, asked)
        after, _ = self.stored(named)
        if before.leader != NO_BROKER:
            assert after.leader != NO_BROKER, "whoever is led stays led"
        assert set(before.isr) & set(after.replicas) & set(self.live) <= set(after.isr)
        return answer.partitions[named].error

    def note(self, named: TopicPartition, target: Replicas | None, error: ErrorCode) -> None:
        """Let the model follow a request of this outcome."""
        moving = self.known[named]
        if error is not ErrorCode.NONE:
            return
        if target is None:
            moving.target = None
        elif set(target) == moving.origin:
            assert self.cluster.partition(*named).replicas == target, "nothing is to be copied"
            moving.target = None
        else:
            moving.target = target

    # --- rules

    @precondition(lambda self: self.live and len(self.known) < len(TOPICS))
    @rule(data=st.data())
    def create(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from([one for one in TOPICS if TopicPartition(one, 0) not in self.known]))
        live = st.lists(st.sampled_from(self.live), min_size=1, max_size=3, unique=True).map(tuple)
        replicas = data.draw(live)
        topic = NewTopic(name, assignments=((0, replicas),), configs=(("min.insync.replicas", str(MIN_ISR)),))
        (outcome,) = self.cluster.ask_for(TopicOutcomes, CreateTopics((topic,))).topics
        if outcome.error is ErrorCode.NONE:  # a topic of that name may still wait for its deletion
            self.known[TopicPartition(name, 0)] = Moving(frozenset(replicas))

    @precondition(lambda self: self.live and self.known)
    @rule(data=st.data(), replicas=REPLICAS)
    def reassign(self, data: st.DataObject, replicas: Replicas) -> None:
        named = data.draw(st.sampled_from(sorted(self.known)))
        self.note(named, replicas, self.alter(named, replicas))

    @precondition(lambda self: self.live and self.known)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        named = data.draw(st.sampled_from(sorted(self.known)))
        was_moving = self.known[named].target is not None
        error = self.alter(named, None)
        if not was_moving:
            assert error is ErrorCode.NO_REASSIGNMENT_IN_PROGRESS
        self.note(named, None, error)

    @precondition(lambda self: self.live and self.known)
    @rule(data=st.data(), replicas=st.none() | REPLICAS)
    def reassign_while_the_leader_writes(self, data: st.DataObject, replicas: Replicas | None) -> None:
        """The request is under way in the store when the ISR changes: decided again, or refused."""
        named = data.draw(st.sampled_from(sorted(self.known)))
        isr = self._drawn_isr(data, named)
        self.cluster.holding = True
        controller, number = self.cluster.controller, 1_000_000 + len(self.cluster.controller.answers)
        controller.event(RequestArrived(number, AlterReassignments(((named, replicas),))))
        if isr is not None:
            self.write_isr(named, isr)
        self.cluster.holding = False
        self.cluster.store.deliver()
        answer = controller.answers[number]
        assert isinstance(answer, PartitionOutcomes)
        self.note(named, replicas, answer.partitions[named].error)

    @precondition(lambda self: self.live and self.known)
    @rule(data=st.data())
    def change_isr(self, data: st.DataObject) -> None:
        named = data.draw(st.sampled_from(sorted(self.known)))
        isr = self._drawn_isr(data, named)
        if isr is not None:
            self.write_isr(named, isr)
            self.cluster.store.deliver()

    def _drawn_isr(self, data: st.DataObject, named: TopicPartition) -> Replicas | None:
        """An ISR that the partition's leader might write, if there is one: itself, and live replicas."""
        state, _ = self.stored(named)
        if state.leader not in self.live:
            return None
        others = [one for one in state.replicas if one != state.leader and one in self.live]
        joined = data.draw(st.lists(st.sampled_from(others), unique=True)) if others else []
        return tuple(one for one in state.replicas if one == state.leader or one in joined)

    @precondition(lambda self: len(self.live) > 1)
    @rule(data=st.data())
    def kill(self, data: st.DataObject) -> None:
        self.cluster.kill(data.draw(st.sampled_from(self.live)))

    @precondition(lambda self: len(self.live) < len(BROKERS))
    @rule(data=st.data(), clean_stop=st.booleans())
    def restart(self, data: st.DataObject, clean_stop: bool) -> None:
        self._restart(data.draw(st.sampled_from(sorted(set(BROKERS) - set(self.live)))), clean_stop)

    def _restart(self, broker_id: BrokerId, clean_stop: bool) -> None:
        self.held[broker_id].clear()  # what it is not told to hold, it sets aside
        self.heard[broker_id] = 0
        self.cluster.start(broker_id, clean_stop=clean_stop)

    @precondition(lambda self: self.live and self.known)
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        named = data.draw(st.sampled_from(sorted(self.known)))
        answer = self.cluster.ask_for(TopicOutcomes, DeleteTopics((TopicToDelete(named.topic),)))
        assert [one.error for one in answer.topics] == [ErrorCode.NONE]
        del self.known[named]
        self.may_be_in_sync.pop(named, None)

    @precondition(lambda self: self.live)
    @rule()
    def elect_preferred(self) -> None:
        self.cluster.ask(ElectLeaders(ElectionType.PREFERRED, None))

    # --- invariants

    @invariant()
    def replicas_are_the_original_or_the_target(self) -> None:
        for named, moving in self.known.items():
            state = self.cluster.partition(*named)
            is_under_way = bool(state.adding_replicas or state.removing_replicas)
            origin = frozenset(state.replicas) - set(state.adding_replicas)
            if moving.target is not None and not is_under_way:
                assert state.replicas == moving.target, "the move has ended"
                assert set(state.isr) == set(moving.target), "all are in sync then: it is not below min ISR"
                moving.origin, moving.target = frozenset(moving.target), None
            assert origin == moving.origin if is_under_way else frozenset(state.replicas) == moving.origin
            if is_under_way:
                assert (
                    tuple(one for one in state.replicas if one not in state.removing_replicas)
                    == moving.target
                )
                assert set(state.adding_replicas) | set(state.removing_replicas) <= set(state.replicas)
                assert not moving.origin & set(state.adding_replicas)
            assert len(set(state.replicas)) == len(state.replicas)

    @invariant()
    def who_leads_and_is_in_sync_is_a_replica(self) -> None:
        for named in self.known:
            state = self.cluster.partition(*named)
            assert {*state.isr, *state.elr} <= set(state.replicas)
            assert state.leader == NO_BROKER or state.leader in state.isr
            assert state.leader == NO_BROKER or state.leader in self.live

    @invariant()
    def the_controller_lets_nobody_into_an_isr(self) -> None:
        for named in self.known:
            state = self.cluster.partition(*named)
            before = self.may_be_in_sync.get(named, set(state.isr))
            assert set(state.isr) <= before | set(self.written.get(named, ()))
            self.may_be_in_sync[named] = {*state.isr, *state.elr, state.last_known_leader}
        self.written.clear()

    @invariant()
    def live_brokers_hold_what_they_are_assigned(self) -> None:
        if not self.live:
            return
        for broker_id in self.live:
            member = self.cluster.members[broker_id]
            held = self.held[broker_id]
            for message in member.received[self.heard[broker_id] :]:
                if isinstance(message, LeaderAndIsr):
                    held |= {
                        one.topic_partition for one in message.partitions if broker_id in one.state.replicas
                    }
                elif isinstance(message, StopReplica):
                    held -= {one.topic_partition for one in message.partitions if one.delete}
            self.heard[broker_id] = len(member.received)
            assigned = {one for one in self.known if broker_id in self.cluster.partition(*one).replicas}
            assert held & set(self.known) == assigned, f"broker {broker_id}"

    @invariant()
    def the_store_has_what_the_controller_knows(self) -> None:
        if not self.live:
            return
        engine = self.cluster.store.engine
        session = engine.open_session()
        image = exhaust(load_image(), lambda operation: engine.apply(session, operation).result)
        for named in self.known:
            assert image.partition(named) == self.cluster.partition(*named)

    @invariant()
    def what_moves_is_listed(self) -> None:
        if not self.live:
            return
        listed = self.cluster.ask_for(Reassignments, ListReassignments(None)).partitions
        assert set(listed) == {one for one, moving in self.known.items() if moving.target is not None}

    def teardown(self) -> None:
        """When all brokers are back and in sync, every move has ended."""
        for broker_id in sorted(set(BROKERS) - set(self.live)):
            self._restart(broker_id, True)
        for named in self.known:
            state, _ = self.stored(named)
            if state.leader != NO_BROKER:
                self.write_isr(named, state.replicas)
                self.cluster.store.deliver()
                assert not self.cluster.partition(*named).adding_replicas
                assert not self.cluster.partition(*named).removing_replicas
        self.replicas_are_the_original_or_the_target()
        self.live_brokers_hold_what_they_are_assigned()


ReassignmentModel.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestReassignmentModel = ReassignmentModel.TestCase
