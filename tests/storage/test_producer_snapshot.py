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


def test_is_kafkas_format() -> None:
    """L1"""
    body = pack(">i", 1) + pack(">qhiqiqiq", 7, 2, 9, 44, 4, 99, 3, 40)
    assert render_snapshot([entry()]) == pack(">hI", 1, crc32c(body)) + body


def test_comes_back_with_the_last_batch() -> None:
    bare = ProducerEntry(8, epoch=0)
    (first, second) = parse_snapshot(render_snapshot([entry(), bare]))
    assert first == entry()
    assert (second.producer_id, second.last_sequence, second.transaction_first_offset) == (8, -1, None)


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
