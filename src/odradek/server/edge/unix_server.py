"""A server on a socket file, which makes the file again when somebody has removed it.

    accept    the server is there
    renew     the file is there           nothing to do
              it is gone                  nobody can connect: the address is bound again; connections stay
    close     the server is gone; its file is not removed here (the loop does so from Python 3.13 on)

Programs that clean up old files remove sockets, too. Connections that are open outlive their file, so that
the loss shows only when a broker starts, or connects again.
"""

import asyncio
import logging
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Final

from odradek.base.errors import OdradekError

LOOK_MS: Final = 5_000
"""How often the owner of a server is to call `renew`."""

_log = logging.getLogger(__name__)


class UnixServer:
    """The server of one socket file, on the running loop."""

    def __init__(
        self,
        path: Path,
        bind: Callable[[], socket.socket],
        make: Callable[[], asyncio.BaseProtocol],
        backlog: int,
        check: Callable[[], None] = lambda: None,
    ) -> None:
        """`bind` returns a socket that is bound to the path. Raises OdradekError.

        `make` makes the protocol of a connection. `check` is called once the socket listens, and raises
        OdradekError if the file is not ours.
        """
        self._path = path
        self._bind = bind
        self._make = make
        self._backlog = backlog
        self._check = check
        # None before `accept`, after `close`, and while the file could not be made again.
        self._server: asyncio.Server | None = None
        self._is_serving = False
        # Makes the file again; None while there is nothing to do.
        self._renewing: asyncio.Task[None] | None = None
        # Whether it was said that the file cannot be made again.
        self._has_warned = False

    async def accept(self, bound: socket.socket) -> None:
        """Accept connections on a socket that `bind` has returned. Raises OSError, OdradekError."""
        try:
            bound.listen(self._backlog)
            self._check()
            self._server = await asyncio.get_running_loop().create_unix_server(
                self._make, sock=bound, backlog=self._backlog
            )
        except BaseException:
            bound.close()
            raise
        self._is_serving = True

    def renew(self) -> None:
        """Make the file again if it is gone; called from time to time, and returns at once."""
        if self._is_serving and self._renewing is None and not os.path.lexists(self._path):
            self._renewing = asyncio.get_running_loop().create_task(self._renew())

    def close(self) -> None:
        """Accept no more connections; those that are open stay. Has no effect before `accept`."""
        self._is_serving = False
        if self._renewing is not None:
            self._renewing.cancel()
            self._renewing = None
        self._end_server()

    async def _renew(self) -> None:
        # Before the file is made: from Python 3.13 on the loop removes a file of the same inode number.
        self._end_server()
        try:
            await self.accept(self._bind())
        except (OSError, OdradekError) as error:
            if not self._has_warned:
                _log.warning("%s was removed, and cannot be made again: %s", self._path, error)
            self._has_warned = True
        else:
            self._has_warned = False
            _log.warning("%s was removed: it was made again", self._path)
        finally:
            self._renewing = None

    def _end_server(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
