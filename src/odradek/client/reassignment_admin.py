"""The admin client for moving replicas between brokers (KIP-455, KIP-860)."""

from collections.abc import Iterable, Mapping
from itertools import islice

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import BrokerId, TopicPartition
from odradek.base.values import value
from odradek.client.cluster_admin import ClusterAdmin
from odradek.client.core.admin.elements import ELEMENTS_MAX
from odradek.client.core.admin.reassignments import (
    Move,
    listing_request,
    moves_of,
    reassigned,
    reassignment_request,
)
from odradek.client.log_sizes import sizes_on
from odradek.client.refusal import known_code, raise_for, words_of
from odradek.client.replica_placement import Replicas
from odradek.net.request_pipeline import ConnectionFailed
from odradek.wire.messages.alter_partition_reassignments import AlterPartitionReassignmentsResponse
from odradek.wire.messages.list_partition_reassignments import ListPartitionReassignmentsResponse


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
        return moves_of(self._connection.ask(listing_request(), ListPartitionReassignmentsResponse))

    def reassign(self, targets: Mapping[TopicPartition, Replicas | None]) -> list[Refused]:
        """Let partitions have these replicas, or (None) give up what is under way; returns the refused ones.

        The answer comes when it is decided; moving takes longer: see `under_way`.
        """
        refused: list[Refused] = []
        left = iter(sorted(targets.items()))
        while some := dict(islice(left, ELEMENTS_MAX)):
            answer = self._connection.ask(reassignment_request(some), AlterPartitionReassignmentsResponse)
            raise_for(answer.error_code, answer.error_message, about="no replica was moved")
            refused += [
                Refused(named, known_code(error_code), words_of(error_code, message))
                for named, error_code, message, _ in reassigned(answer)
                if error_code != ErrorCode.NONE
            ]
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
