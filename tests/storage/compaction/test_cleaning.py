"""L5: what a log holds after it has been cleaned."""

from dataclasses import replace

import pytest

from odradek.base.errors import CorruptRecord
from odradek.records.header import HEADER_BYTES
from odradek.records.work import finish
from odradek.storage.cleaned_segment import SegmentExtent
from odradek.storage.compaction.cleaning import REPLACED_AT_ONCE_MAX, clean, group_segments
from odradek.storage.compaction.job import CleaningJob
from odradek.storage.compaction.selection import cleanable_part, job_for
from tests.storage.compaction.facts import Facts
from tests.storage.log_bench import ProducerFields

DAY_MS = 24 * 3_600_000


def test_only_the_last_record_of_each_key_stays_at_its_offset(facts: Facts) -> None:
    """L5"""
    facts.write(("k", "1"), ("j", "1"), ("k", "2"), roll=True)
    facts.write(("i", "1"), ("j", "2"), roll=True)
    report = facts.clean()
    assert facts.facts() == {2: ("k", "2"), 3: ("i", "1"), 4: ("j", "2")}
    assert (report.end_offset, report.keys, report.records_read, report.records_kept) == (5, 3, 5, 3)
    assert (facts.log.log_start_offset, facts.log.end_offset) == (0, 5)
    assert facts.log.high_watermark.offset == facts.log.last_stable.offset == 5


def test_what_was_cleaned_before_loses_what_has_been_written_since(facts: Facts) -> None:
    """L5"""
    facts.write(("k", "1"), ("j", "1"))
    facts.clean()
    facts.write(("k", "2"))
    report = facts.clean()
    assert facts.facts() == {1: ("j", "1"), 2: ("k", "2")}
    assert report.keys == 1, "only the dirty part is in the map"


def test_the_active_segment_is_never_touched(facts: Facts) -> None:
    """L5"""
    facts.write(("k", "1"), ("k", "2"), roll=True)
    facts.write(("k", "3"), ("k", "4"))
    facts.clean(roll=False)
    assert facts.facts() == {1: ("k", "2"), 2: ("k", "3"), 3: ("k", "4")}


def test_small_segments_become_one(facts: Facts) -> None:
    """L5"""
    for number in range(5):
        facts.write((f"k{number}", "v"), roll=True)
    report = facts.clean(roll=False)
    assert facts.bases() == [0, 5]
    assert (report.segments_replaced, report.segments_made) == (5, 1)
    assert [name for name in facts.names() if name.endswith((".cleaned", ".swap"))] == []


def test_a_log_that_has_nothing_to_lose_keeps_its_files(facts: Facts) -> None:
    """L5"""
    facts.write(("k", "1"), ("j", "1"))
    report = facts.clean()
    assert (report.end_offset, report.segments_made) == (2, 0)
    assert not any(name.endswith(".deleted") for name in facts.names())


def test_a_tombstone_stays_for_delete_retention_from_its_first_cleaning_on(facts: Facts) -> None:
    """L5, KIP-534"""
    facts.write(("k", "1"))
    facts.write(("k", None))
    facts.write(("j", "1"))
    written_ms = facts.clock.wall_ms()
    facts.clock.advance(10 * DAY_MS)
    facts.clean()
    assert facts.facts() == {1: ("k", None), 2: ("j", "1")}
    horizon_ms, records = next((h.delete_horizon_ms, r) for h, r in facts.batches() if h.base_offset == 1)
    assert horizon_ms == facts.clock.wall_ms() + DAY_MS
    assert records[0].timestamp_ms == written_ms
    facts.clock.advance(DAY_MS - 1)
    facts.clean()
    assert 1 in facts.facts()
    facts.clock.advance(1)
    facts.clean()
    assert facts.facts() == {2: ("j", "1")}


def test_a_record_without_a_key_goes(facts: Facts) -> None:
    """L5: left from the time before the topic was compacted."""
    from odradek.base.settings import TopicConfig
    from odradek.records.builder import BatchBuilder

    builder = BatchBuilder()
    builder.append(1_000, None, b"nobody's")
    builder.append(1_000, b"k", b"1")
    compacted = facts.log.config
    facts.log.update_config(TopicConfig())
    facts.log.append_as_leader(builder.build(), 0, now_ms=facts.clock.wall_ms())
    facts.log.update_config(compacted)
    facts.clean()
    assert facts.facts() == {1: ("k", "1")}


