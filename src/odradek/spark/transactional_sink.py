"""Staged rows as one transaction, which for a streaming query has a note of the batch, too.

    topic _odradek-spark-<query id>        the note under the query's id: its last batch, what it writes,
                                           and where its checkpoint is
    transactional id odradek-spark/<id>    of the query, or of the batch write

A streaming query has the id that Spark keeps in its checkpoint. A batch that was committed is found by its
note, so that it is not sent again when Spark, which had not noted the commit, repeats it. A new checkpoint is
a new query, with notes of its own. Where an older query of the same place has written the same topic, its
checkpoint was deleted: the new one, which would write all again, is refused.

Invariant: each commit begins with InitProducerId, so that the note is read when no other driver of the query
can commit any more; see `marker_topic`.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Final

import pyarrow as pa

from odradek.base.errors import ApiError, OdradekError
from odradek.client.blocking.producer import Producer
from odradek.spark.direct_sink import send_tables
from odradek.spark.marker_topic import (
    FENCED,
    TRANSACTION_TIMEOUT_MS,
    Notes,
    begun,
    topics_of_notes,
    transactional_producer,
)
from odradek.spark.sink_options import SinkOptions
from odradek.spark.staging import Staged, Staging

_PREFIX: Final = "odradek-spark"
# The batch before the first: Spark counts from 0.
_NONE: Final = -1


@dataclass(frozen=True, slots=True)
class Note:
    """What a query has written."""

    batch: int
    topic: str | None
    """None where each row names its topic."""
    checkpoint: str
    """Where its checkpoint is; "" if that is not known."""


class CheckpointSetBack(OdradekError):
    """The checkpoint of a query is older than what the query has written."""


class CheckpointDeleted(OdradekError):
    """A query begins where another one, whose checkpoint was deleted, has written the same topic."""


def marker_topic(query: str) -> str:
    """The topic with the notes of a streaming query."""
    return f"_{_PREFIX}-{query}"


def commit_stream_batch(options: SinkOptions, batch: int, staged: Sequence[Staged]) -> bool:
    """Send the rows of a micro-batch and the note of it in one transaction.

    Returns False if nothing is to be sent: there are no rows, or the batch was sent before.

    Raises OdradekError; nothing of the batch is visible then, or all of it, which the repeated batch finds
    out. What is staged of the query is removed after the commit.
    """
    if not any(one.rows for one in staged):
        return False
    query, brokers = staged[0].query, options.brokers
    staging = Staging(options.staging_location, query)
    topic = marker_topic(query)
    with transactional_producer(brokers, topic, f"{_PREFIX}/{query}", options.settings) as producer:
        last = _batch_of(_note_of(Notes(brokers, topic, query).newest()))
        if last > batch:
            raise CheckpointSetBack(
                f"the checkpoint of query {query} was set back to batch {batch}, and batch {last} had been"
                " written: bring the checkpoint back to its newest state, or begin a new one"
            )
        if last < batch:
            if last == _NONE:
                _refuse_second_beginning(options, query)
            note = Note(batch, options.topic, options.checkpoint)
            _send(producer, options, staging, staged, f"batch {batch} of query {query}", (topic, query, note))
    staging.clear()
    return last < batch


def _refuse_second_beginning(options: SinkOptions, query: str) -> None:
    """Raises CheckpointDeleted if an older query has written the topic from a checkpoint in this place."""
    if not options.checkpoint:
        return
    prefix = marker_topic("")
    for topic in topics_of_notes(options.brokers, prefix):
        older = topic.removeprefix(prefix)
        note = _note_of(Notes(options.brokers, topic, older).newest()) if older != query else None
        if note is None or (note.checkpoint, note.topic) != (options.checkpoint, options.topic):
            continue
        what = "the topics of its rows" if note.topic is None else f"topic {note.topic}"
        raise CheckpointDeleted(
            f"the checkpoint in {note.checkpoint} is a new one, and query {older}, whose checkpoint was there"
            f" before, has written {what} up to batch {note.batch}: this query would write that again. Bring"
            f" the old checkpoint back; or delete topic {topic} if it is to be written again"
        )


def commit_write(options: SinkOptions, write: str, staged: Sequence[Staged]) -> None:
    """Send the rows of a batch write, if it has any, in one transaction. Raises as for a stream."""
    if not any(one.rows for one in staged):
        return
    staging = Staging(options.staging_location, write)
    settings = {
        "transaction.timeout.ms": str(TRANSACTION_TIMEOUT_MS),
        **options.settings,
        "transactional.id": f"{_PREFIX}/{write}",
    }
    with begun(Producer(settings=settings)) as producer:
        _send(producer, options, staging, staged, "the write", None)
    staging.clear()


def _send(
    producer: Producer,
    options: SinkOptions,
    staging: Staging,
    staged: Sequence[Staged],
    what: str,
    note: tuple[str, str, Note] | None,
) -> None:
    """One transaction of all rows, and of the note, with its topic and its key."""
    try:
        with producer.transaction():
            send_tables(producer, _rows(staging, staged), options.topic)
            if note is not None:
                topic, query, said = note
                producer.send(topic, value=json.dumps(asdict(said)).encode(), key=query.encode())
    except ApiError as error:
        if error.code in FENCED:
            raise OdradekError(
                f"another driver has begun to write for {what}; this one wrote nothing of it"
            ) from error
        raise OdradekError(f"the brokers have not confirmed {what}: {error}") from error


def _rows(staging: Staging, staged: Sequence[Staged]) -> Iterator[pa.RecordBatch]:
    for one in staged:
        yield from staging.read(one)


def _note_of(text: str | None) -> Note | None:
    """Raises OdradekError for a note that cannot be read."""
    if text is None:
        return None
    try:
        found = json.loads(text)
        return Note(int(found["batch"]), found.get("topic"), str(found.get("checkpoint", "")))
    except (ValueError, KeyError, TypeError, AttributeError):
        raise OdradekError("the note of a query cannot be read by this version of odradek") from None


def _batch_of(note: Note | None) -> int:
    return _NONE if note is None else note.batch
