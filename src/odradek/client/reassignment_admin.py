"""The admin client for moving replicas between brokers (KIP-455, KIP-860)."""

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import BrokerId, TopicPartition
from odradek.base.values import value
from odradek.client.cluster_admin import TIMEOUT_MS, ClusterAdmin
from odradek.client.log_sizes import sizes_on
from odradek.client.refusal import known_code, raise_for
from odradek.client.replica_placement import Replicas
from odradek.net.request_pipeline import ConnectionFailed
from odradek.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignableTopic,
)
from odradek.wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)

PARTITIONS_MAX: Final = 1_000
"""In one request."""


@value
class Move:
    """A partition whose replicas are on their way."""

    topic_partition: TopicPartition
    replicas: Replicas
    """Those that it is to have, then those that leave."""
    adding: Replicas
    """Out of `replicas`: they copy the records, or have done so."""
    removing: Replicas

    @property
    def target(self) -> Replicas:
        """The replicas that it is to have."""
        return tuple(one for one in self.replicas if one not in self.removing)

    @property
    def origin(self) -> Replicas:
        """The replicas that it keeps if the move is given up."""
        return tuple(one for one in self.replicas if one not in self.adding)


@value
class Refused:
    """A partition that the controller lets have no such replicas."""

    topic_partition: TopicPartition
    code: ErrorCode
    message: str


class ReassignmentAdmin(ClusterAdmin):
    """One connection to any broker, others to each broker for the sizes of its logs."""

    def under_way(self) -> dict[TopicPartition, Move]:
        """All partitions of the cluster whose replicas are on their way, by name."""
        request = ListPartitionReassignmentsRequest(timeout_ms=TIMEOUT_MS)
        answer = self._connection.ask(request, ListPartitionReassignmentsResponse)
        raise_for(answer.error_code, answer.error_message, about="moves under way are not listed")
        moves = [
            Move(
                TopicPartition(topic.name, one.partition_index),
                tuple(one.replicas),
                tuple(one.adding_replicas),
                tuple(one.removing_replicas),
            )
            for topic in answer.topics
            for one in topic.partitions
        ]
        return {one.topic_partition: one for one in sorted(moves, key=lambda one: one.topic_partition)}

    def reassign(self, targets: Mapping[TopicPartition, Replicas | None]) -> list[Refused]:
        """Let partitions have these replicas, or (None) give up what is under way; returns the refused ones.

        The answer comes when it is decided; moving takes longer: see `under_way`.
        """
        refused: list[Refused] = []
        left = iter(sorted(targets.items()))
        while some := list(islice(left, PARTITIONS_MAX)):
            by_topic: dict[str, ReassignableTopic] = {}
            for (topic, number), replicas in some:
                wanted = None if replicas is None else list(replicas)
                partitions = by_topic.setdefault(topic, ReassignableTopic(topic)).partitions
                partitions.append(ReassignablePartition(number, wanted))
            request = AlterPartitionReassignmentsRequest(
                timeout_ms=TIMEOUT_MS, topics=list(by_topic.values())
            )
            answer = self._connection.ask(request, AlterPartitionReassignmentsResponse)
            raise_for(answer.error_code, answer.error_message, about="no replica was moved")
            for result in answer.responses:
                for one in result.partitions:
                    code = known_code(one.error_code)
                    if code is not ErrorCode.NONE:
                        words = one.error_message or code.name.lower().replace("_", " ")
                        named = TopicPartition(result.name, one.partition_index)
                        refused.append(Refused(named, code, words))
        return refused

    def log_sizes(
        self, wanted: Mapping[BrokerId, Iterable[TopicPartition]]
    ) -> dict[tuple[TopicPartition, BrokerId], int]:
        """The bytes of these partitions on each of these brokers; without those that do not answer."""
        found: dict[tuple[TopicPartition, BrokerId], int] = {}
        for broker in self._metadata_of_brokers().brokers:
            asked = list(wanted.get(broker.node_id, ()))
            if not asked:
                continue
            try:
                with self.config.connect((broker.host, broker.port)) as connection:
                    sizes = sizes_on(connection, asked)
            except ConnectionFailed:
                continue
            found |= {(named, broker.node_id): size for named, size in sizes.items()}
        return found
