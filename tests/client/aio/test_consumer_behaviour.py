"""What a consumer does for its application, on a broker and on a cluster of three."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Iterator
from uuid import uuid4

import pytest

from odradek.aio import (
    Consumer,
    ConsumerRecord,
    OffsetAndMetadata,
    Producer,
    RebalanceListener,
    TopicPartition,
)
from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError, SettingError, WakeupError
from odradek.client.core.waiting import Cause
from odradek.client.key_value_types import K, V
from odradek.testing import Broker, LocalCluster
from tests.heartbeats import heartbeats_every

pytestmark = [pytest.mark.slow, pytest.mark.integration]

Servers = Broker | LocalCluster
Make = Callable[..., Consumer]

SETTINGS = heartbeats_every(200)


@pytest.fixture(scope="module", params=["broker", "cluster"])
def servers(request: pytest.FixtureRequest) -> Iterator[Servers]:
    with Broker(settings=SETTINGS) if request.param == "broker" else LocalCluster(settings=SETTINGS) as made:
        yield made


@pytest.fixture
def topic(servers: Servers) -> str:
    """Two partitions: 0 has the values 0 to 9, 1 has 10 to 19."""
    name = servers.create_topic(f"orders-{uuid4().hex}", partitions=2)
    for partition in range(2):
        values = [str(number) for number in range(10 * partition, 10 * partition + 10)]
        servers.produce(name, *values, key=f"k{partition}", partition=partition)
    return name


def consumer(servers: Servers, *topics: str, **settings: object) -> Consumer:
    given = {
        "bootstrap_servers": servers.bootstrap_servers,
        "auto_offset_reset": "earliest",
        **settings,
    }
    return Consumer(*topics, settings=given)


def run(test: Callable[[], Awaitable[None]]) -> None:
    async def within() -> None:
        async with asyncio.timeout(60):
            await test()

    asyncio.run(within())


def numbers(records: list[ConsumerRecord]) -> list[int]:
    found = []
    for record in records:
        assert isinstance(record.value, bytes)
        found.append(int(record.value))
    return found


async def read(reader: Consumer[K, V], count: int) -> list[ConsumerRecord[K, V]]:
    found: list[ConsumerRecord[K, V]] = []
    while len(found) < count:
        found += await reader.poll(10)
    assert len(found) == count
    return found


def test_assigned_partitions_are_read_in_order(servers: Servers, topic: str) -> None:
    async def test() -> None:
        async with consumer(servers) as reader:
            reader.assign([TopicPartition(topic, 0), TopicPartition(topic, 1)])
            records = await read(reader, 20)
            for partition in range(2):
                mine = [record for record in records if record.partition == partition]
                assert numbers(mine) == list(range(10 * partition, 10 * partition + 10))
                assert [record.offset for record in mine] == list(range(10))
                assert {record.key for record in mine} == {b"k%d" % partition}
            assert await reader.poll(0) == []

    run(test)


def test_what_it_did_is_counted(servers: Servers, topic: str) -> None:
    async def test() -> None:
        async with consumer(
            servers, topic, group_id=uuid4().hex, client_id="billing", enable_auto_commit=False
        ) as reader:
            assert "records-lag-max" not in reader.metrics(), "nothing was fetched"
            await read(reader, 20)
            await reader.commit()
            metrics = reader.metrics()
            assert (metrics["records-consumed-total"], metrics["commit-total"]) == (20, 1)
            assert (metrics["assigned-partitions"], metrics["records-lag-max"]) == (2, 0)
            assert metrics["rebalance-total"] == 1
            assert metrics["fetch-total"] >= 1
            assert metrics["records-consumed-rate"] == 20 / 30, "of the first window of 30 s"
            assert (
                0 < metrics["fetch-size-avg"] <= metrics["fetch-size-max"] <= metrics["bytes-consumed-total"]
            )
            for latency in ("request", "fetch", "commit"):
                assert 0 <= metrics[f"{latency}-latency-avg"] <= metrics[f"{latency}-latency-max"]
            assert 0 <= metrics["last-poll-seconds-ago"] < 60
            assert 1 <= metrics["connection-count"] <= metrics["response-total"] <= metrics["request-total"]
            assert 'kafka_consumer_commit_total{client_id="billing"} 1' in metrics.to_prometheus()

    run(test)


def test_seek_pause_resume_and_positions(servers: Servers, topic: str) -> None:
    async def test() -> None:
        first, second = TopicPartition(topic, 0), TopicPartition(topic, 1)
        async with consumer(servers) as reader:
            reader.assign([first, second])
            assert await reader.position(first) == 0
            reader.pause([second])
            assert reader.paused() == {second}
            reader.seek(first, 7)
            assert numbers(await read(reader, 3)) == [7, 8, 9]
            assert await reader.poll(0.2) == []
            assert reader.lag(first) == 0
            reader.seek_to_end([first])
            assert await reader.position(first) == 10
            reader.seek_to_beginning([first])
            assert numbers(await read(reader, 10)) == list(range(10))
            reader.resume([second])
            assert numbers(await read(reader, 10)) == list(range(10, 20))
            with pytest.raises(ApiError, match="orders-0 is not assigned to this consumer"):
                reader.seek(TopicPartition("orders", 0), 1)
            with pytest.raises(ValueError, match=r"the offset of .* is from 0 to"):
                reader.seek(first, -1)

    run(test)


def test_a_reset_by_duration_begins_that_long_ago(servers: Servers) -> None:
    topic = servers.create_topic(f"orders-{uuid4().hex}", partitions=2)
    hour_ms = 3_600_000

    async def test() -> None:
        async with Producer(bootstrap_servers=servers.bootstrap_servers) as producer:
            now_ms = int(time.time() * 1_000)
            for partition, ages in enumerate(((3, 2, 0.5, 0), (3, 2))):
                for age in ages:
                    at_ms = now_ms - int(age * hour_ms)
                    await producer.send(topic, b"1", partition=partition, timestamp_ms=at_ms)
        async with consumer(servers, auto_offset_reset="by_duration:PT1H") as reader:
            places = [TopicPartition(topic, 0), TopicPartition(topic, 1)]
            reader.assign(places)
            assert [await reader.position(one) for one in places] == [2, 2]

    run(test)


def test_offsets_of_times_and_ends(servers: Servers, topic: str) -> None:
    async def test() -> None:
        first, second = TopicPartition(topic, 0), TopicPartition(topic, 1)
        async with consumer(servers) as reader:
            assert await reader.beginning_offsets([first, second]) == {first: 0, second: 0}
            assert await reader.end_offsets([first, second]) == {first: 10, second: 10}
            found = await reader.offsets_for_times({first: 0, second: 1 << 50})
            at = found[first]
            assert at is not None
            assert at.offset == 0
            assert found[second] is None

    run(test)


@pytest.mark.parametrize("protocol", ["consumer", "classic", None])
def test_a_group_commits_and_goes_on_where_it_was(servers: Servers, topic: str, protocol: str | None) -> None:
    settings = (
        {"group_id": uuid4().hex, "group_protocol": protocol} if protocol else {"group_id": uuid4().hex}
    )

    async def test() -> None:
        first, second = TopicPartition(topic, 0), TopicPartition(topic, 1)
        async with consumer(servers, topic, enable_auto_commit=False, **settings) as reader:
            await read(reader, 20)
            assert await reader.committed([first]) == {first: None}
            await reader.commit({first: OffsetAndMetadata(4, "half"), second: 10})
            assert await reader.committed([first, second]) == {
                first: OffsetAndMetadata(4, "half"),
                second: OffsetAndMetadata(10),
            }
        async with consumer(servers, topic, **settings) as reader:
            assert numbers(await read(reader, 6)) == [4, 5, 6, 7, 8, 9]
        async with consumer(servers, topic, **settings) as reader:
            for partition in range(2):
                await servers.aio.produce(topic, str(20 + partition), partition=partition)
            assert sorted(numbers(await read(reader, 2))) == [20, 21]
            assert reader.assignment() == {first, second}, "close committed what was read"
            assert {why.cause for why in reader.why()} <= {Cause.AT_END, Cause.FETCHING}

    run(test)


@pytest.mark.parametrize(
    "settings",
    [
        {"group_protocol": "consumer"},
        {"group_protocol": "classic", "partition_assignment_strategy": "range"},
        {"group_protocol": "classic", "partition_assignment_strategy": "roundrobin"},
        {"group_protocol": "classic", "partition_assignment_strategy": "sticky"},
        {"group_protocol": "classic", "partition_assignment_strategy": "cooperative-sticky"},
    ],
)
def test_members_share_partitions_and_hear_of_it(
    servers: Servers, topic: str, settings: dict[str, object]
) -> None:
    settings = {"group_id": uuid4().hex, "heartbeat_interval_ms": 200, **settings}
    if settings["group_protocol"] == "consumer":
        del settings["heartbeat_interval_ms"]
    heard: list[tuple[str, int]] = []

    class Listener(RebalanceListener):
        async def on_partitions_assigned(self, partitions: frozenset[TopicPartition]) -> None:
            heard.append(("assigned", len(partitions)))

        def on_partitions_revoked(self, partitions: frozenset[TopicPartition]) -> None:
            heard.append(("revoked", len(partitions)))

    async def test() -> None:
        async with consumer(servers, **settings) as one, consumer(servers, topic, **settings) as other:
            one.subscribe([topic], listener=Listener())
            while not (len(one.assignment()) == len(other.assignment()) == 1):
                await asyncio.gather(one.poll(0.1), other.poll(0.1))
            assert one.assignment() | other.assignment() == {TopicPartition(topic, at) for at in range(2)}
            await other.close()
            while len(one.assignment()) < 2:
                await one.poll(0.1)
        assert ("assigned", 1) in heard or ("assigned", 2) in heard
        assert heard[-1] == ("revoked", 2), "closing gives everything back"

    run(test)


def test_a_pattern_finds_topics_that_are_made_later(servers: Servers) -> None:
    async def test() -> None:
        prefix = f"p{uuid4().hex}"
        async with consumer(servers, group_id=uuid4().hex, metadata_max_age_ms=200) as reader:
            reader.subscribe(pattern=f"{prefix}-.*")
            await reader.poll(0.1)
            name = await servers.aio.create_topic(f"{prefix}-a")
            await servers.aio.create_topic(f"x{prefix}-a")
            await servers.aio.produce(name, "1")
            assert numbers(await read(reader, 1)) == [1]
            assert reader.subscription() == {name}

    run(test)


def test_iteration_commits_behind_the_record_at_hand(servers: Servers, topic: str) -> None:
    async def test() -> None:
        first = TopicPartition(topic, 0)
        async with consumer(servers, group_id=uuid4().hex, enable_auto_commit=False) as reader:
            reader.assign([first])
            async for record in reader:
                if record.offset == 3:
                    break
            await reader.commit()
            assert await reader.position(first) == 4
            found = (await reader.committed([first]))[first]
            assert found is not None
            assert found.offset == 4
            assert numbers(await read(reader, 6)) == [4, 5, 6, 7, 8, 9]

    run(test)


def test_deserializers_and_interceptors_see_the_records(servers: Servers, topic: str) -> None:
    class Odd:
        def on_consume(self, records: list[ConsumerRecord]) -> list[ConsumerRecord]:
            return [record for record in records if record.offset % 2]

        def on_commit(self, offsets: object) -> None:
            """Not of interest."""

    async def test() -> None:
        async with Consumer(
            bootstrap_servers=servers.bootstrap_servers,
            auto_offset_reset="earliest",
            value_deserializer=json.loads,
            key_deserializer=bytes.decode,
            interceptors=[Odd()],
        ) as reader:
            reader.assign([TopicPartition(topic, 0)])
            records = await read(reader, 5)
            assert [(record.key, record.value) for record in records] == [
                ("k0", at) for at in (1, 3, 5, 7, 9)
            ]

    run(test)


def test_what_cannot_be_done_is_refused_with_a_reason(servers: Servers, topic: str) -> None:
    async def test() -> None:
        with pytest.raises(
            SettingError, match=r"session\.timeout\.ms has no effect with group\.protocol=consumer"
        ):
            consumer(servers, topic, group_id="g", group_protocol="consumer", session_timeout_ms=6_000)
        async with consumer(servers, auto_offset_reset="none") as reader:
            with pytest.raises(ApiError, match="subscribe to topics or assign partitions first"):
                await reader.poll(0)
            with pytest.raises(ApiError, match=r"needs the setting group\.id"):
                reader.subscribe([topic])
            reader.assign([TopicPartition(topic, 0)])
            with pytest.raises(ApiError, match=r"auto\.offset\.reset is none; seek to go on"):
                await reader.poll(10)
            async with consumer(servers, group_id="g") as other:
                other.assign([TopicPartition(topic, 0)])
                with pytest.raises(ApiError, match="partitions are assigned") as refused:
                    other.subscribe([topic])
            assert refused.value.code is ErrorCode.INVALID_REQUEST
            reader.seek(TopicPartition(topic, 0), 0)
            polling = asyncio.create_task(reader.poll(0.5))
            await asyncio.sleep(0)
            with pytest.raises(RuntimeError, match="another coroutine polls"):
                await reader.poll(0)
            await polling
        with pytest.raises(ApiError, match="the consumer is closed"):
            await reader.poll(0)

    run(test)


def test_a_cancelled_poll_loses_nothing(servers: Servers, topic: str) -> None:
    async def test() -> None:
        async with consumer(servers, max_poll_records=3) as reader:
            reader.assign([TopicPartition(topic, 0)])
            found: list[ConsumerRecord] = []
            for rounds in range(200):
                polling = asyncio.create_task(reader.poll(1))
                for _ in range(rounds % 7):
                    await asyncio.sleep(0)
                polling.cancel()
                try:
                    found += await polling
                except asyncio.CancelledError:
                    pass
                if len(found) == 10:
                    break
                await asyncio.sleep(0.005)
            found += await read(reader, 10 - len(found)) if len(found) < 10 else []
            assert numbers(found) == list(range(10))

    run(test)


def test_wakeup_ends_one_poll_and_loses_nothing(servers: Servers, topic: str) -> None:
    """C2."""

    async def test() -> None:
        async with consumer(servers, max_poll_records=4) as reader:
            reader.assign([TopicPartition(topic, 0)])
            for count in (4, 4, 2):
                reader.wakeup()
                with pytest.raises(WakeupError):
                    await reader.poll(10)
                assert len(await read(reader, count)) == count
            polling = asyncio.create_task(reader.poll(None))
            await asyncio.sleep(0)
            reader.wakeup()
            with pytest.raises(WakeupError, match=r"wakeup\(\) was called"):
                await polling
            assert await reader.poll(0) == []

    run(test)


def test_records_that_are_put_back_come_again_unless_the_position_changes(
    servers: Servers, topic: str
) -> None:
    async def test() -> None:
        first = TopicPartition(topic, 0)
        async with consumer(servers) as reader:
            reader.assign([first])
            records = await read(reader, 10)
            reader.handed_out.put_back(records[6:])
            assert await reader.position(first) == 6
            assert numbers(await reader.poll(10, max_records=1)) == [6]
            reader.handed_out.put_back(records[6:7])
            assert numbers(await read(reader, 4)) == [6, 7, 8, 9]
            reader.handed_out.put_back(records[6:])
            reader.seek(first, 9)
            assert numbers(await read(reader, 1)) == [9]

    run(test)


def test_a_static_member_comes_back_to_its_partitions(servers: Servers, topic: str) -> None:
    async def test() -> None:
        settings = {"group_id": uuid4().hex, "group_instance_id": "one"}
        for _ in range(2):
            async with consumer(servers, topic, **settings) as reader:
                while len(reader.assignment()) < 2:
                    await reader.poll(0.1)

    run(test)
