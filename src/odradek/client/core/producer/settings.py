"""The settings that the producer's cores read, and which of them go together.

Names, meanings and defaults are those of the table in `client/settings`, which also checks each for itself.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError, SettingError
from odradek.client import settings as table
from odradek.client.sampled import USUAL, Sampling
from odradek.records.compression import Codec
from odradek.records.header import HEADER_BYTES

IDEMPOTENT_IN_FLIGHT_MAX: Final = 5
"""How many batches a broker remembers of each producer, so that it recognizes one that comes again."""

Partitioner: TypeAlias = Callable[[bytes | None, list[int], list[int]], int]
"""Chooses a partition by the key, all partitions of the topic, and those that have a leader."""


@dataclass(frozen=True, slots=True)
class ProducerSettings:
    """Raises SettingError for values that do not go together."""

    acks: int = table.ACKS.default
    """How many replicas must have a batch before it is acknowledged: 0, 1, or -1 for all in sync."""
    enable_idempotence: bool | None = None
    """Whether each record is stored exactly once, in order. None: yes if the other settings allow it."""
    linger_ms: int = table.LINGER_MS.default
    """How long a batch waits for more records."""
    batch_size: int = table.BATCH_SIZE.default
    """The bytes of uncompressed records after which a batch is sent."""
    buffer_memory: int = table.BUFFER_MEMORY.default
    """The bytes of batches that are not acknowledged yet."""
    max_request_size: int = table.MAX_REQUEST_SIZE.default
    """The bytes of one record, and of the batches in one request."""
    max_block_ms: int = table.MAX_BLOCK_MS.default
    """How long a send waits for memory and for its topic."""
    delivery_timeout_ms: int = table.DELIVERY_TIMEOUT_MS.default
    """How long after its first record was appended a batch may be unacknowledged."""
    request_timeout_ms: int = table.REQUEST_TIMEOUT_MS.default
    compression_type: str = table.COMPRESSION_TYPE.default
    compression_level: int | None = None
    """The level of the codec; None: its default."""
    max_in_flight: int = table.MAX_IN_FLIGHT.default
    """Requests to one broker without an answer: `max.in.flight.requests.per.connection`."""
    retries: int = table.RETRIES.default
    retry_backoff_ms: int = table.RETRY_BACKOFF_MS.default
    retry_backoff_max_ms: int = table.RETRY_BACKOFF_MAX_MS.default
    transactional_id: str | None = None
    """None for a producer without transactions."""
    transaction_timeout_ms: int = table.TRANSACTION_TIMEOUT_MS.default
    """After which the coordinator aborts a transaction."""
    partitioner_ignore_keys: bool = table.PARTITIONER_IGNORE_KEYS.default
    """Whether records with a key are distributed as those without one."""
    is_partitioner_adaptive: bool = table.PARTITIONER_ADAPTIVE.default
    """Whether partitions with longer queues get fewer of the records without a key."""
    partitioner: Partitioner | None = None
    """Chooses the partitions of records that name none; None: as Kafka's own producer does."""
    sampling: Sampling = USUAL
    """Over which time rates and averages are measured."""

    def __post_init__(self) -> None:
        shortest_ms = self.linger_ms + self.request_timeout_ms
        if self.delivery_timeout_ms < shortest_ms:
            raise SettingError(
                f"delivery.timeout.ms is {self.delivery_timeout_ms}: it must be at least linger.ms + "
                f"request.timeout.ms, which is {shortest_ms}"
            )
        if self.enable_idempotence and self._conflict:
            raise SettingError(f"enable.idempotence needs {self._conflict}")
        if self.transactional_id is not None and not self.is_idempotent:
            raise SettingError(f"transactional.id needs {self._conflict or 'enable.idempotence=true'}")

    @property
    def is_idempotent(self) -> bool:
        """Whether batches carry a producer id and sequence numbers."""
        return not self._conflict if self.enable_idempotence is None else self.enable_idempotence

    @property
    def record_limit(self) -> tuple[int, str]:
        """How many bytes a record and its batch's header may take at most, and the setting that says so."""
        return min((self.max_request_size, "max.request.size"), (self.buffer_memory, "buffer.memory"))

    @property
    def record_bytes_max(self) -> int:
        """How many bytes a record may take, beside its batch's header."""
        return self.record_limit[0] - HEADER_BYTES

    def too_large(self, record_bytes: int) -> ApiError:
        """The error of a record that may take so many bytes, more than `record_bytes_max`."""
        limit, name = self.record_limit
        said = f"the record takes up to {record_bytes + HEADER_BYTES} bytes, {name} is {limit}"
        return ApiError(ErrorCode.MESSAGE_TOO_LARGE, said)

    @property
    def codec(self) -> int:
        """The id of the codec."""
        return Codec[self.compression_type.upper()]

    @property
    def _conflict(self) -> str:
        """What idempotence needs and these settings do not give; "" if nothing."""
        if self.acks != -1:
            return f"acks=all, not {self.acks}"
        if self.max_in_flight > IDEMPOTENT_IN_FLIGHT_MAX:
            return (
                f"max.in.flight.requests.per.connection of at most {IDEMPOTENT_IN_FLIGHT_MAX}, "
                f"not {self.max_in_flight}"
            )
        return "" if self.retries else "retries above 0"


