"""The brokers' processes: started by exec, found again by the next supervisor, watched and signalled.

In the first directory of the cluster each broker has two files, until a clean stop:

    broker-2.properties   all its settings: a restart uses those that the cluster was started with
    broker-2.process      {"pid": 4711, "arguments": [...], "line": "odradek: listening on ..."}

Invariants: a broker's process holds a lock on its second file from before it is executed until its end,
because it inherits the descriptor. So a lock that is held says that the process lives, whoever has started
it and whatever became of process ids, and one broker never has two processes. A process has a session of its
own: no signal of the supervisor's terminal reaches it.

An earlier version had these files in the directory of the sockets, where those who clean up old files find
them. Its processes are found there.
"""

import asyncio
import fcntl
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from odradek.base.errors import DataDirectoryError
from odradek.base.ids import BrokerId
from odradek.base.settings.properties import render_properties
from odradek.base.system_errors import reason_of
from odradek.base.values import value
from odradek.server.process.process_contract import READY
from odradek.server.process.store_server import is_running
from odradek.server.supervisor.cluster_states import Exited

LOOK_S: Final = 0.25
"""How often a process that another supervisor has started is looked at."""
LINE_BYTES_MAX: Final = 65_536


@value
class FoundProcess:
    """A process that an earlier supervisor has started, and that lives."""

    pid: int
    line: str
    """What it said when it served; empty if nobody has read it."""
    file: Path
    """The file on which it holds a lock."""


@dataclass(slots=True)
class _Live:
    """A process that lives."""

    pid: int
    file: Path
    child: "subprocess.Popen[bytes] | None"
    """None if an earlier supervisor has started it."""
    line: bytes = b""
    """What it has printed so far, up to the end of its first line."""
    looking: asyncio.TimerHandle | None = None
    """When it is looked at next, if it is not a child."""


