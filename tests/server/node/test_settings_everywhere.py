"""R18: a setting changed at the controller is in force on every broker of the cluster."""

from collections.abc import Mapping

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import BrokerId, TopicPartition
from odradek.metadata import paths
from odradek.metadata.controller.requests import AlterConfigs, Answer, ConfigReplacement, ResourceOutcomes
from odradek.metadata.image import ClusterImage, TopicConfigChanged
from odradek.metadata.resources import ResourceType
from odradek.testing.sim import SimNode, World
from odradek.wire.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from odradek.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from odradek.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from tests.server.node.test_settings_in_force import (
    DELETE,
    ENTRIES,
    GROUP_ENTRIES,
    SET,
    batch_of,
    make_dirty,
    make_topics,
    produced,
)
from tests.server.node.test_settings_in_force import alter as alter_setting

TOPIC, BROKER, GROUP = ResourceType.TOPIC, ResourceType.BROKER, ResourceType.GROUP
FLUSHES = "odradek.log.flush.before.ack"


def controller_of(world: World) -> SimNode:
    (found,) = [node for node in world.nodes.values() if node.is_alive and node.core.controller.is_active]
    return found


def followers_of(world: World) -> list[SimNode]:
    """The brokers that are not the controller."""
    return [node for node in world.nodes.values() if not node.core.controller.is_active]


def create(world: World, name: str, leader: BrokerId, **configs: str) -> None:
    """A topic of one partition on all brokers, led by one of them."""
    replicas = [leader, *(broker_id for broker_id in world.nodes if broker_id != leader)]
    topic = CreatableTopic(
        name,
        -1,
        -1,
        [CreatableReplicaAssignment(0, replicas)],
        [CreatableTopicConfig(key.replace("_", "."), text) for key, text in configs.items()],
    )
    controller_of(world).send(CreateTopicsRequest([topic], timeout_ms=1_000))


def alter(world: World, kind: ResourceType, name: str, overrides: Mapping[str, str]) -> list[Answer]:
    """Begin to give a resource these overrides and no others; returns where the answer will be."""
    answers: list[Answer] = []
    request = AlterConfigs((ConfigReplacement(kind, name, tuple(overrides.items())),))
    controller_of(world).core.controller.submit(request, answers.append)
    return answers


def altered(world: World, kind: ResourceType, name: str, overrides: Mapping[str, str]) -> None:
    answers = alter(world, kind, name, overrides)
    world.settle()
    (answer,) = answers
    assert isinstance(answer, ResourceOutcomes), answer
    assert [outcome.error for outcome in answer.resources] == [0], answer


def described(node: SimNode, kind: ResourceType, name: str, setting: str) -> str | None:
    """A setting of a resource, as a broker describes it to a client."""
    request = DescribeConfigsRequest([DescribeConfigsResource(kind, name, [setting])])
    (result,) = node.ask(request).results
    assert result.error_code == 0, result.error_message
    (config,) = result.configs
    text: str | None = config.value
    return text


def everywhere(world: World, kind: ResourceType, name: str, setting: str) -> set[str | None]:
    """What the brokers describe; one value where they agree."""
    return {described(node, kind, name, setting) for node in world.nodes.values()}


def agree(world: World) -> bool:
    """Whether the settings that the brokers know are those of the controller."""
    controlled = controller_of(world).core.controller.controlled
    assert controlled is not None

    def known(image: ClusterImage) -> list[object]:
        return [image.topic_configs, image.default_broker_config, image.broker_configs, image.group_configs]

    return all(known(node.core.image) == known(controlled) for node in world.nodes.values())


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 4))
def test_the_settings_of_a_new_topic_are_in_force_from_its_first_moment(seed: int) -> None:
    """R18: on every replica before the first record can be acknowledged; the controller leads nothing."""
    world = World(seed, brokers=3)
    leader, follower = followers_of(world)
    create(world, "flights", leader.broker_id, min_insync_replicas="3", **{FLUSHES: "true"})
    logs = 0
    while logs < 3 or world.steps():
        assert world.step()
        found = [node.logs.get(TopicPartition("flights", 0)) for node in world.nodes.values()]
        logs = 3 - found.count(None)
        for log in found:
            if log is not None:
                assert (log.config.min_insync_replicas, log.config.odradek_log_flush_before_ack) == (3, True)
    assert agree(world)
    world.advance(2_000)
    assert produced(leader, batch_of(), "flights").error_code == ErrorCode.NONE
    log = leader.log("flights")
    assert log.flushed_offset == log.end_offset == 1
    follower.kill()
    world.advance(30_000)
    assert produced(leader, batch_of(), "flights").error_code == ErrorCode.NOT_ENOUGH_REPLICAS


