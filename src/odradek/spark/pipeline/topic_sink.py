"""A topic as a sink: one transaction has the rows and the offsets.

    flights_clean/                          sink.path
      _odradek/batch=3/_commit.json         the ledger, as of a lake table
      _odradek/batch=3/_dead_letters/...
    topic _odradek-pipeline-<name>          one record for each batch: the marker, under the sink's topic

A batch is staged and sealed as in `lake`. Then one transaction writes its rows to the topic, its dead letters
to theirs (`dead_letter_topic`), and the marker, with the offsets, to the topic of markers (`marker_topic`).
The commit of the transaction is the commit point.

Invariants: only the transactional id of the pipeline writes markers, so no other transaction holds up their
reader. A run begins with InitProducerId, which aborts or completes the transaction of the run before and
fences it; only then it reads the marker. So the marker is that of all that was committed, and what an older
run still sends is refused.
"""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet as pq

from odradek.base.errors import ApiError, OdradekError, SettingError
from odradek.client.blocking.producer import Producer
from odradek.spark.brokers import committed_ranges
from odradek.spark.marker_topic import FENCED, Notes, transactional_producer
from odradek.spark.pipeline.dead_letter_topic import check_letters_topic, letters_in, send_letters
from odradek.spark.pipeline.description import Description
from odradek.spark.pipeline.lake import LakeState, LakeTable, Marker, marker_of
from odradek.spark.pipeline.ledger import Commit, TableRefused
from odradek.spark.pipeline.topic_rows import origins_in, table_to_send
from odradek.spark.pipeline.verifying import LakeOffsets
from odradek.spark.range_reader import read_range

# A committed marker can be read when the coordinator has ended the transaction in each partition.
_SEEN_MAX_S: Final = 60.0
_SEEN_RETRY_S: Final = 0.02


class MarkerLog:
    """The markers of a pipeline."""

    def __init__(self, description: Description) -> None:
        self._notes = Notes(description.brokers, description.marker_topic, description.sink_topic)

    def state(self, directory: Path | None = None) -> LakeState:
        """What the newest committed marker says. Raises OdradekError, also when no broker answers."""
        marker = marker_of(self._notes.newest())
        return LakeState(has_commits=marker is not None, marker=marker, is_newest=True)


class TopicTable(LakeTable):
    """The sink of a topic; its ledger is that of a lake table."""

    def __init__(self, description: Description) -> None:
        self._described = description
        self.markers = MarkerLog(description)
        super().__init__(description.table, description.name, self.markers.state)

    def _without_marker(self, state: LakeState, recorded: Commit | None) -> Commit | None:
        if recorded is None:
            return None  # what others wrote to the topic is theirs
        described = self._described
        raise TableRefused(
            f"{self.directory} has the ledger up to batch {recorded.batch}, and {described.marker_topic} has"
            f" no offsets for topic {described.sink_topic}: name the topic that was written until now, or"
            " give an empty sink.path to begin anew"
        )

    def _set_back(self, commit: Commit, recorded: Commit) -> TableRefused:
        described = self._described
        return TableRefused(
            f"{described.marker_topic} has the offsets of batch {commit.batch}, and {self.directory} has the"
            f" ledger up to batch {recorded.batch}: it has lost records; begin anew with another name and"
            " sink.path"
        )

    def begin_transactions(self) -> None:
        """Fence the run before, and finish what it committed. Raises OdradekError."""
        self.begin(TopicWriter(self._described, self.markers))


