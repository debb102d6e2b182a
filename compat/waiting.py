"""Waiting, never for ever: for what a broker does in its own time, and for libraries that may not return."""

import threading
import time
from collections.abc import Callable

TIMEOUT_S = 10.0
INTERVAL_S = 0.02


def wait_until(condition: Callable[[], bool], complaint: str) -> None:
    """Ask again and again until it is so; an AssertionError with the complaint after TIMEOUT_S.

    Kafka's metadata, for one, follows its controller at a distance.
    """
    deadline = time.monotonic() + TIMEOUT_S
    while not condition():
        assert time.monotonic() < deadline, complaint
        time.sleep(INTERVAL_S)


def within(timeout_s: float, call: Callable[[], None], complaint: str) -> None:
    """Call, and wait for its return; an AssertionError with the complaint when it takes longer.

    Raises what it raises.
    """
    raised: list[BaseException] = []

    def run() -> None:
        try:
            call()
        except BaseException as error:  # raised again by the waiting thread
            raised.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(timeout_s)
    assert not thread.is_alive(), complaint
    if raised:
        raise raised[0]
