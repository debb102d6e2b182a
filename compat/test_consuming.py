"""Fetching by assignment: from any offset, waiting for new records, and beyond the end."""

import threading
from collections.abc import Callable

import pytest

from compat.clients import CODECS, Ability, Client, Record, Refused
from odradek.base.error_codes import ErrorCode

RECORDS = [Record(key=b"k", value=f"value {number}".encode()) for number in range(300)]


@pytest.mark.parametrize("codec", CODECS)
def test_reading_starts_in_the_middle_of_a_batch(client: Client, topic: str, codec: str) -> None:
    client.write(topic, RECORDS, codec=codec)
    for offset in (1, 150, 299):
        read = client.read(topic, 300 - offset, offset=offset)
        assert [record.offset for record in read] == list(range(offset, 300))
        assert [record.value for record in read] == [record.value for record in RECORDS[offset:]]


@pytest.mark.parametrize("offset", [301, 1_000_000])
def test_reading_beyond_the_end_is_out_of_range(client: Client, topic: str, offset: int) -> None:
    client.write(topic, RECORDS)
    with pytest.raises(Refused) as refused:
        client.read(topic, 1, offset=offset)
    assert refused.value.error == ErrorCode.OFFSET_OUT_OF_RANGE


def test_a_reader_at_the_end_waits_for_the_next_record(
    client: Client, all_clients: dict[str, Client], topic: str
) -> None:
    other = all_clients["confluent-kafka"]
    other.write(topic, RECORDS[:5])
    read: list[Record] = []
    waiting = threading.Thread(target=lambda: read.extend(client.read(topic, 1, offset=5)))
    waiting.start()
    other.write(topic, [Record(key=b"k", value=b"at last")])
    waiting.join()
    assert [(record.offset, record.value) for record in read] == [(5, b"at last")]


def test_a_log_of_several_segments_is_read_whole(client: Client, new_topic: Callable[..., str]) -> None:
    topic = new_topic(segment_bytes=1024 * 1024)
    records = [Record(key=b"k", value=str(number).encode() * 20_000) for number in range(60)]
    client.write(topic, records)
    for offset in (0, 31):
        read = client.read(topic, 60 - offset, offset=offset)
        assert [record.value for record in read] == [record.value for record in records[offset:]]


def test_the_range_of_offsets_grows_with_the_log(client: Client, topic: str) -> None:
    assert client.offset_range(topic) == (0, 0)
    client.write(topic, RECORDS)
    assert client.offset_range(topic) == (0, 300)


@pytest.mark.needs(Ability.TIME_LOOKUP)
@pytest.mark.parametrize("codec", ["none", "snappy"])
def test_an_offset_is_found_by_its_time(readers: list[Client], lasting_topic: str, codec: str) -> None:
    start_ms = 1_600_000_000_000
    records = [Record(value=b"v", timestamp_ms=start_ms + 10 * number) for number in range(100)]
    readers[0].write(lasting_topic, records, codec=codec)
    for reader in readers:
        assert reader.offset_at(lasting_topic, start_ms - 1) == 0, reader.name
        assert reader.offset_at(lasting_topic, start_ms + 500) == 50, reader.name
        assert reader.offset_at(lasting_topic, start_ms + 501) == 51, reader.name
        assert reader.offset_at(lasting_topic, start_ms + 991) is None, reader.name


@pytest.mark.needs(Ability.TIME_LOOKUP)
def test_times_that_run_backwards_still_find_the_first_at_or_after(
    readers: list[Client], lasting_topic: str
) -> None:
    start_ms = 1_600_000_000_000
    for step in (0, 500, 100, 900):
        readers[0].write(lasting_topic, [Record(value=b"v", timestamp_ms=start_ms + step)])
    for reader in readers:
        assert reader.offset_at(lasting_topic, start_ms + 100) == 1, reader.name
        assert reader.offset_at(lasting_topic, start_ms + 600) == 3, reader.name
