"""Reads the topic of counts: its committed records, and whether a transaction is open."""

from collections import defaultdict

from confluent_kafka import IsolationLevel, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec
from peers.waiting import WAIT_S_MAX

from compat.committed import committed_records


class Counts:
    """The one partition into which a word count writes."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self._partition = TopicPartition(topic, 0)
        self._bootstrap = bootstrap
        self._admin = AdminClient({"bootstrap.servers": bootstrap})

    def ends(self) -> tuple[int, int]:
        """The last stable offset and the log end; they differ while a transaction is open."""
        stable, end = (self._end(isolation) for isolation in ISOLATIONS)
        return stable, end

    def committed(self) -> dict[str, list[int]]:
        """The counts of each word in their order, up to the last stable offset."""
        counts: dict[str, list[int]] = defaultdict(list)
        for key, value in committed_records(self._bootstrap, self._partition.topic):
            assert key is not None, "a count without its word"
            assert value is not None, f"no count of {key!r}"
            counts[key.decode()].append(int.from_bytes(value, "big"))
        return dict(counts)

    def _end(self, isolation: IsolationLevel) -> int:
        asked = {self._partition: OffsetSpec.latest()}
        answers = self._admin.list_offsets(asked, isolation_level=isolation, request_timeout=WAIT_S_MAX)
        offset: int = answers[self._partition].result().offset
        return offset


ISOLATIONS = (IsolationLevel.READ_COMMITTED, IsolationLevel.READ_UNCOMMITTED)
