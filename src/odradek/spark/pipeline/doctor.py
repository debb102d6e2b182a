"""Looks at everything that a run needs, and says in one sentence each what is there or what is wrong.

It starts no Spark, fetches nothing and changes nothing, so that it may be asked beside a run.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Final

from odradek.base.errors import OdradekError
from odradek.spark.java_home import find_java_home, java_version
from odradek.spark.pipeline.dead_letter_topic import check_letters_topic, guarantee_of
from odradek.spark.pipeline.description import TOPIC, Description, check_transforms, read_fields
from odradek.spark.pipeline.engine import Topics
from odradek.spark.pipeline.formats import LAKES, table_of
from odradek.spark.pipeline.lake import LakeTable
from odradek.spark.pipeline.ledger import Commit
from odradek.spark.pipeline.planning import View, lag, partition_offsets, plan_batch
from odradek.spark.pipeline.stage_state import StageState, stages_of
from odradek.spark.pipeline.topic_sink import check_sink_topic
from odradek.spark.session import cache_directory

# The releases of pyspark that all formats work with.
PYSPARK: Final = "4.1."


@dataclass(frozen=True, slots=True)
class Finding:
    """What one look found."""

    subject: str
    sentence: str
    is_good: bool = True


def examine(description: Description, topics: Topics) -> list[Finding]:
    """All findings, in the order in which a run would meet them."""
    found = [
        _looked("pyspark", lambda: _pyspark(version)),
        _looked("java", _java),
        _looked("jars", lambda: _jars(description)),
        _looked("fields", lambda: _fields(description)),
        _looked("transforms", lambda: _transforms(description)),
        _looked("topic" if description.sink_topic else "table", lambda: _sink(description)),
        _looked("lock", lambda: _lock(description)),
    ]
    if description.letters_topic:
        found.append(_looked("dead letters", lambda: _letters(description)))
    return [*found, *_of_topics(description, topics)]


def _looked(subject: str, look: Callable[[], str]) -> Finding:
    try:
        return Finding(subject, look())
    except (OdradekError, OSError) as error:
        return Finding(subject, str(error), is_good=False)


def _pyspark(version_of: Callable[[str], str]) -> str:
    try:
        there = version_of("pyspark")
    except PackageNotFoundError:
        raise OdradekError("pyspark is not installed: pip install 'odradek[spark]'") from None
    if not there.startswith(PYSPARK):
        raise OdradekError(
            f"version {there} is installed, and pipelines need {PYSPARK}x: pip install 'odradek[spark]'"
        )
    return f"version {there}"


def _java() -> str:
    home = find_java_home(cache_directory())
    return f"version {java_version(home / 'bin' / 'java')} in {home}"


def _jars(description: Description) -> str:
    jars = [jar for one in description.table_formats if one in LAKES for jar in LAKES[one].jars]
    if not jars:
        return f"none are needed for {'a topic' if description.sink_format == TOPIC else 'Parquet'}"
    directory = cache_directory() / "jars"
    missing = [one.file for one in jars if not (directory / one.file).is_file()]
    if missing:
        return f"the next run fetches {', '.join(missing)}"
    return f"{', '.join(one.file for one in jars)} in {directory}"


def _fields(description: Description) -> str:
    fields = read_fields(description)
    if description.format == "raw":
        return "the bytes of each record, undecoded"
    return ", ".join(f"{name} ({kind})" for name, kind in fields.items()) or "none known yet"


def _transforms(description: Description) -> str:
    check_transforms(description)
    stages = stages_of(description.transforms)
    kept = f"; with state: {len(stages)}" if stages else ""
    return f"{len(description.transforms)} of them{kept}" if description.transforms else "none"


def _sink(description: Description) -> str:
    kept, empty = str(description.table), "is empty"
    if description.sink_topic:
        check_sink_topic(description)
        kept, empty = f"{description.sink_topic} (ledger in {description.table})", "has no batch yet"
    table = table_of(description)
    last = table.last()
    table.check_place()
    if last is None:
        return f"{kept} {empty}"
    if last.batch in table.batches():  # otherwise the next run records the batch, and its state with it
        StageState(table.ledger).check(last, stages_of(description.transforms))
    return f"{kept} is at batch {last.batch:,}; records so far: {last.records_total:,}"


def _letters(description: Description) -> str:
    check_letters_topic(description)
    return f"{description.letters_topic}, {guarantee_of(description)}"


def _lock(description: Description) -> str:
    table = table_of(description)
    holder = (table.ledger if isinstance(table, LakeTable) else table).holder()
    kept = "topic" if description.sink_topic else "table"
    return f"a run is writing the {kept}, process {holder}" if holder else f"no run is writing the {kept}"


def _of_topics(description: Description, topics: Topics) -> Iterator[Finding]:
    """What the brokers say, and whether the next batch can be read; the latter only if they say anything."""
    try:
        view = topics.view()
    except (OdradekError, OSError) as error:
        yield Finding("topics", str(error), is_good=False)
        return
    yield Finding("topics", f"{', '.join(description.topics)}; partitions: {len(view.latest)}")
    yield _looked("next batch", lambda: _next_batch(description, view))


def _next_batch(description: Description, view: View) -> str:
    last: Commit | None
    try:
        last = table_of(description).last()
    except OdradekError:
        kept = "topic" if description.sink_topic else "table"
        raise OdradekError(f"cannot be planned, because of the {kept}") from None
    if last is None:
        return f"begins at the {'ends' if description.starts_at_latest else 'starts'} of the partitions"
    position = partition_offsets(last.following)
    plan = plan_batch(
        view,
        position,
        None,
        description.records_max,
        topic_ids=last.topic_ids,
        may_lose=description.continues_after_loss,
    )
    ranges = sum(one.end - one.start for one in plan.ranges)
    return f"offsets to read: {ranges:,}; lag {sum(lag(position, view).values()):,}"
