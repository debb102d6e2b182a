"""Partitions as a person names them: all of a topic, or TOPIC:PARTITION."""

from collections.abc import Sequence

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.cli.command_line import UsageError
from odradek.client.cluster_state import ClusterPartition


def read_partition_word(word: str) -> tuple[str, int | None]:
    """Reads TOPIC or TOPIC:PARTITION; no topic's name has a colon. Raises UsageError."""
    topic, colon, number = word.partition(":")
    if not colon:
        return topic, None
    if not number.isascii() or not number.isdigit() or not topic or len(number) > len(str(1 << 31)):
        raise UsageError(f"a partition is given as TOPIC:PARTITION, such as flights:0, not '{word}'")
    return topic, int(number)


def partitions_named(known: Sequence[ClusterPartition], words: Sequence[str]) -> list[ClusterPartition]:
    """Those of the partitions that the words name, or all without words.

    Raises UsageError, and ApiError for a topic or a partition that is not among them.
    """
    wanted = [read_partition_word(word) for word in words]
    numbers = {one.topic_partition for one in known}
    topics = {one.topic for one in numbers}
    for topic, partition in wanted:
        if topic not in topics:
            raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {topic}")
        if partition is not None and (topic, partition) not in numbers:
            raise ApiError(
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no partition {partition} of topic {topic}"
            )
    return [
        one
        for one in known
        if not wanted or one.topic_partition in wanted or (one.topic_partition.topic, None) in wanted
    ]
