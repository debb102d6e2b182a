"""Where a test's broker runs: on a thread of the test's process, or in a process of its own.

Both can do the same; `Broker` is the same to its user on either. Invariant: whatever ends or begins again
keeps its port and its data.
"""

from collections.abc import Mapping
from typing import Any, Protocol

from odradek.base.errors import OdradekError


class BrokerNotRunning(OdradekError):
    """The broker was not started, was stopped or killed, or has failed."""


class Host(Protocol):
    """One broker, which may live several times."""

    @property
    def is_running(self) -> bool:
        """Whether it lives, paused or not."""

    @property
    def bootstrap_servers(self) -> str:
        """host:port, from the first start on."""

    @property
    def admin_address(self) -> str | None:
        """host:port of the admin listener, None without one."""

    def start(self) -> None:
        """Return when clients may connect. Raises SettingError, DataDirectoryError or OdradekError."""

    def stop(self) -> None:
        """Stop in good order: clients are answered, logs are marked as closed. It must run."""

    def kill(self) -> None:
        """End at once, as in a crash: what was written is there, nothing more. It must run."""

    def pause(self) -> None:
        """Answer nobody any more, and keep all connections. It must run."""

    def resume(self) -> None:
        """Go on after `pause`; without one it does nothing."""

    def fault(self, document: Mapping[str, Any]) -> Any:  # noqa: ANN401 - a document of JSON
        """Carry out a request about faults; see `server.faults.documents`. It must run."""

    def describe(self, subject: str) -> list[dict[str, Any]]:
        """What is shown under /describe: "purgatories", "groups", "partitions", ... It must run."""
