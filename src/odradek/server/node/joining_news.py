"""What a broker that joins has yet to hear from the controller: topics, and its own roles.

The controller's first UpdateMetadata that names topics has the names of all of them. Their states come in
that one and in further requests, then the roles of this broker's partitions in one LeaderAndIsr or several:

    UpdateMetadata   all topics: a, b      a-0: led here       to come: b, and the role of a-0
    UpdateMetadata                         b-0: led elsewhere  to come: the role of a-0
    LeaderAndIsr     a-0                                       complete

Roles may come before the facts, from a controller that made the topic meanwhile. Invariant: complete news
stay complete, and nothing is kept any more.
"""

from collections.abc import Iterable

from odradek.base.ids import BrokerId, TopicPartition
from odradek.metadata.image import ClusterImage
from odradek.metadata.orders import UpdateMetadata


class JoiningNews:
    """Follows the orders of one broker from its start until it knows what it is to lead."""

    __slots__ = ("_broker_id", "_has_roles", "_knows_names", "_roles", "_topics", "is_complete")

    def __init__(self, broker_id: BrokerId) -> None:
        self._broker_id = broker_id
        # Whether the controller has named all topics.
        self._knows_names = False
        # The topics that it has named and has not described (the values mean nothing).
        self._topics: dict[str, None] = {}
        # The partitions to be led here whose roles have not come (the values mean nothing).
        self._roles: dict[TopicPartition, None] = {}
        # The partitions whose roles have come (the values mean nothing).
        self._has_roles: dict[TopicPartition, None] = {}
        self.is_complete = False
        """Whether every topic is known, and the role of every partition that is led here."""

    def on_all_topics(self, names: Iterable[str], image: ClusterImage) -> None:
        """Called with the names of all topics, before anything that the same order has of them."""
        if not self.is_complete:
            self._knows_names = True
            self._topics = {name: None for name in names if name not in image.topics}

    def on_facts(self, facts: UpdateMetadata) -> None:
        """Called with what an order says about some topics."""
        if self.is_complete:
            return
        if facts.gone_topics:
            gone = frozenset(facts.gone_topics)
            self._topics = {name: None for name in self._topics if name not in gone}
            self._roles = {one: None for one in self._roles if one.topic not in gone}
        for topic in facts.topics:
            self._topics.pop(topic.name, None)
            for number, state in topic.partitions.items():
                topic_partition = TopicPartition(topic.name, number)
                if state.leader != self._broker_id:
                    self._roles.pop(topic_partition, None)
                elif topic_partition not in self._has_roles:
                    self._roles[topic_partition] = None

    def on_roles(self, partitions: Iterable[TopicPartition]) -> None:
        """Called with the partitions of a LeaderAndIsr, also where the broker could not take their roles."""
        if not self.is_complete:
            for topic_partition in partitions:
                self._has_roles[topic_partition] = None
                self._roles.pop(topic_partition, None)

    def on_obeyed(self) -> None:
        """Called when an order has been obeyed as a whole."""
        if self._knows_names and not self._topics and not self._roles:
            self.is_complete = True
            self._has_roles.clear()
