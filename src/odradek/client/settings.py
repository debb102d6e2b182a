"""The settings of the clients: one table with Kafka's names, Python's names, defaults and bounds.

    settings = read_settings(Client.ADMIN, {"bootstrap.servers": "a:9092", "request_timeout_ms": 5_000})
    settings[REQUEST_TIMEOUT_MS]        5000
    settings.security                   how connections are protected

Every setting has two names: Kafka's (`request.timeout.ms`) and Python's (`request_timeout_ms`), of which one
may be given. Values may be Python's or text, as in a properties file. Defaults are Kafka's unless a setting
says otherwise.

Invariants: what is accepted takes effect; a name without effect is refused with the reason, an unknown one
with the nearest that there is. No setting names a class, a URL, a callback or a file, but certificates
(`protection`): what runs is given as Python objects.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from difflib import get_close_matches
from enum import Flag, auto
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, cast

from odradek.base.errors import SettingError
from odradek.client import choices, other_settings
from odradek.client.bootstrap import Address, parse_bootstrap_servers
from odradek.client.protection import NAMES as PROTECTION_NAMES
from odradek.client.protection import PREFIXES, read_protection
from odradek.client.reset_policy import reset_policy
from odradek.client.sampled import SAMPLES, WINDOW_MS, Sampling
from odradek.net.security import Security

if TYPE_CHECKING:
    import ssl

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

INT32_MAX: Final = 0x7FFFFFFF
INT64_MAX: Final = 0x7FFFFFFFFFFFFFFF


class Client(Flag):
    """The kinds of clients."""

    CONSUMER = auto()
    PRODUCER = auto()
    ADMIN = auto()


ALL: Final = Client.CONSUMER | Client.PRODUCER | Client.ADMIN


class Setting(Generic[T_co]):
    """One row of the table; compared by identity."""

    __slots__ = ("clients", "default", "name", "read")

    def __init__(
        self, name: str, clients: Client, default: T_co, read: Callable[[str, object], T_co]
    ) -> None:
        """`read` gets the name and what was given; it raises SettingError for what the setting cannot be."""
        self.name = name
        self.clients = clients
        self.default = default
        self.read = read

    def of(self, given: Mapping[str, object]) -> T_co:
        """Its value among those given by Kafka's names, else its default. Raises SettingError."""
        return self.read(self.name, given[self.name]) if self.name in given else self.default


class Settings:
    """The settings of one client: what was given, else the defaults."""

    def __init__(self, values: Mapping[str, object], security: Security) -> None:
        self._values = values
        self.security = security
        """How connections to brokers are protected."""

    def __getitem__(self, setting: Setting[T]) -> T:
        """The value of a setting."""
        return cast(T, self._values.get(setting.name, setting.default))

    @property
    def sampling(self) -> Sampling:
        """Over which time rates and averages are measured."""
        return Sampling(self[METRICS_NUM_SAMPLES], self[METRICS_SAMPLE_WINDOW_MS])

    def is_given(self, setting: Setting[Any]) -> bool:
        """Whether it does not have its value by default."""
        return setting.name in self._values


def names_of(client: Client) -> set[str]:
    """The names of the settings that one kind of client has, in Kafka's form, but those of protection."""
    return {setting.name for setting in TABLE if client in setting.clients}


def read_settings(
    client: Client,
    given: Mapping[str, object],
    *,
    ssl_context: ssl.SSLContext | None = None,
    token_provider: Callable[[], str] | None = None,
) -> Settings:
    """The settings of one kind of client, by either name. Raises SettingError for the first fault."""
    table = {setting.name: setting for setting in TABLE if client in setting.clients}
    names = [*table, *PROTECTION_NAMES]
    known = [*PROTECTION_NAMES, *other_settings.NAMES, *(setting.name for setting in TABLE)]
    by_python = {name.replace(".", "_"): name for name in known}
    values: dict[str, object] = {}
    protection: dict[str, str] = {}
    seen: dict[str, str] = {}
    for written, value in given.items():
        name = by_python.get(written, written)
        if name in seen:
            raise SettingError(f"{seen[name]} and {written} are the same setting")
        seen[name] = written
        if name in table:
            values[name] = table[name].read(name, value)
        elif name in other_settings.NAMES:
            raise SettingError(other_settings.said_of(name, written))
        elif name.startswith(PREFIXES):
            protection[name] = _text(name, value)
        else:
            raise SettingError(_unknown(name, names, client))
    return Settings(
        values, read_protection(protection, ssl_context=ssl_context, token_provider=token_provider)
    )


