"""Fetch sessions by news, and the same sessions by a look at every partition: two brokers, the same events.

One broker serves incremental fetches as it always does. For the other, `FullScan` reads, notes and parks all
partitions of the session at every request, without knowing what has changed. After each event both must have
given the same answers, know the same of their followers, and have the same fetches in the same lists.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from odradek.base.chance import SeededChance
from odradek.base.error_codes import ErrorCode
from odradek.base.execution import exhaust
from odradek.base.ids import NO_EPOCH, NO_OFFSET, TopicPartition
from odradek.replication import FetchOutcome, FetchParams, Isolation, PartitionFetch, params_for_follower
from odradek.replication.delayed_session_fetch import DelayedSessionFetch
from odradek.replication.fetch_session import (
    FetchAnswer,
    FullFetch,
    IncrementalFetch,
    SessionKey,
    SessionOutcomes,
    key_of,
)
from odradek.replication.fetch_session_cache import FetchSessionCache
from tests.replication.fetcher.brokers import whole
from tests.replication.replica_bench import BATCH_BYTES, HERE, FakeQuota, FetchAnswers, ReplicaBench

PARTITIONS: Final = tuple(TopicPartition("orders", number) for number in range(4))
REPLICAS: Final = (HERE, 2, 3)
LAG_MS: Final = 10_000
A_PARTITION = st.sampled_from(PARTITIONS)
SOME = st.lists(A_PARTITION, max_size=3, unique=True)


@dataclass
class Sent:
    """What a client was last sent of a partition."""

    fetch: PartitionFetch
    offsets: tuple[int, int, int] = (NO_OFFSET, NO_OFFSET, NO_OFFSET)


def told(fetch: PartitionFetch, outcome: FetchOutcome) -> tuple[Any, ...]:
    """A partition's part of an answer, as a client sees it."""
    return (
        fetch.topic_partition.partition,
        outcome.error_code,
        outcome.high_watermark,
        outcome.last_stable_offset,
        outcome.log_start_offset,
        whole(outcome.records),
        outcome.diverging_epoch,
    )


def with_records(answer: Iterable[tuple[Any, ...]]) -> list[TopicPartition]:
    return [PARTITIONS[part[0]] for part in answer if part[5]]


class ByNews:
    """A client whose session is the broker's own."""

    def __init__(self, bench: ReplicaBench, cache: FetchSessionCache, params: FetchParams) -> None:
        self.bench = bench
        self.answers: list[list[tuple[Any, ...]]] = []
        self.got: list[TopicPartition] = []
        """The partitions with records in the latest answer."""
        self.waiting: DelayedSessionFetch | None = None
        self._cache = cache
        self._epoch = 0
        self._id = 0
        self._is_follower = params.is_from_follower

    def fetch(
        self, params: FetchParams, named: Sequence[PartitionFetch], forgotten: Sequence[SessionKey]
    ) -> None:
        context = self._cache.context(
            self._id, self._epoch, named, forgotten, is_follower=self._is_follower, uses_topic_ids=False
        )
        assert not isinstance(context, ErrorCode)
        if isinstance(context, FullFetch):
            outcomes = self.bench.manager.fetch(params, context.fetches, FetchAnswers())
            assert isinstance(outcomes, list), "a session begins without a wait here"
            self._take(context.answer(outcomes))
            return
        assert isinstance(context, IncrementalFetch)
        session = context

        def later(outcomes: SessionOutcomes) -> None:
            self.waiting = None
            self._take(session.answer(outcomes))

        read = self.bench.manager.fetch_news(params, session.session, later)
        if isinstance(read, DelayedSessionFetch):
            self.waiting = read
        else:
            later(read)

    def _take(self, answer: FetchAnswer) -> None:
        assert answer.error_code is ErrorCode.NONE
        assert answer.session_id
        self._id, self._epoch = answer.session_id, self._epoch + 1
        self.answers.append([told(fetch, outcome) for fetch, outcome in answer.partitions])
        self.got = with_records(self.answers[-1])


