"""Several brokers of Odradek on this machine as a user starts them: `odradek serve --brokers`.

A topic has a replica on every broker, unless its creator says otherwise.
"""

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from odradek.testing.cluster_process import process_of
from peers.odradek import OdradekBroker
from peers.process import HOST

# The line that is printed when all brokers serve.
READY = re.compile(r"^odradek: listening on (.*) \(\d+ brokers\)$", re.MULTILINE)
ADDRESS = re.compile(rf"{re.escape(HOST)}:(\d+)")


class OdradekCluster(OdradekBroker):
    """A supervisor and its brokers; clients are given the address of the last broker, and find the others.

    Which broker is the controller differs from start to start. `pid` is the supervisor's; its processor time
    and memory count, too. The brokers end with the supervisor, however that ends. It starts a broker again
    that has ended.
    """

    count: ClassVar[int] = 3
    standard_input: ClassVar[int] = subprocess.PIPE

    def __init__(self, directory: Path, settings: Mapping[str, str] | None = None) -> None:
        replicated = {"default.replication.factor": str(self.count), "min.insync.replicas": "2"}
        super().__init__(directory, replicated | dict(settings or {}))
        self._ports: tuple[int, ...] = ()
        self._output_before_bytes = 0  # of earlier starts

    @property
    def ports(self) -> tuple[int, ...]:
        """The ports of brokers 1, 2 and so on; only while it runs."""
        return self._ports

    @property
    def admin_ports(self) -> tuple[int, ...]:
        """The ports of the brokers' admin listeners, where `odradek.admin.port` is set; while it runs."""
        told = self._told()
        assert told is not None, "not started"
        return tuple(map(int, ADDRESS.findall(told[1])[self.count :]))

    @property
    def data_directory(self) -> Path:
        """The log directory of the last broker."""
        return self.data_directories[-1]

    @property
    def data_directories(self) -> tuple[Path, ...]:
        """The log directories of brokers 1, 2 and so on."""
        return tuple(self._directory_of_all / f"broker-{one}" for one in range(1, self.count + 1))

    @property
    def pids(self) -> tuple[int, ...]:
        """The processes of brokers 1, 2 and so on, then the supervisor's."""
        return (*(self.pid_of(one) for one in range(1, self.count + 1)), self.pid)

    def pid_of(self, broker_id: int) -> int:
        """The present process of a broker."""
        return process_of(self._directory_of_all, broker_id)

    def prepare(self) -> None:
        """Write the settings."""
        super().prepare()
        self._output_before_bytes = self.output_path.stat().st_size if self.output_path.exists() else 0

    def command(self) -> list[str]:
        """The console script, on ports that the system gives; it ends when its standard input does."""
        where = ("--port", "0", "--data-dir", str(self._directory_of_all))
        return self.serve("--brokers", str(self.count), "--until-eof", *where)

    @property
    def _directory_of_all(self) -> Path:
        return self.directory / "data"

    def _wait_for_answer(self, deadline: float) -> None:
        """Wait until all brokers serve, which tells their ports. Raises BrokerFailed."""
        self._wait_until(lambda: self._told() is not None, deadline)
        told = self._told()
        assert told is not None
        self._ports = tuple(map(int, ADDRESS.findall(told[1])[: self.count]))
        self.port = self._ports[-1]
        super()._wait_for_answer(deadline)

    def _told(self) -> re.Match[str] | None:
        output = self.output_path.read_bytes()[self._output_before_bytes :]
        return READY.search(output.decode(errors="replace"))
