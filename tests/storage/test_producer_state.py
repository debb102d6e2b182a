"""Idempotent and transactional producers, through the log that remembers them."""

import pytest

from odradek.base.errors import (
    ApiError,
    InvalidProducerEpoch,
    InvalidTransactionState,
    OutOfOrderSequence,
)
from odradek.base.settings import TopicConfig
from odradek.records.header import iter_headers
from odradek.storage import AbortedTransaction, AppendInfo, Log, Origin
from odradek.storage.producer_state import SEQUENCE_MAX, sequence_after, sequence_before
from tests.storage.log_bench import LogBench

DAY_MS = 24 * 3_600_000


def send(
    bench: LogBench,
    log: Log,
    sequence: int,
    records: int = 1,
    *,
    pid: int = 7,
    epoch: int = 0,
    timestamp_ms: int | None = None,
    is_transactional: bool = False,
) -> AppendInfo:
    data = bench.batch(
        records,
        producer_id=pid,
        producer_epoch=epoch,
        base_sequence=sequence,
        timestamp_ms=bench.clock.wall_ms() if timestamp_ms is None else timestamp_ms,
        is_transactional=is_transactional,
    )
    return log.append_as_leader(data, 0, now_ms=bench.clock.wall_ms())


def end(
    bench: LogBench,
    log: Log,
    *,
    committed: bool,
    pid: int = 7,
    epoch: int = 0,
    coordinator_epoch: int = 0,
    origin: Origin = Origin.COORDINATOR,
) -> int:
    data = bench.marker(pid, epoch, committed=committed, coordinator_epoch=coordinator_epoch)
    return log.append_as_leader(data, 0, origin=origin, now_ms=bench.clock.wall_ms()).first_offset


def reopened(bench: LogBench, log: Log, config: TopicConfig | None = None) -> Log:
    log.close()
    again: Log = bench.open(config)
    return again


def test_sequences_wrap() -> None:
    assert sequence_after(4) == 5
    assert sequence_after(SEQUENCE_MAX) == 0
    assert sequence_before(9, 4) == 5
    assert sequence_before(1, 2) == SEQUENCE_MAX


def test_a_repeated_batch_is_answered_with_its_first_offsets(bench: LogBench) -> None:
    log = bench.open()
    for sequence in range(0, 15, 3):
        send(bench, log, sequence, 3)
    for sequence in range(0, 15, 3):
        info = send(bench, log, sequence, 3)
        assert (info.duplicate, info.first_offset, info.last_offset) == (True, sequence, sequence + 2)
        assert info.size_bytes == 0
    assert log.end_offset == 15


def test_only_the_last_five_batches_are_remembered(bench: LogBench) -> None:
    log = bench.open()
    for sequence in range(6):
        send(bench, log, sequence)
    assert send(bench, log, 1).duplicate
    with pytest.raises(OutOfOrderSequence):
        send(bench, log, 0)


def test_a_gap_is_refused_and_what_follows_is_taken(bench: LogBench) -> None:
    log = bench.open()
    send(bench, log, 0, 5)
    with pytest.raises(OutOfOrderSequence, match="5 is next"):
        send(bench, log, 6)
    with pytest.raises(OutOfOrderSequence):
        send(bench, log, 0, 3)
    assert send(bench, log, 5).first_offset == 5


def test_a_sequence_follows_the_largest_with_zero(bench: LogBench) -> None:
    log = bench.open()
    send(bench, log, SEQUENCE_MAX - 1, 2)
    assert send(bench, log, 0).first_offset == 2


def test_an_unknown_producer_may_begin_anywhere(bench: LogBench) -> None:
    log = bench.open()
    assert send(bench, log, 40).first_offset == 0
    assert send(bench, log, 41).first_offset == 1


def test_a_new_epoch_begins_at_zero_and_fences_the_old_one(bench: LogBench) -> None:
    log = bench.open()
    send(bench, log, 0, 3)
    with pytest.raises(OutOfOrderSequence):
        send(bench, log, 3, epoch=1)
    send(bench, log, 0, epoch=1)
    with pytest.raises(InvalidProducerEpoch):
        send(bench, log, 3)
    assert send(bench, log, 1, epoch=1).first_offset == 4


def test_two_producers_do_not_meddle(bench: LogBench) -> None:
    log = bench.open()
    send(bench, log, 0, pid=1)
    send(bench, log, 0, pid=2)
    send(bench, log, 1, pid=1)
    assert send(bench, log, 0, pid=2).first_offset == 1


