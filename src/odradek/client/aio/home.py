"""Where a client of asyncio belongs: one loop, on one thread of one process.

    home = Home(loop)
    home.check("this consumer")     raises Misuse in a forked process, on another thread and on another loop
    home.check(..., only_looks=True)    the same for a call that only looks: the loop does not matter

Invariant: a forked process does nothing with the connections of the client that it has inherited, which would
break those of its parent: the sockets and the selector are the same.
"""

import asyncio
import os
import threading

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError


class Misuse(ApiError, RuntimeError):
    """A client was used where it cannot be: after it was closed, in a forked process, on a wrong thread."""

    def __init__(self, message: str) -> None:
        super().__init__(ErrorCode.INVALID_REQUEST, message)


def loop_of(client: str) -> asyncio.AbstractEventLoop:
    """The loop that runs here. Raises Misuse, which names the client, if none does."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        said = "within a running loop, as in a coroutine; odradek.Consumer needs none"
        raise Misuse(f"{client} of odradek.aio is made {said}") from None


class Home:
    """See the module; made on the thread of the loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._pid = os.getpid()
        self._thread = threading.get_ident()

    @property
    def is_forked(self) -> bool:
        """Whether this is a process forked from the client's."""
        return os.getpid() != self._pid

    def check(self, client: str, *, only_looks: bool = False) -> None:
        """Raises Misuse where this client must not be used, or, with `only_looks`, not even be looked at."""
        try:
            running = asyncio.get_running_loop()
        except RuntimeError:  # there is none, as in a process that was forked from within a loop
            running = None
        if running is self._loop:
            return
        if self.is_forked:
            raise forked(client)
        if threading.get_ident() != self._thread:
            said = "call it there, as by loop.call_soon_threadsafe"
            raise Misuse(f"{client} belongs to the loop of another thread: {said}")
        if not only_looks and running is not None:
            raise Misuse(f"{client} belongs to another event loop: make a client of its own here")


def forked(client: str) -> Misuse:
    """What a client says in a process that was forked after it was made."""
    return Misuse(f"{client} was made before this process was forked: make a client of its own here")
