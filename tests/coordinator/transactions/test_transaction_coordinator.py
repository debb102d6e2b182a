import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import ParamSpec, TypeVar

import pytest

from odradek.base.buffers import Buffer
from odradek.base.error_codes import ErrorCode
from odradek.base.errors import FileUnavailable
from odradek.base.ids import Offset, TopicPartition
from odradek.base.settings import BrokerSettings
from odradek.coordinator.transactions import NO_PRODUCER, Producer, TransactionVersion
from odradek.coordinator.transactions.state import TransactionState
from odradek.coordinator.transactions.transaction import PRODUCER_EPOCH_MAX
from tests.coordinator.transactions.transaction_bench import TransactionBench

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
V2 = TransactionVersion.V2
E = ErrorCode
P = ParamSpec("P")
R = TypeVar("R")


def test_a_transaction_from_its_first_day_to_its_last(bench: TransactionBench) -> None:
    error, producer = bench.init().one
    assert (error, producer) == (E.NONE, Producer(7, 0))
    for committed in (True, False):
        assert bench.add(producer, T0).error is E.NONE
        assert bench.add(producer, T0, T1).error is E.NONE
        assert bench.end(producer, committed=committed).error is E.NONE
    assert [marker.committed for marker in bench.partitions.markers[T1]] == [True, False]


MANY = [TopicPartition(f"t{number}", 0) for number in range(500)]


@pytest.mark.parametrize("version", TransactionVersion)
def test_a_wide_transaction_ends_in_steps(bench: TransactionBench, version: TransactionVersion) -> None:
    _, producer = bench.init().one
    bench.add(producer, *MANY)
    ending, answers = bench.end_wide(producer, version)
    assert bench.record().state is TransactionState.ONGOING
    assert len(list(ending)) > 3 * len(MANY) // 200
    assert answers.one == (E.NONE, Producer(7, 1 if version is V2 else 0))
    assert bench.record().state is TransactionState.COMPLETE_COMMIT
    assert [bench.partitions.markers[one][0].committed for one in MANY] == [True] * len(MANY)
    again = bench.end(producer, committed=True, version=version)
    assert again.one == answers.one


@pytest.mark.parametrize("steps", [1, 4, 9])
def test_what_changes_a_wide_transaction_while_it_ends_counts(bench: TransactionBench, steps: int) -> None:
    """R19: each of them decides on what the log has, and no partition is left without its marker."""
    _, producer = bench.init().one
    bench.add(producer, *MANY)
    ending, answers = bench.end_wide(producer)
    for _ in range(steps):
        next(ending)
    assert bench.add(producer, T0).error is E.NONE
    list(ending)
    assert answers.error is E.NONE
    assert len(bench.partitions.markers[T0]) == 1
    assert len(bench.partitions.markers) == len(MANY) + 1


def test_a_producer_that_is_fenced_while_its_wide_transaction_ends_is_refused(
    bench: TransactionBench,
) -> None:
    _, producer = bench.init().one
    bench.add(producer, *MANY)
    ending, answers = bench.end_wide(producer)
    for _ in range(5):
        next(ending)
    bench.init()
    list(ending)
    assert answers.error is E.PRODUCER_FENCED
    assert not any(bench.partitions.markers[one][0].committed for one in MANY)


def test_the_last_epoch_of_a_wide_transaction_takes_a_new_producer_id(bench: TransactionBench) -> None:
    _, producer = bench.init().one
    bench.add(producer, *MANY)
    last = replace(bench.record(), producer_epoch=PRODUCER_EPOCH_MAX - 1)
    bench.put(last)
    ending, answers = bench.end_wide(last.producer, V2)
    list(ending)
    assert answers.error is E.NONE
    assert answers.one.producer == Producer(8, 0)


def test_many_partitions_are_added_in_steps(bench: TransactionBench) -> None:
    _, producer = bench.init().one
    many = [TopicPartition(f"t{number}", 0) for number in range(500)]
    adding, answers = bench.add_many(producer, *many)
    assert not bench.record().partitions
    assert len(list(adding)) > 500 // 200
    assert answers.error is E.NONE
    assert bench.record().partitions == frozenset(many)
    assert bench.record().state is TransactionState.ONGOING


