"""Connections to the leaders of some topics' partitions: one per broker, opened when first needed.

leaders = LeaderConnections(config, ["flights"])
for connection, partitions in leaders.by_broker(wanted): ...
leaders.refresh()               after an error that says that a leader has moved
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from odradek.base.closing import Closing
from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.ids import TopicPartition
from odradek.client.absent_topics import why_absent
from odradek.client.bootstrap import Address
from odradek.client.cluster import Leaders, fetch_leaders
from odradek.client.configuration import ClientConfig
from odradek.net.blocking_connection import BrokerConnection
from odradek.net.request_pipeline import ConnectionFailed

_RETRY_S: Final = 0.02


class LeaderConnections(Closing):
    """Raises ApiError for topics that do not exist, ConnectionFailed when no broker answers."""

    def __init__(self, config: ClientConfig, topics: Sequence[str], *, may_create: bool = False) -> None:
        """`may_create` lets the broker make missing topics, if its settings say so."""
        self._config = config
        self._topics = topics
        self._may_create = may_create
        self._connections: dict[Address, BrokerConnection] = {}
        self.leaders: Leaders
        """As of the last `refresh`."""
        self.refresh()

    def refresh(self) -> None:
        """Ask again who leads; connections stay."""
        with self._config.connect() as connection:
            self.leaders = fetch_leaders(connection, self._topics, may_create=self._may_create)
        for topic in self._topics:
            if topic not in self.leaders.counts and not self._may_create:
                raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {topic}")

    def partitions_of(self, topic: str) -> list[TopicPartition]:
        """All partitions of a topic, in order; none while it is being created."""
        return [TopicPartition(topic, number) for number in range(self.leaders.counts.get(topic, 0))]

    def wait_for_topic(
        self,
        topic: str,
        is_over: Callable[[], bool],
        *,
        unknown_may_come: bool = True,
        on_wait: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Returns when each partition of a topic, which may just have been made, has a leader.

        Apache Kafka calls a topic unknown also while it makes it; a broker of Odradek does not, so that
        without `unknown_may_come` an unknown topic is refused at once. `on_wait` is told why the topic is not
        ready, each time.

        Raises ApiError when `is_over` returns True, which says that this takes too long; its code and its
        words are those of what the broker answered last.
        """
        while True:
            partitions = self.partitions_of(topic)
            if partitions and all(one in self.leaders.addresses for one in partitions):
                return
            if partitions:
                code, words = ErrorCode.LEADER_NOT_AVAILABLE, f"topic {topic} has no leader"
            else:
                code = self.leaders.absent.get(topic, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
                words = why_absent(topic, code, unknown_may_come=unknown_may_come)
            is_unknown = code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            if is_over() or (is_unknown and not unknown_may_come):
                raise ApiError(code, words)
            on_wait(words)
            time.sleep(_RETRY_S)
            self.refresh()

    def by_broker(
        self, partitions: Iterable[TopicPartition]
    ) -> list[tuple[BrokerConnection, list[TopicPartition]]]:
        """The partitions by the broker that leads them; those without a leader are left out."""
        found: dict[Address, list[TopicPartition]] = defaultdict(list)
        for partition in partitions:
            address = self.leaders.addresses.get(partition)
            if address is not None:
                found[address].append(partition)
        return [(self._connect(address), led) for address, led in found.items()]

    def drop(self, connection: BrokerConnection) -> None:
        """Close a connection that broke."""
        connection.close()
        kept = {address: one for address, one in self._connections.items() if one is not connection}
        self._connections = kept

    def close(self) -> None:
        """End all connections."""
        for connection in self._connections.values():
            connection.close()
        self._connections = {}

    def _connect(self, address: Address) -> BrokerConnection:
        if address not in self._connections:
            try:
                self._connections[address] = self._config.connect(address)
            except ConnectionFailed as failed:
                said = f"{failed} (the address that the cluster advertises for this broker)"
                raise ConnectionFailed(said, failed.code) from failed
        return self._connections[address]
