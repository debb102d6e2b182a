"""Arrow arrays over numpy's: what pyarrow would make of them, without pandas."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.records.columnar.arrow_arrays import booleans, over, repeated

pytestmark = pytest.mark.spark


@given(st.lists(st.tuples(st.integers(-(1 << 62), 1 << 62), st.booleans())))
def test_numbers_and_nulls(rows: list[tuple[int, bool]]) -> None:
    numbers = np.array([number for number, _ in rows], dtype=np.int64)
    is_null = np.array([null for _, null in rows], dtype=np.bool_)
    made = over(numbers, pa.int64(), is_null)
    made.validate(full=True)
    assert made.equals(pa.array(numbers, mask=is_null))
    assert over(numbers, pa.int64()).equals(pa.array(numbers))


@given(st.lists(st.booleans()))
def test_booleans(values: list[bool]) -> None:
    assert booleans(np.array(values, dtype=np.bool_)).to_pylist() == values


@given(st.text(min_size=1), st.integers(0, 20))
def test_one_string(text: str, count: int) -> None:
    text = text.encode(errors="replace").decode()
    made = repeated(text, count)
    made.validate(full=True)
    assert made.to_pylist() == [text] * count


def test_records_are_decoded_without_pandas() -> None:
    # A record with a header, one without, and one before the first that is wanted.
    script = (
        "import sys\n"
        "from odradek.base.ids import TopicPartition\n"
        "from odradek.records.builder import BatchBuilder\n"
        "from odradek.records.columnar.record_sets import RecordSet, record_batches\n"
        "builder = BatchBuilder(base_offset=0)\n"
        "for headers in (), ((b'n', b'1'),), ():\n"
        "    builder.append(1000, None, b'value', headers)\n"
        "one = RecordSet(TopicPartition('flights', 0), bytes(builder.build()), 1)\n"
        "count = sum(rows.num_rows for rows in record_batches([one], with_headers=True))\n"
        "print(count, 'pandas' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (0, "2 False"), done.stderr
