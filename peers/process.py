"""One broker as a process, or several: prepared in an empty directory, started, measured, and stopped.

This module knows no particular broker: `kafka.py` and `odradek.py` say how theirs is configured and run.
Linux only where it reads /proc (processor time and resident memory).
"""

import contextlib
import os
import random
import signal
import socket
import struct
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import ClassVar, Self

from peers.waiting import WAIT_S_MAX

HOST = "127.0.0.1"
START_TIMEOUT_S = WAIT_S_MAX
STOP_TIMEOUT_S = WAIT_S_MAX
PROBE_INTERVAL_S = 0.005
OUTPUT_SHOWN_BYTES = 4000

# ApiVersions v0 with request header v1: length, key 18, version 0, correlation id 1, client id "probe".
API_VERSIONS_REQUEST = struct.pack(">ihhih5s", 15, 18, 0, 1, 5, b"probe")

# Below the ports that the kernel gives to clients, which might take one before its broker does.
PORTS = range(20_000, 32_000)
# What a process takes of them at once.
PORTS_OF_A_PART = 400


class BrokerFailed(Exception):
    """The broker did not start, or ended by itself; the message carries the end of its output."""


class BrokerProcess(ABC):
    """A broker on a free loopback port with its data below `directory`.

    `settings` are Kafka's broker properties and go on top of the broker's own base settings.
    As a context manager it is started on entry and stopped on exit. It may be started again; the data stays.
    """

    name: ClassVar[str]
    standard_input: ClassVar[int] = subprocess.DEVNULL
    """What the process has as its standard input; the end of a pipe is closed when the process has ended."""

    start_timeout_s: float = START_TIMEOUT_S
    stop_timeout_s: float = STOP_TIMEOUT_S

    def __init__(self, directory: Path, settings: Mapping[str, str] | None = None) -> None:
        self.directory = directory
        self.settings = dict(settings or {})
        self.port = free_port()
        self.start_up_s = 0.0  # from exec to the first ApiVersions answer, of the latest start
        self._process: subprocess.Popen[bytes] | None = None

    @abstractmethod
    def prepare(self) -> None:
        """Write what the broker needs before its first start. It must not change existing files."""

    @abstractmethod
    def command(self) -> list[str]:
        """The command that runs the broker in the foreground."""

    def environment(self) -> dict[str, str]:
        """The broker's environment: that of this process."""
        return dict(os.environ)

    @classmethod
    @abstractmethod
    def version(cls) -> str:
        """Which broker this is, for reports."""

    @property
    def bootstrap(self) -> str:
        """The address for clients."""
        return f"{HOST}:{self.port}"

    @property
    def ports(self) -> tuple[int, ...]:
        """The ports of all brokers that it runs, by their ids; only while it runs."""
        return (self.port,)

    @property
    def addresses(self) -> str:
        """The addresses of all brokers, for clients that go on when one of them ends; only while it runs."""
        return ",".join(f"{HOST}:{port}" for port in self.ports)

    @property
    def data_directory(self) -> Path:
        """The log directory of the broker at `port`: one folder per partition inside."""
        return self.directory / "data"

    @property
    def data_directories(self) -> tuple[Path, ...]:
        """The log directories of all brokers that it runs, by their ids."""
        return (self.data_directory,)

    @property
    def output_path(self) -> Path:
        """All output of the process."""
        return self.directory / "output.log"

    @property
    def pid(self) -> int:
        """The process id; only while it runs."""
        assert self._process is not None, "not started"
        return self._process.pid

    @property
    def pids(self) -> tuple[int, ...]:
        """All processes that it consists of; only while it runs."""
        return (self.pid,)

    def pid_of(self, broker_id: int) -> int:
        """The process of the broker with that id, from 1 on; only while it runs."""
        return self.pids[broker_id - 1]

    def start(self) -> None:
        """Start and wait for the first ApiVersions answer. Raises BrokerFailed."""
        self.directory.mkdir(parents=True, exist_ok=True)
        self.prepare()
        started = time.perf_counter()
        self.launch()
        try:
            self._wait_for_answer(started + self.start_timeout_s)
        except BaseException:
            self.kill()
            raise
        self.start_up_s = time.perf_counter() - started

    def launch(self) -> None:
        """Start the process, which is prepared, and do not wait for it."""
        assert self._process is None, "already started"
        with self.output_path.open("ab") as output:
            self._process = subprocess.Popen(
                self.command(),
                stdin=self.standard_input,
                stdout=output,
                stderr=output,
                cwd=self.directory,
                env=self.environment(),
            )

    def stop(self) -> int:
        """Stop it cleanly (SIGTERM) and return its exit code; kill it after `stop_timeout_s`."""
        if self._process is None:
            return 0
        self._process.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self._wait_for_end(self.stop_timeout_s)
        return self.kill()

    def kill(self) -> int:
        """Kill it without a chance to clean up (SIGKILL)."""
        if self._process is None:
            return 0
        self._process.kill()
        return self._wait_for_end()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def cpu_s(self) -> float:
        """Processor time of all threads of its processes so far, user and system, in seconds."""
        return sum(_cpu_s(pid) for pid in self.pids)

    def resident_bytes(self) -> int:
        """The resident memory of its processes (VmRSS). Raises BrokerFailed if one has ended."""
        return sum(map(self.resident_bytes_of, self.pids))

    def resident_bytes_of(self, pid: int) -> int:
        """The resident memory of one of its processes. Raises BrokerFailed if it has ended."""
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
        raise BrokerFailed(f"{self.name} has ended")

    def _wait_for_end(self, timeout_s: float | None = None) -> int:
        """Wait for the end of the process; returns its exit code. Raises subprocess.TimeoutExpired."""
        assert self._process is not None
        code = self._process.wait(timeout_s)
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process = None
        return code

    def _wait_for_answer(self, deadline: float) -> None:
        self._wait_until(lambda: answers_api_versions(self.port), deadline)

    def _wait_until(self, condition: Callable[[], bool], deadline: float) -> None:
        """Wait for a sign of the start. Raises BrokerFailed if the process ends, or after the deadline."""
        assert self._process is not None
        while not condition():
            if self._process.poll() is not None:
                raise BrokerFailed(
                    f"{self.name} ended with {self._process.returncode}: {self._last_output()}"
                )
            if time.perf_counter() > deadline:
                raise BrokerFailed(
                    f"{self.name} did not answer in {self.start_timeout_s} s: {self._last_output()}"
                )
            time.sleep(PROBE_INTERVAL_S)

    def _last_output(self) -> str:
        return self.output_path.read_bytes()[-OUTPUT_SHOWN_BYTES:].decode(errors="replace")


