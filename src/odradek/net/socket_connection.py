"""A client's connection on a loop: a `ServerConnection` under a transport of asyncio's or uvloop's."""

import asyncio
from typing import cast

from odradek.net.server_connection import ServerConnection, Transport


class SocketConnection(ServerConnection, asyncio.BufferedProtocol):
    """A protocol for `loop.create_server`; see `ServerConnection`."""

    __slots__ = ()

    def connection_made(self, transport: asyncio.BaseTransport | Transport) -> None:
        """See `asyncio.BaseProtocol.connection_made`."""
        # uvloop's transports have all that asyncio's have, except the ancestry.
        super().connection_made(cast(Transport, transport))
