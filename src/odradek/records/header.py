"""The header of a record batch: 61 bytes with its length, its producer and the offsets that it covers.

This module must not know records, codecs or rules. Layout (big-endian; the CRC is CRC-32C from `attributes`
to the end, so that base offset and leader epoch, which the broker sets, lie outside it):

    at  0  base offset        8        at 23  last offset delta   4
        8  batch length       4            27  base timestamp      8
       12  leader epoch       4            35  max timestamp       8
       16  magic              1            43  producer id         8
       17  CRC                4            51  producer epoch      2
       21  attributes         2            53  base sequence       4
                                           57  record count        4
                                           61  the records, compressed as one block

`batch length` counts from byte 12. Of the attributes, bits 0-2 are the codec, bit 3 says LogAppendTime, bit 4
transactional, bit 5 control, and bit 6 that `base timestamp` holds a delete horizon (KIP-534).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from struct import Struct

from odradek.base.buffers import Buffer
from odradek.base.errors import CorruptRecord, InvalidRecord
from odradek.base.ids import NO_EPOCH, NO_PRODUCER_ID, LeaderEpoch, Offset, ProducerId
from odradek.records.crc import crc32c

HEADER_BYTES = 61
# What stands before the bytes that `batch_length` counts.
OVERHEAD_BYTES = 12
CURRENT_MAGIC = 2

# The byte of a header that holds all bits below.
ATTRIBUTES_LOW_AT = 22
CODEC_MASK = 0x07
LOG_APPEND_TIME_BIT = 0x08
TRANSACTIONAL_BIT = 0x10
CONTROL_BIT = 0x20
DELETE_HORIZON_BIT = 0x40

NO_SEQUENCE = -1
NO_TIMESTAMP = -1

_HEADER = Struct(">qiibIhiqqqhii")
_MAGIC_AT = 16
_CRC_AT = 17
_CRC = Struct(">I")
# The CRC covers everything from here on.
_CHECKED_AT = 21
_SEQUENCE_MASK = 0x7FFFFFFF


@dataclass(slots=True)
class BatchHeader:
    """The fields of one header, as they stand in the bytes."""

    base_offset: Offset
    """Offset that delta 0 stands for; compaction may have removed that record."""
    size_bytes: int
    """The whole batch, header included: the length in the header counts from the leader epoch on."""
    leader_epoch: LeaderEpoch
    """The epoch of the leader that appended the batch; -1 from a producer."""
    magic: int
    """Always 2."""
    crc: int
    """CRC-32C of everything behind it, as stored."""
    attributes: int
    """See the module; unknown bits are kept."""
    last_offset_delta: int
    """Offset of the last record less the base offset; compaction keeps it when it drops that record."""
    base_timestamp: int
    """What the records' timestamp deltas are added to, in ms; the delete horizon when bit 6 is set."""
    max_timestamp: int
    """Largest timestamp of a record, in ms; the append time under LogAppendTime; -1 for none."""
    producer_id: ProducerId
    """-1 for a producer that is not idempotent."""
    producer_epoch: int
    """-1 without a producer id."""
    base_sequence: int
    """Sequence number of the first record; -1 without a producer id, and in control batches."""
    record_count: int
    """Records in the batch; after compaction fewer than offsets."""

    @property
    def batch_length(self) -> int:
        """Bytes from the leader epoch on, as the header says it; at least 49."""
        return self.size_bytes - OVERHEAD_BYTES

    @property
    def last_offset(self) -> Offset:
        """The last offset that the batch covers."""
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> Offset:
        """The first offset behind the batch."""
        return self.base_offset + self.last_offset_delta + 1

    @property
    def codec(self) -> int:
        """The codec's id; 0 for uncompressed, above 4 for none that exists."""
        return self.attributes & CODEC_MASK

    @property
    def is_transactional(self) -> bool:
        """Whether the batch belongs to a transaction."""
        return self.attributes & TRANSACTIONAL_BIT != 0

    @property
    def is_control(self) -> bool:
        """Whether its records are for the log itself (markers), not for applications."""
        return self.attributes & CONTROL_BIT != 0

    @property
    def is_log_append_time(self) -> bool:
        """Whether `max_timestamp` is the timestamp of every record."""
        return self.attributes & LOG_APPEND_TIME_BIT != 0

    @property
    def has_producer_id(self) -> bool:
        """Whether an idempotent or transactional producer wrote the batch."""
        return self.producer_id > NO_PRODUCER_ID

    @property
    def last_sequence(self) -> int:
        """Sequence number of the last record; numbers wrap from 2^31 - 1 to 0."""
        if self.base_sequence == NO_SEQUENCE:
            return NO_SEQUENCE
        return (self.base_sequence + self.last_offset_delta) & _SEQUENCE_MASK

    @property
    def delete_horizon_ms(self) -> int | None:
        """From when compaction may drop the tombstones and markers of the batch; None while it is not set."""
        return self.base_timestamp if self.attributes & DELETE_HORIZON_BIT else None

    def pack_into(self, buffer: bytearray | memoryview, position: int = 0) -> None:
        """Write the 61 bytes as they stand, the CRC included."""
        _HEADER.pack_into(
            buffer,
            position,
            self.base_offset,
            self.size_bytes - OVERHEAD_BYTES,
            self.leader_epoch,
            self.magic,
            self.crc,
            self.attributes,
            self.last_offset_delta,
            self.base_timestamp,
            self.max_timestamp,
            self.producer_id,
            self.producer_epoch,
            self.base_sequence,
            self.record_count,
        )

    def seal_into(self, buffer: bytearray | memoryview, position: int = 0) -> None:
        """Write the header in front of its records, which are in `buffer` already, with the CRC of both."""
        self.pack_into(buffer, position)
        self.crc = computed_crc(buffer, self, position)
        _CRC.pack_into(buffer, position + _CRC_AT, self.crc)


