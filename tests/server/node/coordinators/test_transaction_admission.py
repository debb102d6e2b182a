"""Which partitions a producer may write to in its transaction, by what the logs and the coordinator say."""

from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import ITEMS_PER_STEP, Later, exhaust
from odradek.base.ids import TopicPartition
from odradek.coordinator.transactions import Producer, TransactionVersion
from odradek.records.builder import BatchBuilder
from odradek.records.control import EndTxnMarker, build_marker
from odradek.records.header import read_header
from odradek.server.node.coordinators.transaction_admission import (
    Ability,
    Admission,
    PartitionErrors,
    TransactionAdmission,
)
from odradek.storage.producer_state import ProducerStates

A, B = TopicPartition("a", 0), TopicPartition("b", 0)
ID = "payments"
PRODUCER = Producer(7, 2)


def batch_of(producer: Producer = PRODUCER, *, sequence: int = 0, is_transactional: bool = True) -> bytes:
    builder = BatchBuilder(
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        base_sequence=sequence,
        is_transactional=is_transactional,
    )
    builder.append(0, None, b"x")
    return bytes(builder.build())


class HeldLog:
    """A log of which nothing but its producers is known."""

    def __init__(self) -> None:
        self.producers = ProducerStates(lambda: 1_000)
        self.latest_epoch = 0

    def append(self, batch: bytes) -> None:
        self.producers.apply(read_header(batch))

    def end_transaction(self, producer: Producer = PRODUCER) -> None:
        marker = EndTxnMarker(False, 0)
        batch = build_marker(
            marker, producer_id=producer.producer_id, producer_epoch=producer.epoch, timestamp_ms=0
        )
        self.producers.apply_marker(read_header(batch), marker)


class HeldMembership:
    """A coordinator that answers when the test says so, or at once."""

    def __init__(self) -> None:
        self.known: Any = None
        """What it answers at once; None while it needs time."""
        self.asked: list[tuple[str, Producer, tuple[TopicPartition, ...], TransactionVersion | None]] = []
        self.laters: list[Later[Any]] = []

    def add_partitions(
        self,
        transactional_id: str,
        producer: Producer,
        partitions: Iterable[TopicPartition],
        version: TransactionVersion,
        later: Later[ErrorCode],
    ) -> ErrorCode | None:
        self.asked.append((transactional_id, producer, tuple(partitions), version))
        self.laters.append(later)
        known: ErrorCode | None = self.known
        return known

    def verify_partitions(
        self,
        transactional_id: str,
        producer: Producer,
        partitions: Iterable[TopicPartition],
        later: Later[Mapping[TopicPartition, ErrorCode]],
    ) -> Mapping[TopicPartition, ErrorCode] | None:
        self.asked.append((transactional_id, producer, tuple(partitions), None))
        self.laters.append(later)
        known: Mapping[TopicPartition, ErrorCode] | None = self.known
        return known


class Bench:
    def __init__(self) -> None:
        self.logs = {A: HeldLog(), B: HeldLog()}
        self.membership = HeldMembership()
        self.verifies = True
        self.admission = TransactionAdmission(self.logs.get, self.membership, lambda: self.verifies)
        self.told: list[Any] = []
        """What came in an event of its own."""

    def admit(self, ability: Ability, *partitions: TopicPartition) -> PartitionErrors | None:
        return self.admission.admit(ID, PRODUCER, partitions, ability, self.told.append)

    def admit_batches(
        self,
        entries: Mapping[TopicPartition, bytes],
        ability: Ability = Ability.LEAVES_ADDING_TO_US,
        transactional_id: str | None = ID,
    ) -> Admission | None:
        return exhaust(self.admission.admit_batches(transactional_id, entries, ability, self.told.append))


@pytest.fixture
def bench() -> Bench:
    return Bench()


@pytest.mark.parametrize(
    ("version", "ability"),
    [
        (3, Ability.ADDS_PARTITIONS),
        (10, Ability.ADDS_PARTITIONS),
        (11, Ability.KNOWS_ABORTABLE),
        (12, Ability.LEAVES_ADDING_TO_US),
        (13, Ability.LEAVES_ADDING_TO_US),
    ],
)
def test_what_a_producer_can_is_in_the_version_of_its_request(version: int, ability: Ability) -> None:
    assert Ability.of_version(version, 11) is ability


@pytest.mark.parametrize("ability", Ability)
def test_a_log_with_the_transaction_open_needs_no_coordinator(bench: Bench, ability: Ability) -> None:
    bench.logs[A].append(batch_of())
    assert bench.admit(ability, A) == {}
    assert not bench.membership.asked


def test_a_transaction_of_another_epoch_is_not_the_producers(bench: Bench) -> None:
    bench.logs[A].append(batch_of(Producer(7, 1)))
    assert bench.admit(Ability.KNOWS_ABORTABLE, A) is None
    assert bench.membership.asked == [(ID, PRODUCER, (A,), None)]


def test_the_newest_producers_partitions_are_added_and_others_verified(bench: Bench) -> None:
    """KIP-890: from Produce 12 on the broker adds what is written to; before, the producer has to."""
    bench.logs[A].append(batch_of())
    assert bench.admit(Ability.LEAVES_ADDING_TO_US, A, B) is None
    assert bench.admit(Ability.ADDS_PARTITIONS, A, B) is None
    assert bench.membership.asked == [
        (ID, PRODUCER, (B,), TransactionVersion.V2),
        (ID, PRODUCER, (B,), None),
    ]
    add, verify = bench.membership.laters
    add(ErrorCode.NONE)
    verify({B: ErrorCode.INVALID_TXN_STATE})
    assert bench.told == [{}, {B: ErrorCode.INVALID_TXN_STATE}]


