"""A broker whose id another session holds: its own former one, or that of another broker that lives."""

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.ids import BrokerId
from odradek.metadata import codec, paths
from odradek.metadata.image import BrokerImage, Endpoint
from odradek.metadata.memory import MemorySession
from odradek.metadata.store import Create
from odradek.server.node import stages
from odradek.server.node.registration_wait import MARGIN_MS
from odradek.testing.sim import SimNode, World

LIMIT_MS = 9_000 + MARGIN_MS
"""`broker.session.timeout.ms`, and the margin."""
WAITS = "broker 2 waits until its former session with the metadata store ends (at most 12000 ms)"


def hold(world: World, broker_id: BrokerId) -> MemorySession:
    """A session that holds the id, as the store keeps it for a while after its process died."""
    session = world.store.connect()
    endpoint = Endpoint("PLAINTEXT", "PLAINTEXT", "elsewhere.example", 9092)
    data = codec.encode_broker(BrokerImage(broker_id, (endpoint,)), world.clock.wall_ms())
    world.store.tell(
        world.store.engine.apply(
            session.session_id, Create(paths.broker(broker_id), data, ephemeral=True)
        ).events
    )
    return session


def owner_of(world: World, broker_id: BrokerId) -> int | None:
    node = world.store.table.get(paths.broker(broker_id))
    return None if node is None else node.stat.owner


@pytest.fixture
def waiting(caplog: pytest.LogCaptureFixture) -> tuple[World, SimNode, MemorySession]:
    """Broker 2 starts while its former session stands."""
    world = World(brokers=2)
    world.kill(2)
    world.settle()
    held = hold(world, 2)
    caplog.clear()
    node = world.begin(2)
    world.settle()
    return world, node, held


Waiting = tuple[World, SimNode, MemorySession]


def test_a_start_waits_for_the_former_session_and_says_so_once(
    waiting: Waiting, caplog: pytest.LogCaptureFixture
) -> None:
    world, node, held = waiting
    world.advance(LIMIT_MS - 1)
    assert isinstance(node.stage, stages.Join)
    said = [record.message for record in caplog.get_records("setup")] + caplog.messages
    assert [one for one in said if "session" in one] == [WAITS]
    assert not node.core.image.brokers, "R16: what the controller sends to the former life is refused"
    held.expire()
    world.settle()
    assert node.is_serving
    assert owner_of(world, 2) == node.session.session_id
    world.advance(LIMIT_MS)
    assert node.is_serving, "the limit counts no more"


def test_a_broker_with_the_id_of_another_that_lives_does_not_start(waiting: Waiting) -> None:
    world, node, held = waiting
    world.advance(LIMIT_MS + stages.DRAIN_MS_MAX)
    assert node.is_over
    assert isinstance(node.start_error, ApiError)
    assert node.start_error.code is ErrorCode.DUPLICATE_BROKER_REGISTRATION
    assert str(node.start_error) == (
        "another broker with the id 2 is running: its session with the metadata store has not ended within"
        " 12000 ms"
    )
    assert owner_of(world, 2) == held.session_id, "the other broker is left alone"


def test_a_broker_whose_id_is_taken_leaves_its_new_directory_to_others() -> None:
    """Its `meta.properties` would refuse the broker with a free id that is started there next."""
    world = World(brokers=2)
    world.kill(2)
    world.settle()
    hold(world, 2)
    world.lose_disk(2)
    node = world.begin(2)
    world.settle()
    disk, (directory,) = world.disk(2), node.layers.in_force.log_dirs
    assert disk.exists(f"{directory}/meta.properties")
    world.advance(LIMIT_MS + stages.DRAIN_MS_MAX)
    assert isinstance(node.start_error, ApiError)
    assert list(disk.list_directory(directory)) == []


def test_a_broker_that_waits_can_be_killed(waiting: Waiting) -> None:
    world, node, held = waiting
    node.kill()
    world.advance(2 * LIMIT_MS)
    held.expire()
    world.settle()
    assert owner_of(world, 2) is None


def test_a_running_broker_whose_id_was_taken_registers_when_it_is_free(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Its session ended, and before the next one another took the id."""
    world = World(brokers=2)
    node = world.nodes[2]
    world.expire_session(2)
    held = hold(world, 2)
    world.settle()
    assert not node.core.controller.is_registered
    world.advance(LIMIT_MS)
    assert "this broker is not registered: another broker with the id 2 is running" in caplog.text
    assert node.is_serving
    held.expire()
    world.settle()
    assert node.core.controller.is_registered
    assert owner_of(world, 2) == node.session.session_id
