"""The PySpark data source `odradek`: batch reads of topics, like those of Spark's Kafka source.

    options = {"kafka.bootstrap.servers": "127.0.0.1:9092", "subscribe": "flights"}
    spark.read.format("odradek").options(**options).load()

No jar is needed: offsets are planned on the driver, and each task fetches and decodes its own range (the
options: `offset_ranges`; the reading: `range_reader`). Executors must be able to import this module.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from odradek.base.errors import SettingError
from odradek.client.bootstrap import connect_any, parse_bootstrap_servers
from odradek.client.cluster import fetch_leaders, list_offsets
from odradek.client.configuration import ISOLATION_LEVELS
from odradek.spark.offset_ranges import OffsetRange, Subscription, bounds, plan, resolve
from odradek.spark.range_reader import ReadOptions, read_range

SCHEMA = (
    "key binary, value binary, topic string, partition int, offset bigint,"
    " timestamp timestamp, timestampType int"
)
HEADERS_SCHEMA = ", headers array<struct<key: string, value: binary>>"

_KNOWN = {
    "kafka.bootstrap.servers",
    "kafka.isolation.level",
    "subscribe",
    "subscribepattern",
    "assign",
    "startingoffsets",
    "endingoffsets",
    "minpartitions",
    "includeheaders",
    "failondataloss",
}


class RangePartition(InputPartition):
    """One Spark task: the range that it reads."""

    def __init__(self, wanted: OffsetRange) -> None:
        super().__init__(wanted)
        self.wanted = wanted


class OdradekDataSource(DataSource):
    """Registered with `spark.dataSource.register(OdradekDataSource)`."""

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


class OdradekReader(DataSourceReader):
    """Plans ranges on the driver, reads them on executors. Raises SettingError for bad options."""

    def __init__(self, options: Mapping[str, str]) -> None:
        given = {name.lower(): value for name, value in options.items()}
        unknown = sorted(set(given) - _KNOWN)
        if unknown:
            raise SettingError(f"the source odradek has no option {unknown[0]}")
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
            return iter(())  # Spark asks once, with nothing, when there is no range at all.
        return read_range(partition.wanted, self._read_options)

    def _topics(self) -> list[str] | None:
        if self._subscription.pattern is not None:
            return None
        named = self._subscription.topics or [part.topic for part in self._subscription.assigned]
        return sorted(set(named))


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
