"""What Spark calls to write topics, by `frame.write` and by `frame.writeStream`.

Spark makes a writer on the driver, copies it to each task for `write`, and has `commit` or `abort` called on
the driver with the messages of all tasks. Options and columns are checked when the writer is made (the
options: `sink_options`; the columns: `sink_columns`). At least once, `write` sends the rows itself
(`direct_sink`); exactly once, it stages them (`staging`), and `commit` sends them (`transactional_sink`).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from odradek.base.errors import OdradekError, SettingError
from odradek.spark.direct_sink import send_rows
from odradek.spark.first_sentence import sentence_first
from odradek.spark.sink_columns import check_columns, records_of
from odradek.spark.sink_options import SinkOptions, new_write_id, parse_sink_options
from odradek.spark.staging import Staged, Staging
from odradek.spark.transactional_sink import commit_stream_batch, commit_write
from odradek.spark.worker_imports import read_zips_once

# The property of a task that has the id of its streaming query, as Spark keeps it in the checkpoint.
_QUERY_ID: Final = "sql.streaming.queryId"


class Written(WriterCommitMessage):
    """What a task says of its rows: where they are staged; None where it has sent them."""

    def __init__(self, staged: Staged | None) -> None:
        self.staged = staged


class OdradekWriter(DataSourceArrowWriter):
    """A batch write. Raises SettingError for bad options and columns, before any task starts."""

    def __init__(self, options: Mapping[str, str], schema: StructType, *, overwrite: bool) -> None:
        if overwrite:
            raise SettingError("Save mode Overwrite not allowed for topics. Allowed save mode is Append.")
        self._options = _checked(options, schema, is_stream=False)
        self._id = new_write_id()

    @sentence_first
    def write(self, iterator: Iterator[Any]) -> Written:
        """Send or stage the rows of one task."""
        read_zips_once()
        return _write(self._options, self._id, iterator)

    @sentence_first
    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Make the rows of all tasks visible at once, where they are staged."""
        if self._options.is_exactly_once:
            commit_write(self._options, self._id, _staged(messages))

    @sentence_first
    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Remove what is staged."""
        if self._options.is_exactly_once:
            Staging(self._options.staging_location, self._id).clear()


class OdradekStreamWriter(DataSourceStreamArrowWriter):
    """A streaming query; made anew for each micro-batch. Raises as `OdradekWriter`.

    In each output mode the rows that a micro-batch gives are appended, as by Spark's Kafka sink.
    """

    def __init__(self, options: Mapping[str, str], schema: StructType) -> None:
        self._options = _checked(options, schema, is_stream=True)

    @sentence_first
    def write(self, iterator: Iterator[Any]) -> Written:
        """Send or stage the rows of one task."""
        read_zips_once()
        return _write(self._options, _query_id() if self._options.is_exactly_once else "", iterator)

    @sentence_first
    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Make the rows of all tasks visible at once, where they are staged and were not sent before."""
        if self._options.is_exactly_once:
            commit_stream_batch(self._options, batchId, _staged(messages))

    @sentence_first
    def abort(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Remove what is staged of the query, as far as a task has told its id."""
        for query in {one.query for one in _staged(messages)}:
            Staging(self._options.staging_location, query).clear()


def _checked(options: Mapping[str, str], schema: StructType, *, is_stream: bool) -> SinkOptions:
    checked = parse_sink_options(options, is_stream=is_stream)
    check_columns(schema, checked.topic)
    return checked


def _write(options: SinkOptions, query: str, rows: Iterator[Any]) -> Written:
    if not options.is_exactly_once:
        send_rows(options, rows)
        return Written(None)
    return Written(Staging(options.staging_location, query).write(records_of(rows, options.topic)))


def _staged(messages: Sequence[WriterCommitMessage | None]) -> list[Staged]:
    return [one.staged for one in messages if isinstance(one, Written) and one.staged is not None]


def _query_id() -> str:
    context = TaskContext.get()
    found = context.getLocalProperty(_QUERY_ID) if context is not None else None
    if not found:
        raise OdradekError("Spark has not told the task the id of its streaming query")
    return str(found)
