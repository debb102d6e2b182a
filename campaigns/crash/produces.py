"""Acknowledged records under kill -9.

Producers (unmodified librdkafka), two idempotent and one plain, write numbered records with acks=all to
several partitions. After each round the whole log is read back and compared with what was promised:

- every acknowledged record is at the offset that its acknowledgement named, with its content;
- offsets are dense from 0, so no torn batch is served and nothing is skipped;
- no record of an idempotent producer is there twice. What librdkafka itself sends again in a new epoch is
  counted: while a leader moves it takes a batch for lost of which it has had no answer (its issue 4953).

On a cluster another plain producer writes to a topic of its own with acks=1. What it loses when a leader
ends is counted, because that is what acks=1 allows; what is there was sent, at dense offsets.
"""

import logging
import random
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition

from campaigns.crash.campaign import CLIENTS_LOG, QUICK_RECONNECTS, QUIET, Broken, Load
from odradek import Admin

TOPIC = "crash"
LOSSY_TOPIC = "crash-acks-1"
PARTITIONS = 3
PRODUCERS = 3
# The remainder of its numbers, modulo PRODUCERS: what it sends again may be there twice.
PLAIN = 2
# Of one producer: mostly little, so that reading everything back stays short; sometimes enough for kills
# to meet large batches half written.
BYTES_PER_S = (2_000_000, 2_000_000, 2_000_000, 40_000_000)
READ_TIMEOUT_S = 60.0

Place = tuple[int, int]
"""Partition and offset."""


@dataclass
class Acknowledged:
    """The broker's promises to producers; written by their delivery callbacks, read between rounds."""

    numbers: dict[Place, int] = field(default_factory=dict)
    refused: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def delivered(self, error: KafkaError | None, message: Message) -> None:
        with self.lock:
            if error is not None:
                self.refused += 1
                return
            place, number = read(message)
            self.numbers[place] = number


def read(message: Message) -> tuple[Place, int]:
    """Where a record is, and the number that its value begins with."""
    partition, offset, value = message.partition(), message.offset(), message.value()
    assert partition is not None, "a record without a partition"
    assert offset is not None, "a record without an offset"
    assert value is not None, "a record without a value"
    return (partition, offset), int(value[:12])


class NewEpochs(logging.Handler):
    """Hears from librdkafka that a producer has begun a new epoch by itself, with batches unanswered."""

    WORDS: ClassVar[str] = "failed due to skipped sequence numbers"

    def __init__(self) -> None:
        super().__init__()
        self.has_begun = False

    def emit(self, record: logging.LogRecord) -> None:
        self.has_begun |= self.WORDS in record.getMessage()


class Writer(threading.Thread):
    """One producer that writes every `PRODUCERS`th number until it is told to stop."""

    def __init__(
        self,
        bootstrap: str,
        first: int,
        acknowledged: Acknowledged,
        chance: random.Random,
        bytes_per_s: int,
        *,
        topic: str = TOPIC,
    ) -> None:
        """Of the topic TOPIC a writer waits for all replicas in sync, of LOSSY_TOPIC for the leader alone."""
        super().__init__(daemon=True)
        self.first = self.number = first
        self._epochs = NewEpochs()
        log = CLIENTS_LOG.getChild(f"{topic}.{first}")
        log.addHandler(self._epochs)
        self._topic = topic
        self._acknowledged = acknowledged
        self._sizes = chance.choices((20, 200, 2_000, 20_000), (40, 40, 15, 5), k=997)
        self._bytes_per_s = bytes_per_s
        self._ending = threading.Event()
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": topic == TOPIC and first % PRODUCERS != PLAIN,
                "acks": "all" if topic == TOPIC else "1",
                "linger.ms": chance.choice((0, 1, 5, 50)),
                "compression.type": chance.choice(("none", "lz4", "zstd")),
                **QUICK_RECONNECTS,
                "message.timeout.ms": 120_000,
                "queue.buffering.max.messages": 20_000,
                # Why a producer begins a new epoch, and what it then sends again.
                "debug": "eos",
            },
            logger=log,
        )

    @property
    def may_repeat(self) -> range:
        """The numbers that may be there twice by librdkafka's own doing; none as a rule."""
        return range(self.first, self.number if self._epochs.has_begun else self.first, PRODUCERS)

    def run(self) -> None:
        started = time.monotonic()
        sent_bytes = 0
        while not self._ending.is_set():
            if sent_bytes > (time.monotonic() - started) * self._bytes_per_s:
                self._producer.poll(0.001)
                continue
            value = b"%012d" % self.number + b"x" * self._sizes[self.number % len(self._sizes)]
            try:
                self._producer.produce(
                    self._topic,
                    value,
                    partition=self.number % PARTITIONS,
                    on_delivery=self._acknowledged.delivered,
                )
            except BufferError:
                self._producer.poll(0.05)
                continue
            self.number += PRODUCERS
            sent_bytes += len(value)
            self._producer.poll(0)

    def finish(self) -> None:
        """Stop writing and wait for the records in flight."""
        self._ending.set()
        self.join()
        left = self._producer.flush(READ_TIMEOUT_S)
        if left:
            raise Broken(f"{left} records were neither acknowledged nor refused")