class Processes:
    """The processes of the brokers of one cluster, on the running loop."""

    def __init__(
        self,
        directory: Path,
        sockets: Path,
        arguments: Sequence[str],
        settings: Mapping[BrokerId, Mapping[str, str]],
        *,
        inherits_input: bool,
        on_ready: Callable[[BrokerId], None],
        on_exited: Callable[[BrokerId, Exited], None],
    ) -> None:
        """`directory` has the files of the processes, `sockets` is the directory that brokers need to serve.

        `arguments` are those of `odradek serve` for all brokers, `settings` those of each.

        `on_ready` and `on_exited` are called in events of their own.
        """
        self._loop = asyncio.get_running_loop()
        self._directory = directory
        self._sockets = sockets
        self._arguments = arguments
        self._settings = settings
        self._inherits_input = inherits_input
        self._on_ready = on_ready
        self._on_exited = on_exited
        self._live: dict[BrokerId, _Live] = {}
        self.lines: dict[BrokerId, str] = {}
        """What each broker has printed when it served."""
        self._loop.add_signal_handler(signal.SIGCHLD, self._reap)

    def pid_of(self, broker_id: BrokerId) -> int | None:
        """The id of a broker's process; None if it has none."""
        live = self._live.get(broker_id)
        return None if live is None else live.pid

    def spawn(self, broker_id: BrokerId) -> None:
        """Start a broker's process; that it cannot be started is reported like its end."""
        assert broker_id not in self._live, "a broker has one process"
        try:
            live = self._live[broker_id] = self._started(broker_id)
        except OSError as error:
            exited = Exited(None, f"it cannot be started: {self._reason_of(error)}")
            self._loop.call_soon(self._on_exited, broker_id, exited)
            return
        assert live.child is not None, "it was just started"
        assert live.child.stdout is not None, "a pipe was asked for"
        os.set_blocking(live.child.stdout.fileno(), False)
        self._loop.add_reader(live.child.stdout.fileno(), self._read, broker_id, live)

    def adopt(self, broker_id: BrokerId, found: FoundProcess) -> None:
        """Watch a process that an earlier supervisor has started."""
        self._live[broker_id] = live = _Live(found.pid, found.file, None)
        self.lines[broker_id] = found.line
        self._look(broker_id, live)

    def send(self, broker_id: BrokerId, number: signal.Signals) -> None:
        """Send a signal to a broker's process; nothing happens if it has ended."""
        live = self._live.get(broker_id)
        if live is None:
            return
        try:
            if live.child is not None:
                live.child.send_signal(number)
            else:
                os.kill(live.pid, number)
        except ProcessLookupError:
            pass

    def close(self) -> None:
        """Watch no more."""
        self._loop.remove_signal_handler(signal.SIGCHLD)
        for live in self._live.values():
            if live.looking is not None:
                live.looking.cancel()
        for broker_id, live in list(self._live.items()):
            self._forget(broker_id, live)

    def remove_files(self) -> None:
        """Remove the files of all processes; called when no process is left. Settings may have passwords."""
        for broker_id in self._settings:
            for path in (settings_file(self._directory, broker_id), process_file(self._directory, broker_id)):
                with suppress(OSError):  # they do no harm
                    path.unlink()

    def _started(self, broker_id: BrokerId) -> _Live:
        """Returns a new process that holds the lock of its broker. Raises OSError."""
        if not self._sockets.exists():
            raise FileNotFoundError(0, "no sockets")
        settings = settings_file(self._directory, broker_id)
        _write_private(settings, render_properties(self._settings[broker_id]))
        command = command_of(settings, self._arguments)
        file = process_file(self._directory, broker_id)
        descriptor = _open_locked(file, create=True)
        if descriptor is None:
            raise BlockingIOError(0, "its process still runs")
        try:
            child = subprocess.Popen(
                command,
                stdin=None if self._inherits_input else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                pass_fds=(descriptor,),
                start_new_session=True,
            )
            try:
                _write(descriptor, {"pid": child.pid, "arguments": list(self._arguments), "line": ""})
            except OSError:
                child.kill()
                child.wait()
                raise
        finally:
            os.close(descriptor)
        return _Live(child.pid, file, child)

    def _reason_of(self, error: OSError) -> str:
        """Why a process could not be started; without the directory no broker finds the store's socket."""
        if not self._sockets.exists():
            return f"somebody has removed {self._sockets}, which has the sockets: restart the cluster"
        return reason_of(error)

    def _read(self, broker_id: BrokerId, live: _Live) -> None:
        """Called when a process has printed something, or has closed its standard output."""
        assert live.child is not None, "output of a child"
        assert live.child.stdout is not None, "a pipe was asked for"
        descriptor = live.child.stdout.fileno()
        try:
            read = os.read(descriptor, LINE_BYTES_MAX)
        except BlockingIOError:
            return
        if not read:
            self._loop.remove_reader(descriptor)
            return
        has_line = b"\n" in live.line
        live.line = (live.line + read)[:LINE_BYTES_MAX]
        if has_line or b"\n" not in live.line:
            return
        line = live.line.partition(b"\n")[0].decode(errors="replace")
        if line.startswith(READY):
            self.lines[broker_id] = line
            with suppress(OSError):  # the next supervisor then tells the addresses from the settings
                _note_line(live.file, line)
            self._on_ready(broker_id)

    def _reap(self) -> None:
        """Called when a child has ended."""
        for broker_id, live in list(self._live.items()):
            if live.child is not None and live.child.poll() is not None:
                self._read_rest(broker_id, live)
                self._forget(broker_id, live)
                self._on_exited(broker_id, Exited(live.child.returncode))

    def _read_rest(self, broker_id: BrokerId, live: _Live) -> None:
        """Read a line that was printed just before the end."""
        assert live.child is not None, "output of a child"
        assert live.child.stdout is not None, "a pipe was asked for"
        if b"\n" not in live.line:
            self._read(broker_id, live)

    def _look(self, broker_id: BrokerId, live: _Live) -> None:
        """Report the end of a process that is no child, or look again later."""
        try:
            descriptor = _open_locked(live.file)
            is_alive = descriptor is None
        except FileNotFoundError:  # somebody has removed it: the process id is all that is left
            descriptor, is_alive = None, is_running(live.pid)
        if descriptor is not None:
            os.close(descriptor)
        if is_alive:
            live.looking = self._loop.call_later(LOOK_S, self._look, broker_id, live)
            return
        self._forget(broker_id, live)
        self._on_exited(broker_id, Exited(None))

    def _forget(self, broker_id: BrokerId, live: _Live) -> None:
        del self._live[broker_id]
        if live.child is not None and live.child.stdout is not None:
            self._loop.remove_reader(live.child.stdout.fileno())
            live.child.stdout.close()


