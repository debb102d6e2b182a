"""A cluster in separate processes, started with the command that users type: `odradek serve --brokers`.

The brokers outlive a supervisor that is killed, and the next start goes on with them. They stop when the
process that started them ends, also by a crash: their standard input ends then.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from odradek.base.errors import OdradekError
from odradek.base.ids import BrokerId
from odradek.server.process.embedded_store import CLUSTER_FILE
from odradek.server.supervisor.broker_settings import broker_directory
from odradek.server.supervisor.processes import find_processes, process_file
from odradek.testing.admin_requests import asked_admin

START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 130.0
"""A little more than a supervisor takes until it kills what is left."""

_READY = re.compile(r"listening on (?P<opened>.*?)(?:, admin on (?P<admin>.*))? \(\d+ brokers?\)")


class ClusterProcess:
    """One supervisor after another over one data directory; all output goes to `log_path`."""

    def __init__(
        self,
        data_dir: Path,
        brokers: int,
        *,
        settings: Mapping[str, str] | None = None,
        log_path: Path,
        test_faults: bool = False,
    ) -> None:
        """Instead of `data_dir`, `settings` may name several `log.dirs`, of which it is the first.

        With `test_faults` the brokers have admin listeners, and `fault` sets faults on them."""
        self.data_dir = data_dir
        self.log_path = log_path
        self.broker_ids = range(1, brokers + 1)
        # host:port of each broker, in the order of their ids; kept by later starts.
        self.addresses: list[str] = []
        self._command = [sys.executable, "-m", "odradek.cli.main", "serve", "--until-eof"]
        self._command += ["--brokers", str(brokers), "--port", "0"]
        if "log.dirs" not in (settings or {}):
            self._command += ["--data-dir", str(data_dir)]
        for name, value in (settings or {}).items():
            self._command += ["--set", f"{name}={value}"]
        if test_faults:
            self._command += ["--test-faults", "--admin-port", "0"]
        # host:port of the admin listener of each broker, in the order of their ids; none without faults.
        self._admin_addresses: list[str] = []
        self._supervisor: subprocess.Popen[str] | None = None
        # Their brokers have the same standard input, so it stays open until the cluster is closed.
        self._killed: list[subprocess.Popen[str]] = []

    @property
    def bootstrap_servers(self) -> str:
        """All brokers' addresses, for clients."""
        return ",".join(self.addresses)

    @property
    def has_supervisor(self) -> bool:
        """Whether a supervisor was started and not ended."""
        return self._supervisor is not None

    @property
    def store_pid(self) -> int:
        """The supervisor's process, which holds the metadata store; it must be running."""
        assert self._supervisor is not None, "no supervisor runs"
        return self._supervisor.pid

    def directory_of(self, broker_id: BrokerId) -> Path:
        """The log directory of a broker."""
        return Path(broker_directory(str(self.data_dir), broker_id))

    def pid_of(self, broker_id: BrokerId) -> int:
        """The process of a broker, which must be running."""
        return process_of(self.data_dir, broker_id)

    def fault(self, broker_id: BrokerId, document: Mapping[str, Any]) -> Any:  # noqa: ANN401 - JSON
        """Let a broker carry out a request about faults; see docs/testing.md. Raises OdradekError."""
        address = self._admin_addresses[broker_id - 1]
        return asked_admin(address, "/test/faults", json.dumps(document).encode())

    def start(self) -> None:
        """Start a supervisor; returns when all brokers serve. Raises OdradekError."""
        with self.log_path.open("ab") as errors:
            supervisor = self._supervisor = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True
            )
        assert supervisor.stdout is not None
        for line in supervisor.stdout:
            if found := _READY.search(line):
                self.addresses = found["opened"].split(", ")
                self._admin_addresses = (found["admin"] or "").split(", ")
                return
        code = supervisor.wait(START_TIMEOUT_S)
        self._supervisor = None
        _close(supervisor)
        told = self.log_path.read_text()[-2000:]
        raise OdradekError(f"the cluster did not start (exit code {code}): {told}")

    def stop(self) -> int:
        """Stop the brokers and the supervisor with SIGTERM; returns the exit code."""
        supervisor = self._taken()
        supervisor.send_signal(signal.SIGTERM)
        try:
            return supervisor.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            supervisor.kill()
            return supervisor.wait()
        finally:
            _close(supervisor)

    def kill_supervisor(self) -> None:
        """End the supervisor alone, as a crash would: its brokers go on."""
        supervisor = self._taken()
        supervisor.kill()
        supervisor.wait()
        self._killed.append(supervisor)

    def close(self) -> None:
        """Kill whatever still runs."""
        if self._supervisor is not None:
            self.kill_supervisor()
        if (self.data_dir / CLUSTER_FILE).exists():
            sockets = self.sockets
            for found, _ in find_processes(self.data_dir, self.broker_ids).values():
                os.kill(found.pid, signal.SIGKILL)
            shutil.rmtree(sockets, ignore_errors=True)
        for supervisor in self._killed:
            _close(supervisor)
        self._killed = []

    @property
    def sockets(self) -> Path:
        """The directory of the brokers' sockets."""
        return _sockets_of(self.data_dir)

    def _taken(self) -> "subprocess.Popen[str]":
        supervisor, self._supervisor = self._supervisor, None
        assert supervisor is not None, "no supervisor runs"
        return supervisor


def process_of(data_dir: Path, broker_id: BrokerId) -> int:
    """The process of a broker of the cluster in that directory; the broker must be running."""
    document = json.loads(process_file(data_dir, broker_id).read_text())
    return int(document["pid"])


def _sockets_of(data_dir: Path) -> Path:
    return Path(json.loads((data_dir / CLUSTER_FILE).read_text())["sockets"])


def _close(ended: "subprocess.Popen[str]") -> None:
    for pipe in (ended.stdin, ended.stdout):
        if pipe is not None:
            pipe.close()