def test_producers_survive_a_clean_stop_with_their_last_five_batches(bench: LogBench) -> None:
    """As many may be in flight, and each of them may have got no answer."""
    log = bench.open()
    for sequence in range(0, 18, 3):
        send(bench, log, sequence, 3)
    again = reopened(bench, log)
    for sequence in range(3, 18, 3):
        info = send(bench, again, sequence, 3)
        assert (info.duplicate, info.first_offset, info.last_offset) == (True, sequence, sequence + 2)
    with pytest.raises(OutOfOrderSequence):
        send(bench, again, 0, 3)
    assert send(bench, again, 18).first_offset == 18


def test_batches_before_a_roll_are_known_after_a_crash(bench: LogBench) -> None:
    """Recovery reads only what lies behind the snapshot; the producer's batches may all lie before it."""
    config = TopicConfig(segment_bytes=300)
    log = bench.open(config)
    send(bench, log, 0, 3)
    send(bench, log, 3, 2)
    for _ in range(8):
        bench.append(log)  # of no producer: they fill the segment, and more
    log.flush()
    again = bench.open(config, clean=False, recovery_point=log.end_offset)
    assert max(segment.base_offset for segment in again.segments) > 5
    for sequence, records in ((0, 3), (3, 2)):
        assert send(bench, again, sequence, records).duplicate
    assert send(bench, again, 5).first_offset == 13


def test_batches_before_a_snapshot_are_known_after_a_truncation(bench: LogBench) -> None:
    log = bench.open(TopicConfig(segment_bytes=300))
    for sequence in range(20):
        send(bench, log, sequence)
    log.truncate_to(9)
    for sequence in range(4, 9):
        assert send(bench, log, sequence).first_offset == sequence


def test_producers_survive_rolls_and_truncation(bench: LogBench) -> None:
    log = bench.open(TopicConfig(segment_bytes=300))
    for sequence in range(20):
        send(bench, log, sequence)
    log.truncate_to(9)
    with pytest.raises(OutOfOrderSequence):
        send(bench, log, 10)
    assert send(bench, log, 9).first_offset == 9


def test_producers_expire(bench: LogBench) -> None:
    log = bench.open()
    now_ms = bench.clock.wall_ms()
    send(bench, log, 0, pid=1, timestamp_ms=now_ms - 2 * DAY_MS)
    send(bench, log, 0, pid=2, timestamp_ms=now_ms)
    send(bench, log, 0, pid=3, timestamp_ms=now_ms - 2 * DAY_MS, is_transactional=True)
    assert log.expire_producers(now_ms) == 1
    assert [entry.producer_id for entry in log.producers.entries()] == [2, 3], "3 has a transaction open"
    again = reopened(bench, log)
    assert len(again.producers) == 2


def test_an_open_transaction_holds_the_last_stable_offset_back(bench: LogBench) -> None:
    log = bench.open()
    bench.append(log, 2)
    send(bench, log, 0, 3, is_transactional=True)
    bench.append(log, 2)
    log.restore_high_watermark(log.end_offset)
    assert (log.last_stable.offset, log.high_watermark.offset) == (2, 7)
    assert log.last_stable == log.position_of(2)
    assert end(bench, log, committed=True) == 7
    log.advance_high_watermark(log.position_of(7))
    assert log.last_stable.offset == 2, "the marker is not below HW yet"
    log.advance_high_watermark(log.end_position)
    assert log.last_stable == log.end_position


def test_the_last_stable_offset_is_never_below_the_log_start(bench: LogBench) -> None:
    """DeleteRecords over an open transaction."""
    log = bench.open()
    send(bench, log, 0, 3, is_transactional=True)
    log.restore_high_watermark(3)
    assert log.delete_records_before(2) == 2
    assert log.last_stable == log.position_of(2)
    send(bench, log, 3, 2, is_transactional=True)
    log.advance_high_watermark(log.end_position)
    assert log.last_stable.offset == 2
    end(bench, log, committed=True)
    log.advance_high_watermark(log.end_position)
    assert log.last_stable == log.end_position


def test_the_earliest_of_several_open_transactions_counts(bench: LogBench) -> None:
    log = bench.open()
    send(bench, log, 0, pid=1, is_transactional=True)
    send(bench, log, 0, pid=2, is_transactional=True)
    end(bench, log, pid=1, committed=False)
    log.restore_high_watermark(log.end_offset)
    assert log.last_stable.offset == 1
    end(bench, log, pid=2, committed=True)
    log.restore_high_watermark(log.end_offset)
    assert log.last_stable.offset == log.end_offset


