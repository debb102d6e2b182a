"""The PySpark data source `odradek`: batch reads of topics, like those of Spark's Kafka source.

    options = {"kafka.bootstrap.servers": "127.0.0.1:9092", "subscribe": "flights"}
    spark.read.format("odradek").options(**options).load()

No jar is needed: offsets are planned on the driver, and each task fetches and decodes its own range (the
options: `offset_ranges`; the reading: `range_reader`). Executors must be able to import this module.
"""

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final, NoReturn

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from odradek.base.errors import OdradekError, SettingError
from odradek.client.bootstrap import connect_any, parse_bootstrap_servers
from odradek.client.cluster import fetch_leaders, list_offsets
from odradek.client.configuration import ISOLATION_LEVELS
from odradek.spark.offset_ranges import OffsetRange, Subscription, bounds, plan, resolve
from odradek.spark.range_reader import ReadOptions, read_range

__all__ = ["OdradekDataSource"]

SCHEMA = (
    "key binary, value binary, topic string, partition int, offset bigint,"
    " timestamp timestamp, timestampType int"
)
HEADERS_SCHEMA = ", headers array<struct<key: string, value: binary>>"

_INSTEAD: Final = "it reads them in batches, with spark.read"

_OPTIONS: Final = (
    "kafka.bootstrap.servers",
    "subscribe",
    "subscribePattern",
    "assign",
    "startingOffsets",
    "endingOffsets",
    "kafka.isolation.level",
    "includeHeaders",
    "minPartitions",
    "failOnDataLoss",
)
_KNOWN = {name.lower() for name in _OPTIONS}
_NOT_SERVED: Final = (
    "endingOffsetsByTimestamp",
    "endingTimestamp",
    "groupIdPrefix",
    "kafka.group.id",
    "maxOffsetsPerTrigger",
    "maxRecordsPerPartition",
    "maxTriggerDelay",
    "minOffsetsPerTrigger",
    "startingOffsetsByTimestamp",
    "startingOffsetsByTimestampStrategy",
    "startingTimestamp",
)
"""Options of Spark's Kafka source that this one does not have; Spark hands their names on in lower case."""


class RangePartition(InputPartition):
    """One Spark task: the range that it reads."""

    def __init__(self, wanted: OffsetRange) -> None:
        super().__init__(wanted)
        self.wanted = wanted


class OdradekDataSource(DataSource):
    """The source `odradek`, registered with `spark.dataSource.register(OdradekDataSource)`."""

    @classmethod
    def name(cls) -> str:
        """The name for `format(...)`."""
        return "odradek"

    def schema(self) -> str:
        """The Kafka source's columns, with headers when `includeHeaders` is true."""
        return SCHEMA + (HEADERS_SCHEMA if _flag(self.options, "includeHeaders", default=False) else "")

    def reader(self, schema: StructType) -> "OdradekReader":
        """A batch reader; its options are checked here, before any task starts."""
        return OdradekReader(self.options)

    def writer(self, schema: StructType, overwrite: bool) -> NoReturn:
        """Raises OdradekError."""
        raise OdradekError(f"the source odradek writes no topics: {_INSTEAD}")

    def streamReader(self, schema: StructType) -> "NoStream":  # noqa: N802 - Spark's name
        """A reader that only refuses: Spark would replace an exception raised here by another error."""
        return NoStream()

    def streamWriter(self, schema: StructType, overwrite: bool) -> NoReturn:  # noqa: N802
        """Raises OdradekError."""
        raise OdradekError(f"the source odradek has no writeStream: {_INSTEAD}")


class NoStream(DataSourceStreamReader):
    """Refuses to begin a stream."""

    def initialOffset(self) -> NoReturn:  # noqa: N802 - Spark's name
        """Raises OdradekError."""
        raise OdradekError(f"the source odradek has no readStream: {_INSTEAD}")

    def latestOffset(self) -> NoReturn:  # noqa: N802 - Spark's name
        """Raises OdradekError; Spark 4.1 asks for it first."""
        raise OdradekError(f"the source odradek has no readStream: {_INSTEAD}")

    def read(self, partition: InputPartition) -> NoReturn:
        """Raises OdradekError; never called, since no stream begins."""
        raise OdradekError(f"the source odradek has no readStream: {_INSTEAD}")


