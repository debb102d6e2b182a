"""Records that were encoded as columns are those that are encoded one by one."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odradek.records.framing import LONG_MAX, LONG_MIN, RecordHeaders, append_record
from odradek.records.varint import append_varint

pa = pytest.importorskip("pyarrow")

from odradek.records.columnar.encoding import encode_records, varints  # noqa: E402
from odradek.records.columnar.header_columns import HEADER_TYPE  # noqa: E402

BYTES = st.none() | st.binary(max_size=200)
HEADERS = st.none() | st.lists(st.tuples(st.text(max_size=70), BYTES), max_size=3)
ROWS = st.lists(
    st.tuples(st.integers(-(1 << 46), 1 << 46), st.integers(0, 1 << 30), BYTES, BYTES, HEADERS),
    min_size=1,
    max_size=12,
)


def header_column(rows: list[Any]) -> Any:
    return pa.array(
        [None if row is None else [{"key": name, "value": content} for name, content in row] for row in rows],
        HEADER_TYPE,
    )


@settings(max_examples=200, deadline=None)
@given(ROWS, st.booleans(), st.integers(0, 3))
def test_each_row_is_the_record_that_it_would_be_alone(
    rows: list[Any], has_headers: bool, skipped: int
) -> None:
    stamps, deltas, keys, values, headers = (list(column) for column in zip(*rows, strict=True))
    expected = []
    for stamp, delta, key, value, pairs in rows:
        record = bytearray()
        named: RecordHeaders = tuple((name.encode(), content) for name, content in pairs or ())
        append_record(record, stamp, delta, key, value, named if has_headers else ())
        expected.append(bytes(record))
    # Slices of longer columns, as a table's are.
    filler = [b"xyz"] * skipped
    encoded = encode_records(
        np.array(stamps),
        np.array(deltas),
        pa.array(filler + keys, pa.binary())[skipped:],
        pa.array(filler + values, pa.binary())[skipped:],
        header_column([[("a", b"b")]] * skipped + headers)[skipped:] if has_headers else None,
    )
    assert [bytes(encoded.slice(row, row + 1)) for row in range(len(rows))] == expected
    assert bytes(encoded.slice(0, len(rows))) == b"".join(expected)


@given(st.lists(st.tuples(*[st.integers(LONG_MIN, LONG_MAX)] * 2), min_size=1, max_size=20))
def test_varints_of_any_size(rows: list[tuple[int, int]]) -> None:
    expected = []
    for row in rows:
        target = bytearray()
        for number in row:
            append_varint(target, number)
        expected.append(bytes(target))
    columns = np.array(rows, dtype=np.int64)
    assert varints(columns[:, 0].copy(), columns[:, 1].copy()).to_pylist() == expected
