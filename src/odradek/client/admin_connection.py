"""The common base of all admin clients: a connection to the first bootstrap address that answers."""

from enum import IntEnum
from types import TracebackType
from typing import Self

from odradek.client.bootstrap import connect_any, parse_bootstrap_servers
from odradek.client.refusal import raise_for
from odradek.net.blocking_connection import BrokerConnection
from odradek.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse

# The last version whose layout names one coordinator.
_FIND_COORDINATOR_VERSION_MAX = 3


class CoordinatorKey(IntEnum):
    """What a coordinator is looked up by."""

    GROUP = 0
    TRANSACTION = 1


class AdminConnection:
    """Raises SettingError for malformed bootstrap servers, ConnectionFailed when no broker answers."""

    def __init__(self, bootstrap_servers: str) -> None:
        self._connection = connect_any(parse_bootstrap_servers(bootstrap_servers))

    def close(self) -> None:
        """End the connection."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _coordinator(self, kind: CoordinatorKey, key: str) -> BrokerConnection:
        """Open a separate connection to the coordinator of a group or transactional id."""
        request = FindCoordinatorRequest(key=key, key_type=kind)
        answer = self._connection.ask(request, FindCoordinatorResponse, _FIND_COORDINATOR_VERSION_MAX)
        about = f"no coordinator of {kind.name.lower()} {key!r}"
        raise_for(answer.error_code, answer.error_message, about=about)
        return BrokerConnection(answer.host, answer.port)
