"""The producer on simulated clusters: whatever happens, each record is stored once and in order."""

import asyncio
import inspect
import logging
import warnings

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError, SettingError
from odradek.client.aio.deliveries import Receipt
from odradek.client.aio.producer import Producer
from odradek.client.core.waiting import Cause
from odradek.testing import Cluster, simulate

pytestmark = pytest.mark.slow


async def stored(cluster: Cluster, partitions: int) -> list[list[bytes]]:
    """The values of each partition."""
    return [
        [record.value or b"" for record in await cluster.records("orders", partition=number)]
        for number in range(partitions)
    ]


@simulate(brokers=1, seeds=2)
async def test_records_are_stored_as_they_were_given(cluster: Cluster) -> None:
    await cluster.create_topic("orders", partitions=2)
    async with Producer(cluster.bootstrap_servers) as producer:
        assert await producer.partitions_for("orders") == [0, 1]
        first = await producer.send(
            "orders", b"v", key=b"k", headers={"a": b"1", "b": None}, partition=1, timestamp_ms=7
        )
        second = await producer.send("orders", None, key=b"k", headers=None, partition=1, timestamp_ms=8)
        assert await first == Receipt("orders", 1, 0, 7)
        taken = inspect.signature(producer.send).parameters
        assert list(inspect.signature(producer.send_and_wait).parameters) == list(taken)
        assert await second == Receipt("orders", 1, 1, 8)
        third = await producer.send_and_wait(
            "orders", b"v", key=b"k", headers={"a": b"1"}, partition=1, timestamp_ms=9
        )
        assert third == Receipt("orders", 1, 2, 9)
    one, two, _ = await cluster.records("orders", partition=1)
    assert (one.key, one.value, one.headers) == (b"k", b"v", (("a", b"1"), ("b", None)))
    assert (two.key, two.value, two.headers) == (b"k", None, ())


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_every_codec_is_read_back(codec: str) -> None:
    @simulate(brokers=1, seeds=1)
    async def run(cluster: Cluster) -> None:
        await cluster.create_topic("orders")
        values = [b"%d" % number * 50 for number in range(100)]
        async with Producer(cluster.bootstrap_servers, compression_type=codec) as producer:
            for content in values:
                await producer.send("orders", content)
        assert await stored(cluster, 1) == [values]

    run()


@simulate(brokers=1, seeds=1)
async def test_a_topic_that_is_not_used_is_forgotten_and_known_again_when_it_is(cluster: Cluster) -> None:
    """metadata.max.idle.ms"""
    await cluster.create_topic("orders")
    settings = {"metadata.max.age.ms": 10_000, "metadata.max.idle.ms": 60_000}
    async with Producer(cluster.bootstrap_servers, settings=settings) as producer:
        await (await producer.send("orders", b"lamp"))
        assert producer._parts is not None
        view = producer._parts.driver.view
        for _ in range(9):
            await asyncio.sleep(10)
            await producer.partitions_for("orders")  # that is a use, too
        assert "orders" in view.topics
        await asyncio.sleep(80)
        assert not view.topics
        await (await producer.send("orders", b"table"))
    assert [one.text for one in await cluster.records("orders")] == ["lamp", "table"]


@simulate(brokers=3, seeds=4)
async def test_large_batches_that_are_compressed_elsewhere_keep_their_order(cluster: Cluster) -> None:
    await cluster.create_topic("orders", partitions=2, replication_factor=3, min_insync_replicas=2)
    async with Producer(cluster.bootstrap_servers, compression_type="zstd", batch_size=100_000) as producer:
        for number in range(60):
            await producer.send("orders", b"%d " % number * 10_000, partition=number % 2)
            if number % 7 == 0:
                await producer.send("orders", b"%d " % number, partition=number % 2)
                await producer.flush()
            if number == 30:
                cluster.kill(cluster.leader_of("orders", 0))
        await cluster.recover()
    found = await stored(cluster, 2)
    for start in (0, 1):
        expected = [
            one
            for number in range(start, 60, 2)
            for one in (b"%d " % number * 10_000, b"%d " % number)[: 2 if number % 7 == 0 else 1]
        ]
        assert found[start] == expected