def command_of(settings: Path, arguments: Sequence[str]) -> list[str]:
    """The command of a broker with these settings."""
    return [sys.executable, "-m", "odradek", "serve", "--config", str(settings), *arguments]


def settings_file(directory: Path, broker_id: BrokerId) -> Path:
    """The file of a broker's settings."""
    return directory / f"broker-{broker_id}.properties"


def process_file(directory: Path, broker_id: BrokerId) -> Path:
    """The file on which a broker's process holds a lock."""
    return directory / f"broker-{broker_id}.process"


def find_processes(
    directory: Path, broker_ids: Iterable[BrokerId], *, former: Path | None = None
) -> dict[BrokerId, tuple[FoundProcess, Sequence[str]]]:
    """Returns the processes of an earlier supervisor that live, each with its arguments; changes nothing.

    `former` is the directory where an earlier version had their files. Raises DataDirectoryError if it cannot
    be known which process it is.
    """
    found: dict[BrokerId, tuple[FoundProcess, Sequence[str]]] = {}
    directories = [directory] if former is None else [directory, former]
    for broker_id in broker_ids:
        files = (process_file(one, broker_id) for one in directories)
        path = next(filter(_is_held, files), None)
        if path is None:
            continue
        try:
            document = json.loads(path.read_text())
            process = FoundProcess(int(document["pid"]), str(document["line"]), path)
            found[broker_id] = process, [str(one) for one in document["arguments"]]
        except (ValueError, KeyError, TypeError):
            raise DataDirectoryError(
                f"broker {broker_id} of this cluster runs, and {path} does not say as which process:"
                " end it before you start the cluster"
            ) from None
    return found


def refuse_other_settings(
    broker_id: BrokerId,
    found: tuple[FoundProcess, Sequence[str]],
    arguments: Sequence[str],
    settings: Mapping[str, str],
) -> None:
    """Raises DataDirectoryError if a process that lives was started with other settings or arguments."""
    process, given = found
    path = settings_file(process.file.parent, broker_id)
    had = path.read_text(encoding="utf-8") if path.exists() else ""
    if list(given) != list(arguments) or had != render_properties(settings):
        raise DataDirectoryError(
            f"broker {broker_id} still runs (process {process.pid}) with other options or settings: end it"
            " before you start the cluster with these"
        )


def _is_held(path: Path) -> bool:
    """Whether a process holds the lock of a file."""
    try:
        descriptor = _open_locked(path)
    except FileNotFoundError:
        return False
    if descriptor is not None:
        os.close(descriptor)
    return descriptor is None


def _open_locked(path: Path, *, create: bool = False) -> int | None:
    """Returns a descriptor of a file with its lock, None if a process holds the lock. Raises OSError."""
    descriptor = os.open(path, os.O_RDWR | (os.O_CREAT if create else 0) | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _write(descriptor: int, document: Mapping[str, Any]) -> None:
    """Replace the content of a file, in place because the lock is on this file."""
    content = json.dumps(document).encode()
    os.pwrite(descriptor, content, 0)
    os.ftruncate(descriptor, len(content))


def _note_line(path: Path, line: str) -> None:
    """Keep what a broker has said for the next supervisor."""
    descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        document = json.loads(os.pread(descriptor, LINE_BYTES_MAX, 0))
        _write(descriptor, {**document, "line": line})
    finally:
        os.close(descriptor)


def _write_private(path: Path, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with open(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
