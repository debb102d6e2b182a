"""Each awaited call of a producer, cancelled at each point where it waits.

The producer stays usable. A record of a call that has returned is stored once, in order; one of a call that
was cancelled at most once. A transaction is committed as a whole or not at all.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from odradek.base.errors import ApiError
from odradek.base.ids import TopicPartition
from odradek.client.aio.consumer import Consumer
from odradek.client.aio.producer import Producer
from odradek.testing import Cluster, simulate
from tests.client.aio.interrupting import Ended, cancelled_at

pytestmark = pytest.mark.slow

P0 = TopicPartition("orders", 0)
BIG = 40_000
POINTS = 10


async def stored(cluster: Cluster) -> list[str]:
    return [one.value[:40].decode().strip() for one in await cluster.records("orders") if one.value]


def check_stored(found: list[str], sure: list[str], perhaps: list[str]) -> None:
    """All sure ones once and in order; of the others some, once."""
    assert [one for one in found if one in sure] == sure
    others = [one for one in found if one not in sure]
    assert len(set(others)) == len(others)
    assert set(others) <= set(perhaps)


@pytest.mark.parametrize("buffer_memory", [32 << 20, 3 * BIG])
@simulate(brokers=1, seeds=2)
async def test_records_are_stored_once_whatever_send_was_waiting_for(
    cluster: Cluster, buffer_memory: int
) -> None:
    """For its topic, at first; with little memory also for acknowledgements."""
    await cluster.create_topic("orders")
    sure: list[str] = []
    perhaps: list[str] = []
    for number in range(POINTS):
        for comes_first in (False, True):
            async with Producer(
                cluster.bootstrap_servers, buffer_memory=buffer_memory, linger_ms=20
            ) as producer:
                for step in range(6):
                    name = f"{number}-{comes_first}-{step}"
                    call = producer.send("orders", name.encode().ljust(BIG))
                    ended = await cancelled_at(call, number, comes_first=comes_first)
                    (perhaps if ended is None else sure).append(name)
                    last = f"{name}-last"
                    receipt = await (await producer.send("orders", last.encode().ljust(BIG)))
                    assert receipt.offset is not None
                    sure.append(last)
                await producer.flush()
                assert producer.why() == []
                assert producer.metrics()["buffer-available-bytes"] == buffer_memory
    check_stored(await stored(cluster), sure, perhaps)


@simulate(brokers=1, seeds=2)
async def test_of_a_table_whose_call_is_cancelled_the_first_rows_are_stored(cluster: Cluster) -> None:
    pa = pytest.importorskip("pyarrow")
    await cluster.create_topic("orders")
    expected: list[str] = []
    number, is_over = 0, False
    async with Producer(cluster.bootstrap_servers, buffer_memory=3 * BIG, batch_size=BIG) as producer:
        while not is_over:
            for comes_first in (False, True):
                rows = [f"{number}-{comes_first}-{row}" for row in range(8)]
                table = pa.table({"value": [row.encode().ljust(BIG // 2) for row in rows]})
                call = producer.produce_batch(table, topic="orders")
                ended = await cancelled_at(call, number, comes_first=comes_first)
                if ended is not None:
                    assert (await ended.result).records == len(rows)
                await (await producer.send("orders", b"between"))
                found = await stored(cluster)
                kept = [one for one in found if one in rows]
                assert kept == rows[: len(kept)]
                assert len(kept) == len(rows) or ended is None
                expected += [*kept, "between"]
                assert found == expected, "nothing comes later"
                is_over = ended is not None
            number += 1
        assert producer.metrics()["buffer-available-bytes"] == 3 * BIG
    assert number > 1


@simulate(brokers=1, seeds=2)
async def test_a_flush_a_close_and_a_question_can_be_cancelled(cluster: Cluster) -> None:
    await cluster.create_topic("orders")
    sure: list[str] = []
    perhaps: list[str] = []
    for name in ("flush", "partitions_for", "close"):
        number, is_over = 0, False
        while not is_over:
            for comes_first in (False, True):
                producer = Producer(cluster.bootstrap_servers, linger_ms=50)
                calls: dict[str, Callable[[], Coroutine[Any, Any, object]]] = {
                    "flush": producer.flush,
                    "partitions_for": lambda one=producer: one.partitions_for("orders"),  # type: ignore[misc]
                    "close": producer.close,
                }
                text = f"{name} {number} {comes_first}"
                delivery = None
                if name != "partitions_for":
                    delivery = await producer.send("orders", text.encode())
                ended = await cancelled_at(calls[name](), number, comes_first=comes_first)
                is_over = ended is not None
                if name != "close":
                    await calls[name]()
                    delivery = delivery or await producer.send("orders", text.encode())
                    await producer.close()
                if name == "close" and ended is None:
                    assert delivery is not None
                    await producer.close()
                    assert delivery.done(), "it is stored, or told that the producer was closed"
                    (perhaps if delivery.exception() else sure).append(text)
                else:
                    assert delivery is not None
                    assert delivery.done()
                    assert delivery.exception() is None
                    sure.append(text)
            number += 1
    check_stored(await stored(cluster), sure, perhaps)
    assert [one for one in asyncio.all_tasks() if one is not asyncio.current_task()] == []


async def committed_records(cluster: Cluster) -> list[str]:
    settings = {"isolation_level": "read_committed", "auto_offset_reset": "earliest"}
    async with Consumer(bootstrap_servers=cluster.bootstrap_servers, settings=settings) as consumer:
        consumer.assign([P0])
        end = (await consumer.end_offsets([P0]))[P0]
        found: list[str] = []
        while await consumer.position(P0) < end:
            found += [record.value.decode() for record in await consumer.poll(1)]  # type: ignore[union-attr]
    return found


STEPS = ("init", "send", "offsets", "commit", "abort")


@pytest.mark.parametrize("step", STEPS)
@simulate(brokers=1, seeds=2)
async def test_a_transaction_is_whole_whichever_of_its_calls_was_cancelled(
    cluster: Cluster, step: str
) -> None:
    await cluster.create_topic("orders")
    expected: list[str] = []
    number, is_over = 0, False
    while not is_over:
        for comes_first in (False, True):
            name = f"{step} {number} {comes_first}"
            async with Producer(cluster.bootstrap_servers, transactional_id="pay") as producer:
                calls: dict[str, Callable[[], Coroutine[Any, Any, object]]] = {
                    "init": producer.init_transactions,
                    "begin": producer.begin_transaction,
                    "send": lambda one=producer, name=name: one.send("orders", b"%s b" % name.encode()),  # type: ignore[misc]
                    "offsets": lambda one=producer, at=number: one.send_offsets_to_transaction(  # type: ignore[misc]
                        {P0: at + 1}, "billing"
                    ),
                    "commit": producer.commit_transaction,
                    "abort": producer.abort_transaction,
                }

                async def carry_out(one: str) -> "Ended[object] | None":
                    if one != step:
                        return Ended(await calls[one]())  # noqa: B023 - awaited in this turn
                    return await cancelled_at(calls[one](), number, comes_first=comes_first)  # noqa: B023

                ended = await carry_out("init")
                if ended is None:
                    await producer.init_transactions()
                assert await carry_out("begin") is not None, "it does not wait"
                await producer.send("orders", b"%s a" % name.encode())
                sent = await carry_out("send")
                offsets = await carry_out("offsets")
                if step == "abort":
                    aborted = await carry_out("abort")
                    if aborted is None:
                        await producer.abort_transaction()
                    is_over = aborted is not None
                else:
                    committed = await carry_out("commit")
                    if committed is None:
                        with pytest.raises(ApiError, match="call commit_transaction"):
                            await producer.begin_transaction()
                        await producer.commit_transaction()
                    expected.append(f"{name} a")
                    if sent is not None:
                        expected.append(f"{name} b")
                    is_over = None not in (ended, sent, offsets, committed)
                # The producer is usable: another transaction.
                async with producer.transaction():
                    await producer.send("orders", b"%s last" % name.encode())
                expected.append(f"{name} last")
        number += 1
    found = await committed_records(cluster)
    extra = [one for one in found if one not in expected]
    assert [one for one in found if one in expected] == expected
    assert all(step == "send" and one.endswith(" b") for one in extra), extra
    assert len(set(found)) == len(found)
