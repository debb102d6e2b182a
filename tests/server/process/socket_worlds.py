"""A metadata store served over a real Unix socket, and its clients, on a loop that runs when told to."""

import asyncio
import tempfile
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

from odradek.base.clock import SystemClock, machine_short_clock
from odradek.base.execution import TurnTime
from odradek.metadata.remote_session import SessionState
from odradek.metadata.service.client import ClientSession, SessionWish
from odradek.metadata.store import MetadataStore
from odradek.server.edge.loop_stalls import LoopStalls
from odradek.server.process.event_loop import new_event_loop
from odradek.server.process.socket_channel import store_socket
from odradek.server.process.store_client import StoreClient
from odradek.server.process.store_server import StoreServer, serve_store

T = TypeVar("T")

TIMEOUT_MS = 60_000
TURNS_MAX = 1_000_000


class SocketWorld:
    """A `SessionWorld` of sockets; `run` returns when all is answered and all events have come.

    All sessions are of this process.
    """

    def __init__(self, metadata_file: Path) -> None:
        self.loop = new_event_loop()
        self._folder = tempfile.TemporaryDirectory()  # a short path: a socket's name has about 100 characters
        self.directory = self._folder.name
        """Where the socket is."""
        self._file = metadata_file
        self.server: StoreServer = self.wait(serve_store(self.directory, metadata_file, durable=False))
        self.client = self.wait(self._made())
        self.sessions: list[ClientSession] = []

    async def _made(self) -> StoreClient:
        return StoreClient(
            store_socket(self.directory),
            lambda: SessionWish(TIMEOUT_MS, 1),
            TurnTime(machine_short_clock()),
            LoopStalls(machine_short_clock(), SystemClock()),
        )

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(work)

    def session(self) -> MetadataStore:
        session = self.client.session()
        assert isinstance(session, ClientSession)
        self.sessions.append(session)
        return session

    def run(self) -> None:
        for _ in range(2):  # what the first answers have led to comes before the second heartbeats' answers
            self.wait(until(self._is_quiet))
            for session in self.sessions:
                session.send_heartbeat()
        self.wait(until(self._is_quiet))

    def _is_quiet(self) -> bool:
        for session in self.sessions:
            if session.state in (SessionState.OPENING, SessionState.AWAY, SessionState.CLOSING):
                return False
            if session.state is SessionState.OPEN and (session.unanswered or session.heartbeats_unanswered):
                return False
        return self.server.is_idle

    def expire(self, session_id: int) -> None:
        self.server.end_session(session_id)
        self.run()

    def restart(self) -> None:
        """End the server and start another one on the same file."""
        self.wait(self.server.stop())
        self.server = self.wait(serve_store(self.directory, self._file, durable=False))

    def close(self) -> None:
        self.client.close()
        self.wait(self.server.stop())
        self.loop.close()
        self._folder.cleanup()


async def until(holds: Callable[[], bool]) -> None:
    """Let the loop run until this holds."""
    for _ in range(TURNS_MAX):
        if holds():
            return
        await asyncio.sleep(0)
    raise AssertionError("it never holds")
