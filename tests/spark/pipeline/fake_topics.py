"""Topics in memory and a job without Spark, for tests of the engine; rows are Parquet files."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from odradek.base.clock import ManualClock
from odradek.base.errors import OdradekError
from odradek.base.ids import TopicPartition
from odradek.client.cluster import Offsets
from odradek.records.columnar.varints import Longs
from odradek.spark.offset_ranges import OffsetRange
from odradek.spark.pipeline.decoding import Decoder, decode, documents
from odradek.spark.pipeline.description import Description, read_description
from odradek.spark.pipeline.engine import Engine, Step, Written
from odradek.spark.pipeline.fields import Fields, inferred
from odradek.spark.pipeline.ledger import DEAD_LETTERS, Commit, Table
from odradek.spark.pipeline.planning import View
from odradek.spark.pipeline.verifying import Findings, verify

FLIGHTS = "flights"
DESCRIPTION = """
name = "flights"
[source]
bootstrap_servers = "127.0.0.1:1"
topics = ["flights"]
{source}
[decode]
format = "json"
{decode}
[sink]
path = "table"
{sink}
[batch]
records_max = {records_max}
[dead_letters]
max_per_batch = {dead_letters_max}
"""


def described(
    directory: Path,
    *,
    source: str = "",
    decode: str = "",
    sink: str = "",
    records_max: int = 1000,
    dead_letters_max: int = 1000,
) -> Description:
    file = directory / "flights.toml"
    text = DESCRIPTION.format(
        source=source,
        decode=decode,
        sink=sink,
        records_max=records_max,
        dead_letters_max=dead_letters_max,
    )
    file.write_text(text)
    return read_description(file)


class FakeTopics:
    """One topic whose partitions are lists; None stands for an offset without a visible record."""

    def __init__(self, partitions: int) -> None:
        self.logs: list[list[bytes | None]] = [[] for _ in range(partitions)]
        self.earliest: dict[int, int] = {}
        self.topic_id = "first"
        self.group: Offsets = {}
        self.group_fault = ""

    def view(self) -> View:
        partitions = {TopicPartition(FLIGHTS, number): log for number, log in enumerate(self.logs)}
        earliest = {part: self.earliest.get(part.partition, 0) for part in partitions}
        latest = {part: len(log) for part, log in partitions.items()}
        return View(earliest, latest, {FLIGHTS: self.topic_id})

    def sample(self, ranges: Sequence[OffsetRange]) -> Fields:
        return inferred(documents([value for one in ranges for _, value in self.records(one)]))

    def commit_to_group(self, offsets: Offsets) -> None:
        if self.group_fault:
            raise OdradekError(self.group_fault)
        self.group = dict(offsets)

    def records(self, wanted: OffsetRange) -> Iterator[tuple[int, bytes | None]]:
        log = self.logs[wanted.topic_partition.partition]
        start = max(wanted.start, self.earliest.get(wanted.topic_partition.partition, 0))
        for offset in range(start, wanted.end):
            value = log[offset]
            if value is not None:
                yield offset, value

    def offsets(self, wanted: OffsetRange) -> Iterator[Longs]:
        yield np.array([offset for offset, _ in self.records(wanted)], dtype=np.int64)


class FakeJob:
    """Decodes with the pipeline's own decoder and writes one file for each partition."""

    def __init__(self, topics: FakeTopics, description: Description) -> None:
        self._topics = topics
        self._description = description

    def write(self, ranges: Sequence[OffsetRange], fields: Fields, directory: Path) -> Written:
        assert not list(directory.iterdir())
        decoder = self._description.decoder(fields)
        done = Written(0, 0, 0, {}, keeps_origin=True)
        for one in ranges:
            done = self._write_range(one, decoder, directory, done)
        return done

    def replay(self, letters: Sequence[Path], fields: Fields, directory: Path) -> Written:
        """Dead letters of this job have no bytes: these are looked up in the topics."""
        decoder = self._description.decoder(fields)
        rows = [row for file in letters for row in pq.ParquetFile(file).read().to_pylist()]
        done = Written(0, 0, 0, {}, keeps_origin=True)
        for number in sorted({row["_partition"] for row in rows}):
            partition = TopicPartition(FLIGHTS, number)
            offsets = sorted(row["_offset"] for row in rows if row["_partition"] == number)
            records = [(offset, self._topics.logs[number][offset]) for offset in offsets]
            done = self._write_records(partition, records, decoder, directory, done)
        return done

    def _write_range(self, one: OffsetRange, decoder: Decoder, directory: Path, before: Written) -> Written:
        records = list(self._topics.records(one))
        return self._write_records(one.topic_partition, records, decoder, directory, before)

    def _write_records(
        self,
        partition: TopicPartition,
        records: Sequence[tuple[int, bytes | None]],
        decoder: Decoder,
        directory: Path,
        before: Written,
    ) -> Written:
        decoded = decode(decoder, [value for _, value in records])
        good = [place for place, error in enumerate(decoded.errors) if error is None]
        dead = [place for place, error in enumerate(decoded.errors) if error is not None]
        files = dict(before.files)
        for places, folder in ((good, ""), (dead, DEAD_LETTERS)):
            if not places:
                continue
            rows = {
                "_topic": [partition.topic] * len(places),
                "_partition": pa.array([partition.partition] * len(places), pa.int32()),
                "_offset": [records[place][0] for place in places],
            }
            if folder:
                rows |= {
                    "_timestamp": pa.array([1_356_998_400_000_000] * len(places), pa.timestamp("us", "UTC")),
                    "_key": pa.array([b"a"] * len(places)),
                    "_error": [decoded.errors[place] for place in places],
                    "_value": pa.array([records[place][1] for place in places], pa.binary()),
                }
            else:
                rows |= {
                    name: [column[place] for place in places] for name, column in decoded.columns.items()
                }
            name = str(Path(folder) / f"part-{partition.partition}.parquet")
            (directory / name).parent.mkdir(exist_ok=True)
            pq.write_table(pa.table(rows), directory / name)
            files[name] = len(places)
        new = {name: kind for some in decoded.new_fields for name, kind in (some or {}).items()}
        first = f"{partition} at offset {records[dead[0]][0]}: {decoded.errors[dead[0]]}" if dead else ""
        return Written(
            before.records + len(records),
            before.rows + len(good),
            before.dead_letters + len(dead),
            files,
            keeps_origin=True,
            first_error=before.first_error or first,
            new_fields=before.new_fields | new,
        )


