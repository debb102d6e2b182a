"""A topic as a sink: one transaction has the rows and the offsets.

    flights_clean/                          sink.path
      _odradek/batch=3/_commit.json         the ledger, as of a lake table
      _odradek/batch=3/_dead_letters/...
    topic _odradek-pipeline-<name>          one record for each batch: the marker, under the sink's topic

A batch is staged and sealed as in `lake`. Then one transaction writes its rows to the topic and the marker,
with the offsets, to the topic of markers. The commit of the transaction is the commit point. The offsets of a
consumer group could not say as much: they expire, others may set them, and a marker has to say which batch
it is of.

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

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError, OdradekError, SettingError
from odradek.base.ids import TopicPartition
from odradek.client.admin import Admin
from odradek.client.blocking.producer import Producer
from odradek.client.cluster import EARLIEST, LATEST
from odradek.client.configuration import ClientConfig
from odradek.client.core.admin.configs import TOPIC_RESOURCE
from odradek.client.protection import read_protection
from odradek.spark.batch_planning import Planning, with_attempts
from odradek.spark.offset_ranges import OffsetRange
from odradek.spark.pipeline.description import Description
from odradek.spark.pipeline.lake import LakeState, LakeTable, Marker, marker_of
from odradek.spark.pipeline.ledger import Commit, TableRefused
from odradek.spark.pipeline.topic_rows import origins_in, table_to_send
from odradek.spark.pipeline.topics import source_options
from odradek.spark.pipeline.verifying import LakeOffsets
from odradek.spark.range_reader import read_range
from odradek.spark.source_options import SourceOptions, parse_options

TRANSACTION_TIMEOUT_MS: Final = 300_000
"""How long a batch may be sent. A killed run's transaction ends at the next run, at the latest then."""
POLICY: Final = "cleanup.policy"
MARKER_CONFIGS: Final = {POLICY: "compact", "segment.bytes": str(16 << 20)}
# A committed marker can be read when the coordinator has ended the transaction in each partition.
_SEEN_MAX_S: Final = 60.0
_SEEN_RETRY_S: Final = 0.02
_FENCED: Final = (ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH)


class MarkerLog:
    """The markers of a pipeline, read to their end again and again; remembers what it has read."""

    def __init__(self, description: Description) -> None:
        self._key = description.sink_topic.encode()
        self._options = _options(description, description.marker_topic)
        self._next = 0
        self._newest: Marker | None = None

    def state(self, directory: Path | None = None) -> LakeState:
        """What the newest committed marker says. Raises OdradekError, also when no broker answers."""
        for wanted in _whole(self._options):
            if wanted.end < self._next:  # deleted and made anew
                self._next, self._newest = 0, None
            rest = OffsetRange(wanted.topic_partition, max(self._next, wanted.start), wanted.end)
            for rows in read_range(rest, self._options.reading):
                for key, value in zip(
                    rows.column("key").to_pylist(), rows.column("value").to_pylist(), strict=True
                ):
                    if key == self._key:
                        self._newest = marker_of(value.decode() if value else None)
            self._next = wanted.end
        return LakeState(has_commits=self._newest is not None, marker=self._newest, is_newest=True)


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
        _make_marker_topic(described)
        settings = {
            **described.protection,
            "client.id": described.group,
            "transactional.id": f"odradek-pipeline/{described.name}",
            "transaction.timeout.ms": TRANSACTION_TIMEOUT_MS,
        }
        self._producer = Producer(described.bootstrap_servers, settings=settings)
        try:
            self._producer.init_transactions()
        except BaseException:
            self.release()
            raise

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
            if error.code in _FENCED:
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
    """Raises SettingError if there is no such topic: its partitions are for the user to choose."""
    options = _options(description, description.sink_topic)
    if not with_attempts(options, lambda: Planning(options).partitions(may_lack=True)):
        raise SettingError(
            f"there is no topic {description.sink_topic}, which sink.topic names: create it with as many"
            " partitions as it shall have"
        )


def sink_offsets(description: Description) -> LakeOffsets:
    """Where the records of the sink's topic come from. Raises TableRefused if it has lost its first ones."""
    topic = description.sink_topic
    with _admin(description) as admin:
        (policy,) = (one.value for one in admin.describe_configs(TOPIC_RESOURCE, topic) if one.name == POLICY)
    if "compact" in str(policy):
        raise TableRefused(
            f"{topic} is compacted, and only a topic that still has all records can be counted"
        )
    options = _options(description, topic)
    ranges = _whole(options)
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


def _whole(options: SourceOptions) -> list[OffsetRange]:
    """All that is committed in the partitions of the topic; empty if there is no such topic."""

    def ask() -> list[OffsetRange]:
        planning = Planning(options)
        partitions: list[TopicPartition] = planning.partitions(may_lack=True)
        ends = planning.list_offsets(LATEST, partitions)
        starts = planning.list_offsets(EARLIEST, partitions)
        return [OffsetRange(one, starts[one], max(starts[one], ends[one])) for one in sorted(partitions)]

    return with_attempts(options, ask)


def _options(description: Description, topic: str) -> SourceOptions:
    return parse_options(
        source_options(description)
        | {
            "subscribe": topic,
            "kafka.isolation.level": "read_committed",
            "failOnDataLoss": "false",
            "includeHeaders": "true",
        }
    )


def _admin(description: Description) -> Admin:
    security = read_protection(dict(description.protection))
    return Admin(ClientConfig(description.bootstrap_servers, security=security))


def _make_marker_topic(description: Description) -> None:
    with _admin(description) as admin:
        try:
            admin.create_topic(description.marker_topic, partitions=1, configs=MARKER_CONFIGS)
        except ApiError as error:
            if error.code is not ErrorCode.TOPIC_ALREADY_EXISTS:
                raise
        admin.wait_until_known(description.marker_topic, 1)
