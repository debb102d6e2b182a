"""A broker's replicas on a bench: logs in memory, a clock that stands still, and every effect on record."""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID

import pytest

from odradek.base.chance import SeededChance
from odradek.base.clock import ManualClock
from odradek.base.errors import OdradekError, OffsetOutOfRange, RecordTooLarge
from odradek.base.execution import deliver
from odradek.base.ids import NO_TOPIC_ID, TopicPartition
from odradek.base.settings import BrokerSettings, TopicConfig
from odradek.metadata.image import (
    BrokerImage,
    BrokerRegistered,
    ClusterImage,
    Endpoint,
    PartitionImage,
    TopicCreated,
)
from odradek.metadata.messages import LeaderAndIsr, LeaderAndIsrPartition, StopReplica, StopReplicaPartition
from odradek.records.builder import BatchBuilder
from odradek.records.validation import ValidationRules
from odradek.records.work import Work, finish
from odradek.replication import (
    FetchParams,
    IsrChange,
    Partition,
    PartitionFetch,
    ReplicaManager,
    RoleChanges,
    params_for_follower,
)
from odradek.replication.delayed_fetch import DelayedFetch
from odradek.storage import AppendInfo, EpochEnd, LogManager, LogPosition, LogRead, Origin, TimestampOffset
from odradek.storage.memory_files import MemoryFileSystem
from odradek.storage.positions import UNKNOWN_EPOCH_END
from odradek.storage.reads import HOLDS_ALL
from odradek.timer import Timer

HERE = 1
DIRECTORY = "/data"
SWEPT_AT_ONCE = replace(
    BrokerSettings(),
    producer_purgatory_purge_interval_requests=0,
    fetch_purgatory_purge_interval_requests=0,
    delete_records_purgatory_purge_interval_requests=0,
)


@dataclass
class Batch:
    offset: int
    segment: int
    byte: int
    data: bytes
    epoch: int
    timestamp_ms: int


