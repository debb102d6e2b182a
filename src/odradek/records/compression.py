"""The four codecs, in the framings that Kafka's clients read and write. Knows nothing of batches.

What comes out is bounded by the caller, never by what the compressed bytes claim: nothing larger than the
bound is ever allocated. Where the size is not known beforehand, a first guess grows until it fits:

    40 KB of zstd, bound 64 MiB:   160 KB? too small   1.3 MB? too small   10 MB? holds 4 MB

The snappy of Java and librdkafka clients comes in the xerial framing, a header and blocks of their own length
each; others send one plain block, told apart by the header's first bytes. lz4 blocks are written independent
of each other, the only kind that Kafka's Java client reads.
"""

from enum import IntEnum
from struct import Struct
from typing import Protocol

import cramjam

from odradek.base.errors import InvalidRecord, UnsupportedCompression
from odradek.records.header import Buffer


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

_FIRST_GUESS_BYTES_MIN = 16 << 10
_FIRST_GUESS_FACTOR = 4
_GROWTH_FACTOR = 8

# How the library says that the data is fine so far and the target full; all else is broken data.
_TARGET_TOO_SMALL = "failed to write whole buffer"

_XERIAL_MAGIC = b"\x82SNAPPY\x00"
_XERIAL_HEADER = _XERIAL_MAGIC + b"\x00\x00\x00\x01" + b"\x00\x00\x00\x01"
_XERIAL_BLOCK_BYTES = 32 << 10
_XERIAL_BLOCK_LENGTH = Struct(">i")


class _FramedCodec(Protocol):
    """A module of cramjam whose format says itself where it ends."""

    def compress(self, data: Buffer, level: int | None = None, /) -> cramjam.Buffer: ...
    def decompress_into(self, data: Buffer, target: bytearray, /) -> int: ...


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
        compressor = cramjam.lz4.Compressor(level, content_checksum=False, block_linked=False)
        compressor.compress(bytes(data))
        return bytes(compressor.finish())
    return bytes(_FRAMED[codec].compress(data, level))


def decompress(codec: int, data: Buffer, bytes_max: int = DECOMPRESSED_BYTES_MAX) -> Buffer:
    """What was compressed to `data`: one frame, or several behind each other. Uncompressed data is `data`.

    InvalidRecord when the bytes are none of that codec, are cut short, or hold more than `bytes_max`;
    UnsupportedCompression for a codec that does not exist.
    """
    if codec == Codec.NONE:
        return data
    if codec == Codec.SNAPPY:
        return _decompress_snappy(data, bytes_max)
    if codec not in _FRAMED:
        raise UnsupportedCompression(f"no codec has the id {codec}")
    return _decompress_framed(_FRAMED[codec], data, bytes_max)


def _decompress_framed(library: _FramedCodec, data: Buffer, bytes_max: int) -> memoryview:
    capacity = max(_FIRST_GUESS_BYTES_MIN, _FIRST_GUESS_FACTOR * len(data))
    while True:
        capacity = min(capacity, bytes_max)
        target = bytearray(capacity)
        try:
            size = library.decompress_into(data, target)
        except cramjam.DecompressionError as error:
            if capacity == bytes_max or str(error) != _TARGET_TOO_SMALL:
                raise _undecodable(error, bytes_max) from None
            capacity *= _GROWTH_FACTOR
            del target  # before the next one is there, so that both together never exceed the bound
            continue
        return memoryview(target)[:size]


def _compress_xerial(data: Buffer) -> bytes:
    parts: list[bytes] = [_XERIAL_HEADER]
    whole = memoryview(data)
    for start in range(0, len(whole), _XERIAL_BLOCK_BYTES):
        block = bytes(cramjam.snappy.compress_raw(whole[start : start + _XERIAL_BLOCK_BYTES]))
        parts += (_XERIAL_BLOCK_LENGTH.pack(len(block)), block)
    return b"".join(parts)


def _decompress_snappy(data: Buffer, bytes_max: int) -> bytearray:
    whole = memoryview(data)
    if whole[: len(_XERIAL_MAGIC)] == _XERIAL_MAGIC:
        blocks = _xerial_blocks(whole)
    else:
        blocks = [whole]
    try:
        sizes = [cramjam.snappy.decompress_raw_len(block) for block in blocks]
        if sum(sizes) > bytes_max:
            raise InvalidRecord(
                f"the records take {sum(sizes)} bytes uncompressed, at most {bytes_max} may be"
            )
        target = bytearray(sum(sizes))
        position = 0
        for block, size in zip(blocks, sizes, strict=True):
            cramjam.snappy.decompress_raw_into(block, memoryview(target)[position : position + size])
            position += size
    except cramjam.DecompressionError as error:
        raise _undecodable(error, bytes_max) from None
    return target


def _xerial_blocks(whole: memoryview) -> list[memoryview]:
    blocks = []
    position = 0
    while position < len(whole):
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


def _undecodable(error: Exception, bytes_max: int) -> InvalidRecord:
    return InvalidRecord(f"the records do not decompress within {bytes_max} bytes: {error}")
