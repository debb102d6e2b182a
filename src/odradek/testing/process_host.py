"""A broker in a separate process, as users run it, on real time."""

import json
import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from odradek.base.errors import OdradekError
from odradek.base.extras import missing_extra
from odradek.testing.admin_requests import asked_admin
from odradek.testing.broker_process import BrokerProcess
from odradek.testing.host import BrokerNotRunning
from odradek.testing.setting_texts import broker_layers

WAIT_S: Final = 30.0


class ProcessHost:
    """See `Host`."""

    def __init__(self, data_dir: Path, settings: Mapping[str, str], log_path: Path) -> None:
        """The broker's standard error goes to the file `log_path`."""
        has_admin = not missing_extra("admin", "")
        self.process = BrokerProcess(
            data_dir,
            admin_port=0 if has_admin else None,
            settings=settings,
            log_path=log_path,
            test_faults=has_admin,
        )
        self._settings = settings
        self._is_paused = False

    @property
    def is_running(self) -> bool:
        """See `Host.is_running`."""
        return self.process.is_running and self.process.exit_code() is None

    @property
    def bootstrap_servers(self) -> str:
        """See `Host.bootstrap_servers`."""
        return self.process.bootstrap_servers

    @property
    def admin_address(self) -> str | None:
        """See `Host.admin_address`."""
        return self.process.admin_address

    def start(self) -> None:
        """See `Host.start`."""
        broker_layers(self._settings)  # the command only warns of unknown names
        if self.process.is_running:
            self.process.wait(WAIT_S)  # it has failed
        self.process.start()

    def stop(self) -> None:
        """See `Host.stop`."""
        self.resume()
        self.process.stop()

    def kill(self) -> None:
        """See `Host.kill`."""
        self._is_paused = False
        self.process.kill()

    def pause(self) -> None:
        """See `Host.pause`: the system stops the process."""
        self._check()
        os.kill(self.process.pid, signal.SIGSTOP)
        self._is_paused = True

    def resume(self) -> None:
        """See `Host.resume`."""
        if self._is_paused:
            self._is_paused = False
            os.kill(self.process.pid, signal.SIGCONT)

    def fault(self, document: Mapping[str, Any]) -> Any:  # noqa: ANN401 - a document of JSON
        """See `Host.fault`."""
        return self._ask("/test/faults", json.dumps(document).encode())

    def describe(self, subject: str) -> list[dict[str, Any]]:
        """See `Host.describe`."""
        rows = self._ask(f"/describe/{subject}", absent=f"there is nothing to describe under {subject}")
        assert isinstance(rows, list), "what is described is a list of rows"
        return rows

    def _check(self) -> None:
        if not self.is_running:
            raise BrokerNotRunning("the broker is not running")

    def _ask(self, path: str, content: bytes | None = None, absent: str = "") -> Any:  # noqa: ANN401 - JSON
        """Ask the admin listener. Raises OdradekError, with `absent` if the listener answers 404."""
        self._check()
        if self.process.admin_address is None:
            wanted_by = f"asking a broker in another process for {path}"
            raise OdradekError(missing_extra("admin", wanted_by) or f"{wanted_by} needs its admin listener")
        return asked_admin(self.process.admin_address, path, content, absent)
