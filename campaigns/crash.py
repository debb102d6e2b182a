"""`./dev crash`: kill -9 under load, again and again, and look whether anything acknowledged is gone.

Idempotent producers (unmodified librdkafka) write numbered records with acks=all to several partitions while
the broker is killed at a random moment, now and then a second time while it starts or recovers, and started
again on the same directory. After each round the whole log is read back and held against what was promised:

- every acknowledged record is at the offset that its acknowledgement named, with its content;
- offsets are dense from 0, so no torn batch is served and nothing is skipped;
- no record is there twice;
- the start after a kill said that the logs were verified.
"""

import argparse
import json
import random
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition

from odradek.base.errors import OdradekError
from odradek.client.admin import Admin
from odradek.testing.broker_process import BrokerProcess

TOPIC = "crash"
PARTITIONS = 3
PRODUCERS = 2
# Of one producer: mostly little, so that reading everything back stays short; now and then enough for kills
# to meet large batches half written.
BYTES_PER_S = (2_000_000, 2_000_000, 2_000_000, 40_000_000)
READ_TIMEOUT_S = 60.0
SECOND_KILL_PROBABILITY = 0.3
# Small segments, so that kills meet rolls and recovery meets more than one segment.
BROKER_SETTINGS = {"log.segment.bytes": str(2 << 20)}
QUIET = {"log_level": 0}

Place = tuple[int, int]
"""Partition and offset."""


@dataclass
class Acknowledged:
    """What producers were promised; written by their delivery callbacks, read between rounds."""

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


class Load(threading.Thread):
    """One producer that writes every `PRODUCERS`th number until it is told to stop."""

    def __init__(self, bootstrap: str, first: int, acknowledged: Acknowledged, chance: random.Random) -> None:
        super().__init__(daemon=True)
        self.number = first
        self._acknowledged = acknowledged
        self._sizes = chance.choices((20, 200, 2_000, 20_000), (40, 40, 15, 5), k=997)
        self._bytes_per_s = chance.choice(BYTES_PER_S)
        self._ending = threading.Event()
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "acks": "all",
                "linger.ms": chance.choice((0, 1, 5, 50)),
                "compression.type": chance.choice(("none", "lz4", "zstd")),
                "reconnect.backoff.ms": 20,
                "reconnect.backoff.max.ms": 100,
                "retry.backoff.ms": 20,
                "message.timeout.ms": 120_000,
                "queue.buffering.max.messages": 20_000,
                **QUIET,
            }
        )

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
                    TOPIC, value, partition=self.number % PARTITIONS, on_delivery=self._acknowledged.delivered
                )
            except BufferError:
                self._producer.poll(0.05)
                continue
            self.number += PRODUCERS
            sent_bytes += len(value)
            self._producer.poll(0)

    def finish(self) -> None:
        """Stop writing and wait for what is under way."""
        self._ending.set()
        self.join()
        left = self._producer.flush(READ_TIMEOUT_S)
        if left:
            raise SystemExit(f"{left} records were neither acknowledged nor refused")


