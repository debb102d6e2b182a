"""A pipeline without stages: each record is a row or a dead letter, and `verify` looks for each of them.

With keys the table has one row for each key, which records replace and delete.
"""

from pathlib import Path
from random import Random
from typing import Any

from campaigns.pipelines.load import send_all
from odradek.spark.pipeline.assembly import verify_table
from odradek.spark.pipeline.description import Description, read_description
from odradek.testing import Broker

_KEY = 'key = "n"\ntombstones = "delete"\n'


class PlainLoad:
    """Numbers, one in ten of which cannot be read or has no value."""

    def __init__(
        self, broker: Broker, sink: str, directory: Path, *, is_keyed: bool = False, spark: str = ""
    ) -> None:
        """`spark` is what the description says of Spark."""
        self._broker = broker
        self._topic = broker.create_topic(partitions=2)
        self._sent = 0
        key_format, key = ('key_format = "text"\n', _KEY) if is_keyed else ("", "")
        written = f'topic = "{broker.create_topic()}"\n' if sink == "topic" else ""
        file = directory / "kills.toml"
        file.write_text(
            f'[source]\nbootstrap_servers = "{broker.bootstrap_servers}"\ntopics = ["{self._topic}"]\n'
            f'[decode]\nformat = "json"\n{key_format}fields = {{ n = "long" }}\n'
            f'[sink]\npath = "table"\nformat = "{sink}"\n{written}{key}[batch]\nrecords_max = 400\n{spark}'
        )
        self._description = read_description(file)

    @property
    def description(self) -> Description:
        """See `Load`."""
        return self._description

    def send(self, chance: Random) -> None:
        """See `Load`."""
        records: list[tuple[bytes | None, bytes, int]] = []
        for number in range(chance.randint(1, 300)):
            drawn = chance.random()
            value = b"broken" if drawn < 0.05 else None if drawn < 0.1 else b'{"n": %d}' % number
            # A few keys are in both partitions.
            records.append((value, b"%d" % number, number % 2 if drawn < 0.95 else 0))
        send_all(self._broker, self._topic, records)
        self._sent += len(records)

    def finish(self) -> None:
        """Nothing is kept."""

    def check(self, spark: Any) -> list[str]:
        """See `Load`."""
        findings = verify_table(self._description, spark)
        faults = list(findings.faults)
        if findings.compared != self._sent:
            faults.append(f"{self._sent} records were sent, and {findings.compared} compared")
        return faults
