"""A broker in a separate process, started with the command that users type; signals go to its process id.

It stops whenever the process that started it ends, also by a crash: its standard input ends then.
"""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from odradek.base.errors import OdradekError

START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 30.0

_READY = re.compile(r"listening on ([^\s,]+):(\d+)")
_ADMIN = re.compile(r"admin on ([^\s,]+:\d+)")


class BrokerProcess:
    """One `odradek serve`; its output goes to `log_path`. Raises OdradekError if it does not start."""

    def __init__(
        self,
        data_dir: Path,
        *,
        port: int = 0,
        admin_port: int | None = None,
        settings: Mapping[str, str] | None = None,
        log_path: Path | None = None,
        test_faults: bool = False,
    ) -> None:
        """`log_path` is where its output goes, by default a file beside `data_dir` named like it.

        `log.dirs` among the settings takes the place of `data_dir`.
        """
        self.data_dir = data_dir
        self.log_path = log_path or data_dir.with_name(f"{data_dir.name}.log")
        self.host = ""
        self.port = port
        # host:port of the admin listener, None without one.
        self.admin_address: str | None = None
        self._command = [
            sys.executable,
            "-m",
            "odradek.cli.main",
            "serve",
            "--until-eof",
            "--port",
            str(port),
        ]
        if "log.dirs" not in (settings or {}):
            self._command += ["--data-dir", str(data_dir)]
        if admin_port is not None:
            self._command += ["--admin-port", str(admin_port)]
        if test_faults:
            self._command.append("--test-faults")
        for name, value in (settings or {}).items():
            self._command += ["--set", f"{name}={value}"]
        self._process: subprocess.Popen[str] | None = None

    @property
    def pid(self) -> int:
        """The process id; the broker must be running."""
        assert self._process is not None, "the broker is not running"
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Whether the process was started and has not ended."""
        return self._process is not None

    def exit_code(self) -> int | None:
        """The exit code, if the process ended by itself; None while it runs, and after `stop` or `kill`."""
        return None if self._process is None else self._process.poll()

    @property
    def bootstrap_servers(self) -> str:
        """host:port for clients."""
        return f"{self.host}:{self.port}"

    def start(self) -> None:
        """Start it; returns when it accepts connections. Later starts use the port of the first."""
        with self.log_path.open("ab") as errors:
            process = self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env=dict(os.environ),
            )
        assert process.stdout is not None
        # A start ends with the line that names its listeners; if the process ends early, the pipe closes.
        for line in process.stdout:
            found = _READY.search(line)
            if found:
                self.host, self.port = found.group(1), int(found.group(2))
                admin = _ADMIN.search(line)
                self.admin_address = admin.group(1) if admin else None
                self._command[self._command.index("--port") + 1] = str(self.port)
                return
        code = process.wait(START_TIMEOUT_S)
        self._forget(process)
        raise OdradekError(
            f"the broker did not start (exit code {code}): {self.log_path.read_text()[-2000:]}"
        )

    def stop(self) -> int:
        """Ask it to stop with SIGTERM and wait; returns its exit code."""
        return self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End it at once with SIGKILL, as a crash would."""
        self._end(signal.SIGKILL)

    def wait(self, timeout_s: float) -> int:
        """Wait until the process ends by itself; returns its exit code. Raises TimeoutError."""
        process = self._process
        assert process is not None, "the broker is not running"
        try:
            code = process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            raise TimeoutError(f"the broker still runs after {timeout_s} s") from None
        self._forget(process)
        return code

    def _end(self, how: signal.Signals) -> int:
        process = self._process
        assert process is not None, "the broker is not running"
        process.send_signal(how)
        try:
            code = process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            code = process.wait()
        self._forget(process)
        return code

    def _forget(self, ended: "subprocess.Popen[str]") -> None:
        for pipe in (ended.stdin, ended.stdout):
            if pipe is not None:
                pipe.close()
        self._process = None
