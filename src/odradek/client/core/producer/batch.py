"""Records of one partition that are sent, acknowledged and sent again as one.

    open        records are added; its bytes are counted uncompressed
    encode      once, before it is first sent: compressed, with the CRC; a large one on another thread
    stamped     the producer and the first sequence number stand in its header; a batch that was certainly
                not stored may be stamped again, under another epoch
    split       by a broker that finds it too large: into two parts, which are batches with its id, each with
                the sequence numbers that its records had

    batch 7 of 5 records, sequence 20    parts: records 0-1, sequence 20; records 2-4, sequence 22

Invariants: a batch that may be stored keeps its stamp, so that the broker recognizes it (KIP-98). The parts
of a batch have its records once, in order, its memory, its deadline and its attempts.
"""

from collections.abc import Callable
from typing import Final

from odradek.base.buffers import Buffer
from odradek.base.errors import ApiError
from odradek.base.ids import ProducerId, TopicPartition
from odradek.base.values import value
from odradek.records.builder import batch_of
from odradek.records.compression import Codec
from odradek.records.framing import Record, RecordHeaders, append_record, body_view, iter_body
from odradek.records.header import HEADER_BYTES, NO_TIMESTAMP, BatchHeader, read_header

RECORD_OVERHEAD_BYTES: Final = 36
"""The most that a record takes beside its key, value and headers: six varints and the attributes."""
HEADER_OVERHEAD_BYTES: Final = 10
"""The most that a header takes beside its name and content."""
LARGE_BYTES: Final = 32 << 10
"""From this size on, uncompressed, a batch is compressed on another thread."""
SEQUENCE_MASK: Final = (1 << 31) - 1
"""Sequence numbers wrap from here to 0."""


@value
class Stamp:
    """Who wrote a batch, and which of the producer's records in the partition is its first."""

    producer_id: ProducerId
    epoch: int
    sequence: int


@value
class EncodedRecords:
    """Records that were encoded elsewhere, for a batch of their own."""

    body: Buffer
    """Their bytes, uncompressed, with deltas to the first of them."""
    count: int
    base_timestamp_ms: int
    """The timestamp of the first."""
    max_timestamp_ms: int
    bytes_max: int
    """The sum of their `record_bytes_max`."""


@value
class Done:
    """What became of a batch, or of a part of it: each record is in exactly one."""

    batch_id: int
    partition: TopicPartition
    first: int
    """The index in the batch of the first record that this is about."""
    records: int
    """How many records it is about."""
    base_offset: int = -1
    """The offset of the first of them; -1 if it is not known (acks=0, or recognized as a duplicate)."""
    log_append_time_ms: int = -1
    """The timestamp that the broker gave all records; -1 where they keep theirs."""
    error: ApiError | None = None
    """Why it is not acknowledged; it may still be stored if an answer was lost."""
    record_errors: tuple[tuple[int, str], ...] = ()
    """The records that the broker named as the reason, by index in the batch."""


def record_bytes_max(key: bytes | None, value: bytes | None, headers: RecordHeaders) -> int:
    """The most bytes that a record takes in a batch, uncompressed."""
    total = RECORD_OVERHEAD_BYTES
    if key is not None:
        total += len(key)
    if value is not None:
        total += len(value)
    for name, content in headers:
        total += HEADER_OVERHEAD_BYTES + len(name) + len(content or b"")
    return total


