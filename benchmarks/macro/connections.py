"""Many connections that do nothing, and many fetches that wait: what each costs in memory and idle time."""

import contextlib
import socket
import time
from collections.abc import Mapping

from confluent_kafka import Producer
from peers import BrokerProcess
from peers.process import API_VERSIONS_REQUEST

from benchmarks.macro.fetching import connect, fetch_request
from benchmarks.macro.scenario import Better, Figure, Scenario
from benchmarks.macro.topics import fresh_topic

CONNECTIONS = 5000
PARKED_FETCHES = 1000
# Connections are opened in small waves, each answered before the next: no broker's accept queue overflows.
WAVE = 50
SETTLE_S = 1.0
IDLE_S = 10.0
IDLE_QUICK_S = 2.0
PARKED_MAX_WAIT_MS = 120_000
ANSWER_TIMEOUT_S = 30.0

MEMORY_PER_CONNECTION = Figure("memory per idle connection", "kB", Better.LOWER, goal=5)
IDLE_CPU = Figure("CPU with idle connections", "% of a core", Better.LOWER)
MEMORY_PER_FETCH = Figure("memory per parked fetch", "kB", Better.LOWER, goal=3)
PARKED_CPU = Figure("CPU with parked fetches", "% of a core", Better.LOWER)
WAKE_ALL = Figure("one record to all parked fetches", "ms", Better.LOWER)


class Connections(Scenario):
    """5,000 idle connections, then a fetch parked at the end of an empty log on 1,000 of them."""

    name = "connections"
    title = f"{CONNECTIONS:,} idle connections, {PARKED_FETCHES:,} parked fetches"
    figures = (MEMORY_PER_CONNECTION, IDLE_CPU, MEMORY_PER_FETCH, PARKED_CPU, WAKE_ALL)

    def measure(self, broker: BrokerProcess, *, quick: bool) -> Mapping[str, float]:
        """Memory before and after each step, processor time over a while of quiet after it."""
        idle_s = IDLE_QUICK_S if quick else IDLE_S
        with contextlib.ExitStack() as stack:
            topic = stack.enter_context(fresh_topic(broker))
            alone_bytes = broker.resident_bytes()
            sockets: list[socket.socket] = []
            while len(sockets) < CONNECTIONS:
                wave = [stack.enter_context(contextlib.closing(connect(broker.port))) for _ in range(WAVE)]
                for each in wave:
                    each.sendall(API_VERSIONS_REQUEST)
                for each in wave:
                    assert each.recv(65536), "the broker closed an idle connection"
                sockets += wave
            idle_cpu, connected_bytes = _quiet(broker, idle_s)

            parked = sockets[:PARKED_FETCHES]
            for each in parked:
                each.sendall(fetch_request(topic, 0, max_wait_ms=PARKED_MAX_WAIT_MS))
            parked_cpu, parked_bytes = _quiet(broker, idle_s)

            producer = Producer({"bootstrap.servers": broker.bootstrap})
            started = time.perf_counter()
            producer.produce(topic, b"wake up", partition=0)
            for each in parked:
                assert each.recv(65536), "the broker closed a waiting connection"
            woken_s = time.perf_counter() - started
            producer.flush(ANSWER_TIMEOUT_S)
        return {
            MEMORY_PER_CONNECTION.name: (connected_bytes - alone_bytes) / CONNECTIONS / 1000,
            IDLE_CPU.name: idle_cpu * 100,
            MEMORY_PER_FETCH.name: (parked_bytes - connected_bytes) / PARKED_FETCHES / 1000,
            PARKED_CPU.name: parked_cpu * 100,
            WAKE_ALL.name: woken_s * 1000,
        }


def _quiet(broker: BrokerProcess, idle_s: float) -> tuple[float, int]:
    """Processor time per second while nothing happens, and resident memory after it."""
    time.sleep(SETTLE_S)
    before_s = broker.cpu_s()
    time.sleep(idle_s)
    return (broker.cpu_s() - before_s) / idle_s, broker.resident_bytes()
