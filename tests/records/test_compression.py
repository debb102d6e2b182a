import gzip
import tracemalloc
import zlib
from mmap import mmap
from types import SimpleNamespace

import cramjam
import pytest
from aiokafka import codec as aiokafka_codec
from hypothesis import given
from hypothesis import strategies as st

from odradek.base.errors import InvalidRecord, UnsupportedCompression
from odradek.records import compression
from odradek.records.compression import Codec, compress, decompress, discard

COMPRESSED = [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD]
MIB = 1 << 20

codecs = pytest.mark.parametrize("codec", COMPRESSED, ids=lambda codec: codec.name)


def peer_encode(codec: Codec, data: bytes) -> bytes:
    encode = {
        Codec.GZIP: aiokafka_codec.gzip_encode,
        Codec.SNAPPY: aiokafka_codec.snappy_encode,
        Codec.LZ4: aiokafka_codec.lz4_encode,
        Codec.ZSTD: aiokafka_codec.zstd_encode,
    }[codec]
    return bytes(encode(data))


def peer_decode(codec: Codec, data: bytes) -> bytes:
    decode = {
        Codec.GZIP: aiokafka_codec.gzip_decode,
        Codec.SNAPPY: aiokafka_codec.snappy_decode,
        Codec.LZ4: aiokafka_codec.lz4_decode,
        Codec.ZSTD: aiokafka_codec.zstd_decode,
    }[codec]
    return bytes(decode(data))


@given(st.sampled_from(list(Codec)), st.binary(max_size=3000), st.integers(1, 50))
def test_what_was_compressed_comes_back(codec: Codec, piece: bytes, times: int) -> None:
    data = piece * times
    assert bytes(decompress(codec, compress(codec, data), len(data))) == data


@codecs
def test_peers_read_ours_and_ours_reads_theirs(codec: Codec) -> None:
    data = bytes(range(256)) * 500
    assert peer_decode(codec, bytes(compress(codec, data))) == data
    assert bytes(decompress(codec, peer_encode(codec, data))) == data


@pytest.mark.parametrize(
    ("codec", "level"),
    [
        (Codec.GZIP, 1),
        (Codec.GZIP, 9),
        (Codec.LZ4, 1),
        (Codec.LZ4, 17),
        (Codec.ZSTD, -131072),
        (Codec.ZSTD, 22),
    ],
)
def test_the_least_and_the_highest_level_work(codec: Codec, level: int) -> None:
    data = b"a line of a log\n" * 500
    assert bytes(decompress(codec, compress(codec, data, level))) == data


@codecs
def test_views_of_larger_buffers_are_read(codec: Codec) -> None:
    packed = bytes(compress(codec, b"hello" * 100))
    assert bytes(decompress(codec, memoryview(b"__" + packed + b"__")[2:-2])) == b"hello" * 100


@codecs
def test_frames_behind_each_other_are_one_text(codec: Codec) -> None:
    packed = bytes(compress(codec, b"first ")) + bytes(compress(codec, b"second"))
    assert bytes(decompress(codec, packed)) == b"first second"


def test_lz4_blocks_are_independent_of_each_other() -> None:
    flags = bytes(compress(Codec.LZ4, b"x" * 200_000))[4]
    assert flags & 0x20, "Kafka's Java client refuses linked blocks"


def test_plain_snappy_is_told_from_xerial_snappy() -> None:
    data = b"no framing at all " * 20
    assert bytes(decompress(Codec.SNAPPY, bytes(cramjam.snappy.compress_raw(data)))) == data
    assert bytes(compress(Codec.SNAPPY, data)).startswith(b"\x82SNAPPY\x00")


@codecs
def test_a_text_that_fills_the_bound_exactly_is_whole(codec: Codec) -> None:
    data = bytes(300_000)
    assert len(decompress(codec, compress(codec, data), 300_000)) == 300_000


@codecs
def test_a_text_one_byte_above_the_bound_is_refused(codec: Codec) -> None:
    with pytest.raises(InvalidRecord):
        decompress(codec, compress(codec, bytes(300_001)), 300_000)


@codecs
def test_a_bomb_takes_no_more_memory_than_the_bound(codec: Codec) -> None:
    bomb = bytes(compress(codec, bytes(40 * MIB)))
    tracemalloc.start()
    try:
        with pytest.raises(InvalidRecord):
            decompress(codec, bomb, 2 * MIB)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2 * MIB + 100_000, f"{codec.name}: {peak} bytes for a bound of {2 * MIB}"


def test_a_bomb_of_many_small_gzip_members_is_refused() -> None:
    with pytest.raises(InvalidRecord):
        decompress(Codec.GZIP, gzip.compress(bytes(10_000)) * 100, 900_000)


@pytest.mark.parametrize("claim", [b"\xff\xff\xff\xff\x0f", b"\xff\xff\xff\xff\xff\xff"])
def test_a_snappy_block_that_claims_gigabytes_is_refused(claim: bytes) -> None:
    with pytest.raises(InvalidRecord):
        decompress(Codec.SNAPPY, claim + b"\x00" * 10)