@pytest.mark.slow
def test_changes_of_all_resources_reach_all_brokers_and_can_be_taken_back() -> None:
    """R18: a topic's, all brokers', one broker's and a group's; what is in force follows."""
    world = World(brokers=3)
    one, other = followers_of(world)
    create(world, "flights", one.broker_id)
    world.settle()
    for kind, name, setting, text in (
        (TOPIC, "flights", "retention.ms", "5000"),
        (BROKER, "", "log.retention.ms", "7000"),
        (BROKER, str(other.broker_id), "log.retention.ms", "9000"),
        (GROUP, "g", "consumer.heartbeat.interval.ms", "7000"),
    ):
        altered(world, kind, name, {setting: text})
        assert agree(world)
        if kind is not BROKER:
            assert everywhere(world, kind, name, setting) == {text}
    assert [node.core.settings.log_retention_ms for node in (one, other)] == [7000, 9000]
    assert [node.log("flights").config.retention_ms for node in (one, other)] == [5000, 5000]
    altered(world, TOPIC, "flights", {})
    assert [node.log("flights").config.retention_ms for node in (one, other)] == [7000, 9000]
    altered(world, BROKER, str(other.broker_id), {})
    assert [node.log("flights").config.retention_ms for node in (one, other)] == [7000, 7000]
    altered(world, BROKER, "", {})
    altered(world, GROUP, "g", {})
    assert agree(world)
    assert everywhere(world, GROUP, "g", "consumer.heartbeat.interval.ms") == {"5000"}
    assert everywhere(world, TOPIC, "flights", "retention.ms") == {"604800000"}


@pytest.mark.slow
@pytest.mark.parametrize("is_expired", [False, True])
def test_a_broker_that_was_cut_off_gets_the_changes_and_the_deletions(is_expired: bool) -> None:
    """R18: with its registration, or with another one after its session ended."""
    world = World(brokers=3)
    one, other = followers_of(world)
    create(world, "flights", one.broker_id, retention_ms="5000")
    world.settle()
    altered(world, GROUP, "g", {"consumer.heartbeat.interval.ms": "7000"})
    altered(world, BROKER, "", {"log.retention.bytes": "1000"})
    altered(world, BROKER, str(other.broker_id), {"log.retention.bytes": "2000"})
    world.isolate(other.broker_id)
    world.cut_store(other.broker_id)
    altered(world, TOPIC, "flights", {"retention.bytes": "3000"})
    altered(world, GROUP, "g", {})
    altered(world, BROKER, "", {})
    altered(world, BROKER, str(other.broker_id), {"log.retention.ms": "4000"})
    if is_expired:
        world.expire_session(other.broker_id)
        world.advance(20_000)
        assert not one.core.image.is_live(other.broker_id)
    assert not agree(world)
    world.heal()
    world.advance(60_000)
    assert agree(world)
    config = other.log("flights").config
    assert (config.retention_ms, config.retention_bytes) == (4000, 3000)
    assert other.core.settings.log_retention_bytes == -1


def test_a_broker_that_starts_while_a_setting_changes_has_it() -> None:
    """R18: it has read the store, and is not registered yet."""
    world = World(brokers=2)
    create(world, "flights", 1, retention_ms="5000")
    world.settle()
    late = world.begin(3)
    while not late.has_opened:
        assert world.step()
    answers = [alter(world, TOPIC, "flights", {}), alter(world, BROKER, "", {"log.retention.ms": "6000"})]
    world.settle()
    assert all(answers)
    assert late.is_serving
    assert agree(world)
    assert late.core.settings.log_retention_ms == 6000


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 4))
def test_a_controller_that_dies_behind_its_write_is_completed_by_the_next(seed: int) -> None:
    """R18: nobody else has heard of the change, nor of the deletion."""
    world = World(seed, brokers=3)
    controller, (one, _) = controller_of(world), followers_of(world)
    create(world, "flights", one.broker_id, retention_ms="5000")
    world.settle()
    alter(world, TOPIC, "flights", {"retention.bytes": "3000"})
    node = paths.topic_config("flights")
    while b"retention.bytes" not in world.store.table.snapshot()[node][0]:
        assert world.step()
    controller.kill()
    assert one.core.image.topic_config("flights") == {"retention.ms": "5000"}
    world.advance(60_000)
    for survivor in (node for node in world.nodes.values() if node.is_alive):
        assert survivor.core.image.topic_config("flights") == {"retention.bytes": "3000"}
        assert survivor.log("flights").config.retention_bytes == 3000


