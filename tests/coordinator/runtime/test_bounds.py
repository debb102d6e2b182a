import pytest

from odradek.base.clock import ManualClock
from odradek.coordinator.runtime.bounds import LOGGED_EVERY_MS, Bound


def test_a_bound_says_which_setting_it_is(caplog: pytest.LogCaptureFixture) -> None:
    clock, limit = ManualClock(), [2]
    bound = Bound("odradek.groups.max", "groups", lambda: limit[0], clock)
    assert bound.refusal(1) is None
    assert bound.refusal(2) == "this broker keeps 2 groups, as many as odradek.groups.max allows"
    limit[0] = 3
    assert bound.refusal(2) is None


def test_a_long_id_counts_several_times() -> None:
    """Ids of 32 KB, chosen by any peer: 100,000 groups of them took 3 GB."""
    bound = Bound("odradek.groups.max", "groups", lambda: 100, ManualClock())
    assert bound.refusal(99, "g" * 900) is None
    assert bound.refusal(49, "g" * 1_500) is None
    assert bound.refusal(50, "g" * 1_500) == (
        "this broker keeps 50 groups, too many for another with an id of 1 KB, which counts 2 times among "
        "the 100 that odradek.groups.max allows"
    )
    assert bound.refusal(0, "g" * 32_767) is None
    assert bound.refusal(3, "g" * 32_767) is None
    assert bound.refusal(4, "g" * 32_767) is not None
    assert bound.refusal(3, "𝄞" + "g" * 32_763) is not None, "all of its characters take four bytes"


def test_a_bound_that_is_reached_is_logged_once_in_a_while(caplog: pytest.LogCaptureFixture) -> None:
    clock = ManualClock()
    bound = Bound("odradek.groups.max", "groups", lambda: 1, clock)
    for _ in range(100):
        bound.refusal(1)
    assert len(caplog.records) == 1
    assert "odradek.groups.max" in caplog.text
    clock.advance(LOGGED_EVERY_MS)
    bound.refusal(1)
    assert len(caplog.records) == 2
