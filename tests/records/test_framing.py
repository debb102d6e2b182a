import struct
import warnings

import pytest
from aiokafka.record.default_records import DefaultRecordBatchBuilder as AiokafkaBuilder
from hypothesis import given
from hypothesis import strategies as st

from odradek.base.errors import CorruptRecord, InvalidRecord, UnsupportedCompression
from odradek.records.builder import BatchBuilder
from odradek.records.compression import Codec
from odradek.records.framing import Record, append_record, body_of, iter_body, iter_records
from odradek.records.header import BatchHeader, blank_header, read_header
from odradek.records.varint import append_varint

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka.record.default_records import DefaultRecordBatchBuilder as KafkaPythonBuilder


def header_of(record_count: int) -> BatchHeader:
    header = blank_header()
    header.record_count = record_count
    header.last_offset_delta = record_count - 1
    return header


def body_with(*rows: bytes) -> bytes:
    """Records whose content, behind the length, is given."""
    body = bytearray()
    for row in rows:
        append_varint(body, len(row))
        body += row
    return bytes(body)


@pytest.mark.parametrize("builder_class", [AiokafkaBuilder, KafkaPythonBuilder])
@pytest.mark.parametrize("codec", list(Codec), ids=lambda codec: codec.name)
def test_what_other_clients_build_is_read(builder_class: type, codec: Codec) -> None:
    builder = builder_class(
        magic=2,
        compression_type=int(codec),
        is_transactional=1,
        producer_id=9,
        producer_epoch=1,
        base_sequence=5,
        batch_size=1 << 20,
    )
    written = [
        Record(0, 1000, b"key", b"value" * 50, ((b"name", b"content"), (b"none", None))),
        Record(1, 1500, None, b"value"),
        Record(2, 900, b"tombstone", None),
        Record(3, 1000, b"", b""),
    ]
    for offset, timestamp_ms, key, value, headers in written:
        builder.append(offset, timestamp_ms, key, value, [(name.decode(), one) for name, one in headers])
    batch = bytes(builder.build())
    header = read_header(batch)
    assert list(iter_records(batch, header)) == written
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (9, 1, 5)
    assert header.is_transactional
    assert header.codec == codec


def test_the_example_of_the_format_reads_as_it_says() -> None:
    header = header_of(2)
    header.base_offset, header.base_timestamp, header.last_offset_delta = 50, 1000, 1
    header.record_count = 1
    body = bytes.fromhex("1a0006 02 02 6b 0c 68656c6c6f21 00")
    assert list(iter_body(body, header)) == [Record(51, 1003, b"k", b"hello!")]


def test_log_append_time_is_the_timestamp_of_every_record() -> None:
    builder = BatchBuilder()
    builder.append(10, None, b"a")
    builder.append(20, None, b"b")
    batch = builder.build()
    header = read_header(batch)
    header.attributes |= 0x08
    header.max_timestamp = 777
    assert [record.timestamp_ms for record in iter_records(batch, header)] == [777, 777]


def test_gaps_that_compaction_left_are_read() -> None:
    builder = BatchBuilder(base_offset=100)
    for offset in (101, 105, 300):
        builder.append(1, b"k", b"v", offset=offset)
    batch = builder.build()
    assert [record.offset for record in iter_records(batch, read_header(batch))] == [101, 105, 300]


def test_a_batch_is_read_where_it_stands() -> None:
    builder = BatchBuilder(codec=Codec.ZSTD)
    builder.append(1, b"k", b"v")
    buffer = b"before" + bytes(builder.build()) + b"behind"
    assert [record.key for record in iter_records(memoryview(buffer), read_header(buffer, 6), 6)] == [b"k"]


