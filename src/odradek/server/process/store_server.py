"""Serves the embedded metadata store to the brokers of this machine, over a Unix socket: for a supervisor.

    server = await serve_store(directory, metadata_file)
    server.sessions()       -> [ServedSession(session_id=7, broker_id=1, pid=4711, is_connected=True), ...]
    await server.stop()     the sessions stay in the file, for the next server

Only processes of the same user reach the socket: its mode is 0600, in a directory that only they may enter.
Invariant: the metadata file is locked before the socket of an earlier server is replaced. A socket that
somebody removes while it is served is made again.
"""

import asyncio
import os
import secrets
import socket
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Final

from odradek.base.clock import SystemClock, machine_short_clock
from odradek.base.errors import DataDirectoryError
from odradek.base.execution import Slices, TurnTime
from odradek.base.system_errors import reason_of
from odradek.metadata.embedded import EmbeddedEngine
from odradek.metadata.service.decoding import decode_to_server
from odradek.metadata.service.encoding import encode
from odradek.metadata.service.layout import REQUEST_BYTES_MAX
from odradek.metadata.service.messages import Message, ToServer
from odradek.metadata.service.server import ServedSession, StoreService
from odradek.metadata.store import MetadataStore, StoreEngine
from odradek.metadata.store_host import StoreHost
from odradek.net.framing import SCRATCH_BYTES
from odradek.server.edge.loop_stalls import LoopStalls
from odradek.server.edge.unix_server import LOOK_MS, UnixServer
from odradek.server.process.boot_id import boot_id
from odradek.server.process.executor import Executor
from odradek.server.process.socket_channel import SocketChannel, store_socket
from odradek.server.process.timer_driver import TimerDriver

SECRET_BYTES: Final = 16
BACKLOG: Final = 128
_ONLY_MINE: Final = 0o077


async def serve_store(
    directory: str,
    metadata_file: Path,
    *,
    durable: bool = True,
    on_session: Callable[[ServedSession], None] = lambda session: None,
) -> "StoreServer":
    """Serve the store of `metadata_file` on the running loop, at `store_socket(directory)`.

    Both are made if they are missing. `on_session` is called with each session that begins or comes back.
    Raises DataDirectoryError if the file or the directory cannot be used, or is in use.
    """
    loop = asyncio.get_running_loop()
    stalls = LoopStalls(machine_short_clock(), SystemClock())
    executor = Executor(loop, stalls)
    try:
        engine = await executor.run(lambda: _open(directory, metadata_file, durable=durable))
        leases = await executor.run(engine.leases)
        try:
            listening = _bind(store_socket(directory))
        except BaseException:
            engine.close()
            raise
    except BaseException:
        await executor.close()
        raise
    server = StoreServer(store_socket(directory), engine, executor, stalls, on_session)
    await server.start(leases, listening)
    return server


class StoreServer:
    """The socket, its connections, and the engine's lane; made by `serve_store`."""

    def __init__(
        self,
        path: Path,
        engine: StoreEngine,
        executor: Executor,
        stalls: LoopStalls,
        on_session: Callable[[ServedSession], None],
    ) -> None:
        loop = asyncio.get_running_loop()

        def defer(callback: Callable[[], None]) -> None:
            loop.call_soon(stalls.run, callback)

        self._loop = loop
        self._executor = executor
        self._driver = TimerDriver(loop, SystemClock(), stalls)
        self._slices = Slices(defer, TurnTime(machine_short_clock()), stalls)
        self._scratch = memoryview(bytearray(SCRATCH_BYTES))
        self._host = StoreHost(engine, executor)
        self._service = StoreService(
            self._host,
            self._driver.timer,
            boot_id=boot_id(),
            new_secret=lambda: secrets.token_bytes(SECRET_BYTES),
            is_running=is_running,
            on_session=on_session,
        )
        self._server = UnixServer(path, lambda: _bind(path), self._connection, BACKLOG)
        # When it is looked whether the socket's file is there; None before `start` and after `stop`.
        self._looking: asyncio.TimerHandle | None = None

    async def start(self, leases: list[tuple[int, bytes]], listening: socket.socket) -> None:
        """Accept clients on a socket that is bound; `leases` are those that the engine has."""
        self._service.begin(leases)
        await self._server.accept(listening)
        self._look()

    def renew(self) -> None:
        """Make the socket's file again if somebody has removed it; this is done every `LOOK_MS`, too."""
        self._server.renew()

    def sessions(self) -> list[ServedSession]:
        """The sessions that are alive, also those whose holders have not come back to this server yet."""
        return self._service.sessions()

    def session(self) -> MetadataStore:
        """Returns a session for the use of this process, which is not open yet."""
        return self._host.session()

    @property
    def is_idle(self) -> bool:
        """Whether the engine has nothing to do."""
        return not self._host.lane.is_busy

    def end_session(self, session_id: int) -> None:
        """End a session whose holder is known to be gone, before its lease runs out."""
        self._service.end_session(session_id)

    async def stop(self) -> None:
        """Stop, without ending a session: brokers come back when the store is served again in time."""
        self._server.close()
        if self._looking is not None:
            self._looking.cancel()
            self._looking = None
        self._service.close()
        self._host.close()
        await self._executor.close()
        self._driver.close()

    def _look(self) -> None:
        self.renew()
        self._looking = self._loop.call_later(LOOK_MS / 1000, self._look)

    def _connection(self) -> SocketChannel[ToServer, Message]:
        return SocketChannel(
            self._service.connection(),
            decode_to_server,
            encode,
            self._scratch,
            self._slices.run,
            frame_bytes_max=REQUEST_BYTES_MAX,
            waits_for_reader=True,
        )


def is_running(pid: int) -> bool:
    """Whether a process of that number lives, also one of another user."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _open(directory: str, metadata_file: Path, *, durable: bool) -> EmbeddedEngine:
    """Make what is missing, and open the file. Raises DataDirectoryError."""
    try:
        os.makedirs(directory, mode=0o700, exist_ok=True)
        mode = stat.S_IMODE(os.stat(directory).st_mode)
        os.makedirs(metadata_file.parent, exist_ok=True)
    except OSError as error:
        reason = reason_of(error)
        raise DataDirectoryError(f"cannot make the directory {error.filename}: {reason}") from None
    if mode & _ONLY_MINE:
        raise DataDirectoryError(
            f"{directory} has the mode {mode:o}: the sockets of a cluster need a directory that only their"
            " user may enter (chmod 700)"
        )
    return EmbeddedEngine(metadata_file, durable=durable, keeps_sessions=True)


def _bind(path: Path) -> socket.socket:
    """Bind the socket, and replace that of a server which is gone. Raises DataDirectoryError.

    Nothing can connect before it listens, so it has its mode in time.
    """
    bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        if path.is_socket():
            _refuse_used(path)
            path.unlink()
        bound.bind(str(path))
        os.chmod(path, 0o600)
    except BaseException as error:
        bound.close()
        if isinstance(error, OSError):
            reason = reason_of(error)
            raise DataDirectoryError(f"cannot listen on {path}: {reason}") from None
        raise
    return bound


def _refuse_used(path: Path) -> None:
    """Raises DataDirectoryError if a server listens there, of another metadata file: ours is locked."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except OSError:
            return
    raise DataDirectoryError(f"another process serves a metadata store on {path}")
