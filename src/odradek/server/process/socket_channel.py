"""A connection of the metadata store on a loop: a `Channel` under the transport of a socket, Unix or TCP."""

import asyncio
import os
import socket
import struct
import sys
from pathlib import Path
from typing import Final, TypeVar, cast

from odradek.metadata.channel import Channel
from odradek.net.server_connection import Transport

M = TypeVar("M")
S = TypeVar("S")

STORE_SOCKET: Final = "store.sock"
"""The socket's name in the directory of the cluster (`odradek.cluster.directory`)."""

_LINUX_CREDENTIALS: Final = struct.Struct("3i")
# Of macOS's <sys/un.h>; Python does not name them.
_SOL_LOCAL: Final = 0
_LOCAL_PEERPID: Final = 2


class SocketChannel(Channel[M, S], asyncio.BufferedProtocol):
    """A protocol for `loop.create_unix_server` and the connections of a loop; see `Channel`."""

    def connection_made(self, transport: asyncio.BaseTransport | Transport) -> None:
        """See `asyncio.BaseProtocol.connection_made`."""
        # uvloop's transports have all that asyncio's have, except the ancestry.
        connected = cast(Transport, transport)
        self.peer_pid = _peer_pid(connected.get_extra_info("socket").fileno())
        super().connection_made(connected)


def store_socket(directory: str) -> Path:
    """Where the metadata store of the cluster with this directory is served."""
    return Path(directory) / STORE_SOCKET


def _peer_pid(descriptor: int) -> int:
    """The process that made a connection, as the system knows it; 0 where it does not say, as for TCP."""
    with socket.socket(fileno=os.dup(descriptor)) as same:
        try:
            if sys.platform == "darwin":
                return same.getsockopt(_SOL_LOCAL, _LOCAL_PEERPID)
            credentials = same.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _LINUX_CREDENTIALS.size)
        except OSError:
            return 0
    return int(_LINUX_CREDENTIALS.unpack(credentials)[0])
