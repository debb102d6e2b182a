"""Clients that consume, transform and produce in transactions: librdkafka's classic way and Java's (KIP-890).

A transformer does one transaction on demand, and records what it knows of it in the ledger. A broker that
goes away is no error: the transformer asks again until there is an answer. After an error that ends its
producer it makes a new one with the same transactional id, which has the open transaction aborted or ended.
"""

import random
import shutil
import subprocess
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from enum import Enum
from pathlib import Path
from typing import TypeVar

from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition
from peers.jars import JarsMissing, class_path

from campaigns.crash.campaign import QUICK_RECONNECTS, QUIET, Broken
from campaigns.crash.transactions_check import COPIES, Ledger, Outcome, Written

Result = TypeVar("Result")

SOURCE_TOPIC = "source"
TARGET_TOPIC = "target"
TARGET_PARTITIONS = 3
GROUP = "transformers"
# One client asks with this, and asks again until ANSWER_TIMEOUT_S.
CALL_TIMEOUT_S = 10.0
ANSWER_TIMEOUT_S = 60.0
RECORDS_MAX = 40
POLL_S = 0.2
# When its only broker goes away, librdkafka 2.16 forgets it and finds it again. But it keeps the forgotten
# one as the group's coordinator for the offsets of transactions: the call that sends them never returns
# (librdkafka issues 5511 and 5456).
KEEPS_ITS_BROKERS = {"metadata.recovery.strategy": "none"}
# It also forgets one that the others no longer name. Against that helps only another producer, which it gets
# after this time.
HANGING_S = CALL_TIMEOUT_S + 2.0
# librdkafka does not call these retriable; it looks for the coordinator again, and has its user ask again.
PASSING = ("_TIMED_OUT", "_TRANSPORT", "_WAIT_COORD", "NOT_COORDINATOR")
JAVA_PROGRAM = Path(__file__).with_name("TransformLoop.java")


class Hanging(Exception):
    """A call has not returned for longer than it was allowed to take."""


class Manner(Enum):
    """How a transaction is to end."""

    COMMIT = "commit"
    ABORT = "abort"
    ABANDON = "abandon"
    """Its producer is dropped in the middle and another of the same transactional id takes its place."""


class Transformer(ABC):
    """One producer and one member of the group."""

    def __init__(self, transactional_id: str, ledger: Ledger) -> None:
        """It is connected by its first transaction."""
        self._transactional_id = transactional_id
        self._ledger = ledger
        # How many producers were replaced because a call did not return.
        self.hanging = 0

    @abstractmethod
    def transform(self, transaction: str, manner: Manner) -> None:
        """Do one transaction, or none when there is nothing to read. Raises Broken when it is stuck."""

    @abstractmethod
    def close(self) -> None:
        """Close both clients."""


