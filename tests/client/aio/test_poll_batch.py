"""`poll_batch` returns what `poll` does, as columns: on a simulated broker."""

import pytest

from odradek.aio import Consumer, ConsumerRecord, TopicPartition
from odradek.base import extras
from odradek.base.errors import ApiError
from odradek.testing import Cluster, simulate
from tests.client.aio.producing import produce

pa = pytest.importorskip("pyarrow")

PARTITIONS = [TopicPartition("orders", number) for number in range(2)]


def consumer(cluster: Cluster, **settings: object) -> Consumer:
    given = {
        "bootstrap_servers": cluster.bootstrap_servers,
        "group_id": "billing",
        "auto_offset_reset": "earliest",
        **settings,
    }
    return Consumer(settings=given)


async def stocked(cluster: Cluster) -> None:
    await cluster.create_topic("orders", partitions=2)
    await produce(cluster, range(40), partitions=2)


async def rows_of(reader: Consumer, count: int, max_records: int = 100) -> list[tuple[int, int, bytes]]:
    """(partition, offset, value) of so many rows."""
    found: list[tuple[int, int, bytes]] = []
    while len(found) < count:
        batch = await reader.poll_batch(5, max_records=max_records)
        assert batch is not None
        assert 0 < batch.num_rows <= max_records
        columns = (batch.column(name).to_pylist() for name in ("partition", "offset", "value"))
        found += zip(*columns, strict=True)
    return found


@simulate(brokers=1, seeds=2)
async def test_it_returns_each_record_once_and_in_order(cluster: Cluster) -> None:
    await stocked(cluster)
    async with consumer(cluster) as reader:
        reader.assign(PARTITIONS)
        by_records: list[ConsumerRecord] = []
        while len(by_records) < 40:
            by_records += await reader.poll(5)
    for max_records in (100, 3):
        async with consumer(cluster, enable_auto_commit=False) as reader:
            reader.assign(PARTITIONS)
            reader.seek_to_beginning()
            rows = await rows_of(reader, 40, max_records=max_records)
            assert sorted(rows) == sorted((one.partition, one.offset, one.value) for one in by_records)
            for number in range(2):
                assert [offset for partition, offset, _ in rows if partition == number] == list(range(20))
            assert await reader.poll_batch(0) is None
            assert await reader.position(PARTITIONS[0]) == 20


@simulate(brokers=1, seeds=2)
async def test_positions_commits_pauses_and_the_other_ways_of_reading(cluster: Cluster) -> None:
    await stocked(cluster)
    async with consumer(cluster, enable_auto_commit=False, max_poll_records=2) as reader:
        first = PARTITIONS[0]
        reader.assign([first])
        assert [offset for _, offset, _ in await rows_of(reader, 3, max_records=3)] == [0, 1, 2]
        await reader.commit()
        committed = (await reader.committed([first]))[first]
        assert committed is not None
        assert committed.offset == 3
        while not (records := await reader.poll(5)):
            pass
        assert [record.offset for record in records] == [3, 4]
        async for record in reader.stream():
            assert record.offset == 5
            break
        batch = await reader.poll_batch(5, max_records=2, include_headers=True)
        assert batch is not None
        assert batch.column("offset").to_pylist() == [6, 7]
        assert batch.schema.names[-1] == "headers"
        reader.pause([first])
        assert await reader.poll_batch(1) is None
        reader.resume([first])
        assert [offset for _, offset, _ in await rows_of(reader, 12)] == list(range(8, 20))


@simulate(brokers=1, seeds=1)
async def test_what_cannot_take_effect_is_refused(cluster: Cluster) -> None:
    async with Consumer(
        bootstrap_servers=cluster.bootstrap_servers, value_deserializer=bytes.decode
    ) as reader:
        reader.assign(PARTITIONS)
        with pytest.raises(ApiError, match="a consumer with deserializers or interceptors polls"):
            await reader.poll_batch(0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(extras, "MODULES", {"arrow": ("no_such_module",)})
        async with consumer(cluster) as reader:
            reader.assign(PARTITIONS)
            with pytest.raises(
                ApiError, match=r"poll_batch needs no_such_module.*pip install 'odradek\[arrow\]'"
            ):
                await reader.poll_batch(0)
