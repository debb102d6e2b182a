"""The four codecs, in the framings that Kafka's clients read and write. This module must not know batches.

Decompression is bounded in bytes and in work, whatever sizes the compressed bytes state:

- The output never exceeds the caller's limit.
- Every format is a sequence of blocks (gzip: members), and even an empty block takes time. So blocks are
  counted: at most BLOCKS_MAX, and one more for each KB of input.
- gzip is decompressed in pieces, and refused when a piece yields almost no output: 1 MB of empty deflate
  blocks takes some decoders 3 s.

All slow calls in this module release the interpreter lock (docs/decisions/0003-record-validation.md).

Java and librdkafka clients send snappy in the xerial framing, a header and blocks with a length each; other
clients send one plain block. The first bytes show which it is. lz4 blocks are written independent
of each other, the only kind that Kafka's Java client reads.
"""

import zlib
from enum import IntEnum
from mmap import mmap
from struct import Struct
from typing import Final, Protocol

from odradek.base.buffers import Buffer
from odradek.base.errors import InvalidRecord, UnsupportedCompression
from odradek.records.blocks import (
    BLOCKS_MAX,
    DecompressionLimit,
    blocks_max,
    check_block_count,
    count_lz4_blocks,
    count_zstd_blocks,
)

try:
    import cramjam
except ModuleNotFoundError:  # on an executor of Spark's, which has pyarrow
    from odradek.records import arrow_codecs as cramjam  # type: ignore[no-redef]


class Codec(IntEnum):
    """The codecs by their ids in a batch's attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


# What the codecs are called in `compression.type`.
CODECS_BY_NAME = {
    "uncompressed": Codec.NONE,
    "gzip": Codec.GZIP,
    "snappy": Codec.SNAPPY,
    "lz4": Codec.LZ4,
    "zstd": Codec.ZSTD,
}

# Sixty times what max.message.bytes (1 MiB) lets in, for records that compress well.
DECOMPRESSED_BYTES_MAX = 64 << 20

# Above this the target is mapped, so that only what is written to takes memory and time: to clear 64 MiB
# takes 70 ms with the interpreter lock held.
_ORDINARY_BYTES_MAX = 512 << 10

# What the records of most batches fit in; for the others they are decompressed again, up to the bound.
_GUESS_BYTES_MIN = 16 << 10
_GUESS_FACTOR = 4

# The library's message when the target is full; any other error means invalid data.
_TARGET_TOO_SMALL = "failed to write whole buffer"

_XERIAL_MAGIC = b"\x82SNAPPY\x00"
_XERIAL_HEADER = _XERIAL_MAGIC + b"\x00\x00\x00\x01" + b"\x00\x00\x00\x01"
_XERIAL_BLOCK_BYTES = 32 << 10
_XERIAL_BLOCK_LENGTH = Struct(">i")

# zlib's number for the gzip framing, with its checksum verified.
_GZIP_WINDOW_BITS: Final = 31
_GZIP_PIECE_BYTES: Final = 8 << 10
_GZIP_OUTPUT_BYTES: Final = 256 << 10
# Deflate never makes data much larger: output below a sixteenth of the input is made to keep the broker busy.
_GZIP_PROGRESS: Final = 16


LZ4_DEFAULT_LEVEL: Final = 9
"""Kafka's default, with which its Java client takes the fast compressor; other levels are those of lz4."""
# The library's own default is a slow level: fourteen times the time, for a sixth of the bytes.
_LZ4_FAST: Final = 1


class _FramedCodec(Protocol):
    """A module of cramjam whose format says itself where it ends."""

    def compress(self, data: Buffer, level: int | None = None, /) -> cramjam.Buffer: ...
    def decompress_into(self, data: Buffer, target: memoryview, /) -> int: ...


_FRAMED: dict[int, _FramedCodec] = {
    Codec.GZIP: cramjam.gzip,
    Codec.LZ4: cramjam.lz4,
    Codec.ZSTD: cramjam.zstd,
}


def compress(codec: int, data: Buffer, level: int | None = None) -> Buffer:
    """`data` under `codec`; `level` is the codec's own, None for its default. Snappy has no levels."""
    if codec == Codec.NONE:
        return data
    if codec == Codec.SNAPPY:
        return _compress_xerial(data)
    if codec == Codec.LZ4:
        lz4_level = _LZ4_FAST if level in (None, LZ4_DEFAULT_LEVEL) else level
        compressor = cramjam.lz4.Compressor(lz4_level, content_checksum=False, block_linked=False)
        compressor.compress(bytes(data))
        return bytes(compressor.finish())
    return bytes(_FRAMED[codec].compress(data, level))


def decompress(
    codec: int, data: Buffer, bytes_max: int = DECOMPRESSED_BYTES_MAX, *, blocks_free: int = BLOCKS_MAX
) -> Buffer:
    """Decompress `data`: one frame, or several behind each other. Uncompressed data is returned as it is.

    `blocks_free` is the number of blocks of any size; each further block needs a KB of input.
    Raises DecompressionLimit if the result exceeds `bytes_max` or is in too many blocks; InvalidRecord if the
    bytes are none of that codec or are cut short; UnsupportedCompression if the codec does not exist.
    """
    if codec == Codec.NONE:
        return data
    view = memoryview(data)
    blocks = blocks_max(len(view), blocks_free)
    if codec == Codec.SNAPPY:
        return _decompress_snappy(view, bytes_max, blocks)
    if codec == Codec.LZ4:
        count_lz4_blocks(view, blocks)
    elif codec == Codec.ZSTD:
        count_zstd_blocks(view, blocks)
    elif codec != Codec.GZIP:
        raise UnsupportedCompression(f"no codec has the id {codec}")
    guess = max(_GUESS_BYTES_MIN, _GUESS_FACTOR * len(view))
    if guess < bytes_max:
        try:
            return _decompress_within(codec, view, guess, blocks)
        except DecompressionLimit:
            pass
    return _decompress_within(codec, view, bytes_max, blocks)


