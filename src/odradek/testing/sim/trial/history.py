"""What the clients of a trial have sent and learned: the checkers compare it with what the brokers hold.

Every record has a number of its own as its value, so it can be found again wherever it went. In compacted
topics the number decides the key, too. What transactional producers did is in `transactions`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from odradek.base.buffers import Buffer
from odradek.base.error_codes import ErrorCode
from odradek.base.ids import BrokerId, Offset, TopicId
from odradek.base.values import value
from odradek.records.framing import iter_records
from odradek.records.header import BatchHeader, check_crc, iter_headers

ACKS_ALL = -1
KEYS = 101
HOT_KEYS = 6
"""Most records of a compacted topic have one of so many keys; the others are written rarely."""


def key_of(number: int) -> bytes:
    """The key of a record of a compacted topic."""
    spread = number * 37 % KEYS
    return b"key-%d" % (spread % HOT_KEYS if spread < KEYS * 2 // 3 else spread)


@dataclass(frozen=True, slots=True)
class Place:
    """A partition of one incarnation of a topic."""

    topic: str = field(compare=False)
    """The name, for people: places are equal by id and number, since answers hold no names."""
    topic_id: TopicId
    partition: int

    def __hash__(self) -> int:
        return hash((self.topic_id.int, self.partition))  # a quarter of the time of the fields' own

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


@dataclass(slots=True)
class SentBatch:
    """A batch that a producer has sent, once or again and again."""

    place: Place
    producer: str
    """The name of its client."""
    first: int
    """The number of its first record; the others follow."""
    count: int
    acks: int
    is_idempotent: bool
    sent_at_ms: int
    acknowledged_at: Offset | None = None
    """The base offset in its acknowledgement; None without one, and -1 where the broker no longer knew it."""
    acknowledged_ms: int | None = None

    @property
    def numbers(self) -> range:
        """The numbers of its records."""
        return range(self.first, self.first + self.count)


@value
class ReadRecord:
    """A record as a consumer has read it."""

    number: int
    leader_epoch: int
    reader: str
    broker_id: BrokerId
    at_ms: int


@dataclass
class History:
    """Grows while the trial runs."""

    batches: list[SentBatch] = field(default_factory=list)
    acknowledged: list[SentBatch] = field(default_factory=list)
    """Those of them that were acknowledged, in that order."""
    read: dict[Place, dict[Offset, ReadRecord]] = field(default_factory=dict)
    """What was read first at each offset."""
    contradictions: list[tuple[Place | None, str]] = field(default_factory=list)
    """Reads that do not agree with earlier ones, and answers that must not be, with their partition."""
    requests: int = 0
    """How many requests clients have sent."""
    group_requests: int = 0
    """How many of them were sent by clients of groups, which keep a pace of their own."""
    answers: int = 0
    """How many of them were answered."""
    waiting: int = 0
    """How many clients still wait for an answer at the end."""
    errors: dict[ErrorCode, int] = field(default_factory=dict)
    """How often each error was an answer's."""
    _numbers: int = 0

    def next_batch(
        self, place: Place, producer: str, count: int, acks: int, now_ms: int, *, is_idempotent: bool
    ) -> SentBatch:
        """Returns a batch of records that nobody has sent before."""
        batch = SentBatch(place, producer, self._numbers, count, acks, is_idempotent, now_ms)
        self._numbers += count
        self.batches.append(batch)
        return batch

    def note_acknowledged(self, batch: SentBatch, base_offset: Offset, now_ms: int) -> None:
        """Called with the acknowledgement of all records of a batch."""
        batch.acknowledged_at, batch.acknowledged_ms = base_offset, now_ms
        self.acknowledged.append(batch)

    def note_error(self, code: ErrorCode) -> None:
        """Called with the error of each answer, NONE included."""
        self.errors[code] = self.errors.get(code, 0) + 1

    def contradict(self, place: Place | None, words: str) -> None:
        """Called when an answer cannot be true; `place` is None if it is about no partition."""
        self.contradictions.append((place, words))

    def note_read(self, place: Place, offset: Offset, record: ReadRecord) -> None:
        """Called with each record that a consumer reads."""
        first = self.read.setdefault(place, {}).setdefault(offset, record)
        if first.number != record.number:
            self.contradict(
                place,
                f"{record.at_ms:,} ms: {record.reader} read record {record.number} at offset {offset} of"
                f" {place} from broker {record.broker_id}; {first.reader} had read record {first.number}"
                f" there from broker {first.broker_id} at {first.at_ms:,} ms",
            )


@value
class ReadBatch:
    """A complete batch of a log or of an answer."""

    header: BatchHeader
    numbers: Sequence[tuple[Offset, int]]
    """Offset and number of each record that is left in it; none of a control batch."""
    data: Buffer
    """Its bytes."""


def batches_in(data: Buffer) -> Iterator[ReadBatch]:
    """The complete batches, in their order. Raises CorruptRecord or InvalidRecord if one is damaged."""
    for position, header in iter_headers(data):
        check_crc(data, header, position)
        numbers = []
        if not header.is_control:
            for record in iter_records(data, header, position):
                assert record.value is not None, "the trial's records have values"
                numbers.append((record.offset, int(record.value)))
        yield ReadBatch(header, numbers, memoryview(data)[position : position + header.size_bytes])