class MemoryLog:
    """A log whose every append is one batch of one record; it rolls when it is told to."""

    def __init__(self, config: TopicConfig, directory: str = DIRECTORY) -> None:
        self.config = config
        self.client_rules = ValidationRules()
        self.directory = directory
        self.log_start_offset = 0
        self.batches: list[Batch] = []
        self.end_position = LogPosition(0, 0, 0)
        self.high_watermark = LogPosition(0, 0, 0)
        self.unstable: int | None = None
        self.flushed_offset = 0
        self.epochs: list[tuple[int, int]] = []
        self.fails_with: OdradekError | None = None
        self.reads = 0

    @property
    def end_offset(self) -> int:
        return self.end_position.offset

    @property
    def last_stable(self) -> LogPosition:
        if self.unstable is None or self.unstable >= self.high_watermark.offset:
            return self.high_watermark
        return self.position_of(self.unstable)

    @property
    def latest_epoch(self) -> int:
        return self.epochs[-1][0] if self.epochs else -1

    @property
    def size_bytes(self) -> int:
        return sum(len(batch.data) for batch in self.batches)

    def append_as_leader(
        self, batches: bytes, leader_epoch: int, *, origin: Origin = Origin.CLIENT, now_ms: int
    ) -> AppendInfo:
        if self.fails_with is not None:
            raise self.fails_with
        if len(batches) > self.config.max_message_bytes:
            raise RecordTooLarge(f"{len(batches)} bytes")
        offset, segment, byte = self.end_position
        self.batches.append(Batch(offset, segment, byte, bytes(batches), leader_epoch, now_ms))
        self.end_position = LogPosition(offset + 1, segment, byte + len(batches))
        return AppendInfo(offset, offset, now_ms, -1, self.log_start_offset, leader_epoch, 1, len(batches))

    def append_as_follower(self, batches: bytes) -> AppendInfo:
        return self.append_as_leader(batches, self.latest_epoch, now_ms=0)

    def roll(self) -> None:
        offset = self.end_offset
        self.end_position = LogPosition(offset, offset, 0)

    def truncate_to(self, offset: int) -> None:
        self.end_position = self.position_of(offset)
        self.batches = [batch for batch in self.batches if batch.offset < offset]
        if self.high_watermark.offset > offset:
            self.high_watermark = self.end_position

    def read(
        self,
        start_offset: int,
        max_bytes: int,
        bound: LogPosition,
        *,
        at_least_one: bool,
        committed_only: bool = False,
        held_bytes_max: int = HOLDS_ALL,
    ) -> LogRead:
        self.reads += 1
        if self.fails_with is not None:
            raise self.fails_with
        position = self.position_of(start_offset)
        records = b""
        incomplete = False
        for batch in self.batches:
            if not start_offset <= batch.offset < bound.offset or max_bytes == 0:
                continue
            if len(records) + len(batch.data) > max_bytes and (records or not at_least_one):
                incomplete = not records
                records = records or batch.data[:max_bytes]
                break
            records += batch.data
        return LogRead(position, records, incomplete, [] if committed_only else None)

    def position_of(self, offset: int) -> LogPosition:
        if not self.log_start_offset <= offset <= self.end_offset:
            raise OffsetOutOfRange(f"{offset} is not in [{self.log_start_offset}, {self.end_offset}]")
        for batch in self.batches:
            if batch.offset == offset:
                return LogPosition(offset, batch.segment, batch.byte)
        return self.end_position

    def restore_high_watermark(self, offset: int) -> None:
        self.high_watermark = self.position_of(min(max(offset, self.log_start_offset), self.end_offset))

    def advance_high_watermark(self, position: LogPosition) -> bool:
        if self.fails_with is not None:
            raise self.fails_with
        assert position.offset <= self.end_offset, f"HW {position} above LEO {self.end_position}"
        moved = (position.offset, position.segment_base_offset) > self.high_watermark[:2]
        if moved:
            self.high_watermark = position
        return moved

    def advance_log_start(self, offset: int) -> bool:
        moved = self.log_start_offset < offset <= self.high_watermark.offset
        if moved:
            self.log_start_offset = offset
        return moved

    def delete_records_before(self, offset: int) -> int:
        if self.fails_with is not None:
            raise self.fails_with
        if offset > self.high_watermark.offset:
            raise OffsetOutOfRange(f"{offset} is above HW {self.high_watermark.offset}")
        self.advance_log_start(offset)
        return self.log_start_offset

    def offset_for_timestamp(self, timestamp_ms: int) -> Work[TimestampOffset | None]:
        yield None
        return next(
            (
                TimestampOffset(batch.timestamp_ms, batch.offset, batch.epoch)
                for batch in self.batches
                if batch.timestamp_ms >= timestamp_ms
            ),
            None,
        )

    def max_timestamp_offset(self) -> Work[TimestampOffset | None]:
        yield None
        newest = max(self.batches, key=lambda batch: batch.timestamp_ms, default=None)
        return None if newest is None else TimestampOffset(newest.timestamp_ms, newest.offset, newest.epoch)

    def end_offset_for_epoch(self, epoch: int) -> EpochEnd:
        known = [entry for entry in self.epochs if entry[0] <= epoch]
        if not known:
            return UNKNOWN_EPOCH_END
        later = [start for other, start in self.epochs if other > known[-1][0]]
        return EpochEnd(known[-1][0], later[0] if later else self.end_offset)

    def epoch_of(self, offset: int) -> int:
        return max((epoch for epoch, start in self.epochs if start <= offset), default=-1)

    def begin_epoch(self, epoch: int) -> int:
        self.epochs.append((epoch, self.end_offset))
        return self.end_offset

    def describe(self) -> dict[str, int]:
        return {"end_offset": self.end_offset}


class MemoryLogs:
    """All logs of the bench, over the directories that it is told of."""

    def __init__(self) -> None:
        self.config = TopicConfig()
        self.directories = [DIRECTORY]
        self.next_directory = DIRECTORY
        self.logs: dict[TopicPartition, MemoryLog] = {}
        self.offline: set[TopicPartition] = set()
        self.checkpoints: dict[TopicPartition, int] = {}
        self.deleted: list[TopicPartition] = []
        self.fails_with: OdradekError | None = None

    def create(
        self, topic_partition: TopicPartition, topic_id: UUID | None = None, *, is_new: bool = True
    ) -> MemoryLog:
        if self.fails_with is not None:
            raise self.fails_with
        if topic_partition not in self.logs:
            self.logs[topic_partition] = MemoryLog(self.config, self.next_directory)
        return self.logs[topic_partition]

    def get(self, topic_partition: TopicPartition) -> MemoryLog | None:
        return self.logs.get(topic_partition)

    def delete(self, topic_partition: TopicPartition) -> None:
        self.deleted.append(topic_partition)
        self.logs.pop(topic_partition, None)

    def is_offline(self, topic_partition: TopicPartition) -> bool:
        return topic_partition in self.offline

    def is_missing(self, topic_partition: TopicPartition) -> bool:
        return False

    def fail_directory(self, directory: str, reason: str) -> list[TopicPartition]:
        lost = [key for key, log in self.logs.items() if log.directory == directory]
        self.offline.update(lost)
        self.directories = [one for one in self.directories if one != directory]
        return lost

    def online_directories(self) -> list[str]:
        return self.directories

    def why_offline(self, directory: str) -> str | None:
        return None if directory in self.directories else "the disk is gone"

    def checkpointed_high_watermark(self, topic_partition: TopicPartition) -> int:
        return self.checkpoints.get(topic_partition, 0)