@pytest.mark.parametrize("count", [-1, 1, 3, 2**31 - 1])
def test_another_count_than_there_are_records_is_refused(count: int) -> None:
    body = bytearray()
    append_record(body, 0, 0, b"k", b"v")
    append_record(body, 0, 1, b"k", b"v")
    header = header_of(2)
    header.record_count = count
    with pytest.raises(InvalidRecord):
        list(iter_body(bytes(body), header))


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        (b"\x00\x00\x00\x01\x01", "outside its batch"),
        (b"\x00\x00\x00\x03\x01\x00", "negative length"),
        (b"\x00\x00\x00\x01\x05\x00", "negative length"),
        (b"\x00\x00\x00\x40\x01\x00", "ends before"),
        (b"\x00\x00\x00\x04k\x01\x00", "ends before|says it ends"),
        (b"\x00\x00\x00\x01\x01\x02", "headers are announced"),
        (b"\x00\x00\x00\x01\x01\x01", "headers are announced"),
        (b"\x00\x00\x00\x01\x01\xfe\xff\xff\xff\x0f", "headers are announced"),
        (b"\x00\x00\x00\x01\x01\x02\x01\x01", "header without a key"),
        (b"\x00\x00\x00\x01\x01\x00\x00", "says it ends"),
        (b"\x00\x00\x02\x01\x01\x00", "offset delta 1"),
        (b"\x00\x00\x01\x01\x01\x00", "offset delta -1"),
        (b"\x00" + b"\x80" * 10 + b"\x00\x01\x01\x00", "more than 10 bytes"),
        (b"\x00\x00" + b"\x80" * 5 + b"\x00\x01\x00", "more than 5 bytes"),
    ],
)
def test_a_record_that_does_not_add_up_is_refused(row: bytes, fault: str) -> None:
    with pytest.raises(InvalidRecord, match=fault):
        list(iter_body(body_with(row), header_of(1)))


@pytest.mark.parametrize(("base", "delta"), [(2**63 - 1, 1), (-(2**63), -1)])
def test_a_timestamp_beyond_64_bits_is_refused(base: int, delta: int) -> None:
    header, body = header_of(1), bytearray()
    header.base_timestamp = base
    append_record(body, delta, 0, None, None)
    with pytest.raises(InvalidRecord, match="64 bits"):
        list(iter_body(bytes(body), header))


def test_bytes_behind_the_last_record_are_refused() -> None:
    body = bytearray()
    append_record(body, 0, 0, b"k", b"v")
    with pytest.raises(InvalidRecord, match="3 bytes follow"):
        list(iter_body(bytes(body) + b"abc", header_of(1)))


def test_a_codec_that_does_not_exist_is_unsupported() -> None:
    header = blank_header()
    header.attributes = 6
    with pytest.raises(UnsupportedCompression):
        body_of(bytes(61), header)


def test_more_than_the_bound_is_refused() -> None:
    builder = BatchBuilder(codec=Codec.GZIP)
    builder.append(1, None, bytes(5000))
    batch = builder.build()
    with pytest.raises(InvalidRecord, match="more than 4000 bytes"):
        iter_records(batch, read_header(batch), bytes_max=4000)


@given(st.data())
def test_damaged_records_are_read_or_refused(draw: st.DataObject) -> None:
    builder = BatchBuilder(codec=draw.draw(st.sampled_from(list(Codec))))
    for number in range(draw.draw(st.integers(1, 5))):
        builder.append(number, b"key", b"value", ((b"h", b"1"), (b"g", None)))
    batch = builder.build()
    for _ in range(draw.draw(st.integers(1, 5))):
        batch[draw.draw(st.integers(8, len(batch) - 1))] = draw.draw(st.integers(0, 255))
    try:
        for record in iter_records(batch, read_header(batch)):
            struct.pack(">q", record.timestamp_ms)
    except (CorruptRecord, InvalidRecord, UnsupportedCompression):
        pass


@given(st.binary(max_size=60), st.integers(-3, 10))
def test_arbitrary_bytes_are_no_records_or_add_up(body: bytes, count: int) -> None:
    try:
        records = list(iter_body(body, header_of(count)))
    except InvalidRecord:
        return
    assert len(records) == max(count, 0)