@pytest.mark.parametrize("tail", [b"\x00", b"\x00\x00\x00\x09abc", b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff"])
def test_a_xerial_block_outside_the_batch_is_refused(tail: bytes) -> None:
    with pytest.raises(InvalidRecord, match="snappy block"):
        decompress(Codec.SNAPPY, bytes(compress(Codec.SNAPPY, b"data")) + tail)


@codecs
def test_a_text_cut_short_anywhere_is_refused_or_shorter(codec: Codec) -> None:
    data = bytes(range(256)) * 300
    packed = bytes(compress(codec, data))
    for size in range(0, len(packed), max(1, len(packed) // 60)):
        try:
            assert bytes(decompress(codec, packed[:size])) != data
        except InvalidRecord:
            pass


@given(st.sampled_from(COMPRESSED), st.data())
def test_damaged_text_is_refused_or_read_within_the_bound(codec: Codec, draw: st.DataObject) -> None:
    packed = bytearray(compress(codec, bytes(range(256)) * 20))
    for _ in range(draw.draw(st.integers(1, 4))):
        packed[draw.draw(st.integers(0, len(packed) - 1))] = draw.draw(st.integers(0, 255))
    try:
        assert len(decompress(codec, packed, 10_000)) <= 10_000
    except InvalidRecord:
        pass


@pytest.mark.parametrize("codec", [5, 6, 7])
def test_a_codec_that_does_not_exist_is_unsupported(codec: int) -> None:
    with pytest.raises(UnsupportedCompression):
        decompress(codec, b"")


def gzip_of(deflate_blocks: bytes) -> bytes:
    """A gzip member of these blocks, which hold nothing."""
    return b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + deflate_blocks + b"\x01\x00\x00\xff\xff" + bytes(8)


# Eight blocks of ten bits, the first bit lowest: not the last block, fixed codes (01), end of block.
EMPTY_DEFLATE_BLOCKS = int(("010" + "0000000")[::-1] * 8, 2).to_bytes(10, "little")
XERIAL_HEADER = b"\x82SNAPPY\x00" + b"\x00\x00\x00\x01" * 2
LZ4_EMPTY = bytes(cramjam.lz4.compress(b""))
SKIPPABLE_FRAME = b"\x50\x2a\x4d\x18" + bytes(4)
ZSTD_EMPTY = bytes(cramjam.zstd.compress(b""))

MADE_OF_NOTHING = {
    "empty deflate blocks": (Codec.GZIP, gzip_of(b"\x00\x00\x00\xff\xff" * 50_000)),
    "empty deflate blocks with codes": (Codec.GZIP, gzip_of(EMPTY_DEFLATE_BLOCKS * 25_000)),
    "empty gzip members": (Codec.GZIP, gzip_of(b"") * 10_000),
    "empty xerial blocks": (Codec.SNAPPY, XERIAL_HEADER + b"\x00\x00\x00\x01\x00" * 50_000),
    "xerial headers": (Codec.SNAPPY, XERIAL_HEADER * 15_000),
    "xerial blocks of one byte": (Codec.SNAPPY, XERIAL_HEADER + b"\x00\x00\x00\x03\x01\x00x" * 40_000),
    "empty lz4 blocks": (Codec.LZ4, LZ4_EMPTY[:7] + b"\x01\x00\x00\x00\x00sums" * 30_000 + bytes(4)),
    "lz4 frames": (Codec.LZ4, LZ4_EMPTY * 15_000),
    "lz4 skippable frames": (Codec.LZ4, SKIPPABLE_FRAME * 30_000),
    "zstd frames": (Codec.ZSTD, ZSTD_EMPTY * 25_000),
    "zstd skippable frames": (Codec.ZSTD, SKIPPABLE_FRAME * 30_000),
    "empty zstd blocks": (Codec.ZSTD, b"\x28\xb5\x2f\xfd\x00\x58" + bytes(3) * 80_000 + b"\x01\0\0"),
}


@pytest.mark.parametrize("kind", MADE_OF_NOTHING)
def test_a_text_of_countless_empty_pieces_is_refused(kind: str) -> None:
    codec, packed = MADE_OF_NOTHING[kind]
    with pytest.raises(InvalidRecord, match=r"in more than|hold only"):
        decompress(codec, packed)


def test_gzip_without_progress_is_refused_after_its_first_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = []

    class Counting:
        """Counts what zlib is given."""

        def __init__(self, window_bits: int) -> None:
            self._inflater = zlib.decompressobj(window_bits)

        def decompress(self, piece: bytes, bytes_max: int) -> bytes:
            taken.append(len(piece))
            return self._inflater.decompress(piece, bytes_max)

        def __getattr__(self, name: str) -> object:
            return getattr(self._inflater, name)

    monkeypatch.setattr(compression, "zlib", SimpleNamespace(decompressobj=Counting, error=zlib.error))
    with pytest.raises(InvalidRecord, match="hold only 0 bytes"):
        decompress(Codec.GZIP, gzip_of(b"\x00\x00\x00\xff\xff" * 200_000))
    assert sum(taken) <= 16 << 10


@codecs
def test_a_text_in_as_many_blocks_as_compressors_make_is_read(codec: Codec) -> None:
    data = bytes(40 * MIB)
    body = decompress(codec, compress(codec, data))
    assert bytes(body) == data


@codecs
def test_a_row_of_small_frames_is_read(codec: Codec) -> None:
    packed = bytes(compress(codec, b"a record")) * 300
    assert bytes(decompress(codec, packed)) == b"a record" * 300


@codecs
def test_large_results_do_not_lie_in_cleared_memory_and_can_be_given_back(codec: Codec) -> None:
    body = decompress(codec, compress(codec, bytes(4 * MIB)))
    assert isinstance(body, memoryview)
    assert isinstance(body.obj, mmap)
    mapped = body.obj
    discard(body)
    assert mapped.closed
    discard(decompress(codec, compress(codec, b"small")))


def test_the_default_level_of_lz4_is_the_fast_compressor() -> None:
    """KIP-390: with level 9 Kafka's own compressor is the fast one."""
    data = b"".join(b"%d, " % (number * number) for number in range(5_000))
    fast = bytes(compress(Codec.LZ4, data, 1))
    assert bytes(compress(Codec.LZ4, data)) == bytes(compress(Codec.LZ4, data, 9)) == fast
    assert len(bytes(compress(Codec.LZ4, data, 8))) < len(fast)