class FullScan:
    """The reference: every request fetches all partitions of the session, as if there were none."""

    def __init__(self, bench: ReplicaBench) -> None:
        self.bench = bench
        self.answers: list[list[tuple[Any, ...]]] = []
        self.got: list[TopicPartition] = []
        self.waiting: object = None
        self._sent: dict[SessionKey, Sent] = {}

    def fetch(
        self, params: FetchParams, named: Sequence[PartitionFetch], forgotten: Sequence[SessionKey]
    ) -> None:
        is_full = not self._sent
        for fetch in named:
            self._sent.setdefault(key_of(fetch), Sent(fetch)).fetch = fetch
        for key in forgotten:
            self._sent.pop(key, None)
        all_of_it = list(self._sent.values())

        def later(outcomes: list[FetchOutcome]) -> None:
            self.waiting = None
            self.answers.append(list(self._news(all_of_it, outcomes, is_full=is_full)))
            self.got = with_records(self.answers[-1])

        read = self.bench.manager.fetch(params, [sent.fetch for sent in all_of_it], later)
        if isinstance(read, list):
            later(read)
        else:
            self.waiting = read

    def _news(
        self, all_of_it: Iterable[Sent], outcomes: Iterable[FetchOutcome], *, is_full: bool
    ) -> Iterable[tuple[Any, ...]]:
        for sent, outcome in zip(all_of_it, outcomes, strict=True):
            offsets = (outcome.high_watermark, outcome.last_stable_offset, outcome.log_start_offset)
            has_failed = outcome.error_code is not ErrorCode.NONE
            has_records = len(outcome.records) > 0
            if not (
                is_full or has_records or has_failed or outcome.diverging_epoch or offsets != sent.offsets
            ):
                continue
            sent.offsets = (NO_OFFSET, *offsets[1:]) if has_failed else offsets
            if has_records and not is_full:
                key = key_of(sent.fetch)
                self._sent[key] = self._sent.pop(key)
            yield told(sent.fetch, outcome)


class Broker:
    """One of the two brokers, with its clients: followers 2 and 3, and a consumer of each isolation level."""

    def __init__(self, *, by_news: bool) -> None:
        self.bench = ReplicaBench()
        self.quota = FakeQuota(lambda named: named.partition % 2 == 0)
        self.params = [
            params_for_follower(replica, max_wait_ms=0, min_bytes=1, max_bytes=1 << 20, quota=self.quota)
            for replica in (2, 3)
        ]
        self.params.append(FetchParams(isolation=Isolation.HIGH_WATERMARK))
        self.params.append(FetchParams(isolation=Isolation.LAST_STABLE))
        self.clients: list[ByNews | FullScan] = [FullScan(self.bench) for _ in self.params]
        if by_news:
            cache = FetchSessionCache(
                1000,
                clock=self.bench.clock,
                chance=SeededChance(1),
                name_of=lambda topic_id: None,
                events=self.bench.manager.purgatories.fetch,
                run_steps=exhaust,
            )
            self.clients = [ByNews(self.bench, cache, params) for params in self.params]
        self.acknowledged: list[Any] = []

    def produce(self, partition: TopicPartition, acks: int, size_bytes: int) -> None:
        answer = self.bench.produce(partition, acks=acks, size_bytes=size_bytes, timeout_ms=30_000)
        self.acknowledged.append(answer)

    def fetch(
        self,
        client: int,
        moved: Iterable[TopicPartition],
        behind: int,
        last_epoch: int,
        forgotten: Iterable[TopicPartition],
    ) -> None:
        """Let a client fetch, unless its last fetch still waits; see `Sessions.fetch`."""
        if self.clients[client].waiting is not None:
            return
        named = []
        for partition in moved:
            hosted = self.bench.manager.partition(partition)
            end, start = (0, 0) if hosted is None else (hosted.log.end_offset, hosted.log.log_start_offset)
            offset = max(0, end - behind)
            epoch = last_epoch if hosted is not None and offset else NO_EPOCH
            named.append(
                PartitionFetch(
                    partition, offset, 3 * BATCH_BYTES, last_fetched_epoch=epoch, log_start_offset=start
                )
            )
        kept = PARTITIONS[0]  # a session that forgets all is closed
        self.clients[client].fetch(
            self.params[client], named, [(one.topic, one.partition) for one in forgotten if one != kept]
        )
        self.bench.run_turns()

    def settle_isr(self, *, succeeds: bool) -> None:
        """What the store answers to the ISR writes under way."""
        writes, self.bench.effects.isr_writes = self.bench.effects.isr_writes, []
        for change in writes:
            if succeeds:
                self.bench.manager.isr_maintenance.on_written(change, change.state_version + 1)
            else:
                self.bench.manager.isr_maintenance.on_failed(change)
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
        )


