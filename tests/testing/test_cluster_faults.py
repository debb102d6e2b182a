"""Faults of a whole cluster with unmodified clients: brokers are cut off, leaders and coordinators moved."""

import asyncio
from collections.abc import Iterator

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from confluent_kafka import Producer

from odradek.testing import ApiError, FaultRefused, LocalCluster, OdradekError, cluster_verbs
from tests.testing.test_local_cluster import Writer, member, read

pytestmark = [pytest.mark.integration, pytest.mark.slow]

WAIT_S = 60
WAYS = ("both", "in", "out")


@pytest.fixture
def cluster() -> Iterator[LocalCluster]:
    """A cluster that soon notices who is missing."""
    settings = {"broker.session.timeout.ms": 1000, "replica.lag.time.max.ms": 1000}
    with LocalCluster(settings=settings) as made:
        yield made


@pytest.mark.parametrize("way", WAYS)
def test_a_follower_that_is_cut_off_leaves_the_isr_and_comes_back(cluster: LocalCluster, way: str) -> None:
    """R6: what acks=all waits for goes on without it."""
    topic = cluster.create_topic()
    leader = cluster.leader_of(topic)
    follower = next(one for one in cluster.broker_ids if one != leader)
    writer = Writer(cluster, topic)
    writer.write(range(10))
    with cluster.isolate(follower, from_="brokers", way=way) as cut:  # type: ignore[arg-type]
        rule = cluster.faults(follower).rules()[0]
        assert (rule["fault"], rule["from"], rule.get("way", "both")) == ("isolate", "brokers", way)
        assert "hits" not in rule
        writer.write(range(10, 20))
        assert cluster.leader_of(topic) == leader
    assert cluster.faults(follower).rules() == []
    cut.remove()  # once is enough
    cluster.wait_in_sync()
    assert sorted(writer.acknowledged) == list(range(20))
    assert len(cluster.records(topic)) == 20


@pytest.mark.parametrize("way", WAYS)
def test_a_leader_without_the_store_is_replaced(cluster: LocalCluster, way: str) -> None:
    """R7: what it is still asked for is at the next leader in the end, once."""
    topic = cluster.create_topic()
    writer = Writer(cluster, topic)
    writer.write(range(10))
    leader = cluster.leader_of(topic)
    with cluster.isolate(leader, from_="store", way=way):  # type: ignore[arg-type]
        assert cluster.leader_of(topic) != leader
        writer.send(range(10, 20))
        cluster.produce(topic, "100")
    writer.write(range(20, 21))
    cluster.wait_in_sync()
    assert sorted(writer.acknowledged) == list(range(21))
    assert sorted(int(one.text) for one in cluster.records(topic)) == [*range(21), 100]


def test_a_leader_that_is_alone_acknowledges_nothing_that_is_lost(cluster: LocalCluster) -> None:
    """R2, R7: acks=all is answered by the next leader; the controller may be the one that is alone."""
    topic = cluster.create_topic(partitions=3)
    controller = cluster.controller()
    partition = next(one for one in range(3) if cluster.leader_of(topic, one) == controller)
    writer = Writer(cluster, topic)
    writer.write(range(30))
    cluster.isolate(controller)
    writer.send(range(30, 60))
    assert cluster.leader_of(topic, partition) != controller
    assert cluster.controller() != controller
    cluster.produce(topic, "60", partition=partition)
    cluster.restore()
    assert cluster.faults(controller).rules() == []
    writer.write(range(61, 62))
    assert sorted(int(one.text) for one in cluster.records(topic)) == list(range(62))


def test_a_session_ends_and_the_broker_comes_back(cluster: LocalCluster) -> None:
    topic = cluster.create_topic()
    writer = Writer(cluster, topic)
    writer.write(range(10))
    cluster.expire_session(cluster.leader_of(topic))
    writer.write(range(10, 20))
    cluster.wait_in_sync()
    assert len(cluster.wait_for(topic, 20)) == 20  # a leader that is still moving is asked again


