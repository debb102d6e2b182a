"""Three brokers, elections, deaths, cut connections and old orders: what HW has covered is never lost.

A leader is always elected from the ISR, which is changed by elections alone. The model keeps, for each
partition, the records below the highest HW that any leader had: whoever leads next has them, at their
offsets.
When the faults end, all logs are equal, up to the leader's end, byte for byte.
"""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from odradek.base.ids import TopicPartition
from odradek.replication.fetcher import EpochEndsAsk, FetchAsk, Fetcher, State
from odradek.replication.fetcher.partition_queues import PartitionQueues
from tests.replication.fetcher.brokers import Broker, Brokers, records_of

PARTITIONS = [TopicPartition("orders", number) for number in range(2)]
IDS = (1, 2, 3)
BROKER = st.sampled_from(IDS)
PARTITION = st.sampled_from(PARTITIONS)


class Replication(RuleBasedStateMachine):
    """See the module."""

    def __init__(self) -> None:
        super().__init__()
        self.brokers = Brokers(IDS)
        self.isr: dict[TopicPartition, tuple[int, ...]] = {}
        self.leader: dict[TopicPartition, int] = {}
        # What was below HW at some leader.
        self.committed: dict[TopicPartition, bytes] = dict.fromkeys(PARTITIONS, b"")

    @initialize()
    def begin(self) -> None:
        for partition in PARTITIONS:
            self.elect(partition, 1, IDS)

    def elect(self, partition: TopicPartition, leader: int, isr: tuple[int, ...]) -> None:
        self.leader[partition], self.isr[partition] = leader, isr
        self.brokers.elect(leader, isr=isr, partition=partition)

    def leading(self, partition: TopicPartition) -> Broker | None:
        broker = self.brokers[self.leader[partition]]
        return broker if broker.is_alive else None

    # --- traffic

    @rule(partition=PARTITION, count=st.integers(1, 3))
    def produce(self, partition: TopicPartition, count: int) -> None:
        leader = self.leading(partition)
        if leader is not None:
            leader.settle_truncations()  # X6: until then it refuses appends
            leader.produce(count, partition)

    @rule(broker_id=BROKER)
    def fetch(self, broker_id: int) -> None:
        broker = self.brokers[broker_id]
        if broker.is_alive:
            for fetcher in list(broker.fetchers.fetchers()):
                broker.exchange(fetcher)

    @rule(broker_id=BROKER, is_lost=st.booleans())
    def fetch_slowly(self, broker_id: int, is_lost: bool) -> None:
        """The answer is made now, and comes after an election, or never."""
        broker = self.brokers[broker_id]
        if not broker.is_alive:
            return
        for fetcher in list(broker.fetchers.fetchers()):
            source = self.brokers[fetcher.source]
            ask = fetcher.next_ask()
            if ask is None:
                continue
            if not source.is_alive or not source.is_reachable or is_lost:
                fetcher.on_unanswered("lost")
            elif isinstance(ask, FetchAsk):
                fetched = source.fetched(ask, broker_id)
                self.elect_again(PARTITIONS[0])
                list(fetcher.on_fetched(fetched))
            elif isinstance(ask, EpochEndsAsk):
                ends = source.epoch_ends(ask)
                self.elect_again(PARTITIONS[1])
                list(fetcher.on_epoch_ends(ends))
            else:
                fetcher.on_unanswered("lost")

    @rule(by_ms=st.just(1_000))
    def wait(self, by_ms: int) -> None:
        self.brokers.clock.advance(by_ms)

    # --- what happens to brokers

    @rule(partition=PARTITION, candidate=BROKER)
    def move_leader(self, partition: TopicPartition, candidate: int) -> None:
        """A member of the ISR becomes leader; the dead leave the ISR, as the controller sees to."""
        alive = tuple(one for one in self.isr[partition] if self.brokers[one].is_alive)
        if candidate in alive:
            self.elect(partition, candidate, alive)

    def elect_again(self, partition: TopicPartition) -> None:
        leader = self.leading(partition)
        if leader is not None:
            self.elect(partition, leader.broker_id, self.isr[partition])

    @rule(partition=PARTITION, broker_id=BROKER)
    def rejoin(self, partition: TopicPartition, broker_id: int) -> None:
        """R3: who has all that the leader has comes back into the ISR."""
        leader, broker = self.leading(partition), self.brokers[broker_id]
        if leader is None or not broker.is_alive or broker_id in self.isr[partition]:
            return
        followed = broker.fetchers.partition(partition)
        has_all = broker.log(partition).end_offset == leader.log(partition).end_offset
        if followed is not None and followed.state is State.FETCHING and has_all:
            self.elect(partition, leader.broker_id, (*self.isr[partition], broker_id))

    @rule(partition=PARTITION, missing=BROKER)
    def elect_unnoticed(self, partition: TopicPartition, missing: int) -> None:
        """The orders of an election do not reach one broker, for now; it may be the leader."""
        leader = self.leading(partition)
        if leader is not None:
            only = [one for one in IDS if one != missing]
            self.brokers.elect(leader.broker_id, isr=self.isr[partition], partition=partition, only=only)

    @precondition(lambda self: len(self.brokers.alive) > 1)
    @rule(broker_id=BROKER)
    def kill(self, broker_id: int) -> None:
        broker = self.brokers[broker_id]
        if not broker.is_alive:
            return
        broker.kill()
        for partition in PARTITIONS:
            others = tuple(one for one in self.isr[partition] if self.brokers[one].is_alive)
            if others:
                leader = self.leader[partition] if self.leader[partition] in others else others[0]
                self.elect(partition, leader, others)

    @rule(broker_id=BROKER)
    def start(self, broker_id: int) -> None:
        broker = self.brokers[broker_id]
        if broker.is_alive:
            return
        broker.start()
        for partition in PARTITIONS:
            alive = tuple(one for one in self.isr[partition] if self.brokers[one].is_alive)
            if alive:
                leader = self.leader[partition] if self.leader[partition] in alive else alive[0]
                self.elect(partition, leader, self.isr[partition])

    @rule(broker_id=BROKER, is_reachable=st.booleans())
    def cut_off(self, broker_id: int, is_reachable: bool) -> None:
        self.brokers[broker_id].is_reachable = is_reachable

    # --- what must hold

    @invariant()
    def what_was_committed_stays(self) -> None:
        for partition in self.leader:
            leader = self.leading(partition)
            if leader is None:
                continue
            log, before = leader.log(partition), self.committed[partition]
            now = records_of(log, 0, log.end_offset)
            assert now.startswith(before), "records below HW are gone, or are others"
            below = records_of(log, 0, log.high_watermark.offset)
            if len(below) > len(before):
                self.committed[partition] = below

    @invariant()
    def each_partition_is_in_the_queue_of_its_state(self) -> None:
        for broker in self.brokers.alive:
            for fetcher in broker.fetchers.fetchers():
                check_queues(fetcher.partitions, fetcher)

    def teardown(self) -> None:
        for broker_id in IDS:
            self.cut_off(broker_id, True)
            self.start(broker_id)
        for partition in PARTITIONS:
            leader = self.leader.get(partition, 1)
            self.elect(partition, leader, self.isr.get(partition, IDS))
        self.brokers.settle()
        for partition in PARTITIONS:
            ends = {broker.log(partition).end_offset for broker in self.brokers.alive}
            assert len(ends) == 1, f"{partition} ends at {ends}"
            contents = {
                records_of(broker.log(partition), 0, broker.log(partition).end_offset)
                for broker in self.brokers.alive
            }
            assert len(contents) == 1, f"logs of {partition} differ"


def check_queues(queues: PartitionQueues, fetcher: Fetcher) -> None:
    for state in State:
        expected = [one for one in queues.all() if one.state is state]
        assert queues.count(state) == len(expected), state
        if state is not State.FETCHING:
            assert set(queues.first_in(state, 100)) == set(expected), state
    assert all("is over" in one.reason for one in queues.first_in(State.FAILED, 100)), "failed"
    delays = [one.delayed_until_ms for one in queues.first_in(State.DELAYED, 100)]
    assert delays == sorted(delays)
    assert fetcher.partitions is queues


TestReplication = pytest.mark.slow(Replication.TestCase)
TestReplication.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
