"""What one fetch answer brought is decoded piece by piece, however much lies in one batch."""

import tracemalloc
from typing import Any

import pytest

from odradek.base.errors import CorruptRecord, InvalidRecord
from odradek.base.ids import TopicPartition
from odradek.client.core.consumer.completed_fetch import WORK_RECORDS_MAX, CompletedFetch
from odradek.records import record_readers
from odradek.records.blocks import DecompressionLimit
from odradek.records.builder import BatchBuilder
from odradek.records.compression import DECOMPRESSED_BYTES_MAX, Codec, compress
from odradek.records.header import HEADER_BYTES, computed_crc, read_header
from odradek.records.header_reader import HEADERS_PER_SLICE
from odradek.wire.messages.fetch import PartitionData
from tests.batches import numbered_batch

P0 = TopicPartition("orders", 0)


def batch(count: int, *, codec: int = Codec.NONE, value: bytes = b"") -> bytes:
    builder = BatchBuilder(base_offset=0, codec=codec)
    for _ in range(count):
        builder.append(1_000, None, value)
    return bytes(builder.build())


def completed(records: bytes, at: int = 0, **options: Any) -> CompletedFetch:
    data = PartitionData(partition_index=0, records=records, high_watermark=1 << 20)
    given = {"is_committed_only": False, "checks_crc": True, **options}
    return CompletedFetch(P0, at, data, **given)


def taken(one: CompletedFetch, count: int = 500) -> list[int]:
    return [record.offset for record in one.take(count)]


def decode_away(one: CompletedFetch) -> None:
    """What a shell does with a call that takes long."""
    away = one.away
    assert away is not None
    one.has(away, away.call())


