"""What a consumer group needs to know of the cluster's topics.

A Protocol over plain values: `server` implements it over the cluster's image, tests over a dictionary.
"""

from collections.abc import Iterable
from typing import NamedTuple, Protocol

from odradek.base.ids import TopicId, TopicPartition


class Topic(NamedTuple):
    """A topic that there is."""

    topic_id: TopicId
    name: str
    partition_count: int


class Topics(Protocol):
    """The topics that there are now, without those that are being deleted."""

    def by_name(self, name: str) -> Topic | None:
        """The topic of that name."""

    def by_id(self, topic_id: TopicId) -> Topic | None:
        """The topic with that id."""

    def has_partition(self, topic_partition: TopicPartition) -> bool:
        """Whether there is such a partition."""

    def names(self) -> Iterable[str]:
        """Of all topics."""

    @property
    def version(self) -> int:
        """Grows whenever a topic comes, goes or grows."""