class ConfluentTransformer(Transformer):
    """librdkafka: partitions and offsets are added by requests of their own."""

    def __init__(self, bootstrap: str, transactional_id: str, ledger: Ledger, chance: random.Random) -> None:
        super().__init__(transactional_id, ledger)
        self._chance = chance
        self._connection = {
            "bootstrap.servers": bootstrap,
            **KEEPS_ITS_BROKERS,
            **QUICK_RECONNECTS,
            **QUIET,
        }
        self._producer: Producer | None = None
        self._consumer = Consumer(
            {
                **self._connection,
                "group.id": GROUP,
                "partition.assignment.strategy": "range",
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
            }
        )
        # With callbacks, partitions change hands only while this thread asks for records, so what was read
        # before is never committed in a generation that came after.
        self._consumer.subscribe([SOURCE_TOPIC], on_assign=_moved, on_revoke=_moved, on_lost=_moved)

    def transform(self, transaction: str, manner: Manner) -> None:
        producer = self._ready_producer()
        # Take the records that are there; asking for many at once would wait for all of them.
        found = self._consumer.consume(1, POLL_S)
        found += self._consumer.consume(self._chance.randrange(1, RECORDS_MAX), 0)
        messages = [message for message in found if message.error() is None]
        if not messages:
            return
        self._ledger.note(transaction, Outcome.OPEN)
        try:
            producer.begin_transaction()
            self._write(producer, transaction, messages)
            self._send_offsets(producer, messages)
            if manner is Manner.ABANDON:
                producer.flush(CALL_TIMEOUT_S)
                self._replace_producer()
            elif manner is Manner.ABORT:
                self._abort(producer, transaction)
            else:
                self._ledger.note(transaction, Outcome.ENDING)
                _insist(lambda: producer.commit_transaction(CALL_TIMEOUT_S))
                self._ledger.note(transaction, Outcome.COMMITTED)
                return
        except Hanging:
            self.hanging += 1
            self._replace_producer()
        except KafkaException as failed:
            if failed.args[0].txn_requires_abort():
                self._abort(producer, transaction)
            else:
                self._replace_producer()
        self._rewind()

    def _ready_producer(self) -> Producer:
        if self._producer is None:
            linger_ms = self._chance.choice((0, 1, 5))
            named = {"transactional.id": self._transactional_id, "linger.ms": linger_ms}
            producer = Producer({**self._connection, **named})
            _insist(lambda: producer.init_transactions(CALL_TIMEOUT_S))
            self._producer = producer
        return self._producer

    def _replace_producer(self) -> None:
        """The transaction that the old producer left open is ended when the new one is initialized."""
        self._producer = None
        self._ready_producer()

    def _write(self, producer: Producer, transaction: str, messages: Sequence[Message]) -> None:
        size = len(messages) * COPIES
        for message in messages:
            for copy in range(COPIES):
                partition, offset = _place(message)
                value = Written(transaction, size, partition, offset, copy).encode()
                producer.produce(TARGET_TOPIC, value, partition=self._chance.randrange(TARGET_PARTITIONS))
        if self._chance.random() < 0.5:
            producer.flush(CALL_TIMEOUT_S)

    def _send_offsets(self, producer: Producer, messages: Sequence[Message]) -> None:
        following: dict[int, int] = {}
        for message in messages:
            partition, offset = _place(message)
            following[partition] = max(following.get(partition, 0), offset + 1)
        offsets = [TopicPartition(SOURCE_TOPIC, *each) for each in following.items()]
        group = self._consumer.consumer_group_metadata()
        _insist(
            lambda: _returning(lambda: producer.send_offsets_to_transaction(offsets, group, CALL_TIMEOUT_S))
        )

    def _abort(self, producer: Producer, transaction: str) -> None:
        try:
            _insist(lambda: producer.abort_transaction(CALL_TIMEOUT_S))
        except KafkaException:
            self._replace_producer()
        else:
            self._ledger.note(transaction, Outcome.ABORTED)

    def _rewind(self) -> None:
        """Read again what the aborted transaction had read."""
        for committed in _insist(self._committed):
            committed.offset = max(committed.offset, 0)
            try:
                self._consumer.seek(committed)
            except KafkaException:
                pass  # The partition was taken away meanwhile; its new owner begins at the committed offset.

    def _committed(self) -> list[TopicPartition]:
        found = self._consumer.committed(self._consumer.assignment(), CALL_TIMEOUT_S)
        for one in found:
            if one.error is not None:
                raise KafkaException(one.error)
        return found

    def close(self) -> None:
        self._consumer.close()
        self._producer = None


class JavaTransformer(Transformer):
    """kafka-clients, in a program that does a transaction for each line that it gets."""

    @staticmethod
    def missing() -> str:
        """What this machine lacks to run it, in words; empty if nothing."""
        if shutil.which("javac") is None:
            return "a Java compiler is missing (apt-get install default-jdk-headless)"
        try:
            class_path()
        except JarsMissing as missing:
            return str(missing)
        return ""

    def __init__(self, bootstrap: str, transactional_id: str, ledger: Ledger) -> None:
        super().__init__(transactional_id, ledger)
        flags = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256M", "-cp", class_path()]
        arguments = [bootstrap, transactional_id, GROUP, SOURCE_TOPIC, TARGET_TOPIC, str(COPIES)]
        self._process = subprocess.Popen(
            ["java", *flags, str(JAVA_PROGRAM), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def transform(self, transaction: str, manner: Manner) -> None:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(f"{transaction} {manner.value}\n")
        stdin.flush()
        while line := stdout.readline():
            word, _, rest = line.strip().partition(" ")
            if word == "done":
                return
            if word == "failed":
                raise Broken(f"the Java client of {self._transactional_id} is stuck: {rest}")
            self._ledger.note(transaction, Outcome[word])
        raise Broken(f"the Java client of {self._transactional_id} ended: {self._process.wait()}")

    def close(self) -> None:
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()
        try:
            self._process.wait(CALL_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _moved(consumer: Consumer, partitions: list[TopicPartition]) -> None:
    """librdkafka itself takes what it is assigned."""


def _place(message: Message) -> tuple[int, int]:
    partition, offset = message.partition(), message.offset()
    assert partition is not None, "a record without a partition"
    assert offset is not None, "a record without an offset"
    return partition, offset


def _returning(call: Callable[[], None]) -> None:
    """Call in a thread of its own. Raises what it raises, and Hanging when it does not return."""
    raised: list[Exception] = []

    def run() -> None:
        try:
            call()
        except Exception as error:
            raised.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(HANGING_S)
    if thread.is_alive():
        raise Hanging
    if raised:
        raise raised[0]


def _insist(call: Callable[[], Result]) -> Result:
    """Call until it is answered. Raises errors that are not retriable, and Broken after ANSWER_TIMEOUT_S."""
    deadline = time.monotonic() + ANSWER_TIMEOUT_S
    while True:
        try:
            return call()
        except KafkaException as failed:
            error = failed.args[0]
            passes = error.retriable() or error.name() in PASSING
            if not passes or error.txn_requires_abort() or error.fatal():
                raise
            if time.monotonic() > deadline:
                raise Broken(f"no answer for {ANSWER_TIMEOUT_S} s: {error}") from None
            time.sleep(0.02)
