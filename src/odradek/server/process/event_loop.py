"""Which event loop a broker runs on: uvloop where it is installed, asyncio's own elsewhere."""

import asyncio


def new_event_loop() -> asyncio.AbstractEventLoop:
    """A loop for `asyncio.Runner`."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()
