import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import TopicPartition
from odradek.coordinator.transactions import Marker, Producer, TransactionVersion
from odradek.coordinator.transactions.marker_delivery import RETRY_BACKOFF_MS
from odradek.coordinator.transactions.state import TransactionState
from tests.coordinator.transactions.transaction_bench import TransactionBench

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


@pytest.fixture
def producer(bench: TransactionBench) -> Producer:
    """One with a transaction open in two partitions."""
    owner: Producer = bench.init().one[1]
    bench.add(owner, T0, T1)
    return owner


def test_every_partition_gets_its_marker(bench: TransactionBench, producer: Producer) -> None:
    bench.end(producer, committed=True)
    marker = Marker(producer, committed=True, coordinator_epoch=1)
    assert bench.partitions.markers == {T0: [marker], T1: [marker]}
    assert bench.record().state is TransactionState.COMPLETE_COMMIT


def test_v2_markers_are_written_in_the_next_epoch(bench: TransactionBench, producer: Producer) -> None:
    """KIP-890: a late batch of the old epoch is refused by it."""
    bench.end(producer, committed=False, version=TransactionVersion.V2)
    (marker,) = bench.partitions.markers[T0]
    assert marker == Marker(
        Producer(producer.producer_id, producer.epoch + 1), False, 1, TransactionVersion.V2
    )


def test_a_partition_that_refuses_is_asked_again_and_no_other(
    bench: TransactionBench, producer: Producer
) -> None:
    bench.partitions.errors[T1] = ErrorCode.NOT_ENOUGH_REPLICAS
    bench.end(producer, committed=True)
    assert bench.record().state is TransactionState.PREPARE_COMMIT
    assert bench.transaction().unmarked == {T1: ErrorCode.NOT_ENOUGH_REPLICAS}
    bench.advance(RETRY_BACKOFF_MS)
    assert bench.transaction().unmarked == {T1: ErrorCode.NOT_ENOUGH_REPLICAS}
    del bench.partitions.errors[T1]
    bench.advance(RETRY_BACKOFF_MS)
    assert bench.record().state is TransactionState.COMPLETE_COMMIT
    assert [len(markers) for markers in bench.partitions.markers.values()] == [1, 1]


def test_partitions_that_are_gone_need_none(bench: TransactionBench, producer: Producer) -> None:
    bench.partitions.gone = {T0, T1}
    bench.end(producer, committed=True)
    assert bench.record().state is TransactionState.COMPLETE_COMMIT
    assert bench.partitions.markers == {}


def test_a_partition_that_is_deleted_meanwhile_holds_nothing_up(
    bench: TransactionBench, producer: Producer
) -> None:
    bench.partitions.errors[T1] = ErrorCode.NOT_LEADER_OR_FOLLOWER
    bench.end(producer, committed=True)
    bench.partitions.gone = {T1}
    bench.advance(RETRY_BACKOFF_MS)
    assert bench.record().state is TransactionState.COMPLETE_COMMIT


@pytest.mark.parametrize(
    "error", [ErrorCode.TRANSACTION_COORDINATOR_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH]
)
def test_what_a_newer_coordinator_has_taken_over_is_left_to_it(
    bench: TransactionBench, producer: Producer, error: ErrorCode
) -> None:
    bench.partitions.errors[T1] = error
    bench.end(producer, committed=True)
    bench.advance(10 * RETRY_BACKOFF_MS)
    assert bench.timer.size == 0, "nobody asks again"
    assert bench.record().state is TransactionState.PREPARE_COMMIT


def test_the_last_record_is_written_again_until_it_is_written(
    bench: TransactionBench, producer: Producer
) -> None:
    bench.partitions.is_held = True
    bench.end(producer, committed=True)
    bench.log.failure = ErrorCode.NOT_ENOUGH_REPLICAS
    bench.partitions.let_go()
    assert bench.record().state is TransactionState.PREPARE_COMMIT
    assert bench.init().error is ErrorCode.CONCURRENT_TRANSACTIONS
    bench.log.failure = ErrorCode.NONE
    bench.advance(RETRY_BACKOFF_MS)
    assert bench.record().state is TransactionState.COMPLETE_COMMIT


@pytest.mark.parametrize("committed", [True, False])
def test_a_crash_between_decision_and_markers_changes_nothing(
    bench: TransactionBench, producer: Producer, committed: bool
) -> None:
    bench.partitions.errors = {T0: ErrorCode.NOT_LEADER_OR_FOLLOWER, T1: ErrorCode.NOT_LEADER_OR_FOLLOWER}
    assert bench.end(producer, committed=committed).error is ErrorCode.NONE
    bench.partitions.errors = {}
    bench.crash()
    marker = Marker(producer, committed, coordinator_epoch=2)
    assert bench.partitions.markers == {T0: [marker], T1: [marker]}
    end = TransactionState.COMPLETE_COMMIT if committed else TransactionState.COMPLETE_ABORT
    assert bench.record().state is end


def test_a_crash_between_markers_and_the_last_record_writes_them_twice(
    bench: TransactionBench, producer: Producer
) -> None:
    bench.partitions.is_held = True
    bench.end(producer, committed=True)
    bench.partitions.is_held = False
    bench.crash()
    assert [marker.coordinator_epoch for marker in bench.partitions.markers[T0]] == [1, 2]
    assert bench.record().state is TransactionState.COMPLETE_COMMIT


def test_answers_after_the_leadership_has_gone_do_nothing(
    bench: TransactionBench, producer: Producer
) -> None:
    bench.partitions.is_held = True
    bench.end(producer, committed=True)
    partition = bench.coordinator.store.find("payments")
    assert not isinstance(partition, ErrorCode)
    bench.coordinator.resign(bench.state_partition().partition)
    bench.partitions.let_go()
    assert partition.transactions["payments"].current.state is TransactionState.PREPARE_COMMIT
