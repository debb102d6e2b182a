"""A pipeline with stages: visits without duplicates, joined with their cities, in windows of an hour."""

from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from campaigns.pipelines.load import send_all
from campaigns.pipelines.visits import CITIES, HOUR_S, START, WATERMARK_S, Sums, Visits, differences
from odradek.spark.pipeline.assembly import verify_table
from odradek.spark.pipeline.description import Description, read_description
from odradek.spark.pipeline.formats import lake_session, table_of
from odradek.spark.pipeline.local_paths import spark_path
from odradek.testing import Broker

_STAGES = f"""
[[transform]]
deduplicate = "id"
time = "at"
watermark_s = {WATERMARK_S}

[[transform]]
join = "cities"
on = "place"

[[transform]]
window_s = {HOUR_S}
time = "at"
watermark_s = {WATERMARK_S}
by = "city"
aggregates = ["count(*) as visits", "sum(n) as total"]
"""


class StagedLoad:
    """Visits, one in twenty of which cannot be read."""

    def __init__(self, broker: Broker, sink: str, directory: Path, spark: str = "") -> None:
        """`spark` is what the description says of Spark."""
        self._broker = broker
        self._topic = broker.create_topic(partitions=2)
        self._visits = Visits()
        self._broken = 0
        cities = directory / "cities"
        cities.mkdir()
        table = pa.table({"place": list(CITIES), "city": list(CITIES.values())})
        pq.write_table(table, cities / "part-0.parquet")
        file = directory / "kills.toml"
        file.write_text(
            f'[source]\nbootstrap_servers = "{broker.bootstrap_servers}"\ntopics = ["{self._topic}"]\n'
            '[decode]\nformat = "json"\n'
            'fields = { id = "string", at = "timestamp", place = "string", n = "long" }\n'
            f'{_STAGES}[sink]\npath = "table"\nformat = "{sink}"\n[batch]\nrecords_max = 400\n{spark}'
        )
        self._description = read_description(file)

    @property
    def description(self) -> Description:
        """See `Load`."""
        return self._description

    def send(self, chance: Random) -> None:
        """See `Load`. Late records come as soon as a batch is committed, whose watermark they are behind."""
        may_be_late = table_of(self._description).last() is not None
        records: list[tuple[bytes | None, bytes, int]] = []
        for one in self._visits.part(chance, may_be_late=may_be_late):
            if chance.random() < 0.05:
                records.append((b"broken", b"", one.id % 2))
                self._broken += 1
            records.append((one.value(), b"%d" % one.id, one.id % 2))
        send_all(self._broker, self._topic, records)

    def finish(self) -> None:
        """See `Load`."""
        one = self._visits.last()
        send_all(self._broker, self._topic, [(one.value(), b"", one.id % 2)])

    def check(self, spark: Any) -> list[str]:
        """See `Load`."""
        faults = list(verify_table(self._description, spark).faults)
        last = table_of(self._description).last()
        assert last is not None
        if last.late_total != self._visits.late:
            faults.append(f"{self._visits.late} late visits were sent, and {last.late_total} counted")
        if last.dead_letters_total != self._broken:
            faults.append(f"{self._broken} broken records were sent, and {last.dead_letters_total} counted")
        return faults + differences(self._found(spark), self._visits.sums())

    def _found(self, spark: Any) -> Sums:
        """What the table holds. A window that is there twice has the wrong sums."""
        described = self._description
        if described.sink_format == "parquet":
            rows = spark.read.parquet(spark_path(described.table))
        else:
            rows = lake_session(described, spark).rows()
        found: Sums = {}
        for row in rows.selectExpr("unix_seconds(window_start) as at", "city", "visits", "total").collect():
            window = (row["at"] - int(START.timestamp()), row["city"])
            count, total = found.get(window, (0, 0))
            found[window] = (count + row["visits"], total + row["total"])
        return found
