"""X2: a follower's log begins at the leader's batch that holds the leader's log start."""

import pytest

from odradek.base.chance import SeededChance
from odradek.base.errors import CorruptRecord
from odradek.base.settings import TopicConfig
from odradek.records.header import iter_headers
from odradek.storage import Log
from odradek.storage.checkpoint import read_epochs
from odradek.storage.file_names import LEADER_EPOCHS
from tests.storage.log_bench import LogBench

START = 7
COMPACTED = TopicConfig(cleanup_policy=frozenset({"compact"}), retention_ms=-1)


def leaders_batches(base: int = 5, *, epoch: int = 4) -> bytes:
    """Five records from `base` on, and two behind them."""
    return bytes(
        LogBench.batch(5, base_offset=base, leader_epoch=epoch)
        + LogBench.batch(2, base_offset=base + 5, leader_epoch=epoch + 1)
    )


def empty_at(bench: LogBench, start: int = START, config: TopicConfig | None = None) -> Log:
    """An empty log that starts at `start`, on disk."""
    log = bench.open(config)
    log.truncate_fully_and_start_at(start)
    log.flush()
    log.settle(log.truncations)
    return log


def held(log: Log) -> bytes:
    return bytes(log.read(log.log_start_offset, 1 << 20, log.end_position, at_least_one=True).held_records)


def test_an_empty_log_begins_at_the_batch_that_holds_its_start(bench: LogBench) -> None:
    """X2: the log start stays, so no reader sees what was deleted."""
    log = empty_at(bench)
    log.append_as_follower(leaders_batches())
    assert (log.log_start_offset, log.high_watermark.offset, log.end_offset) == (START, START, 12)
    assert [segment.base_offset for segment in log.segments] == [5]
    assert held(log) == leaders_batches()
    assert log.starts_inside_segment
    assert log.position_of(START) == (START, 5, 0)


def test_the_epochs_begin_at_the_log_start(bench: LogBench) -> None:
    """X4: as in the leader, whose records below it were deleted."""
    log = empty_at(bench)
    log.append_as_follower(leaders_batches())
    assert read_epochs(bench.disk, bench.path(LEADER_EPOCHS))[0] == [(4, START), (5, 10)]
    assert log.end_offset_for_epoch(4) == (4, 10)


def test_an_epoch_that_began_in_the_empty_log_is_forgotten(bench: LogBench) -> None:
    """X4: no record has it."""
    log = empty_at(bench)
    log.begin_epoch(9)
    log.append_as_follower(leaders_batches())
    assert log.end_offset_for_epoch(4) == (4, 10)
    assert log.latest_epoch == 5


def test_records_that_were_deleted_here_give_way_to_the_leaders(bench: LogBench) -> None:
    """X2: nothing readable is left of them."""
    log = bench.open()
    bench.append(log, START)
    log.advance_high_watermark(log.end_position)
    log.delete_records_before(START)
    log.append_as_follower(leaders_batches())
    assert (log.log_start_offset, log.end_offset) == (START, 12)
    assert held(log) == leaders_batches()


@pytest.mark.parametrize(
    ("start", "batches"),
    [(START, leaders_batches(2)), (START, leaders_batches(0)), (0, leaders_batches(5)[:-1])],
    ids=["first batch ends at the start", "first batch ends below", "nothing below"],
)
def test_other_batches_do_not_move_where_the_log_begins(bench: LogBench, start: int, batches: bytes) -> None:
    """X2: offsets below LEO are refused where the first batch does not hold it."""
    log = empty_at(bench, start)
    assert not log.make_room_for(batches)
    if start:
        with pytest.raises(CorruptRecord):
            log.append_as_follower(batches)
    else:
        log.append_as_follower(batches)
    assert [segment.base_offset for segment in log.segments] == [start]


def test_a_log_with_records_takes_no_batch_from_below(bench: LogBench) -> None:
    """X2."""
    log = bench.open()
    bench.append(log, START)
    with pytest.raises(CorruptRecord):
        log.append_as_follower(leaders_batches())
    assert (log.log_start_offset, log.end_offset) == (0, START)


