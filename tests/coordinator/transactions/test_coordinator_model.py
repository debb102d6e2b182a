"""A model of producers that share a transactional id, over partitions like those of a log.

Whatever the order of requests, failures, timeouts and crashes:

    an end that was answered is the end that every partition of the transaction gets
    no transaction is committed in one partition and aborted in another
    a producer that another has followed ends and adds nothing any more
    nothing stays open for ever
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import TopicPartition
from odradek.coordinator.transactions import Marker, Producer, TransactionVersion
from odradek.coordinator.transactions.state import TransactionState

PARTITIONS = [TopicPartition("t", index) for index in range(3)]
FAILURES = [ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.NOT_LEADER_OR_FOLLOWER]
SETTLE_MS = 1_000


@dataclass
class Open:
    """A transaction as its partitions see it."""

    number: int
    epoch: int


@dataclass
class Client:
    """A producer as it knows itself."""

    version: TransactionVersion
    me: Producer
    added: set[TopicPartition] = field(default_factory=set)
    transaction: int = 0
    is_over: bool = False
    """It was told that somebody else is in force."""


class Transactions(RuleBasedStateMachine):
    """See the module."""

    new_bench: Callable[[], Any]

    @initialize()
    def begin(self) -> None:
        self.bench = type(self).new_bench()
        self.clients: list[Client] = []
        self.last_transaction = 0
        # What is open in each partition, and how each transaction ended where.
        self.open: dict[TopicPartition, Open] = {}
        self.ends: dict[int, dict[TopicPartition, bool]] = {}
        # What an answer has promised.
        self.promised: dict[int, bool] = {}
        self.seen: dict[TopicPartition, int] = dict.fromkeys(PARTITIONS, 0)

    # --- producers

    @rule(version=st.sampled_from(TransactionVersion))
    def another_producer_takes_the_id(self, version: TransactionVersion) -> None:
        given = self.bench.init().given
        if given and given[0][0] is ErrorCode.NONE:
            self.clients.append(Client(version, given[0][1]))

    @precondition(lambda self: self.clients)
    @rule(data=st.data(), partition=st.sampled_from(PARTITIONS))
    def a_producer_writes(self, data: st.DataObject, partition: TopicPartition) -> None:
        client = data.draw(st.sampled_from(self.clients))
        if partition not in client.added:
            given = self.bench.add(client.me, partition, version=client.version).given
            if not given or given[0][0] is not ErrorCode.NONE:
                client.is_over |= bool(given) and given[0][0] is ErrorCode.PRODUCER_FENCED
                return
            assert not client.is_over, "a fenced producer added a partition"
            if not client.added:
                self.last_transaction += 1
                client.transaction = self.last_transaction
            client.added.add(partition)
        self._take_markers()
        if partition not in self.open:
            # As a log without an open transaction does before it takes the first batch (KIP-890).
            verified = self.bench.coordinator.verify_partitions("payments", client.me, [partition])
            if verified[partition] is ErrorCode.NONE:
                self.open[partition] = Open(client.transaction, client.me.epoch)

    @precondition(lambda self: self.clients)
    @rule(data=st.data(), committed=st.booleans())
    def a_producer_ends(self, data: st.DataObject, committed: bool) -> None:
        client = data.draw(st.sampled_from(self.clients))
        given = self.bench.end(client.me, committed=committed, version=client.version).given
        if not given:
            return
        error, producer = given[0]
        if error is ErrorCode.NONE:
            # Whoever was fenced in v2 may still abort, and learns its next epoch by that (KIP-890).
            is_reprieved = client.version is TransactionVersion.V2 and not committed
            assert is_reprieved or not client.is_over, "a fenced producer ended a transaction"
            client.is_over = False
            if client.added:
                self.promised[client.transaction] = committed
            client.added.clear()
            if client.version is TransactionVersion.V2:
                client.me = producer
        elif error in (ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_ID_MAPPING):
            client.is_over = True

    # --- the world

    @rule(failure=st.sampled_from([ErrorCode.NONE, *FAILURES]))
    def the_log_fails_or_recovers(self, failure: ErrorCode) -> None:
        self.bench.log.failure = failure

    @rule(partition=st.sampled_from(PARTITIONS), failure=st.sampled_from(FAILURES))
    def a_partition_fails(self, partition: TopicPartition, failure: ErrorCode) -> None:
        self.bench.partitions.errors[partition] = failure

    @rule()
    def partitions_recover(self) -> None:
        self.bench.partitions.errors.clear()

    @rule(is_slow=st.booleans())
    def markers_become_slow_or_quick(self, is_slow: bool) -> None:
        self.bench.partitions.is_held = is_slow
        self.bench.partitions.let_go()

    @rule(by_ms=st.sampled_from([100, 70_000]))
    def time_passes(self, by_ms: int) -> None:
        self.bench.advance(by_ms)
        self.bench.coordinator.abort_timed_out()

    @rule()
    def the_coordinator_crashes(self) -> None:
        self.bench.crash()

    # --- what must hold

    def _take_markers(self) -> None:
        """What the logs of the partitions make of their markers."""
        for partition in PARTITIONS:
            markers: list[Marker] = self.bench.partitions.markers.get(partition, [])
            for marker in markers[self.seen[partition] :]:
                ended = self.open.pop(partition, None)
                if ended is not None:
                    self.ends.setdefault(ended.number, {})[partition] = marker.committed
            self.seen[partition] = len(markers)

    @invariant()
    def a_transaction_ends_one_way(self) -> None:
        self._take_markers()
        for number, by_partition in self.ends.items():
            assert len(set(by_partition.values())) == 1, f"transaction {number} ended as {by_partition}"
            if number in self.promised:
                assert set(by_partition.values()) == {self.promised[number]}, f"transaction {number}"

    def teardown(self) -> None:
        bench = self.bench
        bench.log.failure = ErrorCode.NONE
        bench.partitions.errors.clear()
        bench.partitions.is_held = False
        bench.partitions.let_go()
        for _ in range(3):
            bench.advance(SETTLE_MS + 60_000)
            bench.coordinator.abort_timed_out()
        self.a_transaction_ends_one_way()
        states = [one.current.state for _, one in bench.coordinator.store.transactions()]
        assert not {
            TransactionState.ONGOING,
            TransactionState.PREPARE_COMMIT,
            TransactionState.PREPARE_ABORT,
        } & {*states}, f"left open: {states}"
        assert self.open == {}, "a partition never got its marker"


@pytest.mark.slow
def test_transactions_under_whatever_happens(new_bench: Callable[[], Any]) -> None:
    class WithBench(Transactions):
        pass

    WithBench.new_bench = staticmethod(new_bench)  # type: ignore[assignment]
    run_state_machine_as_test(  # type: ignore[no-untyped-call]
        WithBench, settings=settings(max_examples=150, stateful_step_count=40, deadline=None)
    )
