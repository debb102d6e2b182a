"""The quotas of replication on three brokers: who is slowed down, by how much, and who is not (F8)."""

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import BrokerId
from odradek.metadata.controller.requests import ConfigOperation
from odradek.metadata.image import BrokerConfigChanged, TopicConfigChanged
from odradek.metadata.resources import ResourceType
from odradek.replication.fetcher import State
from odradek.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.server.admin.test_replication_metrics import value
from tests.server.node.test_replica_fetchers import ALL, LAG_MAX_MS, LEADER, Cluster, P, code_of

RATE = 1_000
"""The limit, in bytes per second."""
WINDOWS_MS = 11_000
SLOW: BrokerId = 3
"""The follower that has to catch up."""


class Settings:
    """Sets and takes back settings on all brokers, as if each had learnt of the change."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._of_topic: dict[str, str] = {}

    def list(self, side: str, replicas: str | None) -> None:
        """{side}.replication.throttled.replicas of the topic."""
        self._of_topic.pop(f"{side}.replication.throttled.replicas", None)
        if replicas is not None:
            self._of_topic[f"{side}.replication.throttled.replicas"] = replicas
        for node in self._cluster.alive:
            node.core.settings_in_force.apply(TopicConfigChanged("orders", dict(self._of_topic)))

    def limit(self, side: str, broker_id: BrokerId, rate: int | None) -> None:
        """{side}.replication.throttled.rate of one broker."""
        overrides = {} if rate is None else {f"{side}.replication.throttled.rate": str(rate)}
        for node in self._cluster.alive:
            node.core.settings_in_force.apply(BrokerConfigChanged(broker_id, overrides))


def fall_behind(cluster: Cluster, batches: int = 20) -> int:
    """Broker 3 leaves the ISR and lacks this many batches; returns the bytes that it lacks."""
    cluster.world.cut(1, SLOW)
    for _ in range(batches):
        cluster.produce(40, acks=LEADER)
    cluster.world.advance(2 * LAG_MAX_MS)
    assert cluster.isr() == (1, 2)
    return cluster[1].log("orders").size_bytes - cluster[SLOW].log("orders").size_bytes


def fetched_bytes(cluster: Cluster) -> int:
    return cluster[SLOW].log("orders").size_bytes


def new_cluster(partitions: int = 1) -> Cluster:
    """One batch in each answer of a partition, so that a limit is not passed by much."""
    return Cluster(partitions=partitions, replica_fetch_max_bytes="1")


def check_pace(cluster: Cluster, lacking_bytes: int) -> None:
    """Until broker 3 is in sync, it gets about RATE bytes per second."""
    start_ms, before = cluster.world.clock.monotonic_ms(), fetched_bytes(cluster)
    batch_bytes = lacking_bytes // 20
    while cluster.isr() != (1, 2, 3):
        cluster.world.advance(500)
        seconds = (cluster.world.clock.monotonic_ms() - start_ms) / 1_000
        assert fetched_bytes(cluster) - before <= RATE * max(seconds, 1) + 3 * batch_bytes
        assert seconds < 2 * lacking_bytes / RATE
    assert seconds > 0.8 * lacking_bytes / RATE


@pytest.mark.parametrize(("side", "broker_id", "replica"), [("leader", 1, "0:1"), ("follower", 3, "0:3")])
@pytest.mark.parametrize("listed", ["pair", "*"])
def test_a_replica_that_catches_up_gets_the_rate_of_the_quota(
    side: str, broker_id: BrokerId, replica: str, listed: str
) -> None:
    """F8: on either side; then it joins the ISR, and is slowed down no more."""
    cluster = new_cluster()
    settings, lacking_bytes = Settings(cluster), fall_behind(cluster)
    throttled = replica if listed == "pair" else "*"
    settings.list(side, throttled)
    settings.limit(side, broker_id, RATE)
    cluster.world.heal()
    check_pace(cluster, lacking_bytes)
    for _ in range(5):
        sent = cluster.produce(40)
        cluster.world.advance(100)
        assert code_of(sent) is ErrorCode.NONE
    assert cluster.ends() == [25 * 40] * 3
    cluster.check_logs()


def test_a_leader_s_list_names_the_leader_not_the_follower() -> None:
    """F8, as in Kafka: `0:3` throttles nothing that broker 1 sends."""
    cluster = new_cluster()
    settings = Settings(cluster)
    fall_behind(cluster)
    settings.list("leader", "0:3,1:1")
    settings.limit("leader", 1, RATE)
    cluster.world.heal()
    cluster.world.advance(1_500)
    assert cluster.isr() == (1, 2, 3)


def test_a_member_of_the_isr_is_not_slowed_down_while_another_replica_is() -> None:
    """F8: acks=all goes on at full speed, although the leader's quota is exceeded."""
    cluster = new_cluster()
    settings = Settings(cluster)
    fall_behind(cluster)
    settings.list("leader", "*")
    settings.limit("leader", 1, 1)
    cluster.world.heal()
    cluster.world.advance(2_000)
    assert cluster[1].core.replication_quotas.leader.is_exceeded()
    for _ in range(3):
        sent = cluster.produce(40, acks=ALL)
        cluster.world.advance(50)
        assert code_of(sent) is ErrorCode.NONE
    assert cluster.isr() == (1, 2)


