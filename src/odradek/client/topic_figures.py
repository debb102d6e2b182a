"""What the partitions of topics hold: their first and last offsets, and their leaders' bytes on disk."""

from collections.abc import Sequence
from dataclasses import dataclass

from odradek.base.ids import Offset, TopicPartition
from odradek.client.cluster import EARLIEST, LATEST, list_offsets_of_leader
from odradek.client.configuration import ClientConfig
from odradek.client.core.admin.topics import PartitionDescription, TopicDescription
from odradek.client.leader_connections import LeaderConnections
from odradek.client.log_sizes import sizes_on


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


def figures_of(config: ClientConfig, topics: Sequence[str]) -> dict[TopicPartition, Figures]:
    """The figures of every partition of these topics that has a leader."""
    found: dict[TopicPartition, Figures] = {}
    with LeaderConnections(config, topics) as leaders:
        wanted = [partition for topic in topics for partition in leaders.partitions_of(topic)]
        for connection, led in leaders.by_broker(wanted):
            starts = list_offsets_of_leader(connection, EARLIEST, led, "read_uncommitted")
            ends = list_offsets_of_leader(connection, LATEST, led, "read_uncommitted")
            sizes = sizes_on(connection, led)
            for one in led:
                found[one] = Figures(starts[one], ends[one], sizes.get(one))
    return found


def partitions_with_figures(
    config: ClientConfig, topics: Sequence[TopicDescription]
) -> list[tuple[TopicDescription, PartitionDescription, Figures | None]]:
    """Each partition of these topics, in their order, with its figures; None where it has no leader."""
    figures = figures_of(config, [topic.name for topic in topics])
    return [
        (topic, one, figures.get(TopicPartition(topic.name, one.partition)))
        for topic in topics
        for one in topic.partitions
    ]