@simulate(brokers=1, seeds=2)
async def test_a_producer_may_be_abandoned_while_a_batch_is_compressed(cluster: Cluster) -> None:
    await cluster.create_topic("orders")
    producer = Producer(cluster.bootstrap_servers, compression_type="gzip", batch_size=100_000, linger_ms=0)
    await (await producer.send("orders", b"first"))
    delivery = await producer.send("orders", b"x" * 90_000)
    await asyncio.sleep(0)
    producer.abandon()
    with pytest.raises(ApiError, match="this producer was closed"):
        await delivery
    await asyncio.sleep(1)
    assert (await stored(cluster, 1))[0][0] == b"first"


@simulate(brokers=1, seeds=2)
async def test_acks_0_and_1_are_delivered(cluster: Cluster) -> None:
    await cluster.create_topic("orders")
    for acks, offset in ((0, None), (1, 1)):
        async with Producer(cluster.bootstrap_servers, acks=acks) as producer:
            receipt = await (await producer.send("orders", b"%d" % acks))
        assert receipt.offset == offset
    assert await stored(cluster, 1) == [[b"0", b"1"]]


@simulate(brokers=1, seeds=1)
async def test_what_it_did_is_counted(cluster: Cluster) -> None:
    await cluster.create_topic("orders")
    producer = Producer(cluster.bootstrap_servers, client_id="shop", buffer_memory=40_000, retries=1)
    assert dict(producer.metrics()) == {}
    async with producer:
        for _ in range(3):
            await producer.send("orders", b"v")
        await producer.flush()
        cluster.kill(1)
        delivery = await producer.send("orders", b"v")
        before = producer.metrics()
        assert before["buffer-total-bytes"] == 40_000
        assert 0 < before["buffer-available-bytes"] < 40_000
        with pytest.raises(ApiError):
            await delivery
        metrics = producer.metrics()
    assert (metrics["record-send-total"], metrics["record-retry-total"]) == (5, 1)
    assert (metrics["record-error-total"], metrics["requests-in-flight"]) == (1, 0)
    assert metrics["buffer-available-bytes"] == 40_000
    assert 0 < metrics["response-total"] < metrics["request-total"]
    assert metrics["record-error-rate"] == metrics["record-retry-rate"] == 1 / 30
    assert metrics["records-per-request-avg"] >= 1
    assert 0 < metrics["batch-size-avg"] <= metrics["batch-size-max"]
    assert metrics["record-queue-time-max"] >= metrics["record-queue-time-avg"] >= 0
    assert 'kafka_producer_record_send_total{client_id="shop"} 5' in metrics.to_prometheus()
    await cluster.recover()