_LEVELS: Final = {
    "gzip": table.COMPRESSION_GZIP_LEVEL,
    "lz4": table.COMPRESSION_LZ4_LEVEL,
    "zstd": table.COMPRESSION_ZSTD_LEVEL,
}


def _compression_level(settings: table.Settings) -> int | None:
    """The level of the codec in use. Raises SettingError for that of another codec."""
    codec = settings[table.COMPRESSION_TYPE]
    for name, setting in _LEVELS.items():
        if name != codec and settings.is_given(setting):
            raise SettingError(f"{setting.name} has no effect with compression.type={codec}")
    setting = _LEVELS.get(codec, table.COMPRESSION_GZIP_LEVEL)
    return None if settings[setting] == setting.default else settings[setting]


def producer_settings(settings: table.Settings, partitioner: Partitioner | None = None) -> ProducerSettings:
    """What a producer's core needs of the settings that were given.

    Raises SettingError for what does not go together, TypeError for a partitioner that is no function.
    """
    if partitioner is not None:
        if not callable(partitioner):
            said = "a function of a key, all partitions and those with a leader, which returns one"
            raise TypeError(f"partitioner is {said}, not {partitioner!r}")
        if settings[table.PARTITIONER_IGNORE_KEYS]:
            raise SettingError("partitioner.ignore.keys has no effect with a partitioner")
    if settings.is_given(table.PARTITIONER_AVAILABILITY_TIMEOUT_MS):
        raise SettingError(f"{table.PARTITIONER_AVAILABILITY_TIMEOUT_MS.name} has no effect here")
    if settings.is_given(table.TRANSACTION_TIMEOUT_MS) and not settings.is_given(table.TRANSACTIONAL_ID):
        raise SettingError("transaction.timeout.ms has no effect without transactional.id")
    idempotence = table.ENABLE_IDEMPOTENCE
    return ProducerSettings(
        acks=settings[table.ACKS],
        enable_idempotence=settings[idempotence] if settings.is_given(idempotence) else None,
        linger_ms=settings[table.LINGER_MS],
        batch_size=settings[table.BATCH_SIZE],
        buffer_memory=settings[table.BUFFER_MEMORY],
        max_request_size=settings[table.MAX_REQUEST_SIZE],
        max_block_ms=settings[table.MAX_BLOCK_MS],
        delivery_timeout_ms=settings[table.DELIVERY_TIMEOUT_MS],
        request_timeout_ms=settings[table.REQUEST_TIMEOUT_MS],
        compression_type=settings[table.COMPRESSION_TYPE],
        compression_level=_compression_level(settings),
        max_in_flight=settings[table.MAX_IN_FLIGHT],
        retries=settings[table.RETRIES],
        retry_backoff_ms=settings[table.RETRY_BACKOFF_MS],
        retry_backoff_max_ms=settings[table.RETRY_BACKOFF_MAX_MS],
        transactional_id=settings[table.TRANSACTIONAL_ID],
        transaction_timeout_ms=settings[table.TRANSACTION_TIMEOUT_MS],
        partitioner_ignore_keys=settings[table.PARTITIONER_IGNORE_KEYS],
        is_partitioner_adaptive=settings[table.PARTITIONER_ADAPTIVE],
        partitioner=partitioner,
        sampling=settings.sampling,
    )
