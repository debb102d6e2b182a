import pytest

from odradek.base.buffers import Buffer
from odradek.records.builder import BatchBuilder
from odradek.records.compression import Codec
from odradek.records.framing import iter_records
from odradek.records.header import check_crc, iter_headers, read_header
from odradek.records.offsets import assign_offsets
from odradek.records.validation import ValidatedRecords, ValidationRules, validate

NOW_MS = 1_700_000_000_000


def batch_of(count: int, codec: Codec = Codec.NONE) -> bytearray:
    builder = BatchBuilder(codec=codec)
    for number in range(count):
        builder.append(NOW_MS - number, b"key", b"value %d" % number)
    return builder.build()


def validated(batch: Buffer, *, from_client: bool = True) -> ValidatedRecords:
    return validate(batch, ValidationRules(from_client=from_client), NOW_MS)


@pytest.mark.parametrize("codec", list(Codec), ids=lambda codec: codec.name)
def test_offsets_and_epoch_are_written_and_nothing_else_changes(codec: Codec) -> None:
    before = bytes(batch_of(5, codec))
    records = validated(before)
    assign_offsets(records, 1500, 7)
    header = read_header(records.data)
    check_crc(records.data, header)
    assert [record.offset for record in iter_records(records.data, header)] == list(range(1500, 1505))
    assert header.leader_epoch == 7
    assert bytes(records.data[8:12]) == before[8:12]
    assert bytes(records.data[16:]) == before[16:]
    assert records.headers == [header]


def test_several_batches_get_dense_offsets() -> None:
    records = validated(bytes(batch_of(3) + batch_of(2) + batch_of(4)), from_client=False)
    assign_offsets(records, 90, 0)
    found = [header for _, header in iter_headers(records.data)]
    assert [(header.base_offset, header.last_offset) for header in found] == [(90, 92), (93, 94), (95, 98)]
    assert records.headers == found


@pytest.mark.parametrize("codec", list(Codec), ids=lambda codec: codec.name)
def test_append_time_becomes_every_timestamp_under_a_crc_that_holds(codec: Codec) -> None:
    records = validated(batch_of(3, codec))
    assign_offsets(records, 10, 1, log_append_time_ms=NOW_MS + 5)
    header = read_header(records.data)
    check_crc(records.data, header)
    assert header.is_log_append_time
    assert header.max_timestamp == NOW_MS + 5
    found = [(record.offset, record.timestamp_ms) for record in iter_records(records.data, header)]
    assert found == [(offset, NOW_MS + 5) for offset in (10, 11, 12)]
    assert records.headers == [header]


def test_a_writable_buffer_is_written_in_place() -> None:
    frame = bytearray(b"front" + batch_of(2))
    records = validated(memoryview(frame)[5:])
    assign_offsets(records, 77, 0)
    assert read_header(frame, 5).base_offset == 77
