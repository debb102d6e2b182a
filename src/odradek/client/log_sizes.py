"""How many bytes of partitions a broker has on disk (DescribeLogDirs)."""

from collections.abc import Iterable

from odradek.base.ids import TopicPartition
from odradek.client.core.admin.log_dirs import description_request, logs_of
from odradek.net.blocking_connection import BrokerConnection
from odradek.wire.messages.describe_log_dirs import DescribeLogDirsRequest, DescribeLogDirsResponse


def sizes_on(connection: BrokerConnection, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
    """The bytes of those of the partitions that the broker has; nothing from a broker that does not tell."""
    if not connection.serves(DescribeLogDirsRequest):
        return {}
    answer = connection.ask(description_request(partitions), DescribeLogDirsResponse)
    return {partition: log.partition_size for _, partition, log in logs_of(answer) if not log.is_future_key}
