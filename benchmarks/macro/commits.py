"""How many offsets a broker commits a second for many consumers, each waiting for one commit at a time."""

import statistics
import struct
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from peers import BrokerProcess

from benchmarks.macro.crowd import CORRELATION_ID_AT, Crowd, Frame, frame_of
from benchmarks.macro.echo import echo
from benchmarks.macro.members import RawGroup, refused
from benchmarks.macro.scenario import Better, CpuMeter, Figure, Scenario
from benchmarks.macro.topics import fresh_topic
from odradek.base.error_codes import ErrorCode
from odradek.wire.headers import decode_response_header
from odradek.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)

GROUPS = 10
MEMBERS = 10  # in each group, with one partition each
DURATION_S = 10.0
DURATION_QUICK_S = 2.0
# A JVM compiles the code that it runs often; after this time it gets no faster.
WARM_UP_S = 8.0
WARM_UP_QUICK_S = 1.0
CEILING_S = 2.0
OFFSET_COMMIT_VERSION = 9

# An offset that is found in an encoded request by its value, to be replaced in place.
PLACEHOLDER = 0x0123456789ABCDEF
OFFSET = struct.Struct(">q")
CORRELATION_ID = struct.Struct(">i")

COMMITS = Figure("commits", "1/s", Better.HIGHER, goal=10_000)
P99 = Figure("p99", "ms", Better.LOWER)
CPU = Figure("broker CPU", "µs/commit", Better.LOWER)
CEILING = Figure("the same load against an echo", "1/s", Better.HIGHER)


class Commits(Scenario):
    """Members of ten groups of ten, one connection each; every answer is compared with a good one."""

    name = "commits-100"
    title = (
        f"OffsetCommit by {GROUPS * MEMBERS} consumers in {GROUPS} groups, raw sockets, one partition each, "
        "one commit under way each"
    )
    figures = (COMMITS, P99, CPU, CEILING)

    def measure(self, broker: BrokerProcess, *, quick: bool) -> Mapping[str, float]:
        """Commit for a while, then send the same load to a server that does nothing."""
        with fresh_topic(broker, partitions=MEMBERS) as topic, Crowd(broker.port) as crowd:
            consumers = _consumers(crowd, topic)
            load = _Load(consumers)
            load.run(crowd, WARM_UP_QUICK_S if quick else WARM_UP_S)
            with CpuMeter(broker) as cpu:
                seconds = load.run(crowd, DURATION_QUICK_S if quick else DURATION_S)
            figures = {
                COMMITS.name: len(load.durations_s) / seconds,
                P99.name: statistics.quantiles(load.durations_s, n=100)[98] * 1000,
                CPU.name: cpu.used_s / len(load.durations_s) * 1e6,
            }
        with echo(min(load.good_answers)) as port, Crowd(port) as crowd:
            load = _Load({crowd.connect(): consumer for consumer in consumers.values()})
            seconds = load.run(crowd, CEILING_S)
        return figures | {CEILING.name: len(load.durations_s) / seconds}


@dataclass(slots=True)
class _Consumer:
    """A member's OffsetCommit, and where in it the offset stands."""

    frame: bytearray
    offset_at: int


class _Load:
    """Every connection's commit, sent again and again with another offset in it."""

    def __init__(self, consumers: Mapping[int, _Consumer]) -> None:
        self._consumers = consumers
        self._commits = 0
        self.good_answers: set[bytes] = set()
        """What follows the correlation id where a commit succeeded: one answer for each partition."""
        self.durations_s: list[float] = []
        """Of each commit of the latest run."""

    def run(self, crowd: Crowd, duration_s: float) -> float:
        """Commit until the time is over; returns the seconds that it took."""
        self.durations_s = durations_s = []
        began = time.perf_counter()
        end = began + duration_s
        sent_at: dict[int, float] = {}
        now_s = time.perf_counter

        def answered(connection: int, answer: bytes) -> Frame | None:
            received = now_s()
            durations_s.append(received - sent_at[connection])
            if answer[CORRELATION_ID.size :] not in self.good_answers:
                _check(answer)
                self.good_answers.add(answer[CORRELATION_ID.size :])
            if received >= end:
                return None
            sent_at[connection] = received
            return self._next(connection)

        first = {connection: self._next(connection) for connection in self._consumers}
        sent_at.update(dict.fromkeys(first, now_s()))
        crowd.exchange(first, answered)
        return now_s() - began

    def _next(self, connection: int) -> bytearray:
        self._commits += 1
        consumer = self._consumers[connection]
        CORRELATION_ID.pack_into(consumer.frame, CORRELATION_ID_AT, self._commits)
        OFFSET.pack_into(consumer.frame, consumer.offset_at, self._commits)
        return consumer.frame


def _consumers(crowd: Crowd, topic: str) -> dict[int, _Consumer]:
    """Let all members join; returns the commit of each connection."""
    consumers: dict[int, _Consumer] = {}
    stamp = time.time_ns()
    for number in range(GROUPS):
        group = RawGroup(crowd, f"commits-{stamp}-{number}", topic)
        group.find()
        group.form([crowd.connect() for _ in range(MEMBERS)])
        group.check()
        for partition, member in enumerate(group.members):
            offsets = [OffsetCommitRequestPartition(partition, PLACEHOLDER)]
            request = OffsetCommitRequest(
                group.group_id,
                member.generation,
                member.member_id,
                topics=[OffsetCommitRequestTopic(topic, partitions=offsets)],
            )
            frame = frame_of(request, OFFSET_COMMIT_VERSION)
            consumers[member.connection] = _Consumer(frame, frame.index(OFFSET.pack(PLACEHOLDER)))
    return consumers


def _check(answer: bytes) -> None:
    _, position = decode_response_header(answer, OffsetCommitRequest.API_KEY, OFFSET_COMMIT_VERSION)
    decoded = OffsetCommitResponse.decode(answer, OFFSET_COMMIT_VERSION, position)
    codes: Sequence[int] = [part.error_code for topic in decoded.topics for part in topic.partitions]
    assert len(codes) == 1, f"an answer for {len(codes)} partitions"
    if codes[0] != ErrorCode.NONE:
        refused("a commit", codes[0])
