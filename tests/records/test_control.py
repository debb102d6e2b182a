import pytest
from aiokafka.record.control_record import COMMIT_MARKER, ControlRecord
from aiokafka.record.default_records import DefaultRecordBatch as AiokafkaBatch

from odradek.base.errors import InvalidRecord
from odradek.records.builder import BatchBuilder
from odradek.records.control import EndTxnMarker, build_marker, is_abort_marker, read_marker
from odradek.records.header import check_crc, read_header


def marker_batch(*, committed: bool) -> bytearray:
    return build_marker(
        EndTxnMarker(committed, coordinator_epoch=7), producer_id=12, producer_epoch=3, timestamp_ms=1000
    )


def control_batch(key: bytes | None, value: bytes | None) -> bytearray:
    builder = BatchBuilder(is_control=True)
    builder.append(0, key, value)
    return builder.build()


@pytest.mark.parametrize("committed", [True, False])
def test_a_marker_reads_back_as_it_was_built(committed: bool) -> None:
    batch = marker_batch(committed=committed)
    header = read_header(batch)
    check_crc(batch, header)
    assert read_marker(batch) == EndTxnMarker(committed, 7)
    assert is_abort_marker(batch) is not committed
    assert header.is_control
    assert header.is_transactional
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (12, 3, -1)
    assert header.record_count == 1


def test_other_clients_recognise_a_marker() -> None:
    (record,) = AiokafkaBatch(bytes(marker_batch(committed=True)))
    assert ControlRecord.parse(record.key) == COMMIT_MARKER


def test_a_marker_is_read_where_it_stands() -> None:
    batch = marker_batch(committed=False)
    assert read_marker(b"before" + batch + b"behind", 6) == EndTxnMarker(False, 7)


def test_a_batch_of_data_is_no_marker() -> None:
    builder = BatchBuilder()
    builder.append(0, b"\x00\x00\x00\x00", b"\x00\x00\x00\x00\x00\x00")
    assert read_marker(builder.build()) is None


def test_a_control_record_of_another_kind_is_no_marker() -> None:
    assert read_marker(control_batch(b"\x00\x00\x00\x02", b"")) is None
    assert read_marker(control_batch(b"\x00\x00\x00\x63", None)) is None


@pytest.mark.parametrize(
    ("key", "value"),
    [(None, b""), (b"\x00\x00\x00", b""), (b"\x00\x00\x00\x01", None), (b"\x00" * 4, b"\x00" * 5)],
)
def test_a_control_record_cut_short_is_refused(key: bytes | None, value: bytes | None) -> None:
    with pytest.raises(InvalidRecord):
        read_marker(control_batch(key, value))
