"""The admin client on simulated clusters, whose brokers and controller may go away meanwhile."""

import asyncio

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError, ElementsRefused, SettingError
from odradek.base.ids import TopicPartition
from odradek.base.offset_timestamps import EARLIEST, LATEST
from odradek.client.aio.admin import Admin
from odradek.client.aio.consumer import Consumer
from odradek.client.aio.driver import Driver
from odradek.client.aio.producer import Producer
from odradek.client.core.admin.cluster import Election
from odradek.client.core.admin.configs import ConfigResource
from odradek.client.core.admin.features import FeatureChange
from odradek.client.core.admin.topics import NewTopic
from odradek.client.core.requests import Outcome, Send, ToCoordinator
from odradek.client.core.waiting import Cause
from odradek.testing import Cluster, simulate
from odradek.wire.messages.create_topics import CreateTopicsRequest

pytestmark = pytest.mark.slow

FLIGHTS = TopicPartition("flights", 0)


async def listed(admin: Admin, topics: list[str]) -> None:
    """Return when the brokers list these topics: one that is asked may not know the latest yet."""
    while await admin.list_topics() != topics:
        await asyncio.sleep(0.1)


@simulate(brokers=3, seeds=3)
async def test_topics_are_made_changed_and_deleted(cluster: Cluster) -> None:
    async with Admin(cluster.bootstrap_servers) as admin:
        await admin.create_topic("flights", partitions=2, replication_factor=3)
        await admin.create_topics(
            [
                NewTopic("planes", configs={"retention.ms": "1000"}),
                NewTopic("pilots", assignments={0: [2, 3]}),
            ]
        )
        await listed(admin, ["flights", "pilots", "planes"])
        await admin.create_partitions({"flights": 4})
        flights, pilots = await admin.describe_topics(["pilots", "flights"])
        while len(flights.partitions) < 4:
            flights, pilots = await admin.describe_topics(["pilots", "flights"])
        assert [one.partition for one in flights.partitions] == [0, 1, 2, 3]
        assert pilots.partitions[0].replicas == [2, 3]
        entries = {one.name: one.value for one in await admin.describe_configs("topic", "planes")}
        assert entries["retention.ms"] == "1000"
        await admin.alter_configs("topic", "planes", {"retention.ms": None, "cleanup.policy": "compact"})
        entries = {one.name: one.value for one in await admin.describe_configs("topic", "planes")}
        assert (entries["retention.ms"], entries["cleanup.policy"]) == ("604800000", "compact")
        await admin.delete_topics(["planes", "pilots"])
        await listed(admin, ["flights"])


@simulate(brokers=3, seeds=2)
async def test_refusals_say_what_was_done(cluster: Cluster) -> None:
    async with Admin(cluster.bootstrap_servers) as admin:
        await admin.create_topic("flights")
        with pytest.raises(ApiError, match="the topic flights exists already; created: planes") as refused:
            await admin.create_topics([NewTopic("flights"), NewTopic("planes")])
        assert refused.value.code is ErrorCode.TOPIC_ALREADY_EXISTS
        with pytest.raises(ApiError, match="there is no topic trains"):
            await admin.describe_topics(["trains"])
        with pytest.raises(ApiError) as unknown:
            await admin.list_offsets({TopicPartition("flights", 7): LATEST})
        assert unknown.value.message == "there is no partition flights-7"
        with pytest.raises(ApiError, match="there is no group billing"):
            await admin.describe_group("billing")
        with pytest.raises(ValueError, match="settings are those of one of topic, broker, group"):
            await admin.describe_configs("cluster", "x")


@simulate(brokers=3, seeds=2)
async def test_the_cluster_is_described(cluster: Cluster) -> None:
    async with Admin(bootstrap_servers=cluster.bootstrap_servers, client_id="me") as admin:
        described = await admin.describe_cluster()
        assert [one.broker_id for one in described.brokers] == sorted(cluster.brokers)
        assert described.controller in cluster.brokers
        entries = {one.name: one.value for one in await admin.describe_configs("broker", "1")}
        assert entries["node.id"] == "1"
        await admin.create_topic("flights", replication_factor=3)
        directories = await admin.describe_log_dirs()
        assert {one.broker_id for one in directories if FLIGHTS in one.sizes} == set(cluster.brokers)
        (result,) = await admin.elect_leaders(Election.PREFERRED, [FLIGHTS])
        assert result.code is ErrorCode.ELECTION_NOT_NEEDED


