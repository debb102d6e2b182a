"""The offsets of a log stand in order, and only the log moves them."""

import pytest

from odradek.storage import LogPosition
from odradek.storage.log_offsets import LogOffsets
from tests.storage.log_bench import LogBench


def at(offset: int) -> LogPosition:
    return LogPosition(offset, 0, 100 * offset)


@pytest.fixture
def offsets() -> LogOffsets:
    made = LogOffsets(10, at(10), at(20))
    made.stand_at(at(15), at(14))
    made.mark_cleaned(12)
    return made


@pytest.mark.parametrize(("high_watermark", "last_stable"), [(21, 14), (15, 16), (9, 9), (15, 9)])
def test_offsets_out_of_order_are_refused(offsets: LogOffsets, high_watermark: int, last_stable: int) -> None:
    with pytest.raises(AssertionError, match="out of order"):
        offsets.stand_at(at(high_watermark), at(last_stable))


def test_the_log_start_only_rises_and_stays_below_the_others(offsets: LogOffsets) -> None:
    with pytest.raises(AssertionError, match="moved from 10 to 9"):
        offsets.start_at(9, at(14))
    offsets.start_at(13, at(14))
    assert str(offsets) == "log start 13, LSO 14, HW 15, LEO 20"
    with pytest.raises(AssertionError, match="out of order"):
        offsets.start_at(16, at(14))


def test_an_append_does_not_move_the_end_back(offsets: LogOffsets) -> None:
    with pytest.raises(AssertionError, match="from 20 to 19"):
        offsets.append_up_to(at(19))


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        (18, (10, 14, 15, 18, 12)),
        (15, (10, 14, 15, 15, 12)),
        (14, (10, 14, 14, 14, 12)),
        (11, (10, 11, 11, 11, 11)),
        (8, (8, 8, 8, 8, 8)),
    ],
)
def test_a_cut_takes_every_offset_along(offsets: LogOffsets, end: int, expected: tuple[int, ...]) -> None:
    """X4"""
    offsets.cut_at(at(end))
    found = (offsets.log_start, offsets.last_stable.offset, offsets.high_watermark.offset, offsets.end)
    assert (*found, offsets.cleaned) == expected


def test_a_cleaned_offset_outside_the_log_counts_as_none(offsets: LogOffsets) -> None:
    """L5"""
    offsets.mark_cleaned(21)
    assert offsets.cleaned == 0


@pytest.mark.parametrize(
    "name",
    ["log_start_offset", "last_stable", "high_watermark", "end_offset", "end_position", "cleaned_offset"],
)
def test_nobody_outside_assigns_an_offset_of_a_log(bench: LogBench, name: str) -> None:
    log = bench.open()
    with pytest.raises(AttributeError):
        setattr(log, name, getattr(log, name))
