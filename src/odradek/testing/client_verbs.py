"""What a test does as a client: topics, records and groups, the same for one broker and for a cluster."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Literal, TypeAlias

from odradek.testing.tested_group import WAIT_S, TestedGroup
from odradek.testing.tracebacks import ends_at_caller

if TYPE_CHECKING:  # imported when a test first needs them: a broker starts sooner
    from contextlib import AbstractContextManager

    from odradek.base.ids import BrokerId
    from odradek.client.administering import Admin
    from odradek.client.core.admin.lag import Lag
    from odradek.client.core.admin.topics import NewTopic
    from odradek.client.group_description import GroupDescription
    from odradek.server.admin.position_watch import Ask
    from odradek.testing.group_waits import GroupWaits
    from odradek.testing.topic_access import TopicAccess
    from odradek.testing.topic_records import Content, TestRecord

Isolation: TypeAlias = Literal["read_committed", "read_uncommitted"]


class ClientVerbs(ABC):
    """Base of what a test starts: `Broker` and `LocalCluster`."""

    # --- topics

    @ends_at_caller
    def delete_topic(self, name: str) -> None:
        """Delete a topic."""
        from odradek.client.administering import about_one
        from odradek.client.core.admin.topics import delete_topics

        with self._admin() as admin, about_one(name):
            admin.carry_out(delete_topics([name]))

    @ends_at_caller
    def topics(self) -> list[str]:
        """The names of all topics except internal ones."""
        from odradek.client.core.admin.topics import list_topics

        with self._admin() as admin:
            return admin.carry_out(list_topics())

    # --- records

    @ends_at_caller
    def produce(
        self,
        topic: str,
        *values: Content,
        key: Content = None,
        headers: Mapping[str, Content] | None = None,
        partition: int | None = None,
        timestamp: datetime | None = None,
    ) -> list[TestRecord]:
        """Append records; returns them with their offsets when the log has acknowledged them. A value of None
        is a tombstone.

        Without `partition` the key decides, as in Kafka's own client; records without a key go to partitions
        0, 1, ... in turn. Raises ApiError if the broker refuses.
        """
        at_ms = self._now_ms() if timestamp is None else round(timestamp.timestamp() * 1000)
        return self._topics().produce(
            topic, values, key=key, headers=headers, partition=partition, timestamp_ms=at_ms
        )

    @ends_at_caller
    def records(
        self, topic: str, *, partition: int | None = None, isolation: Isolation = "read_committed"
    ) -> list[TestRecord]:
        """Returns all records of a topic, partition by partition. Raises ApiError for an unknown topic."""
        return self._topics().records(topic, partition=partition, isolation=isolation)

    @ends_at_caller
    def wait_for(
        self,
        topic: str,
        n: int = 1,
        *,
        where: Callable[[TestRecord], bool] | None = None,
        partition: int | None = None,
        isolation: Isolation = "read_committed",
        timeout: float = WAIT_S,
    ) -> list[TestRecord]:
        """Returns the records of a topic that `where` accepts, as soon as there are `n` or more.

        The topic need not exist yet. Raises WaitTimeout, which shows what was found, after `timeout` seconds.
        """
        return self._topics().wait_for(
            topic, n, where=where, partition=partition, isolation=isolation, timeout_s=timeout
        )

    # --- groups

    @ends_at_caller
    def group(self, name: str) -> TestedGroup:
        """A consumer group, which need not exist yet, with what a test waits for; see `TestedGroup`."""
        return TestedGroup(name, self._groups())

    @ends_at_caller
    def wait_group_at_rest(
        self, group: str, *, members: int | None = None, timeout: float = WAIT_S
    ) -> GroupDescription:
        """`group(group).stable(members=...)`."""
        return self.group(group).stable(members=members, timeout=timeout)

    @ends_at_caller
    def wait_lag_zero(self, group: str, topic: str | None = None, *, timeout: float = WAIT_S) -> list[Lag]:
        """`group(group).lag_zero(topic)`."""
        return self.group(group).lag_zero(topic, timeout=timeout)

    # --- within

    @abstractmethod
    def _servers(self) -> str:
        """host:port of all brokers that answer, separated by commas. Raises BrokerNotRunning."""

    @abstractmethod
    def _now_ms(self) -> int:
        """The time of day of records without a timestamp of their own."""

    @abstractmethod
    def _fault_asks(self) -> Mapping[BrokerId, Ask]:
        """Of each broker that answers, what lets it carry out a request about faults."""

    def _create_topic(self, topic: NewTopic) -> None:
        from odradek.client.administering import about_one
        from odradek.client.core.admin.topics import create_topics

        with self._admin() as admin, about_one(topic.name):
            admin.carry_out(create_topics([topic]))

    def _admin(self) -> AbstractContextManager[Admin]:
        from odradek.client.administering import administering
        from odradek.testing.own_client import own_client

        return administering(own_client(self._servers()))

    def _topics(self) -> TopicAccess:
        from odradek.testing.topic_access import TopicAccess  # imports the codecs: a start needs none

        self._servers()  # not running is said before a wait begins
        return TopicAccess(self._servers)

    def _groups(self) -> GroupWaits:
        from odradek.testing.group_waits import GroupWaits

        self._servers()
        return GroupWaits(self._servers, self._fault_asks)
