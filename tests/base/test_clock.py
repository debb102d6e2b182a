import pytest

from odradek.base.clock import ManualClock, SystemClock


def test_a_manual_clock_moves_only_when_told_and_both_readings_together() -> None:
    clock = ManualClock(wall_ms=1000, monotonic_ms=5)
    clock.advance(250)
    assert (clock.wall_ms(), clock.monotonic_ms()) == (1250, 255)
    with pytest.raises(AssertionError, match="time does not run backwards"):
        clock.advance(-1)


def test_the_system_clock_never_runs_backwards() -> None:
    clock = SystemClock()
    readings = [clock.monotonic_ms() for _ in range(1000)]
    assert readings == sorted(readings)