class Batch:
    """See the module."""

    __slots__ = (
        "_base_timestamp_ms",
        "_body",
        "_body_bytes",
        "_codec",
        "_data",
        "_is_transactional",
        "_level",
        "_max_timestamp_ms",
        "attempts",
        "deadline_ms",
        "failures",
        "first",
        "id",
        "is_done",
        "is_doubtful",
        "is_encoding",
        "is_full",
        "last_error",
        "may_be_stored",
        "not_before_ms",
        "opened_ms",
        "partition",
        "record_count",
        "reserved_bytes",
        "size_bytes",
        "stamp",
    )

    def __init__(
        self,
        batch_id: int,
        partition: TopicPartition,
        *,
        codec: int,
        now_ms: int,
        deadline_ms: int,
        level: int | None = None,
        is_transactional: bool = False,
    ) -> None:
        """`level` is the codec's own; None: its default."""
        self.id: Final = batch_id
        self.first = 0
        """The index of its first record in the batch that it is a part of; 0 if it was not split."""
        self.partition: Final = partition
        self.opened_ms: Final = now_ms
        self.deadline_ms: Final = deadline_ms
        """When it fails if it is not acknowledged: `delivery.timeout.ms` after its first record."""
        self._codec = codec
        self._level = level
        self._is_transactional = is_transactional
        # The records so far, uncompressed, and the first and the largest of their timestamps.
        self._body = bytearray()
        self._base_timestamp_ms = self._max_timestamp_ms = NO_TIMESTAMP
        # Its bytes; None until `encode`, and then nothing is in `_body` any more.
        self._data: bytearray | None = None
        # The bytes of its records, uncompressed; meaningless until `encode`.
        self._body_bytes = 0
        self.reserved_bytes = HEADER_BYTES
        """What it takes of `buffer.memory`, until it is acknowledged and no request holds it."""
        self.is_full = False
        """Whether it gets no more records: it reached `batch.size`, or it was encoded."""
        self.is_encoding = False
        """Whether another thread encodes it; it is not sent before."""
        self.is_done = False
        """Whether its `Done` was handed out; a request may still hold it."""
        self.attempts = 0
        """How often it was sent."""
        self.failures = 0
        """How often it was sent in vain, so that a retry was used up; a split uses up none."""
        self.not_before_ms = 0
        """When it may be sent again."""
        self.last_error: ApiError | None = None
        """Why the last attempt failed."""
        self.may_be_stored = False
        """Whether it may be stored under its stamp: an answer was lost, or does not exclude it."""
        self.is_doubtful = False
        """Whether the batch that it is a part of may be stored, so that the broker would not recognize it."""
        self.stamp: Stamp | None = None
        """None for a batch that has no sequence number yet."""
        self.record_count = 0
        """How many records it has."""
        self.size_bytes = HEADER_BYTES
        """Its size: exact once it is encoded, uncompressed before."""

    @property
    def order(self) -> tuple[int, int]:
        """Its place among the batches of its partition: that of its first record."""
        return self.id, self.first

    def append(
        self,
        timestamp_ms: int,
        key: bytes | None,
        value: bytes | None,
        headers: RecordHeaders,
        bytes_max: int,
    ) -> None:
        """Add a record, which takes at most `bytes_max`."""
        assert not self.is_full
        index, body = self.record_count, self._body
        if not index:
            self._base_timestamp_ms = self._max_timestamp_ms = timestamp_ms
        elif timestamp_ms > self._max_timestamp_ms:
            self._max_timestamp_ms = timestamp_ms
        append_record(body, timestamp_ms - self._base_timestamp_ms, index, key, value, headers)
        self.record_count = index + 1
        self.size_bytes = HEADER_BYTES + len(body)
        self.reserved_bytes += bytes_max

    def fill(self, records: EncodedRecords) -> None:
        """Make it, still empty, the batch of these records; it gets no others."""
        assert not self.record_count
        self._body += records.body
        self._base_timestamp_ms = records.base_timestamp_ms
        self._max_timestamp_ms = records.max_timestamp_ms
        self.record_count, self.is_full = records.count, True
        self.size_bytes = HEADER_BYTES + len(self._body)
        self.reserved_bytes += records.bytes_max

    def encode(self) -> None:
        """Compress it, if that has not been done; it gets no more records."""
        if self._data is None:
            self.is_full = True
            self._has_data(self._assembled())

    @property
    def is_slow_to_encode(self) -> bool:
        """Whether `encode` would take a while: it is large, and not compressed yet."""
        is_to_compress = self._data is None and self._codec != Codec.NONE
        return is_to_compress and self.size_bytes >= LARGE_BYTES and not self.is_encoding

    def begin_encoding(self) -> "Encoding":
        """Have it encoded elsewhere; it gets no more records."""
        assert self._data is None
        self.is_full = self.is_encoding = True
        return Encoding(self, self._assembled)

    def end_encoding(self, data: bytearray) -> None:
        """It was encoded as `data`."""
        assert self._data is None
        self.is_encoding = False
        self._has_data(data)

    def _assembled(self) -> bytearray:
        """Its bytes; changes nothing, since another thread may be at work here."""
        return batch_of(
            self._body,
            self.record_count,
            self._base_timestamp_ms,
            self._max_timestamp_ms,
            codec=self._codec,
            level=self._level,
            is_transactional=self._is_transactional,
        )

    def _has_data(self, data: bytearray) -> None:
        self._data, self.size_bytes = data, len(data)
        self._body, self._body_bytes = bytearray(), len(self._body)

    def put_stamp(self, stamp: Stamp) -> None:
        """Write who sends it into its header; the bytes that were handed out before do not change."""
        self.encode()
        assert self._data is not None
        data = bytearray(self._data)
        header = read_header(data)
        header.producer_id, header.producer_epoch = stamp.producer_id, stamp.epoch
        header.base_sequence = stamp.sequence
        header.seal_into(data)
        self._data, self.stamp = data, stamp

    def take_off_stamp(self) -> None:
        """It was certainly not stored: it gets another stamp when it is sent again."""
        self.stamp = None
        self.may_be_stored = self.is_doubtful = False

    def data(self) -> bytearray:
        """The bytes to send; nobody changes them."""
        self.encode()
        assert self._data is not None
        return self._data

    def split(self) -> "tuple[Batch, Batch]":
        """Its two halves, by bytes, for a broker that finds the whole too large; it is not used any more."""
        data = self.data()
        header = read_header(data)
        body = body_view(data, header, bytes_max=self._body_bytes, blocks_free=self._body_bytes)
        records = list(iter_body(bytes(body), header))
        sizes = [record_bytes_max(record.key, record.value, record.headers) for record in records]
        cut = _middle(sizes)
        one = self._part(header, records[:cut], 0, sum(sizes[:cut]))
        # The memory is divided: what the halves reserve is what the whole had reserved.
        other = self._part(header, records[cut:], cut, self.reserved_bytes - one.reserved_bytes)
        return one, other

    def _part(self, header: BatchHeader, records: list[Record], begin: int, reserved_bytes: int) -> "Batch":
        part = Batch(
            self.id,
            self.partition,
            codec=header.codec,
            level=self._level,
            now_ms=self.opened_ms,
            deadline_ms=self.deadline_ms,
            is_transactional=header.is_transactional,
        )
        for record in records:
            part.append(record.timestamp_ms, record.key, record.value, record.headers, 0)
        part.first, part.reserved_bytes = self.first + begin, reserved_bytes
        part.attempts, part.failures, part.last_error = self.attempts, self.failures, self.last_error
        part.is_doubtful = self.may_be_stored or self.is_doubtful
        part.encode()
        if self.stamp is not None:
            sequence = (self.stamp.sequence + begin) & SEQUENCE_MASK
            part.put_stamp(Stamp(self.stamp.producer_id, self.stamp.epoch, sequence))
        return part


@value
class Encoding:
    """A batch that is to be encoded on another thread."""

    batch: Batch
    work: Callable[[], bytearray]
    """Returns its bytes; touches nothing that the thread of the core changes meanwhile."""


def _middle(sizes: list[int]) -> int:
    """How many of two or more records come into the first half; at least one, and not all."""
    half, so_far = sum(sizes) // 2, 0
    for count, size in enumerate(sizes[:-1]):
        so_far += size
        if so_far > half:
            return max(1, count)
    return len(sizes) - 1