@pytest.fixture
def one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where numpy is not installed."""
    monkeypatch.setattr(record_readers, "_HAS_NUMPY", False)


@pytest.mark.usefixtures("one_by_one")
def test_a_large_batch_is_decoded_in_slices() -> None:
    one = completed(batch(3 * WORK_RECORDS_MAX))
    assert taken(one, 10) == []
    decode_away(one)
    assert taken(one, 10) == list(range(10))
    assert one.spent <= 1_000, "no more than a slice is decoded"
    assert one.next_offset == 10
    rest = taken(one, 3 * WORK_RECORDS_MAX)
    assert len(rest) <= WORK_RECORDS_MAX + 500
    while not one.is_exhausted:
        more = taken(one)
        assert more
        rest += more
    assert rest == list(range(10, 3 * WORK_RECORDS_MAX))
    assert one.next_offset == 3 * WORK_RECORDS_MAX


@pytest.mark.usefixtures("one_by_one")
def test_records_before_the_position_are_skipped_in_steps() -> None:
    last = 3 * WORK_RECORDS_MAX - 1
    one = completed(batch(last + 1), at=last)
    assert taken(one) == []
    decode_away(one)
    steps = 0
    while not (found := taken(one)):
        assert not one.is_exhausted
        assert one.spent <= WORK_RECORDS_MAX + 500
        steps += 1
        assert steps < 10
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


def prepared(one: CompletedFetch) -> None:
    """Decode ahead until there is nothing to do."""
    for _ in range(20):
        while one.prepare():
            pass
        if one.away is None:
            return
        decode_away(one)
    raise AssertionError("it decodes ahead without an end")


def test_what_is_prepared_is_what_is_taken_and_moves_no_position() -> None:
    one = completed(numbered_batch(0, 700) + numbered_batch(700, 800))
    prepared(one)
    assert one.next_offset == 0
    assert taken(one, 600) == list(range(600))
    assert one.spent == 0, "nothing was left to decode"
    assert one.next_offset == 600
    prepared(one)
    assert taken(one, 900) == list(range(600, 1_500))
    assert one.spent == 0
    assert one.is_exhausted
    assert not one.prepare()


def test_what_follows_is_prepared_before_all_is_taken() -> None:
    """A poll that takes records of two runs need not decode the second one."""
    one = completed(b"".join(numbered_batch(base, 700, epoch=base) for base in (0, 700, 1_400)))
    prepared(one)
    assert taken(one, 600) == list(range(600))
    assert (one.next_offset, one.epoch) == (600, 0)
    prepared(one)
    assert taken(one, 800) == list(range(600, 1_400))
    assert one.spent == 0
    assert (one.next_offset, one.epoch) == (1_400, 700), "those of what is taken, not of what is decoded"
    assert taken(one, 800) == list(range(1_400, 2_100))
    assert one.is_exhausted
    assert one.epoch == 1_400


def test_prepare_decodes_a_few_records_ahead() -> None:
    one = completed(numbered_batch(0, 3_000))
    prepared(one)
    one.spent = 0
    assert len(taken(one, 3_000)) == 3_000
    assert 1_500 <= one.spent <= 2_000


def test_prepare_steps_over_nothing_and_leaves_faults_to_take() -> None:
    broken = bytearray(numbered_batch(3, 2))
    broken[-1] ^= 1
    one = completed(numbered_batch(0, 3) + bytes(broken))
    assert taken(one) == [0, 1, 2]
    for _ in range(2):
        assert not one.prepare()
    assert one.next_offset == 3
    with pytest.raises(CorruptRecord):
        one.take(1)


def test_several_batches_are_decompressed_in_one_call_up_to_a_bound() -> None:
    batches = [large_batch(base * 3, 3, 1 << 20) for base in range(4)]
    one = completed(b"".join(batches))
    found = []
    calls = 0
    while not one.is_exhausted:
        found += taken(one)
        if one.away is not None:
            decode_away(one)
            calls += 1
            assert calls < 9
    assert found == list(range(12))
    assert calls == 2, "a call ends behind the batch with which it has 4 MiB"


def test_records_in_front_of_a_batch_that_does_not_decompress_come_first() -> None:
    broken = bytearray(large_batch(3, 3, 100_000))
    broken[HEADER_BYTES + 8 :] = bytes(len(broken) - HEADER_BYTES - 8)
    broken[17:21] = computed_crc(broken, read_header(broken)).to_bytes(4, "big")
    one = completed(large_batch(0, 3, 100_000) + bytes(broken))
    assert taken(one) == []
    away = one.away
    assert away is not None
    one.has(away, away.call())
    assert taken(one) == [0, 1, 2]
    for _ in range(2):
        with pytest.raises(InvalidRecord):
            one.take(1)
    assert one.next_offset == 3


def large_batch(base: int, count: int, value_bytes: int) -> bytes:
    builder = BatchBuilder(base_offset=base, codec=Codec.ZSTD)
    for _ in range(count):
        builder.append(1_000, None, bytes(value_bytes))
    return bytes(builder.build())


@pytest.mark.parametrize("others", [0, 300], ids=["one by one", "at once"])
def test_the_headers_of_a_record_are_decoded_in_slices(others: int) -> None:
    builder = BatchBuilder(base_offset=0)
    builder.append(1_000, None, b"first", ((b"h", b"1"),) * 20_000)
    for _ in range(others):
        builder.append(1_000, None, b"", ((b"h", b"2"),))
    one = completed(bytes(builder.build()))
    calls = 0
    while not (found := one.take(1)):
        if one.away is not None:
            decode_away(one)
            continue
        calls += 1
        assert not one.is_exhausted
        assert one.next_offset == 0
    assert calls >= 20_000 // (8 * HEADERS_PER_SLICE) - 1, "a call reads eight slices at most"
    assert found[0].headers == (("h", b"1"),) * 20_000
    while not one.is_exhausted:
        found += one.take(100)
    assert [record.offset for record in found] == list(range(others + 1))
    assert all(record.headers == (("h", b"2"),) for record in found[1:])


def test_headers_of_records_before_the_position_are_not_read() -> None:
    builder = BatchBuilder(base_offset=0)
    builder.append(1_000, None, b"", ((b"h", b"1"),) * 100_000)
    builder.append(1_000, None, b"wanted")
    assert taken(completed(bytes(builder.build()), at=1), 1) == [1]
