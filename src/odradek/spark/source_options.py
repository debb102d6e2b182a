"""The options of the source: their names, what each may be, and a sentence for each that is refused.

Names are those of Spark's Kafka source, in any case; Spark itself hands some of them on in lower case. This
module opens no connections.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import lru_cache
from typing import Final
from uuid import uuid4

from odradek.base.errors import SettingError
from odradek.client.bootstrap import Address, connect_any, parse_bootstrap_servers
from odradek.client.choices import ISOLATION_LEVELS
from odradek.client.protection import NAMES as PROTECTION_NAMES
from odradek.client.protection import PREFIXES, read_protection
from odradek.net.blocking_connection import BrokerConnection
from odradek.net.security import UNPROTECTED, Security
from odradek.spark import trigger_limits
from odradek.spark.offset_ranges import Edge, Subscription, check_edge
from odradek.spark.option_numbers import whole_number
from odradek.spark.trigger_limits import TriggerLimits
from odradek.spark.unknown_options import unknown_option

SERVED: Final = (
    "kafka.bootstrap.servers",
    "subscribe",
    "subscribePattern",
    "assign",
    "startingOffsets",
    "startingTimestamp",
    "startingOffsetsByTimestamp",
    "startingOffsetsByTimestampStrategy",
    "endingOffsets",
    "endingTimestamp",
    "endingOffsetsByTimestamp",
    "includeHeaders",
    "failOnDataLoss",
    "minPartitions",
    "maxRecordsPerPartition",
    "fetchOffset.numRetries",
    "fetchOffset.retryIntervalMs",
    "kafkaConsumer.pollTimeoutMs",
    "groupIdPrefix",
    "kafka.group.id",
    "kafka.client.id",
    "kafka.isolation.level",
    "kafka.request.timeout.ms",
    "kafka.fetch.max.bytes",
    "kafka.fetch.max.wait.ms",
    *(f"kafka.{name}" for name in PROTECTION_NAMES),
)
_PROTECTION: Final = tuple(f"kafka.{prefix}" for prefix in PREFIXES)
# Settings of the consumer that Spark's source refuses too, and what to use in their place.
_NOT_TO_BE_SET: Final = {
    "kafka.auto.offset.reset": "give startingOffsets",
    "kafka.enable.auto.commit": "the source commits no offsets",
    "kafka.key.deserializer": "keys are bytes; cast the column",
    "kafka.value.deserializer": "values are bytes; cast the column",
    "kafka.interceptor.classes": "classes of Java cannot run here",
}
STRATEGIES: Final = ("error", "latest")
_MS_MAX: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How ranges are read; sent to the executors with each range."""

    bootstrap: tuple[Address, ...]
    isolation: str = "read_uncommitted"
    with_headers: bool = False
    fail_on_data_loss: bool = True
    client_id: str = "odradek"
    request_timeout_ms: int = 30_000
    fetch_bytes_max: int = 8 << 20
    """Bytes of one answer; a batch that is larger is answered whole."""
    fetch_wait_max_ms: int = 500
    protection: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """The settings `security.*`, `ssl.*` and `sasl.*`, which may hold secrets. They are sent as text because
    each process makes its own TLS context; the files that they name must be where the tasks run.
    """

    def connect(self, address: Address) -> BrokerConnection:
        """A connection to one broker. Raises ConnectionFailed."""
        return BrokerConnection(
            *address,
            client_id=self.client_id,
            timeout_s=self.request_timeout_ms / 1000,
            security=_security(self.protection),
        )

    def connect_any(self) -> BrokerConnection:
        """A connection to the first bootstrap server that answers. Raises ConnectionFailed."""
        return connect_any(
            self.bootstrap,
            client_id=self.client_id,
            timeout_s=self.request_timeout_ms / 1000,
            security=_security(self.protection),
        )


@lru_cache(maxsize=8)
def _security(protection: tuple[tuple[str, str], ...]) -> Security:
    return read_protection(dict(protection))


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """The checked options of a batch read or of a stream."""

    subscription: Subscription
    start: Edge
    end: Edge
    is_latest_without_match: bool
    """Whether a partition without a record at the starting time is read from its end, not refused."""
    partitions_min: int
    records_max: int | None
    """Records of one task; None without a bound."""
    offset_attempts: int
    """How often the offsets are asked for before the read fails; at least 1."""
    offset_retry_ms: int
    reading: ReadOptions
    is_stream: bool = False
    limits: TriggerLimits = field(default_factory=TriggerLimits)
    """Those of a stream's batches."""


