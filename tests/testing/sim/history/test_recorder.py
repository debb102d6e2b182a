"""What a recorder sees of histories: faults, elections, truncations, messages and waiting requests."""

from collections.abc import Iterable
from typing import TypeVar

import pytest

from odradek.base.ids import TopicPartition
from odradek.testing.sim import World
from odradek.testing.sim.history.cluster_state import BrokerState, Phase, Role
from odradek.testing.sim.history.events import (
    Answered,
    BrokerChanged,
    Change,
    ControllerElected,
    Event,
    Faulted,
    Registered,
    ReplicaChanged,
    Requested,
    StateStored,
    Unanswered,
    apply,
)
from odradek.testing.sim.history.history import History
from odradek.testing.sim.history.recorder import Recorder
from odradek.testing.sim.observer import Fault, FaultKind
from odradek.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from odradek.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from odradek.wire.messages.find_coordinator import FindCoordinatorRequest
from tools import replication_history

P = TopicPartition("orders", 0)
SEED_OF_A_LOSS = 3
"""With this seed a power loss takes the last record, which was not synced."""
KindT = TypeVar("KindT", bound=Event)


@pytest.fixture(scope="module")
def history() -> History:
    """A leader dies cut from its followers, and truncates when it comes back."""
    return replication_history.run().history


def of(kind: type[KindT], events: Iterable[Event]) -> list[KindT]:
    return [event for event in events if isinstance(event, kind)]


def changed(events: Iterable[Event], broker: int, change: Change) -> list[ReplicaChanged]:
    return [one for one in of(ReplicaChanged, events) if one.broker == broker and change in one.changes]


def made_topic(world: World, partitions: int = 1, replicas: int = 3) -> None:
    node = next(node for node in world.nodes.values() if node.core.controller.is_active)
    request = CreateTopicsRequest([CreatableTopic("orders", partitions, replicas)], timeout_ms=5_000)
    assert not node.ask(request).topics[0].error_code
    world.advance(1_500)


# --- the history of a truncation


@pytest.mark.slow  # it runs the history
def test_an_election_follows_the_death_of_the_leader(history: History) -> None:
    events = list(history.events)
    (killed,) = [one for one in of(Faulted, events) if one.fault == Fault(FaultKind.KILLED, 1)]
    later = events[killed.number :]
    (ended,) = [one for one in of(Registered, later) if one.epoch < 0]
    (elected,) = [one for one in of(StateStored, later) if one.is_election]
    (leads,) = changed(later, 2, Change.BECAME_LEADER)
    assert elected.before is not None
    assert elected.after is not None
    assert leads.after is not None
    assert (elected.before.leader, elected.before.epoch) == (1, 0)
    assert (elected.after.leader, elected.after.epoch, elected.after.isr) == (2, 1, (2, 3))
    assert (leads.after.role, leads.after.epoch, leads.after.isr) == (Role.LEADER, 1, (2, 3))
    assert killed.number < ended.number < elected.number < leads.number


@pytest.mark.slow
def test_a_truncation_says_from_where_to_where_and_why(history: History) -> None:
    """X4: the log is cut where the leader's answer says that the follower's last epoch ends."""
    (cut,) = [event for event in of(ReplicaChanged, history.events) if Change.TRUNCATED in event.changes]
    assert cut.broker == 1
    assert cut.before is not None
    assert cut.after is not None
    assert (cut.before.end, cut.before.epochs) == (3, ((0, 0),))
    assert (cut.after.end, cut.after.epochs) == (1, ((0, 0),))
    assert cut.reason == "broker 2 answered: epoch 0 ends at 1"
    told = history.events[cut.preceded_by]
    assert isinstance(told, Answered)
    assert (told.sender, told.receiver, told.message.parts) == (2, 1, ((P, "epoch 0 ends at 1"),))
    asked = history.events[told.request]
    assert isinstance(asked, Requested)
    assert asked.message.parts == ((P, "where does epoch 0 end?"),)
    now = history.now.replicas
    assert {now[broker, P].epochs for broker in (1, 2, 3)} == {((0, 0), (1, 1))}


