"""AlterReplicaLogDirs: move replicas of this broker to other log directories (KIP-113).

The answer says that a move has begun, not that it has ended: DescribeLogDirs shows the copy and its lag
until then.
"""

from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import Pace, Steps
from odradek.base.ids import TopicPartition
from odradek.server.edge.context import RequestContext, Respond, Response
from odradek.server.edge.serving import Serves
from odradek.server.node.core import BrokerCore
from odradek.wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)

SERVES: Final = Serves(34, 1, 2, kips={1: 113, 2: 482})

MOVES_PER_STEP: Final = 1
"""A move makes a directory and a few files."""


def handle(
    core: BrokerCore, context: RequestContext, request: AlterReplicaLogDirsRequest, respond: Respond
) -> Steps[None]:
    """Begin each move; of a partition that is named more than once the last directory counts."""
    wanted: dict[TopicPartition, str] = {}
    pace = Pace()
    for directory in request.dirs:
        for topic in directory.topics:
            for index in topic.partitions:
                wanted[TopicPartition(topic.name, index)] = directory.path
                if pace.is_over():
                    yield
    topics: dict[str, AlterReplicaLogDirTopicResult] = {}
    pace = Pace(MOVES_PER_STEP)
    for topic_partition, path in wanted.items():
        code = core.log_mover.move(topic_partition, path)
        name, index = topic_partition
        result = topics.setdefault(name, AlterReplicaLogDirTopicResult(name))
        result.partitions.append(AlterReplicaLogDirPartitionResult(index, code))
        if pace.is_over():
            yield
    respond(AlterReplicaLogDirsResponse(results=list(topics.values())))


def refuse(request: AlterReplicaLogDirsRequest, code: ErrorCode) -> Steps[Response]:
    """The same error for every partition."""
    topics: dict[str, AlterReplicaLogDirTopicResult] = {}
    pace = Pace()
    for directory in request.dirs:
        for topic in directory.topics:
            result = topics.setdefault(topic.name, AlterReplicaLogDirTopicResult(topic.name))
            for index in topic.partitions:
                result.partitions.append(AlterReplicaLogDirPartitionResult(index, code))
                if pace.is_over():
                    yield
    return AlterReplicaLogDirsResponse(results=list(topics.values()))
