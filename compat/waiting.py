"""Bounded waits, for library calls that may not return."""

import threading
from collections.abc import Callable


def within(timeout_s: float, call: Callable[[], None], complaint: str) -> None:
    """Call, and wait for its return. Raises AssertionError with the complaint if it takes longer.

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