@pytest.mark.parametrize("codec", range(5))
def test_compressed_batches_stay_compressed(facts: Facts, codec: int) -> None:
    """L5"""
    facts.write(*((f"k{number % 7}", f"value {number}") for number in range(50)), codec=codec)
    facts.clean()
    assert facts.facts() == {n: (f"k{n % 7}", f"value {n}") for n in range(43, 50)}
    assert {header.codec for header, _ in facts.batches()} == {codec}


def test_a_partial_batch_keeps_its_offsets_and_says_its_largest_timestamp(facts: Facts) -> None:
    """L5"""
    from odradek.records.builder import BatchBuilder

    builder = BatchBuilder(producer_id=5, producer_epoch=0, base_sequence=0)
    for timestamp_ms, key in [(3_000, b"a"), (9_000, b"b"), (7_000, b"c"), (5_000, b"b")]:
        builder.append(timestamp_ms, key, b"v", ((b"h", b"x"),))
    facts.log.append_as_leader(builder.build(), 0, now_ms=facts.clock.wall_ms())
    facts.clean()
    ((header, records),) = facts.batches()
    assert (header.base_offset, header.last_offset, header.last_sequence) == (0, 3, 3)
    assert (header.record_count, header.max_timestamp, header.base_timestamp) == (3, 7_000, 3_000)
    assert [(r.offset, r.timestamp_ms) for r in records] == [(0, 3_000), (2, 7_000), (3, 5_000)]
    assert {r.headers for r in records} == {((b"h", b"x"),)}


def test_the_last_batch_of_a_producer_stays_as_a_header(facts: Facts) -> None:
    """L5: sequence numbers survive, also where only the batches tell of them."""
    facts.write(("k", "1"), producer_id=5, producer_epoch=0, base_sequence=0)
    facts.write(("k", "2"), ("k", "3"), producer_id=5, producer_epoch=0, base_sequence=1)
    facts.write(("k", "4"))
    facts.clean()
    headers = [header for header, _ in facts.batches()]
    assert [(h.base_offset, h.last_offset, h.record_count) for h in headers] == [(1, 2, 0), (3, 3, 1)]
    assert (headers[0].last_sequence, headers[0].max_timestamp) == (2, facts.clock.wall_ms())
    for name in facts.names():
        if name.endswith(".snapshot"):
            facts.disk.remove(f"/data/facts-0/{name}")
    facts.reopen(clean=False)
    entry = facts.log.producers.get(5)
    assert entry is not None
    assert (entry.last_sequence, entry.last_offset) == (2, 2)
    facts.clean()
    assert [header.record_count for header, _ in facts.batches()] == [0, 1], "and again at every cleaning"
    facts.write(("k", "5"), producer_id=5, producer_epoch=0, base_sequence=3)
    facts.clean()
    assert [header.base_offset for header, _ in facts.batches()] == [4]


def test_what_a_rolled_back_transaction_wrote_goes(facts: Facts) -> None:
    """L5"""
    transactional: ProducerFields = {"producer_id": 7, "producer_epoch": 0, "is_transactional": True}
    facts.write(("k", "1"))
    facts.write(("k", "never"), ("j", "never"), base_sequence=0, **transactional)
    marker = facts.end_transaction(7, committed=False)
    facts.write(("i", "never"), base_sequence=2, **transactional)
    facts.end_transaction(7, committed=False)
    facts.clean()
    assert facts.facts() == {0: ("k", "1")}
    assert facts.markers() == [marker, 5], "a batch of each was still there"
    read = facts.log.read(0, 1 << 20, facts.log.last_stable, at_least_one=True, committed_only=True)
    assert [(a.first_offset, a.last_offset) for a in read.aborted_transactions or []] == [(1, 3), (4, 5)]


def test_a_marker_goes_when_nothing_is_left_of_its_transaction_and_its_horizon_has_passed(
    facts: Facts,
) -> None:
    """L5"""
    facts.write(
        ("k", "never"), base_sequence=0, producer_id=7, producer_epoch=0, is_transactional=True, roll=True
    )
    facts.end_transaction(7, committed=False)
    facts.write(("j", "1"), base_sequence=1, producer_id=7, producer_epoch=0)
    facts.clean()
    assert facts.markers() == [1]
    facts.clean()
    assert facts.markers() == [1], "from now on for delete.retention.ms"
    read = facts.log.read(0, 1 << 20, facts.log.last_stable, at_least_one=True, committed_only=True)
    assert read.aborted_transactions == []
    facts.clock.advance(DAY_MS)
    facts.clean()
    assert facts.markers() == []
    assert facts.facts() == {2: ("j", "1")}


