"""Waiting for what a broker does in its own time: Kafka's metadata follows its controller at a distance."""

import time
from collections.abc import Callable

TIMEOUT_S = 10.0
INTERVAL_S = 0.02


def wait_until(condition: Callable[[], bool], complaint: str) -> None:
    """Ask again and again until it is so; an AssertionError with the complaint after TIMEOUT_S."""
    deadline = time.monotonic() + TIMEOUT_S
    while not condition():
        assert time.monotonic() < deadline, complaint
        time.sleep(INTERVAL_S)