@pytest.mark.slow
def test_an_acks_all_record_waits_for_both_followers(history: History) -> None:
    """P3, R7: the produce waits until HW is above its record, and HW waits for the fetches that follow it."""
    (appended, *_) = changed(history.events, 1, Change.APPENDED)
    assert "HW 0 < 1, behind: broker 2" in appended.waits_for
    (reached, *_) = [
        one
        for one in changed(history.events, 1, Change.HIGH_WATERMARK)
        if one.after and one.after.high_watermark == 1
    ]
    fetches = [
        one
        for one in of(Requested, history.events)
        if (P, "at offset 1, last epoch 0") in one.message.parts and one.receiver == 1
    ]
    answers = [one for one in of(Answered, history.events) if one.receiver == "10.0.0.1"]
    produced, consumed = (
        next(one for one in answers if one.message.api == api and one.message.parts)
        for api in ("Produce", "Fetch")
    )
    assert {one.sender for one in fetches if one.number < reached.number} == {2, 3}
    assert appended.number < reached.number < min(produced.number, consumed.number)
    assert consumed.message.parts == ((P, "offset 0, HW 1"),)


@pytest.mark.slow
def test_bytes_that_a_cut_holds_back_are_not_shown_before_they_arrive(history: History) -> None:
    """The leader's last records were on their way when it was cut off; they reach nobody who may use them."""
    held = [one for one in of(Answered, history.events) if (P, "offsets 1-2, HW 1") in one.message.parts]
    (healed,) = [one for one in of(Faulted, history.events) if one.fault.kind is FaultKind.HEALED]
    assert {one.receiver for one in held} == {2, 3}
    assert all(one.number > healed.number for one in held)
    assert not changed(list(history.events)[held[0].number :], 2, Change.APPENDED)


@pytest.mark.slow
def test_the_events_lead_from_the_base_to_the_present(history: History) -> None:
    state = History().base
    for event in history.events:
        apply(event, state)
    assert state == history.now
    assert [event.number for event in history.events] == list(range(len(history.events)))


# --- brokers and faults


def test_lives_of_brokers_and_controllers() -> None:
    world = World()
    recorder = Recorder(world)
    world.node(1)
    world.node(2)
    world.stop(1)
    world.settle()
    events = recorder.history.events
    phases = [
        one.after.phase
        for one in of(BrokerChanged, events)
        if one.broker == 1 and one.before.phase is not one.after.phase
    ]
    assert phases == [Phase.STARTING, Phase.SERVING, Phase.STOPPING, Phase.DOWN]
    controllers = [(one.broker, one.epoch) for one in of(ControllerElected, events)]
    assert controllers == [(1, 1), (-1, 1), (2, 2)]
    now = recorder.history.now
    assert (now.controller, now.controller_epoch, list(now.registered)) == (2, 2, [2])
    assert [one for one, state in now.brokers.items() if state.is_controller] == [2]


def test_a_process_that_stands_still() -> None:
    world = World(brokers=1)
    recorder = Recorder(world)
    world.pause(1)
    assert recorder.history.now.brokers[1] == BrokerState(Phase.PAUSED, is_controller=True)
    world.resume(1)
    world.advance(10_000)
    assert recorder.history.now.brokers[1] == BrokerState(Phase.SERVING, is_controller=True)


def test_the_state_of_the_network() -> None:
    world = World(brokers=3)
    recorder = Recorder(world)
    world.cut(1, 2, one_way=True)
    world.cut(2, 3)
    world.isolate(3)
    world.cut_store(1)
    now = recorder.history.now
    assert list(now.cuts) == [(1, 2), (2, 3), (3, 2)]
    assert list(now.isolated) == [3]
    assert list(now.cut_from_store) == [1]
    world.heal()
    assert not [*now.cuts, *now.isolated, *now.cut_from_store]
    world.cut(1, 2)
    world.cut(1, 3)
    world.isolate(2)
    world.cut_store(2)
    world.cut_store(3)
    world.links.mend(2, 1)
    world.links.rejoin(2)
    world.mend_store(2)
    assert (list(now.cuts), list(now.isolated), list(now.cut_from_store)) == ([(1, 3), (3, 1)], [], [3])
    world.links.slow(1, 2, 500)
    world.links.drop(1, 2)
    world.jump_clock(2, -3_600_000)
    world.expire_session(2)
    world.lose_store_answer(1, executed=True)
    world.nodes[1].faults.full_disk()
    assert [one.fault for one in of(Faulted, recorder.history.events)][-6:] == [
        Fault(FaultKind.SLOWED, 1, 2, "500 ms"),
        Fault(FaultKind.DROPPED, 1, 2),
        Fault(FaultKind.CLOCK_SET, 2, detail="-3,600,000 ms"),
        Fault(FaultKind.SESSION_EXPIRED, 2),
        Fault(FaultKind.STORE_ANSWER_LOST, 1, detail="executed"),
        Fault(FaultKind.SET, 1, detail="full_disk"),
    ]


