from collections.abc import Callable, Mapping

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import exhaust
from odradek.base.ids import TopicPartition
from odradek.coordinator.groups.committing import Codes
from odradek.coordinator.groups.gathering import BATCH_BYTES_MAX, GatheredWrite, GatheredWrites
from odradek.coordinator.groups.log_records import KeyValue
from odradek.coordinator.groups.offsets import CommittedOffset, TransactionalProducer
from odradek.coordinator.runtime.partition_log import AppendResult
from odradek.records.header import BatchHeader, iter_headers
from tests.coordinator.group_bench import GroupBench

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


class Log:
    """Takes batches of at most `records_max` records."""

    def __init__(self) -> None:
        self.batches: list[list[KeyValue]] = []
        self.turns: list[Callable[[], None]] = []
        self.records_max = 1_000_000
        self.gathered = GatheredWrites(self.write, self.turns.append)

    def write(self, records: list[KeyValue]) -> AppendResult:
        if len(records) > self.records_max:
            return AppendResult(ErrorCode.MESSAGE_TOO_LARGE)
        base = sum(map(len, self.batches))
        self.batches.append(records)
        return AppendResult(ErrorCode.NONE, base)

    def add(self, *keys: bytes, value: bytes = b"v") -> list[int | ErrorCode]:
        """Write; where, or why not, will be in the list."""
        told: list[int | ErrorCode] = []
        self.gathered.add(GatheredWrite([(key, value) for key in keys], told.append, told.append))
        return told

    def end_turn(self) -> None:
        while self.turns:
            self.turns.pop(0)()

    def keys(self) -> list[list[bytes]]:
        return [[key for key, _ in batch] for batch in self.batches]


@pytest.fixture
def log() -> Log:
    return Log()


def test_commits_of_one_turn_are_one_batch(log: Log) -> None:
    first, second = log.add(b"a", b"b"), log.add(b"c")
    assert not log.batches, "the turn is not over"
    assert not first, "told before it is written"
    log.end_turn()
    assert log.keys() == [[b"a", b"b", b"c"]]
    assert first == second == [0]


def test_commits_of_two_turns_are_two_batches(log: Log) -> None:
    log.add(b"a")
    log.end_turn()
    told = log.add(b"b")
    log.end_turn()
    assert log.keys() == [[b"a"], [b"b"]]
    assert told == [1]


def test_a_flush_writes_at_once_and_only_once(log: Log) -> None:
    told = log.add(b"a")
    log.gathered.flush()
    assert told == [0]
    later = log.add(b"b")
    assert len(log.turns) == 1, "one end of the turn is deferred"
    log.end_turn()
    assert log.keys() == [[b"a"], [b"b"]]
    assert len(told) == len(later) == 1


def test_a_batch_has_a_bounded_size(log: Log) -> None:
    value = bytes(BATCH_BYTES_MAX // 2 - 1)
    for key in (b"a", b"b", b"c"):
        log.add(key, value=value)
    log.add(b"d", value=bytes(2 * BATCH_BYTES_MAX))
    log.end_turn()
    assert log.keys() == [[b"a", b"b"], [b"c"], [b"d"]]


def test_no_commit_fails_for_the_company_it_is_in(log: Log) -> None:
    log.records_max = 2
    small, large, other = log.add(b"a"), log.add(b"b", b"c", b"d"), log.add(b"e")
    log.end_turn()
    assert log.keys() == [[b"a"], [b"e"]]
    assert [small, large, other] == [[0], [ErrorCode.MESSAGE_TOO_LARGE], [1]]


# --- in a coordinator


def headers(bench: GroupBench) -> list[BatchHeader]:
    """Of the batches in the log."""
    return [
        header for found in bench.log.batches.values() for batch in found for _, header in iter_headers(batch)
    ]


def test_memory_follows_the_log(bench: GroupBench) -> None:
    reply = bench.send_commit("g", {T0: 1})
    assert not reply.is_answered
    assert bench.committed() == {}, "not in the log"
    bench.run()
    assert reply.answer == {T0: ErrorCode.NONE}
    assert bench.committed() == {T0: 1}


def test_the_later_commit_of_a_turn_counts(bench: GroupBench) -> None:
    bench.send_commit("g", {T0: 1})
    bench.send_commit("g", {T0: 2})
    bench.run()
    assert len(headers(bench)) == 1
    assert bench.committed() == {T0: 2}
    bench.start()
    assert bench.committed() == {T0: 2}


def test_a_refused_batch_is_told_to_all(bench: GroupBench) -> None:
    replies = [bench.send_commit("g", {T0: 1}), bench.send_commit("g", {T1: 1})]
    bench.log.failure = ErrorCode.NOT_ENOUGH_REPLICAS
    bench.run()
    assert [reply.answer for reply in replies] == [
        {T0: ErrorCode.COORDINATOR_NOT_AVAILABLE},
        {T1: ErrorCode.COORDINATOR_NOT_AVAILABLE},
    ]
    assert bench.state() is None


def test_a_deletion_takes_what_was_only_just_committed(bench: GroupBench) -> None:
    bench.commit("g", {T0: 1})
    reply = bench.send_commit("g", {T1: 1})
    codes: list[Mapping[str, ErrorCode]] = []
    exhaust(bench.coordinator.delete_groups(["g"], codes.append))
    bench.run()
    assert reply.answer == {T1: ErrorCode.NONE}
    assert codes == [{"g": ErrorCode.NONE}]
    assert bench.state() is None
    bench.start()
    assert bench.state() is None


def test_an_offset_is_deleted_with_the_commit_that_came_before(bench: GroupBench) -> None:
    bench.commit("g", {T0: 1})
    bench.send_commit("g", {T0: 2})
    codes: list[tuple[ErrorCode, Codes]] = []
    bench.coordinator.offset_writes.delete("g", [T0], lambda *answer: codes.append(answer))
    bench.run()
    assert codes == [(ErrorCode.NONE, {T0: ErrorCode.NONE})]
    assert bench.committed() == {}
    bench.start()
    assert bench.committed() == {}


def test_a_transactional_commit_stands_behind_those_before_it(bench: GroupBench) -> None:
    bench.send_commit("g", {T0: 1})
    writes, producer = bench.coordinator.offset_writes, TransactionalProducer(9, 0)
    writes.commit_in_transaction(
        "g",
        producer,
        exhaust(writes.prepare("g", iter([(T0, CommittedOffset(2))]), producer)),
        member_id="",
        instance_id=None,
        generation=-1,
        respond=lambda codes: None,
    )
    assert [header.producer_id for header in headers(bench)] == [-1, 9]
    assert bench.committed() == {T0: 1}


def test_whoever_waits_is_answered_when_the_leadership_goes(bench: GroupBench) -> None:
    reply = bench.send_commit("g", {T0: 1})
    bench.coordinator.resign_all()
    assert reply.answer == {T0: ErrorCode.NONE}, "it could still be written"
    bench.run()
    bench.start()
    assert bench.committed() == {T0: 1}
