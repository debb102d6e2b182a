"""The controller's host and its session with the metadata store."""

import pytest

from odradek.base.execution import TURN_NS
from odradek.metadata.controller import ControllerEvent, Effect
from odradek.metadata.controller.pending_orders import PARTITIONS_PER_ORDER
from odradek.metadata.tree import TableFailed
from odradek.server.node.store_session import REOPENING_MS
from odradek.testing.sim import SimNode, World
from odradek.testing.sim.listener import CLIENTS
from odradek.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from odradek.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest


def controller_epoch(node: SimNode) -> int:
    epoch: int = node.core.image.controller_epoch
    return epoch


def test_after_its_session_ended_a_broker_joins_again(node: SimNode) -> None:
    assert controller_epoch(node) == 1
    node.session.expire()
    node.session.report_next()
    assert not node.core.controller.is_active
    node.settle()
    assert node.core.controller.is_active
    assert controller_epoch(node) == 2


def test_a_session_that_cannot_be_opened_is_tried_again_after_a_while(
    node: SimNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts = []

    def fails() -> int:
        attempts.append(node.clock.monotonic_ms())
        raise TableFailed("disk I/O error")

    with monkeypatch.context() as broken:
        broken.setattr(node.store.engine, "open_session", fails)
        node.session.expire()
        node.settle()
        node.advance(REOPENING_MS)
    first, second = attempts
    assert second - first == REOPENING_MS
    node.advance(REOPENING_MS)
    assert node.core.controller.is_active


def test_what_the_controller_decides_counts_in_the_time_of_its_turn(
    node: SimNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where a result of the store led to it: each step of a long decision takes 0.3 ms here."""
    names = [f"t{number}" for number in range(300)]
    node.ask(CreateTopicsRequest([CreatableTopic(name, 1, 1) for name in names], timeout_ms=5_000))
    now_ns = 0
    steps: list[int] = []
    controller = node.core.controller._controller
    on_event = controller.on_event

    def on_event_slowly(event: ControllerEvent) -> list[Effect]:
        nonlocal now_ns
        now_ns += 3 * TURN_NS // 10
        steps[-1] += 1
        return list(on_event(event))

    monkeypatch.setattr(controller, "on_event", on_event_slowly)
    monkeypatch.setattr(node, "short_clock", lambda: now_ns)
    node.send(CreatePartitionsRequest([CreatePartitionsTopic(name, 2, None) for name in names], 5_000))
    steps.append(0)
    while node.world.step():
        steps.append(0)
    assert sum(steps) > 20
    assert max(steps) <= 5, "the fifth ends after more than a millisecond"


@pytest.mark.parametrize(
    ("seed", "partitions"),
    [
        *((seed, 6) for seed in range(8)),
        pytest.param(1, 2 * PARTITIONS_PER_ORDER + 2, marks=pytest.mark.slow, id="roles in two requests"),
    ],
)
def test_a_broker_has_joined_when_it_leads_what_it_is_to_lead(seed: int, partitions: int) -> None:
    """Also where the controller is another broker, which says first what there is, and then who leads it."""
    world = World(seed)
    one, two = world.node(1), world.node(2)
    one.ask(CreateTopicsRequest([CreatableTopic("t", partitions, 1)], timeout_ms=5_000))
    world.settle()
    led = [partition.topic_partition for partition in two.core.replicas.partitions()]
    assert len(led) == partitions / 2
    world.kill(2)
    world.settle()
    again = world.begin(2)
    while not again.listeners.admits(CLIENTS):
        assert world.step(), f"it does not start: {again.stage}"
    for named in led:
        partition = again.core.replicas.partition(named)
        assert partition is not None, f"{named} is not here yet"
        assert partition.leadership is not None, f"{named} is not led yet"
