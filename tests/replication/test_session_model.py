"""Fetch sessions by news, and the same sessions by a look at every partition: two brokers, the same events.

One broker serves incremental fetches as it always does. For the other, `FullScan` reads, notes and parks all
partitions of the session at every request, without knowing what has changed. After each event both must have
given the same answers, know the same of their followers, and have the same fetches in the same lists; and no
fetch may wait that could answer.
"""

from typing import cast

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from odradek.base.ids import NO_EPOCH, TopicPartition
from odradek.replication import Isolation
from tests.replication.replica_bench import BATCH_BYTES, HERE
from tests.replication.session_brokers import (
    CLIENTS,
    COMMITTED,
    FOLLOWERS,
    NEVER_AGAIN_MS,
    PARTITIONS,
    Broker,
    Written,
)
from tests.replication.session_clients import ByNews, FullScan

SLOTS_MANY = 1_000
A_PARTITION = st.sampled_from(PARTITIONS)
SOME = st.lists(A_PARTITION, max_size=3, unique=True)
A_CLIENT = st.integers(0, CLIENTS - 1)
AN_ISR = st.sampled_from([(1, 2, 3), (1, 2), (1,)])


class Sessions(RuleBasedStateMachine):
    """The same events for a broker that goes by news and for one that looks at everything."""

    @initialize(isr=AN_ISR, slots=st.sampled_from([SLOTS_MANY, SLOTS_MANY, 3]))
    def begin(self, isr: tuple[int, ...], slots: int) -> None:
        self.has_room = slots == SLOTS_MANY
        self.brokers = [Broker(by_news=True, slots=slots), Broker(by_news=False, slots=slots)]
        for broker in self.brokers:
            for partition in PARTITIONS:
                broker.order(partition, HERE, isr)
        for client in range(CLIENTS):
            self._fetch(client, [], min_bytes=1, max_wait_ms=0)

    # --- clients

    def _fetch(
        self,
        client: int,
        moved: list[TopicPartition],
        *,
        min_bytes: int,
        max_wait_ms: int,
        max_bytes: int = 1 << 20,
        behind: int = 0,
        last_epoch: int = NO_EPOCH,
        forgotten: tuple[TopicPartition, ...] = (),
        is_impatient: bool = False,
    ) -> None:
        for broker in self.brokers:
            if not broker.is_busy(client, is_impatient=is_impatient):
                params = broker.clients[client].params
                params.max_wait_ms, params.min_bytes = max_wait_ms, min_bytes * BATCH_BYTES
                params.max_bytes = max_bytes
                if not self.has_room and not broker.clients[client].has_session:
                    params.max_wait_ms = 0  # or its session makes another one go while time passes
                broker.fetch(client, moved, behind, last_epoch, forgotten)
        self._learn_of_evictions()

    def _learn_of_evictions(self) -> None:
        """Which session has room, and which makes room, is the business of the cache, which has its tests."""
        for one, other in zip(*(broker.clients for broker in self.brokers), strict=True):
            news, reference = cast(ByNews, one), cast(FullScan, other)
            if not news.has_session and reference.has_session:
                assert not self.has_room
                reference.forget_session()
            if news.has_session and news.session is None and not reference.is_evicted:
                reference.evict()
                reference.bench.run_turns()

    @rule(
        partition=A_PARTITION, acks=st.sampled_from([1, -1]), batches=st.integers(1, 3), rolls=st.booleans()
    )
    def produce(self, partition: TopicPartition, acks: int, batches: int, rolls: bool) -> None:
        for broker in self.brokers:
            broker.produce(partition, acks, batches * BATCH_BYTES, rolls=rolls)

    @rule(
        client=A_CLIENT,
        moved=SOME,
        behind=st.integers(-1, 2),
        last_epoch=st.integers(-1, 2),
        forgotten=st.lists(A_PARTITION, max_size=2),
        min_bytes=st.integers(0, 5),
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
        self._fetch(
            client,
            moved,
            min_bytes=min_bytes,
            max_wait_ms=max_wait_ms,
            max_bytes=max_bytes,
            behind=behind,
            last_epoch=last_epoch,
            forgotten=tuple(forgotten),
        )

    @rule(clients=st.sets(A_CLIENT, min_size=1), min_bytes=st.integers(1, 3))
    def go_on(self, clients: set[int], min_bytes: int) -> None:
        """Clients fetch on behind the records that they got, as they mostly do, and wait."""
        for client in sorted(clients):
            got = self.brokers[0].clients[client].got
            self._fetch(client, got, min_bytes=min_bytes, max_wait_ms=500)

    @rule(client=A_CLIENT, moved=SOME, max_wait_ms=st.sampled_from([0, 500]))
    def fetch_impatiently(self, client: int, moved: list[TopicPartition], max_wait_ms: int) -> None:
        """Fetch although the last fetch of the session has no answer yet."""
        self._fetch(client, moved, min_bytes=1, max_wait_ms=max_wait_ms, is_impatient=True)

    @rule(isolation=st.sampled_from([Isolation.HIGH_WATERMARK, Isolation.LAST_STABLE]))
    def change_isolation(self, isolation: Isolation) -> None:
        """The next fetch of a consumer, in the same session, reads by another isolation level."""
        for broker in self.brokers:
            broker.clients[COMMITTED].params.isolation = isolation

    @rule(client=A_CLIENT)
    def lose_connection(self, client: int) -> None:
        for broker in self.brokers:
            broker.clients[client].lose_connection()

    @rule(client=A_CLIENT, begins_again=st.booleans(), max_wait_ms=st.sampled_from([0, 500]))
    def end_session(self, client: int, begins_again: bool, max_wait_ms: int) -> None:
        for broker in self.brokers:
            if not broker.is_busy(client, is_impatient=True):
                broker.clients[client].params.max_wait_ms = max_wait_ms * self.has_room
                broker.end_session(client, begins_again=begins_again)
        self._learn_of_evictions()

    @rule(partitions=st.integers(1, 4), ages=st.booleans())
    def crowd_out(self, partitions: int, ages: bool) -> None:
        """Another client opens a session, for which an old or a small one may have to go."""
        if ages:
            self.pass_time(NEVER_AGAIN_MS)
        self.brokers[0].crowd_out(partitions)
        self._learn_of_evictions()

    # --- the cluster

    @rule(partition=A_PARTITION, leader=st.sampled_from([1, 1, 2]), isr=AN_ISR)
    def change_role(self, partition: TopicPartition, leader: int, isr: tuple[int, ...]) -> None:
        for broker in self.brokers:
            broker.order(partition, leader, isr if leader in isr else (1, 2))

    @rule(partition=A_PARTITION, delete=st.booleans())
    def stop(self, partition: TopicPartition, delete: bool) -> None:
        for broker in self.brokers:
            broker.stop(partition, delete=delete)

    @rule(isr=AN_ISR, led=st.integers(0, len(PARTITIONS)))
    def recreate_topic(self, isr: tuple[int, ...], led: int) -> None:
        """Delete it; of another with that name, the first partitions are led here."""
        for broker in self.brokers:
            broker.recreate_topic()
            for partition in PARTITIONS[:led]:
                broker.order(partition, HERE, isr)

    @rule(partition=A_PARTITION)
    def delete_records(self, partition: TopicPartition) -> None:
        for broker in self.brokers:
            broker.bench.delete_records({partition: -1})

    @rule(partition=A_PARTITION)
    def retire(self, partition: TopicPartition) -> None:
        for broker in self.brokers:
            broker.retire(partition)

    @rule(partition=A_PARTITION, ends=st.booleans())
    def transact(self, partition: TopicPartition, ends: bool) -> None:
        for broker in self.brokers:
            broker.transact(partition, ends=ends)

    @rule(written=st.sampled_from(Written))
    def settle_isr(self, written: Written) -> None:
        for broker in self.brokers:
            broker.settle_isr(written)

    @rule(by_ms=st.sampled_from([1, 100, 500, 6_000, 11_000]))
    def pass_time(self, by_ms: int) -> None:
        for broker in self.brokers:
            broker.bench.pass_time(by_ms)

    @rule()
    def expire_isr(self) -> None:
        for broker in self.brokers:
            broker.expire()

    @rule(partition=A_PARTITION, written=st.sampled_from(Written))
    def shrink_isr(self, partition: TopicPartition, written: Written) -> None:
        """Followers that do not fetch lack a record for too long; nobody waits for them any more."""
        self.produce(partition, 1, 1, rolls=False)
        self.pass_time(11_000)
        self.expire_isr()
        self.settle_isr(written)

    @rule(broker_id=st.sampled_from(FOLLOWERS))
    def toggle_broker(self, broker_id: int) -> None:
        for broker in self.brokers:
            broker.toggle_broker(broker_id)

    @rule(replicas=st.integers(1, 3))
    def set_min_isr(self, replicas: int) -> None:
        for broker in self.brokers:
            broker.set_min_isr(replicas)

    @rule()
    def exceed_or_restore_the_quota(self) -> None:
        for broker in self.brokers:
            broker.quota.is_over = not broker.quota.is_over

    # --- what must hold

    @precondition(lambda self: hasattr(self, "brokers"))
    @invariant()
    def both_are_equal(self) -> None:
        """Answers, lists, counts and what is known of followers; and the lists that a sweep leaves."""
        self._learn_of_evictions()
        one, other = self.brokers
        assert one.answers() == other.answers()
        assert one.lists() == other.lists()
        assert one.counts() == other.counts()
        assert list(one.bench.manager.describe()) == list(other.bench.manager.describe())
        assert one.bench.effects.isr_writes == other.bench.effects.isr_writes
        for broker in self.brokers:
            broker.bench.purge()
        assert one.watched() == other.watched()

    @precondition(lambda self: hasattr(self, "brokers"))
    @invariant()
    def no_fetch_waits_that_could_answer(self) -> None:
        for broker in self.brokers:
            broker.check_waiting()

    @precondition(lambda self: hasattr(self, "brokers"))
    @invariant()
    def what_is_quiet_has_no_news(self) -> None:
        self.brokers[0].check_quiet()

    def teardown(self) -> None:
        """Sessions that end leave nothing behind."""
        if hasattr(self, "brokers"):
            broker = self.brokers[0]
            broker.close_all()
            broker.bench.purge()
            assert broker.cache.partitions == 0
            assert not broker.bench.manager.purgatories.fetch.standing


TestSessions = pytest.mark.slow(Sessions.TestCase)
"""F10, R10, D3: that a session goes by news shows nowhere but in what it costs."""
TestSessions.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
