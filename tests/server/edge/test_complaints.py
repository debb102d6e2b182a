import logging

import pytest

from odradek.base.clock import ManualClock
from odradek.server.edge.complaints import SAID_MAX, WINDOW_MS, Complaints


def test_no_peer_decides_how_much_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    clock = ManualClock()
    complaints = Complaints(logging.getLogger("test"), clock)
    for number in range(5_000):
        complaints.say("bad request %d of %s", number, "somebody")
    assert caplog.messages == [f"bad request {number} of somebody" for number in range(SAID_MAX)]
    caplog.clear()
    clock.advance(WINDOW_MS)
    complaints.say("one more")
    assert caplog.messages == [
        f"{5_000 - SAID_MAX} more connections were closed or refused",
        "one more",
    ]


def test_a_complaint_now_and_then_is_always_heard(caplog: pytest.LogCaptureFixture) -> None:
    clock = ManualClock()
    complaints = Complaints(logging.getLogger("test"), clock)
    for _ in range(100):
        complaints.say("a bad request")
        clock.advance(WINDOW_MS)
    assert caplog.messages == ["a bad request"] * 100
