"""Counts the blocks of lz4 and zstd frames by their headers, so that malicious ones are never decompressed.

A block costs time whatever it holds: tables to build, calls to make. Compressors fill their blocks (64 KB
with lz4, 128 KB with zstd); thousands of tiny ones are made to keep a broker busy.

    a frame   magic number, descriptor │ size, block │ size, block │ end mark

The decompressor reports other faults of a frame; only an unknown magic number is refused here.
"""

from struct import Struct
from typing import Final

from odradek.base.errors import InvalidRecord

# How many blocks a batch may have, however small they are. Above, each needs BLOCK_BYTES_MIN of input.
BLOCKS_MAX: Final = 1024
BLOCK_BYTES_MIN: Final = 1024

_INT32: Final = Struct("<I").unpack_from
_INT24_BYTES: Final = 3
_MAGIC_BYTES: Final = 4
# Skippable frames of either format, which hold no records; the last four bits are free.
_SKIPPABLE: Final = 0x184D2A5
_LZ4: Final = 0x184D2204
_ZSTD: Final = 0xFD2FB528
_ZSTD_RLE: Final = 1


class DecompressionLimit(InvalidRecord):
    """The compressed bytes hold more, or are in more blocks, than the bounds allow."""


def blocks_max(input_bytes: int, blocks_free: int = BLOCKS_MAX) -> int:
    """How many blocks a compressed text of that size may be made of."""
    return blocks_free + input_bytes // BLOCK_BYTES_MIN


def count_lz4_blocks(data: memoryview, limit: int) -> int:
    """How many blocks and frames the lz4 text has; raises DecompressionLimit if more than `limit`."""
    position = count = 0
    end = len(data)
    while position + _MAGIC_BYTES < end:
        (magic,) = _INT32(data, position)
        if magic >> 4 == _SKIPPABLE:
            position = _behind_skippable(data, position)
            count += 1
            check_block_count(count, limit, "lz4 blocks")
            continue
        if magic != _LZ4:
            raise InvalidRecord("the records do not decompress: not a frame of lz4")
        flags = data[position + _MAGIC_BYTES]
        # Flags, size of blocks, checksum; between them perhaps the content's size and a dictionary's id.
        position += _MAGIC_BYTES + 3 + (8 if flags & 0x08 else 0) + (4 if flags & 0x01 else 0)
        checksum_bytes = 4 if flags & 0x10 else 0
        while position + 4 <= end:
            (size,) = _INT32(data, position)
            position += 4
            count += 1
            check_block_count(count, limit, "lz4 blocks")
            if not size:
                break
            position += (size & 0x7FFFFFFF) + checksum_bytes
        position += 4 if flags & 0x04 else 0
    return count


def count_zstd_blocks(data: memoryview, limit: int) -> int:
    """How many blocks and frames the zstd text has; raises DecompressionLimit if more than `limit`."""
    position = count = 0
    end = len(data)
    while position + _MAGIC_BYTES < end:
        (magic,) = _INT32(data, position)
        count += 1
        check_block_count(count, limit, "zstd blocks")
        if magic >> 4 == _SKIPPABLE:
            position = _behind_skippable(data, position)
            continue
        if magic != _ZSTD:
            raise InvalidRecord("the records do not decompress: not a frame of zstd")
        descriptor = data[position + _MAGIC_BYTES]
        position += _MAGIC_BYTES + _zstd_header_bytes(descriptor)
        is_last = False
        while not is_last and position + _INT24_BYTES <= end:
            header = int.from_bytes(data[position : position + _INT24_BYTES], "little")
            is_last = bool(header & 1)
            position += _INT24_BYTES + (1 if header >> 1 & 3 == _ZSTD_RLE else header >> 3)
            count += 1
            check_block_count(count, limit, "zstd blocks")
        position += 4 if descriptor & 0x04 else 0
    return count


def _zstd_header_bytes(descriptor: int) -> int:
    """The descriptor's byte and what it announces: window, dictionary's id, size of the content."""
    is_single_segment = bool(descriptor & 0x20)
    content_size_bytes = (int(is_single_segment), 2, 4, 8)[descriptor >> 6]
    return 1 + (not is_single_segment) + (0, 1, 2, 4)[descriptor & 3] + content_size_bytes


def _behind_skippable(data: memoryview, position: int) -> int:
    if position + 8 > len(data):
        return len(data)
    return position + 8 + int(_INT32(data, position + 4)[0])


def check_block_count(count: int, limit: int, blocks: str) -> None:
    """Raise DecompressionLimit if `count` is above `limit`; `blocks` is what they are called."""
    if count > limit:
        raise DecompressionLimit(f"the records are in more than {limit} {blocks}")
