"""Kafka's producer snapshot, byte by byte."""

from struct import pack

import pytest
from crc32c import crc32c

from odradek.base.errors import CorruptRecord
from odradek.storage.producer_snapshot import parse_snapshot, render_snapshot
from odradek.storage.producer_state import ProducerEntry, RememberedBatch


def entry() -> ProducerEntry:
    known = ProducerEntry(7, epoch=2, coordinator_epoch=3, last_timestamp_ms=99, transaction_first_offset=40)
    known.batches.append(RememberedBatch(5, 9, 40, 44, 99))
    return known


def known_by(*batches: RememberedBatch, timestamp_ms: int = 99, epoch: int = 2) -> ProducerEntry:
    known = ProducerEntry(7, epoch, coordinator_epoch=3, last_timestamp_ms=timestamp_ms)
    known.batches.extend(batches)
    return known


def snapshot_of(*rows: tuple[int, ...]) -> bytes:
    body = pack(">i", len(rows)) + b"".join(pack(">qhiqiqiq", *row) for row in rows)
    return pack(">hI", 1, crc32c(body)) + body


def test_is_kafkas_format() -> None:
    """L1"""
    assert render_snapshot([entry()]) == snapshot_of((7, 2, 9, 44, 4, 99, 3, 40))


def test_comes_back_with_the_last_batch() -> None:
    bare = ProducerEntry(8, epoch=0)
    (first, second) = parse_snapshot(render_snapshot([entry(), bare]))
    assert first == entry()
    assert (second.producer_id, second.last_sequence, second.transaction_first_offset) == (8, -1, None)


def test_earlier_batches_are_rows_before_the_last_one() -> None:
    """Kafka, which keeps one row of a producer, keeps the last."""
    known = entry()
    known.batches.clear()
    known.batches.extend(
        [
            RememberedBatch(0, 0, 20, 20, 97),
            RememberedBatch(1, 4, 30, 33, 98),
            RememberedBatch(5, 9, 40, 44, 99),
        ]
    )
    data = render_snapshot([known, ProducerEntry(8, epoch=0)])
    assert data == snapshot_of(
        (7, 2, 0, 20, 0, 97, 3, -1),
        (7, 2, 4, 33, 3, 98, 3, -1),
        (7, 2, 9, 44, 4, 99, 3, 40),
        (8, 0, -1, -1, 0, -1, -1, -1),
    )
    assert parse_snapshot(data) == [known, ProducerEntry(8, epoch=0)]


def test_no_earlier_row_outlives_the_last_one() -> None:
    """Kafka compares each row with the time of expiry, and a producer's timestamps may fall."""
    known = known_by(RememberedBatch(0, 0, 20, 20, 500), RememberedBatch(1, 1, 21, 21, 99))
    assert render_snapshot([known]) == snapshot_of((7, 2, 0, 20, 0, 99, 3, -1), (7, 2, 1, 21, 0, 99, 3, -1))


def test_rows_of_an_older_epoch_are_forgotten() -> None:
    """All remembered batches are of one epoch, whoever wrote the snapshot."""
    data = snapshot_of((7, 1, 0, 20, 0, 98, 3, -1), (7, 2, 0, 21, 0, 99, 3, -1))
    assert parse_snapshot(data) == [known_by(RememberedBatch(0, 0, 21, 21, 99))]


@pytest.mark.parametrize("cut", range(0, 56, 7))
def test_a_snapshot_cut_short_is_refused(cut: int) -> None:
    with pytest.raises(CorruptRecord):
        parse_snapshot(render_snapshot([entry()])[:cut])


@pytest.mark.parametrize("byte", [0, 1, 2, 6, 9, 20, 55])
def test_a_damaged_snapshot_is_refused(byte: int) -> None:
    data = bytearray(render_snapshot([entry()]))
    data[byte] ^= 0x10
    with pytest.raises(CorruptRecord):
        parse_snapshot(bytes(data))
