"""Brokers of one cluster, each with replicas and fetchers over a disk in memory, and no wire between.

brokers = Brokers()
brokers.elect(1, isr=(1, 2))      roles for all that are alive, under the next epoch
brokers[1].produce(3)             three batches of one record
brokers.settle()                  fetchers ask and are answered until nothing moves any more
brokers.check_logs()              byte for byte equal below HW
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from uuid import UUID

from odradek.base.buffers import Buffer
from odradek.base.chance import SeededChance
from odradek.base.clock import ManualClock
from odradek.base.error_codes import ErrorCode
from odradek.base.execution import exhaust
from odradek.base.ids import NO_BROKER_EPOCH, NO_EPOCH, TopicPartition
from odradek.base.settings import BrokerSettings, TopicConfig
from odradek.base.stored_bytes import StoredBytes
from odradek.metadata.image import (
    BrokerGone,
    BrokerImage,
    BrokerRegistered,
    ClusterImage,
    Endpoint,
    PartitionImage,
    TopicCreated,
)
from odradek.metadata.orders import LeaderAndIsr, LeaderAndIsrPartition
from odradek.records.work import finish
from odradek.replication import Isolation, PartitionFetch, ReplicaManager, params_for_follower
from odradek.replication.cut_records import CutRecords
from odradek.replication.delayed_session_fetch import DelayedSessionFetch
from odradek.replication.fetch_session import FollowerLife, IncrementalFetch, SessionOutcomes
from odradek.replication.fetch_session_cache import FetchSessionCache
from odradek.replication.fetcher import (
    Ask,
    EpochEndAnswer,
    EpochEndsAsk,
    FetchAnswer,
    FetchAsk,
    Fetcher,
    FetcherManager,
    Note,
    NoteKind,
    OffsetAnswer,
    OffsetsAsk,
    PartitionAnswer,
    State,
)
from odradek.replication.following import Following
from odradek.storage import EpochEnd, Log, LogManager
from odradek.storage.memory_files import MemoryFileSystem
from odradek.timer import Timer
from tests.replication.replica_bench import Answers, FetchAnswers, ProduceAnswers, RecordedEffects, batch_of

TOPIC_ID = UUID(int=7)
P = TopicPartition("orders", 0)
BATCH_BYTES = 100
SETTINGS = replace(BrokerSettings(), log_dirs=("/data",))
ROUNDS_MAX = 200


def topic_id_of(topic_partition: TopicPartition) -> UUID:
    return UUID(int=7 + sum(topic_partition.topic.encode()))


class Brokers:
    """The cluster: which brokers there are, who leads, and what passes between them."""

    def __init__(self, ids: Sequence[int] = (1, 2, 3), *, config: TopicConfig | None = None) -> None:
        self.clock = ManualClock()
        self.image = ClusterImage()
        self.fetchers_per_source = 1
        self.backoff_ms = 1_000
        self.config = config or TopicConfig()
        self.epochs: dict[TopicPartition, int] = {}
        self.unclean_epoch: int = NO_EPOCH
        self.produced = 0
        self.all = {broker_id: Broker(self, broker_id) for broker_id in ids}

    def __getitem__(self, broker_id: int) -> "Broker":
        return self.all[broker_id]

    @property
    def alive(self) -> list["Broker"]:
        return [broker for broker in self.all.values() if broker.is_alive]

    def elect(
        self,
        leader: int,
        *,
        isr: Sequence[int],
        partition: TopicPartition = P,
        only: Sequence[int] | None = None,
        is_unclean: bool = False,
    ) -> int:
        """Roles under the next epoch, for all live brokers or `only` some; returns the epoch."""
        epoch = self.epochs[partition] = self.epochs.get(partition, -1) + 1
        if is_unclean:
            self.unclean_epoch = epoch
        state = PartitionImage(tuple(self.all), tuple(isr), leader, epoch, unclean_epoch=self.unclean_epoch)
        partitions = {partition.partition: state}
        self.image.apply(TopicCreated(partition.topic, topic_id_of(partition), partitions))
        for broker in self.alive:
            if only is None or broker.broker_id in only:
                broker.take_role(partition, state)
        return epoch

    def round(self) -> None:
        """Each fetcher asks once."""
        for broker in self.alive:
            for fetcher in list(broker.fetchers.fetchers()):
                broker.exchange(fetcher)

    def settle(self) -> None:
        """Rounds until nothing moves any more; delays pass."""
        quiet = 0
        for _ in range(ROUNDS_MAX):
            before = self.picture()
            self.round()
            quiet = quiet + 1 if self.picture() == before else 0
            if quiet == 3:
                return
            if quiet:
                self.clock.advance(self.backoff_ms)
        raise AssertionError(f"does not settle: {self.picture()}")

    def picture(self) -> list[object]:
        """Where every log stands, and what every followed partition does."""
        found: list[object] = []
        for broker in self.alive:
            for log in broker.logs.logs():
                found.append((log.topic_partition, log.log_start_offset, log.end_offset))
                found.append(log.high_watermark.offset)
            for fetcher in broker.fetchers.fetchers():
                found.extend((one.topic_partition, one.state) for one in fetcher.partitions.all())
        return found

    def check_logs(self, partition: TopicPartition = P) -> None:
        """Whatever is below the smallest HW is the same bytes everywhere."""
        logs = [log for broker in self.alive if (log := broker.logs.get(partition)) is not None]
        common = min(log.high_watermark.offset for log in logs)
        start = max(log.log_start_offset for log in logs)
        contents = [records_of(log, start, common) for log in logs]
        assert all(content == contents[0] for content in contents), f"logs differ below {common}"


def records_of(log: Log, start: int, end: int) -> bytes:
    """The bytes of a log between two offsets, which stand between batches."""
    if start >= end:
        return b""
    return whole(log.read(start, 1 << 30, log.position_of(end), at_least_one=True).records)


def whole(records: Buffer | StoredBytes) -> bytes:
    return records.read_at(len(records), 0) if isinstance(records, StoredBytes) else bytes(records)


class Broker:
    """One broker; `start` begins another life on what the disk has."""

    def __init__(self, cluster: Brokers, broker_id: int) -> None:
        self.cluster = cluster
        self.broker_id = broker_id
        self.clock = cluster.clock
        self.disk = MemoryFileSystem(now_ms=self.clock.wall_ms)
        self.is_alive = False
        self.is_reachable = True
        self.notes: list[Note] = []
        self.asks: list[Ask] = []
        """What its fetchers have asked."""
        self.start()

    def start(self) -> None:
        cluster = self.cluster
        self.turns: deque[Callable[[], None]] = deque()
        self.effects = RecordedEffects()
        self.to_settle: list[TopicPartition] = []
        """Partitions whose truncation is not on disk yet, and is not brought there while it is held."""
        self.holds_disk = False
        self.logs = LogManager.open(
            SETTINGS,
            cluster_id="fetchers",
            file_system=self.disk,
            clock=self.clock,
            chance=SeededChance(1),
            config_of=lambda topic: cluster.config,
        )
        self.replicas = ReplicaManager(
            self.broker_id,
            SETTINGS,
            clock=self.clock,
            timer=Timer(self.clock),
            logs=self.logs,
            cluster=cluster.image,
            effects=self.effects,
            defer=self.turns.append,
            run_steps=exhaust,
        )
        self.sessions = FetchSessionCache(
            1000,
            clock=self.clock,
            chance=SeededChance(self.broker_id),
            name_of=lambda topic_id: None,
            events=self.replicas.purgatories.fetch,
            run_steps=exhaust,
        )
        self.cut_off: list[CutRecords] = []
        self.following = Following(
            self.replicas, self.logs, self.to_settle.append, self.turns.append, self.cut_off.append
        )
        self.fetchers = FetcherManager(
            self.following,
            self.clock,
            lambda: cluster.fetchers_per_source,
            lambda: cluster.backoff_ms,
            self.notes.append,
        )
        self.is_alive = True
        endpoint = Endpoint("PLAINTEXT", "PLAINTEXT", "127.0.0.1", 9000 + self.broker_id)
        cluster.image.apply(BrokerRegistered(BrokerImage(self.broker_id, (endpoint,))))

    def kill(self) -> None:
        """Die; what is written stays."""
        self.is_alive = False
        self.disk.kill()
        self.cluster.image.apply(BrokerGone(self.broker_id))

    def lose_power(self) -> None:
        """Die; what was not synced is lost."""
        self.kill()
        self.disk.crash()

    def write_checkpoints(self) -> None:
        """What a broker does every few seconds."""
        checkpoints = self.logs.checkpoints
        for write in (*exhaust(checkpoints.high_watermarks()), *exhaust(checkpoints.recovery_points())):
            write.run()
            checkpoints.written(write)

    def settle_truncations(self) -> None:
        """X6: what a broker does in the background."""
        for partition in dict.fromkeys(self.to_settle):
            log = self.log(partition)
            log.flush()
            self.write_recovery_points()
            assert log.settle(log.truncations)
            self.fetchers.on_settled(partition)
        self.to_settle.clear()

    def write_recovery_points(self) -> None:
        checkpoints = self.logs.checkpoints
        for write in exhaust(checkpoints.recovery_points()):
            write.run()
            checkpoints.written(write)

    def take_role(self, partition: TopicPartition, state: PartitionImage) -> None:
        wanted = LeaderAndIsrPartition(partition, topic_id_of(partition), state, is_new=True)
        changes = self.replicas.become_leader_or_follower(LeaderAndIsr(1, 1, 0, (wanted,), ()))
        assert changes.error_code is ErrorCode.NONE
        for led in changes.leading:
            self.fetchers.unfollow(led.topic_partition)
        for followed in changes.following:
            self.fetchers.follow(
                followed.topic_partition,
                followed.topic_id,
                followed.state.leader,
                followed.state.leader_epoch,
            )
        self.run_turns()

    def log(self, partition: TopicPartition = P) -> Log:
        log = self.logs.get(partition)
        assert log is not None, f"broker {self.broker_id} has no log of {partition}"
        return log

    def state(self, partition: TopicPartition = P) -> State:
        followed = self.fetchers.partition(partition)
        assert followed is not None, f"broker {self.broker_id} does not follow {partition}"
        return followed.state

    def noted(self, kind: NoteKind) -> list[str]:
        return [note.words for note in self.notes if note.kind is kind]

    def produce(
        self,
        count: int = 1,
        partition: TopicPartition = P,
        size_bytes: int = BATCH_BYTES,
        expected: ErrorCode = ErrorCode.NONE,
    ) -> None:
        """Append batches of one record each, no two of them alike."""
        for _ in range(count):
            self.cluster.produced += 1
            batch = batch_of(size_bytes, 1_000_000 + self.cluster.produced)
            written = self.replicas.append({partition: batch}, acks=1, timeout_ms=0, later=ProduceAnswers())
            assert written is not None
            assert written[partition].error_code is expected
        self.run_turns()

    def run_turns(self) -> None:
        while self.turns:
            self.turns.popleft()()

    # --- as a follower

    def exchange(self, fetcher: Fetcher) -> Ask | None:
        """The fetcher asks, and its source answers."""
        ask = fetcher.next_ask()
        if ask is not None:
            self.asks.append(ask)
            source = self.cluster[fetcher.source]
            if not (source.is_alive and source.is_reachable):
                fetcher.on_unanswered("the broker is gone")
            else:
                source.answer(ask, self.broker_id, fetcher)
        if not self.holds_disk:
            self.settle_truncations()
        self.run_turns()
        return ask

    @property
    def fetcher(self) -> Fetcher:
        """The only one."""
        (fetcher,) = self.fetchers.fetchers()
        return fetcher

    # --- as a leader

    def answer(self, ask: Ask, replica_id: int, fetcher: Fetcher) -> None:
        """Give a fetcher the answer to what it asked."""
        match ask:
            case FetchAsk():
                exhaust(fetcher.on_fetched(self.fetched(ask, replica_id)))
            case EpochEndsAsk():
                exhaust(fetcher.on_epoch_ends(self.epoch_ends(ask)))
            case OffsetsAsk():
                exhaust(fetcher.on_offsets(self.offsets(ask)))
        self.run_turns()

    def fetched(self, ask: FetchAsk, replica_id: int) -> FetchAnswer:
        fetches = [
            PartitionFetch(
                one.topic_partition,
                one.fetch_offset,
                1 << 20,
                one.leader_epoch,
                one.last_fetched_epoch,
                one.log_start_offset,
                one.topic_id,
            )
            for one in ask.asks
        ]
        context = self.sessions.context(
            ask.session_id,
            ask.session_epoch,
            fetches,
            [(one.topic_id, one.topic_partition.partition) for one in ask.forgotten],
            follower=FollowerLife(replica_id, NO_BROKER_EPOCH),
            uses_topic_ids=True,
        )
        if isinstance(context, ErrorCode):
            return FetchAnswer(context)
        params = params_for_follower(replica_id, max_wait_ms=0, min_bytes=1, max_bytes=10 << 20)
        if isinstance(context, IncrementalFetch):
            later: Answers[SessionOutcomes] = Answers()
            news = self.replicas.fetch_news(params, context.session, later)
            assert not isinstance(news, DelayedSessionFetch)
            answer = context.answer(news)
        else:
            outcomes = self.replicas.fetch(params, context.fetches, FetchAnswers())
            assert isinstance(outcomes, list)
            answer = context.answer(outcomes)
        return FetchAnswer(
            answer.error_code,
            answer.session_id,
            [
                PartitionAnswer(
                    fetch.topic_partition,
                    outcome.error_code,
                    outcome.high_watermark,
                    outcome.log_start_offset,
                    whole(outcome.records),
                    outcome.diverging_epoch,
                )
                for fetch, outcome in answer.partitions
            ],
        )

    def epoch_ends(self, ask: EpochEndsAsk) -> list[EpochEndAnswer]:
        answers = []
        for one in ask.asks:
            found = self.replicas.end_offset_for_epoch(
                one.topic_partition, one.epoch, current_leader_epoch=one.leader_epoch
            )
            end = EpochEnd(found.leader_epoch, found.end_offset)
            answers.append(EpochEndAnswer(one.topic_partition, found.error_code, end))
        return answers

    def offsets(self, ask: OffsetsAsk) -> list[OffsetAnswer]:
        answers = []
        for one in ask.asks:
            partition = self.replicas.partition(one.topic_partition)
            is_led = partition is not None and partition.leadership is not None
            found = finish(
                self.replicas.list_offset(
                    one.topic_partition,
                    -2 if one.is_earliest else -1,
                    isolation=Isolation.LOG_END,
                    current_leader_epoch=one.leader_epoch,
                )
            )
            assert is_led or found.error_code is not ErrorCode.NONE
            answers.append(OffsetAnswer(one.topic_partition, found.error_code, found.offset))
        return answers