class OdradekReader(DataSourceReader):
    """Plans ranges on the driver, reads them on executors. Raises SettingError for bad options."""

    def __init__(self, options: Mapping[str, str]) -> None:
        given = {name.lower(): value for name, value in options.items()}
        unknown = sorted(set(given) - _KNOWN)
        if unknown:
            raise SettingError(_unknown(unknown[0]))
        if "kafka.bootstrap.servers" not in given:
            raise SettingError("the option kafka.bootstrap.servers is missing")
        isolation = given.get("kafka.isolation.level", "read_uncommitted")
        if isolation not in ISOLATION_LEVELS:
            raise SettingError(
                f"kafka.isolation.level must be one of {', '.join(ISOLATION_LEVELS)}, not '{isolation}'"
            )
        self._subscription = Subscription.from_options(given)
        self._starting = given.get("startingoffsets", "earliest")
        self._ending = given.get("endingoffsets", "latest")
        self._partitions_min = _count(given.get("minpartitions", "0"))
        self._read_options = ReadOptions(
            bootstrap=tuple(parse_bootstrap_servers(given["kafka.bootstrap.servers"])),
            isolation=isolation,
            with_headers=_flag(options, "includeHeaders", default=False),
            fail_on_data_loss=_flag(options, "failOnDataLoss", default=True),
        )

    def partitions(self) -> Sequence[InputPartition]:
        """One task for each planned range, on the driver."""
        isolation = self._read_options.isolation
        with connect_any(self._read_options.bootstrap) as connection:
            leaders = fetch_leaders(connection, self._topics())
        wanted = self._subscription.partitions(leaders.counts)
        starts = bounds("startingOffsets", self._starting, wanted)
        ends = bounds("endingOffsets", self._ending, wanted)
        ranges = plan(
            resolve(starts, lambda word, asked: list_offsets(leaders, word, asked, isolation)),
            resolve(ends, lambda word, asked: list_offsets(leaders, word, asked, isolation)),
            self._partitions_min,
        )
        return [RangePartition(one) for one in ranges]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """The rows of one range, on an executor."""
        if not isinstance(partition, RangePartition):
            return iter(())  # Spark calls once without a partition when there are no ranges.
        return read_range(partition.wanted, self._read_options)

    def _topics(self) -> list[str] | None:
        if self._subscription.pattern is not None:
            return None
        named = self._subscription.topics or [part.topic for part in self._subscription.assigned]
        return sorted(set(named))


def _unknown(name: str) -> str:
    """Why an option of that name, in lower case, is refused."""
    theirs = next((one for one in _NOT_SERVED if one.lower() == name), None)
    if theirs:
        return (
            f"the source odradek does not serve the option {theirs} of Spark's Kafka source; it has"
            f" {', '.join(_OPTIONS)}"
        )
    by_small = {one.lower(): one for one in _OPTIONS}
    close = get_close_matches(name, by_small, n=1)
    hint = f"did you mean {by_small[close[0]]}?" if close else f"it has {', '.join(_OPTIONS)}"
    return f"the source odradek has no option {name}; {hint}"


def _flag(options: Mapping[str, str], name: str, *, default: bool) -> bool:
    text = next((value for key, value in options.items() if key.lower() == name.lower()), None)
    if text is None:
        return default
    if text.lower() not in ("true", "false"):
        raise SettingError(f"{name} must be true or false, not '{text}'")
    return text.lower() == "true"


def _count(text: str) -> int:
    if not text.isdigit():
        raise SettingError(f"minPartitions must be a whole number, not '{text}'")
    return int(text)