def test_a_leader_is_moved_to_each_broker_while_a_producer_writes(cluster: LocalCluster) -> None:
    topic = cluster.create_topic()
    writer = Writer(cluster, topic)
    for place, one in enumerate((*cluster.broker_ids, *cluster.broker_ids)):
        assert cluster.move_leader(topic, to=one) == one
        assert cluster.leader_of(topic) == one
        writer.write(range(10 * place, 10 * place + 10))
    assert sorted(writer.acknowledged) == list(range(60))
    with pytest.raises(ApiError, match=f"broker 9 has no replica of {topic}-0: its replicas are on 3, "):
        cluster.move_leader(topic, to=9)
    cluster.kill(2)
    with pytest.raises(ApiError) as refused:  # by what is known already, or by the controller
        cluster.move_leader(topic, to=2)
    assert refused.value.code.name == "PREFERRED_LEADER_NOT_AVAILABLE"
    with pytest.raises(ApiError, match=r"there is no partition .*-7"):
        cluster.move_leader(topic, 7, to=1)


def test_a_partition_that_nobody_knows_is_not_waited_for(
    cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The controller knows what there is, and a moment is enough for what is being made."""
    monkeypatch.setattr(cluster_verbs, "_UNKNOWN_S", 0.1)
    topic = cluster.create_topic()
    with pytest.raises(ApiError, match="there is no topic nowhere"):
        cluster.leader_of("nowhere")
    with pytest.raises(ApiError, match=f"there is no partition {topic}-1"):
        cluster.leader_of(topic, 1)


def test_a_coordinator_is_moved_under_a_group(cluster: LocalCluster) -> None:
    topic = cluster.create_topic()
    cluster.produce(topic, *"0123456789")
    consumer = member(cluster, topic, "readers")
    assert read(consumer, 10) == list(range(10))
    consumer.commit(asynchronous=False)
    before = cluster.coordinator_of("readers")
    after = cluster.move_coordinator("readers")
    assert after != before
    assert cluster.coordinator_of("readers") == after
    assert len(cluster.wait_lag_zero("readers", topic)) == 1
    cluster.produce(topic, "10")
    assert read(consumer, 1) == [10]
    consumer.commit(asynchronous=False)
    assert cluster.move_coordinator("readers", to=before) == before
    assert len(cluster.wait_lag_zero("readers", topic)) == 1
    consumer.close()


def test_a_coordinator_is_moved_under_a_transaction(cluster: LocalCluster) -> None:
    topic = cluster.create_topic()
    producer = Producer(
        {"bootstrap.servers": cluster.bootstrap_servers, "transactional.id": "shop", "log_level": 0}
    )
    producer.init_transactions(WAIT_S)
    before = cluster.coordinator_of("shop", kind="transaction")
    with pytest.raises(OdradekError, match="kind is one of group, transaction, not 'topic'"):
        cluster.coordinator_of("shop", kind="topic")  # type: ignore[arg-type]
    producer.begin_transaction()
    producer.produce(topic, b"0")
    producer.flush(WAIT_S)
    assert cluster.move_coordinator("shop", kind="transaction") != before
    producer.commit_transaction(WAIT_S)
    assert [one.text for one in cluster.wait_for(topic, 1)] == ["0"]


@pytest.mark.asyncio
async def test_the_verbs_are_awaited(cluster: LocalCluster) -> None:
    """Design 5, with aiokafka: the test's loop goes on while a verb waits."""
    topic = await cluster.aio.create_topic()
    servers = cluster.bootstrap_servers
    async with (
        AIOKafkaProducer(bootstrap_servers=servers, acks="all", enable_idempotence=True) as producer,
        AIOKafkaConsumer(topic, bootstrap_servers=servers, auto_offset_reset="earliest") as consumer,
    ):
        await producer.send_and_wait(topic, b"0")
        leader = await cluster.aio.leader_of(topic)
        target = next(one for one in cluster.broker_ids if one != leader)
        assert await cluster.aio.move_leader(topic, to=target) == target
        await producer.send_and_wait(topic, b"1")
        with await cluster.aio.isolate(target):
            assert await cluster.aio.leader_of(topic) != target
            sent = await producer.send(topic, b"2")  # to the old leader, which cannot acknowledge it
        await asyncio.wait_for(sent, WAIT_S)
        await cluster.aio.wait_in_sync(topic)
        read = [(await asyncio.wait_for(consumer.getone(), WAIT_S)).value for _ in range(3)]
    assert read == [b"0", b"1", b"2"]
    with pytest.raises(FaultRefused, match="way is one of in, out, both"):
        await cluster.aio.isolate(1, way="up")  # type: ignore[arg-type]
