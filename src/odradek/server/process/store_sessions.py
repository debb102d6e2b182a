"""The sessions of one process with a metadata store in another, on the running loop; the base of both kinds.

    session()    a new one, which is not open
    drain()      waits until those that were closed have ended
    close()      ends all connections at once, as the end of the process would

Timeouts are measured by the machine's monotonic clock, also in a broker whose own clock a test moves.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Final

from odradek.base.clock import SystemClock
from odradek.base.execution import Slices, TurnTime
from odradek.metadata.remote_session import AnySession
from odradek.net.framing import SCRATCH_BYTES
from odradek.server.edge.loop_stalls import LoopStalls
from odradek.server.process.timer_driver import TimerDriver

CLOSING_S_MAX: Final = 2.0
"""How long a stop waits for the server to end a session."""


class StoreSessions:
    """What sessions run on, and those that are not closed; see the module's head."""

    def __init__(self, turn_time: TurnTime, stalls: LoopStalls) -> None:
        self._loop = asyncio.get_running_loop()
        self._driver = TimerDriver(self._loop, SystemClock(), stalls)
        self._slices = Slices(self._defer, turn_time, stalls)
        self._stalls = stalls
        self._scratch = memoryview(bytearray(SCRATCH_BYTES))
        # Those that are not closed (the values mean nothing).
        self._sessions: dict[AnySession, None] = {}
        # Attempts to connect that are under way.
        self._dialing: set[asyncio.Task[None]] = set()
        # Woken when the last session is closed; None while nobody waits.
        self._all_closed: asyncio.Future[None] | None = None

    async def drain(self) -> None:
        """Return when all sessions that were closed have ended at the server, or after CLOSING_S_MAX."""
        if not self._is_any_closing:
            return
        self._all_closed = self._loop.create_future()
        await asyncio.wait([self._all_closed], timeout=CLOSING_S_MAX)
        self._all_closed = None

    def close(self) -> None:
        """End all connections at once, as the end of the process would; the server finds that out."""
        for session in list(self._sessions):
            session.abandon()
        self._sessions.clear()
        for task in self._dialing:
            task.cancel()
        self._driver.close()

    @property
    def _is_any_closing(self) -> bool:
        return any(session.is_closing for session in self._sessions)

    def _begin_connecting(self, connecting: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(connecting)
        self._dialing.add(task)
        task.add_done_callback(self._dialing.discard)

    def _on_closed(self, session: AnySession) -> None:
        self._sessions.pop(session, None)
        if self._all_closed is not None and not self._is_any_closing and not self._all_closed.done():
            self._all_closed.set_result(None)

    def _defer(self, callback: Callable[[], None]) -> None:
        self._loop.call_soon(self._stalls.run, callback)
