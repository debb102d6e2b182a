"""The columns of a table whose rows are records to send, checked: those of Spark's Kafka source and sink.

    value      binary or string     missing: refused; null: a record without a value
    key        binary or string     missing or null: a record without a key
    headers    list<struct<key: string, value: binary>>
    topic      string               missing: the call names the topic
    partition  integer              missing or null: the partitioner decides
    timestamp  timestamp            missing or null: the time when it is added

Invariant: what is accepted takes effect; a column that would have none is refused by its name, and a row that
cannot be a record by its number, before any row is sent.
"""

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.client.core.producer.batch import HEADER_OVERHEAD_BYTES, RECORD_OVERHEAD_BYTES
from odradek.records.columnar.encoding import lengths
from odradek.records.columnar.header_columns import HEADER_TYPE
from odradek.records.columnar.varints import Longs
from odradek.records.header import HEADER_BYTES

ROWS_MAX: Final = 1 << 15
"""How many rows are taken at a time: few enough that each step with them takes some milliseconds."""
BYTES_MAX: Final = 1 << 30
"""How many bytes they may have, so that Arrow's offsets of 32 bits suffice."""
NO_PARTITION: Final = -1
NO_TIMESTAMP: Final = -1


class TableColumns:
    """See the module. Raises TypeError for what is no table of records, ApiError for missing columns."""

    def __init__(self, table: Any, topic: str | None) -> None:
        """`table` is a `pyarrow.Table` or `RecordBatch`; `topic` is for one without a column of that name."""
        if isinstance(table, pa.RecordBatch):
            table = pa.Table.from_batches([table])
        if not isinstance(table, pa.Table):
            raise TypeError(f"produce_batch takes a pyarrow.Table or RecordBatch, not {type(table).__name__}")
        if topic is not None and not isinstance(topic, str):
            raise TypeError(f"the topic of records is a str, not {type(topic).__name__}")
        _check_names(table.column_names, topic)
        for field in table.schema:
            _check_type(field)
        self._table = table
        self._topic = topic
        self.count: int = table.num_rows

    def windows(self) -> Iterator["Rows"]:
        """The rows in order, at most ROWS_MAX at a time."""
        first = 0
        while first < self.count:
            part = self._table.slice(first, min(ROWS_MAX, self.count - first))
            while part.nbytes > BYTES_MAX and part.num_rows > 1:
                part = part.slice(0, part.num_rows // 2)
            if part.nbytes > BYTES_MAX:
                said = f"row {first} of the table takes {part.nbytes} bytes"
                raise ApiError(ErrorCode.MESSAGE_TOO_LARGE, said)
            yield self._rows(first, part)
            first += part.num_rows

    def _rows(self, first: int, part: Any) -> "Rows":
        count = part.num_rows
        names = set(part.column_names)
        values = _binary(part["value"])
        keys = _binary(part["key"]) if "key" in names else pa.nulls(count, pa.binary())
        return Rows(
            first,
            topics=_flat(part["topic"].cast(pa.string())) if "topic" in names else None,
            topic=self._topic,
            partitions=_partitions(_flat(part["partition"]), first) if "partition" in names else None,
            timestamps_ms=_timestamps(_flat(part["timestamp"]), first) if "timestamp" in names else None,
            keys=keys,
            values=values,
            headers=_flat(part["headers"].cast(HEADER_TYPE)) if "headers" in names else None,
        )


class Rows:
    """Some consecutive rows of a table."""

    def __init__(
        self,
        first: int,
        *,
        topics: Any | None,
        topic: str | None,
        partitions: Longs | None,
        timestamps_ms: Longs | None,
        keys: Any,
        values: Any,
        headers: Any | None,
    ) -> None:
        self.first: Final = first
        """The number of the first of them in the table."""
        self.count: Final[int] = len(values)
        self.keys: Final = keys
        """A `pa.BinaryArray`, as `values`."""
        self.values: Final = values
        self.headers: Final = headers
        """None, or a list<struct<key, value>>."""
        self.partitions: Final = partitions
        """None, or the partition of each row: NO_PARTITION where none is given."""
        self.timestamps_ms: Final = timestamps_ms
        """None, or the timestamp of each row: NO_TIMESTAMP where none is given."""
        self._topics = topics
        self._topic = topic
        self.sizes: Final = self._sizes()
        """The most bytes that each record takes in a batch, uncompressed, as `record_bytes_max`."""

    def check(self, record_bytes_max: int, setting: str) -> None:
        """Raises ApiError for a row without a topic, with a header without a name, or that is too large."""
        if self._topics is not None and self._topics.null_count:
            row = self.first + int(np.flatnonzero(_is_null(self._topics))[0])
            raise ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"row {row} of the table has no topic")
        if self.headers is not None:
            entries = self.headers.flatten()
            if entries.null_count or pc.struct_field(entries, 0).null_count:
                raise ApiError(ErrorCode.INVALID_RECORD, "a header in the table has no key")
        if self.count and int(self.sizes.max()) + HEADER_BYTES > record_bytes_max:
            row = int(self.sizes.argmax())
            takes = int(self.sizes[row]) + HEADER_BYTES
            said = f"row {self.first + row} of the table takes up to {takes} bytes, "
            raise ApiError(ErrorCode.MESSAGE_TOO_LARGE, f"{said}{setting} is {record_bytes_max}")

    def within(self, bytes_max: int) -> "Iterator[tuple[int, int]]":
        """(first, end) of runs of these rows that take at most `bytes_max`, or are one row."""
        ends = np.cumsum(self.sizes)
        first = 0
        while first < self.count:
            before = int(ends[first - 1]) if first else 0
            end = max(first + 1, int(np.searchsorted(ends, before + bytes_max, side="right")))
            yield first, end
            first = end

    def by_topic(self, first: int, end: int) -> "list[tuple[str, Longs]]":
        """The topics of the rows [first, end), and the numbers of the rows of each among these rows."""
        if self._topics is None:
            assert self._topic is not None
            return [(self._topic, np.arange(first, end, dtype=np.int64))]
        coded = self._topics.slice(first, end - first).dictionary_encode()
        codes = coded.indices.to_numpy()
        names = coded.dictionary.to_pylist()
        return [(name, np.flatnonzero(codes == code) + first) for code, name in enumerate(names)]

    def has_key(self, rows: Longs) -> Any:
        """Whether each of these rows has a key."""
        return ~_is_null(self.keys)[rows]

    def _sizes(self) -> Longs:
        sizes = lengths(self.keys) + lengths(self.values) + RECORD_OVERHEAD_BYTES
        if self.headers is not None:
            entries = self.headers.flatten()
            own = lengths(_as_binary(pc.struct_field(entries, 0))) + HEADER_OVERHEAD_BYTES
            own += lengths(_as_binary(pc.struct_field(entries, 1)))
            counts = pc.fill_null(pc.list_value_length(self.headers), 0).to_numpy(zero_copy_only=False)
            ends = np.concatenate(([0], np.cumsum(own)))[np.concatenate(([0], np.cumsum(counts)))]
            sizes = sizes + np.diff(ends)
        return sizes


