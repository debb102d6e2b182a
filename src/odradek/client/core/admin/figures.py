"""What partitions hold: their first and last offsets, and their leaders' bytes on disk."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from odradek.base.ids import NO_BROKER, BrokerId, Offset, TopicPartition
from odradek.base.offset_timestamps import EARLIEST, LATEST
from odradek.client.core.admin.answering import ask_those_there
from odradek.client.core.admin.log_dirs import description_request, logs_of
from odradek.client.core.admin.offsets import offsets_where_led
from odradek.client.core.admin.topics import PartitionDescription, TopicDescription
from odradek.client.core.operation import Operation
from odradek.client.core.requests import Send, ToNode
from odradek.wire.messages.describe_log_dirs import DescribeLogDirsResponse


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of one partition; its size is None where the broker does not return it."""

    log_start_offset: Offset
    log_end_offset: Offset
    size_bytes: int | None

    @property
    def offsets(self) -> int:
        """How many offsets the log covers: records, and what compaction and transactions leave."""
        return self.log_end_offset - self.log_start_offset


def figures_of(topics: Iterable[TopicDescription]) -> Operation[dict[TopicPartition, Figures]]:
    """The figures of every partition of these topics that has a leader.

    Raises ElementsRefused if a leader refuses.
    """
    leaders = {
        TopicPartition(topic.name, one.partition): one.leader
        for topic in topics
        for one in topic.partitions
        if one.leader != NO_BROKER
    }
    if not leaders:
        return {}
    starts = yield from offsets_where_led(leaders, EARLIEST)
    ends = yield from offsets_where_led(starts, LATEST)
    sizes = yield from log_sizes({(one, leaders[one]) for one in ends})
    return {
        one: Figures(starts[one], end, sizes.get((one, leaders[one]))) for one, end in sorted(ends.items())
    }


def partitions_with_figures(
    topics: Sequence[TopicDescription],
) -> Operation[list[tuple[TopicDescription, PartitionDescription, Figures | None]]]:
    """Each partition of these topics, in their order, with its figures; None where it has no leader."""
    figures = yield from figures_of(topics)
    return [
        (topic, one, figures.get(TopicPartition(topic.name, one.partition)))
        for topic in topics
        for one in topic.partitions
    ]


def log_sizes(
    replicas: Iterable[tuple[TopicPartition, BrokerId]],
) -> Operation[dict[tuple[TopicPartition, BrokerId], int]]:
    """The bytes of these replicas on their brokers; without those of brokers that do not tell."""
    asked: dict[BrokerId, list[TopicPartition]] = defaultdict(list)
    for partition, broker in sorted(replicas):
        asked[broker].append(partition)
    sends = {broker: Send(ToNode(broker), description_request(some)) for broker, some in asked.items()}
    answers, _ = yield from ask_those_there(sends, DescribeLogDirsResponse, lambda _: [])
    return {
        (partition, broker): log.partition_size
        for broker, answer in answers.items()
        for _, partition, log in logs_of(answer)
        if not log.is_future_key
    }