def test_verification_may_be_switched_off_while_the_broker_runs(bench: Bench) -> None:
    bench.verifies = False
    assert bench.admit(Ability.KNOWS_ABORTABLE, A) == {}
    assert not bench.membership.asked
    bench.verifies = True
    assert bench.admit(Ability.KNOWS_ABORTABLE, A) is None


@pytest.mark.parametrize(
    ("error", "ability", "told"),
    [
        (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, Ability.LEAVES_ADDING_TO_US, ErrorCode.NOT_ENOUGH_REPLICAS),
        (ErrorCode.NOT_COORDINATOR, Ability.ADDS_PARTITIONS, ErrorCode.NOT_ENOUGH_REPLICAS),
        (ErrorCode.CONCURRENT_TRANSACTIONS, Ability.KNOWS_ABORTABLE, ErrorCode.NOT_ENOUGH_REPLICAS),
        (
            ErrorCode.CONCURRENT_TRANSACTIONS,
            Ability.LEAVES_ADDING_TO_US,
            ErrorCode.CONCURRENT_TRANSACTIONS,
        ),
        (ErrorCode.PRODUCER_FENCED, Ability.LEAVES_ADDING_TO_US, ErrorCode.INVALID_PRODUCER_EPOCH),
        (ErrorCode.TRANSACTION_ABORTABLE, Ability.ADDS_PARTITIONS, ErrorCode.INVALID_TXN_STATE),
        (ErrorCode.TRANSACTION_ABORTABLE, Ability.KNOWS_ABORTABLE, ErrorCode.TRANSACTION_ABORTABLE),
    ],
)
def test_errors_are_told_in_words_that_the_producer_knows(
    bench: Bench, error: ErrorCode, ability: Ability, told: ErrorCode
) -> None:
    adds = ability is Ability.LEAVES_ADDING_TO_US
    bench.membership.known = error if adds else {A: error}
    assert bench.admit(ability, A) == {A: told}


def test_batches_of_a_transaction_need_its_id(bench: Bench) -> None:
    admission = bench.admit_batches({A: batch_of(), B: batch_of()}, transactional_id=None)
    assert admission is not None
    assert admission.refused == dict.fromkeys([A, B], ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)


def test_batches_of_several_producers_are_refused(bench: Bench) -> None:
    admission = bench.admit_batches({A: batch_of(), B: batch_of(Producer(8, 0))})
    assert admission is not None
    assert admission.refused == dict.fromkeys([A, B], ErrorCode.INVALID_PRODUCER_ID_MAPPING)


@pytest.mark.parametrize("batch", [batch_of(is_transactional=False), b"", b"\xff" * 61])
def test_what_is_in_no_transaction_is_left_to_the_append(bench: Bench, batch: bytes) -> None:
    admission = bench.admit_batches({A: batch})
    assert admission == Admission({})
    assert not bench.membership.asked
    assert list(admission.entries({A: batch})) == [(A, batch)]


def test_a_partition_of_a_v2_transaction_begins_with_the_sequence_0(bench: Bench) -> None:
    """A batch before it was refused, and would now be too late."""
    bench.membership.known = ErrorCode.NONE
    admission = bench.admit_batches({A: batch_of(sequence=0), B: batch_of(sequence=4)})
    assert admission is not None
    assert admission.refused == {B: ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER}
    bench.logs[B].append(batch_of(sequence=3))
    bench.logs[B].end_transaction()
    admission = bench.admit_batches({B: batch_of(sequence=4)})
    assert admission is not None
    assert admission.refused == {}


def test_a_consent_ends_with_the_transaction(bench: Bench) -> None:
    """Between the coordinator's answer and the append the transaction was aborted as too old."""
    entries = {A: batch_of(), B: batch_of()}
    assert bench.admit_batches(entries) is None
    bench.membership.laters.pop()(ErrorCode.NONE)
    (admission,) = bench.told
    appended = admission.entries(entries)
    assert next(appended) == (A, entries[A])
    bench.logs[B].append(batch_of(Producer(7, 1)))
    bench.logs[B].end_transaction()
    assert next(appended) == (B, ErrorCode.NOT_ENOUGH_REPLICAS)


def test_a_consent_is_for_the_log_that_was_there(bench: Bench) -> None:
    bench.membership.known = ErrorCode.NONE
    admission = bench.admit_batches({A: batch_of()})
    assert admission is not None
    bench.logs[A] = HeldLog()  # deleted, and made anew
    assert list(admission.entries({A: batch_of()})) == [(A, ErrorCode.NOT_ENOUGH_REPLICAS)]


def test_a_consent_is_for_one_leadership(bench: Bench) -> None:
    """Another leader may have written the marker, and what is known here of it may be cut off again."""
    bench.membership.known = ErrorCode.NONE
    admission = bench.admit_batches({A: batch_of()})
    assert admission is not None
    bench.logs[A].latest_epoch += 2
    assert list(admission.entries({A: batch_of()})) == [(A, ErrorCode.NOT_ENOUGH_REPLICAS)]


def test_many_batches_are_looked_at_in_steps(bench: Bench) -> None:
    entries = {TopicPartition("wide", number): batch_of() for number in range(4 * ITEMS_PER_STEP)}
    work = bench.admission.admit_batches(ID, entries, Ability.LEAVES_ADDING_TO_US, bench.told.append)
    assert sum(1 for _ in work) == 4
    ((_, _, asked, _),) = bench.membership.asked
    assert len(asked) == len(entries)