def parse_options(
    options: Mapping[str, str], *, is_stream: bool = False, can_bound: bool = False
) -> SourceOptions:
    """The options of a batch or a stream. Raises SettingError for the first that is unknown or malformed.

    `can_bound` says whether Spark lets a stream bound its batches.
    """
    given = {name.lower(): value for name, value in options.items()}
    for name in sorted(given):
        _check_name(name, is_stream=is_stream, can_bound=can_bound)
    if "kafka.bootstrap.servers" not in given:
        raise SettingError("the option kafka.bootstrap.servers is missing")
    isolation = _one_of(given, "kafka.isolation.level", tuple(ISOLATION_LEVELS), "read_uncommitted")
    strategy = _one_of(given, "startingOffsetsByTimestampStrategy", STRATEGIES, "error")
    timeout_ms = _number(given, "kafka.request.timeout.ms", 30_000)
    start = _edge(given, "starting", "latest" if is_stream else "earliest")
    end = _edge(given, "ending", "latest")
    check_edge(start, is_stream=is_stream)
    check_edge(end)
    return SourceOptions(
        subscription=Subscription.from_options(given),
        start=start,
        end=end,
        is_latest_without_match=strategy == "latest",
        partitions_min=_number(given, "minPartitions", 0, lowest=0),
        records_max=_number(given, "maxRecordsPerPartition", 0) or None,
        offset_attempts=_number(given, "fetchOffset.numRetries", 3),
        offset_retry_ms=_number(given, "fetchOffset.retryIntervalMs", 1000, lowest=0),
        reading=ReadOptions(
            bootstrap=tuple(parse_bootstrap_servers(given["kafka.bootstrap.servers"])),
            isolation=isolation,
            with_headers=flag(given, "includeHeaders", default=False),
            fail_on_data_loss=flag(given, "failOnDataLoss", default=True),
            client_id=_client_id(given),
            request_timeout_ms=_number(given, "kafkaConsumer.pollTimeoutMs", timeout_ms),
            fetch_bytes_max=_number(given, "kafka.fetch.max.bytes", 8 << 20, highest=1 << 30),
            fetch_wait_max_ms=_number(given, "kafka.fetch.max.wait.ms", 500, lowest=0),
            protection=_protection(given),
        ),
        is_stream=is_stream,
        limits=TriggerLimits.from_options(given),
    )


def flag(options: Mapping[str, str], name: str, *, default: bool) -> bool:
    """The option `name`, in any case, as true or false. Raises SettingError."""
    text = next((value for key, value in options.items() if key.lower() == name.lower()), None)
    if text is None:
        return default
    if text.lower() not in ("true", "false"):
        raise SettingError(f"{name} must be true or false, not '{text}'")
    return text.lower() == "true"


def _edge(given: Mapping[str, str], which: str, default: str) -> Edge:
    """Where several options give one edge, the first in this order counts, as with Spark's source."""
    for option in (f"{which}Timestamp", f"{which}OffsetsByTimestamp", f"{which}Offsets"):
        if option.lower() in given:
            return Edge(option, given[option.lower()])
    return Edge(f"{which}Offsets", default)


def _client_id(given: Mapping[str, str]) -> str:
    """The name of the connections; a consumer of Kafka's derives its own from its group in the same way.

    A read takes no part in a group and commits nothing to it, as with Spark's source: this name in the
    broker's logs, metrics and quotas is all that the options of the group bring about.
    """
    if named := given.get("kafka.client.id"):
        return named
    if group := given.get("kafka.group.id"):
        return f"consumer-{group}"
    if prefix := given.get("groupidprefix"):
        return f"consumer-{prefix}-{uuid4()}"
    return "odradek"


def _protection(given: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """The settings that protect connections, without `kafka.`. Raises SettingError if they are wrong."""
    found = {
        name.removeprefix("kafka."): value for name, value in given.items() if name.startswith(_PROTECTION)
    }
    return () if read_protection(found) is UNPROTECTED else tuple(sorted(found.items()))


def _check_name(name: str, *, is_stream: bool, can_bound: bool) -> None:
    """Raises SettingError for a name in lower case that is not served."""
    by_lower = {one.lower(): one for one in SERVED}
    if name.startswith(_PROTECTION):
        return  # `read_protection` says what it knows
    if is_stream and name.startswith("ending") and name in by_lower:
        raise SettingError(f"the option {by_lower[name]} is for batches: a stream has no end")
    if name in by_lower:
        return
    if name in _NOT_TO_BE_SET:
        raise SettingError(f"the option {name} cannot be set: {_NOT_TO_BE_SET[name]}")
    if stream := next((one for one in trigger_limits.NAMES if one.lower() == name), None):
        if is_stream and can_bound:
            return
        if is_stream:
            raise SettingError(
                f"the source odradek does not serve the option {stream}: a batch of its streams holds all"
                " that has come, as sources written in Python do before pyspark 4.2"
            )
        raise SettingError(
            f"the option {stream} is for streams, and the source odradek reads in batches;"
            " bound the read with endingOffsets, or its tasks with maxRecordsPerPartition"
        )
    if name.startswith("kafka.") and not get_close_matches(name, by_lower, n=1, cutoff=0.9):
        served = ", ".join(one for one in SERVED if one.startswith("kafka."))
        raise SettingError(f"the source odradek does not serve the option {name}; of kafka.* it has {served}")
    raise unknown_option("source odradek", name, (*SERVED, *trigger_limits.NAMES) if can_bound else SERVED)


def _one_of(given: Mapping[str, str], name: str, choices: tuple[str, ...], default: str) -> str:
    text = given.get(name.lower(), default)
    if text.lower() not in choices:
        raise SettingError(f"{name} must be one of {', '.join(choices)}, not '{text}'")
    return text.lower()


def _number(
    given: Mapping[str, str], name: str, default: int, *, lowest: int = 1, highest: int = _MS_MAX
) -> int:
    found = whole_number(given, name, lowest=lowest, highest=highest)
    return default if found is None else found
