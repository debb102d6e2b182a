"""Processes with sessions of a served metadata store: one is killed, one stands still, one sees a restart."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from subprocess import PIPE, Popen
from typing import TypeVar

import pytest

from odradek.base.errors import OdradekError
from odradek.metadata import codec, paths
from odradek.metadata.image import BrokerImage, Endpoint
from odradek.metadata.store import (
    Create,
    Created,
    Delete,
    Existence,
    Exists,
    GetChildren,
    NodeChange,
    Operation,
    Result,
    SessionOpened,
    StoreEvent,
    StoreReplied,
    WatchFired,
)
from odradek.server.process.socket_channel import store_socket
from tests.integration.plain_clients import WAIT_S
from tests.integration.processes import NewProcess
from tests.server.process.socket_worlds import SocketWorld

T = TypeVar("T")

pytestmark = [pytest.mark.slow, pytest.mark.integration]

ROOT = Path(__file__).parents[2]


class Holder:
    """Another process with a session, and the node `/held`."""

    def __init__(self, socket: Path, timeout_ms: int) -> None:
        command = [sys.executable, "-m", "tests.integration.store_holder", str(socket), str(timeout_ms)]
        self.process: Popen[str] = Popen(command, stdin=PIPE, stdout=PIPE, text=True, cwd=ROOT)

    def write(self) -> None:
        """Let it write a node."""
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()


class Watched:
    """A served store, with a session of this process that sees what happens."""

    def __init__(self, folder: Path) -> None:
        self.world = SocketWorld(folder / "metadata.db")
        self.holders: list[Holder] = []
        self.events: list[StoreEvent] = []
        self._session = self.world.session()
        self._session.open(self.events.append)
        self.until(lambda: bool(self.events))
        assert isinstance(self.events[0], SessionOpened)

    def until(self, holds: Callable[[], bool]) -> None:
        """Let the loop run until this holds."""

        async def look() -> None:
            while not holds():
                await asyncio.sleep(0.001)

        self.world.wait(asyncio.wait_for(look(), WAIT_S))

    def ask(self, operation: Operation) -> Result:
        call_id = self._session.submit(operation)

        def answers() -> list[Result]:
            replies = [event for event in self.events if isinstance(event, StoreReplied)]
            return [reply.result for reply in replies if reply.call_id == call_id]

        self.until(lambda: bool(answers()))
        return answers()[0]

    def holder(self, timeout_ms: int) -> Holder:
        """A process whose node is watched."""
        holder = Holder(store_socket(self.world.directory), timeout_ms)
        self.holders.append(holder)
        self.read_line(holder, "open")
        self.ask(Exists("/held", watch=True))
        return holder

    def read_line(self, holder: Holder, expected: str) -> None:
        """Let the loop run until that process prints a line."""
        assert self.in_background(holder.line) == expected

    def in_background(self, call: Callable[[], T]) -> T:
        """Let the loop run while a thread makes a call that waits."""

        async def made() -> T:
            return await asyncio.wait_for(self.world.loop.run_in_executor(None, call), WAIT_S)

        return self.world.wait(made())

    def close(self) -> None:
        for holder in self.holders:
            holder.process.kill()
            holder.process.wait()
            for stream in (holder.process.stdin, holder.process.stdout):
                assert stream is not None
                stream.close()
        self.world.close()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Watched]:
    made = Watched(tmp_path)
    yield made
    made.close()


GONE = WatchFired("/held", NodeChange.DELETED)


def test_the_session_of_a_killed_process_is_over_at_once(store: Watched) -> None:
    holder = store.holder(timeout_ms=3_600_000)
    (served,) = [one for one in store.world.server.sessions() if one.pid == holder.process.pid]
    assert (served.broker_id, served.is_connected) == (1, True)
    holder.process.kill()
    store.until(lambda: GONE in store.events)


def test_a_stopped_process_loses_its_session_and_its_next_write_is_refused(store: Watched) -> None:
    holder = store.holder(timeout_ms=1_000)
    os.kill(holder.process.pid, signal.SIGSTOP)
    store.until(lambda: GONE in store.events)
    holder.write()
    os.kill(holder.process.pid, signal.SIGCONT)
    lines = [store.in_background(holder.line)]
    if lines != ["ended"]:
        lines.append(store.in_background(holder.line))
    assert "ended" in lines, lines
    assert set(lines) <= {"ended", "SESSION_EXPIRED"}
    children = store.ask(GetChildren("/"))
    assert not any(name.startswith("written") for name in getattr(children, "names", ())), children


def test_a_process_keeps_its_session_over_a_restart_of_the_server(store: Watched) -> None:
    holder = store.holder(timeout_ms=3_600_000)
    before = [one for one in store.world.server.sessions() if one.pid == holder.process.pid]
    store.world.restart()
    store.until(
        lambda: [one for one in store.world.server.sessions() if one.pid == holder.process.pid] == before
    )
    holder.write()
    store.read_line(holder, "done")
    assert holder.process.poll() is None


def test_a_second_server_is_refused(store: Watched, tmp_path: Path) -> None:
    """Of the same file, and of the same directory with another file."""
    script = (
        "import asyncio, sys; from pathlib import Path;"
        "from odradek.server.process.store_server import serve_store;"
        "asyncio.run(serve_store(sys.argv[1], Path(sys.argv[2])))"
    )
    for file, reason in (
        (tmp_path / "metadata.db", "is in use by another broker"),
        (tmp_path / "other.db", "another process serves a metadata store on"),
    ):
        command = [sys.executable, "-c", script, store.world.directory, str(file)]
        run = partial(subprocess.run, command, capture_output=True, text=True, check=False, timeout=WAIT_S)
        found = store.in_background(run)
        assert found.returncode == 1
        assert reason in found.stderr
    assert store.ask(Exists("/nothing")) == Existence(None)


WAITS = "broker 1 waits until its former session with the metadata store ends (at most 12000 ms)"


def hold_id(store: Watched) -> None:
    """Register a broker 1, in the session of this process."""
    endpoint = Endpoint("PLAINTEXT", "PLAINTEXT", "127.0.0.1", 9092)
    registration = codec.encode_broker(BrokerImage(1, (endpoint,)), 0)
    for create in (
        Create("/brokers"),
        Create("/brokers/ids"),
        Create(paths.broker(1), registration, ephemeral=True),
    ):
        assert store.ask(create) == Created(create.path)


def test_a_broker_waits_for_its_former_session_and_then_starts(
    store: Watched, new_process: NewProcess
) -> None:
    """The session that holds its id goes when this test says so."""
    hold_id(store)
    broker = new_process(node_id="1", odradek_cluster_directory=store.world.directory)
    starting = store.world.loop.run_in_executor(None, broker.start)
    store.until(lambda: broker.log_path.exists() and WAITS in broker.log_path.read_text())
    assert not starting.done()
    store.ask(Delete(paths.broker(1)))
    store.world.wait(asyncio.wait_for(starting, WAIT_S))
    assert broker.log_path.read_text().count("session") == 1
    store.in_background(broker.stop)


def test_a_broker_with_the_id_of_another_is_refused(store: Watched, new_process: NewProcess) -> None:
    """The session that holds its id lives on."""
    hold_id(store)
    broker = new_process(
        node_id="1", odradek_cluster_directory=store.world.directory, broker_session_timeout_ms="1000"
    )
    with pytest.raises(OdradekError, match="another broker with the id 1 is running: its session"):
        store.in_background(broker.start)
