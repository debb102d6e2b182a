"""The topic in which one writer notes how far it has written other topics, and the producer that writes it.

A writer is a pipeline, or the sink of one streaming query. A note is the newest committed record of a key in
its topic. The offsets of a consumer group could not say as much: they expire, others may set them, and a note
has to say which batch it is of.

Invariants: where things are to be written exactly once, a note is written only by the transactional id that
reads it, in the transaction of what it is about. So InitProducerId, which aborts or completes the transaction
of the run before and fences it, comes first; what is read then is all that was committed. Each writer has a
topic of its own, for the open transaction of another one would hold back what can be read.
"""

from collections.abc import Mapping
from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.client.blocking.producer import Producer
from odradek.client.core.admin.topics import NewTopic, await_leaders, create_topics, list_topics
from odradek.spark.brokers import Brokers, committed_ranges
from odradek.spark.offset_ranges import OffsetRange
from odradek.spark.range_reader import read_range

TRANSACTION_TIMEOUT_MS: Final = 300_000
"""How long a batch may be sent. A killed run's transaction ends at the next run, at the latest then."""
FENCED: Final = (ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH)
_MARKER_CONFIGS: Final = {"cleanup.policy": "compact", "segment.bytes": str(16 << 20)}
# Notes are looked for from the end: so many offsets first, and in each further step as many times more.
_OFFSETS_FIRST: Final = 64
_TIMES_MORE: Final = 8


class Notes:
    """The notes of one key, read to the end of the topic again and again; remembers what it has read."""

    def __init__(self, brokers: Brokers, topic: str, key: str) -> None:
        self._key = key.encode()
        self._options = brokers.reading(topic)
        self._next = 0
        self._newest: str | None = None

    def newest(self) -> str | None:
        """The newest note, None without any. Raises OdradekError, also when no broker answers."""
        for wanted in committed_ranges(self._options):
            if wanted.end < self._next:  # deleted and made anew
                self._next, self._newest = 0, None
            start, end, count = max(self._next, wanted.start), wanted.end, _OFFSETS_FIRST
            while start < end:
                first = max(start, end - count)
                values = self._values(OffsetRange(wanted.topic_partition, first, end))
                if values:
                    self._newest = values[-1].decode() if values[-1] else None
                    break
                end, count = first, count * _TIMES_MORE
            self._next = wanted.end
        return self._newest

    def _values(self, wanted: OffsetRange) -> list[bytes | None]:
        return [
            value
            for rows in read_range(wanted, self._options.reading)
            for key, value in zip(
                rows.column("key").to_pylist(), rows.column("value").to_pylist(), strict=True
            )
            if key == self._key
        ]


def topics_of_notes(brokers: Brokers, prefix: str) -> list[str]:
    """The topics whose names begin with `prefix`. Raises OdradekError."""
    with brokers.admin() as admin:
        return [one for one in admin.carry_out(list_topics()) if one.startswith(prefix)]


def transactional_producer(
    brokers: Brokers, marker_topic: str, transactional_id: str, settings: Mapping[str, str] | None = None
) -> Producer:
    """A producer that has fenced the one of the run before. Raises OdradekError.

    `settings` are Kafka's settings beside those of `brokers`. The topic of the notes is made, if it is not
    there.
    """
    return begun(
        idempotent_producer(
            brokers,
            marker_topic,
            {
                "transaction.timeout.ms": str(TRANSACTION_TIMEOUT_MS),
                **(settings or {}),
                "transactional.id": transactional_id,
            },
        )
    )


def idempotent_producer(
    brokers: Brokers, marker_topic: str, settings: Mapping[str, str] | None = None
) -> Producer:
    """A producer that fences nobody. Raises OdradekError. Its arguments are those of the other one."""
    _make_marker_topic(brokers, marker_topic)
    return Producer(
        settings={
            "bootstrap.servers": brokers.bootstrap_servers,
            **brokers.protection,
            "client.id": brokers.client_id,
            **(settings or {}),
        }
    )


def begun(producer: Producer) -> Producer:
    """`producer`, which has fenced others of its transactional id; closed if that fails."""
    try:
        producer.init_transactions()
    except BaseException:
        producer.close()
        raise
    return producer


def _make_marker_topic(brokers: Brokers, topic: str) -> None:
    with brokers.admin() as admin:
        try:
            admin.carry_out(create_topics([NewTopic(topic, 1, configs=_MARKER_CONFIGS)]))
        except ApiError as error:
            if error.code is not ErrorCode.TOPIC_ALREADY_EXISTS:
                raise
        admin.carry_out(await_leaders(topic, 1))
