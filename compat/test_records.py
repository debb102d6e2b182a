"""Records come back as they were sent, for every pair of writer and reader."""

from collections.abc import Callable

import pytest

from compat.clients import CODECS, Ability, Client, Record, Refused
from odradek.base.error_codes import ErrorCode

MEGABYTE = 1024 * 1024


def contents(records: list[Record]) -> list[object]:
    return [record.content() for record in records]


def text_records(count: int) -> list[Record]:
    return [
        Record(key=f"key {number}".encode(), value=f"value {number} ".encode() * 10)
        for number in range(count)
    ]


@pytest.mark.parametrize("codec", CODECS)
def test_every_reader_reads_what_any_writer_wrote(
    writer: Client, readers: list[Client], topic: str, codec: str
) -> None:
    records = text_records(200)
    writer.write(topic, records, codec=codec)
    for reader in readers:
        read = reader.read(topic, len(records))
        assert contents(read) == contents(records), reader.name
        assert [record.offset for record in read] == list(range(len(records))), reader.name


@pytest.mark.needs(Ability.HEADERS, Ability.HEADER_ORDER)
@pytest.mark.parametrize("codec", ["none", "lz4"])
def test_headers_keep_their_order_and_their_doubles(
    writer: Client, readers: list[Client], topic: str, codec: str
) -> None:
    headers = (("trace", b"1"), ("origin", b"here"), ("trace", b"2"))
    writer.write(topic, [Record(value=b"with", headers=headers), Record(value=b"without")], codec=codec)
    for reader in readers:
        assert [record.headers for record in reader.read(topic, 2)] == [headers, ()], reader.name


@pytest.mark.needs(Ability.NULLS, Ability.HEADERS)
def test_null_and_empty_stay_apart(writer: Client, readers: list[Client], topic: str) -> None:
    records = [
        Record(key=None, value=b"no key"),
        Record(key=b"", value=b"empty key"),
        Record(key=b"tombstone", value=None),
        Record(key=b"empty value", value=b""),
        Record(key=b"header", value=b"", headers=(("empty", b""),)),
    ]
    writer.write(topic, records)
    for reader in readers:
        assert contents(reader.read(topic, len(records))) == contents(records), reader.name


@pytest.mark.needs(Ability.NULL_HEADERS, Ability.NULLS)
def test_a_header_may_have_no_value(writer: Client, readers: list[Client], topic: str) -> None:
    headers = (("null", None), ("empty", b""))
    writer.write(topic, [Record(value=b"v", headers=headers)])
    for reader in readers:
        assert [record.headers for record in reader.read(topic, 1)] == [headers], reader.name


@pytest.mark.needs(Ability.NULLS)
def test_a_tombstone_on_a_compacted_topic_is_read_back(client: Client, new_topic: Callable[..., str]) -> None:
    topic = new_topic(cleanup_policy="compact")
    records = [Record(key=b"k", value=b"v"), Record(key=b"k", value=None)]
    client.write(topic, records)
    assert contents(client.read(topic, 2)) == contents(records)


@pytest.mark.needs(Ability.NULLS, Ability.NEWER_ERRORS)
def test_a_record_without_a_key_is_invalid_on_a_compacted_topic(
    client: Client, new_topic: Callable[..., str]
) -> None:
    topic = new_topic(cleanup_policy="compact")
    with pytest.raises(Refused) as refused:
        client.write(topic, [Record(value=b"v")])
    assert refused.value.error == ErrorCode.INVALID_RECORD
    assert client.offset_range(topic) == (0, 0)


@pytest.mark.needs(Ability.BINARY, Ability.HEADERS)
@pytest.mark.parametrize("codec", CODECS)
def test_any_bytes_are_carried(writer: Client, readers: list[Client], topic: str, codec: str) -> None:
    every_byte = bytes(range(256))
    records = [Record(key=every_byte, value=every_byte * 40, headers=(("bytes", every_byte),))]
    writer.write(topic, records, codec=codec)
    for reader in readers:
        assert contents(reader.read(topic, 1)) == contents(records), reader.name


@pytest.mark.parametrize("codec", ["none", "zstd"])
def test_big_records_pass_where_the_topic_allows_them(
    writer: Client, readers: list[Client], new_topic: Callable[..., str], codec: str
) -> None:
    topic = new_topic(max_message_bytes=4 * MEGABYTE)
    records = [Record(key=b"k", value=bytes([65 + number]) * (3 * MEGABYTE)) for number in range(3)]
    writer.write(topic, records, codec=codec)
    for reader in readers:
        read = reader.read(topic, 3)
        assert [len(record.value or b"") for record in read] == [3 * MEGABYTE] * 3, reader.name
        assert contents(read) == contents(records), reader.name


def test_a_record_above_the_limit_of_the_topic_is_refused(
    client: Client, new_topic: Callable[..., str]
) -> None:
    topic = new_topic(max_message_bytes=1000)
    with pytest.raises(Refused) as refused:
        client.write(topic, [Record(key=b"k", value=b"x" * 2000)])
    assert refused.value.error == ErrorCode.MESSAGE_TOO_LARGE
    assert client.offset_range(topic) == (0, 0)


@pytest.mark.needs(Ability.CHOSEN_TIMESTAMPS)
def test_timestamps_are_the_writers_by_default(
    writer: Client, readers: list[Client], lasting_topic: str
) -> None:
    timestamps = [1_600_000_000_000 + 1000 * number for number in range(5)]
    writer.write(lasting_topic, [Record(value=b"v", timestamp_ms=timestamp) for timestamp in timestamps])
    for reader in readers:
        assert [record.timestamp_ms for record in reader.read(lasting_topic, 5)] == timestamps, reader.name


@pytest.mark.needs(Ability.CHOSEN_TIMESTAMPS, Ability.APPEND_TIMES)
@pytest.mark.parametrize("codec", ["none", "gzip"])
def test_timestamps_are_the_brokers_on_a_topic_that_says_so(
    writer: Client, readers: list[Client], new_topic: Callable[..., str], codec: str
) -> None:
    topic = new_topic(message_timestamp_type="LogAppendTime")
    long_ago = 1_000_000_000_000
    writer.write(topic, [Record(key=b"k", value=b"v", timestamp_ms=long_ago)] * 3, codec=codec)
    for reader in readers:
        read = reader.read(topic, 3)
        assert contents(read) == [(b"k", b"v", ())] * 3, reader.name
        assert min(record.timestamp_ms or 0 for record in read) > 1_700_000_000_000, reader.name


@pytest.mark.needs(Ability.CHOSEN_TIMESTAMPS)
def test_a_timestamp_too_old_for_the_topic_is_refused(client: Client, new_topic: Callable[..., str]) -> None:
    topic = new_topic(message_timestamp_before_max_ms=60_000)
    with pytest.raises(Refused) as refused:
        client.write(topic, [Record(value=b"v", timestamp_ms=1_600_000_000_000)])
    assert refused.value.error in (ErrorCode.INVALID_TIMESTAMP, ErrorCode.INVALID_RECORD)


@pytest.mark.parametrize("compression", [*CODECS[1:], "uncompressed"])
@pytest.mark.parametrize("codec", ["none", "gzip"])
def test_a_topic_may_ask_for_a_codec_of_its_own(
    readers: list[Client], new_topic: Callable[..., str], codec: str, compression: str
) -> None:
    topic = new_topic(compression_type=compression)
    records = text_records(100)
    readers[0].write(topic, records, codec=codec)
    for reader in readers:
        read = reader.read(topic, len(records))
        assert contents(read) == contents(records), reader.name
        assert [record.offset for record in read] == list(range(100)), reader.name