class Heard:
    """What a run tells."""

    def __init__(self) -> None:
        self.commits: list[Commit] = []
        self.warnings: list[str] = []

    def committed(self, commit: Commit, records_behind: int) -> None:
        self.commits.append(commit)

    def warned(self, sentence: str) -> None:
        self.warnings.append(sentence)


def run(
    description: Description,
    topics: FakeTopics,
    reached: Callable[[Step], None] = lambda step: None,
) -> Heard:
    """One run until the ends of the topics; what `reached` raises ends it as a kill would."""
    heard = Heard()
    with Table(description.table, description.name, synced=lambda path: None) as table:
        table.open_for_writing()
        job = FakeJob(topics, description)
        Engine(description, table, topics, job, ManualClock(), heard, reached).run_once()
    return heard


def verified(description: Description, topics: FakeTopics) -> Findings:
    return verify(
        Table(description.table, description.name), topics.view(), topics.offsets, is_one_to_one=True
    )


def rows_of(description: Description) -> list[dict[str, object]]:
    """All rows of the table, as a reader sees them that knows nothing of pipelines."""
    files = sorted(
        file
        for file in description.table.rglob("*.parquet")
        if not any(part.startswith(("_", ".")) for part in file.relative_to(description.table).parts)
    )
    return [row for file in files for row in pq.ParquetFile(file).read().to_pylist()]
