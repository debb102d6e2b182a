"""A broker's replicas without the broker: logs in memory, a clock that stands still, effects on record."""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, TypeAlias, TypedDict, TypeVar, Unpack
from uuid import UUID

from odradek.base.chance import SeededChance
from odradek.base.clock import ManualClock
from odradek.base.error_codes import ErrorCode
from odradek.base.execution import RunSteps, deliver, exhaust
from odradek.base.ids import NO_EPOCH, NO_TOPIC_ID, TopicPartition
from odradek.base.settings import BrokerSettings, TopicConfig
from odradek.metadata.image import (
    BrokerImage,
    BrokerRegistered,
    ClusterImage,
    Endpoint,
    PartitionImage,
    TopicCreated,
)
from odradek.metadata.orders import LeaderAndIsr, LeaderAndIsrPartition, StopReplica, StopReplicaPartition
from odradek.records.builder import BatchBuilder
from odradek.records.control import EndTxnMarker, build_marker
from odradek.records.work import finish
from odradek.replication import (
    AppendOutcome,
    DeleteRecordsOutcome,
    FetchOutcome,
    FetchParams,
    Isolation,
    IsrChange,
    Partition,
    PartitionFetch,
    ReplicaManager,
    RoleChanges,
    params_for_follower,
)
from odradek.replication.delayed_fetch import DelayedFetch
from odradek.replication.fetch_request import ClientMetadata
from odradek.replication.leadership import Leadership
from odradek.replication.replication_ports import ReplicationQuota
from odradek.storage import Log, LogManager, Origin
from odradek.storage.memory_files import MemoryFileSystem
from odradek.timer import Timer

HERE = 1
DIRECTORY = "/data"
BATCH_BYTES = 100
LENGTH_AT = 8
TRANSACTIONAL_PRODUCER = 77
SWEPT_AT_ONCE = replace(
    BrokerSettings(),
    producer_purgatory_purge_interval_requests=0,
    fetch_purgatory_purge_interval_requests=0,
    delete_records_purgatory_purge_interval_requests=0,
)
T = TypeVar("T")


@dataclass
class RecordedEffects:
    """What the replica manager wanted done."""

    flushes: list[TopicPartition] = field(default_factory=list)
    isr_writes: list[IsrChange] = field(default_factory=list)
    failed_directories: list[tuple[str, bool]] = field(default_factory=list)

    def flush(self, topic_partition: TopicPartition) -> None:
        self.flushes.append(topic_partition)

    def write_isr(self, change: IsrChange) -> None:
        self.isr_writes.append(change)

    def directory_failed(self, directory: str, reason: str, *, is_last: bool) -> None:
        self.failed_directories.append((directory, is_last))


class FakeQuota:
    """A `ReplicationQuota` that is exceeded when a test says so, and throttles what `listed` says."""

    def __init__(
        self, listed: Callable[[TopicPartition], bool] = lambda named: True, *, is_over: bool = False
    ) -> None:
        self.listed = listed
        self.is_over = is_over
        self.free_at_ms = 0
        self.recorded: list[tuple[TopicPartition, int]] = []
        """What was counted of listed partitions."""

    def throttles(self, topic_partition: TopicPartition, config: TopicConfig) -> bool:
        return self.listed(topic_partition)

    def record(self, topic_partition: TopicPartition, config: TopicConfig, size_bytes: int) -> None:
        if size_bytes > 0 and self.listed(topic_partition):
            self.recorded.append((topic_partition, size_bytes))

    def is_exceeded(self) -> bool:
        return self.is_over

    def frees_at_ms(self) -> int:
        return self.free_at_ms


class Answers(Generic[T]):
    """What came back through a response callback; at most one answer, or the test fails there and then."""

    def __init__(self) -> None:
        self._given: list[T] = []

    def __call__(self, answer: T) -> None:
        assert not self._given, f"answered a second time: {answer}"
        self._given.append(answer)

    @property
    def is_answered(self) -> bool:
        return bool(self._given)

    @property
    def only(self) -> T:
        assert self._given, "not answered yet"
        return self._given[0]


ProduceAnswers: TypeAlias = Answers[dict[TopicPartition, AppendOutcome]]
FetchAnswers: TypeAlias = Answers[list[FetchOutcome]]
DeleteAnswers: TypeAlias = Answers[dict[TopicPartition, DeleteRecordsOutcome]]


def batch_of(size_bytes: int, timestamp_ms: int, base_offset: int = 0) -> bytes:
    """A batch of one record that has exactly this size."""
    for padding in range(size_bytes, -1, -1):
        builder = BatchBuilder(base_offset=base_offset)
        builder.append(timestamp_ms, None, b"x" * padding)
        if builder.size_bytes == size_bytes:
            return bytes(builder.build())
    raise AssertionError(f"no batch has {size_bytes} bytes")


