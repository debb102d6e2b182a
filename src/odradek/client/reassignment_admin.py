"""The admin client for moving replicas between brokers (KIP-455, KIP-860) and log directories (KIP-113)."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import BrokerId, TopicPartition
from odradek.base.values import value
from odradek.client.cluster_admin import ClusterAdmin
from odradek.client.core.admin.elements import ELEMENTS_MAX
from odradek.client.core.admin.log_dirs import (
    ReplicaLogDir,
    TopicPartitionReplica,
    description_request,
    moving_request,
    places_of,
)
from odradek.client.core.admin.log_dirs import moves_of as directory_moves_of
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
from odradek.wire.message import Request, ResponseT
from odradek.wire.messages.alter_partition_reassignments import AlterPartitionReassignmentsResponse
from odradek.wire.messages.alter_replica_log_dirs import AlterReplicaLogDirsResponse
from odradek.wire.messages.describe_log_dirs import DescribeLogDirsResponse
from odradek.wire.messages.list_partition_reassignments import ListPartitionReassignmentsResponse


@value
class Refused:
    """A partition that the controller lets have no such replicas."""

    topic_partition: TopicPartition
    code: ErrorCode
    message: str


@value
class BrokerDirectories:
    """The log directories of a broker."""

    paths: Sequence[str]
    """All of them."""
    places: Mapping[TopicPartitionReplica, ReplicaLogDir]
    """Where the replicas are that were asked for."""


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

    def log_directories(self, replicas: Iterable[TopicPartitionReplica]) -> dict[BrokerId, BrokerDirectories]:
        """What the brokers of these replicas say of their directories; without those that do not answer.

        Raises ApiError if one refuses.
        """
        found = {}
        for broker_id, asked in _by_broker(replicas).items():
            request = description_request([one.topic_partition for one in asked])
            answer = self._ask_broker(broker_id, request, DescribeLogDirsResponse)
            if answer is not None:
                raise_for(answer.error_code, about=f"the log directories of broker {broker_id}")
                paths = [one.log_dir for one in answer.results]
                found[broker_id] = BrokerDirectories(paths, places_of(answer, asked))
        return found

    def move_directories(
        self, directories: Mapping[TopicPartitionReplica, str]
    ) -> dict[TopicPartitionReplica, ErrorCode]:
        """Let brokers move replicas to other log directories (KIP-113); returns what they answer of each.

        NONE: the move has begun, or the replica is there. REPLICA_NOT_AVAILABLE or
        UNKNOWN_TOPIC_OR_PARTITION: the broker has no such replica, and makes it there if it ever gets it.
        BROKER_NOT_AVAILABLE: the broker does not answer.
        """
        codes = dict.fromkeys(directories, ErrorCode.BROKER_NOT_AVAILABLE)
        for broker_id, asked in _by_broker(directories).items():
            request = moving_request({one.topic_partition: directories[one] for one in asked})
            answer = self._ask_broker(broker_id, request, AlterReplicaLogDirsResponse)
            if answer is not None:
                told = dict(directory_moves_of(answer))
                codes |= {
                    one: known_code(told[one.topic_partition]) for one in asked if one.topic_partition in told
                }
        return codes

    def _ask_broker(
        self, broker_id: BrokerId, request: Request[ResponseT], response: type[ResponseT]
    ) -> ResponseT | None:
        """The answer of one broker; None if it is not in the cluster, or does not answer."""
        for broker in self._metadata_of_brokers().brokers:
            if broker.node_id == broker_id:
                try:
                    with self.config.connect((broker.host, broker.port)) as connection:
                        return connection.ask(request, response)
                except ConnectionFailed:
                    return None
        return None

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


def _by_broker(
    replicas: Iterable[TopicPartitionReplica],
) -> dict[BrokerId, list[TopicPartitionReplica]]:
    found: dict[BrokerId, list[TopicPartitionReplica]] = defaultdict(list)
    for one in sorted(replicas):
        found[one.broker_id].append(one)
    return found
