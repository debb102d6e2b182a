"""One of the two brokers in the model of fetch sessions, with its clients and the store of its ISRs."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from enum import Enum
from typing import Any, Final
from uuid import UUID

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import exhaust
from odradek.base.ids import NO_EPOCH, NO_TOPIC_ID, TopicPartition
from odradek.metadata.image import BrokerGone
from odradek.replication import FetchParams, Isolation, PartitionFetch, StoredState, params_for_follower
from odradek.replication.fetch_session import (
    FINAL_EPOCH,
    INITIAL_EPOCH,
    NO_SESSION_ID,
    FetchSession,
    FullFetch,
    SessionKey,
    is_news,
)
from odradek.replication.fetch_session_cache import EVICTION_MS
from odradek.replication.isr import IsrChange
from odradek.replication.reading import Reader
from odradek.replication.session_news import SessionPartition
from tests.replication.replica_bench import BATCH_BYTES, HERE, FakeQuota, ReplicaBench, batch_of
from tests.replication.session_clients import TOPIC, ByNews, Client, FullScan, new_cache

PARTITIONS: Final = tuple(TopicPartition(TOPIC, number) for number in range(4))
REPLICAS: Final = (HERE, 2, 3)
FOLLOWERS: Final = (2, 3)
COMMITTED: Final = 3
"""The consumer that reads committed records, or all, from one fetch to the next."""
ANY_REPLICA: Final = 4
"""The consumer that may read from followers; it names topics by their ids."""
CLIENTS: Final = 5


class Written(Enum):
    """What becomes of a write to the store."""

    YES = "it is stored, and answered"
    UNKNOWN = "it is stored, and the answer is lost"
    NO = "it is not stored, and there is no answer"


class Broker:
    """A broker with five clients: followers 2 and 3, and three consumers."""

    def __init__(self, *, by_news: bool, slots: int) -> None:
        self.bench = ReplicaBench()
        self.quota = FakeQuota(lambda named: named.partition % 2 == 0)
        self.topic_id = UUID(int=7)
        self.store: dict[TopicPartition, StoredState] = {}
        self.acknowledged: list[Any] = []
        self.cache = new_cache(self.bench, slots)
        self._reader = Reader(self.bench.manager._hosted, lambda partition, error: None)
        """Changes no state."""
        self.clients: list[Client] = [
            ByNews(self.bench, params, self.cache, uses_topic_ids=number == ANY_REPLICA)
            if by_news
            else FullScan(
                self.bench, params, self.bench.manager.topic_name, uses_topic_ids=number == ANY_REPLICA
            )
            for number, params in enumerate(self._params())
        ]

    def _params(self) -> list[FetchParams]:
        followers = [
            params_for_follower(replica, max_wait_ms=0, min_bytes=1, max_bytes=1 << 20, quota=self.quota)
            for replica in FOLLOWERS
        ]
        consumers = [FetchParams(), FetchParams(isolation=Isolation.LAST_STABLE)]
        return [*followers, *consumers, FetchParams(leader_only=False)]

    # --- the controller and the store

    def order(self, partition: TopicPartition, leader: int, isr: Sequence[int]) -> None:
        """A LeaderAndIsr under the next epoch; what the store holds is from the controller then."""
        self._forget_writes(partition)
        self.bench.order(partition, leader=leader, isr=isr, replicas=REPLICAS, topic_id=self.topic_id)
        hosted = self.bench.partition(partition)
        self.store[partition] = StoredState(leader, hosted.leader_epoch, 1, tuple(isr), 0)

    def stop(self, partition: TopicPartition, *, delete: bool) -> None:
        """A StopReplica."""
        self._forget_writes(partition)
        self.bench.stop(partition, delete=delete)

    def recreate_topic(self) -> None:
        """The topic is deleted, and another of its name is led here by the next orders."""
        for partition in PARTITIONS:
            self.stop(partition, delete=True)
        self.topic_id = UUID(int=self.topic_id.int + 1)

    def _forget_writes(self, partition: TopicPartition) -> None:
        writes = self.bench.effects.isr_writes
        writes[:] = [write for write in writes if write.topic_partition != partition]

    def settle_isr(self, written: Written) -> None:
        """What becomes of the ISR writes under way."""
        writes, self.bench.effects.isr_writes = self.bench.effects.isr_writes, []
        for change in writes:
            self._write(change, written)
        self.bench.run_turns()

    def _write(self, change: IsrChange, written: Written) -> None:
        stored = self.store[change.topic_partition]
        maintenance = self.bench.manager.isr_maintenance
        if written is not Written.NO and change.state_version != stored.version:
            maintenance.on_lost_race(change, stored)
            return
        if written is not Written.NO:
            version = stored.version + 1
            self.store[change.topic_partition] = replace(
                stored, isr=change.new_isr, elr=change.new_elr, version=version
            )
            if written is Written.YES:
                maintenance.on_written(change, version)
                return
        maintenance.on_failed(change)

    def expire(self) -> None:
        """The round in which replicas out of sync are dropped."""
        exhaust(self.bench.manager.isr_maintenance.expire())
        self.bench.run_turns()

    def toggle_broker(self, broker_id: int) -> None:
        """A broker dies, or is registered again."""
        if self.bench.image.is_live(broker_id):
            self.bench.image.apply(BrokerGone(broker_id))
        else:
            self.bench.revive(broker_id)

    def set_min_isr(self, replicas: int) -> None:
        """`min.insync.replicas` of the topic."""
        self.bench.set_config(replace(self.bench.config, min_insync_replicas=replicas))

    # --- clients

    def produce(self, partition: TopicPartition, acks: int, size_bytes: int, *, rolls: bool) -> None:
        """Append a batch; where the partition is followed here, it comes from its leader.

        A batch that is refused begins no segment.
        """
        hosted = self.bench.manager.partition(partition)
        is_refused = hosted is None or (acks == -1 and hosted.is_under_min_isr)
        if rolls and not is_refused:
            self.bench.log(partition).roll()
        if hosted is not None and hosted.leadership is None:
            end = hosted.log.end_offset
            batch = batch_of(size_bytes, self.bench.clock.wall_ms(), end)
            self.bench.manager.on_leader_answered(partition, batch, end + (acks == -1), 0)
            self.bench.run_turns()
            return
        answer = self.bench.produce(partition, acks=acks, size_bytes=size_bytes, timeout_ms=30_000)
        self.acknowledged.append(answer)

    def retire(self, partition: TopicPartition) -> None:
        """Retention drops all that is below HW; where that is all that there is, the log begins a segment."""
        if self.bench.manager.partition(partition) is None:
            return
        config = self.bench.config
        self.bench.set_config(replace(config, retention_bytes=0))
        retired = self.bench.log(partition).retire(self.bench.clock.wall_ms())
        self.bench.set_config(config)
        if retired is not None:
            self.bench.manager.on_log_start_rose(partition)
            self.bench.run_turns()

    def transact(self, partition: TopicPartition, *, ends: bool) -> None:
        """Begin or end a transaction, if the partition is led here."""
        hosted = self.bench.manager.partition(partition)
        if hosted is None or hosted.leadership is None:
            return
        if ends:
            self.bench.end_transaction(partition)
        else:
            self.bench.begin_transaction(partition)

    def is_busy(self, client: int, *, is_impatient: bool) -> bool:
        """Whether a client waits for an answer: an impatient one goes on all the same, in a session."""
        one = self.clients[client]
        return one.waiting is not None and not (is_impatient and one.has_session)

    def fetches(
        self, client: int, partitions: Iterable[TopicPartition], behind: int, last_epoch: int
    ) -> list[PartitionFetch]:
        """Partitions as a client names them: this number of records behind their ends."""
        has_ids = self.clients[client].uses_topic_ids
        topic_id = self.topic_id if has_ids else NO_TOPIC_ID
        known = self.bench.manager.topic_name(topic_id) if has_ids else TOPIC
        found = []
        for partition in partitions:
            hosted = self.bench.manager.partition(partition)
            end, start = (0, 0) if hosted is None else (hosted.log.end_offset, hosted.log.log_start_offset)
            offset = max(0, end - behind)
            found.append(
                PartitionFetch(
                    TopicPartition(known or "", partition.partition),
                    offset,
                    3 * BATCH_BYTES,
                    last_fetched_epoch=last_epoch if hosted is not None and offset else NO_EPOCH,
                    log_start_offset=start,
                    topic_id=topic_id,
                )
            )
        return found

    def keys(self, client: int, partitions: Iterable[TopicPartition]) -> list[SessionKey]:
        """Partitions as a client names those that it drops."""
        has_ids = self.clients[client].uses_topic_ids
        return [(self.topic_id if has_ids else one.topic, one.partition) for one in partitions]

    def fetch(
        self,
        client: int,
        moved: Iterable[TopicPartition],
        behind: int = 0,
        last_epoch: int = NO_EPOCH,
        forgotten: Iterable[TopicPartition] = (),
    ) -> None:
        """Let a client fetch on; without a session it names the first three partitions instead."""
        one = self.clients[client]
        named = moved if one.has_session else PARTITIONS[:3]
        one.fetch(self.fetches(client, named, behind, last_epoch), self.keys(client, forgotten))
        self.bench.run_turns()

    def end_session(self, client: int, *, begins_again: bool) -> None:
        """Let a client end its session, and begin another or fetch without one."""
        one = self.clients[client]
        named = self.fetches(client, PARTITIONS[:3], 1, NO_EPOCH)
        if begins_again:
            one.begin_again(named)
        else:
            one.leave(named)
        self.bench.run_turns()

    def crowd_out(self, partitions: int) -> None:
        """A consumer opens a session, which may take the place of another, and is not heard of again."""
        if self.clients and isinstance(self.clients[0], ByNews):
            named = self.fetches(0, PARTITIONS[:partitions], 0, NO_EPOCH)
            context = self.cache.context(
                NO_SESSION_ID, INITIAL_EPOCH, named, follower=None, uses_topic_ids=False
            )
            assert isinstance(context, FullFetch)
            context.answer(self._reader.read(FetchParams(), named))
            self.bench.run_turns()

    def close_all(self) -> None:
        """End all sessions that the broker has."""
        for session_id in list(self.cache._sessions):
            self.cache.context(session_id, FINAL_EPOCH, (), follower=None, uses_topic_ids=False)
        self.bench.run_turns()

    # --- what is compared

    def answers(self) -> list[Any]:
        """What clients were answered since the last call."""
        found: list[Any] = [client.answers for client in self.clients]
        for client in self.clients:
            client.answers = []
        found.append([one.only if one.is_answered else None for one in self.acknowledged])
        self.acknowledged = [one for one in self.acknowledged if not one.is_answered]
        return found

    def lists(self) -> dict[TopicPartition, list[object]]:
        """The open operations by partition: a fetch by its client, a produce by what it waits for."""
        names: dict[int, object] = {id(client.waiting): n for n, client in enumerate(self.clients)}
        found: dict[TopicPartition, list[object]] = {}
        for purgatory in self.bench.manager.purgatories.all():
            for key, operations in purgatory.watchers().items():
                for operation in operations:
                    if not operation.is_completed:
                        found.setdefault(key, []).append(names.get(id(operation), operation.waits_for()))
        return found

    def watched(self) -> list[int]:
        """The lengths of all lists together, by purgatory: completed operations are among them."""
        return [purgatory.watched for purgatory in self.bench.manager.purgatories.all()]

    def counts(self) -> tuple[Any, ...]:
        """What is exported of the purgatories and of the fetches."""
        purgatory, meters = self.bench.manager.purgatories.fetch, self.bench.manager.meters
        total = meters.total()
        return (
            purgatory.delayed,
            len(list(purgatory.describe())),
            total.bytes_out,
            total.replication_bytes_out,
            meters.consumer_fetch_expirations,
            meters.follower_fetch_expirations,
            meters.isr_shrinks,
            meters.isr_expansions,
            self.quota.recorded,
        )

    # --- what must hold

    def check_waiting(self) -> None:
        """No fetch waits that could answer with records that no quota may hold back, or with an error."""
        over, self.quota.is_over = self.quota.is_over, True
        for client in self.clients:
            if client.waiting is not None:
                self._check_waiting(client)
        self.quota.is_over = over

    def _check_waiting(self, client: Client) -> None:
        outcomes = self._reader.read(replace(client.asked, max_bytes=1 << 30), client.asked_for)
        for fetch, outcome in zip(client.asked_for, outcomes, strict=True):
            # A fetch whose offset is deleted while it waits is answered at its deadline, as in Kafka.
            expected = (ErrorCode.NONE, ErrorCode.OFFSET_OUT_OF_RANGE)
            assert outcome.error_code in expected, (fetch, outcome)
            assert outcome.diverging_epoch is None, (fetch, outcome)
        assert sum(len(outcome.records) for outcome in outcomes) < client.asked.min_bytes

    def check_quiet(self) -> None:
        """Every session's quiet partitions are what `session_news` says of them."""
        listed = 0
        for session in self.cache._sessions.values():
            listed += sum(one.is_entered for one in session.partitions.values())
            for partition in session.partitions.values():
                self._check_listens(session, partition)
                if partition not in session.news.unread:
                    self._check_quiet(session, partition)
        standing = self.bench.manager.purgatories.fetch.standing
        assert sum(len(entries) for entries in standing.values()) == listed
        assert self.cache.partitions == sum(len(one.partitions) for one in self.cache._sessions.values())

    def _check_listens(self, session: FetchSession, partition: SessionPartition) -> None:
        news = session.news
        if not partition.is_entered:
            assert partition in news.unread
            assert not news.has_open_operation or not partition.fetch.topic_partition.topic

    def _check_quiet(self, session: FetchSession, partition: SessionPartition) -> None:
        params = next(one.asked for one in self.clients if isinstance(one, ByNews) and one.session is session)
        (outcome,) = self._reader.read(params, [partition.fetch])
        assert not is_news(partition, outcome), (partition.fetch, outcome)
        hosted = self.bench.partition(partition.fetch.topic_partition)
        assert partition.fetch.fetch_offset == hosted.bound(params.isolation).offset
        if params.is_from_follower:
            leadership = self.bench.leadership(partition.fetch.topic_partition)
            assert params.replica_id in leadership.isr
            assert partition.stands is leadership.remotes[params.replica_id]


NEVER_AGAIN_MS: Final = EVICTION_MS + 1
"""After this time without use a session may be evicted by any other."""
