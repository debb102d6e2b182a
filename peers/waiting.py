"""Waiting for what a broker does in its own time, which nothing announces."""

import time
from collections.abc import Callable

TIMEOUT_S = 10.0
INTERVAL_S = 0.005


def wait_until(condition: Callable[[], bool], complaint: str, *, timeout_s: float = TIMEOUT_S) -> None:
    """Ask again and again until it is so; an AssertionError with the complaint after `timeout_s`.

    Kafka's metadata, for one, follows its controller at a distance.
    """
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, complaint
        time.sleep(INTERVAL_S)
