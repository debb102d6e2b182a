"""Where a test's broker runs: on a thread of the test's process, or in a separate process.

Both hosts offer the same methods, so `Broker` behaves the same on either. Invariant: a broker that is started
again has the same port and the same data.
"""

from collections.abc import Mapping
from typing import Any, Final, Protocol

from odradek.base.errors import OdradekError

SUBJECTS: Final = ("compaction", "connections", "groups", "partitions", "purgatories", "transactions")
"""What `describe` takes."""


class BrokerNotRunning(OdradekError):
    """The broker was not started, was stopped or killed, or has failed."""


class Host(Protocol):
    """One broker, which can be started several times."""

    @property
    def is_running(self) -> bool:
        """Whether the broker runs; a paused broker does."""

    @property
    def bootstrap_servers(self) -> str:
        """host:port, from the first start on."""

    @property
    def admin_address(self) -> str | None:
        """host:port of the admin listener, None without one."""

    def start(self) -> None:
        """Returns when clients can connect. Raises SettingError, DataDirectoryError or OdradekError."""

    def stop(self) -> None:
        """Stop cleanly: requests are answered, logs are marked as closed. The broker must be running."""

    def kill(self) -> None:
        """End at once, as in a crash: only what was already written is kept. The broker must be running."""

    def pause(self) -> None:
        """Stop answering, and keep all connections open. The broker must be running."""

    def resume(self) -> None:
        """Continue after `pause`; otherwise does nothing."""

    def fault(self, document: Mapping[str, Any]) -> Any:  # noqa: ANN401 - a document of JSON
        """Carry out a request about faults; see `server.faults.documents`. The broker must be running."""

    def describe(self, subject: str) -> list[dict[str, Any]]:
        """The rows of one subject of /describe: "purgatories", "groups", ... The broker must be running."""
