"""Acknowledgements, idempotence, partitions and refusals of produce requests."""

from collections.abc import Callable

import pytest
from peers import BrokerProcess
from peers.waiting import wait_until

from compat.clients import Ability, Client, Record

RECORDS = [Record(key=f"k{number}".encode(), value=f"v{number}".encode()) for number in range(50)]


def wait_until_end(client: Client, topic: str, end: int) -> None:
    """Only acks=0 and 1 need it: the writer does not learn when its records are on all replicas."""
    wait_until(lambda: client.offset_range(topic)[1] >= end, "the records never arrived")


@pytest.mark.essential
@pytest.mark.parametrize("acks", [0, 1, -1])
def test_records_arrive_with_every_kind_of_acks(client: Client, topic: str, acks: int) -> None:
    client.write(topic, RECORDS, acks=acks)
    if acks != -1:
        wait_until_end(client, topic, len(RECORDS))
    assert [record.value for record in client.read(topic, len(RECORDS))] == [
        record.value for record in RECORDS
    ]


@pytest.mark.needs(Ability.ACKNOWLEDGED_OFFSETS)
@pytest.mark.parametrize("acks", [1, -1])
def test_the_acknowledgement_tells_the_offset(client: Client, topic: str, acks: int) -> None:
    assert client.write(topic, RECORDS, acks=acks) == list(range(50))
    assert client.write(topic, RECORDS, acks=acks) == list(range(50, 100))


@pytest.mark.essential
@pytest.mark.needs(Ability.IDEMPOTENCE)
@pytest.mark.parametrize("codec", ["none", "zstd"])
def test_an_idempotent_producer_writes_each_record_once(client: Client, topic: str, codec: str) -> None:
    for _ in range(2):
        client.write(topic, RECORDS, idempotent=True, codec=codec)
    read = client.read(topic, 100)
    assert [record.value for record in read] == [record.value for record in RECORDS] * 2
    assert client.offset_range(topic) == (0, 100)


def test_many_records_keep_their_order(client: Client, topic: str) -> None:
    records = [Record(key=b"k", value=str(number).encode()) for number in range(20_000)]
    client.write(topic, records)
    read = client.read(topic, len(records))
    assert [record.value for record in read] == [record.value for record in records]
    assert [record.offset for record in read] == list(range(len(records)))


def test_each_partition_has_offsets_of_its_own(client: Client, new_topic: Callable[..., str]) -> None:
    topic = new_topic(partitions=3)
    for partition in range(3):
        count = 10 * (partition + 1)
        client.write(topic, [Record(key=b"k", value=str(partition).encode(), partition=partition)] * count)
    for partition in range(3):
        count = 10 * (partition + 1)
        assert client.offset_range(topic, partition) == (0, count)
        read = client.read(topic, count, partition=partition)
        assert {record.value for record in read} == {str(partition).encode()}


def test_records_of_one_key_share_a_partition(client: Client, new_topic: Callable[..., str]) -> None:
    topic = new_topic(partitions=4)
    client.write(topic, RECORDS + RECORDS)
    homes: dict[bytes | None, set[int]] = {}
    for partition in range(4):
        _, end = client.offset_range(topic, partition)
        for record in client.read(topic, end, partition=partition):
            homes.setdefault(record.key, set()).add(partition)
    assert len(homes) == len(RECORDS)
    assert all(len(partitions) == 1 for partitions in homes.values()), homes
    assert len(set.union(*homes.values())) > 1, "all keys went to one partition"


def test_writing_to_an_unknown_topic_makes_it(client: Client, fresh_name: Callable[[], str]) -> None:
    topic = fresh_name()
    client.write(topic, RECORDS)
    assert [record.value for record in client.read(topic, 50)] == [record.value for record in RECORDS]


@pytest.mark.parametrize("acks", [1, -1])
def test_no_more_replicas_are_demanded_than_the_topic_has(
    client: Client, broker: BrokerProcess, new_topic: Callable[..., str], acks: int
) -> None:
    topic = new_topic(min_insync_replicas=len(broker.ports) + 1)
    client.write(topic, RECORDS, acks=acks)
    if acks != -1:
        wait_until_end(client, topic, len(RECORDS))
    assert client.offset_range(topic) == (0, len(RECORDS))
