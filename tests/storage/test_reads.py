"""L3, case by case."""

import pytest

from odradek.base.errors import ApiError, CorruptRecord, OffsetOutOfRange
from odradek.base.settings import TopicConfig
from odradek.base.stored_bytes import StoredBytes
from odradek.records.header import iter_headers
from odradek.storage import Log, LogPosition, LogRead
from odradek.storage.memory_files import MemoryFile
from odradek.storage.reads import HOLDS_ALL
from tests.storage.log_bench import LogBench

SMALL = TopicConfig(segment_bytes=500, index_interval_bytes=100)
PLENTY = 1 << 20


def filled(bench: LogBench, batches: int = 12, records: int = 3) -> Log:
    log: Log = bench.open(SMALL)
    for _ in range(batches):
        bench.append(log, records)
    return log


def bases(read: LogRead) -> list[int]:
    return [header.base_offset for _, header in iter_headers(read.held_records)]


def read_all(log: Log, bound: LogPosition) -> list[int]:
    """Base offsets of everything below a bound, fetched as a consumer does."""
    offset, found = log.log_start_offset, []
    while offset < bound.offset:
        read = log.read(offset, PLENTY, bound, at_least_one=True)
        assert not isinstance(read.records, StoredBytes)
        headers = [header for _, header in iter_headers(read.held_records)]
        assert headers, f"nothing at {offset}, below {bound}"
        found += [header.base_offset for header in headers]
        offset = headers[-1].next_offset
    return found


def test_a_negative_length_is_an_error(bench: LogBench) -> None:
    """L3"""
    log = filled(bench)
    with pytest.raises(ApiError):
        log.read(0, -1, log.end_position, at_least_one=True)


def test_length_zero_gives_nothing_but_the_position(bench: LogBench) -> None:
    """L3"""
    log = filled(bench)
    read = log.read(4, 0, log.end_position, at_least_one=True)
    assert (read.records, read.position) == (b"", log.position_of(4))


def test_at_the_end_there_is_nothing(bench: LogBench) -> None:
    """L3: start = LEO."""
    log = filled(bench)
    read = log.read(36, PLENTY, log.end_position, at_least_one=True)
    assert (read.records, read.position) == (b"", log.end_position)


def test_at_or_above_the_bound_there_is_nothing(bench: LogBench) -> None:
    """L3: above the bound but ≤ LEO."""
    log = filled(bench)
    bound = log.position_of(6)
    for offset in (6, 7, 35):
        read = log.read(offset, PLENTY, bound, at_least_one=True)
        assert (read.records, read.position) == (b"", log.position_of(offset))


def test_outside_the_log_is_out_of_range(bench: LogBench) -> None:
    """L3"""
    log = filled(bench)
    log.restore_high_watermark(36)
    log.delete_records_before(10)
    for offset in (-1, 0, 9, 37):
        with pytest.raises(OffsetOutOfRange):
            log.read(offset, PLENTY, log.end_position, at_least_one=True)


def test_starts_with_the_batch_that_holds_the_offset(bench: LogBench) -> None:
    """L3: also inside a batch, in every segment."""
    log = filled(bench)
    for offset in range(36):
        read = log.read(offset, PLENTY, log.end_position, at_least_one=True)
        assert bases(read)[0] == offset - offset % 3
        assert read.position.offset == offset


def test_ends_at_the_bound(bench: LogBench) -> None:
    """L3: with the last batch below it, in whichever segment it lies."""
    log = filled(bench)
    for end in range(0, 37, 3):
        bound = log.position_of(end)
        assert read_all(log, bound) == list(range(0, end, 3))


def test_a_bound_inside_a_batch_leaves_it_out(bench: LogBench) -> None:
    """L3: end position = that of the first batch at or above the bound."""
    log = filled(bench)
    read = log.read(0, PLENTY, log.position_of(4), at_least_one=True)
    assert bases(read) == [0]


def test_stops_at_max_bytes_like_kafka(bench: LogBench) -> None:
    log = filled(bench)
    size = len(bench.batch(3))
    read = log.read(0, 2 * size + 10, log.end_position, at_least_one=True)
    assert len(read.records) == 2 * size + 10
    assert bases(read) == [0, 3]
    assert not read.first_batch_incomplete


def test_the_first_batch_comes_whole_where_one_is_asked_for(bench: LogBench) -> None:
    """L3"""
    log = filled(bench)
    size = len(bench.batch(3))
    whole = log.read(4, 10, log.end_position, at_least_one=True)
    assert (len(whole.records), whole.first_batch_incomplete) == (size, False)
    cut = log.read(4, 10, log.end_position, at_least_one=False)
    assert (len(cut.records), cut.first_batch_incomplete) == (10, True)
    exact = log.read(4, size, log.end_position, at_least_one=False)
    assert (len(exact.records), exact.first_batch_incomplete) == (size, False)


def test_nothing_in_a_segment_goes_on_in_the_next(bench: LogBench) -> None:
    """L3: offsets that compaction took from the end of a segment."""
    log = bench.open(SMALL)
    log.append_as_follower(bench.batch(3))
    log.roll()
    log.append_as_follower(bench.batch(1, base_offset=20))
    read = log.read(5, PLENTY, log.end_position, at_least_one=True)
    assert bases(read) == [20]
    assert read.position.segment_base_offset == 3


