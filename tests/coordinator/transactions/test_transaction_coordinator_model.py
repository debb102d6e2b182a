"""A model of producers that share a transactional id, over partitions like those of a log.

Whatever the order of requests, failures, timeouts, crashes and changes of leaders, and however far the high
watermark of the state's log is behind (R19):

    an end that was answered is the end that every partition of the transaction gets
    no transaction is committed in one partition and aborted in another
    a producer that another has followed ends and adds nothing any more
    nothing stays open for ever
"""

from collections.abc import Callable
from dataclasses import dataclass, field

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
from tests.coordinator.transactions.transaction_bench import Answers, TransactionBench

PARTITIONS = [TopicPartition("t", index) for index in range(3)]
LOG_EVENTS = [
    "refuses",
    "accepts",
    "replicas fall behind",
    "replicas fall behind",
    "replicas catch up",
    "replicas come nearer",
    "time is over",
    "too few replicas are left",
    "another broker led for a moment",
    "another broker led for a moment",
    "the coordinator crashed",
]
SETTLE_MS = 1_000
UNKNOWN = (
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.CONCURRENT_TRANSACTIONS,
)
"""After these a producer asks for the same again, as nobody knows what became of it."""


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
    asked: Callable[[], bool] | None = None
    """Takes the answer that it waits for, once that is there; None while it waits for none."""
    end: bool | None = None
    """The end that it asked for and was not told of: it asks for that again before anything else."""

    def listen(self) -> None:
        """Take the answer that has come, if any."""
        if self.asked is not None and self.asked():
            self.asked = None


class Transactions(RuleBasedStateMachine):
    """See the module."""

    @initialize()
    def begin(self) -> None:
        self.bench = TransactionBench()
        self.clients: list[Client] = []
        self.inits: list[tuple[TransactionVersion, Answers]] = []
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
        self.inits = [init for init in self.inits if not self._take_init(*init)]
        answers = self.bench.init()
        if not self._take_init(version, answers):
            self.inits.append((version, answers))

    def _take_init(self, version: TransactionVersion, answers: Answers) -> bool:
        if answers.given and answers.error is ErrorCode.NONE:
            self.clients.append(Client(version, answers.one.producer))
        return bool(answers.given)

    @precondition(lambda self: self.clients)
    @rule(data=st.data(), partition=st.sampled_from(PARTITIONS))
    def a_producer_writes(self, data: st.DataObject, partition: TopicPartition) -> None:
        client = data.draw(st.sampled_from(self.clients))
        if client.asked is not None or client.end is not None:
            return
        if partition in client.added:
            self._write(client, partition)
            return
        answers = self.bench.add(client.me, partition, version=client.version)

        def added() -> bool:
            if answers.given and answers.error is ErrorCode.NONE:
                assert not client.is_over, "a fenced producer added a partition"
                if not client.added:
                    self.last_transaction += 1
                    client.transaction = self.last_transaction
                client.added.add(partition)
                self._write(client, partition)
            elif answers.given:
                client.is_over |= answers.error is ErrorCode.PRODUCER_FENCED
            return bool(answers.given)

        client.asked = added

    def _write(self, client: Client, partition: TopicPartition) -> None:
        self._take_markers()
        if partition not in self.open:
            # As a log without an open transaction does before it takes the first batch (KIP-890).
            verified = self.bench.verify(client.me, partition)
            if verified is not None and verified[partition] is ErrorCode.NONE:
                self.open[partition] = Open(client.transaction, client.me.epoch)

    @precondition(lambda self: self.clients)
    @rule(data=st.data(), committed=st.booleans())
    def a_producer_ends(self, data: st.DataObject, committed: bool) -> None:
        client = data.draw(st.sampled_from(self.clients))
        if client.asked is not None:
            return
        wanted = committed if client.end is None else client.end
        client.end = wanted
        answers = self.bench.end(client.me, committed=wanted, version=client.version)

        def ended() -> bool:
            if answers.given:
                self._ended(client, wanted, *answers.one)
            return bool(answers.given)

        client.asked = ended

    def _ended(self, client: Client, committed: bool, error: ErrorCode, producer: Producer) -> None:
        if error in UNKNOWN:
            return
        client.end = None
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

    @rule(event=st.sampled_from(LOG_EVENTS))
    def something_befalls_the_log(self, event: str) -> None:
        log = self.bench.log
        match event:
            case "refuses":
                log.failure = ErrorCode.NOT_ENOUGH_REPLICAS
            case "accepts":
                log.failure = ErrorCode.NONE
            case "replicas fall behind":
                log.lags = True
            case "replicas catch up":
                log.catch_up()
            case "replicas come nearer":
                log.replicate(1)
            case "time is over":
                log.time_out()
            case "too few replicas are left":
                log.settle(ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND)
            case "another broker led for a moment":
                self.bench.fail_over()
            case "the coordinator crashed":
                self.bench.crash()

    @rule(event=st.sampled_from(["fails", "recover", "slow", "quick"]), partition=st.sampled_from(PARTITIONS))
    def something_befalls_partitions(self, event: str, partition: TopicPartition) -> None:
        partitions = self.bench.partitions
        match event:
            case "fails":
                partitions.errors[partition] = ErrorCode.NOT_LEADER_OR_FOLLOWER
            case "recover":
                partitions.errors.clear()
            case "slow":
                partitions.is_held = True
            case "quick":
                partitions.is_held = False
                partitions.let_go()

    @rule(by_ms=st.sampled_from([100, 70_000]))
    def time_passes(self, by_ms: int) -> None:
        self.bench.advance(by_ms)
        self.bench.abort_timed_out()

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
        for client in self.clients:
            client.listen()
        self._take_markers()
        for number, by_partition in self.ends.items():
            assert len(set(by_partition.values())) == 1, f"transaction {number} ended as {by_partition}"
            if number in self.promised:
                assert set(by_partition.values()) == {self.promised[number]}, f"transaction {number}"

    def teardown(self) -> None:
        bench = self.bench
        bench.log.failure = ErrorCode.NONE
        bench.log.catch_up()
        bench.partitions.errors.clear()
        bench.partitions.is_held = False
        bench.partitions.let_go()
        for _ in range(3):
            bench.advance(SETTLE_MS + 60_000)
            bench.abort_timed_out()
        self.a_transaction_ends_one_way()
        states = [one.current.state for _, one in bench.coordinator.store.transactions()]
        assert not {
            TransactionState.ONGOING,
            TransactionState.PREPARE_COMMIT,
            TransactionState.PREPARE_ABORT,
        } & {*states}, f"left open: {states}"
        assert self.open == {}, "a partition never got its marker"


@pytest.mark.slow
def test_transactions_under_whatever_happens() -> None:
    run_state_machine_as_test(
        Transactions, settings=settings(max_examples=300, stateful_step_count=40, deadline=None)
    )
