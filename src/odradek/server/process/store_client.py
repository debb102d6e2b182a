"""The metadata store of a broker whose cluster is on this machine: sessions over the supervisor's socket."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from odradek.base.execution import TurnTime
from odradek.base.system_errors import reason_of
from odradek.metadata.channel import LinkEnd
from odradek.metadata.service.client import ClientSession, SessionWish
from odradek.metadata.service.decoding import decode_to_client
from odradek.metadata.service.encoding import encode
from odradek.metadata.service.layout import ANSWER_BYTES_MAX
from odradek.metadata.service.messages import Message, ToClient
from odradek.metadata.store import MetadataStore
from odradek.net.guard import Guard, unguarded
from odradek.server.edge.loop_stalls import LoopStalls
from odradek.server.process.socket_channel import SocketChannel
from odradek.server.process.store_sessions import StoreSessions


class StoreClient(StoreSessions):
    """Makes sessions with the store behind one socket, for the running loop."""

    def __init__(
        self,
        path: Path,
        wish: Callable[[], SessionWish],
        turn_time: TurnTime,
        stalls: LoopStalls,
        guard: Guard = unguarded,
    ) -> None:
        """`guard` stands between a connection and its transport."""
        super().__init__(turn_time, stalls)
        self.path = path
        """The socket."""
        self._wish = wish
        self._guard = guard

    def session(self) -> MetadataStore:
        """Returns a `MetadataStore` that is not open yet."""
        session = ClientSession(
            self, self._driver.timer, self._defer, self._slices.run, self._wish, self._on_closed
        )
        self._sessions[session] = None
        return session

    def dial(self, end: LinkEnd[ToClient, Message]) -> None:
        """See `Dialer.dial`."""
        self._begin_connecting(self._connect(end))

    async def _connect(self, end: LinkEnd[ToClient, Message]) -> None:
        def made() -> asyncio.BufferedProtocol:
            channel = SocketChannel(
                end,
                decode_to_client,
                encode,
                self._scratch,
                self._slices.run,
                frame_bytes_max=ANSWER_BYTES_MAX,
            )
            return self._guard(channel)

        try:
            await self._loop.create_unix_connection(made, str(self.path))
        except OSError as error:
            end.on_lost(f"{self.path}: {reason_of(error)}")
