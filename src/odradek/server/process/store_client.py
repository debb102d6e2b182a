"""The metadata store of a broker whose cluster is on this machine: sessions over the supervisor's socket.

Leases are measured by the machine's monotonic clock, also in a broker whose own clock a test moves.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Final

from odradek.base.clock import SystemClock
from odradek.base.execution import Slices, TurnTime
from odradek.metadata.service.channel import LinkEnd
from odradek.metadata.service.client import ClientSession, SessionWish
from odradek.metadata.service.decoding import decode_to_client
from odradek.metadata.service.layout import ANSWER_BYTES_MAX
from odradek.metadata.service.messages import ToClient
from odradek.metadata.store import MetadataStore
from odradek.net.framing import SCRATCH_BYTES
from odradek.server.edge.loop_stalls import LoopStalls
from odradek.server.process.socket_channel import SocketChannel
from odradek.server.process.timer_driver import TimerDriver

CLOSING_S_MAX: Final = 2.0
"""How long a stop waits for the server to end a session."""


class StoreClient:
    """Makes sessions with the store behind one socket, for the running loop."""

    def __init__(
        self, path: Path, wish: Callable[[], SessionWish], turn_time: TurnTime, stalls: LoopStalls
    ) -> None:
        self.path = path
        """The socket."""
        self._loop = asyncio.get_running_loop()
        self._wish = wish
        self._driver = TimerDriver(self._loop, SystemClock(), stalls)
        self._slices = Slices(self._defer, turn_time, stalls)
        self._stalls = stalls
        self._scratch = memoryview(bytearray(SCRATCH_BYTES))
        # Those that are not closed (the values mean nothing).
        self._sessions: dict[ClientSession, None] = {}
        # Attempts to connect that are under way.
        self._dialing: set[asyncio.Task[None]] = set()
        # Woken when the last session is closed; None while nobody waits.
        self._all_closed: asyncio.Future[None] | None = None

    def session(self) -> MetadataStore:
        """Returns a `MetadataStore` that is not open yet."""
        session = ClientSession(
            self, self._driver.timer, self._defer, self._slices.run, self._wish, self._on_closed
        )
        self._sessions[session] = None
        return session

    def dial(self, end: LinkEnd[ToClient]) -> None:
        """See `Dialer.dial`."""
        task = self._loop.create_task(self._connect(end))
        self._dialing.add(task)
        task.add_done_callback(self._dialing.discard)

    async def drain(self) -> None:
        """Return when the server has ended all sessions that were closed, or after CLOSING_S_MAX."""
        waiting = [session for session in self._sessions if session.is_closing]
        if not waiting:
            return
        self._all_closed = self._loop.create_future()
        await asyncio.wait([self._all_closed], timeout=CLOSING_S_MAX)
        self._all_closed = None

    def close(self) -> None:
        """End all connections at once, as the end of the process would: the server then ends the sessions."""
        for session in list(self._sessions):
            session.abandon()
        self._sessions.clear()
        for task in self._dialing:
            task.cancel()
        self._driver.close()

    async def _connect(self, end: LinkEnd[ToClient]) -> None:
        def made() -> SocketChannel[ToClient]:
            return SocketChannel(
                end, decode_to_client, self._scratch, self._slices.run, frame_bytes_max=ANSWER_BYTES_MAX
            )

        try:
            await self._loop.create_unix_connection(made, str(self.path))
        except OSError as error:
            end.on_lost(f"{self.path}: {(error.strerror or str(error)).lower()}")

    def _on_closed(self, session: ClientSession) -> None:
        self._sessions.pop(session, None)
        is_waiting = any(one.is_closing for one in self._sessions)
        if self._all_closed is not None and not is_waiting and not self._all_closed.done():
            self._all_closed.set_result(None)

    def _defer(self, callback: Callable[[], None]) -> None:
        self._loop.call_soon(self._stalls.run, callback)