def test_another_life_opens_what_the_disk_has_kept() -> None:
    """A broker loses power before a record is synced: its log is opened with less than it had."""
    world = World(SEED_OF_A_LOSS, brokers=1)
    recorder = Recorder(world)
    made_topic(world, replicas=1)
    replication_history.produce(world.nodes[1], 1, b"kept")
    world.nodes[1].restarted()
    replication_history.produce(world.nodes[1], 1, b"lost")
    world.settle()
    world.lose_power(1)
    assert recorder.history.now.replicas[1, P].end == 2, "what it had last is still shown"
    assert recorder.history.now.brokers[1].phase is Phase.DOWN
    since = recorder.history.next_number
    world.node(1)
    opened, *_ = changed(list(recorder.history.events)[since:], 1, Change.OPENED)
    assert opened.before is not None
    assert opened.after is not None
    assert (opened.before.end, opened.after.end) == (2, 1)
    assert Change.TRUNCATED not in opened.changes, "no leader has asked for it"


def test_a_deleted_topic_is_gone() -> None:
    world = World(brokers=2)
    recorder = Recorder(world)
    made_topic(world, partitions=2, replicas=2)
    assert len(recorder.history.now.replicas) == 4
    request = DeleteTopicsRequest(topics=[DeleteTopicState("orders")], timeout_ms=5_000)
    world.nodes[1].send(request)
    world.advance(1_000)
    gone = [one for one in of(ReplicaChanged, recorder.history.events) if one.changes == (Change.GONE,)]
    assert len(gone) == 4
    assert not recorder.history.now.replicas
    assert not recorder.history.now.stored


@pytest.mark.slow  # it opens a log
@pytest.mark.parametrize("internal", [False, True])
def test_internal_topics_are_recorded_on_request(*, internal: bool) -> None:
    world = World()
    recorder = Recorder(world, internal_topics=internal)
    world.node(1, offsets_topic_num_partitions="1")
    world.nodes[1].send(FindCoordinatorRequest(key_type=0, coordinator_keys=["g"]), 4)
    world.advance(1_000)
    names = {name.topic for _, name in recorder.history.now.replicas}
    assert names == ({"__consumer_offsets"} if internal else set())


# --- messages


def test_a_request_whose_broker_dies_is_unanswered() -> None:
    world = World(brokers=3)
    made_topic(world)
    recorder = Recorder(world)
    world.nodes[1].send(FindCoordinatorRequest(key_type=0, coordinator_keys=["g"]), 4).arrive()
    world.kill(1)
    world.settle()
    lost = [one for one in of(Unanswered, recorder.history.events) if one.message.api == "FindCoordinator"]
    assert [(one.sender, one.receiver, one.reason) for one in lost] == [
        ("10.0.0.1", 1, "the broker has gone")
    ]
    asked = recorder.history.events[lost[0].request]
    assert isinstance(asked, Requested)
    assert asked.message == lost[0].message


def test_a_produce_without_acks_is_no_request_without_an_answer() -> None:
    world = World(brokers=1)
    made_topic(world, replicas=1)
    recorder = Recorder(world)
    replication_history.produce(world.nodes[1], 0, b"one")
    replication_history.consume(world.nodes[1], 0)
    world.advance(1_000)
    world.kill(1)
    world.advance(1_000)
    apis = [one.message.api for one in of(Requested, recorder.history.events)]
    assert sorted(apis) == ["Fetch", "Produce"]
    assert [one.message.api for one in of(Answered, recorder.history.events)] == ["Fetch"]
    assert not of(Unanswered, recorder.history.events)


# --- what a recorder costs


def test_old_events_are_forgotten_and_their_effect_is_kept() -> None:
    whole, last = (play(Recorder(World(3), events_max=kept)) for kept in (10_000, 50))
    assert len(last.events) == 50
    assert last.forgotten == len(whole.events) - 50
    assert list(last.events) == list(whole.events)[-50:]
    assert last.now == whole.now
    for event in last.events:
        apply(event, last.base)
    assert last.base == last.now


def play(recorder: Recorder) -> History:
    world = recorder._world
    for broker_id in (1, 2):
        world.node(broker_id)
    made_topic(world, partitions=2, replicas=2)
    world.kill(2)
    world.advance(1_000)
    return recorder.history


@pytest.mark.slow
def test_a_recorder_changes_nothing_in_its_world() -> None:
    def trace(*, is_recorded: bool) -> list[str]:
        world = World(5, is_traced=True)
        if is_recorded:
            Recorder(world)
        for broker_id in (1, 2, 3):
            world.node(broker_id)
        made_topic(world, partitions=3)
        world.isolate(1)
        world.advance(20_000)
        world.kill(2)
        world.advance(1_000)
        assert world.trace is not None
        return world.trace

    assert trace(is_recorded=True) == trace(is_recorded=False)