@simulate(brokers=3, seeds=12)
async def test_killed_leaders_lose_no_record_and_double_none(cluster: Cluster) -> None:
    await cluster.create_topic("orders", partitions=2, replication_factor=3, min_insync_replicas=2)
    async with Producer(cluster.bootstrap_servers, linger_ms=1, batch_size=100) as producer:
        deliveries = []
        for number in range(120):
            deliveries.append(await producer.send("orders", b"%d" % number, partition=number % 2))
            if number in (30, 80):
                cluster.kill(cluster.leader_of("orders", number % 4 // 2))
            if number == 60:
                await cluster.recover()
            await asyncio.sleep(0.01)
        await producer.flush()
        receipts = [await delivery for delivery in deliveries]
    expected = [[b"%d" % number for number in range(start, 120, 2)] for start in (0, 1)]
    await cluster.recover()
    assert await stored(cluster, 2) == expected
    for number, receipt in enumerate(receipts):
        assert receipt.partition == number % 2
        assert receipt.offset in (None, number // 2)
    await cluster.check()


@simulate(brokers=3, seeds=12)
async def test_lost_connections_lose_no_record_and_double_none(cluster: Cluster) -> None:
    await cluster.create_topic("orders", replication_factor=3, min_insync_replicas=2)
    settings: dict[str, object] = {"linger_ms": 0, "batch_size": 0, "request_timeout_ms": 500}
    async with Producer(cluster.bootstrap_servers, settings=settings, delivery_timeout_ms=60_000) as producer:
        await (await producer.send("orders", b"0"))
        for number in range(1, 100):
            await producer.send("orders", b"%d" % number)
            if number % 30 == 10:
                leader = cluster.leader_of("orders")
                cluster.faults(leader).drop("Produce", when="before_answer", times=2)
            await asyncio.sleep(0.005)
    assert await stored(cluster, 1) == [[b"%d" % number for number in range(100)]]
    await cluster.check()


@simulate(brokers=3, seeds=6)
async def test_a_moved_leader_and_lost_answers_keep_the_order_without_idempotence(cluster: Cluster) -> None:
    await cluster.create_topic("orders", replication_factor=3, min_insync_replicas=2)
    settings: dict[str, object] = {"enable_idempotence": False, "max_in_flight_requests_per_connection": 1}
    async with Producer(cluster.bootstrap_servers, settings=settings, linger_ms=0, batch_size=0) as producer:
        for number in range(40):
            await producer.send("orders", b"%d" % number)
            if number == 20:
                cluster.kill(cluster.leader_of("orders"))
            await asyncio.sleep(0.01)
    await cluster.recover()
    numbers = [int(content) for content in (await stored(cluster, 1))[0]]
    assert sorted(set(numbers)) == list(range(40))
    assert list(dict.fromkeys(numbers)) == list(range(40)), "a record overtook an earlier one"


@simulate(brokers=3, seeds=3)
async def test_no_answer_within_the_delivery_timeout_is_an_error_that_says_why(cluster: Cluster) -> None:
    await cluster.create_topic("orders", replication_factor=3, min_insync_replicas=3)
    settings: dict[str, object] = {"request_timeout_ms": 1_000, "delivery_timeout_ms": 5_000}
    async with Producer(cluster.bootstrap_servers, settings=settings, linger_ms=0) as producer:
        await (await producer.send("orders", b"first"))
        follower = next(one for one in cluster.brokers if one != cluster.leader_of("orders"))
        cluster.kill(follower)
        while len(cluster.in_sync("orders")) == 3:
            await asyncio.sleep(0.1)
        late = await producer.send("orders", b"late")
        await asyncio.sleep(2)
        assert producer.why()[0].cause is Cause.RETRY
        assert "not enough replicas" in str(producer.why()[0])
        with pytest.raises(ApiError, match=r"not acknowledged within 5 s: .* refuses the records") as refused:
            await late
        assert refused.value.code is ErrorCode.REQUEST_TIMED_OUT
        await cluster.recover()
        await (await producer.send("orders", b"next"))
        assert not producer.why()
    assert await stored(cluster, 1) == [[b"first", b"next"]]


@simulate(brokers=1, seeds=3, settings={"auto.create.topics.enable": False})
async def test_an_unknown_topic_is_refused_after_max_block_ms(cluster: Cluster) -> None:
    async with Producer(cluster.bootstrap_servers, max_block_ms=2_000) as producer:
        with pytest.raises(ApiError, match="not sent within 2 s: there is no topic orders"):
            await producer.send("orders", b"v")
        await cluster.create_topic("orders")
        with pytest.raises(ApiError, match="partition 7 of topic orders is not known"):
            await producer.send("orders", b"v", partition=7)
        assert (await (await producer.send("orders", b"v"))).offset == 0


@simulate(brokers=1, seeds=3)
async def test_a_full_buffer_holds_back_whoever_sends(cluster: Cluster) -> None:
    await cluster.create_topic("orders")
    async with Producer(cluster.bootstrap_servers, buffer_memory=2_000, linger_ms=50_000) as one:
        cluster.faults(1).delay(1.0, "Produce")
        senders = [asyncio.create_task(one.send("orders", b"%d" % number * 300)) for number in range(10)]
        await asyncio.sleep(0.5)
        assert 0 < sum(task.done() for task in senders) < 10
        assert one.why()[0].cause is Cause.MEMORY
        for number, task in enumerate(senders):
            assert (await (await task)).offset == number


@simulate(brokers=1, seeds=3)
async def test_what_a_broker_refuses_is_an_error_of_its_record_only(cluster: Cluster) -> None:
    await cluster.create_topic("orders", configs={"max.message.bytes": "500"})
    async with Producer(cluster.bootstrap_servers, linger_ms=0, batch_size=0) as producer:
        deliveries = [
            await producer.send("orders", b"x" * size) for size in (10, 20, 1_000, 30, 40, 2_000, 50)
        ]
        results = await asyncio.gather(*deliveries, return_exceptions=True)
        assert [type(one) for one in results].count(ApiError) == 2
        with pytest.raises(ApiError, match=r"max\.request\.size is 1048576"):
            await producer.send("orders", b"x" * 1_100_000)
    assert [len(content) for content in (await stored(cluster, 1))[0]] == [10, 20, 30, 40, 50]


@simulate(brokers=1, seeds=1)
async def test_what_is_no_record_is_refused_and_leaves_nothing_behind(cluster: Cluster) -> None:
    await cluster.create_topic("orders")
    async with Producer(cluster.bootstrap_servers, linger_ms=0) as producer:
        with pytest.raises(TypeError, match="the value of a record is bytes or None, not str"):
            await producer.send("orders", "text")  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="the header gate of a record is bytes or None, not int"):
            await producer.send("orders", b"v", headers={"gate": 12})  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="the name of a header is a str, not bytes"):
            await producer.send("orders", b"v", headers=[(b"gate", b"B12")])  # type: ignore[list-item]
        for headers in (("gate", b"B12"), [("gate", b"B12", 1)], 5):
            with pytest.raises(TypeError, match="headers are a dict, or a list of pairs"):
                await producer.send("orders", b"v", headers=headers)  # type: ignore[arg-type]
        with pytest.raises(ApiError, match="timestamp -1 is not from 0"):
            await producer.send("orders", b"v", timestamp_ms=-1)
        with pytest.raises(ApiError, match="partition -1 is below 0"):
            await producer.send("orders", b"v", partition=-1)
        with pytest.raises(TypeError, match="the partition of a record is a whole number, not '0'"):
            await producer.send("orders", b"v", partition="0")  # type: ignore[arg-type]
        with pytest.raises(ApiError, match="a character that UTF-8 does not have") as refused:
            await producer.send("\ud800", b"v")
        assert refused.value.code is ErrorCode.INVALID_TOPIC_EXCEPTION
        with pytest.raises(ApiError, match="the name of a topic is not empty"):
            await producer.partitions_for("")
        with pytest.raises(TypeError, match="a timeout is a number of seconds, not '1'"):
            await producer.close("1")  # type: ignore[arg-type]
        assert (await (await producer.send("orders", b"v"))).offset == 0
    assert await stored(cluster, 1) == [[b"v"]]


@simulate(brokers=1, seeds=3)
async def test_cancelling_and_closing_leave_nothing_behind(cluster: Cluster) -> None:
    await cluster.create_topic("orders")
    producer = Producer(cluster.bootstrap_servers, linger_ms=1_000)
    delivery = await producer.send("orders", b"kept")
    delivery.cancel()
    flushing = asyncio.create_task(producer.flush())
    await asyncio.sleep(0)
    flushing.cancel()
    assert (await (await producer.send("orders", b"next"))).offset == 1
    cluster.kill(1)
    lost = await producer.send("orders", b"lost")
    await producer.close(timeout=1)
    with pytest.raises(ApiError, match="this producer was closed"):
        await lost
    with pytest.raises(ApiError, match="this producer was closed"):
        await producer.send("orders", b"never")
    assert producer.why()[0].cause is Cause.CLOSED
    await cluster.recover()
    assert await stored(cluster, 1) == [[b"kept", b"next"]]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"transactional_id": "t", "acks": 1}, "transactional.id needs acks=all, not 1"),
        ({"transactional_id": "t", "enable_idempotence": False}, "needs enable.idempotence=true"),
        ({"transaction_timeout_ms": 9}, "has no effect without transactional.id"),
        ({"acks": 1, "enable_idempotence": True}, "enable.idempotence needs acks=all, not 1"),
        ({"delivery_timeout_ms": 10}, "it must be at least linger.ms"),
        ({"partitioner_availability_timeout_ms": 10}, "has no effect here"),
        ({"linger": 10}, "did you mean linger.ms"),
    ],
)
def test_settings_that_cannot_take_effect_are_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        Producer("127.0.0.1:9092", settings=settings)


def test_a_producer_that_is_thrown_away_says_what_may_be_lost(caplog: pytest.LogCaptureFixture) -> None:
    @simulate(brokers=1, seeds=1)
    async def run(cluster: Cluster) -> None:
        await cluster.create_topic("orders")
        producer = Producer(cluster.bootstrap_servers, linger_ms=1_000)
        for content in (b"one", b"two"):
            await producer.send("orders", content)
        with pytest.warns(ResourceWarning, match=r"unclosed <.*Producer"):
            producer.__del__(warnings.warn)
        await producer.close()
        producer.__del__(warnings.warn)

    with caplog.at_level(logging.ERROR, logger="odradek.producer"):
        run()
    said = "a producer was not closed, and 2 records may be lost: await its close()"
    assert caplog.messages == [said]