def _unknown(name: str, names: Collection[str], client: Client) -> str:
    others = [setting for setting in TABLE if setting.name == name]
    kind = cast(str, client.name).lower()
    if others:
        return f"{name} is no setting of {'an' if kind == 'admin' else 'a'} {kind}"
    near = get_close_matches(name, names, 1) or get_close_matches(name.replace("_", "."), names, 1)
    hint = f"; did you mean {near[0]}?" if near else ""
    return f"{name} is not a setting of this client{hint}"


# --- what a setting can be


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        # Its value may be a secret.
        raise SettingError(f"{name} is text, not {type(value).__name__}")
    try:
        value.encode()
    except UnicodeEncodeError:  # as half of a pair of UTF-16: no request can carry it
        raise SettingError(f"{name} has a character that UTF-8 does not have") from None
    return value


def _some_text(name: str, value: object) -> str:
    text = _text(name, value).strip()
    if not text:
        raise SettingError(f"{name} has no value")
    return text


def _whole(lowest: int, highest: int) -> Callable[[str, object], int]:
    def read(name: str, value: object) -> int:
        number = value
        if isinstance(value, str):
            text = value.strip()
            is_number = text.removeprefix("-").isdecimal() and text.isascii() and len(text) <= 20
            number = int(text) if is_number else None
        if not isinstance(number, int) or isinstance(number, bool) or not lowest <= number <= highest:
            raise SettingError(f"{name} is a whole number from {lowest:,} to {highest:,}, not {value!r}")
        return number

    return read


def _switch(name: str, value: object) -> bool:
    if isinstance(value, str) and value.strip().lower() in ("true", "false"):
        return value.strip().lower() == "true"
    if not isinstance(value, bool):
        raise SettingError(f"{name} is true or false, not {value!r}")
    return value


def _one_of(*words: str) -> Callable[[str, object], str]:
    def read(name: str, value: object) -> str:
        text = value.strip().lower() if isinstance(value, str) else value
        if text not in words:
            raise SettingError(f"{name} is one of {', '.join(words)}, not {value!r}")
        return text

    return read


def _servers(name: str, value: object) -> tuple[Address, ...]:
    if isinstance(value, list | tuple) and value and all(isinstance(one, str) for one in value):
        return tuple(address for one in value for address in parse_bootstrap_servers(one))
    if isinstance(value, Mapping):  # as confluent-kafka's clients take it
        raise SettingError(
            f"{name} is text, not {type(value).__name__}; settings are given as settings={{...}}"
        )
    return tuple(parse_bootstrap_servers(_some_text(name, value)))


def _acks(name: str, value: object) -> int:
    text = str(value).strip().lower()
    if isinstance(value, bool) or text not in choices.ACKS:
        raise SettingError(f"{name} is one of all, 0, 1, not {value!r}")
    return -1 if text == "all" else int(text)


def _offset_reset(name: str, value: object) -> str:
    text = value.strip().lower() if isinstance(value, str) else ""
    try:
        reset_policy(text)
    except ValueError:
        raise SettingError(
            f"{name} is one of earliest, latest, none, by_duration:PnDTnHnMnS "
            f"(by_duration:PT1H for an hour ago), not {value!r}"
        ) from None
    return text


_JAVA_ASSIGNORS: Final = {
    "org.apache.kafka.clients.consumer.RangeAssignor": "range",
    "org.apache.kafka.clients.consumer.RoundRobinAssignor": "roundrobin",
    "org.apache.kafka.clients.consumer.StickyAssignor": "sticky",
    "org.apache.kafka.clients.consumer.CooperativeStickyAssignor": "cooperative-sticky",
}
"""Names that Kafka's users have in their settings; no class is loaded."""


def _assignors(name: str, value: object) -> tuple[str, ...]:
    given = value.split(",") if isinstance(value, str) else value
    if not isinstance(given, list | tuple) or not given:
        raise SettingError(f"{name} is a list of strategies, not {value!r}")
    found = []
    for one in given:
        text = one.strip() if isinstance(one, str) else ""
        strategy = _JAVA_ASSIGNORS.get(text, text)
        if strategy not in _JAVA_ASSIGNORS.values():
            raise SettingError(f"{name} is a list of {', '.join(_JAVA_ASSIGNORS.values())}, not {one!r}")
        found.append(strategy)
    return tuple(found)


