"""A FastStream application on confluent-kafka, against a broker instead of FastStream's in-memory stand-in.

With `with_real=True`, `TestKafkaBroker` connects and gives each handler a mock that notes its calls.
"""

from typing import Any

import pytest
from faststream.confluent import KafkaBroker, TestKafkaBroker
from pydantic import BaseModel

from odradek.testing import Broker

pytestmark = pytest.mark.asyncio

ORDERS = ['{"item": "lamp", "count": 2}', '{"item": "sofa", "count": 1}']


class Order(BaseModel):
    item: str
    count: int


def shop(servers: str, orders: str, bills: str) -> tuple[KafkaBroker, Any]:
    """The application, and its handler."""
    app = KafkaBroker(servers)

    @app.subscriber(orders, group_id=f"billing-{orders}", auto_offset_reset="earliest")
    @app.publisher(bills)
    async def bill(order: Order) -> str:
        return f"{order.count} x {order.item}"

    return app, bill


async def test_an_order_makes_a_bill(odradek_broker: Broker, odradek_topic: str) -> None:
    bills = await odradek_broker.aio.create_topic()
    app, bill = shop(odradek_broker.bootstrap_servers, odradek_topic, bills)
    async with TestKafkaBroker(app, with_real=True) as running:
        await running.publish(Order(item="lamp", count=2), odradek_topic)
        await bill.wait_call(timeout=30)
        bill.mock.assert_called_once_with({"item": "lamp", "count": 2})
    (sent,) = await odradek_broker.aio.wait_for(bills, 1)
    assert sent.text == "2 x lamp"


async def test_what_came_before_the_start_is_billed(odradek_broker: Broker, odradek_topic: str) -> None:
    bills = await odradek_broker.aio.create_topic()
    await odradek_broker.aio.produce(odradek_topic, *ORDERS)
    app, _ = shop(odradek_broker.bootstrap_servers, odradek_topic, bills)
    async with app:
        await app.start()
        sent = await odradek_broker.aio.wait_for(bills, 2)
        await odradek_broker.aio.wait_group_at_rest(f"billing-{odradek_topic}", members=1)
    assert [record.text for record in sent] == ["2 x lamp", "1 x sofa"]