@simulate(brokers=3, seeds=2)
async def test_groups_and_offsets(cluster: Cluster) -> None:
    async with Admin(cluster.bootstrap_servers) as admin:
        await admin.create_topic("flights", replication_factor=3)
        await admin.alter_group_offsets("billing", {FLIGHTS: 0})
        assert await admin.list_group_offsets("billing") == {FLIGHTS: 0}
        assert [one.group for one in await admin.list_groups()] == ["billing"]
        assert (await admin.describe_group("billing")).state == "Empty"
        await admin.delete_group_offsets("billing", [FLIGHTS])
        assert await admin.list_group_offsets("billing") == {}
        await admin.alter_group_offsets("billing", {FLIGHTS: 0})
        await admin.delete_group("billing")
        assert await admin.list_groups() == []
        assert await admin.list_offsets({FLIGHTS: LATEST}) == {FLIGHTS: 0}
        assert await admin.list_offsets({FLIGHTS: EARLIEST}, isolation_level="read_committed") == {FLIGHTS: 0}
        assert await admin.delete_records({FLIGHTS: 0}) == {FLIGHTS: 0}
        assert await admin.list_transactions() == []
        with pytest.raises(ApiError, match="there is no transactional id pay"):
            await admin.fence_producer("pay")


@simulate(brokers=3, seeds=2)
async def test_replicas_move_to_other_brokers(cluster: Cluster) -> None:
    async with Admin(cluster.bootstrap_servers) as admin:
        await admin.create_topics([NewTopic("flights", assignments={0: [1, 2]})])
        with pytest.raises(ElementsRefused, match=r"flights-0: .*99") as refused:
            await admin.alter_partition_reassignments({FLIGHTS: [1, 99]})
        assert refused.value.code is ErrorCode.INVALID_REPLICA_ASSIGNMENT
        with pytest.raises(ElementsRefused) as fixed:
            await admin.alter_partition_reassignments({FLIGHTS: [3]}, allow_replication_factor_change=False)
        assert fixed.value.code is ErrorCode.INVALID_REPLICATION_FACTOR
        await admin.alter_partition_reassignments({FLIGHTS: [3, 2]})
        while await admin.list_partition_reassignments([FLIGHTS]):
            await asyncio.sleep(0.1)
        replicas: list[int] = []
        while replicas != [3, 2]:
            (flights,) = await admin.describe_topics(["flights"])
            replicas = flights.partitions[0].replicas
        with pytest.raises(ElementsRefused) as nothing:
            await admin.alter_partition_reassignments({FLIGHTS: None})
        assert nothing.value.code is ErrorCode.NO_REASSIGNMENT_IN_PROGRESS


@simulate(brokers=3, seeds=2)
async def test_the_cluster_tells_its_features_and_its_quorum(cluster: Cluster) -> None:
    async with Admin(cluster.bootstrap_servers) as admin:
        levels = {one.name: one.level for one in await admin.describe_features()}
        assert levels["transaction.version"] == 2
        await admin.update_features({"transaction.version": 2})
        with pytest.raises(ApiError, match=r"feature transaction\.version stays at level 2") as fixed:
            await admin.update_features({"transaction.version": 1}, change=FeatureChange.SAFE_DOWNGRADE)
        assert fixed.value.code is ErrorCode.INVALID_UPDATE_VERSION
        quorum = await admin.describe_metadata_quorum()
        assert quorum.leader == cluster.controller
        assert [one.replica_id for one in quorum.voters] == sorted(cluster.brokers)
        assert await admin.describe_client_quotas() == []
        assert await admin.describe_user_scram_credentials() == {}
        with pytest.raises(ElementsRefused, match="the user ann has no credentials"):
            await admin.describe_user_scram_credentials(["ann"])
        await admin.create_topic("flights")
        topics = [ConfigResource("topic", "flights")]
        while await admin.list_config_resources(["topic"]) != topics:
            await asyncio.sleep(0.1)


@simulate(brokers=3, seeds=2)
async def test_members_are_removed_from_a_group(cluster: Cluster) -> None:
    async with Admin(cluster.bootstrap_servers) as admin:
        await admin.create_topic("flights", replication_factor=3)
        settings: dict[str, object] = {"group.protocol": "classic", "group.instance.id": "desk-1"}
        async with Consumer(
            "flights", bootstrap_servers=cluster.bootstrap_servers, group_id="billing", settings=settings
        ) as consumer:
            while not consumer.assignment():
                await consumer.poll(timeout=0.5)
            (member,) = (await admin.describe_group("billing")).members
            assert member.instance == "desk-1"
            assert [one.group for one in await admin.list_groups(states=["Stable"])] == ["billing"]
            assert await admin.list_groups(kinds=["consumer"]) == []
            with pytest.raises(ElementsRefused, match="desk-2: unknown member id; removed: desk-1"):
                await admin.remove_members_from_group("billing", ["desk-1", "desk-2"])
            assert (await admin.describe_group("billing")).members == []
            await admin.remove_members_from_group("billing")