def test_the_marker_of_a_commit_goes_likewise(facts: Facts) -> None:
    """L5"""
    facts.write(("k", "1"), base_sequence=0, producer_id=7, producer_epoch=0, is_transactional=True)
    facts.end_transaction(7, committed=True)
    facts.clean()
    assert (facts.facts(), facts.markers()) == ({0: ("k", "1")}, [1])
    facts.write(("k", "2"), base_sequence=1, producer_id=7, producer_epoch=0)
    facts.clean()
    assert facts.markers() == [1]
    facts.clean()
    facts.clock.advance(DAY_MS)
    facts.clean()
    assert (facts.facts(), facts.markers()) == ({2: ("k", "2")}, [])


def test_an_empty_batch_and_its_marker_stay_together(facts: Facts) -> None:
    """L5: or the transaction would seem open to whoever reads the producers from the batches."""
    facts.write(("k", "1"), base_sequence=0, producer_id=7, producer_epoch=0, is_transactional=True)
    facts.end_transaction(7, committed=True)
    facts.write(("k", "2"))
    for _ in range(3):
        facts.clean()
        facts.clock.advance(DAY_MS)
    assert [(h.base_offset, h.record_count) for h, _ in facts.batches()] == [(0, 0), (1, 1), (2, 1)]


def test_a_transaction_decided_in_the_active_segment_is_known(facts: Facts) -> None:
    """L5"""
    facts.write(("k", "1"))
    facts.write(
        ("k", "never"), base_sequence=0, producer_id=7, producer_epoch=0, is_transactional=True, roll=True
    )
    facts.end_transaction(7, committed=False)
    facts.clean(roll=False)
    assert facts.facts() == {0: ("k", "1")}


def test_nothing_of_an_open_transaction_is_touched(facts: Facts) -> None:
    """L5"""
    facts.write(("k", "1"), roll=True)
    facts.write(
        ("k", "2"), base_sequence=0, producer_id=7, producer_epoch=0, is_transactional=True, roll=True
    )
    facts.write(("k", "3"))
    assert facts.clean().end_offset == 1
    assert facts.facts() == {0: ("k", "1"), 1: ("k", "2"), 2: ("k", "3")}


def test_a_full_map_ends_a_cleaning_early_and_the_next_goes_on(facts: Facts) -> None:
    """L5: memory is bounded."""
    facts.map_bytes = 0
    for number in range(40):
        facts.write((f"k{number % 20}", str(number)))
    first = facts.clean()
    assert (first.keys, first.end_offset) == (12, 12)
    assert len(facts.facts()) == 40
    while facts.clean().end_offset < facts.log.end_offset:
        pass
    assert facts.facts() == {number: (f"k{number % 20}", str(number)) for number in range(20, 40)}


def test_a_log_of_which_nothing_is_left_keeps_its_offsets(facts: Facts) -> None:
    """L5"""
    facts.write(("k", "1"), roll=True)
    facts.write(("k", None))
    facts.clean()
    facts.clock.advance(DAY_MS)
    facts.clean()
    assert (facts.facts(), facts.log.log_start_offset, facts.log.end_offset) == ({}, 0, 2)
    assert facts.log.read(0, 100, facts.log.high_watermark, at_least_one=True).records == b""
    facts.reopen()
    assert (facts.log.end_offset, facts.log.high_watermark.offset) == (2, 2)
    assert facts.write(("k", "2")) == 2


def test_times_are_found_in_a_cleaned_log(facts: Facts) -> None:
    """L5, L6"""
    start_ms = facts.clock.wall_ms()
    for number in range(10):
        facts.clock.advance(1_000)
        facts.write((f"k{number % 3}", str(number)), roll=number % 2 == 0)
    facts.clean()
    found = finish(facts.log.offset_for_timestamp(start_ms + 1))
    assert found is not None
    assert (found.offset, found.timestamp_ms) == (7, start_ms + 8_000)


def test_damage_ends_a_cleaning_and_changes_nothing(facts: Facts) -> None:
    """L5: what is damaged stays as it is, for whoever can repair it."""
    facts.write(("k", "1"))
    facts.write(("k", "2"), roll=True)
    path = next(iter(facts.log.segments)).file.path
    facts.disk.file(path).write_at(b"\xff", HEADER_BYTES + 1)
    before = facts.disk.read(path)
    with pytest.raises(CorruptRecord, match="CRC"):
        facts.clean(roll=False)
    assert facts.disk.read(path) == before