def test_a_transaction_stays_open_over_a_restart(bench: LogBench) -> None:
    log = bench.open()
    send(bench, log, 0, 3, is_transactional=True)
    bench.append(log, 2)
    again = reopened(bench, log)
    again.restore_high_watermark(5)
    assert again.last_stable.offset == 0
    end(bench, again, committed=True)
    again.restore_high_watermark(6)
    assert again.last_stable.offset == 6


def test_writing_outside_of_an_open_transaction_is_refused(bench: LogBench) -> None:
    log = bench.open()
    send(bench, log, 0, is_transactional=True)
    with pytest.raises(InvalidTransactionState):
        send(bench, log, 1)


def test_markers_of_old_coordinators_and_producers_are_refused(bench: LogBench) -> None:
    log = bench.open()
    send(bench, log, 0, is_transactional=True, epoch=3)
    end(bench, log, committed=True, epoch=3, coordinator_epoch=5)
    with pytest.raises(ApiError, match="coordinator epoch 4"):
        end(bench, log, committed=True, epoch=3, coordinator_epoch=4)
    with pytest.raises(InvalidProducerEpoch):
        end(bench, log, committed=True, epoch=2, coordinator_epoch=5)


def test_a_late_marker_of_the_epoch_that_it_began_is_refused(bench: LogBench) -> None:
    """KIP-1228: after it was written once, the next transaction of the producer has the same epoch."""
    log = bench.open()
    send(bench, log, 0, is_transactional=True)
    begun = Origin.NEXT_EPOCH
    end(bench, log, committed=False, epoch=1, origin=begun)
    end(bench, log, committed=False, epoch=1, origin=begun)  # a repetition, after a lost answer
    send(bench, log, 0, epoch=1, is_transactional=True)
    with pytest.raises(InvalidProducerEpoch, match="late marker"):
        end(bench, log, committed=False, epoch=1, origin=begun)
    end(bench, log, committed=False, epoch=1)  # that of a classic producer, which keeps its epoch


def test_a_marker_with_a_new_epoch_fences_and_begins_sequences_anew(bench: LogBench) -> None:
    log = bench.open()
    send(bench, log, 0, 3, is_transactional=True)
    end(bench, log, committed=False, epoch=1)
    with pytest.raises(InvalidProducerEpoch):
        send(bench, log, 3, is_transactional=True)
    assert send(bench, log, 0, epoch=1, is_transactional=True).first_offset == 4


@pytest.mark.parametrize("how", ["running", "reopened", "recovered"])
def test_read_committed_readers_learn_which_transactions_were_aborted(bench: LogBench, how: str) -> None:
    config = TopicConfig(segment_bytes=400, index_interval_bytes=100, retention_ms=-1)
    log = bench.open(config)
    for sequence in range(12):
        send(bench, log, sequence, pid=7, is_transactional=True)
        if sequence % 3 == 2:
            end(bench, log, pid=7, committed=sequence == 5)
    if how == "reopened":
        log = reopened(bench, log, config)
    elif how == "recovered":
        log = bench.open(config, clean=False)
    log.restore_high_watermark(log.end_offset)
    found: dict[int, AbortedTransaction] = {}
    offset = 0
    while offset < log.last_stable.offset:
        read = log.read(offset, 1 << 20, log.last_stable, at_least_one=True, committed_only=True)
        assert read.aborted_transactions is not None
        last = [header for _, header in iter_headers(read.held_records)][-1]
        for aborted in read.aborted_transactions:
            assert aborted.last_offset >= offset
            found[aborted.first_offset] = aborted
        offset = last.next_offset
    assert [(a.producer_id, a.first_offset, a.last_offset) for a in found.values()] == [
        (7, 0, 3),
        (7, 8, 11),
        (7, 12, 15),
    ]


def test_a_read_beside_no_transaction_names_none(bench: LogBench) -> None:
    log = bench.open()
    bench.append(log, 2)
    log.restore_high_watermark(2)
    read = log.read(0, 1000, log.last_stable, at_least_one=True, committed_only=True)
    assert read.aborted_transactions == []
    assert log.read(0, 1000, log.last_stable, at_least_one=True).aborted_transactions is None
    assert (
        log.read(2, 1000, log.last_stable, at_least_one=True, committed_only=True).aborted_transactions == []
    )
