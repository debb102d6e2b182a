"""Dead letters as records of a topic, each once, beside their files in the ledger.

A record has the key and the value of the record that it is about, as bytes, and headers that say where that
is, what is wrong with it and when it was written. `replay` and `verify` read the files of the ledger, so a
topic that has lost its first records to retention does no harm. A replay sends nothing: its dead letters are
there already.

With a topic as a sink the dead letters are in the transaction of their batch (`topic_sink`). With a table
they follow the commit of their batch, which has them in its ledger: `TableLetters` sends those of the batches
that its note does not name yet, and the new note, in one transaction. So a run that is killed between the two
commits leaves work for the next one, and no letter is lost or sent twice.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from odradek.base.closing import Closing
from odradek.base.errors import ApiError, OdradekError, SettingError
from odradek.client.blocking.producer import Producer
from odradek.spark.brokers import committed_ranges
from odradek.spark.marker_topic import FENCED, Notes, transactional_producer
from odradek.spark.pipeline.dead_letters import checked_files
from odradek.spark.pipeline.description import TOPIC, Description
from odradek.spark.pipeline.ledger import DEAD_LETTERS, Table, TableRefused
from odradek.spark.pipeline.topic_rows import ORIGIN_HEADER, origins_of

ERROR_HEADER: Final = "odradek.error"
TIMESTAMP_HEADER: Final = "odradek.timestamp"
SETTING: Final = "dead_letters.topic"


def check_letters_topic(description: Description) -> None:
    """Raises SettingError for a topic that is not there, or that would lose dead letters; OdradekError."""
    topic = description.letters_topic
    if not topic:
        return
    description.brokers.require_topic(topic, SETTING)
    if description.brokers.is_compacted(topic):
        raise SettingError(
            f"topic {topic}, which {SETTING} names, is compacted: it would lose dead letters for newer ones"
            ' of their keys, and cannot have those without a key; set its cleanup.policy to "delete"'
        )


def guarantee_of(description: Description) -> str:
    """When a dead letter is in the topic, in words."""
    if description.may_repeat:
        return "each at least once, before the offsets of its batch"
    if description.sink_format == TOPIC:
        return "each once, in the transaction of its batch"
    return "each once, after the commit of its batch"


def send_letters(producer: Producer, description: Description, files: list[Path]) -> None:
    """Add the dead letters of these files to the open transaction. Raises ApiError."""
    for letters in tables_of_letters(description, files):
        producer.produce_batch(letters, topic=description.letters_topic)


def tables_of_letters(description: Description, files: list[Path]) -> Iterator[pa.Table]:
    """The dead letters of these files as a producer takes them."""
    for file in files:
        for batch in pq.ParquetFile(file).iter_batches():
            yield letters_to_send(batch, description.name)


def letters_in(staging: Path) -> list[Path]:
    """The files of the dead letters of a batch that is being written."""
    return sorted((staging / DEAD_LETTERS).glob("*.parquet"))


def letters_to_send(letters: pa.RecordBatch, pipeline: str) -> pa.Table:
    """The columns that a producer takes, of those of a ledger's file."""
    times_ms = pc.cast(letters.column("_timestamp").cast(pa.timestamp("ms", "UTC"), safe=False), pa.int64())
    values = {
        ORIGIN_HEADER: origins_of(letters, pipeline),
        ERROR_HEADER: letters.column("_error").cast(pa.binary()),
        TIMESTAMP_HEADER: times_ms.cast(pa.string()).cast(pa.binary()),
    }
    rows, per_row = letters.num_rows, len(values)
    # One row's headers stand together: each column is spread over every third place.
    places = np.arange(rows * per_row).reshape(per_row, rows).T.ravel()
    headers: Any = pa.StructArray.from_arrays(
        [
            pa.array(list(values) * rows, pa.string()),
            pa.concat_arrays(list(values.values())).take(pa.array(places)),
        ],
        names=["key", "value"],
    )
    starts = pa.array(np.arange(rows + 1, dtype=np.int32) * np.int32(per_row))
    return pa.table(
        [letters.column("_key"), letters.column("_value"), pa.ListArray.from_arrays(starts, headers)],
        names=["key", "value", "headers"],
    )


