"""A member of a group that reads both topics and commits: by itself, in time, or beside its polls."""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Final

from campaigns.clients.application import API_MS, COPY, SESSION_MS, SOURCE, Setting
from campaigns.clients.ledger import Ledger, Reader
from odradek.aio import (
    Consumer,
    ConsumerRecord,
    OffsetAndMetadata,
    RebalanceListener,
    TopicPartition,
)
from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError

PASSING: Final = frozenset({ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NETWORK_EXCEPTION})
"""What mishaps may end a call with, once its time is over."""
PASSING_COMMIT: Final = PASSING | {
    ErrorCode.ILLEGAL_GENERATION,
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.STALE_MEMBER_EPOCH,
    ErrorCode.FENCED_MEMBER_EPOCH,
    ErrorCode.REBALANCE_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NOT_COORDINATOR,
}
POLL_S: Final = 0.5
READS: Final = ("iterates", "polls")
COMMITS: Final = ("by itself", "in time", "beside")
"""Beside: a commit is not waited for, and the next one begins when it has ended."""
STRATEGIES: Final = ("range", "roundrobin", "sticky", "cooperative-sticky")


class Listener(RebalanceListener):
    """Notes each rebalance; as the interceptor, too, which is called at each commit."""

    def __init__(self, ledger: Ledger, reader: Reader) -> None:
        self._ledger, self._reader = ledger, reader

    def on_partitions_assigned(self, partitions: frozenset[TopicPartition]) -> None:
        """See RebalanceListener."""
        self._ledger.counts["assignments"] += 1
        self._ledger.assigned(self._reader, sorted(partitions))

    def on_partitions_revoked(self, partitions: frozenset[TopicPartition]) -> None:
        """See RebalanceListener."""
        self._ledger.taken_away(self._reader, sorted(partitions))

    def on_partitions_lost(self, partitions: frozenset[TopicPartition]) -> None:
        """See RebalanceListener."""
        self._ledger.counts["lost"] += 1
        self._ledger.taken_away(self._reader, sorted(partitions))

    def on_consume(self, records: list[ConsumerRecord]) -> list[ConsumerRecord]:
        """See ConsumerInterceptor."""
        return records

    def on_commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """See ConsumerInterceptor."""
        self._ledger.committed(self._reader, offsets)


def group_settings(setting: Setting, group: str, protocol: str, strategy: str) -> dict[str, object]:
    """The settings of a member; in the classic protocol of this strategy."""
    classic = {
        "session.timeout.ms": SESSION_MS,
        "heartbeat.interval.ms": 1_000,
        "partition.assignment.strategy": strategy,
    }
    return {
        **setting.common,
        "group.id": group,
        "group.protocol": protocol,
        "auto.offset.reset": "earliest",
        "isolation.level": "read_committed",
        "default.api.timeout.ms": API_MS,
        "max.poll.records": setting.chance.choice((3, 20)),
        "fetch.max.wait.ms": 500,
        **(classic if protocol == "classic" else {}),
    }


async def read(setting: Setting, group: str, name: str, protocol: str, strategy: str) -> None:
    """Read until the run ends, and leave the group."""
    reads, commits = setting.chance.choice(READS), setting.chance.choice(COMMITS)
    work_s = setting.chance.choice((0.01, 0.15))
    reader = setting.ledger.reader(group, name)
    noted = Listener(setting.ledger, reader)
    settings = {
        **group_settings(setting, group, protocol, strategy),
        "enable.auto.commit": commits == "by itself",
        "auto.commit.interval.ms": 200,
    }
    consumer = Consumer(SOURCE, COPY, settings=settings, listener=noted, interceptors=(noted,))
    begun: set[asyncio.Task[None]] = set()
    while setting.is_running:
        try:
            if reads == "iterates":
                await _iterate(setting, consumer, reader, work_s)
            else:
                await _poll(setting, consumer, reader)
            if commits == "in time":
                await _commit(setting, consumer, name)
            elif commits == "beside" and not begun:
                task = asyncio.create_task(_commit(setting, consumer, name))
                begun.add(task)
                task.add_done_callback(begun.discard)
        except ApiError as error:
            setting.refused("poll", error, PASSING)
            await asyncio.sleep(0.1)
    if begun:
        await asyncio.wait(begun)
    async with setting.within(30, f"{name}: close", consumer):
        await consumer.close()


async def _poll(setting: Setting, consumer: Consumer, reader: Reader) -> None:
    # A poll may have to wait for a commit before partitions are given back.
    async with setting.within(POLL_S + API_MS / 1000, f"{reader.name}: poll", consumer):
        records = await consumer.poll(POLL_S)
    _take(setting, reader, records)


async def _iterate(setting: Setting, consumer: Consumer, reader: Reader, work_s: float) -> None:
    """A few records, with a little work after each, so that commits find records in between."""
    stream = consumer.stream()
    try:
        async with asyncio.timeout(POLL_S):
            async for record in stream:
                _take(setting, reader, [record])
                await asyncio.sleep(work_s)
    except TimeoutError:
        pass
    finally:
        await stream.aclose()  # type: ignore[attr-defined]


def _take(setting: Setting, reader: Reader, records: Iterable[ConsumerRecord]) -> None:
    for record in records:
        setting.ledger.handed_out(reader, record)


async def _commit(setting: Setting, consumer: Consumer, name: str) -> None:
    try:
        async with setting.within(API_MS / 1000, f"{name}: commit", consumer):
            await consumer.commit()
    except ApiError as error:
        setting.refused("commit", error, PASSING_COMMIT)
