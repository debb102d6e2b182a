"""Reads partitions of one topic from their starts to their ends; a subclass says what becomes of records."""

from collections.abc import Collection, Mapping

from odradek.base.closing import Closing
from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.ids import Offset, TopicPartition
from odradek.client.cluster import EARLIEST, LATEST, Offsets, list_offsets_of_leader
from odradek.client.configuration import ClientConfig
from odradek.client.leader_connections import LeaderConnections
from odradek.client.record_reader import FetchedRecord, RecordReader


class TopicReader(Closing):
    """What a consumer with the configuration's isolation level would get."""

    def __init__(self, config: ClientConfig, topic: str, numbers: Collection[int] | None = None) -> None:
        """Without `numbers` all partitions are read.

        Raises ApiError if there is no such topic or partition, or one of them has no leader.
        """
        self._isolation = config.isolation_level
        self._leaders = LeaderConnections(config, [topic])
        try:
            known = self._leaders.partitions_of(topic)
            for number in numbers or ():
                if not 0 <= number < len(known):
                    raise ApiError(
                        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                        f"there is no partition {number} of topic {topic}: it has {len(known)}",
                    )
            self.partitions = (
                known if numbers is None else [TopicPartition(topic, number) for number in numbers]
            )
            self._reader = RecordReader(config, self._offsets(EARLIEST), self._leaders)
        except BaseException:
            self.close()
            raise

    def on_record(self, partition: TopicPartition, record: FetchedRecord) -> None:
        """Called for each record, in the order of the offsets of its partition; does nothing by itself."""

    def skip_to(self, offsets: Mapping[TopicPartition, Offset]) -> None:
        """Begin each partition at its offset instead."""
        starts = self._reader.positions
        self._reader.assign({one: max(offsets[one], start) for one, start in starts.items()})

    def read_to_end(self) -> None:
        """Read up to the current end of each partition."""
        ends = self._offsets(LATEST)
        while any(position < ends[one] for one, position in self._reader.positions.items()):
            self.read_some(wait_ms=0)

    def read_some(self, wait_ms: int) -> None:
        """Fetch once, and wait up to `wait_ms` for the first record."""
        for record in self._reader.poll(wait_ms):
            self.on_record(TopicPartition(record.topic, record.partition), record)

    def close(self) -> None:
        """End the connections."""
        self._leaders.close()

    def _offsets(self, timestamp: int) -> Offsets:
        found: Offsets = {}
        for connection, led in self._leaders.by_broker(self.partitions):
            found |= list_offsets_of_leader(connection, timestamp, led, self._isolation)
        for partition in self.partitions:
            if partition not in found:
                raise ApiError(ErrorCode.LEADER_NOT_AVAILABLE, f"{partition} has no leader")
        return found