def test_a_damaged_batch_moves_nothing(bench: LogBench) -> None:
    """X5."""
    log = empty_at(bench)
    damaged = bytearray(leaders_batches())
    damaged[70] ^= 1
    for take in (log.make_room_for, log.append_as_follower):
        with pytest.raises(CorruptRecord):
            take(bytes(damaged))
    assert [segment.base_offset for segment in log.segments] == [START]
    assert log.is_settled


def test_room_is_made_before_the_append_and_once(bench: LogBench) -> None:
    """X6: a caller that must not block brings it to disk in between."""
    log = empty_at(bench)
    assert log.make_room_for(leaders_batches())
    assert not log.is_settled
    assert (log.log_start_offset, log.end_offset, log.size_bytes) == (START, START, 0)
    flush = log.pending_flush()
    assert flush is not None
    flush.run()
    log.mark_flushed(flush)
    assert log.settle(log.truncations)
    assert not log.make_room_for(leaders_batches())
    synced: list[str] = []
    bench.disk.before_operation = lambda operation, path: synced.append(operation)
    log.append_as_follower(leaders_batches())
    assert "sync" not in synced
    assert held(log) == leaders_batches()


def test_the_start_survives_a_kill_and_a_stop(bench: LogBench) -> None:
    """L4, R12."""
    empty_at(bench).append_as_follower(leaders_batches())
    bench.disk.kill()
    log = bench.open(clean=False, recovery_point=START, log_start_offset=START, high_watermark=START)
    assert (log.log_start_offset, log.end_offset) == (START, 12)
    assert log.recovery.is_uneventful(), log.recovery
    log.close()
    again = bench.open(log_start_offset=START, recovery_point=12, high_watermark=START)
    assert again.recovery.is_uneventful(), again.recovery
    assert held(again) == leaders_batches()
    assert again.end_offset_for_epoch(4) == (4, 10)


@pytest.mark.parametrize("config", [None, COMPACTED], ids=["deleted", "compacted"])
@pytest.mark.parametrize("start_is_known", [True, False])
@pytest.mark.parametrize("seed", [None, *range(6)])
def test_power_lost_at_any_operation_leaves_the_leaders_bytes_or_none(
    seed: int | None, *, start_is_known: bool, config: TopicConfig | None
) -> None:
    """X6, L4: the log ends at a batch, and holds no deleted record that a reader sees."""
    operations = 0

    def count(operation: str, path: str) -> None:
        nonlocal operations
        operations += 1

    bench = LogBench()
    log = empty_at(bench, config=config)
    bench.disk.before_operation = count
    log.append_as_follower(leaders_batches())
    assert operations > 3
    for number in range(operations + 1):
        check_power_loss(number, seed, config, start=START if start_is_known else 0)


class PowerLostError(Exception):
    """Raised by the disk of the test."""


def check_power_loss(number: int, seed: int | None, config: TopicConfig | None, *, start: int) -> None:
    """Lose power before the operation of that number, open the log, and follow the leader again."""
    bench = LogBench()
    log = empty_at(bench, config=config)
    left = number

    def lose(operation: str, path: str) -> None:
        nonlocal left
        if left == 0:
            raise PowerLostError
        left -= 1

    bench.disk.before_operation = lose
    try:
        log.append_as_follower(leaders_batches())
    except PowerLostError:
        pass
    bench.disk.before_operation = None
    bench.disk.crash(None if seed is None else SeededChance(seed))
    again = bench.open(
        config, clean=False, recovery_point=START, log_start_offset=start, high_watermark=START
    )
    recovery = again.recovery
    assert recovery.records_lost_from is None or recovery.cuts or start == 0, recovery
    assert again.end_offset in (START, 10, 12, *((0, 5) if start == 0 else ()))
    assert again.log_start_offset in (START, *((0, 5) if start == 0 else ()))
    if again.end_offset < START:  # the leader refuses that offset: X3
        again.truncate_fully_and_start_at(START)
    rest = leaders_batches()
    if again.end_offset > START:
        rest = b"".join(
            rest[at : at + one.size_bytes]
            for at, one in iter_headers(rest)
            if one.base_offset >= again.end_offset
        )
    if rest:
        again.append_as_follower(rest)
    assert again.end_offset == 12
    assert held(again) == leaders_batches()