def store(cluster: Cluster, kind: ResourceType, name: str, setting: str, text: str) -> None:
    """Alter a setting, which outlasts a controller."""
    altered = AlterableConfig(setting, ConfigOperation.SET, text)
    asked = IncrementalAlterConfigsRequest([AlterConfigsResource(kind, name, [altered])])
    (result,) = cluster.controller.ask(asked).responses
    assert result.error_code == ErrorCode.NONE, result.error_message
    cluster.world.advance(100)


def test_a_member_of_the_isr_is_not_held_back_under_a_new_leader() -> None:
    """F8: before the first answer its lag is not known, and it fetches although its quota is exceeded."""
    cluster = new_cluster()
    store(cluster, ResourceType.TOPIC, "orders", "follower.replication.throttled.replicas", "*")
    store(cluster, ResourceType.BROKER, "", "follower.replication.throttled.rate", "1")
    sent = cluster.produce(40)
    cluster.world.advance(1_000)
    assert code_of(sent) is ErrorCode.NONE
    cluster.world.expire_session(1)
    cluster.world.advance(500)
    assert cluster.leader.broker_id == 2
    assert cluster[SLOW].core.replication_quotas.follower.is_exceeded()
    sent = cluster.produce(40, acks=ALL)
    cluster.world.advance(1_000)
    assert code_of(sent) is ErrorCode.NONE
    cluster.world.advance(2 * LAG_MAX_MS)
    assert cluster.isr() == (1, 2, 3)


@pytest.mark.parametrize("taken_back", ["list", "rate"])
@pytest.mark.parametrize(("side", "broker_id"), [("leader", 1), ("follower", 3)])
def test_without_the_list_or_the_rate_it_is_slowed_down_no_more(
    side: str, broker_id: BrokerId, taken_back: str
) -> None:
    """R18: what is taken back takes effect at once, though the windows are full."""
    cluster = new_cluster()
    settings = Settings(cluster)
    fall_behind(cluster)
    settings.list(side, "*")
    settings.limit(side, broker_id, 1)
    cluster.world.heal()
    cluster.world.advance(5_000)
    assert cluster[SLOW].log("orders").end_offset < 20 * 40
    if taken_back == "list":
        settings.list(side, None)
    else:
        settings.limit(side, broker_id, None)
    cluster.world.advance(2_500)
    assert cluster.isr() == (1, 2, 3)
    assert cluster[SLOW].log("orders").end_offset == 20 * 40


def test_a_follower_fetches_its_other_partitions_meanwhile() -> None:
    """F8, X1: what is held back is left out of the fetches of the others."""
    cluster = new_cluster(partitions=2)
    settings = Settings(cluster)
    fall_behind(cluster)
    settings.list("follower", "0:3")
    settings.limit("follower", 3, 1)
    cluster.world.heal()
    cluster.world.advance(3_000)
    followed = cluster[SLOW].core.fetchers.manager.partition(P)
    assert followed is not None
    assert followed.state is State.THROTTLED
    sent = cluster.produce(partition=1)
    cluster.world.advance(100)
    assert code_of(sent) is ErrorCode.NONE
    assert cluster[SLOW].log("orders", 1).end_offset == 1
    fetches = len(cluster.fetches())
    cluster.world.advance(10_000)
    idle = 2 * 10_000 // 500
    assert len(cluster.fetches()) - fetches <= idle + 5, "a fetcher does not ask again and again"


def test_a_limit_of_nothing_lets_one_answer_pass_in_the_windows_time() -> None:
    """F8: as in Kafka the rate is looked at before a fetch, and measured afterwards."""
    cluster = new_cluster()
    settings = Settings(cluster)
    fall_behind(cluster)
    settings.list("follower", "*")
    settings.limit("follower", 3, 0)
    cluster.world.heal()
    cluster.world.advance(WINDOWS_MS - 1_000)
    first = cluster[SLOW].log("orders").end_offset
    assert 0 < first <= 80
    cluster.world.advance(WINDOWS_MS)
    assert first < cluster[SLOW].log("orders").end_offset <= first + 80


def test_bytes_of_throttled_replicas_are_a_metric() -> None:
    cluster = new_cluster()
    settings, lacking_bytes = Settings(cluster), fall_behind(cluster)
    for side, broker_id in (("leader", 1), ("follower", 3)):
        settings.list(side, "*")
        settings.limit(side, broker_id, 1 << 40)
    cluster.world.heal()
    cluster.world.advance(2_000)
    sent = value(cluster, 1, "odradek_throttled_replication_bytes_total", side="leader")
    assert 0.9 * lacking_bytes < sent <= lacking_bytes, "one batch was on its way before there was a limit"
    assert value(cluster, 3, "odradek_throttled_replication_bytes_total", side="follower") == lacking_bytes
    assert value(cluster, 3, "odradek_throttled_replication_bytes_total", side="leader") == 0
