"""Puts a pipeline together from its description: a run, a status, a check, a verification."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from odradek.base.clock import SystemClock
from odradek.base.errors import SettingError
from odradek.client.cluster import Offsets
from odradek.records.columnar.varints import Longs
from odradek.spark.offset_ranges import OffsetRange
from odradek.spark.pipeline.compaction import Compacted, Upkeep, compact
from odradek.spark.pipeline.dead_letter_topic import TableLetters, check_letters_topic
from odradek.spark.pipeline.description import (
    NO_COMPACTION,
    TOPIC,
    Description,
    check_transforms,
    read_fields,
)
from odradek.spark.pipeline.engine import BrokersAway, Engine, Replayed, Step, Tell, Topics
from odradek.spark.pipeline.fields import Fields
from odradek.spark.pipeline.lake import LakeTable
from odradek.spark.pipeline.ledger import Commit, Table, TableRefused
from odradek.spark.pipeline.planning import View, lag, partition_offsets
from odradek.spark.pipeline.stage_state import StageState, stages_of
from odradek.spark.pipeline.topic_counting import verify_topic
from odradek.spark.pipeline.topic_sink import TopicTable, check_sink_topic
from odradek.spark.pipeline.topics import ClusterTopics, source_options
from odradek.spark.pipeline.transforms import has_windows
from odradek.spark.pipeline.verifying import Findings, verify
from odradek.spark.range_reader import read_range
from odradek.spark.source_options import parse_options

if TYPE_CHECKING:
    from odradek.spark.pipeline.doctor import Finding
    from odradek.spark.pipeline.figures import Figures


@dataclass(frozen=True, slots=True)
class Status:
    """How far a pipeline got."""

    last: Commit | None
    """The last commit; None for an empty table."""
    lag: Offsets
    """The offsets of each partition that are not in the table yet."""


class Batches(Protocol):
    """What runs batches: an engine."""

    def run_batch(self) -> bool:
        """Run one batch, if there is anything to read; whether there was.

        Raises BrokersAway, OdradekError.
        """


@contextmanager
def opened(
    description: Description,
    tell: Tell,
    reached: Callable[[Step], None] = lambda step: None,
    spark: Any = None,
    compacted: Callable[[Compacted], None] = lambda done: None,
    figures: Figures | None = None,
) -> Iterator[Engine]:
    """The engine of a run, with the table locked and Spark started, or in the session `spark`.

    `compacted` is called after each compaction of the table, `figures` counts what the run does.
    Raises OdradekError.
    """
    from odradek.spark.pipeline.executors import Executors
    from odradek.spark.pipeline.formats import compactor_of, lake_session, table_of
    from odradek.spark.pipeline.spark_job import SparkJob

    with table_of(description) as table:
        table.open_for_writing()
        topics: Topics = ClusterTopics(description)
        if figures is not None:
            from odradek.spark.pipeline.figures import MeasuredTell, MeasuredTopics

            figures.started(table.last())
            tell, topics = MeasuredTell(tell, figures), MeasuredTopics(topics, figures)
        topics.view()  # what is wrong with topics or brokers is said before Spark starts
        if isinstance(table, TopicTable):
            table.begin_sending()
        with ExitStack() as stack:
            session = stack.enter_context(_session(description, spark))
            executors = Executors(session, description.format, tell.warned)
            stack.enter_context(executors.watched())
            job = SparkJob(description, session, table.ledger, executors.check)
            state = StageState(table.ledger)
            stages = stages_of(description.transforms)
            upkeep: list[Callable[[Commit], None]] = []
            if stages:
                upkeep.append(lambda commit: state.forget_before(commit.batch))
            compaction = None
            if isinstance(table, LakeTable) and not isinstance(table, TopicTable):
                lake = lake_session(description, session)
                table.begin(lake)
                compactor = compactor_of(description, lake)
                compaction = Upkeep(table, compactor, description.compaction, compacted, tell.warned)
            if description.letters_topic and not isinstance(table, TopicTable):
                letters = stack.enter_context(TableLetters(description, table.ledger))
                letters.begin()
                upkeep.append(lambda commit: letters.send_pending())
            if compaction is not None:
                upkeep.append(compaction)

            last = table.last()
            state.check(last, stages)
            if stages and last is not None:
                state.forget_before(last.batch)

            def kept_up(commit: Commit) -> None:
                for one in upkeep:
                    one(commit)

            yield Engine(description, table, topics, job, SystemClock(), tell, reached, kept_up)


@contextmanager
def opened_together(
    descriptions: Sequence[Description],
    tell_of: Callable[[Description], Tell],
    compacted_of: Callable[[Description], Callable[[Compacted], None]],
) -> Iterator[list[Engine]]:
    """The engines of several runs, which share a Spark session and must take turns. Raises OdradekError."""
    from odradek.spark.pipeline.formats import session_for
    from odradek.spark.pipeline.interrupts import stop

    session = session_for(descriptions)
    try:
        with ExitStack() as stack:
            yield [
                stack.enter_context(opened(one, tell_of(one), spark=session, compacted=compacted_of(one)))
                for one in descriptions
            ]
    finally:
        stop(session)


@contextmanager
def figures_served(description: Description, port: int) -> Iterator[tuple[Figures, str]]:
    """Figures for Prometheus, on that port of loopback or any free one (0), and the address.

    Raises OdradekError.
    """
    from odradek.spark.pipeline.figures import Figures
    from odradek.spark.pipeline.figures_listener import served

    figures = Figures(description.name, SystemClock())
    with served(port, figures.text) as address:
        yield figures, address


def replay_table(description: Description, tell: Tell, spark: Any = None) -> Replayed:
    """Take dead letters back into the table, which no run may be writing. Raises OdradekError."""
    with opened(description, tell, spark=spark) as engine:
        return engine.replay()


def compact_table(
    description: Description, spark: Any = None, warn: Callable[[str], None] = lambda sentence: None
) -> Compacted:
    """Compact the table, which no run may be writing; see `compaction`. Raises OdradekError.

    `warn` is called with what the session waits for.
    """
    from odradek.spark.pipeline.executors import Executors
    from odradek.spark.pipeline.formats import compactor_of, lake_session, table_of

    if description.sink_format == TOPIC:
        raise SettingError(
            f"topic {description.sink_topic} is not compacted by a pipeline: its brokers compact it, if its"
            " cleanup.policy says so"
        )
    with table_of(description) as table:
        if not isinstance(table, LakeTable):
            raise SettingError(f"{description.table} cannot be compacted: {NO_COMPACTION}")
        table.open_for_writing()
        with _session(description, spark) as session:
            lake = lake_session(description, session)
            table.begin(lake)
            tried = table.stage()
            executors = Executors(session, description.format, warn)
            executors.check(tried)
            table.discard(tried)
            with executors.watched():
                return compact(table, compactor_of(description, lake), description.compaction)


@contextmanager
def _session(description: Description, given: Any) -> Iterator[Any]:
    """The session that is given, or one of its own."""
    from odradek.spark.pipeline.formats import session_for
    from odradek.spark.pipeline.interrupts import stop

    if given is not None:
        yield given
        return
    session = session_for([description])
    try:
        yield session
    finally:
        stop(session)


def run_until(
    turns: Sequence[tuple[Batches, float]],
    ended: threading.Event,
    warn: Callable[[str], None] = lambda sentence: None,
) -> None:
    """Run batches until `ended` is set; the engine that has waited longest comes next. Raises OdradekError.

    Each engine is beside its interval: the shortest time, in seconds, between the starts of two batches.
    Between two batches the run waits for brokers that do not answer; `warn` is called once with a sentence.
    """
    clock = SystemClock()
    due_ms = [float(clock.monotonic_ms())] * len(turns)
    away: set[int] = set()
    while not ended.is_set():
        place = min(range(len(turns)), key=due_ms.__getitem__)
        if ended.wait(max(0.0, due_ms[place] - clock.monotonic_ms()) / 1000):
            return
        engine, interval_s = turns[place]
        started_ms = clock.monotonic_ms()
        try:
            engine.run_batch()
        except BrokersAway as error:
            if place not in away:
                warn(f"{error}; the run goes on when the brokers answer again")
            away.add(place)
        else:
            away.discard(place)
        due_ms[place] = max(started_ms + interval_s * 1000, clock.monotonic_ms() + _PAUSE_MIN_MS)


# The pause of a loop without an interval, so that an idle pipeline does not occupy a broker.
_PAUSE_MIN_MS = 50


def status_of(description: Description) -> Status:
    """How far the pipeline got, from its table and the topics. Raises OdradekError."""
    from odradek.spark.pipeline.formats import table_of

    last = table_of(description).last()
    view = ClusterTopics(description).view()
    position = partition_offsets(last.following) if last else {}
    return Status(last, lag(position, view))


def check(description: Description) -> tuple[View, Fields, bool]:
    """The topics' ends, the fields, and whether these are inferred just now. Raises OdradekError.

    Nothing is written; a run infers the fields again, and keeps them.
    """
    from odradek.spark.pipeline.formats import table_of

    check_transforms(description)
    topics = ClusterTopics(description)
    view = topics.view()
    if description.sink_format == TOPIC:
        check_sink_topic(description)
    check_letters_topic(description)
    table = table_of(description)
    table.last()
    table.check_place()
    fields = read_fields(description)
    if fields or description.format != "json":
        return view, fields, False
    ranges = [
        OffsetRange(partition, view.earliest[partition], end)
        for partition, end in sorted(view.latest.items())
        if end > view.earliest[partition]
    ]
    return view, topics.sample(ranges), True


def diagnose(description: Description) -> list[Finding]:
    """What a run needs and would meet; see `doctor`."""
    from odradek.spark.pipeline.doctor import examine

    return examine(description, ClusterTopics(description))


def verify_table(
    description: Description, spark: Any = None, warn: Callable[[str], None] = lambda sentence: None
) -> Findings:
    """Count the sink and the topic of dead letters against the topics. Raises OdradekError.

    `warn` is called with what the session waits for.
    """
    from odradek.spark.pipeline.formats import table_of
    from odradek.spark.pipeline.topic_letters_proof import check_letters

    found = _verify_sink(description, spark, warn)
    if description.letters_topic:
        check_letters(found, description, table_of(description).ledger)
    return found


def _verify_sink(description: Description, spark: Any, warn: Callable[[str], None]) -> Findings:
    """Count the sink against its topics; see `verifying`."""
    reading = parse_options(
        source_options(description) | {"subscribe": ",".join(description.topics), "failOnDataLoss": "false"}
    ).reading

    def read_offsets(wanted: OffsetRange) -> Iterator[Longs]:
        for rows in read_range(wanted, reading):
            yield rows.column("offset").to_numpy()

    from odradek.spark.pipeline.executors import Executors
    from odradek.spark.pipeline.formats import lake_session, table_of

    table = table_of(description)
    view = ClusterTopics(description).view()
    is_one_to_one = not description.transforms
    if isinstance(table, Table):
        return verify(table, view, read_offsets, is_one_to_one=is_one_to_one)
    last = table.last()
    if last is not None and last.batch not in table.batches():
        raise TableRefused(
            f"batch {last.batch} was committed by a run that ended before it could record that:"
            " let the pipeline run once, then verify"
        )
    if isinstance(table, TopicTable):
        return verify_topic(description, table, view, read_offsets)
    with ExitStack() as stack:
        session = stack.enter_context(_session(description, spark))
        executors = Executors(session, description.format, warn)
        executors.check(None)
        stack.enter_context(executors.watched())
        lake = lake_session(description, session)
        is_countable = not has_windows(description.transforms)
        rows = lake.offsets(partition_offsets(last.following)) if last and is_countable else None
        found = verify(table.ledger, view, read_offsets, is_one_to_one=is_one_to_one, rows=rows)
        if description.keying.columns and last is not None:
            _prove_keys(found, description, table.ledger, view, lake.rows())
        return found


def _prove_keys(found: Findings, description: Description, ledger: Table, view: View, rows: Any) -> None:
    """Note what a table with keys has other than it should; see `key_proof`. Raises OdradekError."""
    from odradek.spark.pipeline.key_proof import prove_keys, prove_single_rows
    from odradek.spark.pipeline.spark_job import SparkJob

    keying = description.keying
    if not set(keying.columns) <= set(rows.columns):
        return  # no batch has had rows yet
    prove_single_rows(found, rows, keying.columns)
    if found.faults or keying.is_transformed:
        return  # without its ledger, or behind transforms, nothing says which rows should be there
    prove_keys(found, SparkJob(description, rows.sparkSession), keying, ledger, view, rows)