def test_all_passed_is_empty_at_the_end(bench: LogBench) -> None:
    """L3"""
    log = bench.open()
    bench.append(log, 3)
    log.roll()
    read = log.read(3, PLENTY, LogPosition(3, 0, log.size_bytes), at_least_one=True)
    assert read.records == b""


def test_reads_the_same_after_closing_and_opening(bench: LogBench) -> None:
    log = filled(bench, batches=40)
    before = read_all(log, log.end_position)
    log.close()
    again = bench.open(SMALL)
    assert read_all(again, again.end_position) == before == list(range(0, 120, 3))


def test_a_damaged_index_entry_is_noticed_and_the_index_made_again(bench: LogBench) -> None:
    """L4: an index entry that leads nowhere costs a scan, not records."""
    log = filled(bench)
    log.close()
    path = bench.path("00000000000000000000.index")
    data = bytearray(bench.disk.read(path))
    assert len(data) >= 16
    data[4:8] = (77).to_bytes(4, "big")
    bench.disk.file(path).write_at(data, 0)
    again = bench.open(SMALL)
    for offset in range(36):
        assert bases(again.read(offset, 150, again.end_position, at_least_one=True)) == [offset - offset % 3]
    assert bench.disk.read(path) != data


def test_a_damaged_batch_header_is_corrupt_not_a_crash(bench: LogBench) -> None:
    log = filled(bench)
    log.close()
    file = bench.disk.file(bench.path("00000000000000000000.log"))
    file.write_at(b"\0" * 30, len(bench.batch(3)) + 8)
    again = bench.open(SMALL)
    with pytest.raises(CorruptRecord, match="byte"):
        again.read(4, PLENTY, again.end_position, at_least_one=True)


LARGE = TopicConfig(segment_bytes=1 << 20)


def large(bench: LogBench) -> Log:
    """One segment of 5 batches of about 3,000 bytes."""
    log: Log = bench.open(LARGE)
    for number in range(5):
        bench.append(log, [bytes([number]) * 3_000])
    return log


def test_what_is_too_much_to_hold_is_left_in_the_file(bench: LogBench) -> None:
    """L3: the same bytes, read when they are sent."""
    log = large(bench)
    held = log.read(1, PLENTY, log.end_position, at_least_one=True)
    assert not isinstance(held.records, StoredBytes)
    stored = log.read(1, PLENTY, log.end_position, at_least_one=True, held_bytes_max=len(held.records) - 1)
    assert isinstance(stored.records, StoredBytes)
    assert (stored.position, len(stored.records)) == (held.position, len(held.records))
    assert stored.records.read_at(PLENTY, 0) == held.records
    whole = log.read(1, PLENTY, log.end_position, at_least_one=True, held_bytes_max=len(held.records))
    assert whole.records == held.records


def test_what_was_read_is_sent_though_the_segment_is_deleted_meanwhile(bench: LogBench) -> None:
    log = large(bench)
    held = log.read(0, PLENTY, log.end_position, at_least_one=True)
    stored = log.read(0, PLENTY, log.end_position, at_least_one=True, held_bytes_max=0)
    log.close()
    for name in bench.names():
        bench.disk.remove(bench.path(name))
    assert isinstance(stored.records, StoredBytes)
    assert stored.records.read_at(PLENTY, 0) == held.records


def test_where_no_file_can_be_kept_open_no_more_is_read_than_may_be_held(
    bench: LogBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So many answers are on their way that descriptors are short; a reader makes progress all the same."""
    log = large(bench)
    monkeypatch.setattr(MemoryFile, "pin", lambda file: None)

    def sizes(held_bytes_max: int, *, at_least_one: bool) -> int:
        read = log.read(0, PLENTY, log.end_position, at_least_one=at_least_one, held_bytes_max=held_bytes_max)
        return len(read.records)

    first_bytes = len(log.read(0, 1, log.end_position, at_least_one=True).records)
    assert sizes(0, at_least_one=True) == first_bytes
    assert sizes(0, at_least_one=False) == 0
    assert sizes(2 * first_bytes, at_least_one=True) == 2 * first_bytes


def test_a_little_is_not_worth_a_slice(bench: LogBench) -> None:
    log = filled(bench, batches=1)
    read = log.read(0, PLENTY, log.end_position, at_least_one=True, held_bytes_max=0)
    assert bases(read) == [0]
    assert len(log.read(0, PLENTY, log.end_position, at_least_one=False, held_bytes_max=0).records) == 0


def test_what_would_have_to_be_waited_for_is_left_to_be_read_later(bench: LogBench) -> None:
    log: Log = bench.open(LARGE)
    for _ in range(3):
        bench.append(log, [b"x" * 40_000])
    bench.disk.cold_paths.add(bench.path("00000000000000000000.log"))

    def is_left(max_bytes: int, held_bytes_max: int = HOLDS_ALL) -> bool:
        read = log.read(0, max_bytes, log.end_position, at_least_one=True, held_bytes_max=held_bytes_max)
        return isinstance(read.records, StoredBytes)

    assert is_left(PLENTY, held_bytes_max=PLENTY)
    assert not is_left(1, held_bytes_max=PLENTY), "one batch of 40 KB is not worth it"
    assert not is_left(PLENTY), "who sets no limit has it all read"