@pytest.mark.parametrize("changes", [1, 2, 10])
def test_what_changes_while_many_partitions_are_added_counts(bench: TransactionBench, changes: int) -> None:
    _, producer = bench.init().one
    many = [TopicPartition(f"t{number}", 0) for number in range(500)]
    adding, answers = bench.add_many(producer, *many)
    for number, _ in enumerate(adding):
        if number % 5 == 4 and changes:
            changes -= 1
            assert bench.add(producer, TopicPartition("u", changes)).error is E.NONE
    assert answers.error is E.NONE
    assert bench.record().partitions > frozenset(many)
    assert TopicPartition("u", changes) in bench.record().partitions


def test_many_partitions_are_not_added_to_a_transaction_that_ends_meanwhile(bench: TransactionBench) -> None:
    """They begin the next one."""
    _, producer = bench.init().one
    assert bench.add(producer, T0).error is E.NONE
    many = [TopicPartition(f"t{number}", 1) for number in range(500)]
    adding, answers = bench.add_many(producer, *many)
    next(adding)
    assert bench.end(producer, committed=True).error is E.NONE
    assert list(adding)
    assert answers.error is E.NONE
    assert bench.record().partitions == frozenset(many)


def test_v2_answers_each_end_with_the_next_producer(bench: TransactionBench) -> None:
    """KIP-890"""
    _, producer = bench.init().one
    for epoch in range(1, 4):
        bench.add(producer, T0, version=V2)
        error, producer = bench.end(producer, committed=True, version=V2).one
        assert (error, producer) == (E.NONE, Producer(7, epoch))


def test_v2_answers_a_repeated_end_alike(bench: TransactionBench) -> None:
    _, producer = bench.init().one
    bench.add(producer, T0, version=V2)
    first = bench.end(producer, committed=True, version=V2).one
    assert bench.end(producer, committed=True, version=V2).one == first
    assert len(bench.partitions.markers[T0]) == 1


def test_v2_goes_on_with_a_new_producer_id_when_the_epochs_are_used_up(bench: TransactionBench) -> None:
    bench.init()
    bench.put(replace(bench.record(), producer_epoch=32766))
    bench.add(Producer(7, 32766), T0, version=V2)
    error, producer = bench.end(Producer(7, 32766), committed=True, version=V2).one
    assert (error, producer) == (E.NONE, Producer(8, 0))
    assert bench.add(producer, T0, version=V2).error is E.NONE


def test_a_successor_fences_whoever_left_a_transaction_open(bench: TransactionBench) -> None:
    _, zombie = bench.init().one
    bench.add(zombie, T0)
    assert bench.init().one == (E.CONCURRENT_TRANSACTIONS, NO_PRODUCER)
    assert [marker.committed for marker in bench.partitions.markers[T0]] == [False]
    assert bench.init().one == (E.NONE, Producer(7, 2))
    assert bench.add(zombie, T0).error is E.PRODUCER_FENCED
    assert bench.end(zombie, committed=True).error is E.PRODUCER_FENCED


@pytest.mark.parametrize("timeout_ms", [0, -1, 900_001])
def test_timeouts_out_of_bounds_are_refused(bench: TransactionBench, timeout_ms: int) -> None:
    assert bench.init(timeout_ms=timeout_ms).error is E.INVALID_TRANSACTION_TIMEOUT
    assert bench.init(timeout_ms=900_000).error is E.NONE


def test_an_empty_transactional_id_is_refused(bench: TransactionBench) -> None:
    assert bench.init(name="").error is E.INVALID_REQUEST
    assert bench.add(Producer(7, 0), T0, name="").error is E.INVALID_REQUEST
    assert bench.end(Producer(7, 0), committed=True, name="").error is E.INVALID_REQUEST


