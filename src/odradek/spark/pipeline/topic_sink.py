"""A topic as a sink: one transaction has the rows and the offsets, or the offsets follow the rows.

    flights_clean/                          sink.path
      _odradek/batch=3/_commit.json         the ledger, as of a lake table
      _odradek/batch=3/_dead_letters/...
    topic _odradek-pipeline-<name>          one record for each batch: the marker, under the sink's topic

A batch is staged and sealed as in `lake`. Then one transaction writes its rows to the topic, its dead letters
to theirs (`dead_letter_topic`), and the marker, with the offsets, to the topic of markers (`marker_topic`).
The commit of the transaction is the commit point. At least once, the marker follows the rows when they are
acknowledged, and is the commit point by itself.

Invariants of exactly once: only the transactional id of the pipeline writes markers, so no other transaction
holds up their reader. A run begins with InitProducerId, which aborts or completes the transaction of the run
before and fences it; only then it reads the marker. So the marker is that of all that was committed, and what
an older run still sends is refused.
"""

import time
from abc import abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from odradek.base.errors import ApiError, OdradekError, SettingError
from odradek.client.blocking.delivery import Delivery
from odradek.client.blocking.producer import Producer
from odradek.spark.direct_sink import send_tables
from odradek.spark.marker_topic import (
    FENCED,
    TRANSACTION_TIMEOUT_MS,
    Notes,
    idempotent_producer,
    transactional_producer,
)
from odradek.spark.pipeline.dead_letter_topic import check_letters_topic, letters_in, tables_of_letters
from odradek.spark.pipeline.description import Description
from odradek.spark.pipeline.lake import LakeState, LakeTable, Marker, marker_of
from odradek.spark.pipeline.ledger import Commit, TableRefused
from odradek.spark.pipeline.topic_rows import table_to_send

# A committed marker can be read when the coordinator has ended the transaction in each partition.
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

    def _has_marker(self) -> bool:
        return False  # it is not in the directory, which has to be empty where there is no ledger

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
            f" ledger up to batch {recorded.batch}: it has lost records, or another run with another"
            " sink.path has written it; begin anew with another name and sink.path"
        )

    def begin_sending(self) -> None:
        """Fence the run before, but for at-least-once, and finish what it committed. Raises OdradekError."""
        writer = RepeatingWriter if self._described.may_repeat else TransactionalWriter
        self.begin(writer(self._described, self.markers))


class TopicWriter:
    """The port `LakeWriter` of a `LakeTable`, in what both ways of sending share."""

    _seen_max_s = 60.0
    """How long a marker that is committed may take until it can be read."""

    def __init__(self, description: Description, markers: MarkerLog) -> None:
        self._described = description
        self._markers = markers
        self._producer: Producer | None = None

    def hold(self, lock: Path) -> None:
        """Begin to write. Raises OdradekError."""
        check_sink_topic(self._described)
        check_letters_topic(self._described)
        self._producer = self._begun()

    @abstractmethod
    def _begun(self) -> Producer:
        """A producer for this run. Raises OdradekError."""

    def release(self) -> None:
        """Let go of the producer; a transaction that is open is aborted."""
        if self._producer is not None:
            self._producer.close()
            self._producer = None

    def append(self, staging: Path, marker: Marker) -> None:
        """Send the rows and the marker. Raises OdradekError; nothing is known of the batch then.

        Where a commit was not answered, the next run finds out whether it has happened.
        """
        topic, producer = self._described.sink_topic, self._producer
        assert producer is not None, "the topic is not open for writing"
        try:
            self._send(producer, staging, marker)
        except ApiError as error:
            if error.code in FENCED:
                raise TableRefused(
                    f"another run of pipeline {self._described.name} has begun to write topic {topic}; this"
                    f" one wrote nothing of batch {marker.commit.batch}"
                ) from error
            raise OdradekError(f"topic {topic} has not confirmed the batch: {error}") from error
        self._wait_for(marker)

    @abstractmethod
    def _send(self, producer: Producer, staging: Path, marker: Marker) -> None:
        """Send rows, dead letters and the marker. Raises ApiError."""

    def _rows(self, staging: Path) -> Iterator[pa.Table]:
        for file in sorted(staging.glob("*.parquet")):  # those below are dead letters
            for batch in pq.ParquetFile(file).iter_batches():
                yield table_to_send(batch, self._described.name)

    def _letters(self, staging: Path, commit: Commit) -> Iterator[pa.Table]:
        if self._described.letters_topic and not commit.is_replay:
            yield from tables_of_letters(self._described, letters_in(staging))

    def _send_marker(self, producer: Producer, marker: Marker) -> Delivery:
        described = self._described
        return producer.send(
            described.marker_topic, value=marker.text().encode(), key=described.sink_topic.encode()
        )

    def _wait_for(self, marker: Marker) -> None:
        """Returns when the marker can be read. Raises OdradekError if that takes too long."""
        described, batch = self._described, marker.commit.batch
        deadline = time.monotonic() + self._seen_max_s
        while True:
            newest = self._markers.state().marker
            if newest is not None and newest.staging == marker.staging:
                return
            if newest is not None and newest.commit.batch >= batch:
                raise TableRefused(
                    f"another run of pipeline {described.name} writes topic {described.sink_topic}, too, and"
                    f" both have sent rows of batch {batch}: stop one of them"
                )
            if time.monotonic() >= deadline:
                raise OdradekError(
                    f"batch {batch} is committed, and cannot be read in {described.marker_topic} yet:"
                    " run the pipeline again"
                )
            time.sleep(_SEEN_RETRY_S)


class TransactionalWriter(TopicWriter):
    """Exactly once: rows and marker are one transaction."""

    def _begun(self) -> Producer:
        """It fences other runs, wherever they are: the transactional id is the lock."""
        described = self._described
        return transactional_producer(
            described.brokers, described.marker_topic, f"odradek-pipeline/{described.name}"
        )

    def _send(self, producer: Producer, staging: Path, marker: Marker) -> None:
        producer.begin_transaction()
        try:
            for rows in self._rows(staging):
                producer.produce_batch(rows, topic=self._described.sink_topic)
            for letters in self._letters(staging, marker.commit):
                producer.produce_batch(letters, topic=self._described.letters_topic)
            self._send_marker(producer, marker)
        except BaseException:
            producer.abort_transaction()
            raise
        producer.commit_transaction()


class RepeatingWriter(TopicWriter):
    """At least once: the marker is sent when all rows are acknowledged, without a transaction.

    A run that ends before leaves rows that the next one sends again. Other runs are not fenced.
    """

    # A transaction that an exactly-once run left open holds the marker back until the brokers abort it.
    _seen_max_s = TRANSACTION_TIMEOUT_MS / 1000 + 60

    def _begun(self) -> Producer:
        return idempotent_producer(self._described.brokers, self._described.marker_topic)

    def _send(self, producer: Producer, staging: Path, marker: Marker) -> None:
        send_tables(producer, self._rows(staging), self._described.sink_topic)
        send_tables(producer, self._letters(staging, marker.commit), self._described.letters_topic)
        self._send_marker(producer, marker).result()


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
