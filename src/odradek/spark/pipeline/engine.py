"""The loop of a pipeline: plan the next offsets, have their rows written, commit rows and offsets as one.

The engine reaches the cluster, Spark, the table and the clock through ports. Each step of a batch is
announced through `reached`; a test ends the run there, as a kill would. Whatever step that is, the next run
finds either the whole batch or nothing of it:

    PLANNED → STAGED → WRITTEN → SEALED → PUBLISHED → GROUP_COMMITTED

The consumer group comes last and is for tools that show lag; the pipeline never reads it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import Protocol

from odradek.base.clock import Clock
from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError, OdradekError
from odradek.client.cluster import Offsets
from odradek.spark.offset_ranges import OffsetRange
from odradek.spark.pipeline.dead_letters import open_letters
from odradek.spark.pipeline.description import Description, read_fields, write_fields
from odradek.spark.pipeline.fields import Fields
from odradek.spark.pipeline.ledger import Commit, Table, TableRefused
from odradek.spark.pipeline.planning import (
    Plan,
    View,
    is_reached,
    lag,
    nested_offsets,
    partition_offsets,
    plan_batch,
)
from odradek.spark.pipeline.stage_state import stages_of

# How often one batch may be written because it brought new fields; each time there is at least one.
WRITES_MAX = 5


class TooManyDeadLetters(OdradekError):
    """A batch has more unreadable records than the description allows; nothing of it was committed."""


class BrokersAway(ApiError):
    """The brokers do not say how far the topics are; nothing was begun."""


class Step(Enum):
    """What has just been done to a batch."""

    PLANNED = "planned"
    STAGED = "staged"
    WRITTEN = "written"
    SEALED = "sealed"
    PUBLISHED = "published"
    GROUP_COMMITTED = "group committed"


@dataclass(frozen=True, slots=True)
class Written:
    """What a job wrote into a staging directory."""

    records: int
    rows: int
    dead_letters: int
    files: dict[str, int]
    keeps_origin: bool
    first_error: str = ""
    """The first dead letter in words, with its place; "" without any."""
    deletes: int = 0
    superseded: int = 0
    ignored: int = 0
    late: int = 0
    """Rows that came too late for a stage, once for each window that they were too late for."""
    state: str = ""
    """The digest of what the stages keep for the next batch; "" if they keep nothing."""
    new_fields: Fields = field(default_factory=dict)
    """Fields that records have and the table lacks. If there are any, the files lack them."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """What a replay did with the open dead letters."""

    letters: int
    """How many were open."""
    remaining: int
    """How many of them still cannot be read."""
    commit: Commit | None
    """The batch that the others are in now; None if there are no others, and nothing was committed."""
    first_error: str = ""
    """The first of the remaining ones in words, with its place; "" without any."""


class Topics(Protocol):
    """What is known of the topics."""

    def view(self) -> View:
        """The ends of all partitions now. Raises OdradekError."""

    def sample(self, ranges: Sequence[OffsetRange]) -> Fields:
        """The fields of the first records of these ranges; empty without records."""

    def commit_to_group(self, offsets: Offsets) -> None:
        """Write the offsets to the consumer group. Raises OdradekError."""


class Sink(Protocol):
    """The table that batches go to, one after the other; open for writing."""

    @property
    def directory(self) -> Path:
        """Where the table is."""

    @property
    def ledger(self) -> Table:
        """The directory of its batches and their dead letters."""

    def last(self) -> Commit | None:
        """What the last batch of the table says of itself, None for an empty table. Raises TableRefused."""

    def stage(self) -> Path:
        """A new directory for a batch that is being written."""

    def discard(self, staging: Path) -> None:
        """Remove a batch that will not be committed."""

    def seal(self, staging: Path, commit: Commit) -> None:
        """Make a staged batch durable; it may be published now."""

    def publish(self, staging: Path, commit: Commit) -> None:
        """Make a sealed batch visible, rows and offsets at once. Raises OdradekError."""


class Job(Protocol):
    """Writes the rows of a batch."""

    def write(self, ranges: Sequence[OffsetRange], fields: Fields, directory: Path) -> Written:
        """Write rows and dead letters of these ranges, if any, into `directory`, which is empty."""

    def replay(self, letters: Sequence[Path], fields: Fields, directory: Path) -> Written:
        """Write what the dead letters in these files become into `directory`, which is empty."""


class Tell(Protocol):
    """Hears how a run goes."""

    def committed(self, commit: Commit, records_behind: int) -> None:
        """Called after each commit; `records_behind` counts the offsets that are still to be read."""

    def warned(self, sentence: str) -> None:
        """Called for what does not end the run."""


class Engine:
    """One run of a pipeline, on a table that is open for writing."""

    def __init__(
        self,
        description: Description,
        table: Sink,
        topics: Topics,
        job: Job,
        clock: Clock,
        tell: Tell,
        reached: Callable[[Step], None] = lambda step: None,
        upkeep: Callable[[Commit], None] = lambda commit: None,
    ) -> None:
        self._description = description
        self._table = table
        self._topics = topics
        self._job = job
        self._clock = clock
        self._tell = tell
        self._reached = reached
        # Called when a batch is done; may change the table's files, and none of its rows.
        self._upkeep = upkeep
        # The last commit of the table; None while it has none.
        self._last = table.last()
        # Where the first batch begins; set once, when the table has no commit yet.
        self._first: Offsets | None = None
        self._fields = read_fields(description)
        self._check_types()
        self._check_key()

    @property
    def position(self) -> Offsets | None:
        """The next offset of each partition, from the table alone; None for an empty table."""
        return None if self._last is None else partition_offsets(self._last.following)

    def run_once(self) -> int:
        """Read up to the ends as of now; returns the number of batches. Raises OdradekError."""
        bound = self._view().latest
        batches = 0
        while self.run_batch(bound):
            batches += 1
            if is_reached(self.position or {}, bound):
                break
        return batches

    def run_batch(self, bound: Offsets | None = None) -> bool:
        """Read and commit one batch, if there is anything to read. Raises BrokersAway, OdradekError."""
        started_ms = self._clock.monotonic_ms()
        view = self._view()
        plan = self._plan(view, bound)
        is_first_mark = self._last is None and self._description.starts_at_latest
        if not plan.ranges and not plan.holes and not is_first_mark:
            return False
        self._reached(Step.PLANNED)
        self._learn_fields(plan)
        staging, written = self._write(lambda directory: self._write_ranges(plan, directory))
        self._reached(Step.WRITTEN)
        commit = self._commit_of(plan, view, written, started_ms)
        self._publish(staging, commit)
        self._commit_to_group(plan)
        self._reached(Step.GROUP_COMMITTED)
        self._tell.committed(commit, sum(lag(plan.following, view).values()))
        self._upkeep(commit)
        return True

    def replay(self) -> Replayed:
        """Take back the dead letters that can be read now, each once. Raises OdradekError."""
        if self._description.keying.columns:
            raise TableRefused(
                f"{self._table.directory} has one row for each key, and dead letters cannot be taken back"
                " there: they may be older than a record that deleted the row of their key, which leaves no"
                " trace; mend the description, and begin a new table from the topics"
            )
        started_ms = self._clock.monotonic_ms()
        letters = open_letters(self._table.ledger)
        before = self._last
        if before is None or not letters.count:
            return Replayed(0, 0, None)
        self._reached(Step.PLANNED)
        staging, written = self._write(
            lambda directory: self._job.replay(letters.files, self._fields, directory)
        )
        self._reached(Step.WRITTEN)
        if written.records != letters.count:
            self._table.discard(staging)
            raise TableRefused(
                f"{written.records:,} dead letters were read, where {letters.count:,} were open;"
                " nothing was committed"
            )
        if written.dead_letters == written.records:
            self._table.discard(staging)
            return Replayed(letters.count, letters.count, None, written.first_error)
        commit = replace(
            before,
            batch=before.batch + 1,
            ranges={},
            holes={},
            fields=dict(self._fields),
            records=written.records,
            rows=written.rows,
            dead_letters=written.dead_letters,
            files=written.files,
            dead_letters_total=written.dead_letters,
            committed_at_ms=self._clock.wall_ms(),
            took_ms=self._clock.monotonic_ms() - started_ms,
            keeps_origin=written.keeps_origin,
            deletes=written.deletes,
            superseded=written.superseded,
            ignored=written.ignored,
            late=written.late,
            late_total=written.late + before.late_total,
            stages=stages_of(self._description.transforms),
            state=written.state,
            is_replay=True,
            may_repeat=self._description.may_repeat,
            letters_topic="",
        )
        self._publish(staging, commit)
        self._upkeep(commit)
        return Replayed(letters.count, written.dead_letters, commit, written.first_error)

    def _publish(self, staging: Path, commit: Commit) -> None:
        try:
            self._table.seal(staging, commit)
        except OdradekError:  # as for a full disk, which gets its room back
            self._table.discard(staging)
            raise
        self._reached(Step.SEALED)
        self._table.publish(staging, commit)
        self._last = commit
        self._reached(Step.PUBLISHED)

    def _view(self) -> View:
        try:
            return self._topics.view()
        except ApiError as error:
            if error.code is ErrorCode.NETWORK_EXCEPTION or error.code.is_retriable:
                raise BrokersAway(error.code, str(error)) from error
            raise

    def _plan(self, view: View, bound: Offsets | None) -> Plan:
        described = self._description
        position = self.position
        if position is None:
            if self._first is None:
                self._first = dict(view.latest if described.starts_at_latest else view.earliest)
            position = self._first
        return plan_batch(
            view,
            position,
            bound,
            described.records_max,
            topic_ids=self._last.topic_ids if self._last else {},
            may_lose=described.continues_after_loss,
        )

    def _learn_fields(self, plan: Plan) -> None:
        """Infer the fields from the first records, if none are known yet, and keep them."""
        if self._description.format == "json" and not self._fields and plan.ranges:
            self._keep_fields(self._topics.sample(plan.ranges))

    def _keep_fields(self, fields: Fields) -> None:
        self._fields = self._fields | fields
        write_fields(self._description, self._fields)

    def _write(self, write: Callable[[Path], Written]) -> tuple[Path, Written]:
        """Have a batch written into a staging directory, again with each new field it shows."""
        for _ in range(WRITES_MAX):
            staging = self._table.stage()
            self._reached(Step.STAGED)
            try:
                written = write(staging)
            except OdradekError:
                self._table.discard(staging)
                raise
            if not written.new_fields:
                return staging, written
            self._table.discard(staging)
            self._keep_fields(written.new_fields)
            names = ", ".join(f"{name} ({kind})" for name, kind in written.new_fields.items())
            self._tell.warned(f"new fields are added: {names}")
        raise TableRefused(f"a batch still shows new fields after it was written {WRITES_MAX} times")

    def _write_ranges(self, plan: Plan, staging: Path) -> Written:
        written = self._job.write(plan.ranges, self._fields, staging)
        self._check_dead_letters(written)
        return written

    def _check_dead_letters(self, written: Written) -> None:
        most = self._description.dead_letters_max
        if written.dead_letters > most:
            raise TooManyDeadLetters(
                f"{written.dead_letters:,} records of the batch cannot be read, more than the {most:,} of"
                " max_per_batch in [dead_letters], and nothing of it was committed;"
                f" the first: {written.first_error}"
            )

    def _commit_of(self, plan: Plan, view: View, written: Written, started_ms: int) -> Commit:
        before = self._last
        return Commit(
            pipeline=self._description.name,
            batch=before.batch + 1 if before else 1,
            ranges=_nested(plan.ranges),
            holes=_nested(plan.holes),
            following=nested_offsets(plan.following),
            topic_ids=dict(view.topic_ids),
            fields=dict(self._fields),
            records=written.records,
            rows=written.rows,
            dead_letters=written.dead_letters,
            files=written.files,
            records_total=written.records + (before.records_total if before else 0),
            dead_letters_total=written.dead_letters + (before.dead_letters_total if before else 0),
            committed_at_ms=self._clock.wall_ms(),
            took_ms=self._clock.monotonic_ms() - started_ms,
            keeps_origin=written.keeps_origin,
            key=self._description.keying.columns,
            deletes=written.deletes,
            superseded=written.superseded,
            ignored=written.ignored,
            late=written.late,
            late_total=written.late + (before.late_total if before else 0),
            stages=stages_of(self._description.transforms),
            state=written.state,
            may_repeat=self._description.may_repeat,
            letters_topic=self._description.letters_topic,
        )

    def _commit_to_group(self, plan: Plan) -> None:
        try:
            self._topics.commit_to_group(plan.following)
        except OdradekError as error:
            self._tell.warned(f"the batch is committed; its offsets are not in the consumer group: {error}")

    def _check_types(self) -> None:
        """Raises TableRefused if a field of the table has another type now."""
        for name, kind in (self._last.fields if self._last else {}).items():
            if self._fields.setdefault(name, kind) != kind:
                raise TableRefused(
                    f"field {name} is a {kind} in {self._table.directory} and a {self._fields[name]} in"
                    f" {self._description.file}: give it the type that it has, or begin anew with"
                    " another name and sink.path"
                )

    def _check_key(self) -> None:
        """Raises TableRefused if rows were identified by other columns until now."""
        if self._last is None:
            return
        before, now = tuple(self._last.key), self._description.keying.columns
        if before != now:
            raise TableRefused(
                f"{self._table.directory} was written with {_key(before)}, and {self._description.file} has"
                f" {_key(now)}: give it the key that it has, or begin a new table"
            )


def _key(columns: Sequence[str]) -> str:
    return f"the key {', '.join(columns)}" if columns else "no key"


def _nested(ranges: Sequence[OffsetRange]) -> dict[str, dict[str, tuple[int, int]]]:
    found: dict[str, dict[str, tuple[int, int]]] = {}
    for one in ranges:
        topic, number = one.topic_partition
        found.setdefault(topic, {})[str(number)] = (one.start, one.end)
    return found
