"""Rates, averages and maxima over the last windows."""

import pytest

from odradek.client.sampled import Sampled, Sampling, average_and_maximum

WINDOW_MS = 1_000


def sampled() -> Sampled:
    return Sampled(Sampling(samples=2, window_ms=WINDOW_MS))


def test_nothing_was_measured() -> None:
    empty = sampled()
    assert (empty.average(0), empty.maximum(0)) == (None, None)
    assert (empty.total_per_second(0), empty.count_per_second(0)) == (0.0, 0.0)
    assert average_and_maximum("fetch-latency", empty, 0) == {}


def test_a_rate_covers_at_least_one_window() -> None:
    """One event a moment after the start is not a thousand in a second."""
    one = sampled()
    one.add(500, 10)
    assert one.total_per_second(11) == 500
    assert one.total_per_second(10 + 2 * WINDOW_MS - 1) == pytest.approx(250, rel=0.01)


def test_a_rate_covers_all_windows_that_count() -> None:
    one = sampled()
    one.add(100, 0)
    one.add(200, 1_500)
    assert one.total_per_second(1_500) == 200
    assert one.count_per_second(1_600) == 2 / 1.6


def test_the_oldest_window_is_dropped() -> None:
    one = sampled()
    one.add(900, 0)
    one.add(100, 1_200)
    assert (one.average(1_900), one.maximum(1_900)) == (500, 900)
    assert (one.average(2_000), one.maximum(2_000)) == (100, 100)
    one.add(300, 2_300)
    one.add(500, 3_400)
    assert (one.average(3_400), one.maximum(3_400)) == (400, 500)


def test_what_is_long_past_counts_no_more() -> None:
    one = sampled()
    one.add(900, 0)
    assert (one.average(2_000), one.maximum(2_000), one.total_per_second(2_000)) == (None, None, 0)


def test_an_average_and_a_maximum_have_one_name() -> None:
    one = sampled()
    for latency_ms in (1, 2, 6):
        one.add(latency_ms, 0)
    assert average_and_maximum("commit-latency", one, 0) == {"commit-latency-avg": 3, "commit-latency-max": 6}