@simulate(brokers=3, seeds=2)
async def test_an_open_transaction_is_found_and_aborted(cluster: Cluster) -> None:
    async with (
        Admin(cluster.bootstrap_servers) as admin,
        Producer(cluster.bootstrap_servers, transactional_id="pay") as producer,
    ):
        await admin.create_topic("flights", replication_factor=3)
        await producer.init_transactions()
        await producer.begin_transaction()
        await (await producer.send("flights", b"EWR to IAH"))
        (found,) = (await admin.describe_producers([FLIGHTS]))[FLIGHTS]
        assert found.start_offset == 0
        assert await admin.list_transactions(states=["Ongoing"], pattern="pa.")
        assert await admin.list_transactions(open_for_ms=3_600_000) == []
        with pytest.raises(ApiError, match="transactions have no state 'Lost'"):
            await admin.list_transactions(states=["Lost"])
        assert await admin.list_offsets({FLIGHTS: LATEST}, isolation_level="read_committed") == {FLIGHTS: 0}
        await admin.abort_transaction(found)
        while (await admin.describe_producers([FLIGHTS]))[FLIGHTS][0].start_offset is not None:
            await asyncio.sleep(0.1)
        end = await admin.list_offsets({FLIGHTS: LATEST}, isolation_level="read_committed")
        assert end == {FLIGHTS: 2}


@simulate(brokers=3, seeds=10)
async def test_the_controller_moves_while_topics_are_made(cluster: Cluster) -> None:
    async with Admin(cluster.bootstrap_servers) as admin:
        await admin.describe_cluster()
        controller = cluster.controller
        assert controller is not None
        cluster.kill(controller)
        await admin.create_topic("flights", replication_factor=2)
        await listed(admin, ["flights"])
        found = await admin.list_offsets({FLIGHTS: LATEST})
        assert found == {FLIGHTS: 0}


@simulate(brokers=3, seeds=10)
async def test_the_controller_moves_while_replicas_are_moved(cluster: Cluster) -> None:
    """The next controller is asked: what was decided already is asked for again, and is the same."""
    async with Admin(cluster.bootstrap_servers) as admin:
        await admin.create_topics([NewTopic("flights", assignments={0: [1, 2], 1: [2, 3]})])
        controller = cluster.controller
        assert controller is not None
        living = [one for one in cluster.brokers if one != controller]
        second = TopicPartition("flights", 1)
        cluster.kill(controller)
        targets = {FLIGHTS: living, second: living[::-1]}
        await admin.alter_partition_reassignments(targets)
        while await admin.list_partition_reassignments(targets):
            await asyncio.sleep(0.1)
        replicas: list[list[int]] = []
        while replicas != [living, living[::-1]]:
            (flights,) = await admin.describe_topics(["flights"])
            replicas = [one.replicas for one in flights.partitions]
            await asyncio.sleep(0.1)


@simulate(brokers=3, seeds=5)
async def test_leaders_move_while_their_producers_are_asked_for(cluster: Cluster) -> None:
    async with Admin(cluster.bootstrap_servers) as admin:
        await admin.create_topic("flights", partitions=3, replication_factor=3)
        await listed(admin, ["flights"])
        partitions = [TopicPartition("flights", number) for number in range(3)]
        (flights,) = await admin.describe_topics(["flights"])
        cluster.kill(flights.partitions[0].leader)
        assert await admin.describe_producers(partitions) == {one: [] for one in partitions}
        assert await admin.delete_records(dict.fromkeys(partitions, 0)) == dict.fromkeys(partitions, 0)


@simulate(brokers=3, seeds=10)
async def test_the_coordinator_of_a_group_moves(cluster: Cluster) -> None:
    async with Admin(cluster.bootstrap_servers) as admin:
        await admin.create_topic("flights", replication_factor=3)
        await admin.alter_group_offsets("billing", {FLIGHTS: 0})
        assert admin._runs is not None
        cluster.kill(admin._runs.driver.routing.node_of_coordinator(ToCoordinator("billing")))
        assert await admin.list_group_offsets("billing") == {FLIGHTS: 0}


@simulate(brokers=1, seeds=2)
async def test_an_operation_ends_in_its_time_and_leaves_the_client_usable(cluster: Cluster) -> None:
    (broker,) = cluster.brokers
    async with Admin(cluster.bootstrap_servers, settings={"default.api.timeout.ms": 5_000}) as admin:
        await admin.list_topics()
        cluster.kill(broker)
        began = asyncio.get_running_loop().time()
        with pytest.raises(ApiError, match="given up after 5,000 ms"):
            await admin.list_topics()
        assert asyncio.get_running_loop().time() - began <= 6
        assert admin.why() == []
        listing = asyncio.ensure_future(admin.list_topics())
        await asyncio.sleep(1)
        assert {why.cause for why in admin.why()} >= {Cause.NO_BROKER}
        listing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await listing
        assert admin.why() == []
        await cluster.start(broker)
        assert await admin.list_topics() == []