@pytest.mark.parametrize("version", TransactionVersion)
def test_an_unknown_transactional_id_has_no_producer(
    bench: TransactionBench, version: TransactionVersion
) -> None:
    producer = Producer(7, 0)
    assert bench.add(producer, T0, version=version).error is E.INVALID_PRODUCER_ID_MAPPING
    assert bench.end(producer, committed=True, version=version).error is E.INVALID_PRODUCER_ID_MAPPING
    verified = bench.verify(producer, T0)
    assert verified == {T0: E.INVALID_PRODUCER_ID_MAPPING}


def test_an_id_of_a_partition_led_elsewhere_is_not_ours(bench: TransactionBench) -> None:
    _, producer = bench.init().one
    bench.coordinator.resign(bench.state_partition().partition)
    assert bench.init().error is E.NOT_COORDINATOR
    assert bench.add(producer, T0).error is E.NOT_COORDINATOR
    assert bench.end(producer, committed=True).error is E.NOT_COORDINATOR


def test_an_id_that_is_being_loaded_has_to_wait(bench: TransactionBench) -> None:
    _, producer = bench.init().one
    bench.lead_again(bench.state_partition())
    assert bench.init().error is E.COORDINATOR_LOAD_IN_PROGRESS
    assert bench.end(producer, committed=True).error is E.COORDINATOR_LOAD_IN_PROGRESS
    bench.run()
    assert bench.end(producer, committed=True).error is E.INVALID_TXN_STATE


@pytest.mark.parametrize("cause", ["ends at", "cannot be read"])
def test_a_partition_that_cannot_be_read_is_not_served_and_holds_up_no_other(
    bench: TransactionBench, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, cause: str
) -> None:
    """R19: as a partition of groups; a new leadership reads it again."""
    _, producer = bench.init().one
    bench.add(producer, T0)
    bench.init(name="other")
    torn = bench.state_partition()
    assert bench.state_partition("other") != torn
    whole, read = bench.log.batches[torn][-1], bench.log.read

    def refuse(topic_partition: TopicPartition, start: Offset, max_bytes: int) -> Buffer:
        if topic_partition == torn:
            raise FileUnavailable("the sector cannot be read")
        return read(topic_partition, start, max_bytes)

    with monkeypatch.context() as patch:
        if cause == "ends at":
            bench.log.batches[torn][-1] = whole[:-1]
        else:
            patch.setattr(bench.log, "read", refuse)
        bench.lead_again(torn)
        bench.lead_again(bench.state_partition("other"))
        bench.run()
    assert f"{torn} is not served: its transactions cannot be loaded: " in caplog.text
    assert cause in caplog.text
    assert bench.init().error is E.NOT_COORDINATOR
    assert bench.end(producer, committed=True).error is E.NOT_COORDINATOR
    assert bench.init(name="other").error is E.NONE
    assert [one.transactional_id for _, one in bench.coordinator.store.transactions()] == ["other"]
    bench.log.batches[torn][-1] = whole
    bench.lead_again(torn)
    bench.run()
    assert bench.record().state is TransactionState.ONGOING