def _cpu_s(pid: int) -> float:
    # After the command name, which stands in brackets and may hold spaces: utime 12th, stime 13th.
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def children_of(pid: int) -> list[int]:
    """The processes that a process has started and that are there now; none of one that has ended."""
    found: list[int] = []
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        for one in Path(f"/proc/{pid}/task").glob("*/children"):
            found += map(int, one.read_text().split())
    return found


def free_port() -> int:
    """A loopback port that no process listens on now, and that no test of this machine was given before.

    Raises BrokerFailed when none is left.
    """
    for port in _own_ports:
        with contextlib.suppress(OSError), socket.create_server((HOST, port)):
            return port
    raise BrokerFailed(f"no port is left of {PORTS.start} to {PORTS.stop - 1}")


def ports_of_this_process() -> Iterator[int]:
    """Ports in parts, each of which this process has to itself until it ends.

    Between the choice of a port and the start of its broker another worker must not choose it, too.
    """
    firsts = PORTS[::PORTS_OF_A_PART]
    for first in random.sample(firsts, len(firsts)):
        sign = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            sign.bind((HOST, first))
        except OSError:
            sign.close()
        else:
            sign.detach()  # stays open
            yield from random.sample(range(first, first + PORTS_OF_A_PART), PORTS_OF_A_PART)


_own_ports = ports_of_this_process()


def answers_api_versions(port: int) -> bool:
    """Whether a broker on this loopback port answers ApiVersions."""
    try:
        with socket.create_connection((HOST, port), timeout=5) as connection:
            connection.sendall(API_VERSIONS_REQUEST)
            return len(connection.recv(4)) > 0
    except OSError:
        return False


def write_properties(path: Path, properties: Mapping[str, str]) -> None:
    """Write a Java properties file of plain keys and values."""
    path.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
