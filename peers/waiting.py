"""Waits for changes that a broker makes asynchronously and does not announce."""

import time
from collections.abc import Callable

WAIT_S_MAX = 60.0
"""After this time what a test waits for has failed. Nothing is measured by it and no test waits it out: it is
far above what a broker, a JVM's start or a rebalance takes on a slow machine with other work to do."""
INTERVAL_S = 0.005


def wait_until(condition: Callable[[], bool], complaint: str, *, timeout_s: float = WAIT_S_MAX) -> None:
    """Ask again and again until it is true. Raises AssertionError with the complaint after `timeout_s`.

    For example, a Kafka broker's metadata lags behind its controller.
    """
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, complaint
        time.sleep(INTERVAL_S)
