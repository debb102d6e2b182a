"""The common base of all admin clients: a connection to the first bootstrap address that answers."""

import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from enum import IntEnum
from functools import wraps
from typing import ParamSpec, TypeAlias, TypeVar

from odradek.base.closing import Closing
from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.ids import BrokerId
from odradek.client.cluster import METADATA_VERSION_MAX
from odradek.client.configuration import ClientConfig
from odradek.client.refusal import raise_for
from odradek.net.blocking_connection import BrokerConnection
from odradek.net.request_pipeline import ConnectionFailed
from odradek.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from odradek.wire.messages.metadata import MetadataRequest, MetadataResponse

# The last version whose layout names one coordinator.
FIND_COORDINATOR_VERSION_MAX = 3


# How long the first group of a cluster waits until __consumer_offsets exists.
COORDINATOR_MAX_S = 15.0
_RETRY_S = 0.2
_COMING = {
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.CONCURRENT_TRANSACTIONS,  # The coordinator is still ending a transaction.
}

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

Missing: TypeAlias = dict[BrokerId, str]
"""The brokers that do not answer, each with a sentence that says why."""


class CoordinatorKey(IntEnum):
    """The kind of a coordinator's key: a group or a transactional id."""

    GROUP = 0
    TRANSACTION = 1


def patient(method: Callable[P, R]) -> Callable[P, R]:
    """Repeat a method while a coordinator loads, has moved, or is ending a transaction."""

    @wraps(method)
    def repeated(*arguments: P.args, **named: P.kwargs) -> R:
        deadline = time.monotonic() + COORDINATOR_MAX_S
        while True:
            try:
                return method(*arguments, **named)
            except ApiError as refused:
                if refused.code not in _COMING or time.monotonic() > deadline:
                    raise
            time.sleep(_RETRY_S)

    return repeated


class AdminConnection(Closing):
    """Raises SettingError for malformed bootstrap servers, ConnectionFailed when no broker answers."""

    def __init__(self, config: ClientConfig | str) -> None:
        """`config` may be the bootstrap servers alone."""
        self.config = config if isinstance(config, ClientConfig) else ClientConfig(config)
        self._connection = self.config.connect()

    def close(self) -> None:
        """End the connection."""
        self._connection.close()

    def cluster_id(self) -> str:
        """The id of the cluster; "" if the broker does not say."""
        return self._metadata_of_brokers().cluster_id or ""

    def broker_ids(self) -> list[BrokerId]:
        """The brokers of the cluster."""
        return sorted(broker.node_id for broker in self._metadata_of_brokers().brokers)

    def _metadata_of_brokers(self) -> MetadataResponse:
        request = MetadataRequest(topics=[], allow_auto_topic_creation=False)
        return self._connection.ask(request, MetadataResponse, METADATA_VERSION_MAX)

    def _ask_brokers(
        self, ask: Callable[[BrokerConnection], Iterable[T]], missing: Missing | None
    ) -> list[T]:
        """What each broker of the cluster lists, one broker after another.

        A broker that cannot be reached, or does not answer, is put into `missing`, with a sentence that names
        it; without `missing` that raises ConnectionFailed.
        """
        found: list[T] = []
        for broker in self._metadata_of_brokers().brokers:
            try:
                with self.config.connect((broker.host, broker.port)) as connection:
                    found += ask(connection)
            except ConnectionFailed as failed:
                if missing is None:
                    raise
                missing[broker.node_id] = f"broker {broker.node_id} does not answer: {failed}"
        return found

    def _coordinator(self, kind: CoordinatorKey, key: str, *, wait_ms: int = 0) -> BrokerConnection:
        """Open a separate connection to the coordinator of a group or transactional id.

        Its answers may take `wait_ms`, or as long as the configuration says where that is longer.
        """
        request = FindCoordinatorRequest(key=key, key_type=kind)
        deadline = time.monotonic() + COORDINATOR_MAX_S
        while True:
            answer = self._connection.ask(request, FindCoordinatorResponse, FIND_COORDINATOR_VERSION_MAX)
            is_coming = answer.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
            if not is_coming or time.monotonic() > deadline:
                break
            time.sleep(_RETRY_S)
        about = f"no coordinator of {kind.name.lower()} {key!r}"
        raise_for(answer.error_code, answer.error_message, about=about)
        timeout_ms = max(wait_ms, self.config.request_timeout_ms)
        config = replace(self.config, request_timeout_ms=timeout_ms)
        return config.connect((answer.host, answer.port))
