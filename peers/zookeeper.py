"""A ZooKeeper server as a process, alone in its ensemble, from Debian's package or named jars.

What it writes outlives its process, but not a power cut. Sessions may have timeouts from 400 ms on.
"""

import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import Final, Self

from peers.process import HOST, free_port

CLASS_PATH_VARIABLE: Final = "ODRADEK_ZOOKEEPER_CLASS_PATH"
"""The environment variable that names the jars of ZooKeeper and of its dependencies, in Java's way."""
DEBIAN_JAR: Final = Path("/usr/share/java/zookeeper.jar")
START_TIMEOUT_S: Final = 60
TICK_MS: Final = 200
_LOOK_S: Final = 0.02

CONFIGURATION: Final = """\
tickTime={tick_ms}
dataDir={data}
clientPort={port}
clientPortAddress={host}
maxClientCnxns=0
maxSessionTimeout=120000
admin.enableServer=false
4lw.commands.whitelist=srvr
"""

FLAGS: Final = ("-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dzookeeper.forceSync=no")


class ZooKeeperMissing(Exception):
    """This machine has no ZooKeeper; the message says what to install."""


def class_path() -> str:
    """The class path of ZooKeeper. Raises ZooKeeperMissing."""
    if shutil.which("java") is None:
        raise ZooKeeperMissing("ZooKeeper needs Java: apt-get install default-jre-headless")
    named = os.environ.get(CLASS_PATH_VARIABLE)
    if named:
        return named
    if not DEBIAN_JAR.exists():
        raise ZooKeeperMissing(f"no ZooKeeper: apt-get install zookeeper, or set {CLASS_PATH_VARIABLE}")
    return str(DEBIAN_JAR)


class ZooKeeperServer:
    """A server on a free loopback port, which it keeps when it is started again; its data is in `directory`.

    As a context manager it is started on entry and killed on exit.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.port = free_port()
        self._class_path = class_path()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        """What `zookeeper.connect` is set to."""
        return f"{HOST}:{self.port}"

    @property
    def pid(self) -> int:
        """The process id; only while it runs."""
        assert self._process is not None, "not started"
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Whether its process has not ended."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start the process, and return when it serves. Raises RuntimeError if it does not."""
        assert not self.is_running, "one process at a time"
        self.directory.mkdir(parents=True, exist_ok=True)
        configuration = self.directory / "zoo.cfg"
        data = self.directory / "data"
        configuration.write_text(CONFIGURATION.format(tick_ms=TICK_MS, data=data, port=self.port, host=HOST))
        main = "org.apache.zookeeper.server.ZooKeeperServerMain"
        command = ["java", *FLAGS, "-cp", self._class_path, main, str(configuration)]
        with (self.directory / "output.log").open("ab") as output:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd=self.directory
            )
        deadline = time.monotonic() + START_TIMEOUT_S
        while not self._serves():
            if not self.is_running or time.monotonic() > deadline:
                self.kill()
                raise RuntimeError((self.directory / "output.log").read_text()[-4000:])
            time.sleep(_LOOK_S)

    def kill(self) -> None:
        """End the process by SIGKILL, and return when it has ended; nothing happens if it does not run."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def pause(self) -> None:
        """Let the process stand still."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let a process that stands still go on."""
        self._signal(signal.SIGCONT)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.kill()

    def _signal(self, number: signal.Signals) -> None:
        assert self._process is not None, "not started"
        self._process.send_signal(number)

    def _serves(self) -> bool:
        """Whether it answers; a server that has not loaded its data says that it does not serve requests."""
        try:
            with socket.create_connection((HOST, self.port), timeout=1) as connection:
                connection.sendall(b"srvr")
                return b"Zookeeper version" in connection.recv(4096)
        except OSError:
            return False