class ConsumeParams(TypedDict, total=False):
    """What a consumer's fetch may set for all partitions."""

    min_bytes: int
    max_bytes: int
    max_wait_ms: int
    hard_max_bytes: bool
    isolation: Isolation
    leader_only: bool
    replica_id: int
    client: ClientMetadata


class ConsumeOptions(ConsumeParams, total=False):
    """And for each."""

    partition_max_bytes: int


class ReplicaBench:
    """Broker 1 and what it hosts. Brokers 1 to 4 are alive unless a test says otherwise."""

    def __init__(
        self, settings: BrokerSettings = SWEPT_AT_ONCE, *, directories: Sequence[str] = (DIRECTORY,)
    ) -> None:
        self.clock = ManualClock()
        self.timer = Timer(self.clock)
        self.settings = replace(settings, log_dirs=tuple(directories))
        self.config = TopicConfig()
        self.files = MemoryFileSystem()
        self.run_steps: RunSteps = exhaust
        """A test that looks between two steps takes them itself."""
        self.image = ClusterImage()
        for broker_id in (1, 2, 3, 4):
            self.revive(broker_id)
        self.start()

    def start(self) -> None:
        """Begin with what the disk has."""
        self.effects = RecordedEffects()
        self.turns: deque[Callable[[], None]] = deque()
        self.logs = LogManager.open(
            self.settings,
            cluster_id="bench",
            file_system=self.files,
            clock=self.clock,
            chance=SeededChance(1),
            config_of=lambda topic: self.config,
        )
        self.manager = ReplicaManager(
            HERE,
            self.settings,
            clock=self.clock,
            timer=self.timer,
            logs=self.logs,
            cluster=self.image,
            effects=self.effects,
            defer=self.turns.append,
            run_steps=lambda steps: self.run_steps(steps),
        )

    # --- the cluster

    def revive(self, broker_id: int, rack: str | None = None, listener: str = "PLAINTEXT") -> None:
        endpoint = Endpoint(listener, "PLAINTEXT", "127.0.0.1", 9000 + broker_id)
        self.image.apply(BrokerRegistered(BrokerImage(broker_id, (endpoint,), rack)))

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
        elr: Sequence[int] = (),
        unclean_epoch: int = NO_EPOCH,
        adding: Sequence[int] = (),
    ) -> RoleChanges:
        """A LeaderAndIsr for one partition; by default for the next leader epoch."""
        if epoch is None:
            hosted = self.manager.partition(topic_partition)
            epoch = 0 if hosted is None else hosted.leader_epoch + 1
        state = PartitionImage(
            tuple(replicas or isr),
            tuple(isr),
            leader,
            epoch,
            version,
            adding_replicas=tuple(adding),
            elr=tuple(elr),
            unclean_epoch=unclean_epoch,
        )
        self.make_known(topic_partition, state)
        wanted = LeaderAndIsrPartition(topic_partition, topic_id, state, is_new=True)
        order = LeaderAndIsr(HERE, controller_epoch, 0, (wanted,), ())
        changes = self.manager.become_leader_or_follower(order)
        self.run_turns()
        return changes

    def stop(
        self,
        topic_partition: TopicPartition,
        *,
        epoch: int = -2,
        delete: bool = False,
        controller_epoch: int = 1,
    ) -> RoleChanges:
        wanted = StopReplicaPartition(topic_partition, epoch, delete)
        changes = self.manager.stop_replica(StopReplica(HERE, controller_epoch, 0, (wanted,)))
        self.run_turns()
        return changes

    def partition(self, topic_partition: TopicPartition) -> Partition:
        partition = self.manager.partition(topic_partition)
        assert partition is not None, f"{topic_partition} is not hosted"
        return partition

    def leadership(self, topic_partition: TopicPartition) -> Leadership:
        leadership = self.partition(topic_partition).leadership
        assert leadership is not None, f"{topic_partition} is led elsewhere"
        return leadership

    def log(self, topic_partition: TopicPartition) -> Log:
        log = self.logs.get(topic_partition)
        assert log is not None, f"{topic_partition} has no log"
        return log

    def set_config(self, config: TopicConfig) -> None:
        """The settings of all topics, of logs that are there and of those to come."""
        self.config = config
        for topic in {log.topic_partition.topic for log in self.logs.logs()}:
            self.logs.update_config(topic, config)

    # --- logs

    def flush(self, topic_partition: TopicPartition) -> None:
        """What the effect of that name asks for."""
        self.log(topic_partition).flush()
        self.manager.on_flushed(topic_partition)
        self.run_turns()

    def damage(self, topic_partition: TopicPartition) -> None:
        """Make the first batch one that nobody can read."""
        (segment, *_) = self.log(topic_partition).segments
        self.files.file(segment.file.path).write_at(b"\xff", LENGTH_AT)

    def begin_transaction(self, topic_partition: TopicPartition) -> None:
        """Append one record of a transaction that is open until `end_transaction`."""
        builder = BatchBuilder(
            producer_id=TRANSACTIONAL_PRODUCER, producer_epoch=0, base_sequence=0, is_transactional=True
        )
        builder.append(self.clock.wall_ms(), None, b"x")
        self._append(topic_partition, bytes(builder.build()), Origin.CLIENT)

    def end_transaction(self, topic_partition: TopicPartition) -> None:
        """Append the marker of its commit."""
        marker = build_marker(
            EndTxnMarker(committed=True, coordinator_epoch=0),
            producer_id=TRANSACTIONAL_PRODUCER,
            producer_epoch=0,
            timestamp_ms=self.clock.wall_ms(),
        )
        self._append(topic_partition, bytes(marker), Origin.COORDINATOR)

    def _append(self, topic_partition: TopicPartition, batch: bytes, origin: Origin) -> None:
        outcomes = self.manager.append(
            {topic_partition: batch}, acks=1, timeout_ms=0, later=ProduceAnswers(), origin=origin
        )
        assert outcomes is not None
        assert outcomes[topic_partition].error_code is ErrorCode.NONE
        self.run_turns()

    # --- requests

    def produce(
        self,
        *topic_partitions: TopicPartition,
        acks: int = -1,
        size_bytes: int = BATCH_BYTES,
        timeout_ms: int = 1000,
        internal_allowed: bool = False,
        origin: Origin = Origin.CLIENT,
    ) -> ProduceAnswers:
        """Append a batch of one record to each."""
        answers = ProduceAnswers()
        batch = batch_of(size_bytes, self.clock.wall_ms())
        outcomes = self.manager.append(
            dict.fromkeys(topic_partitions, batch),
            acks=acks,
            timeout_ms=timeout_ms,
            later=answers,
            internal_allowed=internal_allowed,
            origin=origin,
        )
        assert not answers.is_answered, "answered before the call returned"
        deliver(outcomes, answers)
        self.run_turns()
        return answers

    def fetch(self, params: FetchParams, *fetches: PartitionFetch) -> FetchAnswers:
        answers = FetchAnswers()
        read = self.manager.fetch(params, fetches, answers)
        assert not answers.is_answered, "answered before the call returned"
        if not isinstance(read, DelayedFetch):
            answers(read)
        self.run_turns()
        return answers

    def consume(
        self,
        offsets: Mapping[TopicPartition, int],
        partition_max_bytes: int = 1 << 20,
        **params: Unpack[ConsumeParams],
    ) -> FetchAnswers:
        """A consumer's fetch, which waits half a second unless it says otherwise."""
        params.setdefault("max_wait_ms", 500)
        fetches = [PartitionFetch(key, offset, partition_max_bytes) for key, offset in offsets.items()]
        return self.fetch(FetchParams(**params), *fetches)

    def follow(
        self,
        broker_id: int,
        offsets: Mapping[TopicPartition, int],
        *,
        min_bytes: int = 1,
        max_wait_ms: int = 500,
        log_start_offset: int = 0,
        quota: ReplicationQuota | None = None,
    ) -> FetchAnswers:
        params = params_for_follower(
            broker_id, max_wait_ms=max_wait_ms, min_bytes=min_bytes, max_bytes=10 << 20, quota=quota
        )
        fetches = [
            PartitionFetch(key, offset, 1 << 20, log_start_offset=log_start_offset)
            for key, offset in offsets.items()
        ]
        return self.fetch(params, *fetches)

    def delete_records(
        self, offsets: Mapping[TopicPartition, int], *, timeout_ms: int = 1000, internal_allowed: bool = False
    ) -> DeleteAnswers:
        answers = DeleteAnswers()
        work = self.manager.delete_records(
            offsets, timeout_ms=timeout_ms, later=answers, internal_allowed=internal_allowed
        )
        deliver(finish(work), answers)
        self.run_turns()
        return answers

    # --- time, and what waits

    def wake(self, topic_partition: TopicPartition) -> None:
        """Let what waits on a partition look again."""
        self.manager.purgatories.wake_soon(topic_partition)
        self.run_turns()

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
