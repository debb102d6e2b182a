"""Records of one partition that are sent, acknowledged and sent again as one.

    open        records are added; its bytes are counted uncompressed
    encode      once, before it is first sent: compressed, with the CRC
    stamped     the producer and the first sequence number stand in its header; a batch that was certainly
                not stored may be stamped again, under another epoch

Invariant: a batch that may be stored keeps its stamp, so that the broker recognizes it (KIP-98).
"""

from typing import Final

from odradek.base.errors import ApiError
from odradek.base.ids import ProducerId, TopicPartition
from odradek.base.values import value
from odradek.records.builder import BatchBuilder
from odradek.records.framing import RecordHeaders
from odradek.records.header import HEADER_BYTES, read_header

RECORD_OVERHEAD_BYTES: Final = 36
"""The most that a record takes beside its key, value and headers: six varints and the attributes."""
_HEADER_OVERHEAD_BYTES: Final = 10


@value
class Stamp:
    """Who wrote a batch, and which of the producer's records in the partition is its first."""

    producer_id: ProducerId
    epoch: int
    sequence: int


@value
class Place:
    """Where a record was put: its delivery is known when that of the batch is."""

    batch_id: int
    index: int
    """0 for the first record of the batch."""
    partition: TopicPartition


@value
class Done:
    """What became of a batch: each batch with records has exactly one."""

    batch_id: int
    partition: TopicPartition
    records: int
    base_offset: int = -1
    """The offset of its first record; -1 if it is not known (acks=0, or recognized as a duplicate)."""
    log_append_time_ms: int = -1
    """The timestamp that the broker gave all records; -1 where they keep theirs."""
    error: ApiError | None = None
    """Why it is not acknowledged; it may still be stored if an answer was lost."""
    record_errors: tuple[tuple[int, str], ...] = ()
    """The records that the broker named as the reason, by index."""


def record_bytes_max(key: bytes | None, value: bytes | None, headers: RecordHeaders) -> int:
    """The most bytes that a record takes in a batch, uncompressed."""
    total = RECORD_OVERHEAD_BYTES + len(key or b"") + len(value or b"")
    for name, content in headers:
        total += _HEADER_OVERHEAD_BYTES + len(name) + len(content or b"")
    return total


class Batch:
    """See the module."""

    __slots__ = (
        "_builder",
        "_data",
        "attempts",
        "deadline_ms",
        "id",
        "is_done",
        "is_full",
        "last_error",
        "not_before_ms",
        "opened_ms",
        "partition",
        "record_count",
        "reserved_bytes",
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
        is_transactional: bool = False,
    ) -> None:
        self.id: Final = batch_id
        self.partition: Final = partition
        self.opened_ms: Final = now_ms
        self.deadline_ms: Final = deadline_ms
        """When it fails if it is not acknowledged: `delivery.timeout.ms` after its first record."""
        self._builder: BatchBuilder | None = BatchBuilder(codec=codec, is_transactional=is_transactional)
        # Its bytes; None until `encode`.
        self._data: bytearray | None = None
        self.reserved_bytes = HEADER_BYTES
        """What it takes of `buffer.memory`, until it is acknowledged and no request holds it."""
        self.is_full = False
        """Whether it gets no more records: it reached `batch.size`, or it was encoded."""
        self.is_done = False
        """Whether its `Done` was handed out; a request may still hold it."""
        self.attempts = 0
        """How often it was sent."""
        self.not_before_ms = 0
        """When it may be sent again."""
        self.last_error: ApiError | None = None
        """Why the last attempt failed."""
        self.stamp: Stamp | None = None
        """None for a batch that has no sequence number yet."""
        self.record_count = 0
        """How many records it has."""

    @property
    def size_bytes(self) -> int:
        """Its size: exact once it is encoded, uncompressed before."""
        if self._data is not None:
            return len(self._data)
        assert self._builder is not None
        return self._builder.size_bytes

    def append(
        self,
        timestamp_ms: int,
        key: bytes | None,
        value: bytes | None,
        headers: RecordHeaders,
        bytes_max: int,
    ) -> Place:
        """Add a record, which takes at most `bytes_max`."""
        assert self._builder is not None
        assert not self.is_full
        self._builder.append(timestamp_ms, key, value, headers)
        self.reserved_bytes += bytes_max
        self.record_count += 1
        return Place(self.id, self.record_count - 1, self.partition)

    def encode(self) -> None:
        """Compress it, if that has not been done; it gets no more records."""
        if self._data is None:
            assert self._builder is not None
            self._data = self._builder.build()
            self._builder = None
            self.is_full = True

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

    def data(self) -> bytearray:
        """The bytes to send; nobody changes them."""
        self.encode()
        assert self._data is not None
        return self._data