def _gzip_level(name: str, value: object) -> int:
    level = _whole(-1, 9)(name, value)
    if not level:
        raise SettingError(f"{name} is -1, the codec's own default, or from 1 to 9, not {value!r}")
    return level


_ms = _whole(0, INT32_MAX)
_ms_64 = _whole(0, INT64_MAX)
_bytes = _whole(0, INT32_MAX)

# --- the table: connections

BOOTSTRAP_SERVERS: Final = Setting[tuple[Address, ...]](
    "bootstrap.servers", ALL, (("127.0.0.1", 9092),), _servers
)
"""Kafka has no default."""
CLIENT_ID: Final = Setting[str]("client.id", ALL, "odradek", _some_text)
"""Kafka's default is a number of its own for each client."""
REQUEST_TIMEOUT_MS: Final = Setting[int]("request.timeout.ms", ALL, 30_000, _whole(1, INT32_MAX))
DEFAULT_API_TIMEOUT_MS: Final = Setting[int](
    "default.api.timeout.ms", Client.CONSUMER | Client.ADMIN, 60_000, _whole(1, INT32_MAX)
)
RETRY_BACKOFF_MS: Final = Setting[int]("retry.backoff.ms", ALL, 100, _ms_64)
RETRY_BACKOFF_MAX_MS: Final = Setting[int]("retry.backoff.max.ms", ALL, 1_000, _ms_64)
RECONNECT_BACKOFF_MS: Final = Setting[int]("reconnect.backoff.ms", ALL, 50, _ms_64)
RECONNECT_BACKOFF_MAX_MS: Final = Setting[int]("reconnect.backoff.max.ms", ALL, 1_000, _ms_64)
METRICS_NUM_SAMPLES: Final = Setting[int]("metrics.num.samples", ALL, SAMPLES, _whole(1, INT32_MAX))
METRICS_SAMPLE_WINDOW_MS: Final = Setting[int](
    "metrics.sample.window.ms", ALL, WINDOW_MS, _whole(1, INT64_MAX)
)
METADATA_MAX_AGE_MS: Final = Setting[int]("metadata.max.age.ms", ALL, 300_000, _ms_64)
SETUP_TIMEOUT_MS: Final = Setting[int](
    "socket.connection.setup.timeout.ms", ALL, 10_000, _whole(1, INT32_MAX)
)

# --- the table: the consumer

GROUP_ID: Final = Setting[str | None]("group.id", Client.CONSUMER, None, _some_text)
GROUP_INSTANCE_ID: Final = Setting[str | None]("group.instance.id", Client.CONSUMER, None, _some_text)
GROUP_PROTOCOL: Final = Setting[str | None](
    "group.protocol", Client.CONSUMER, None, _one_of(*choices.GROUP_PROTOCOLS)
)
"""Without it the protocol is one that the group and the broker know; Kafka's default is classic."""
GROUP_REMOTE_ASSIGNOR: Final = Setting[str | None]("group.remote.assignor", Client.CONSUMER, None, _some_text)
PARTITION_ASSIGNMENT_STRATEGY: Final = Setting[tuple[str, ...]](
    "partition.assignment.strategy", Client.CONSUMER, ("range", "cooperative-sticky"), _assignors
)
SESSION_TIMEOUT_MS: Final = Setting[int]("session.timeout.ms", Client.CONSUMER, 45_000, _ms)
HEARTBEAT_INTERVAL_MS: Final = Setting[int](
    "heartbeat.interval.ms", Client.CONSUMER, 3_000, _whole(1, INT32_MAX)
)
"""Kafka's Java client takes 0, and then sends heartbeats as fast as brokers answer them."""
MAX_POLL_INTERVAL_MS: Final = Setting[int](
    "max.poll.interval.ms", Client.CONSUMER, 300_000, _whole(1, INT32_MAX)
)
MAX_POLL_RECORDS: Final = Setting[int]("max.poll.records", Client.CONSUMER, 500, _whole(1, INT32_MAX))
ENABLE_AUTO_COMMIT: Final = Setting[bool]("enable.auto.commit", Client.CONSUMER, True, _switch)
AUTO_COMMIT_INTERVAL_MS: Final = Setting[int]("auto.commit.interval.ms", Client.CONSUMER, 5_000, _ms)
AUTO_OFFSET_RESET: Final = Setting[str]("auto.offset.reset", Client.CONSUMER, "latest", _offset_reset)
ISOLATION_LEVEL: Final = Setting[str](
    "isolation.level", Client.CONSUMER, "read_uncommitted", _one_of(*choices.ISOLATION_LEVELS)
)
FETCH_MIN_BYTES: Final = Setting[int]("fetch.min.bytes", Client.CONSUMER, 1, _bytes)
FETCH_MAX_BYTES: Final = Setting[int]("fetch.max.bytes", Client.CONSUMER, 50 << 20, _bytes)
FETCH_MAX_WAIT_MS: Final = Setting[int]("fetch.max.wait.ms", Client.CONSUMER, 500, _ms)
MAX_PARTITION_FETCH_BYTES: Final = Setting[int]("max.partition.fetch.bytes", Client.CONSUMER, 1 << 20, _bytes)
CHECK_CRCS: Final = Setting[bool]("check.crcs", Client.CONSUMER, True, _switch)
CLIENT_RACK: Final = Setting[str]("client.rack", Client.CONSUMER, "", _text)
ALLOW_AUTO_CREATE_TOPICS: Final = Setting[bool]("allow.auto.create.topics", Client.CONSUMER, True, _switch)
EXCLUDE_INTERNAL_TOPICS: Final = Setting[bool]("exclude.internal.topics", Client.CONSUMER, True, _switch)

