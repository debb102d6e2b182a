"""The formats of tables: of each its sink, its jars and what its session needs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from odradek.base.errors import SettingError
from odradek.spark.java_home import find_java_home
from odradek.spark.lake_jars import DELTA, ICEBERG, Jar, ivy_fetch, jars_in
from odradek.spark.pipeline import delta, iceberg
from odradek.spark.pipeline.compaction import Compactor
from odradek.spark.pipeline.delta_compaction import DeltaCompactor
from odradek.spark.pipeline.description import TOPIC, Description
from odradek.spark.pipeline.iceberg_compaction import IcebergCompactor
from odradek.spark.pipeline.interrupts import own_interrupts
from odradek.spark.pipeline.lake import LakeState, LakeTable
from odradek.spark.pipeline.lake_rows import LakeSession
from odradek.spark.pipeline.ledger import Table
from odradek.spark.pipeline.topic_sink import TopicTable
from odradek.spark.session import cache_directory, spark_session


@dataclass(frozen=True, slots=True)
class LakeFormat:
    """What is particular to one lake format."""

    jars: Sequence[Jar]
    read_state: Callable[[Path], LakeState]
    session: type[LakeSession]
    compactor: Callable[[Any], Compactor]
    """Makes the compactor of a table from its session."""
    settings: dict[str, str] = field(default_factory=dict)


LAKES: Final[dict[str, LakeFormat]] = {
    "delta": LakeFormat(DELTA, delta.read_delta_state, delta.DeltaWriter, DeltaCompactor, delta.SETTINGS),
    "iceberg": LakeFormat(
        ICEBERG, iceberg.read_iceberg_state, iceberg.IcebergWriter, IcebergCompactor, iceberg.SETTINGS
    ),
}


_LISTS: Final = ("spark.jars", "spark.sql.extensions")
"""Settings whose values are lists, separated by commas."""


def table_of(description: Description) -> Table | LakeTable:
    """The sink that the description names."""
    if description.sink_format == TOPIC:
        return TopicTable(description)
    lake = LAKES.get(description.sink_format)
    if lake is None:
        return Table(description.table, description.name)
    return LakeTable(description.table, description.name, lake.read_state)


def session_settings(formats: Sequence[str]) -> dict[str, str]:
    """What a session needs for these formats; missing jars are fetched. Raises OdradekError."""
    lakes = [LAKES[one] for one in dict.fromkeys(formats) if one in LAKES]
    if not lakes:
        return {}
    cache = cache_directory()
    wanted = [jar for lake in lakes for jar in lake.jars]
    jars = jars_in(cache, wanted, ivy_fetch(find_java_home(cache)))
    settings: dict[str, str] = {"spark.jars": ",".join(str(one) for one in jars)}
    for lake in lakes:
        for name, value in lake.settings.items():
            settings[name] = f"{settings[name]},{value}" if name in settings else value
    return settings


def session_for(descriptions: Sequence[Description]) -> Any:
    """A Spark session for the tables that these pipelines write and join. Raises OdradekError."""
    first = descriptions[0]
    for one in descriptions[1:]:
        if (one.master, one.spark_settings) != (first.master, first.spark_settings):
            raise SettingError(
                f"{first.file} and {one.file} differ in [spark]: pipelines of one run share a Spark"
            )
    formats = [name for one in descriptions for name in one.table_formats]
    settings = with_settings(session_settings(formats), first.spark_settings)
    with own_interrupts():
        return spark_session(
            " ".join(one.name for one in descriptions), master=first.master, settings=settings
        )


def with_settings(ours: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    """What formats need, and what a description gives. Raises SettingError where it takes that away."""
    found = dict(ours)
    for name, value in given.items():
        if name in ours and name.startswith("spark.sql.catalog."):
            raise SettingError(f"spark.settings cannot have {name}: the format of the table has that catalog")
        found[name] = f"{ours[name]},{value}" if name in ours and name in _LISTS else value
    return found


def lake_session(description: Description, spark: Any) -> LakeSession:
    """The table of a lake format in this session."""
    lake = LAKES[description.sink_format]
    return lake.session(spark, description.table, description.partition_by)


def compactor_of(description: Description, session: LakeSession) -> Compactor:
    """What compacts the table of a lake format in this session."""
    return LAKES[description.sink_format].compactor(session)