def _check_names(names: list[str], topic: str | None) -> None:
    known = ("value", "key", "headers", "topic", "partition", "timestamp")
    for name in names:
        if name not in known:
            said = f"the column {name} of the table would have no effect; a record has {', '.join(known)}"
            raise ApiError(ErrorCode.INVALID_REQUEST, said)
        if names.count(name) > 1:
            raise ApiError(ErrorCode.INVALID_REQUEST, f"the table has two columns {name}")
    if "value" not in names:
        raise ApiError(ErrorCode.INVALID_REQUEST, "the table has no column value")
    if "topic" not in names and topic is None:
        raise ApiError(ErrorCode.INVALID_REQUEST, "the table has no column topic, and the call names none")
    if "topic" in names and topic is not None:
        raise ApiError(ErrorCode.INVALID_REQUEST, "the table has a column topic, and the call names one, too")


def _check_type(field: Any) -> None:
    kind = field.type
    if pa.types.is_null(kind) and field.name != "topic":  # a column in which every row is null
        return
    if field.name in ("key", "value"):
        is_right, wanted = _is_bytes(kind), "binary or string"
    elif field.name == "topic":
        plain = kind.value_type if pa.types.is_dictionary(kind) else kind
        is_right, wanted = pa.types.is_string(plain) or pa.types.is_large_string(plain), "string"
    elif field.name == "partition":
        is_right, wanted = pa.types.is_integer(kind), "an integer"
    elif field.name == "timestamp":
        is_right, wanted = pa.types.is_timestamp(kind), "a timestamp"
    else:
        is_right = pa.types.is_list(kind) and _is_header(kind.value_type)
        wanted = "list<struct<key: string, value: binary>>"
    if not is_right:
        raise TypeError(f"the column {field.name} of the table is {kind}; it must be {wanted}")


def _is_bytes(kind: Any) -> bool:
    tests = (pa.types.is_binary, pa.types.is_string, pa.types.is_large_binary, pa.types.is_large_string)
    return any(test(kind) for test in tests)


def _is_header(kind: Any) -> bool:
    if not pa.types.is_struct(kind) or kind.num_fields != 2:
        return False
    key, value = kind.field(0), kind.field(1)
    return [key.name, value.name] == ["key", "value"] and _is_bytes(key.type) and _is_bytes(value.type)


def _partitions(column: Any, first: int) -> Longs:
    given = column.cast(pa.int64())
    if len(given) and (least := pc.min(given).as_py()) is not None and least < 0:
        row = first + int(pc.index(pc.less(given, 0), True).as_py())
        raise ApiError(
            ErrorCode.INVALID_PARTITIONS, f"row {row} of the table: partition {given[row - first]} is below 0"
        )
    found: Longs = pc.fill_null(given, NO_PARTITION).to_numpy(zero_copy_only=False)
    return found


def _timestamps(column: Any, first: int) -> Longs:
    if pa.types.is_null(column.type):
        return np.full(len(column), NO_TIMESTAMP, dtype=np.int64)
    # Rounded down, as whoever reads it does.
    given = pc.floor_temporal(column, unit="millisecond") if column.type.unit in ("us", "ns") else column
    given = given.cast(pa.timestamp("ms", tz=column.type.tz)).cast(pa.int64())
    if len(given) and (least := pc.min(given).as_py()) is not None and least < 0:
        row = first + int(pc.index(pc.less(given, 0), True).as_py())
        raise ApiError(ErrorCode.INVALID_TIMESTAMP, f"row {row} of the table: the timestamp is before 1970")
    found: Longs = pc.fill_null(given, NO_TIMESTAMP).to_numpy(zero_copy_only=False)
    return found


def _binary(column: Any) -> Any:
    """One `pa.BinaryArray` of a column of some rows."""
    return _as_binary(_flat(column))


def _as_binary(column: Any) -> Any:
    return column if pa.types.is_binary(column.type) else column.cast(pa.binary())


def _flat(column: Any) -> Any:
    """One array of a chunked one."""
    return (
        column.chunk(0)
        if column.num_chunks == 1
        else pa.concat_arrays(column.chunks or [pa.array([], column.type)])
    )


def _is_null(column: Any) -> Any:
    return column.is_null().to_numpy(zero_copy_only=False)