class Sessions(RuleBasedStateMachine):
    """The same events for a broker that goes by news and for one that looks at everything."""

    @initialize(isr=st.sampled_from([(1, 2, 3), (1, 2), (1,)]))
    def begin(self, isr: tuple[int, ...]) -> None:
        self.brokers = [Broker(by_news=True), Broker(by_news=False)]
        for broker in self.brokers:
            for partition in PARTITIONS:
                broker.bench.order(partition, isr=isr, replicas=REPLICAS)
            fetches = [PartitionFetch(partition, 0, 1 << 20) for partition in PARTITIONS[:3]]
            for client, params in zip(broker.clients, broker.params, strict=True):
                client.fetch(params, fetches, ())

    @rule(partition=A_PARTITION, acks=st.sampled_from([1, -1]), batches=st.integers(1, 3))
    def produce(self, partition: TopicPartition, acks: int, batches: int) -> None:
        for broker in self.brokers:
            broker.produce(partition, acks, batches * BATCH_BYTES)

    @rule(
        client=st.integers(0, 3),
        moved=SOME,
        behind=st.integers(-1, 2),
        last_epoch=st.integers(-1, 2),
        forgotten=st.lists(A_PARTITION, max_size=1),
        min_bytes=st.integers(1, 5),
        max_bytes=st.sampled_from([1 << 20, 2 * BATCH_BYTES]),
        max_wait_ms=st.sampled_from([0, 500]),
    )
    def fetch(
        self,
        client: int,
        moved: list[TopicPartition],
        behind: int,
        last_epoch: int,
        forgotten: list[TopicPartition],
        min_bytes: int,
        max_bytes: int,
        max_wait_ms: int,
    ) -> None:
        """Name some partitions at, below or above their ends, and wait for a number of batches or not."""
        for broker in self.brokers:
            params = broker.params[client]
            params.max_wait_ms, params.min_bytes = max_wait_ms, min_bytes * BATCH_BYTES
            params.max_bytes = max_bytes
            broker.fetch(client, moved, behind, last_epoch, forgotten)

    @rule(clients=st.sets(st.integers(0, 3), min_size=1), min_bytes=st.integers(1, 3))
    def go_on(self, clients: set[int], min_bytes: int) -> None:
        """Clients fetch on behind the records that they got, as they mostly do, and wait."""
        for client in sorted(clients):
            for broker in self.brokers:
                params = broker.params[client]
                params.max_wait_ms, params.min_bytes, params.max_bytes = 500, min_bytes * BATCH_BYTES, 1 << 20
                broker.fetch(client, broker.clients[client].got, 0, NO_EPOCH, ())

    @rule(partition=A_PARTITION, leader=st.sampled_from([1, 1, 2]), isr=st.sampled_from([(1, 2, 3), (1, 2)]))
    def change_role(self, partition: TopicPartition, leader: int, isr: tuple[int, ...]) -> None:
        for broker in self.brokers:
            broker.bench.effects.isr_writes.clear()  # the store has another state since
            broker.bench.order(partition, leader=leader, isr=isr, replicas=REPLICAS)

    @rule(partition=A_PARTITION, delete=st.booleans())
    def stop(self, partition: TopicPartition, delete: bool) -> None:
        for broker in self.brokers:
            broker.bench.effects.isr_writes.clear()
            broker.bench.stop(partition, delete=delete)

    @rule(partition=A_PARTITION)
    def delete_records(self, partition: TopicPartition) -> None:
        for broker in self.brokers:
            broker.bench.delete_records({partition: -1})

    @rule(partition=A_PARTITION, ends=st.booleans())
    def transact(self, partition: TopicPartition, ends: bool) -> None:
        for broker in self.brokers:
            hosted = broker.bench.manager.partition(partition)
            if hosted is None or hosted.leadership is None:
                return
            if ends:
                broker.bench.end_transaction(partition)
            else:
                broker.bench.begin_transaction(partition)

    @rule(succeeds=st.booleans())
    def settle_isr(self, succeeds: bool) -> None:
        for broker in self.brokers:
            broker.settle_isr(succeeds=succeeds)

    @rule(by_ms=st.sampled_from([1, 100, 500, 6_000]))
    def pass_time(self, by_ms: int) -> None:
        for broker in self.brokers:
            broker.bench.pass_time(by_ms)
            exhaust(broker.bench.manager.isr_maintenance.expire())
            broker.bench.run_turns()

    @rule()
    def exceed_or_restore_the_quota(self) -> None:
        for broker in self.brokers:
            broker.quota.is_over = not broker.quota.is_over

    @precondition(lambda self: hasattr(self, "brokers"))
    @invariant()
    def both_are_equal(self) -> None:
        one, other = self.brokers
        assert one.answers() == other.answers()
        assert one.lists() == other.lists()
        assert one.counts() == other.counts()
        assert list(one.bench.manager.describe()) == list(other.bench.manager.describe())
        assert one.bench.effects.isr_writes == other.bench.effects.isr_writes

    @precondition(lambda self: hasattr(self, "brokers"))
    @invariant()
    def a_sweep_leaves_the_same_lists(self) -> None:
        for broker in self.brokers:
            broker.bench.purge()
        one, other = (broker.bench.manager.purgatories for broker in self.brokers)
        assert [found.watched for found in one.all()] == [found.watched for found in other.all()]


TestSessions = pytest.mark.slow(Sessions.TestCase)
"""F10, R10, D3: that a session goes by news shows nowhere but in what it costs."""
TestSessions.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
