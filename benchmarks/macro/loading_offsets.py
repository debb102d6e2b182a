"""How long a broker takes, from its start, to serve the offsets of a large `__consumer_offsets`."""

import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from peers import BrokerProcess
from peers.waiting import wait_until

from benchmarks.macro.crowd import Crowd, Frame, frame_of
from benchmarks.macro.members import SERVED_TIMEOUT_S, RawGroup, refused
from benchmarks.macro.scenario import Better, Figure, Scenario
from benchmarks.macro.topics import fresh_topic
from odradek.base.error_codes import ErrorCode
from odradek.wire.headers import decode_response_header
from odradek.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from odradek.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)

PARTITIONS = 100
GROUPS = 10_000
GROUPS_QUICK = 100
WRITERS = 4
OFFSET_COMMIT_VERSION = 8
OFFSET_FETCH_VERSION = 8
# All groups are in one partition: a broker may read several partitions at once or one after another.
SETTINGS = {"offsets.topic.num.partitions": "1"}

SERVED = Figure("from exec until offsets are served", "s", Better.LOWER, goal=5.0)
FIRST_ANSWER = Figure("of which until the first answer", "s", Better.LOWER)
CPU = Figure("broker CPU until then", "s", Better.LOWER)
MEMORY = Figure("memory with them", "MB", Better.LOWER)


class LoadOffsets(Scenario):
    """10,000 groups with an offset in each of 100 partitions, committed first, read by the next start.

    Both brokers read files that they have written themselves, after a clean stop.
    """

    name = "load-offsets-1m"
    title = f"Loading {GROUPS * PARTITIONS:,} committed offsets from one partition at the start"
    figures = (SERVED, FIRST_ANSWER, CPU, MEMORY)

    def measure(self, broker: BrokerProcess, *, quick: bool) -> Mapping[str, float]:
        """Fill a second broker of the same kind, and start it again."""
        groups = GROUPS_QUICK if quick else GROUPS
        with tempfile.TemporaryDirectory() as directory:
            settings = {**broker.settings, **SETTINGS}
            with (
                type(broker)(Path(directory), settings) as other,
                fresh_topic(other, partitions=PARTITIONS) as topic,
            ):
                _commit_all(other, topic, groups)
                other.stop()
                began = time.perf_counter()
                other.start()
                first_answer_s = time.perf_counter() - began
                _wait_until_served(other, topic, groups)
                served_s = time.perf_counter() - began
                cpu_s = other.cpu_s()
                return {
                    SERVED.name: served_s,
                    FIRST_ANSWER.name: first_answer_s,
                    CPU.name: cpu_s,
                    MEMORY.name: other.resident_bytes() / 1e6,
                }


def _group_id(number: int) -> str:
    return f"consumers-of-something-{number}"


def _offset(group: int, partition: int) -> int:
    return group * PARTITIONS + partition


def _commit_all(broker: BrokerProcess, topic: str, groups: int) -> None:
    with Crowd(broker.port) as crowd:
        RawGroup(crowd, _group_id(0), topic).find()
        wait_until(
            lambda: _fetched(crowd, 0, topic, 0) == -1, "there is no coordinator", timeout_s=SERVED_TIMEOUT_S
        )
        rest = iter(range(groups))

        def next_commit() -> Frame | None:
            number = next(rest, None)
            return None if number is None else _commit(number, topic)

        def answered(_: int, answer: bytes) -> Frame | None:
            _check(answer)
            return next_commit()

        first = {crowd.connect(): next_commit() for _ in range(WRITERS)}
        crowd.exchange({index: frame for index, frame in first.items() if frame is not None}, answered)


def _commit(group: int, topic: str) -> bytearray:
    offsets = [OffsetCommitRequestPartition(part, _offset(group, part)) for part in range(PARTITIONS)]
    request = OffsetCommitRequest(
        _group_id(group), topics=[OffsetCommitRequestTopic(topic, partitions=offsets)]
    )
    return frame_of(request, OFFSET_COMMIT_VERSION)


def _check(answer: bytes) -> None:
    _, position = decode_response_header(answer, OffsetCommitRequest.API_KEY, OFFSET_COMMIT_VERSION)
    decoded = OffsetCommitResponse.decode(answer, OFFSET_COMMIT_VERSION, position)
    for part in decoded.topics[0].partitions:
        if part.error_code != ErrorCode.NONE:
            refused("a commit", part.error_code)


def _wait_until_served(broker: BrokerProcess, topic: str, groups: int) -> None:
    """Wait until the last group's last offset is served; then check some others."""
    last = PARTITIONS - 1
    with Crowd(broker.port) as crowd:
        connection = crowd.connect()
        expected = _offset(groups - 1, last)
        wait_until(
            lambda: _fetched(crowd, groups - 1, topic, last, connection) == expected,
            "the offsets are never loaded",
            timeout_s=SERVED_TIMEOUT_S,
        )
        for group in range(0, groups, max(1, groups // 20)):
            found = _fetched(crowd, group, topic, group % PARTITIONS, connection)
            assert found == _offset(group, group % PARTITIONS), f"group {group} was told {found}"


def _fetched(crowd: Crowd, group: int, topic: str, partition: int, connection: int = 0) -> int | None:
    """A committed offset; -1 where there is none, None while the coordinator cannot tell."""
    wanted = OffsetFetchRequestGroup(
        _group_id(group), topics=[OffsetFetchRequestTopics(topic, partition_indexes=[partition])]
    )
    answer = crowd.ask(connection, frame_of(OffsetFetchRequest(groups=[wanted]), OFFSET_FETCH_VERSION))
    _, position = decode_response_header(answer, OffsetFetchRequest.API_KEY, OFFSET_FETCH_VERSION)
    told = OffsetFetchResponse.decode(answer, OFFSET_FETCH_VERSION, position).groups[0]
    if told.error_code != ErrorCode.NONE:
        return None
    return told.topics[0].partitions[0].committed_offset
