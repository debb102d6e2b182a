"""What brokers have on disk: log directories, the replicas in them, and moves from one to another (KIP-113).

A move is a copy of a replica in another directory of the same broker. When the copy has all records, it
takes the replica's place.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from odradek.base.error_codes import ErrorCode, known_code
from odradek.base.ids import BrokerId, Offset, TopicPartition, by_topic
from odradek.client.core.admin.answering import ask_those_there
from odradek.client.core.admin.cluster import broker_ids
from odradek.client.core.admin.elements import Answered, Results, ask_each, at_nodes
from odradek.client.core.operation import Operation, ask_all
from odradek.client.core.requests import Send, ToNode
from odradek.client.refusal import raise_for
from odradek.wire.message import Message
from odradek.wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopic,
)
from odradek.wire.messages.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
)


class TopicPartitionReplica(NamedTuple):
    """The replica of one partition on one broker; sorts by topic, partition, broker."""

    topic: str
    partition: int
    broker_id: BrokerId

    @property
    def topic_partition(self) -> TopicPartition:
        """The partition."""
        return TopicPartition(self.topic, self.partition)

    def __str__(self) -> str:
        """Render as ``flights-0 on broker 1``."""
        return f"{self.topic_partition} on broker {self.broker_id}"


@dataclass(frozen=True, slots=True)
class ReplicaCopy:
    """The copy of a replica in the directory that it moves to."""

    size_bytes: int
    lag: Offset
    """How many offsets the copy does not have yet."""


@dataclass(frozen=True, slots=True)
class LogDirectory:
    """One directory in which a broker keeps logs."""

    broker_id: BrokerId
    path: str
    error: ErrorCode
    """KAFKA_STORAGE_ERROR for one that is offline, else NONE."""
    total_bytes: int | None
    """Of its file system; None where the broker does not tell."""
    usable_bytes: int | None
    sizes: dict[TopicPartition, int]
    """The bytes of each partition there."""
    copies: dict[TopicPartition, ReplicaCopy] = field(default_factory=dict)
    """The partitions that move there from other directories of the broker."""
    is_cordoned: bool = False
    """Whether it gets no new partitions (KIP-1066)."""


@dataclass(frozen=True, slots=True)
class ReplicaLogDir:
    """Where one replica is, and where it moves to."""

    path: str | None
    """Its directory; None if the broker does not have the replica."""
    lag: Offset = -1
    """How many offsets it lacks up to its high watermark; -1 without a directory."""
    future_path: str | None = None
    """The directory that it moves to; None if it stays."""
    future_lag: Offset = -1
    """How many offsets the copy there does not have yet; -1 if it stays."""


@dataclass(frozen=True, slots=True)
class BrokerDirectories:
    """The log directories of a broker."""

    paths: Sequence[str]
    """All of them."""
    places: Mapping[TopicPartitionReplica, ReplicaLogDir]
    """Where the replicas are that were asked for."""


# --- requests and answers


def moving_request(directories: Mapping[TopicPartition, str]) -> AlterReplicaLogDirsRequest:
    """Asks a broker to move its replicas of these partitions to these directories."""
    by_path: dict[str, list[TopicPartition]] = defaultdict(list)
    for partition, path in directories.items():
        by_path[path].append(partition)
    return AlterReplicaLogDirsRequest(
        [
            AlterReplicaLogDir(
                path,
                [AlterReplicaLogDirTopic(topic, numbers) for topic, numbers in by_topic(some).items()],
            )
            for path, some in sorted(by_path.items())
        ]
    )


def moves_of(answer: AlterReplicaLogDirsResponse) -> Iterator[tuple[TopicPartition, int]]:
    """(partition, error code) of an answer; NONE if the move has begun, or the replica is there already."""
    for topic in answer.results:
        for one in topic.partitions:
            yield TopicPartition(topic.topic_name, one.partition_index), one.error_code


def description_request(partitions: Iterable[TopicPartition] | None) -> DescribeLogDirsRequest:
    """Asks a broker for its directories with these partitions, or with all."""
    if partitions is None:
        return DescribeLogDirsRequest(topics=None)
    return DescribeLogDirsRequest(
        topics=[DescribableLogDirTopic(topic, numbers) for topic, numbers in by_topic(partitions).items()]
    )


def logs_of(
    answer: DescribeLogDirsResponse,
) -> Iterator[tuple[DescribeLogDirsResult, TopicPartition, DescribeLogDirsPartition]]:
    """(directory, partition, log) of an answer: replicas, and copies that are to take their places."""
    for directory in answer.results:
        for topic in directory.topics:
            for one in topic.partitions:
                yield directory, TopicPartition(topic.name, one.partition_index), one


def places_of(
    answer: DescribeLogDirsResponse, asked: Iterable[TopicPartitionReplica]
) -> dict[TopicPartitionReplica, ReplicaLogDir]:
    """Where each of these replicas of the broker that answered is, and where it moves to."""
    places: dict[TopicPartition, tuple[str, Offset]] = {}
    targets: dict[TopicPartition, tuple[str, Offset]] = {}
    for directory, partition, log in logs_of(answer):
        (targets if log.is_future_key else places)[partition] = (directory.log_dir, log.offset_lag)
    return {
        one: ReplicaLogDir(
            *places.get(one.topic_partition, (None, -1)), *targets.get(one.topic_partition, (None, -1))
        )
        for one in asked
    }


# --- operations


def describe_log_dirs(brokers: Sequence[BrokerId] | None = None) -> Operation[list[LogDirectory]]:
    """The directories of these brokers, or of all, with the sizes of the partitions there."""
    asked = list(brokers) if brokers is not None else (yield from broker_ids())
    answers = yield from ask_all(
        [Send(ToNode(one), description_request(None)) for one in asked],
        DescribeLogDirsResponse,
        lambda answer: [answer.error_code],
    )
    found: list[LogDirectory] = []
    for broker_id, answer in zip(asked, answers, strict=True):
        raise_for(answer.error_code, about=f"the log directories of broker {broker_id}")
        by_path = {
            one.log_dir: LogDirectory(
                broker_id,
                one.log_dir,
                known_code(one.error_code),
                None if one.total_bytes < 0 else one.total_bytes,
                None if one.usable_bytes < 0 else one.usable_bytes,
                sizes={},
                is_cordoned=one.is_cordoned,
            )
            for one in answer.results
        }
        for directory, partition, log in logs_of(answer):
            if log.is_future_key:
                copy = ReplicaCopy(log.partition_size, log.offset_lag)
                by_path[directory.log_dir].copies[partition] = copy
            else:
                by_path[directory.log_dir].sizes[partition] = log.partition_size
        found += by_path.values()
    return found


def describe_replica_log_dirs(
    replicas: Iterable[TopicPartitionReplica],
) -> Operation[dict[TopicPartitionReplica, ReplicaLogDir]]:
    """Where each of these replicas is, and where it moves to.

    Raises ElementsRefused if a broker refuses, or is not in the cluster.
    """

    def request(some: Sequence[TopicPartitionReplica]) -> Message:
        return description_request([one.topic_partition for one in some])

    def answered(
        answer: DescribeLogDirsResponse, asked: Sequence[TopicPartitionReplica]
    ) -> Answered[TopicPartitionReplica, ReplicaLogDir]:
        for one, place in places_of(answer, asked).items():
            yield one, answer.error_code, None, place

    results: Results[TopicPartitionReplica, ReplicaLogDir] = yield from ask_each(
        replicas, at_nodes(_broker_of, request), DescribeLogDirsResponse, answered
    )
    return results.all_or_raise("described")


def alter_replica_log_dirs(directories: Mapping[TopicPartitionReplica, str]) -> Operation[None]:
    """Move replicas to other log directories of their brokers; it returns when the moves have begun.

    A directory is named by its path, as `describe_log_dirs` returns it; the one where a replica is gives up a
    move that is under way. `describe_replica_log_dirs` shows how far a move is.

    Raises ElementsRefused, with LOG_DIR_NOT_FOUND for a path that the broker does not have,
    KAFKA_STORAGE_ERROR for a directory that is offline, REPLICA_NOT_AVAILABLE or UNKNOWN_TOPIC_OR_PARTITION
    where the broker does not have the replica: it then makes the replica there if it ever gets it.
    """

    def request(some: Sequence[TopicPartitionReplica]) -> Message:
        return moving_request({one.topic_partition: directories[one] for one in some})

    def answered(
        answer: AlterReplicaLogDirsResponse, asked: Sequence[TopicPartitionReplica]
    ) -> Answered[TopicPartitionReplica, None]:
        names = {one.topic_partition: one for one in asked}
        for partition, error_code in moves_of(answer):
            if partition in names:
                yield names[partition], error_code, None, None

    results: Results[TopicPartitionReplica, None] = yield from ask_each(
        directories,
        at_nodes(_broker_of, request),
        AlterReplicaLogDirsResponse,
        answered,
        # An offline disk does not come back, and a replica does not appear, because it is asked for again.
        passing=lambda code: False,
    )
    results.all_or_raise("moved")


def log_directories_there(
    replicas: Iterable[TopicPartitionReplica],
) -> Operation[dict[BrokerId, BrokerDirectories]]:
    """What the brokers of these replicas say of their directories; without those that do not answer.

    Raises ApiError if one refuses.
    """
    asked = _by_broker(replicas)
    answers, _ = yield from ask_those_there(
        {
            broker: Send(ToNode(broker), description_request([one.topic_partition for one in some]))
            for broker, some in asked.items()
        },
        DescribeLogDirsResponse,
        lambda answer: [answer.error_code],
    )
    found = {}
    for broker, answer in answers.items():
        raise_for(answer.error_code, about=f"the log directories of broker {broker}")
        paths = [one.log_dir for one in answer.results]
        found[broker] = BrokerDirectories(paths, places_of(answer, asked[broker]))
    return found


def move_directories_there(
    directories: Mapping[TopicPartitionReplica, str],
) -> Operation[dict[TopicPartitionReplica, ErrorCode]]:
    """Let brokers move replicas to other log directories; returns what they answer of each.

    NONE: the move has begun, or the replica is there. REPLICA_NOT_AVAILABLE or UNKNOWN_TOPIC_OR_PARTITION:
    the broker has no such replica, and makes it there if it ever gets it. BROKER_NOT_AVAILABLE: the broker
    does not answer.
    """
    asked = _by_broker(directories)
    answers, _ = yield from ask_those_there(
        {
            broker: Send(
                ToNode(broker), moving_request({one.topic_partition: directories[one] for one in some})
            )
            for broker, some in asked.items()
        },
        AlterReplicaLogDirsResponse,
        lambda _: [],
    )
    codes = dict.fromkeys(directories, ErrorCode.BROKER_NOT_AVAILABLE)
    for broker, answer in answers.items():
        told = dict(moves_of(answer))
        codes |= {
            one: known_code(told[one.topic_partition]) for one in asked[broker] if one.topic_partition in told
        }
    return codes


def _by_broker(
    replicas: Iterable[TopicPartitionReplica],
) -> dict[BrokerId, list[TopicPartitionReplica]]:
    found: dict[BrokerId, list[TopicPartitionReplica]] = defaultdict(list)
    for one in sorted(replicas):
        found[one.broker_id].append(one)
    return found


def _broker_of(replica: TopicPartitionReplica) -> BrokerId:
    return replica.broker_id
