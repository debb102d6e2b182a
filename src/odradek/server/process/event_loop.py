"""The event loop of a broker: uvloop if it is installed, otherwise asyncio's own."""

import asyncio
import time


def new_event_loop() -> asyncio.AbstractEventLoop:
    """Returns a new loop for `asyncio.Runner`."""
    try:
        import uvloop
    except ImportError:
        return UnpatchedLoop()
    return uvloop.new_event_loop()


class UnpatchedLoop(asyncio.SelectorEventLoop):
    """asyncio's loop with a clock that freezegun does not stop: tests run brokers in their own process."""

    def time(self) -> float:
        """See `asyncio.AbstractEventLoop.time`."""
        return time.clock_gettime(time.CLOCK_MONOTONIC)
