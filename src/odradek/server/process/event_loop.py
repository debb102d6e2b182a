"""Which event loop a broker runs on: uvloop where it is installed, asyncio's own elsewhere."""

import asyncio
import time


def new_event_loop() -> asyncio.AbstractEventLoop:
    """A loop for `asyncio.Runner`."""
    try:
        import uvloop
    except ImportError:
        return UnpatchedLoop()
    return uvloop.new_event_loop()


class UnpatchedLoop(asyncio.SelectorEventLoop):
    """asyncio's loop, by a clock that freezegun does not stop: tests have brokers in their own process."""

    def time(self) -> float:
        """See `asyncio.AbstractEventLoop.time`."""
        return time.clock_gettime(time.CLOCK_MONOTONIC)