@simulate(brokers=1, seeds=1)
async def test_a_broker_that_cannot_be_reached_holds_no_call_beyond_its_time(cluster: Cluster) -> None:
    """A connection may take `socket.connection.setup.timeout.ms`, 10 s; a call does not wait for that."""
    cluster.isolate(1)
    now = asyncio.get_running_loop().time
    async with Admin(cluster.bootstrap_servers) as admin:
        began = now()
        with pytest.raises(
            ApiError, match=r"given up after 1,500 ms: .* could not be connected to within 1\.5 s"
        ) as refused:
            await admin.list_topics(timeout=1.5)
        assert refused.value.code.is_retriable
        assert now() - began <= 1.6
        cluster.heal()
        assert await admin.list_topics(timeout=30) == []


@simulate(brokers=1, seeds=1)
async def test_a_call_may_have_a_time_of_its_own(cluster: Cluster) -> None:
    """Shorter or longer than `default.api.timeout.ms`, which goes on to bound the other calls."""
    (broker,) = cluster.brokers
    settings = {"default.api.timeout.ms": 5_000, "request.timeout.ms": 3_000}
    now = asyncio.get_running_loop().time
    async with Admin(cluster.bootstrap_servers, settings=settings) as admin:
        assert await admin.list_topics(timeout=0.5) == []
        cluster.kill(broker)
        for timeout in (0.0, 0.5, 2, 12.5):
            began = now()
            with pytest.raises(ApiError, match=f"given up after {timeout * 1000:,.0f} ms") as refused:
                await admin.list_topics(timeout=timeout)
            assert refused.value.code.is_retriable
            assert now() - began <= timeout + 0.1
        with pytest.raises(ApiError, match="given up after 5,000 ms"):
            await admin.list_topics(timeout=None)
        with pytest.raises(TypeError, match="a timeout is a number of seconds, not '1'"):
            await admin.list_topics(timeout="1")  # type: ignore[call-overload]
        listing = asyncio.ensure_future(admin.list_topics(timeout=60))
        await asyncio.sleep(6)
        await cluster.start(broker)
        assert await listing == []


@simulate(brokers=1, seeds=1)
async def test_brokers_are_told_the_time_of_the_call(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[int] = []
    ask = Driver.ask

    def noted(driver: Driver, send: Send) -> asyncio.Future[Outcome]:
        if isinstance(send.request, CreateTopicsRequest):
            told.append(send.request.timeout_ms)
        return ask(driver, send)

    monkeypatch.setattr(Driver, "ask", noted)
    async with Admin(cluster.bootstrap_servers) as admin:
        await admin.create_topic("flights", timeout=7)
        await admin.create_topic("planes", timeout=70)
    assert told == [7_000, 30_000]


@simulate(brokers=1, seeds=1)
async def test_brokers_are_told_the_time_that_is_left(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As Kafka's admin client tells them: the time of the operation, at most `request.timeout.ms`."""
    settings = {"default.api.timeout.ms": 9_000, "request.timeout.ms": 5_000}
    told: list[int] = []
    ask = Driver.ask

    def noted(driver: Driver, send: Send) -> asyncio.Future[Outcome]:
        if isinstance(send.request, CreateTopicsRequest):
            assert send.timeout_ms == send.request.timeout_ms
            told.append(send.timeout_ms)
        return ask(driver, send)

    monkeypatch.setattr(Driver, "ask", noted)
    async with Admin(cluster.bootstrap_servers, settings=settings) as admin:
        await admin.create_topic("flights")
        cluster.faults(1).delay(20, api="CreateTopics")
        with pytest.raises(ApiError):
            await admin.create_topic("planes")
    assert told[:2] == [5_000, 5_000]
    assert len(told) >= 3
    assert all(1 <= ms <= 4_000 for ms in told[2:])


@simulate(brokers=1, seeds=1)
async def test_a_closed_client_says_so(cluster: Cluster) -> None:
    admin = Admin(cluster.bootstrap_servers)
    await admin.list_topics()
    await admin.close()
    await admin.close()
    assert [why.cause for why in admin.why()] == [Cause.CLOSED]
    with pytest.raises(ApiError, match="this admin client was closed"):
        await admin.list_topics()


def test_settings_are_checked_before_anything_is_connected() -> None:
    with pytest.raises(SettingError, match=r"group\.id is no setting of an admin"):
        Admin("localhost:9092", group_id="g")  # type: ignore[call-arg]
    with pytest.raises(SettingError, match="bootstrap servers are a list of host:port"):
        Admin("localhost")
    with pytest.raises(SettingError, match="are the same setting"):
        Admin("localhost:9092", settings={"bootstrap.servers": "localhost:9092"})