class TopicWriter:
    """The port `LakeWriter` of a `LakeTable`, by transactions."""

    def __init__(self, description: Description, markers: MarkerLog) -> None:
        self._described = description
        self._markers = markers
        self._producer: Producer | None = None

    def hold(self, lock: Path) -> None:
        """Fence other runs, wherever they are: the transactional id is the lock. Raises OdradekError."""
        described = self._described
        check_sink_topic(described)
        check_letters_topic(described)
        self._producer = transactional_producer(
            described.brokers, described.marker_topic, f"odradek-pipeline/{described.name}"
        )

    def release(self) -> None:
        """Let go of the producer; a transaction that is open is aborted."""
        if self._producer is not None:
            self._producer.close()
            self._producer = None

    def append(self, staging: Path, marker: Marker) -> None:
        """Send the rows and the marker in one transaction. Raises OdradekError; nothing is known of it then.

        Where a commit was not answered, the next run finds out whether it has happened.
        """
        topic = self._described.sink_topic
        try:
            self._send(staging, marker)
        except ApiError as error:
            if error.code in FENCED:
                raise TableRefused(
                    f"another run of pipeline {self._described.name} has begun to write topic {topic}; this"
                    f" one wrote nothing of batch {marker.commit.batch}"
                ) from error
            raise OdradekError(f"topic {topic} has not confirmed the batch: {error}") from error
        self._wait_for(marker)

    def _send(self, staging: Path, marker: Marker) -> None:
        producer, described = self._producer, self._described
        assert producer is not None, "the topic is not open for writing"
        producer.begin_transaction()
        try:
            for file in sorted(staging.rglob("*.parquet")):
                if file.parent == staging:  # those below are dead letters
                    for batch in pq.ParquetFile(file).iter_batches():
                        producer.produce_batch(
                            table_to_send(batch, described.name), topic=described.sink_topic
                        )
            if described.letters_topic and not marker.commit.is_replay:
                send_letters(producer, described, letters_in(staging))
            producer.send(
                described.marker_topic, value=marker.text().encode(), key=described.sink_topic.encode()
            )
        except BaseException:
            producer.abort_transaction()
            raise
        producer.commit_transaction()

    def _wait_for(self, marker: Marker) -> None:
        """Returns when the marker can be read. Raises OdradekError if that takes too long."""
        deadline = time.monotonic() + _SEEN_MAX_S
        while True:
            newest = self._markers.state().marker
            if newest is not None and newest.staging == marker.staging:
                return
            if time.monotonic() >= deadline:
                raise OdradekError(
                    f"batch {marker.commit.batch} is committed, and cannot be read in"
                    f" {self._described.marker_topic} yet: run the pipeline again"
                )
            time.sleep(_SEEN_RETRY_S)


def check_sink_topic(description: Description) -> None:
    """Raises SettingError if there is no such topic, or if it is one that the pipeline reads."""
    if description.sink_brokers is not None:
        _check_other_cluster(description)
    description.brokers.require_topic(description.sink_topic, "sink.topic")


def _check_other_cluster(description: Description) -> None:
    """Raises SettingError if a topic is written and read, and all brokers are of one cluster."""
    written = (description.sink_topic, description.letters_topic, description.marker_topic)
    both = [one for one in written if one in description.topics]
    if both and description.brokers.cluster_id() == description.source_brokers.cluster_id():
        raise SettingError(
            f"sink.bootstrap_servers are brokers of the source's cluster, and {both[0]} is one of"
            " source.topics: the pipeline would read what it writes"
        )


def sink_offsets(description: Description) -> LakeOffsets:
    """Where the records of the sink's topic come from. Raises TableRefused if it has lost its first ones."""
    topic = description.sink_topic
    if description.brokers.is_compacted(topic):
        raise TableRefused(
            f"{topic} is compacted, and only a topic that still has all records can be counted"
        )
    options = description.brokers.reading(topic)
    ranges = committed_ranges(options)
    lost = [one.topic_partition for one in ranges if one.start]
    if lost:
        raise TableRefused(
            f"{lost[0]} begins after its first record, because of retention or a deletion: only a topic that"
            " still has all records can be counted"
        )

    def batches() -> Iterator[Any]:
        for one in ranges:
            yield from read_range(one, options.reading)

    return origins_in(batches(), description.name)
