"""How an answer is cut into steps."""

import pytest

from odradek.base.errors import CorruptRecord
from odradek.records.header import iter_headers
from odradek.replication.fetcher.portions import BYTES_PER_STEP, PARTITIONS_PER_STEP, Portion, portions_of
from tests.replication.replica_bench import batch_of

BIG = 100_000


def test_what_is_small_is_one_run_also_when_it_is_nothing() -> None:
    assert [bytes(run) for run in portions_of(b"")] == [b""]
    batch = batch_of(100, 1)
    assert [bytes(run) for run in portions_of(batch)] == [batch]


def test_a_large_answer_becomes_runs_of_whole_batches() -> None:
    records = batch_of(BIG, 1) * 6
    runs = list(portions_of(records))
    assert [len(run) for run in runs] == [2 * BIG] * 3
    assert b"".join(runs) == records


def test_a_batch_larger_than_a_step_is_a_run_of_its_own() -> None:
    huge, small = batch_of(BYTES_PER_STEP + 1000, 1), batch_of(100, 1)
    assert [len(run) for run in portions_of(small + huge + small)] == [100, len(huge), 100]


def test_a_batch_cut_short_ends_the_last_run() -> None:
    records = batch_of(BIG, 1) * 3 + batch_of(BIG, 1)[:500]
    runs = list(portions_of(records))
    assert [len(run) for run in runs] == [2 * BIG, BIG + 500]
    assert len(list(iter_headers(runs[-1]))) == 1


def test_a_length_that_cannot_be_right_is_left_to_the_log() -> None:
    """X5."""
    broken = bytearray(batch_of(BIG, 1))
    broken[8:12] = (7).to_bytes(4, "big")
    runs = list(portions_of(batch_of(BIG, 1) * 2 + bytes(broken)))
    assert [len(run) for run in runs] == [3 * BIG]
    with pytest.raises(CorruptRecord):
        list(iter_headers(runs[0]))


def test_a_step_has_a_few_partitions_or_some_bytes() -> None:
    portion = Portion()
    full = [portion.is_full_after(partitions=1) for _ in range(2 * PARTITIONS_PER_STEP)]
    assert [number for number, is_full in enumerate(full, 1) if is_full] == [16, 32]
    assert not portion.is_full_after(size_bytes=BYTES_PER_STEP - 1, partitions=1)
    assert portion.is_full_after(size_bytes=1)
