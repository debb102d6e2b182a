"""What one fetch answer brought is decoded piece by piece, however much lies in one batch."""

import tracemalloc
from typing import Any

import pytest

from odradek.base.errors import InvalidRecord
from odradek.base.ids import TopicPartition
from odradek.client.core.consumer.completed_fetch import WORK_RECORDS_MAX, CompletedFetch
from odradek.records.blocks import DecompressionLimit
from odradek.records.builder import BatchBuilder
from odradek.records.compression import DECOMPRESSED_BYTES_MAX, Codec, compress
from odradek.records.header import HEADER_BYTES, computed_crc, read_header
from odradek.wire.messages.fetch import PartitionData

P0 = TopicPartition("orders", 0)


def batch(count: int, *, codec: int = Codec.NONE, value: bytes = b"") -> bytes:
    builder = BatchBuilder(base_offset=0, codec=codec)
    for _ in range(count):
        builder.append(1_000, None, value)
    return bytes(builder.build())


def completed(records: bytes, at: int = 0, **options: Any) -> CompletedFetch:
    data = PartitionData(partition_index=0, records=records)
    given = {"is_committed_only": False, "checks_crc": True, **options}
    return CompletedFetch(P0, at, data, **given)


def taken(one: CompletedFetch, count: int = 500) -> list[int]:
    return [record.offset for record in one.take(count)]


def test_a_large_batch_is_decoded_in_slices() -> None:
    one = completed(batch(3 * WORK_RECORDS_MAX))
    assert taken(one, 10) == list(range(10))
    assert one.spent <= 1_000, "no more than a slice is decoded"
    assert one.next_offset == 10
    rest = taken(one, 3 * WORK_RECORDS_MAX)
    assert len(rest) <= WORK_RECORDS_MAX + 500
    while not one.is_exhausted:
        rest += taken(one)
    assert rest == list(range(10, 3 * WORK_RECORDS_MAX))
    assert one.next_offset == 3 * WORK_RECORDS_MAX


def test_records_before_the_position_are_skipped_in_steps() -> None:
    last = 3 * WORK_RECORDS_MAX - 1
    one = completed(batch(last + 1), at=last)
    steps = 0
    while not (found := taken(one)):
        assert not one.is_exhausted
        assert one.spent <= WORK_RECORDS_MAX + 500
        steps += 1
    assert found == [last]
    assert steps >= 2


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
def test_what_decompresses_to_much_is_decompressed_elsewhere(codec: int) -> None:
    one = completed(batch(600, codec=codec, value=bytes(2_000)))
    assert taken(one) == []
    assert not one.is_exhausted
    away = one.away
    assert away is not None
    assert taken(one) == [], "it waits"
    one.has(away, away.call())
    assert one.away is None
    assert taken(one, 1_000) == list(range(600))
    assert one.is_exhausted
    assert one.next_offset == 600


def bomb(codec: int, size_bytes: int) -> bytes:
    """A batch whose header and CRC are right, and whose body decompresses to so many bytes."""
    body = compress(codec, bytes(size_bytes))
    head = BatchBuilder(base_offset=0, codec=codec)
    head.append(1_000, None, b"x")
    made = bytearray(bytes(head.build())[:HEADER_BYTES]) + bytes(body)
    made[8:12] = (len(made) - 12).to_bytes(4, "big")
    made[17:21] = computed_crc(made, read_header(made)).to_bytes(4, "big")
    return bytes(made)


@pytest.mark.slow
@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
@pytest.mark.parametrize("as_columns", [False, True])
def test_a_bomb_is_refused_at_the_bound(codec: Codec, as_columns: bool) -> None:
    """A fetch of some kilobytes must not take all memory: 64 MiB is the most that a batch may take."""
    if as_columns:
        pytest.importorskip("pyarrow")
    one = completed(bomb(codec, DECOMPRESSED_BYTES_MAX + (1 << 20)))
    columns = one.as_columns(with_headers=False) if as_columns else None
    take = one.take if columns is None else columns.take
    assert not take(1)
    away = one.away
    assert away is not None, "it is decompressed elsewhere"
    tracemalloc.start()
    try:
        with pytest.raises(DecompressionLimit, match=r"take more than|are in more than") as refused:
            away.call()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < DECOMPRESSED_BYTES_MAX + 1_000_000
    one.has(away, refused.value)
    for _ in range(2):
        with pytest.raises(DecompressionLimit):
            take(1)
    assert one.next_offset == 0


def test_what_cannot_be_decompressed_is_told_each_time() -> None:
    one = completed(batch(600, codec=Codec.ZSTD, value=bytes(2_000)))
    taken(one)
    away = one.away
    assert away is not None
    one.has(away, InvalidRecord("torn"))
    for _ in range(2):
        with pytest.raises(InvalidRecord, match="torn"):
            one.take(500)
    assert not one.is_exhausted
    assert one.next_offset == 0
