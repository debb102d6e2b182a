"""What the cluster says of a pipeline's topics: leaders, offsets, first records, and the consumer group."""

from collections.abc import Sequence
from typing import Final

from odradek.base.offset_timestamps import EARLIEST, LATEST
from odradek.base.uuids import render_uuid
from odradek.client.administering import administering
from odradek.client.cluster import Offsets
from odradek.client.configuration import ClientConfig
from odradek.client.core.admin.groups import alter_group_offsets
from odradek.client.protection import read_protection
from odradek.spark.batch_planning import Planning, with_attempts
from odradek.spark.offset_ranges import OffsetRange
from odradek.spark.pipeline.change_events import open_envelopes
from odradek.spark.pipeline.decoding import documents
from odradek.spark.pipeline.description import Description
from odradek.spark.pipeline.fields import Fields, fault_in_name, inferred
from odradek.spark.pipeline.planning import View
from odradek.spark.source_options import SourceOptions, parse_options

# The records of each partition that fields are inferred from.
SAMPLE_RECORDS: Final = 1000
# Spark plans the read of a batch when it has begun; a broker that restarts then may be away for as long as
# when its records are read (`range_reader.PAUSES_S`), and not end the run.
BATCH_ATTEMPTS: Final = 13


def source_options(description: Description) -> dict[str, str]:
    """The options of the source that are the same for all batches."""
    return {
        "kafka.bootstrap.servers": description.bootstrap_servers,
        "kafka.isolation.level": description.isolation,
        "kafka.client.id": description.group,
        **{f"kafka.{name}": value for name, value in description.protection.items()},
    }


def batch_options(description: Description) -> dict[str, str]:
    """Those of a source that reads a batch, whose ranges are known."""
    return source_options(description) | {"fetchOffset.numRetries": str(BATCH_ATTEMPTS)}


class ClusterTopics:
    """The port `Topics` of the engine, over the network."""

    def __init__(self, description: Description) -> None:
        self._description = description
        self._options: SourceOptions = parse_options(
            source_options(description) | {"subscribe": ",".join(description.topics)}
        )

    def view(self) -> View:
        """The ends of all partitions. Raises SettingError for a topic that does not exist, OdradekError."""

        def ask() -> View:
            planning = Planning(self._options)
            partitions = planning.partitions()
            # Latest first: what comes or is deleted in between leaves earliest <= latest or shows as a hole.
            latest = planning.list_offsets(LATEST, partitions)
            earliest = planning.list_offsets(EARLIEST, partitions)
            latest = {part: max(offset, earliest[part]) for part, offset in latest.items()}
            ids = {topic: render_uuid(one) for topic, one in planning.topic_ids().items() if one.int}
            return View(
                earliest, latest, {topic: ids[topic] for topic in self._description.topics if topic in ids}
            )

        return with_attempts(self._options, ask)

    def sample(self, ranges: Sequence[OffsetRange]) -> Fields:
        """The fields of the first records of these ranges; see `fields.inferred`."""
        from odradek.spark.range_reader import read_range

        values: list[bytes | None] = []
        for one in ranges:
            first = OffsetRange(one.topic_partition, one.start, min(one.end, one.start + SAMPLE_RECORDS))
            for rows in read_range(first, self._options.reading):
                values += rows.column("value").to_pylist()
        if envelope := self._description.keying.envelope:
            values = open_envelopes(envelope, self._description.keying.fields, values).values
        fields: Fields = {}
        for name, kind in inferred(documents(values)).items():
            if not fault_in_name(name, fields):  # such records become dead letters
                fields[name] = kind
        return fields

    def commit_to_group(self, offsets: Offsets) -> None:
        """Set the group's offsets. Raises OdradekError, also when the group has members."""
        security = read_protection(dict(self._description.protection))
        with administering(ClientConfig(self._description.bootstrap_servers, security=security)) as admin:
            admin.carry_out(alter_group_offsets(self._description.group, offsets))