def test_a_leadership_that_ends_while_it_is_read_ends_only_itself(
    bench: TransactionBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the earlier leadership could not read does not end the later one."""
    bench.init()
    torn = bench.state_partition()
    read = bench.log.read
    bench.lead_again(torn)
    with monkeypatch.context() as patch:

        def led_again_and_refused(topic_partition: TopicPartition, start: Offset, max_bytes: int) -> Buffer:
            patch.setattr(bench.log, "read", read)
            bench.lead_again(torn)
            raise FileUnavailable("the sector cannot be read")

        patch.setattr(bench.log, "read", led_again_and_refused)
        bench.run()
    assert bench.init().error is E.NONE


@pytest.mark.parametrize(
    ("failure", "told"),
    [
        (E.NOT_ENOUGH_REPLICAS, E.COORDINATOR_NOT_AVAILABLE),
        (E.UNKNOWN_TOPIC_OR_PARTITION, E.COORDINATOR_NOT_AVAILABLE),
        (E.NOT_LEADER_OR_FOLLOWER, E.NOT_COORDINATOR),
        (E.KAFKA_STORAGE_ERROR, E.NOT_COORDINATOR),
        (E.MESSAGE_TOO_LARGE, E.UNKNOWN_SERVER_ERROR),
    ],
)
def test_what_cannot_be_stored_changes_nothing(bench: TransactionBench, failure: E, told: E) -> None:
    _, producer = bench.init().one
    bench.add(producer, T0)
    before = bench.record()
    bench.log.failure = failure
    assert bench.add(producer, T1).one == (told, NO_PRODUCER)
    assert bench.end(producer, committed=True).one == (told, NO_PRODUCER)
    assert bench.init().one == (told, NO_PRODUCER)
    assert bench.record() == before
    assert not bench.transaction().is_busy
    bench.log.failure = E.NONE
    assert bench.end(producer, committed=True).error is E.NONE


def test_a_record_counts_when_it_is_appended_and_is_told_of_when_it_is_replicated(
    bench: TransactionBench,
) -> None:
    """R19"""
    _, producer = bench.init().one
    bench.log.lags = True
    added = bench.add(producer, T0)
    ended = bench.end(producer, committed=True)
    late = bench.init()
    assert bench.record().state is TransactionState.PREPARE_COMMIT
    assert [added.given, ended.given, late.given] == [[], [], []]
    assert bench.verify(producer, T0) is None, "whoever only asks waits, too"
    assert bench.partitions.markers == {}, "a decision that may be lost is told to nobody"
    bench.log.replicate(1)
    assert (added.error, ended.given) == (E.NONE, [])
    bench.log.catch_up()
    assert (ended.error, late.error) == (E.NONE, E.CONCURRENT_TRANSACTIONS)
    assert [marker.committed for marker in bench.partitions.markers[T0]] == [True]
    assert bench.record().state is TransactionState.COMPLETE_COMMIT


@pytest.mark.parametrize(
    "failure", [E.REQUEST_TIMED_OUT, E.NOT_ENOUGH_REPLICAS_AFTER_APPEND, E.NOT_LEADER_OR_FOLLOWER]
)
def test_a_write_whose_outcome_is_unknown_is_not_one_that_did_not_happen(
    bench: TransactionBench, failure: E
) -> None:
    """R19"""
    _, producer = bench.init().one
    bench.add(producer, T0)
    bench.log.lags = True
    ended = bench.end(producer, committed=True)
    if failure is E.REQUEST_TIMED_OUT:
        bench.log.time_out()
        assert ended.one == (E.COORDINATOR_NOT_AVAILABLE, NO_PRODUCER)
        assert bench.end(producer, committed=False).given == [], "it builds on what is not known"
        bench.log.time_out()
        bench.log.catch_up()
    elif failure is E.NOT_ENOUGH_REPLICAS_AFTER_APPEND:
        bench.log.lags = False
        bench.log.settle(failure)
        assert ended.one == (E.COORDINATOR_NOT_AVAILABLE, NO_PRODUCER)
    else:
        bench.fail_over()
        assert ended.one == (E.NOT_COORDINATOR, NO_PRODUCER)
        assert bench.record().state is TransactionState.ONGOING, "it is loaded as the next leader had it"
        assert bench.partitions.markers == {}
        return
    assert [marker.committed for marker in bench.partitions.markers[T0]] == [True]
    assert bench.record().state is TransactionState.COMPLETE_COMMIT


def test_what_was_loaded_and_is_not_replicated_is_told_to_nobody(bench: TransactionBench) -> None:
    """R19: the leader after this one may not have it."""
    _, producer = bench.init().one
    bench.add(producer, T0)
    bench.log.lags = True
    bench.end(producer, committed=True)
    bench.crash()
    assert bench.record().state is TransactionState.PREPARE_COMMIT
    asked = bench.init()
    assert (asked.given, bench.partitions.markers) == ([], {})
    bench.log.catch_up()
    assert asked.error is E.CONCURRENT_TRANSACTIONS
    assert [marker.committed for marker in bench.partitions.markers[T0]] == [True]


def test_an_id_that_could_not_be_stored_is_not_kept(bench: TransactionBench) -> None:
    bench.log.failure = E.NOT_ENOUGH_REPLICAS
    assert bench.init().error is E.COORDINATOR_NOT_AVAILABLE
    assert list(bench.coordinator.store.transactions()) == []


def test_a_producer_id_that_takes_time_is_waited_for(bench: TransactionBench) -> None:
    bench.are_producer_ids_slow = True
    first, second = bench.init(), bench.init()
    assert [first.given, second.given] == [[], []]
    for late in bench.late_producer_ids:
        late()
    assert [first.one, second.one] == [(E.NONE, Producer(7, 0)), (E.NONE, Producer(7, 1))]


def test_the_end_of_a_transaction_takes_no_deep_stack(
    bench: TransactionBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Decision, markers, completion and answer are steps after each other."""
    _, producer = bench.init().one
    bench.add(producer, T0)
    depths: list[int] = []
    append, write_markers = bench.log.append, bench.partitions.write_markers

    def measured(call: Callable[P, R]) -> Callable[P, R]:
        def measure(*given: P.args, **named: P.kwargs) -> R:
            depths.append(len(inspect.stack(0)))
            return call(*given, **named)

        return measure

    monkeypatch.setattr(bench.log, "append", measured(append))
    monkeypatch.setattr(bench.partitions, "write_markers", measured(write_markers))
    before = len(inspect.stack(0))
    bench.end(producer, committed=True)
    assert len(depths) == 3
    assert max(depths) - before <= 15


def test_an_answer_that_comes_after_the_leadership_has_gone(bench: TransactionBench) -> None:
    bench.log.lags = True
    asked = bench.init()
    bench.coordinator.resign(bench.state_partition().partition)
    bench.log.catch_up()
    assert asked.one == (E.NOT_COORDINATOR, NO_PRODUCER)


def test_without_producer_ids_nobody_begins(bench: TransactionBench) -> None:
    bench.no_producer_ids = E.COORDINATOR_LOAD_IN_PROGRESS
    assert bench.init().one == (E.COORDINATOR_LOAD_IN_PROGRESS, NO_PRODUCER)
    bench.no_producer_ids = None
    _, producer = bench.init().one
    bench.put(replace(bench.record(), producer_epoch=32766))
    bench.no_producer_ids = E.COORDINATOR_LOAD_IN_PROGRESS
    ended = bench.end(Producer(producer.producer_id, 32766), committed=False, version=V2)
    assert ended.one == (E.COORDINATOR_LOAD_IN_PROGRESS, NO_PRODUCER)


def test_no_transactional_id_comes_beyond_the_bound(bench: TransactionBench) -> None:
    bench.settings = BrokerSettings(odradek_transactional_ids_max=1)
    _, producer = bench.init().one
    assert bench.init(name="other").one == (E.POLICY_VIOLATION, NO_PRODUCER)
    assert bench.add(producer, T0).error is E.NONE, "those that are there go on"
    assert bench.end(producer, committed=True).error is E.NONE
    bench.clock.advance(8 * 86_400_000)
    bench.remove_expired()
    assert bench.init(name="other").error is E.NONE


def test_a_long_transactional_id_needs_more_room(bench: TransactionBench) -> None:
    bench.settings = BrokerSettings(odradek_transactional_ids_max=10)
    assert bench.init().error is E.NONE
    assert bench.init(name="x" * 32_000).one == (E.POLICY_VIOLATION, NO_PRODUCER)
    assert bench.init(name="x" * 3_000).error is E.NONE
    assert bench.init(name="x" * 3_000).error is E.NONE, "it is there already"


def test_a_log_directory_that_fails_takes_its_ids_along(bench: TransactionBench) -> None:
    _, producer = bench.init().one
    bench.coordinator.resign_lost()
    assert bench.add(producer, T0).error is E.NONE
    bench.log.is_offline = True
    bench.coordinator.resign_lost()
    assert bench.add(producer, T0).error is E.NOT_COORDINATOR


# --- what time does


def test_a_transaction_is_aborted_after_its_timeout_and_not_before(bench: TransactionBench) -> None:
    _, producer = bench.init(timeout_ms=5_000).one
    bench.add(producer, T0)
    bench.clock.advance(5_000)
    assert bench.abort_timed_out() == 0
    bench.clock.advance(1)
    assert bench.abort_timed_out() == 1
    assert [marker.committed for marker in bench.partitions.markers[T0]] == [False]
    assert bench.end(producer, committed=True).error is E.PRODUCER_FENCED
    going_on = Producer(producer.producer_id, producer.epoch + 1)
    assert bench.init(producer).one == (E.NONE, going_on), "it may go on, as nobody took the id (KIP-588)"


@pytest.mark.parametrize(("hours", "moves"), [(-1, False), (1, False), (-1, True)])
def test_a_timeout_does_not_depend_on_how_the_wall_clock_is_set(
    bench: TransactionBench, hours: int, *, moves: bool
) -> None:
    """R19: an open transaction holds readers back; `moves`: another coordinator, whose clock is behind."""
    _, producer = bench.init(timeout_ms=5_000).one
    bench.add(producer, T0)
    bench.clock.jump(hours * 3_600_000)
    if moves:
        bench.crash()
    bench.clock.advance(5_000)
    assert bench.abort_timed_out() == 0
    bench.add(producer, T1)
    bench.clock.advance(1)
    assert bench.abort_timed_out() == 1


def test_a_transaction_is_as_old_for_the_next_coordinator(bench: TransactionBench) -> None:
    _, producer = bench.init(timeout_ms=5_000).one
    bench.add(producer, T0)
    bench.clock.advance(4_000)
    bench.crash()
    bench.clock.advance(1_000)
    assert bench.abort_timed_out() == 0
    bench.clock.advance(1)
    assert bench.abort_timed_out() == 1


def test_what_is_about_to_end_does_not_time_out(bench: TransactionBench) -> None:
    _, producer = bench.init(timeout_ms=5_000).one
    bench.add(producer, T0)
    bench.log.lags = True
    ended = bench.end(producer, committed=True)
    bench.clock.advance(60_000)
    assert bench.abort_timed_out() == 0
    bench.log.catch_up()
    assert ended.error is E.NONE
    assert bench.record().state is TransactionState.COMPLETE_COMMIT


def test_an_id_that_nobody_uses_is_forgotten_for_good(bench: TransactionBench) -> None:
    bench.settings = BrokerSettings(transactional_id_expiration_ms=1_000)
    bench.init()
    bench.clock.advance(999)
    assert bench.remove_expired() == 0
    bench.clock.advance(1)
    assert bench.remove_expired() == 1
    bench.crash()
    assert bench.init().one == (E.NONE, Producer(8, 0)), "a tombstone is in the log"


def test_an_id_whose_tombstone_cannot_be_written_stays(bench: TransactionBench) -> None:
    bench.init()
    bench.clock.advance(8 * 86_400_000)
    bench.log.failure = E.NOT_ENOUGH_REPLICAS
    bench.remove_expired()
    bench.log.failure = E.NONE
    assert bench.init().one == (E.NONE, Producer(7, 1))


# --- loading


def test_everything_comes_back_from_the_log(bench: TransactionBench) -> None:
    for number in range(40):
        name = f"id-{number}"
        _, producer = bench.init(name=name).one
        if number % 2:
            bench.add(producer, T0, name=name)
    known = {one.transactional_id: one.current for _, one in bench.coordinator.store.transactions()}
    bench.crash()
    loaded = {one.transactional_id: one.current for _, one in bench.coordinator.store.transactions()}
    assert loaded == known


def test_a_record_that_nobody_understands_costs_one_id(
    bench: TransactionBench, caplog: pytest.LogCaptureFixture
) -> None:
    bench.init()
    bench.init(name="other")
    partition = bench.state_partition()
    batch = bytearray(bench.log.batches[partition][-1])
    batch[batch.index(b"payments") + 10] = 0x7F  # the version of its value
    bench.log.batches[partition][-1] = bytes(batch)
    bench.crash()
    assert [one.transactional_id for _, one in bench.coordinator.store.transactions()] == ["other"]
    assert "offset 0" in caplog.text
