"""A node's life: what is scheduled dies with it, wherever it is killed."""

from collections.abc import Callable

import pytest

from odradek.records.builder import BatchBuilder
from odradek.testing.sim import SimNode, World
from odradek.testing.sim.disk import Died
from odradek.wire.headers import RequestHeader, encode_request_header
from odradek.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from odradek.wire.messages.find_coordinator import FindCoordinatorRequest
from odradek.wire.messages.init_producer_id import InitProducerIdRequest
from odradek.wire.messages.metadata import MetadataRequest
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.server.recording_client import RecordingClient


def batch() -> bytes:
    builder = BatchBuilder()
    builder.append(1_700_000_000_000, None, b"value")
    return bytes(builder.build())


def begin_work(node: SimNode) -> Callable[[], int]:
    """Requests of every kind that schedules something; returns how much of their answers was written."""
    topics = [CreatableTopic("t", 8, 1, configs=[])]
    sent = [
        node.send(CreateTopicsRequest(topics, timeout_ms=5_000)),
        node.send(FindCoordinatorRequest(key_type=0, coordinator_keys=["g"])),
        node.send(FindCoordinatorRequest(key_type=1, coordinator_keys=["x"])),
        node.send(InitProducerIdRequest(None, 60_000)),
    ]
    data = [TopicProduceData("ready", partition_data=[PartitionProduceData(0, batch())])]
    sent.append(node.send(ProduceRequest(None, -1, 30_000, data), 12))
    return lambda: sum(one.client.stream.bytes_out for one in sent)


def started(seed: int) -> SimNode:
    node = World(seed).node(1, odradek_log_flush_before_ack="true")
    node.ask(CreateTopicsRequest([CreatableTopic("ready", 1, 1)], timeout_ms=5_000))
    return node


def go_on(node: SimNode) -> None:
    """Let the next thing happen: a step, or else the timers that are due first."""
    if not node.world.step():
        due_ms = node.timer.next_expiration_ms()
        assert due_ms is not None, "periodic work never ends"
        node.clock.advance(max(0, due_ms - node.clock.monotonic_ms()))
        node.timer.advance()


EVENTS = 120
"""How many things happen to the node under test: all its work, and some of its timers."""


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_node_killed_at_any_of_its_pending_events_does_nothing_more(seed: int) -> None:
    """The simulator's crash: whatever was waiting comes, and finds nobody."""
    for killed_at in range(EVENTS):
        node = started(seed)
        answers = begin_work(node)
        for _ in range(killed_at):
            go_on(node)
        node.kill()
        then = answers(), node.disk.used_bytes(), dict(node.core.image.topics)
        while node.world.step():
            assert answers() == then[0], f"killed at {killed_at}, the dead answered"
        node.world.advance(120_000)
        node.timer.advance()
        assert (answers(), node.disk.used_bytes(), dict(node.core.image.topics)) == then
        assert node.world.steps() == [], "the dead schedule nothing"


def test_the_work_goes_through_every_port() -> None:
    node = started(1)
    answers = begin_work(node)
    kinds = set[str]()
    for _ in range(EVENTS):
        kinds |= {"turn"} if node.turns.waiting else set()
        kinds |= {"background"} if node.calls.waiting else set()
        kinds |= {"store"} if node.store.has_waiting else set()
        kinds |= set() if node.world.steps() else {"timer"}
        go_on(node)
    assert kinds == {"turn", "background", "store", "timer"}
    assert answers() > 0


@pytest.mark.slow
def test_another_life_begins_where_the_dead_left_the_disk() -> None:
    for killed_at in range(0, EVENTS, 5):
        node = started(4)
        begin_work(node)
        for _ in range(killed_at):
            go_on(node)
        node.kill()
        node.world.settle()
        again = node.world.node(1, odradek_log_flush_before_ack="true")
        assert again.core.controller.is_active
        assert "ready" in again.core.image.topics


def test_what_waits_for_a_thread_is_not_begun_for_the_dead() -> None:
    node = World().node(1)
    ran: list[str] = []
    background = node.node.life.surroundings.background
    background.submit(lambda: ran.append("call"), lambda done: ran.append("done"), lambda error: None)
    node.kill()
    node.settle()
    assert ran == []


def test_a_timer_task_of_the_dead_never_runs_also_in_the_advance_that_killed() -> None:
    node = World().node(1)
    ran: list[int] = []

    def run_and_die() -> None:
        ran.append(1)
        node.kill()

    for interval_ms in (10, 10, 20):
        node.node.schedule.every(interval_ms, "task", run_and_die)
    node.advance(100)
    assert ran == [1]


def test_a_frame_for_the_dead_goes_nowhere() -> None:
    node = World().node(1)
    request = MetadataRequest(topics=None)
    frame = encode_request_header(RequestHeader(request.API_KEY, 12, 1, "test")) + request.encode(12)
    before, after = RecordingClient(), RecordingClient()
    node.node.dispatcher.dispatch(before, frame)
    node.kill()
    node.node.dispatcher.dispatch(after, frame)
    assert (len(before.answers), after.answers, after.is_closed) == (1, [], False)


def test_nothing_of_the_dead_writes_to_what_the_next_life_reads() -> None:
    dead = started(1)
    log = dead.log("ready")
    dead.kill()
    living = dead.started_again()
    used_bytes = dead.disk.used_bytes()
    with pytest.raises(Died):
        log.append_as_leader(batch(), 0, now_ms=dead.clock.wall_ms())
    with pytest.raises(Died):
        dead.logs.close()
    assert dead.disk.used_bytes() == used_bytes
    assert living.log("ready").end_offset == 0