def blank_header() -> BatchHeader:
    """The header of an empty batch of no producer at offset 0."""
    return BatchHeader(
        base_offset=0,
        size_bytes=HEADER_BYTES,
        leader_epoch=NO_EPOCH,
        magic=CURRENT_MAGIC,
        crc=0,
        attributes=0,
        last_offset_delta=-1,
        base_timestamp=NO_TIMESTAMP,
        max_timestamp=NO_TIMESTAMP,
        producer_id=NO_PRODUCER_ID,
        producer_epoch=-1,
        base_sequence=NO_SEQUENCE,
        record_count=0,
    )


def read_header(buffer: Buffer, position: int = 0) -> BatchHeader:
    """The header at `position`; the caller checks that the whole batch is in `buffer`.

    CorruptRecord when fewer than 61 bytes are left, the length is below a header's or the magic is none that
    exists; InvalidRecord for the message formats 0 and 1, which Kafka 4 has given up too (KIP-724).
    """
    if len(buffer) - position < HEADER_BYTES:
        raise _too_short_for_header(buffer, position)
    header = BatchHeader(*_HEADER.unpack_from(buffer, position))
    header.size_bytes += OVERHEAD_BYTES  # only the length stands in the bytes
    if header.magic != CURRENT_MAGIC:
        raise _wrong_magic(header.magic)
    if header.size_bytes < HEADER_BYTES:
        raise CorruptRecord(f"a batch of {header.size_bytes} bytes, less than its header")
    return header


def iter_headers(
    buffer: Buffer, position: int = 0, end: int | None = None
) -> Iterator[tuple[int, BatchHeader]]:
    """Each batch's position and header, up to `end` (the buffer's), stopping before one that is cut short.

    Read from a log or a fetch response the last batch may be cut short; a caller that must not accept that
    compares `end` with where the last batch ends. Raises what `read_header` does.
    """
    if end is None:
        end = len(buffer)
    while end - position >= HEADER_BYTES:
        header = read_header(buffer, position)
        if header.size_bytes > end - position:
            return
        yield position, header
        position += header.size_bytes


def computed_crc(buffer: Buffer, header: BatchHeader, position: int = 0) -> int:
    """The CRC that the bytes of the batch at `position` have, whatever the header says."""
    crc: int = crc32c(memoryview(buffer)[position + _CHECKED_AT : position + header.size_bytes])
    return crc


def check_crc(buffer: Buffer, header: BatchHeader, position: int = 0) -> None:
    """CorruptRecord unless the bytes of the batch at `position` have the CRC that its header states."""
    computed = computed_crc(buffer, header, position)
    if computed != header.crc:
        raise CorruptRecord(
            f"the batch at offset {header.base_offset} has CRC {computed:#010x}, its header says "
            f"{header.crc:#010x}"
        )


def _too_short_for_header(buffer: Buffer, position: int) -> CorruptRecord | InvalidRecord:
    # A small message of format 0 or 1 is shorter than a header of format 2, and has its own answer.
    left = max(0, len(buffer) - position)
    if left > _MAGIC_AT and buffer[position + _MAGIC_AT] in (0, 1):
        return _wrong_magic(buffer[position + _MAGIC_AT])
    return CorruptRecord(f"{left} bytes are too few for the header of a batch")


def _wrong_magic(magic: int) -> CorruptRecord | InvalidRecord:
    if magic in (0, 1):
        return InvalidRecord(f"message format {magic} is no longer supported, only format {CURRENT_MAGIC} is")
    return CorruptRecord(f"no message format has the magic {magic}")