@dataclass
class RecordedEffects:
    """What the replica manager wanted done."""

    flushes: list[TopicPartition] = field(default_factory=list)
    isr_writes: list[IsrChange] = field(default_factory=list)
    failed_directories: list[tuple[str, bool]] = field(default_factory=list)

    def flush(self, topic_partition: TopicPartition, log: MemoryLog) -> None:
        self.flushes.append(topic_partition)

    def write_isr(self, change: IsrChange) -> None:
        self.isr_writes.append(change)

    def directory_failed(self, directory: str, reason: str, *, is_last: bool) -> None:
        self.failed_directories.append((directory, is_last))


class Answers(list):
    """What came back through a response callback; at most one answer, or the test fails there and then."""

    def __call__(self, answer: object) -> None:
        assert not self, f"answered a second time: {answer}"
        self.append(answer)

    @property
    def is_answered(self) -> bool:
        return bool(self)

    @property
    def only(self):
        assert self, "not answered yet"
        return self[0]


def batch_of(size_bytes: int, timestamp_ms: int) -> bytes:
    """A batch of one record that has exactly this size."""
    for padding in range(size_bytes, 0, -1):
        builder = BatchBuilder()
        builder.append(timestamp_ms, None, b"x" * padding)
        if builder.size_bytes == size_bytes:
            return bytes(builder.build())
    raise AssertionError(f"no batch has {size_bytes} bytes")


