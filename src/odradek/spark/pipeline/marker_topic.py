"""The topic in which a pipeline notes how far it has written other topics, and what its producers share.

A note is the newest committed record of a key in the topic `_odradek-pipeline-<name>`. The offsets of a
consumer group could not say as much: they expire, others may set them, and a note has to say which batch it
is of.

Invariant: a note is written only by the transactional id that reads it, in the transaction of what it is
about. So InitProducerId, which aborts or completes the transaction of the run before and fences it, comes
first; what is read then is all that was committed.
"""

from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError, SettingError
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
from odradek.spark.pipeline.topics import source_options
from odradek.spark.range_reader import read_range
from odradek.spark.source_options import SourceOptions, parse_options

TRANSACTION_TIMEOUT_MS: Final = 300_000
"""How long a batch may be sent. A killed run's transaction ends at the next run, at the latest then."""
FENCED: Final = (ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH)
_POLICY: Final = "cleanup.policy"
_MARKER_CONFIGS: Final = {_POLICY: "compact", "segment.bytes": str(16 << 20)}


class Notes:
    """The notes of one key, read to the end of the topic again and again; remembers what it has read."""

    def __init__(self, description: Description, key: str) -> None:
        self._key = key.encode()
        self._options = committed_reading(description, description.marker_topic)
        self._next = 0
        self._newest: str | None = None

    def newest(self) -> str | None:
        """The newest note, None without any. Raises OdradekError, also when no broker answers."""
        for wanted in committed_ranges(self._options):
            if wanted.end < self._next:  # deleted and made anew
                self._next, self._newest = 0, None
            rest = OffsetRange(wanted.topic_partition, max(self._next, wanted.start), wanted.end)
            for rows in read_range(rest, self._options.reading):
                for key, value in zip(
                    rows.column("key").to_pylist(), rows.column("value").to_pylist(), strict=True
                ):
                    if key == self._key:
                        self._newest = value.decode() if value else None
            self._next = wanted.end
        return self._newest


def transactional_producer(description: Description, transactional_id: str) -> Producer:
    """A producer that has fenced the one of the run before. Raises OdradekError.

    The topic of the notes is made, if it is not there.
    """
    _make_marker_topic(description)
    settings = {
        **description.protection,
        "client.id": description.group,
        "transactional.id": transactional_id,
        "transaction.timeout.ms": TRANSACTION_TIMEOUT_MS,
    }
    producer = Producer(description.bootstrap_servers, settings=settings)
    try:
        producer.init_transactions()
    except BaseException:
        producer.close()
        raise
    return producer


def require_topic(description: Description, topic: str, setting: str) -> None:
    """Raises SettingError if there is no such topic: its partitions are for the user to choose."""
    options = committed_reading(description, topic)
    if not with_attempts(options, lambda: Planning(options).partitions(may_lack=True)):
        raise SettingError(
            f"there is no topic {topic}, which {setting} names: create it with as many partitions as it"
            " shall have"
        )


def is_compacted(description: Description, topic: str) -> bool:
    """Whether the topic loses records for which there is a newer one of their key. Raises OdradekError."""
    with admin_of(description) as admin:
        policies = [
            str(one.value) for one in admin.describe_configs(TOPIC_RESOURCE, topic) if one.name == _POLICY
        ]
    return any("compact" in one for one in policies)


def committed_ranges(options: SourceOptions) -> list[OffsetRange]:
    """All that is committed in the partitions of the topic; empty if there is no such topic."""

    def ask() -> list[OffsetRange]:
        planning = Planning(options)
        partitions: list[TopicPartition] = planning.partitions(may_lack=True)
        ends = planning.list_offsets(LATEST, partitions)
        starts = planning.list_offsets(EARLIEST, partitions)
        return [OffsetRange(one, starts[one], max(starts[one], ends[one])) for one in sorted(partitions)]

    return with_attempts(options, ask)


def committed_reading(description: Description, topic: str) -> SourceOptions:
    """How a topic that the pipeline writes is read."""
    return parse_options(
        source_options(description)
        | {
            "subscribe": topic,
            "kafka.isolation.level": "read_committed",
            "failOnDataLoss": "false",
            "includeHeaders": "true",
        }
    )


def admin_of(description: Description) -> Admin:
    """An admin client of the pipeline's brokers."""
    security = read_protection(dict(description.protection))
    return Admin(ClientConfig(description.bootstrap_servers, security=security))


def _make_marker_topic(description: Description) -> None:
    with admin_of(description) as admin:
        try:
            admin.create_topic(description.marker_topic, partitions=1, configs=_MARKER_CONFIGS)
        except ApiError as error:
            if error.code is not ErrorCode.TOPIC_ALREADY_EXISTS:
                raise
        admin.wait_until_known(description.marker_topic, 1)