# --- the table: the producer

ACKS: Final = Setting[int]("acks", Client.PRODUCER, -1, _acks)
ENABLE_IDEMPOTENCE: Final = Setting[bool]("enable.idempotence", Client.PRODUCER, True, _switch)
BATCH_SIZE: Final = Setting[int]("batch.size", Client.PRODUCER, 16_384, _bytes)
LINGER_MS: Final = Setting[int]("linger.ms", Client.PRODUCER, 5, _ms_64)
BUFFER_MEMORY: Final = Setting[int]("buffer.memory", Client.PRODUCER, 32 << 20, _whole(0, INT64_MAX))
MAX_BLOCK_MS: Final = Setting[int]("max.block.ms", Client.PRODUCER, 60_000, _ms_64)
MAX_REQUEST_SIZE: Final = Setting[int]("max.request.size", Client.PRODUCER, 1 << 20, _bytes)
COMPRESSION_TYPE: Final = Setting[str]("compression.type", Client.PRODUCER, "none", _one_of(*choices.CODECS))
COMPRESSION_GZIP_LEVEL: Final = Setting[int]("compression.gzip.level", Client.PRODUCER, -1, _gzip_level)
COMPRESSION_LZ4_LEVEL: Final = Setting[int]("compression.lz4.level", Client.PRODUCER, 9, _whole(1, 17))
"""9 means the fast compressor, as in Kafka's Java client; other levels are those of the library."""
COMPRESSION_ZSTD_LEVEL: Final = Setting[int](
    "compression.zstd.level", Client.PRODUCER, 3, _whole(-131_072, 22)
)
DELIVERY_TIMEOUT_MS: Final = Setting[int](
    "delivery.timeout.ms", Client.PRODUCER, 120_000, _whole(1, INT32_MAX)
)
RETRIES: Final = Setting[int]("retries", Client.PRODUCER, INT32_MAX, _whole(0, INT32_MAX))
MAX_IN_FLIGHT: Final = Setting[int](
    "max.in.flight.requests.per.connection", Client.PRODUCER, 5, _whole(1, INT32_MAX)
)
TRANSACTIONAL_ID: Final = Setting[str | None]("transactional.id", Client.PRODUCER, None, _some_text)
TRANSACTION_TIMEOUT_MS: Final = Setting[int]("transaction.timeout.ms", Client.PRODUCER, 60_000, _ms)
METADATA_MAX_IDLE_MS: Final = Setting[int](
    "metadata.max.idle.ms", Client.PRODUCER, 300_000, _whole(5_000, INT64_MAX)
)
PARTITIONER_IGNORE_KEYS: Final = Setting[bool]("partitioner.ignore.keys", Client.PRODUCER, False, _switch)
PARTITIONER_ADAPTIVE: Final = Setting[bool](
    "partitioner.adaptive.partitioning.enable", Client.PRODUCER, True, _switch
)
PARTITIONER_AVAILABILITY_TIMEOUT_MS: Final = Setting[int](
    "partitioner.availability.timeout.ms", Client.PRODUCER, 0, _ms_64
)

TABLE: Final[tuple[Setting[Any], ...]] = tuple(
    one for one in list(globals().values()) if isinstance(one, Setting)
)
"""All settings that take effect, besides those of `protection`."""
