"""Iterates over the batches of a segment's file, a chunk at a time, reading no more than is needed.

File content is not trusted: an invalid header raises CorruptRecord, which names the byte.

    for position, header in walk_headers(file, 0, size): ...            61 bytes of each batch
    for position, header, batch in walk_batches(file, 0, size): ...     all of it, for CRCs and markers
"""

from collections.abc import Iterator

from odradek.base.errors import CorruptRecord
from odradek.records.header import CURRENT_MAGIC, HEADER_BYTES, BatchHeader, read_header
from odradek.storage.files import File

_MAGIC_AT = 16
_HEADER_CHUNK_BYTES = 64 * 1024
_BATCH_CHUNK_BYTES = 1024 * 1024


def checked_header(data: bytes | memoryview, index: int, file: File, position: int, end: int) -> BatchHeader:
    """The header at `data[index]`, which is byte `position` of the file; it must end at `end` or before."""
    if len(data) - index < HEADER_BYTES:
        raise CorruptRecord(f"{file.path}: only {len(data) - index} bytes of a header at byte {position}")
    if data[index + _MAGIC_AT] != CURRENT_MAGIC:
        raise CorruptRecord(f"{file.path}: no batch of format v2 at byte {position}")
    header = read_header(data, index)
    if position + header.size_bytes > end:
        missing_bytes = position + header.size_bytes - end
        raise CorruptRecord(f"{file.path}: {missing_bytes} bytes of the batch at byte {position} are missing")
    return header


def walk_headers(file: File, position: int, end: int) -> Iterator[tuple[int, BatchHeader]]:
    """Byte position and header of each batch in [position, end)."""
    chunk, chunk_start = b"", position
    while position < end:
        index = position - chunk_start
        if index + HEADER_BYTES > len(chunk):
            chunk = file.read_at(min(_HEADER_CHUNK_BYTES, end - position), position)
            chunk_start, index = position, 0
        header = checked_header(chunk, index, file, position, end)
        yield position, header
        position += header.size_bytes


def walk_batches(file: File, position: int, end: int) -> Iterator[tuple[int, BatchHeader, memoryview]]:
    """Byte position, header and all bytes of each batch in [position, end)."""
    chunk, chunk_start = memoryview(b""), position
    while position < end:
        index = position - chunk_start
        if index + HEADER_BYTES > len(chunk):
            chunk = memoryview(file.read_at(min(_BATCH_CHUNK_BYTES, end - position), position))
            chunk_start, index = position, 0
        header = checked_header(chunk, index, file, position, end)
        size = header.size_bytes
        if index + size > len(chunk):
            chunk = memoryview(file.read_at(min(max(_BATCH_CHUNK_BYTES, size), end - position), position))
            chunk_start, index = position, 0
        yield position, header, chunk[index : index + size]
        position += size
