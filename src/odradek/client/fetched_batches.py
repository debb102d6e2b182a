"""The batches of a Fetch answer."""

from odradek.base.buffers import Buffer
from odradek.records.header import HEADER_BYTES, OVERHEAD_BYTES, BatchHeader, read_header


def whole_batches(records: Buffer) -> list[tuple[int, BatchHeader]]:
    """(position, header) of the batches that are complete; an answer may end within one."""
    found = []
    position, size = 0, len(records)
    while size - position >= HEADER_BYTES:
        header = read_header(records, position)
        if header.batch_length + OVERHEAD_BYTES > size - position:
            break
        found.append((position, header))
        position += header.size_bytes
    return found
