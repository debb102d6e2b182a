"""A Faust application: an agent and a table, run by Faust against a broker.

Faust's own `test_context` hands values to the agent. Here the topics, the offsets and the table's change log
are real.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import faust
import pytest

from odradek.testing import Broker

pytestmark = pytest.mark.asyncio

LAMPS = ['{"item": "lamp", "count": 2}', '{"item": "lamp", "count": 3}']


class Order(faust.Record):
    item: str
    count: int


def shop(servers: str, orders: str, stock: str, directory: Path) -> faust.App:
    """The application: how many of each item have been ordered, in a table that a topic backs up."""
    app = faust.App(
        f"shop-{orders}",
        broker=f"kafka://{servers}",
        store="memory://",
        datadir=str(directory),
        web_enabled=False,
        topic_partitions=1,
    )
    source = app.topic(orders, value_type=Order)
    target = app.topic(stock, key_type=str, value_type=int)
    totals = app.Table("totals", default=int, partitions=1)

    @app.agent(source)
    async def count(stream: faust.StreamT[Order]) -> None:
        async for order in stream:
            totals[order.item] += order.count
            await target.send(key=order.item, value=totals[order.item])

    return app


@asynccontextmanager
async def worker(app: faust.App) -> AsyncIterator[None]:
    """A running worker, once its tables are as its change logs say: produce to it inside this block.

    Until then Faust (0.15) may lose a record of the agent's topic, or hand it to the agent twice. It restores
    a table with its fetcher running. Then it resumes the agent's partitions, seeks them to the committed
    offsets and clears the agent's queue. A record that it fetches between resuming and seeking is fetched
    again after the seek. One that it queues between seeking and clearing is lost: its position has moved on.
    """
    async with app:
        await app.tables.wait_until_recovery_completed()
        yield


async def test_totals_are_sent(odradek_broker: Broker, odradek_topic: str, tmp_path: Path) -> None:
    stock = await odradek_broker.aio.create_topic()
    async with worker(shop(odradek_broker.bootstrap_servers, odradek_topic, stock, tmp_path)):
        await odradek_broker.aio.produce(odradek_topic, *LAMPS)
        sent = await odradek_broker.aio.wait_for(stock, 2)
    assert [(record.key, record.json()) for record in sent] == [(b"lamp", 2), (b"lamp", 5)]


async def test_a_new_worker_takes_the_table_from_its_change_log(
    odradek_broker: Broker, odradek_topic: str, tmp_path: Path
) -> None:
    stock = await odradek_broker.aio.create_topic()
    for run, lamps in enumerate(LAMPS, 1):
        async with worker(shop(odradek_broker.bootstrap_servers, odradek_topic, stock, tmp_path / str(run))):
            await odradek_broker.aio.produce(odradek_topic, lamps)
            await odradek_broker.aio.wait_for(stock, run)
    assert [record.json() for record in odradek_broker.records(stock)] == [2, 5]
