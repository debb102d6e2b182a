"""Waiting for a broker to come to a state that nothing announces."""

import time
from collections.abc import Callable

TIMEOUT_S = 60.0
INTERVAL_S = 0.005


def wait_for(is_so: Callable[[], bool], what: str, *, timeout_s: float = TIMEOUT_S) -> None:
    """Ask again and again, a few milliseconds apart; AssertionError when it is not so in `timeout_s`."""
    deadline = time.perf_counter() + timeout_s
    while not is_so():
        assert time.perf_counter() < deadline, f"waited {timeout_s:g} s in vain for {what}"
        time.sleep(INTERVAL_S)
