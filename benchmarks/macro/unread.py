"""Answers that clients do not read: how much of a broker's memory they hold."""

import contextlib
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from confluent_kafka import Producer
from peers import BrokerProcess

from benchmarks.macro.fetching import connect, fetch_request
from benchmarks.macro.scenario import Better, Figure, Scenario
from benchmarks.macro.topics import fresh_topic

READERS = 40
ANSWER_BYTES = 50 << 20
RECORD_BYTES = 1 << 19
HELD_S = 5.0
HELD_QUICK_S = 1.0
TIMEOUT_S = 60.0

MEMORY = Figure("broker's memory", "MB", Better.LOWER, goal=150)
RISE = Figure("rise of it", "MB", Better.LOWER)


class UnreadFetches(Scenario):
    """40 connections ask for 50 MB each and read nothing of the answer."""

    name = "unread-fetches"
    title = f"{READERS} fetches of {ANSWER_BYTES >> 20} MB whose answers nobody reads"
    figures = (MEMORY, RISE)

    def measure(self, broker: BrokerProcess, *, quick: bool) -> Mapping[str, float]:
        """Memory of a broker of its own, before the fetches and while their answers wait."""
        with contextlib.ExitStack() as stack:
            directory = stack.enter_context(tempfile.TemporaryDirectory())
            other = stack.enter_context(type(broker)(Path(directory), broker.settings))
            topic = stack.enter_context(fresh_topic(other))
            _fill(other, topic)
            before_bytes = other.resident_bytes()
            for _ in range(READERS):
                reader = stack.enter_context(contextlib.closing(connect(other.port)))
                reader.sendall(fetch_request(topic, 0, partition_bytes_max=ANSWER_BYTES))
            most_bytes = 0
            end = time.perf_counter() + (HELD_QUICK_S if quick else HELD_S)
            while time.perf_counter() < end:
                most_bytes = max(most_bytes, other.resident_bytes())
                time.sleep(0.05)
        return {MEMORY.name: most_bytes / 1e6, RISE.name: (most_bytes - before_bytes) / 1e6}


def _fill(broker: BrokerProcess, topic: str) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    for _ in range(ANSWER_BYTES // RECORD_BYTES + 1):
        producer.produce(topic, bytes(RECORD_BYTES), partition=0)
        assert producer.flush(TIMEOUT_S) == 0, "a record was not acknowledged"
