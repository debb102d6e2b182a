"""Three brokers under cuts, lost connections and answers, expiries and deaths: when these end, all agree.

The seed chooses what goes wrong and when. Afterwards every image says what the store says, partitions
are led by the broker that the store names, and no broker has a replica of a topic that is gone.

Trials (`sim.trial`) look at the same with records. Here topics come and go much faster, and the settings of
topics, brokers and groups change.
"""

from collections.abc import Callable
from random import Random

import pytest

from odradek.base.ids import BrokerId, TopicPartition
from odradek.base.settings import SettingLayers
from odradek.metadata import codec, paths
from odradek.metadata.controller.requests import AlterConfigs, ConfigReplacement
from odradek.metadata.resources import ResourceType, overrides_of, resources_with_overrides
from odradek.testing.sim import SimNode, World
from odradek.testing.sim.stored import StoredCluster
from odradek.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from odradek.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState

BROKERS = (1, 2, 3)
ROUNDS = 40


class Trial:
    """One history."""

    def __init__(self, seed: int, *, with_settings: bool = False) -> None:
        """`with_settings`: those of topics, brokers and a group change, too."""
        self.with_settings = with_settings
        self.random = Random(seed)
        self.world = World(seed)
        # The names of the topics that were asked for and not deleted.
        self.topics: list[str] = []
        self.made = 0
        for broker_id in BROKERS:
            self.start(broker_id)

    # --- what may happen

    def start(self, broker_id: BrokerId) -> None:
        self.world.settle()
        node = self.world.begin(broker_id)
        self.world.settle()
        while not node.is_serving:
            assert node.is_alive, node.start_error
            self.world.advance(1_000)

    def create(self) -> None:
        self.made += 1
        name = f"t{self.made}"
        topic = CreatableTopic(name, self.random.randint(1, 4), self.random.randint(1, len(self.living)))
        for controller in self.controllers:
            self.topics.append(name)
            controller.send(CreateTopicsRequest([topic], timeout_ms=1_000))

    def delete(self) -> None:
        for controller in self.controllers:
            if self.topics:
                name = self.topics.pop(self.random.randrange(len(self.topics)))
                controller.send(DeleteTopicsRequest(topics=[DeleteTopicState(name)], timeout_ms=1_000))

    def alter(self) -> None:
        """Give a resource another setting, or none."""
        text = str(self.random.randint(1_000, 9_000))
        kind, name, setting = self.random.choice(
            (
                *((ResourceType.TOPIC, topic, "retention.ms") for topic in self.topics[-2:]),
                (ResourceType.BROKER, "", "log.retention.ms"),
                (ResourceType.BROKER, str(self.random.choice(BROKERS)), "log.retention.ms"),
                (ResourceType.GROUP, "g", "consumer.heartbeat.interval.ms"),
            )
        )
        configs = self.random.choice(((), ((setting, text),)))
        for node in self.controllers:
            request = AlterConfigs((ConfigReplacement(kind, name, configs),))
            node.core.controller.submit(request, lambda answer: None)

    def cut(self) -> None:
        a, b = self.random.sample(BROKERS, 2)
        self.world.cut(a, b, one_way=self.random.random() < 0.5)

    def drop(self) -> None:
        a, b = self.random.sample(BROKERS, 2)
        self.world.links.drop(a, b)

    def slow_down(self) -> None:
        a, b = self.random.sample(BROKERS, 2)
        self.world.links.slow(a, b, self.random.choice((50, 500, 40_000)))

    def kill(self) -> None:
        if len(self.living) > 1:
            self.random.choice(self.living).kill()

    def restart(self) -> None:
        dead = [node.broker_id for node in self.world.nodes.values() if not node.is_alive]
        if dead:
            self.world.heal()
            self.start(self.random.choice(dead))

    def expire(self) -> None:
        self.random.choice(self.living).session.expire()

    def lose_an_answer_of_the_store(self) -> None:
        session = self.random.choice(self.living).session
        session.lose_connection(executed=self.random.random() < 0.5, after=self.random.randint(0, 5))

    def wait(self) -> None:
        self.world.advance(self.random.choice((10, 1_000, 35_000)))

    @property
    def living(self) -> list[SimNode]:
        return [node for node in self.world.nodes.values() if node.is_alive]

    @property
    def controllers(self) -> list[SimNode]:
        return [node for node in self.living if node.core.controller.is_active][:1]

    def run(self) -> None:
        happens: tuple[Callable[[], None], ...] = (
            *(self.create, self.create, self.create, self.delete, self.wait),
            *(self.cut, self.world.heal, self.drop, self.slow_down),
            *(self.kill, self.restart, self.expire, self.lose_an_answer_of_the_store),
        )
        if self.with_settings:
            happens += (self.alter,) * 5
        for _ in range(ROUNDS):
            self.random.choice(happens)()
            for _ in range(self.random.randint(0, 60)):
                self.world.step()

    def end_the_faults(self) -> None:
        self.world.heal()
        for broker_id in BROKERS:
            if not self.world.nodes[broker_id].is_alive:
                self.start(broker_id)
        self.world.advance(120_000)

    # --- what must hold then

    def stored(self) -> dict[TopicPartition, tuple[BrokerId, int, tuple[BrokerId, ...]]]:
        """Leader, epoch and ISR by partition."""
        cluster = StoredCluster(self.world)
        assert cluster.under_deletion() == ()
        return {
            name: (state.leader, state.leader_epoch, state.isr)
            for name in cluster.partitions()
            if (state := cluster.state(name)) is not None
        }

    def check_settings(self) -> None:
        """R18: every broker has the settings that the store has, in its image and in force."""
        nodes = self.world.store.table.snapshot()
        stored = {
            path: overrides
            for path, (data, _) in nodes.items()
            if path.rpartition("/")[0] in (paths.TOPIC_CONFIGS, paths.BROKER_CONFIGS, paths.GROUP_CONFIGS)
            if (overrides := codec.decode_config(data))
        }
        for node in self.living:
            core = node.core
            of = {
                ResourceType.TOPIC: lambda name: paths.topic_config(name),
                ResourceType.BROKER: lambda name: paths.broker_config(int(name) if name else None),
                ResourceType.GROUP: lambda name: paths.group_config(name),
            }
            known = {
                of[one.resource_type](one.name): overrides_of(core.image, one)
                for one in resources_with_overrides(core.image)
            }
            assert known == stored, f"the settings that broker {node.broker_id} knows"
            layers = SettingLayers(core.layers.static)
            layers.let_in_force(core.image.default_broker_config, core.image.broker_config(core.broker_id))
            assert core.settings.log_retention_ms == layers.in_force.log_retention_ms
            for log in core.logs.logs():
                topic = log.topic_partition.topic
                assert log.config == layers.topic_config(core.image.topic_config(topic)), topic

    def check(self) -> None:
        stored = self.stored()
        assert [node.core.controller.is_active for node in self.living].count(True) == 1
        for node in self.living:
            image = node.core.image
            assert sorted(image.brokers) == list(BROKERS)
            known = {
                TopicPartition(topic.name, number): (state.leader, state.leader_epoch, state.isr)
                for topic in image.live_topics()
                for number, state in topic.partitions.items()
            }
            assert known == stored, f"the image of broker {node.broker_id}"
            led = {
                partition.topic_partition: partition.leader_epoch
                for partition in node.core.replicas.partitions()
                if partition.leadership is not None
            }
            wanted = {
                named: epoch for named, (leader, epoch, _) in stored.items() if leader == node.broker_id
            }
            assert led == wanted, f"what broker {node.broker_id} leads"
            assert all(partition.topic_partition in stored for partition in node.core.replicas.partitions())
            assert node.failures == []


@pytest.mark.parametrize("seed", [0, 1, 2, 3, 4, 31, 37])
def test_when_the_faults_end_all_brokers_agree_with_the_store(seed: int) -> None:
    """R5a, R16: in 31 and 37 a broker never learned what was deleted between two registrations of it."""
    trial = Trial(seed)
    trial.run()
    trial.end_the_faults()
    trial.check()


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2, 3, 104, 107])
def test_when_the_faults_end_all_brokers_have_the_settings_of_the_store(seed: int) -> None:
    """R18: also what was taken back while a broker was away; in 104 and 107 it joins during a deletion."""
    trial = Trial(seed, with_settings=True)
    trial.run()
    trial.end_the_faults()
    trial.check()
    trial.check_settings()
