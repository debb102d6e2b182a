"""Waits for changes that a broker makes asynchronously and does not announce."""

import time
from collections.abc import Callable

TIMEOUT_S = 10.0
INTERVAL_S = 0.005


def wait_until(condition: Callable[[], bool], complaint: str, *, timeout_s: float = TIMEOUT_S) -> None:
    """Ask again and again until it is true. Raises AssertionError with the complaint after `timeout_s`.

    For example, a Kafka broker's metadata lags behind its controller.
    """
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, complaint
        time.sleep(INTERVAL_S)
