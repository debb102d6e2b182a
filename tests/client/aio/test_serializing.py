"""Keys and values as an application's own objects, and its own partitioner."""

import json
import re

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError, SettingError, TransactionAbortable
from odradek.client.aio.producer import Producer
from odradek.client.aio.serializing import record_maker
from odradek.client.core.producer.outgoing import Outgoing
from odradek.testing import Cluster, simulate


def as_json(value: object) -> bytes:
    return json.dumps(value).encode()


def test_serializers_make_bytes_and_none_stays_none() -> None:
    make = record_maker(str.encode, as_json)
    assert make("orders", {"lamps": 2}, "k", (), 1, 5) == Outgoing("orders", b'{"lamps": 2}', b"k", (), 1, 5)
    assert make("orders", None, None, (), None, None) == Outgoing("orders", None, None, (), None, None)
    assert record_maker(str.encode, None)("orders", b"v", "k", (), None, None).key == b"k"
    with pytest.raises(TypeError, match="the value of a record is bytes or None, not str"):
        record_maker(str.encode, None)("orders", "v", "k", (), None, None)


def test_what_a_serializer_raises_and_returns_is_said() -> None:
    make = record_maker(str.upper, as_json)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="key_serializer returns bytes or None, not str"):
        make("orders", None, "k", (), None, None)
    with pytest.raises(TypeError, match="not JSON serializable"):
        make("orders", b"v", None, (), None, None)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"value_serializer": "json"}, "value_serializer is a function that returns bytes, not 'json'"),
        ({"key_serializer": b""}, "key_serializer is a function"),
        ({"partitioner": "murmur2_random"}, "partitioner is a function of a key, all partitions and those"),
    ],
)
def test_what_is_no_function_is_refused(arguments: dict[str, object], said: str) -> None:
    with pytest.raises(TypeError, match=said):
        Producer("localhost:9092", **arguments)  # type: ignore[arg-type]


def test_a_partitioner_and_a_setting_for_keys_do_not_go_together() -> None:
    with pytest.raises(SettingError, match=r"partitioner\.ignore\.keys has no effect"):
        Producer("localhost:9092", partitioner=lambda *_: 0, partitioner_ignore_keys=True)


@pytest.mark.slow
@simulate(brokers=1, seeds=2)
async def test_records_go_where_the_partitioner_says_unless_they_name_a_partition(cluster: Cluster) -> None:
    await cluster.create_topic("orders", partitions=3)
    asked: list[tuple[bytes | None, list[int], list[int]]] = []

    def by_length(key: bytes | None, every: list[int], available: list[int]) -> int:
        asked.append((key, every, available))
        return every[len(key or b"") % len(every)]

    async with Producer(
        cluster.bootstrap_servers, key_serializer=str.encode, value_serializer=as_json, partitioner=by_length
    ) as producer:
        placed = [await (await producer.send("orders", {"n": 1}, key=key)) for key in ("aa", "b", "dddd")]
        assert [one.partition for one in placed] == [2, 1, 1]
        assert (await (await producer.send("orders", [2]))).partition == 0
        assert (await (await producer.send("orders", None, key="b", partition=2))).partition == 2
    assert asked[0] == (b"aa", [0, 1, 2], [0, 1, 2])
    assert [key for key, _, _ in asked] == [b"aa", b"b", b"dddd", None]
    assert [one.value for one in await cluster.records("orders", partition=0)] == [b"[2]"]


@pytest.mark.slow
@simulate(brokers=1, seeds=1)
async def test_a_partitioner_that_fails_or_chooses_what_is_not_there_fails_the_record(
    cluster: Cluster,
) -> None:
    await cluster.create_topic("orders", partitions=2)
    said = {
        b"none": "the partitioner failed for a record of topic orders: KeyError: b'none'",
        b"far": "the partitioner chose partition 7 of topic orders, which has 2",
        b"text": "the partitioner failed for a record of topic orders: TypeError: 'str' object cannot",
    }
    chosen: dict[bytes | None, object] = {b"far": 7, b"text": "0", b"good": 1}
    async with Producer(
        cluster.bootstrap_servers,
        transactional_id="t",
        partitioner=lambda key, *_: chosen[key],  # type: ignore[arg-type]
    ) as producer:
        await producer.init_transactions()
        for key, message in said.items():
            await producer.begin_transaction()
            await producer.send("orders", b"v", key=b"good")
            with pytest.raises(ApiError, match=re.escape(message)) as caught:
                await producer.send("orders", b"v", key=key)
            assert caught.value.code == ErrorCode.INVALID_PARTITIONS
            with pytest.raises(TransactionAbortable):
                await producer.commit_transaction()
            await producer.abort_transaction()


@pytest.mark.slow
@simulate(brokers=1, seeds=1)
async def test_tables_of_such_producers_are_refused(cluster: Cluster) -> None:
    pa = pytest.importorskip("pyarrow")
    await cluster.create_topic("orders")
    table = pa.table({"value": [b"v"]})
    for producer in (
        Producer(cluster.bootstrap_servers, value_serializer=as_json),
        Producer(cluster.bootstrap_servers, partitioner=lambda *_: 0),
    ):
        async with producer:
            with pytest.raises(ApiError, match="serializers and partitioners see no rows"):
                await producer.produce_batch(table, topic="orders")
