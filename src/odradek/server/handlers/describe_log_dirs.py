"""DescribeLogDirs: this broker's log directories, the sizes of their logs and disks (KIP-113, KIP-827)."""

from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import Steps
from odradek.server.edge.context import RequestContext, Respond, Response
from odradek.server.edge.serving import Serves
from odradek.server.node.core import BrokerCore
from odradek.storage import Log
from odradek.storage.log_directory import LogDirectory
from odradek.wire.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)

SERVES: Final = Serves(35, 1, 5, kips={1: 113, 2: 482, 4: 827, 5: 1066})

LOGS_PER_STEP: Final = 32


def handle(
    core: BrokerCore, context: RequestContext, request: DescribeLogDirsRequest, respond: Respond
) -> None:
    """Describe every directory, with the requested partitions; null requests all."""
    respond(_in_steps(core, request))


def refuse(request: DescribeLogDirsRequest, code: ErrorCode) -> DescribeLogDirsResponse:
    """The error for the request; up to version 2, which has no such field, for a directory without a name."""
    return DescribeLogDirsResponse(error_code=code, results=[DescribeLogDirsResult(code)])


def _in_steps(core: BrokerCore, request: DescribeLogDirsRequest) -> Steps[Response]:
    wanted = None
    if request.topics is not None:
        wanted = {(topic.topic, index) for topic in request.topics for index in topic.partitions}
    results = {directory.path: _result(directory) for directory in core.logs.directories}
    topics: dict[tuple[str, str], DescribeLogDirsTopic] = {}
    copies = [copy for copy in core.logs.moves.copies() if copy.place.failure is None]
    for number, log in enumerate((*core.logs.logs(), *copies)):
        if number % LOGS_PER_STEP == LOGS_PER_STEP - 1:
            yield
        name, index = log.topic_partition
        if wanted is not None and (name, index) not in wanted:
            continue
        if results[log.directory].error_code != ErrorCode.NONE:
            continue
        topic = topics.get((log.directory, name))
        if topic is None:
            topic = topics[log.directory, name] = DescribeLogDirsTopic(name)
            results[log.directory].topics.append(topic)
        topic.partitions.append(_partition(core, log))
    return DescribeLogDirsResponse(results=list(results.values()))


def _partition(core: BrokerCore, log: Log) -> DescribeLogDirsPartition:
    """A log, or a copy that is to become one in its directory; its lag is what it does not have yet."""
    hosted = core.logs.get(log.topic_partition)
    if hosted is log or core.logs.moves.copy_of(log.topic_partition) is not log:  # gone meanwhile
        lag = max(0, log.high_watermark.offset - log.end_offset)
        return DescribeLogDirsPartition(log.topic_partition.partition, log.size_bytes, lag)
    lag = 0 if hosted is None else hosted.end_offset - log.end_offset
    return DescribeLogDirsPartition(log.topic_partition.partition, log.size_bytes, lag, is_future_key=True)


def _result(directory: LogDirectory) -> DescribeLogDirsResult:
    """A directory with the space of its disk; an offline directory has neither logs nor space."""
    if directory.failure is None:
        try:
            total_bytes, usable_bytes = directory.file_system.space(directory.path)
        except OSError:
            pass  # the next write to it takes a failing disk offline
        else:
            return DescribeLogDirsResult(
                log_dir=directory.path, total_bytes=total_bytes, usable_bytes=usable_bytes
            )
    return DescribeLogDirsResult(ErrorCode.KAFKA_STORAGE_ERROR, directory.path)
