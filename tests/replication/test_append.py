"""Appending to one partition: what is refused, with which words, and what is counted."""

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import CorruptRecord, InvalidProducerEpoch, LogError, RecordTooLarge
from odradek.base.ids import TopicPartition
from odradek.base.settings import TopicConfig
from odradek.records.work import finish
from odradek.replication import AppendOutcome
from odradek.replication.append import ACKS_ALL, ACKS_LEADER, Batches
from odradek.storage import Origin
from tests.replication.replica_bench import ProduceAnswers, ReplicaBench, batch_of

p1, p2 = TopicPartition("flights", 1), TopicPartition("flights", 2)
A_BATCH = batch_of(100, 0)


def append(
    bench: ReplicaBench, entries: dict[TopicPartition, Batches], acks: int = ACKS_LEADER
) -> dict[TopicPartition, AppendOutcome]:
    outcomes = bench.manager.append(entries, acks=acks, timeout_ms=0, later=ProduceAnswers())
    assert outcomes is not None
    bench.run_turns()
    return outcomes


def test_an_error_of_one_partition_never_affects_another(bench: ReplicaBench) -> None:
    """R6: whatever it is, and wherever in the request it stands."""
    for one in (p1, p2):
        bench.order(one)
    damaged = bytearray(A_BATCH)
    damaged[-1] ^= 1
    elsewhere, unknown = TopicPartition("else", 0), TopicPartition("nowhere", 0)
    bench.make_known(elsewhere)
    outcomes = append(bench, {unknown: A_BATCH, p1: damaged, elsewhere: A_BATCH, p2: A_BATCH})
    assert {key: (one.error_code, one.base_offset) for key, one in outcomes.items()} == {
        unknown: (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1),
        p1: (ErrorCode.CORRUPT_MESSAGE, -1),
        elsewhere: (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1),
        p2: (ErrorCode.NONE, 0),
    }
    assert [bench.log(one).end_offset for one in (p1, p2)] == [0, 1]


def test_what_was_checked_for_a_log_is_not_written_to_its_successor(bench: ReplicaBench) -> None:
    """R6: the topic was deleted and made anew while the batches were checked."""
    bench.order(p1)
    checked = finish(bench.manager.check({p1: A_BATCH}))
    bench.stop(p1, delete=True)
    bench.order(p1)
    assert append(bench, dict(checked))[p1].error_code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert bench.log(p1).end_offset == 0


def test_what_was_checked_is_written_as_it_is(bench: ReplicaBench) -> None:
    """R6."""
    bench.order(p1)
    checked = finish(bench.manager.check({p1: A_BATCH}))
    assert append(bench, dict(checked))[p1].error_code is ErrorCode.NONE
    assert bench.log(p1).end_offset == 1


@pytest.mark.parametrize(
    ("refusal", "code", "log_start"),
    [
        (CorruptRecord("x"), ErrorCode.CORRUPT_MESSAGE, -1),
        (RecordTooLarge("x"), ErrorCode.MESSAGE_TOO_LARGE, -1),
        (InvalidProducerEpoch("x"), ErrorCode.INVALID_PRODUCER_EPOCH, 2),
    ],
)
def test_what_may_be_the_producers_own_fault_is_answered_with_the_log_start(
    bench: ReplicaBench, refusal: LogError, code: ErrorCode, log_start: int
) -> None:
    """R6 (KIP-360): a producer tells by it whether its state is gone with the records."""
    bench.order(p1)
    for _ in range(3):
        bench.produce(p1, acks=1)
    bench.delete_records({p1: 2})
    outcome = append(bench, {p1: refusal})[p1]
    assert (outcome.error_code, outcome.error_message) == (code, "x")
    assert (outcome.base_offset, outcome.log_start_offset) == (-1, log_start)


def test_a_refusal_that_came_with_the_request_is_passed_on_and_not_counted(bench: ReplicaBench) -> None:
    """R6, R8: no transaction admitted it."""
    bench.order(p1)
    assert append(bench, {p1: ErrorCode.INVALID_TXN_STATE})[p1].error_code is ErrorCode.INVALID_TXN_STATE
    assert bench.manager.meters.total().produce_requests == 0


def test_internal_topics_are_refused_before_anything_else_is_looked_at(bench: ReplicaBench) -> None:
    """R6: also where they are not hosted."""
    states = TopicPartition("__transaction_state", 3)
    assert append(bench, {states: A_BATCH})[states].error_code is ErrorCode.INVALID_TOPIC_EXCEPTION
    outcomes = bench.manager.append(
        {states: A_BATCH},
        acks=1,
        timeout_ms=0,
        later=ProduceAnswers(),
        origin=Origin.COORDINATOR,
        internal_allowed=True,
    )
    assert outcomes is not None
    assert outcomes[states].error_code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_enough_replicas_are_asked_for_by_acks_all_alone_and_before_the_write(bench: ReplicaBench) -> None:
    """R6, R8: NOT_ENOUGH_REPLICAS is a failure; nothing is written, not even looked at."""
    bench.set_config(TopicConfig(min_insync_replicas=2))
    bench.order(p1, isr=(1,), replicas=(1, 2))
    refused = append(bench, {p1: CorruptRecord("x")}, acks=ACKS_ALL)[p1]
    assert refused.error_code is ErrorCode.NOT_ENOUGH_REPLICAS
    assert bench.manager.meters.total().failed_produce_requests == 1
    assert append(bench, {p1: A_BATCH})[p1].error_code is ErrorCode.NONE