class Bench:
    """Broker 1 and what it hosts. Brokers 1 to 4 are alive unless a test says otherwise.

    `stored` takes the log manager of `storage`, over files in memory, in place of the bench's own logs.
    """

    def __init__(self, settings: BrokerSettings | None = None, *, stored: bool = False) -> None:
        self.clock = ManualClock()
        self.timer = Timer(self.clock)
        self.stored = stored
        self.files = MemoryFileSystem()
        self.logs = self._open_stored_logs() if stored else MemoryLogs()
        self.image = ClusterImage()
        self.effects = RecordedEffects()
        self.turns: deque[Callable[[], None]] = deque()
        for broker_id in (1, 2, 3, 4):
            self.revive(broker_id)
        self.manager = ReplicaManager(
            HERE,
            settings or SWEPT_AT_ONCE,
            clock=self.clock,
            timer=self.timer,
            logs=self.logs,
            cluster=self.image,
            effects=self.effects,
            defer=self.turns.append,
        )

    def _open_stored_logs(self) -> LogManager:
        return LogManager.open(
            replace(SWEPT_AT_ONCE, log_dirs=(DIRECTORY,)),
            cluster_id="bench",
            file_system=self.files,
            clock=self.clock,
            chance=SeededChance(1),
            config_of=lambda topic: TopicConfig(),
        )

    # --- the cluster

    def revive(self, broker_id: int) -> None:
        endpoint = Endpoint("PLAINTEXT", "PLAINTEXT", "127.0.0.1", 9000 + broker_id)
        self.image.apply(BrokerRegistered(BrokerImage(broker_id, (endpoint,))))

    def make_known(self, topic_partition: TopicPartition, state: PartitionImage | None = None) -> None:
        """Let the cluster know a partition, hosted elsewhere unless `state` says otherwise."""
        known = self.image.topics.get(topic_partition.topic)
        partitions = {} if known is None else dict(known.partitions)
        partitions[topic_partition.partition] = state or PartitionImage((2,), (2,), 2)
        self.image.apply(TopicCreated(topic_partition.topic, UUID(int=7), partitions))

    def order(
        self,
        topic_partition: TopicPartition,
        *,
        leader: int = HERE,
        isr: Sequence[int] = (HERE,),
        replicas: Sequence[int] | None = None,
        epoch: int | None = None,
        version: int = 0,
        controller_epoch: int = 1,
        topic_id: UUID = NO_TOPIC_ID,
    ) -> RoleChanges:
        """A LeaderAndIsr for one partition; by default for the next leader epoch."""
        if epoch is None:
            hosted = self.manager.partition(topic_partition)
            epoch = 0 if hosted is None else hosted.leader_epoch + 1
        state = PartitionImage(tuple(replicas or isr), tuple(isr), leader, epoch, version)
        self.make_known(topic_partition, state)
        wanted = LeaderAndIsrPartition(topic_partition, topic_id, state, is_new=True)
        return self.manager.become_leader_or_follower(LeaderAndIsr(HERE, controller_epoch, 0, (wanted,), ()))

    def stop(
        self,
        topic_partition: TopicPartition,
        *,
        epoch: int = -2,
        delete: bool = False,
        controller_epoch: int = 1,
    ) -> RoleChanges:
        wanted = StopReplicaPartition(topic_partition, epoch, delete)
        return self.manager.stop_replica(StopReplica(HERE, controller_epoch, 0, (wanted,)))

    def partition(self, topic_partition: TopicPartition) -> Partition:
        partition = self.manager.partition(topic_partition)
        assert partition is not None, f"{topic_partition} is not hosted"
        return partition

    def log(self, topic_partition: TopicPartition) -> MemoryLog:
        return self.logs.get(topic_partition)

    def set_config(self, **changes: object) -> None:
        """Change the topics' settings, of logs that are there and of those to come."""
        self.logs.config = replace(self.logs.config, **changes)
        for log in self.logs.logs.values():
            log.config = self.logs.config

    # --- requests

    def produce(
        self,
        *topic_partitions: TopicPartition,
        acks: int = -1,
        size_bytes: int = 100,
        timeout_ms: int = 1000,
        **more,
    ) -> Answers:
        answers = Answers()
        batch = batch_of(size_bytes, self.clock.wall_ms()) if self.stored else b"x" * size_bytes
        outcomes = self.manager.append(
            dict.fromkeys(topic_partitions, batch),
            acks=acks,
            timeout_ms=timeout_ms,
            later=answers,
            **more,
        )
        assert not answers, "answered before the call returned"
        deliver(outcomes, answers)
        self.run_turns()
        return answers

    def fetch(self, params: FetchParams, *fetches: PartitionFetch) -> Answers:
        answers = Answers()
        read = self.manager.fetch(params, fetches, answers)
        assert not answers, "answered before the call returned"
        if not isinstance(read, DelayedFetch):
            answers(read)
        self.run_turns()
        return answers

    def delete_records(
        self, offsets: Mapping[TopicPartition, int], timeout_ms: int = 1000, **more
    ) -> Answers:
        answers = Answers()
        work = self.manager.delete_records(offsets, timeout_ms=timeout_ms, later=answers, **more)
        deliver(finish(work), answers)
        self.run_turns()
        return answers

    def consume(
        self,
        offsets: dict[TopicPartition, int],
        *,
        min_bytes: int = 1,
        max_wait_ms: int = 500,
        partition_max_bytes: int = 1 << 20,
        **more,
    ) -> Answers:
        params = FetchParams(min_bytes=min_bytes, max_wait_ms=max_wait_ms, **more)
        return self.fetch(
            params, *(PartitionFetch(key, offset, partition_max_bytes) for key, offset in offsets.items())
        )

    def follow(
        self,
        broker_id: int,
        offsets: dict[TopicPartition, int],
        *,
        min_bytes: int = 1,
        max_wait_ms: int = 500,
        log_start_offset: int = 0,
        **more,
    ) -> Answers:
        params = params_for_follower(
            broker_id, max_wait_ms=max_wait_ms, min_bytes=min_bytes, max_bytes=10 << 20, **more
        )
        return self.fetch(
            params,
            *(
                PartitionFetch(key, offset, 1 << 20, log_start_offset=log_start_offset)
                for key, offset in offsets.items()
            ),
        )

    # --- time, and what waits

    def run_turns(self) -> None:
        while self.turns:
            self.turns.popleft()()

    def pass_time(self, by_ms: int) -> None:
        self.clock.advance(by_ms)
        self.timer.advance()
        self.run_turns()

    def purge(self) -> None:
        """Let the reaper sweep: it does so after the timer has advanced, here at an estimate of 1."""
        self.timer.advance()
        self.run_turns()

    def waiting(self, topic_partition: TopicPartition) -> list[str]:
        """The kinds of what is watched under a partition: produces, then fetches; completed ones too."""
        found = []
        for purgatory in (self.manager.purgatories.produce, self.manager.purgatories.fetch):
            found += [operation.kind for operation in purgatory.watchers().get(topic_partition, [])]
        return found


@pytest.fixture
def bench() -> Bench:
    return Bench()


@pytest.fixture(params=["memory", "stored"])
def any_bench(request: pytest.FixtureRequest) -> Bench:
    """The bench over its own logs, and over those of `storage`."""
    return Bench(stored=request.param == "stored")


@pytest.fixture
def make_bench() -> Callable[..., Bench]:
    return Bench
