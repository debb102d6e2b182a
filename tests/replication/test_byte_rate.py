"""The rate of bytes over windows, by Kafka's way of counting the time."""

import pytest

from odradek.replication.byte_rate import ByteRate

S = 1_000


@pytest.fixture
def rate() -> ByteRate:
    return ByteRate(11, S)


def bytes_per_second(rate: ByteRate, now_ms: int) -> int:
    """The least limit that the rate does not exceed."""
    return next(limit for limit in range(1_000) if not rate.exceeds(limit, now_ms))


def test_nothing_has_no_rate(rate: ByteRate) -> None:
    assert not rate.exceeds(0, 0)
    assert rate.falls_at_ms(0, 5) == 5


def test_the_time_counted_is_at_least_one_window_and_then_all_since_the_oldest(rate: ByteRate) -> None:
    """F8: the module's example."""
    rate.record(100, 0)
    assert bytes_per_second(rate, 0) == 100
    assert bytes_per_second(rate, S) == 100
    rate.record(100, 3 * S)
    assert bytes_per_second(rate, 4 * S) == 50
    assert bytes_per_second(rate, 10 * S) == 20
    assert bytes_per_second(rate, 11 * S) == 13
    assert bytes_per_second(rate, 14 * S - 1) == 10
    assert bytes_per_second(rate, 14 * S) == 0


def test_bytes_of_one_window_end_together(rate: ByteRate) -> None:
    rate.record(10, 0)
    rate.record(10, S - 1)
    rate.record(10, S)
    assert bytes_per_second(rate, 11 * S - 1) == 3
    assert bytes_per_second(rate, 11 * S) == 1


@pytest.mark.parametrize("limit", [7, 50, 99])
def test_it_says_when_the_rate_will_have_fallen(rate: ByteRate, limit: int) -> None:
    rate.record(700, 0)
    now_ms = 0
    while rate.exceeds(limit, now_ms):
        later_ms = rate.falls_at_ms(limit, now_ms)
        assert rate.exceeds(limit, later_ms - 1)
        assert later_ms > now_ms
        now_ms = later_ms
    assert now_ms == min(11 * S, -(-700 * S // limit))


def test_a_limit_of_nothing_is_met_when_all_windows_are_over(rate: ByteRate) -> None:
    rate.record(1, 0)
    rate.record(1, 5 * S)
    assert rate.falls_at_ms(0, 6 * S) == 11 * S
    assert rate.exceeds(0, 11 * S)
    assert rate.falls_at_ms(0, 11 * S) == 16 * S
    assert not rate.exceeds(0, 16 * S)