def discard(body: Buffer) -> None:
    """Free the memory of what `decompress` returned, which must not be used afterwards.

    Called in another thread than the loop's where it is much: 64 MiB take 20 ms.
    """
    if isinstance(body, memoryview) and isinstance(body.obj, mmap):
        mapped = body.obj
        body.release()
        mapped.close()


def _target(size_bytes: int) -> memoryview:
    return memoryview(bytearray(size_bytes) if size_bytes <= _ORDINARY_BYTES_MAX else mmap(-1, size_bytes))


def _decompress_within(codec: int, data: memoryview, bytes_max: int, blocks: int) -> memoryview:
    if codec == Codec.GZIP:
        return _decompress_gzip(data, bytes_max, blocks)
    with _target(bytes_max) as target:
        try:
            size = _FRAMED[codec].decompress_into(data, target)
        except cramjam.DecompressionError as error:
            if str(error) == _TARGET_TOO_SMALL:
                raise _too_large(bytes_max) from None
            raise _undecodable(error) from None
        return target[:size]


def _decompress_gzip(data: memoryview, bytes_max: int, members_max: int) -> memoryview:
    with _target(bytes_max) as target:
        inflater = zlib.decompressobj(_GZIP_WINDOW_BITS)
        taken = size = 0
        piece: Buffer = b""
        members = 1
        try:
            while True:
                if not piece:
                    if taken == len(data):
                        break
                    piece = data[taken : taken + _GZIP_PIECE_BYTES]
                    taken += len(piece)
                if inflater.eof:
                    members += 1
                    check_block_count(members, members_max, "gzip members")
                    inflater = zlib.decompressobj(_GZIP_WINDOW_BITS)
                output = inflater.decompress(piece, min(_GZIP_OUTPUT_BYTES, bytes_max - size + 1))
                piece = inflater.unused_data if inflater.eof else inflater.unconsumed_tail
                if size + len(output) > bytes_max:
                    raise _too_large(bytes_max)
                target[size : size + len(output)] = output
                size += len(output)
                if taken - len(piece) >= _GZIP_PIECE_BYTES and size * _GZIP_PROGRESS < taken - len(piece):
                    raise InvalidRecord(f"{taken} bytes of gzip hold only {size} bytes of records")
        except zlib.error as error:
            raise _undecodable(error) from None
        if not inflater.eof:
            raise InvalidRecord("the records do not decompress: they end inside a gzip member")
        return target[:size]


def _compress_xerial(data: Buffer) -> bytes:
    parts: list[bytes] = [_XERIAL_HEADER]
    whole = memoryview(data)
    for start in range(0, len(whole), _XERIAL_BLOCK_BYTES):
        block = bytes(cramjam.snappy.compress_raw(whole[start : start + _XERIAL_BLOCK_BYTES]))
        parts += (_XERIAL_BLOCK_LENGTH.pack(len(block)), block)
    return b"".join(parts)


def _decompress_snappy(whole: memoryview, bytes_max: int, xerial_blocks_max: int) -> memoryview:
    if whole[: len(_XERIAL_MAGIC)] == _XERIAL_MAGIC:
        blocks = _xerial_blocks(whole, xerial_blocks_max)
    else:
        blocks = [whole]
    try:
        sizes = [cramjam.snappy.decompress_raw_len(block) for block in blocks]
        if sum(sizes) > bytes_max:
            raise _too_large(bytes_max)
        target = _target(sum(sizes))
        position = 0
        for block, size in zip(blocks, sizes, strict=True):
            cramjam.snappy.decompress_raw_into(block, target[position : position + size])
            position += size
    except cramjam.DecompressionError as error:
        raise _undecodable(error) from None
    return target


def _xerial_blocks(whole: memoryview, blocks_max: int) -> list[memoryview]:
    blocks: list[memoryview] = []
    position = count = 0
    while position < len(whole):
        count += 1
        check_block_count(count, blocks_max, "snappy blocks")
        # A header may come again: streams are joined by putting one behind the other.
        if whole[position : position + len(_XERIAL_MAGIC)] == _XERIAL_MAGIC:
            position += len(_XERIAL_HEADER)
            continue
        start = position + _XERIAL_BLOCK_LENGTH.size
        if start > len(whole):
            raise InvalidRecord("a snappy block's length is cut short")
        (length,) = _XERIAL_BLOCK_LENGTH.unpack_from(whole, position)
        position = start + length
        if length < 0 or position > len(whole):
            raise InvalidRecord(f"a snappy block of {length} bytes ends outside the batch")
        blocks.append(whole[start:position])
    return blocks


def _too_large(bytes_max: int) -> DecompressionLimit:
    return DecompressionLimit(f"the records take more than {bytes_max} bytes uncompressed")


def _undecodable(error: Exception) -> InvalidRecord:
    return InvalidRecord(f"the records do not decompress: {error}")
