"""A process that stands still, as by SIGSTOP: nothing reaches it, and it goes on where it was."""

from odradek.base.error_codes import ErrorCode
from odradek.testing.sim import World
from odradek.wire.messages.api_versions import ApiVersionsRequest


def test_a_paused_broker_answers_when_it_goes_on() -> None:
    world = World(brokers=1)
    node = world.nodes[1]
    world.pause(1)
    sent = node.send(ApiVersionsRequest("test", "1"))
    world.advance(60_000)
    assert not sent.answers
    world.resume(1)
    world.settle()
    assert sent.answer.error_code == ErrorCode.NONE


def test_a_paused_broker_learns_late_that_its_session_has_expired() -> None:
    """R16: meanwhile another broker is the controller, and it joins again under a new epoch."""
    world = World(brokers=2)
    assert world.nodes[1].core.controller.is_active
    world.pause(1)
    world.expire_session(1)
    world.advance(1_000)
    assert world.nodes[1].core.controller.is_active  # it cannot know
    assert world.nodes[2].core.controller.is_active
    world.resume(1)
    world.advance(10_000)
    assert not world.nodes[1].core.controller.is_active
    assert sorted(world.nodes[2].core.image.brokers) == [1, 2]


def test_a_paused_broker_can_be_killed() -> None:
    world = World(brokers=1)
    world.pause(1)
    world.kill(1)
    assert not world.nodes[1].is_paused
    assert world.node(1).is_serving


def test_a_machine_has_another_boot_id_after_a_power_loss_only() -> None:
    """R15."""
    world = World(brokers=1)
    first = world.boot_id(1)
    world.kill(1)
    world.node(1)
    assert world.boot_id(1) == first
    world.lose_power(1)
    assert world.boot_id(1) != first