@pytest.mark.parametrize(("batch", "wrong_offset"), [(0, 1), (0, 3), (1, 0), (1, 3), (2, 1), (1, 1 << 56)])
def test_a_batch_at_a_wrong_offset_ends_a_cleaning(facts: Facts, batch: int, wrong_offset: int) -> None:
    """L5: no CRC covers the base offset. The older of two records would stay, or the cleaner would fail."""
    for value in ("1", "2", "3"):
        facts.write(("k", value), roll=value == "3")
    path = next(iter(facts.log.segments)).file.path
    size_bytes = len(facts.disk.read(path)) // 3
    facts.disk.file(path).write_at(wrong_offset.to_bytes(8), batch * size_bytes)
    before = facts.disk.read(path)
    with pytest.raises(CorruptRecord, match="lies among the offsets"):
        facts.clean(roll=False)
    assert facts.disk.read(path) == before


def test_segments_are_grouped_by_what_one_may_hold() -> None:
    def job(sizes: list[int], **limits: int) -> CleaningJob:
        extents = tuple(SegmentExtent(100 * number, size) for number, size in enumerate(sizes))
        defaults = {"segment_bytes": 1_000, "segment_index_bytes": 1 << 20, "index_interval_bytes": 100}
        end_offset = limits.pop("end_offset", 100 * len(sizes))
        return CleaningJob("", extents, end_offset, 0, 0, 0, map_bytes_max=0, last_batches=(),
                           aborted_behind=(), **{**defaults, **limits})  # fmt: skip

    def groups(a_job: CleaningJob, end: int = 1 << 40) -> list[list[int]]:
        return [[extent.base_offset // 100 for extent in group] for group in group_segments(a_job, end)]

    assert groups(job([400, 600, 1, 2_000, 1])) == [[0, 1], [2], [3], [4]]
    assert groups(job([10] * 4), end=101) == [[0, 1]]
    assert groups(job([300] * 3, segment_index_bytes=80)) == [[0, 1], [2]]
    assert groups(job([1, 1], end_offset=1 << 31)) == [[0, 1]]
    assert groups(job([1, 1], end_offset=(1 << 31) + 1)) == [[0], [1]]
    assert [len(group) for group in groups(job([1] * 40))] == [REPLACED_AT_ONCE_MAX] * 4


def test_the_pace_is_told_of_every_byte(facts: Facts) -> None:
    facts.write(("k", "x" * 1_000), ("k", "y" * 500), roll=True)
    facts.settle()
    job = job_for(facts.log, cleanable_part(facts.log, 0), now_ms=0, map_bytes_max=1 << 10)
    paced: list[int] = []
    report = clean(job, facts.disk, lambda done: None, paced.append)
    assert sum(paced) == report.bytes_read + report.bytes_written
    assert report.bytes_read == 2 * job.segments[0].size_bytes


def test_a_job_survives_the_way_to_another_process(facts: Facts) -> None:
    facts.write(("k", "1"), producer_id=5, producer_epoch=0, base_sequence=0, is_transactional=True)
    facts.write(("k", "2"), roll=True)
    facts.end_transaction(5, committed=False)
    facts.settle()
    job = job_for(facts.log, cleanable_part(facts.log, 0), now_ms=7, map_bytes_max=1 << 10)
    assert job.aborted_behind
    assert job.last_batches
    assert CleaningJob.from_json(job.to_json()) == job


def test_compaction_and_retention_go_together(facts: Facts) -> None:
    """L5: `compact,delete`: what is too old goes although it is the last of its key."""
    both = frozenset({"compact", "delete"})
    facts.log.update_config(replace(facts.log.config, cleanup_policy=both, retention_ms=2 * DAY_MS))
    facts.write(("old", "1"), ("k", "1"), roll=True)
    facts.clock.advance(DAY_MS)
    facts.log.update_config(replace(facts.log.config, segment_bytes=100))
    facts.write(("k", "2"), roll=True)
    facts.clean()
    assert facts.facts() == {0: ("old", "1"), 2: ("k", "2")}
    facts.clock.advance(DAY_MS + 1)
    assert facts.log.delete_old_segments(facts.clock.wall_ms()) == 1
    assert (facts.facts(), facts.log.log_start_offset) == ({2: ("k", "2")}, 2)
    facts.write(("k", "3"), roll=True)
    facts.clean()
    assert facts.facts() == {3: ("k", "3")}