def read_back(bootstrap: str) -> dict[Place, int]:
    """The number at each place of the whole topic; raises SystemExit when offsets are not dense."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "unused",
            # There is nothing to commit, and closing would wait for whoever takes commits.
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "check.crcs": True,
            **QUIET,
        }
    )
    found: dict[Place, int] = {}
    try:
        consumer.assign([TopicPartition(TOPIC, number, 0) for number in range(PARTITIONS)])
        following = [0] * PARTITIONS
        ended: set[int] = set()
        deadline = time.monotonic() + READ_TIMEOUT_S
        while len(ended) < PARTITIONS:
            if time.monotonic() > deadline:
                raise SystemExit(f"reading back did not end; at {following}, ended {sorted(ended)}")
            for message in consumer.consume(1_000, 0.05):
                error = message.error()
                if error is None:
                    (partition, offset), number = read(message)
                    if offset != following[partition]:
                        raise SystemExit(
                            f"partition {partition} skips from {following[partition]} to {offset}"
                        )
                    following[partition] += 1
                    found[(partition, offset)] = number
                elif error.code() == KafkaError._PARTITION_EOF:
                    ended.add(message.partition() or 0)
                else:
                    raise SystemExit(f"reading back failed: {error}")
    finally:
        consumer.close()
    return found


def check(acknowledged: Acknowledged, found: dict[Place, int]) -> None:
    """Raise SystemExit with the first few of whatever does not hold."""
    with acknowledged.lock:
        promised = dict(acknowledged.numbers)
    lost = [(place, number) for place, number in promised.items() if found.get(place) != number]
    if lost:
        raise SystemExit(f"{len(lost)} acknowledged records are not where they were promised: {lost[:5]}")
    places: dict[int, Place] = {}
    for place, number in found.items():
        if number in places:
            raise SystemExit(f"record {number} is there twice: at {places[number]} and {place}")
        places[number] = place


class Campaign:
    """A broker that is killed and started, and what was counted meanwhile."""

    def __init__(self, broker: BrokerProcess, chance: random.Random) -> None:
        self._broker = broker
        self._chance = chance
        self._acknowledged = Acknowledged()
        self._following = 0  # the first number that no producer has used
        self._report_read = 0  # how much of the broker's stderr has been looked at
        self.kills = 0
        self.cuts = 0

    def run(self, kills: int) -> None:
        """Kill and restart the broker `kills` times. Raises SystemExit at the first thing amiss."""
        self._broker.start()
        with Admin(self._broker.bootstrap_servers) as admin:
            admin.create_topic(TOPIC, partitions=PARTITIONS)
        while self.kills < kills:
            self._round()
            found = read_back(self._broker.bootstrap_servers)
            check(self._acknowledged, found)
            print(
                f"kill {self.kills:3}: {len(self._acknowledged.numbers):>9,} acknowledged,"
                f" {len(found):>9,} in the log",
                flush=True,
            )

    def counted(self) -> dict[str, int]:
        """What happened, in numbers."""
        return {
            "kills": self.kills,
            "acknowledged": len(self._acknowledged.numbers),
            "refused": self._acknowledged.refused,
            "torn_ends_cut": self.cuts,
        }

    def _round(self) -> None:
        loads = [
            Load(self._broker.bootstrap_servers, self._following + number, self._acknowledged, self._chance)
            for number in range(PRODUCERS)
        ]
        for load in loads:
            load.start()
        time.sleep(self._chance.uniform(0.2, 1.5))
        self._broker.kill()
        self.kills += 1
        if self._chance.random() < SECOND_KILL_PROBABILITY:
            self._kill_while_starting()
        self._broker.start()
        self._read_report()
        time.sleep(self._chance.uniform(0.0, 0.5))
        for load in loads:
            load.finish()
        self._following = max(load.number for load in loads)

    def _kill_while_starting(self) -> None:
        """Recovery itself is interrupted, or the first requests after it."""
        starting = threading.Thread(target=self._start_in_vain)
        starting.start()
        time.sleep(self._chance.uniform(0.1, 0.6))
        self._broker.kill()
        starting.join()
        self.kills += 1

    def _start_in_vain(self) -> None:
        try:
            self._broker.start()
        except (OdradekError, ValueError):
            pass  # It was killed before it listened: that was the intention.

    def _read_report(self) -> None:
        """Every start after a kill must say so; count the torn ends that it named."""
        text = self._broker.log_path.read_text()
        report, self._report_read = text[self._report_read :], len(text)
        if "was not stopped cleanly" not in report:
            raise SystemExit(f"the broker did not report its recovery: {report[-2000:]}")
        self.cuts += report.count("was cut at byte")


def main() -> int:
    """Exits with 1 when anything acknowledged was lost, doubled or out of place."""
    parser = argparse.ArgumentParser(prog="./dev crash", description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="a setting of the broker"
    )
    options = parser.parse_args()
    settings = dict(assignment.split("=", 1) for assignment in options.set)
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="odradek-crash-") as scratch:
        broker = BrokerProcess(
            Path(scratch) / "data", settings={**BROKER_SETTINGS, **settings}, log_path=Path(scratch) / "log"
        )
        campaign = Campaign(broker, random.Random(options.seed))
        try:
            campaign.run(options.kills)
        finally:
            if broker.is_running:
                broker.stop()
    seconds = round(time.monotonic() - started)
    print(json.dumps({"seed": options.seed, "settings": settings, "seconds": seconds, **campaign.counted()}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
