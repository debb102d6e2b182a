"""Staged rows as one transaction, which for a streaming query has a note of the batch, too.

    topic _odradek-spark-<query id>        the note: {"batch": 7} under the query's id
    transactional id odradek-spark/<id>    of the query, or of the batch write

A streaming query has the id that Spark keeps in its checkpoint. A batch that was committed is found by its
note, so that it is not sent again when Spark, which had not noted the commit, repeats it. A new checkpoint is
a new query, with notes of its own.

Invariant: each commit begins with InitProducerId, so that the note is read when no other driver of the query
can commit any more; see `marker_topic`.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Final

import pyarrow as pa

from odradek.base.errors import ApiError, OdradekError
from odradek.client.blocking.producer import Producer
from odradek.spark.direct_sink import send_tables
from odradek.spark.marker_topic import FENCED, TRANSACTION_TIMEOUT_MS, Notes, begun, transactional_producer
from odradek.spark.sink_options import SinkOptions
from odradek.spark.staging import Staged, Staging

_PREFIX: Final = "odradek-spark"


class CheckpointSetBack(OdradekError):
    """The checkpoint of a query is older than what the query has written."""


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
        last = _batch_of(Notes(brokers, topic, query).newest())
        if last > batch:
            raise CheckpointSetBack(
                f"the checkpoint of query {query} was set back to batch {batch}, and batch {last} had been"
                " written: bring the checkpoint back to its newest state, or begin a new one"
            )
        if last < batch:
            note = (topic, query, batch)
            _send(producer, options, staging, staged, f"batch {batch} of query {query}", note)
    staging.clear()
    return last < batch


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
    note: tuple[str, str, int] | None,
) -> None:
    """One transaction of all rows, and of the note: its topic, its key and the number of the batch."""
    try:
        with producer.transaction():
            send_tables(producer, _rows(staging, staged), options.topic)
            if note is not None:
                topic, query, batch = note
                producer.send(topic, value=json.dumps({"batch": batch}).encode(), key=query.encode())
    except ApiError as error:
        if error.code in FENCED:
            raise OdradekError(
                f"another driver has begun to write for {what}; this one wrote nothing of it"
            ) from error
        raise OdradekError(f"the brokers have not confirmed {what}: {error}") from error


def _rows(staging: Staging, staged: Sequence[Staged]) -> Iterator[pa.RecordBatch]:
    for one in staged:
        yield from staging.read(one)


def _batch_of(note: str | None) -> int:
    """The batch that a note is of; -1 without a note, for Spark counts from 0. Raises OdradekError."""
    if note is None:
        return -1
    try:
        return int(json.loads(note)["batch"])
    except (ValueError, KeyError, TypeError):
        raise OdradekError("the note of a query cannot be read by this version of odradek") from None