def test_a_topic_made_again_does_not_inherit_settings() -> None:
    world = World(brokers=3)
    leader = followers_of(world)[0]
    create(world, "flights", leader.broker_id, retention_ms="5000")
    world.settle()
    controller_of(world).send(DeleteTopicsRequest(topics=[DeleteTopicState("flights")], timeout_ms=1_000))
    world.advance(5_000)
    create(world, "flights", leader.broker_id)
    world.settle()
    assert agree(world)
    assert leader.log("flights").config.retention_ms == 604_800_000


def test_the_answer_comes_when_the_setting_is_in_force_where_it_was_asked() -> None:
    """R18: also while its broker has many other orders to obey, and not before."""
    world = World()
    node = world.node()
    topics = [CreatableTopic(f"t{number}", 10, 1) for number in range(10)]
    node.send(CreateTopicsRequest(topics, timeout_ms=1_000))
    answers = alter(world, BROKER, "", {"log.retention.ms": "6000"})
    is_seen = False
    while not answers:
        assert world.step()
        is_seen = node.core.settings.log_retention_ms == 6000
    assert is_seen


def test_a_stored_value_that_no_setting_takes_holds_up_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """An earlier version may have stored it; the topic keeps what it had, and the order goes on."""
    world = World()
    node = world.node()
    create(world, "flights", 0, retention_ms="5000")
    world.settle()
    node.core.settings_in_force.apply(TopicConfigChanged("flights", {"retention.ms": "soon"}))
    assert node.log("flights").config.retention_ms == 5000
    assert "the topic flights keeps the settings that it had" in caplog.text


# --- every dynamic setting, on a broker that is not the controller

OF_CONTROLLERS = {"unclean.leader.election.enable"}


@pytest.fixture
def away() -> SimNode:
    """Broker 0, which leads topics of all kinds and is not the controller; see `busy`."""
    world = World()
    controller = world.node(1)
    node, other = world.node(0, log_flush_scheduler_interval_ms="1000", log_dirs="/data,/more"), world.node(2)
    assert controller.core.controller.is_active
    make_topics(controller, leader=node.broker_id, follower=other.broker_id)
    other.kill()
    world.settle()
    make_dirty(node)
    return node


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(ENTRIES.keys() - OF_CONTROLLERS))
def test_every_dynamic_setting_is_in_force_on_another_broker(away: SimNode, name: str) -> None:
    """R18: what uses it follows there, and when it is taken back."""
    controller = away.world.nodes[1]
    text, seen = ENTRIES[name]
    before = seen(away)
    alter_setting(controller, name, SET, text)
    away.world.settle()
    assert seen(away) != before
    alter_setting(controller, name, DELETE, None)
    away.world.settle()
    assert seen(away) == before


@pytest.mark.slow
@pytest.mark.parametrize("name", GROUP_ENTRIES)
def test_every_setting_of_a_group_is_in_force_at_its_coordinator(name: str) -> None:
    """R18: which is not the controller."""
    world = World()
    controller, node = world.node(1), world.node(0)
    replicas = [CreatableReplicaAssignment(0, [0])]
    topics = [CreatableTopic(topic, -1, -1, replicas) for topic in ("plain", "__consumer_offsets")]
    created = controller.ask(CreateTopicsRequest(topics, timeout_ms=1_000))
    assert [topic.error_code for topic in created.topics] == [0, 0]
    world.settle()
    text, seen = GROUP_ENTRIES[name]
    before = seen(node)
    alter_setting(controller, name, SET, text, of=(GROUP, "g"))
    world.settle()
    assert seen(node) != before
    alter_setting(controller, name, DELETE, None, of=(GROUP, "g"))
    world.settle()
    assert seen(node) == before
