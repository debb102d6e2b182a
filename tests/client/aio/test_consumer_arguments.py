"""What no request can carry is refused by the call that it is passed to, and the consumer goes on."""

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

import pytest

from odradek.aio import Consumer, ConsumerRecord, OffsetAndMetadata, TopicPartition
from odradek.base.errors import SettingError
from odradek.testing import Cluster, simulate
from tests.client.aio.producing import produce

P0 = TopicPartition("orders", 0)

WRONG: Final[Mapping[str, Callable[[Any], Any]]] = {
    "poll, no number": lambda one: one.poll(float("nan")),
    "poll, a text": lambda one: one.poll("1"),
    "no records": lambda one: one.poll(1, max_records=0),
    "fewer than none": lambda one: one.poll(1, max_records=-1),
    "half a record": lambda one: one.poll(1, max_records=1.5),
    "no rows": lambda one: one.poll_batch(1, max_records=0),
    "seek, too far": lambda one: one.seek(P0, 1 << 63),
    "seek, a fraction": lambda one: one.seek(P0, 1.5),
    "seek, an epoch": lambda one: one.seek(P0, OffsetAndMetadata(1, leader_epoch=-2)),
    "seek, an epoch of text": lambda one: one.seek(P0, OffsetAndMetadata(1, "", "x")),  # type: ignore[arg-type]
    "assign, too many": lambda one: one.assign([TopicPartition("orders", 1 << 31)]),
    "assign, too few": lambda one: one.assign([TopicPartition("orders", -1)]),
    "assign, a text": lambda one: one.assign([("orders", "0")]),
    "assign, no name": lambda one: one.assign([TopicPartition("", 0)]),
    "assign, no UTF-8": lambda one: one.assign([TopicPartition("\ud800", 0)]),
    "subscribe, a number": lambda one: one.subscribe([5]),
    "subscribe, no UTF-8": lambda one: one.subscribe(["\ud800"]),
    "a pattern of bytes": lambda one: one.subscribe(pattern=b"orders"),
    "a listener that is none": lambda one: one.subscribe(["orders"], listener=print),
    "committed": lambda one: one.committed([TopicPartition("\ud800", 0)]),
    "position": lambda one: one.position(P0, timeout=float("nan")),
    "a time": lambda one: one.offsets_for_times({P0: 1 << 63}),
    "ends": lambda one: one.end_offsets([TopicPartition("orders", -1)]),
    "close": lambda one: one.close(timeout="1"),
}


async def is_refused(call: Callable[[], Any]) -> bool:
    try:
        answer = call()
        if inspect.isawaitable(answer):
            await answer
    except (TypeError, ValueError):
        return True
    return False


@simulate(brokers=1, seeds=1)
async def test_wrong_arguments_are_refused_at_once(cluster: Cluster) -> None:
    await cluster.create_topic("orders")
    await produce(cluster, range(5))
    async with Consumer(
        bootstrap_servers=cluster.bootstrap_servers, group_id="billing", auto_offset_reset="earliest"
    ) as reader:
        reader.assign([P0])
        for name, call in WRONG.items():
            assert await is_refused(partial(call, reader)), name
        assert reader.assignment() == {P0}
        records: list[ConsumerRecord] = []
        while len(records) < 5:
            records += await reader.poll(float("inf"), max_records=3)
        assert [record.offset for record in records] == list(range(5))


@simulate(brokers=1, seeds=1)
async def test_a_listener_that_is_none_is_refused_before_anything_begins(cluster: Cluster) -> None:
    wrong: Any = print
    with pytest.raises(TypeError, match="a listener is a RebalanceListener, not <built-in function print>"):
        Consumer("orders", bootstrap_servers=cluster.bootstrap_servers, group_id="billing", listener=wrong)


@pytest.mark.parametrize("name", ["group_id", "client_id", "client_rack", "group_instance_id"])
def test_a_setting_that_no_request_can_carry_is_refused(name: str) -> None:
    settings = {"bootstrap_servers": "127.0.0.1:1", "group_id": "billing", name: "a\ud800"}

    @simulate(brokers=1, seeds=1)
    async def make(cluster: Cluster) -> None:
        with pytest.raises(SettingError, match="a character that UTF-8 does not have"):
            Consumer(settings=settings)

    make()