@dataclass(frozen=True, slots=True)
class LetterNote:
    """Up to which batch of which table dead letters were sent."""

    batch: int
    committed_at_ms: int
    """When that batch was committed: another table has no batch of that number and time. 0 for batch 0."""
    starts: Mapping[str, int] = field(default_factory=dict)
    """Of each partition of their topic where those of this table begin; 0 where none is named."""

    def text(self) -> str:
        """The note as the topic keeps it."""
        return json.dumps(asdict(self))

    def is_of(self, ledger: Table) -> bool:
        """Whether it is about this table."""
        if self.batch == 0:
            return True
        return (
            self.batch in ledger.batches()
            and ledger.commit(self.batch).committed_at_ms == self.committed_at_ms
        )


def letter_note_of(text: str | None) -> LetterNote | None:
    """The note that was written as `text`. Raises TableRefused."""
    if text is None:
        return None
    try:
        found = json.loads(text)
        starts = {str(partition): int(start) for partition, start in found.get("starts", {}).items()}
        return LetterNote(int(found["batch"]), int(found["committed_at_ms"]), starts)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise TableRefused("the note on dead letters cannot be read by this version of odradek") from None


def newest_letter_note(description: Description) -> LetterNote | None:
    """What is noted of a table's dead letters, None before the first run. Raises OdradekError."""
    key = _note_key(description.letters_topic)
    return letter_note_of(Notes(description.brokers, description.marker_topic, key).newest())


def _note_key(letters_topic: str) -> str:
    return f"dead letters/{letters_topic}"  # no topic's name has a space


class TableLetters(Closing):
    """Sends the dead letters of a table's ledger to their topic. Sending needs `begin`.

    A topic that is named for a table with batches gets the dead letters of the batches that follow, and so
    does the topic of a table that was begun anew.
    """

    def __init__(self, description: Description, ledger: Table) -> None:
        self._described = description
        self._ledger = ledger
        # None until `begin`.
        self._producer: Producer | None = None
        self._sent = LetterNote(0, 0)

    def begin(self) -> None:
        """Fence the run before, and send what it left. The ledger has all batches. Raises OdradekError."""
        described = self._described
        check_letters_topic(described)
        self._producer = transactional_producer(
            described.brokers, described.marker_topic, f"odradek-pipeline/{described.name}/dead-letters"
        )
        note = newest_letter_note(described)
        if note is None or not note.is_of(self._ledger):
            ranges = committed_ranges(described.brokers.reading(described.letters_topic))
            starts = {str(one.topic_partition.partition): one.end for one in ranges}
            self._send([], self._newest(starts))
        else:
            self._sent = note
        self.send_pending()

    def close(self) -> None:
        """Let go of the producer."""
        if self._producer is not None:
            self._producer.close()
            self._producer = None

    def send_pending(self) -> None:
        """Send the dead letters of all batches that have not been sent. Raises OdradekError."""
        newest = self._newest(self._sent.starts)
        if newest == self._sent:
            return
        files: list[Path] = []
        for batch in self._ledger.batches():
            if batch > self._sent.batch and not (commit := self._ledger.commit(batch)).is_replay:
                files += checked_files(self._ledger, commit)
        # Without files, too, so that no later run has to look at these batches again.
        self._send(files, newest)

    def _newest(self, starts: Mapping[str, int]) -> LetterNote:
        last = self._ledger.last()
        return LetterNote(last.batch, last.committed_at_ms, starts) if last else LetterNote(0, 0, starts)

    def _send(self, files: list[Path], note: LetterNote) -> None:
        producer, described = self._producer, self._described
        assert producer is not None, "the topic of the dead letters is not open for writing"
        try:
            producer.begin_transaction()
            try:
                send_letters(producer, described, files)
                producer.send(
                    described.marker_topic,
                    value=note.text().encode(),
                    key=_note_key(described.letters_topic).encode(),
                )
            except BaseException:
                producer.abort_transaction()
                raise
            producer.commit_transaction()
        except ApiError as error:
            if error.code in FENCED:
                raise TableRefused(
                    f"another run of pipeline {described.name} has begun to write topic"
                    f" {described.letters_topic}; it sends the dead letters up to batch {note.batch}"
                ) from error
            raise OdradekError(
                f"the rows up to batch {note.batch} are committed, and topic {described.letters_topic} has"
                f" not confirmed their dead letters, which the next run sends: {error}"
            ) from error
        self._sent = note
