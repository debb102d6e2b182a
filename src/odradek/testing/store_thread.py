"""The metadata store of a cluster in the test's process, served on a thread of its own.

The brokers reach it as those of `odradek serve --brokers` do: over a Unix socket in a private directory.
"""

import asyncio
import threading
from concurrent.futures import Future
from pathlib import Path
from typing import Final

from odradek.base.ids import BrokerId
from odradek.server.process.event_loop import new_event_loop
from odradek.server.process.store_server import StoreServer, serve_store
from odradek.server.supervisor.directories import SocketDirectory, socket_directory, temporary_directories
from odradek.testing.standstill import Standstill

WAIT_S: Final = 60.0


class StoreThread:
    """One store, from `start` to `stop`; its file is never synced, because it is removed with the cluster."""

    def __init__(self, file: Path, *, thread_name: str = "odradek-store") -> None:
        self._file = file
        self._thread_name = thread_name
        self._sockets: SocketDirectory | None = None
        self._thread: threading.Thread | None = None
        # Set by the store's thread, before `start` returns.
        self._loop: asyncio.AbstractEventLoop | None = None
        self._server: StoreServer | None = None
        self._ending: asyncio.Event | None = None
        self._standstill = Standstill()

    @property
    def directory(self) -> str:
        """The directory of the sockets: `odradek.cluster.directory` of all brokers."""
        assert self._sockets is not None, "the store is not running"
        return self._sockets.path

    def start(self) -> None:
        """Serve the store. Raises DataDirectoryError."""
        assert self._thread is None, "the store is running already"
        self._sockets = socket_directory(None, temporary_directories)
        started: Future[None] = Future()
        self._thread = threading.Thread(
            target=self._main, args=(started,), name=self._thread_name, daemon=True
        )
        self._thread.start()
        try:
            started.result(WAIT_S)
        except BaseException:
            self._sockets.remove()
            self._sockets = self._thread = None
            raise

    def end_sessions(self, broker_id: BrokerId) -> None:
        """End the sessions of a broker that was killed, before their leases run out.

        While the store is paused they end when it resumes.
        """
        server, loop = self._server, self._running_loop()
        assert server is not None, "the store is not running"
        ended: Future[None] = Future()

        def end() -> None:
            for session in server.sessions():
                if session.broker_id == broker_id:
                    server.end_session(session.session_id)
            ended.set_result(None)

        loop.call_soon_threadsafe(end)
        if not self._standstill.is_on:
            ended.result(WAIT_S)

    def pause(self) -> None:
        """Suspend the store, as SIGSTOP does; connections stay. Does nothing while it is paused."""
        self._standstill.begin(self._running_loop().call_soon_threadsafe)

    def resume(self) -> None:
        """Continue after `pause`; otherwise does nothing."""
        self._standstill.end()

    def stop(self) -> None:
        """Stop serving, and remove the sockets; no broker may be running."""
        assert self._thread is not None, "the store is not running"
        assert self._ending is not None, "a store that runs can be ended"
        self.resume()
        self._running_loop().call_soon_threadsafe(self._ending.set)
        self._thread.join()
        self._thread = None
        if self._sockets is not None:
            self._sockets.remove()
            self._sockets = None

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        assert self._loop is not None, "the store is not running"
        return self._loop

    def _main(self, started: "Future[None]") -> None:
        with asyncio.Runner(loop_factory=new_event_loop) as runner:
            runner.run(self._serve(started))

    async def _serve(self, started: "Future[None]") -> None:
        self._loop = asyncio.get_running_loop()
        self._ending = asyncio.Event()
        try:
            self._server = await serve_store(self.directory, self._file, durable=False)
        except BaseException as error:
            started.set_exception(error)
            return
        started.set_result(None)
        await self._ending.wait()
        await self._server.stop()
