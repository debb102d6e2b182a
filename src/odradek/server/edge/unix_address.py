"""The socket file that a broker listens on for the other brokers of its machine.

    bind      ENOENT             there is no file                                 it is made
              a dead socket      of an earlier life, which crashed: nobody        it is replaced
                                 listens, so a connection is refused
              a live socket      another broker of this id is running             CannotListen
              any other file     is not ours                                      CannotListen
    remove    the file, if it is still the one that was made

Invariant: of two brokers with one id, only one serves. A socket that was bound and does not listen yet looks
like a dead one, so a second broker may replace its file; the first one then fails in `check`, which it calls
when it listens.
"""

import errno
import os
import socket
import stat
from pathlib import Path
from typing import Final

from odradek.base.ids import BrokerId
from odradek.server.edge.cannot_listen import CannotListen, cannot_listen

MODE: Final = 0o600
"""Only processes of the same user may connect."""


def broker_socket(directory: str, broker_id: BrokerId) -> Path:
    """Returns the path of the socket on which a broker listens for the others."""
    return Path(directory) / f"broker-{broker_id}.sock"


class UnixAddress:
    """A socket file; one broker binds it at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        # Device and inode of the file that `bind` made; None before, and after `remove`.
        self._file: tuple[int, int] | None = None

    def __str__(self) -> str:
        return str(self.path)

    def bind(self) -> socket.socket:
        """Returns a socket that is bound, and does not listen. Raises CannotListen."""
        bound = socket.socket(socket.AF_UNIX)
        try:
            self._remove_dead()
            bound.bind(str(self.path))
            os.chmod(self.path, MODE)  # nobody can connect before: it does not listen
            self._file = self._found()
        except OSError as error:
            bound.close()
            if error.errno is None:  # Python's own check
                raise CannotListen(f"cannot listen on {self}: the path is too long for a socket") from None
            raise cannot_listen(self, error) from error
        except CannotListen:
            bound.close()
            raise
        return bound

    def check(self) -> None:
        """Raises CannotListen if another broker has replaced the file."""
        if self._found() != self._file:
            raise CannotListen(f"cannot listen on {self}: another process has replaced or removed this file")

    def remove(self) -> None:
        """Remove the file, unless it is another broker's by now."""
        made, self._file = self._file, None
        if made is not None and self._found() == made:
            self.path.unlink(missing_ok=True)

    def _found(self) -> tuple[int, int] | None:
        """Device and inode of the file; None if there is none."""
        try:
            found = os.lstat(self.path)
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def _remove_dead(self) -> None:
        """Remove the socket of an earlier life. Raises CannotListen, OSError."""
        try:
            found = os.lstat(self.path)
        except FileNotFoundError:
            return
        if not stat.S_ISSOCK(found.st_mode):
            raise CannotListen(f"cannot listen on {self}: it is not a socket")
        with socket.socket(socket.AF_UNIX) as asking:
            asking.setblocking(False)
            error_number = asking.connect_ex(str(self.path))
        if error_number == errno.ECONNREFUSED:
            self.path.unlink(missing_ok=True)
        elif error_number in (0, errno.EAGAIN):  # EAGAIN: more connections wait than it may have
            raise CannotListen(f"cannot listen on {self}: another broker with this id is running")
        else:
            raise OSError(error_number, os.strerror(error_number))