def read_back(bootstrap: str, topic: str = TOPIC) -> dict[Place, int]:
    """The number at each place of a whole topic; raises Broken when offsets are not dense."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "unused",
            # There is nothing to commit, and closing would wait for the group's coordinator.
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "check.crcs": True,
            **QUIET,
        }
    )
    found: dict[Place, int] = {}
    try:
        consumer.assign([TopicPartition(topic, number, 0) for number in range(PARTITIONS)])
        following = [0] * PARTITIONS
        ended: set[int] = set()
        deadline = time.monotonic() + READ_TIMEOUT_S
        while len(ended) < PARTITIONS:
            if time.monotonic() > deadline:
                raise Broken(f"reading back did not end; at {following}, ended {sorted(ended)}")
            for message in consumer.consume(1_000, 0.05):
                error = message.error()
                if error is None:
                    (partition, offset), number = read(message)
                    if offset != following[partition]:
                        raise Broken(f"partition {partition} skips from {following[partition]} to {offset}")
                    following[partition] += 1
                    found[(partition, offset)] = number
                elif error.code() == KafkaError._PARTITION_EOF:
                    ended.add(message.partition() or 0)
                else:
                    raise Broken(f"reading back failed: {error}")
    finally:
        consumer.close()
    return found


def check(acknowledged: Acknowledged, found: dict[Place, int], may_repeat: Sequence[range] = ()) -> int:
    """Raise Broken with the first few violations; returns how many records `may_repeat` excuses."""
    with acknowledged.lock:
        promised = dict(acknowledged.numbers)
    lost = [(place, number) for place, number in promised.items() if found.get(place) != number]
    if lost:
        raise Broken(f"{len(lost)} acknowledged records are not where they were promised: {lost[:5]}")
    places: dict[int, Place] = {}
    excused = 0
    for place, number in found.items():
        if number in places and number % PRODUCERS != PLAIN:
            if not any(number in repeated for repeated in may_repeat):
                raise Broken(f"record {number} is there twice: at {places[number]} and {place}")
            excused += 1
        places[number] = place
    return excused


class Produces(Load):
    """Producers that write as fast as they may, and everything read back after each kill."""

    # Small segments, so that kills meet rolls and recovery meets more than one segment.
    broker_settings: ClassVar[dict[str, str]] = {"log.segment.bytes": str(2 << 20)}

    # Of one producer, as likely as each other.
    bytes_per_s: ClassVar[tuple[int, ...]] = BYTES_PER_S

    def __init__(self, bootstrap: str, chance: random.Random) -> None:
        super().__init__(bootstrap, chance)
        self._acknowledged = Acknowledged()
        self._writers: list[Writer] = []
        self._following = 0  # the first number that no producer has used
        self._found = 0
        self._may_repeat: list[range] = []
        self._repeated = 0
        with Admin(bootstrap) as admin:
            admin.create_topic(TOPIC, partitions=PARTITIONS)

    def begin(self) -> None:
        self._writers = [
            Writer(
                self._bootstrap,
                self._following + number,
                self._acknowledged,
                self._chance,
                self._chance.choice(self.bytes_per_s),
            )
            for number in range(PRODUCERS)
        ]
        for writer in self._writers:
            writer.start()

    def settle(self) -> None:
        for writer in self._writers:
            writer.finish()
            self._may_repeat.append(writer.may_repeat)
        # A multiple of PRODUCERS, so that each kind keeps its numbers.
        self._following = -(-max(writer.number for writer in self._writers) // PRODUCERS) * PRODUCERS

    def check(self) -> None:
        found = read_back(self._bootstrap)
        self._found = len(found)
        self._repeated = check(self._acknowledged, found, self._may_repeat)

    def acknowledged(self) -> int:
        return len(self._acknowledged.numbers)

    def errors(self) -> int:
        return self._acknowledged.refused

    def counted(self) -> dict[str, int]:
        return {
            "acknowledged": len(self._acknowledged.numbers),
            "refused": self._acknowledged.refused,
            "in_the_log": self._found,
            "repeated_by_librdkafka": self._repeated,
        }


def count_lost(acknowledged: Acknowledged, found: dict[Place, int], following: int) -> int:
    """How many records that only a leader had promised are gone. Raises Broken when one was never sent."""
    with acknowledged.lock:
        promised = dict(acknowledged.numbers)
    unsent = [(place, number) for place, number in found.items() if number >= following]
    if unsent:
        raise Broken(f"{len(unsent)} records were never sent: {unsent[:5]}")
    return len(set(promised.values()) - set(found.values()))


class ReplicatedProduces(Produces):
    """The same with less data, for as long as a cluster takes to get whole, and a producer with acks=1."""

    bytes_per_s: ClassVar[tuple[int, ...]] = (100_000, 300_000, 300_000, 2_000_000)

    def __init__(self, bootstrap: str, chance: random.Random) -> None:
        super().__init__(bootstrap, chance)
        self._told_by_leaders = Acknowledged()
        self._lossy: Writer | None = None
        self._following_lossy = 0  # the first number that the producer with acks=1 has not used
        self._lost = 0
        with Admin(bootstrap) as admin:
            admin.create_topic(LOSSY_TOPIC, partitions=PARTITIONS)

    def begin(self) -> None:
        super().begin()
        self._lossy = Writer(
            self._bootstrap,
            self._following_lossy,
            self._told_by_leaders,
            self._chance,
            self.bytes_per_s[0],
            topic=LOSSY_TOPIC,
        )
        self._lossy.start()

    def settle(self) -> None:
        super().settle()
        assert self._lossy is not None, "begin comes before"
        self._lossy.finish()
        self._following_lossy = self._lossy.number

    def check(self) -> None:
        super().check()
        found = read_back(self._bootstrap, LOSSY_TOPIC)
        self._lost = count_lost(self._told_by_leaders, found, self._following_lossy)

    def errors(self) -> int:
        return super().errors() + self._told_by_leaders.refused

    def counted(self) -> dict[str, int]:
        return {
            **super().counted(),
            "acknowledged_by_acks_1": len(self._told_by_leaders.numbers),
            "lost_of_acks_1": self._lost,
        }
