"""Rows of a table become the batches that their records would be, encoded one by one."""

from collections import defaultdict
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odradek.base.ids import TopicPartition
from odradek.client.core.producer.batch import Batch
from odradek.records.builder import BatchBuilder
from odradek.records.framing import RecordHeaders

np = pytest.importorskip("numpy")
pa = pytest.importorskip("pyarrow")

from odradek.client.core.producer import table_batches  # noqa: E402
from odradek.client.core.producer.table_batches import encoded_in_steps, grouped  # noqa: E402
from odradek.client.core.producer.table_columns import TableColumns  # noqa: E402
from odradek.records.columnar.header_columns import HEADER_TYPE  # noqa: E402

BYTES = st.none() | st.binary(max_size=60)
PAIRS = st.none() | st.lists(st.tuples(st.text(max_size=5), BYTES), max_size=2)
CONTENTS = st.lists(
    st.tuples(st.integers(0, 2), st.none() | st.integers(0, 1 << 42), BYTES, BYTES, PAIRS),
    min_size=1,
    max_size=40,
)
NOW_MS = 1_700_000_000_000


@pytest.mark.parametrize("step_rows", [1, 7, 1_000])
@settings(max_examples=60, deadline=None)
@given(CONTENTS, st.sampled_from([0, 200, 1_000]))
def test_each_batch_is_the_one_that_its_records_would_be(
    step_rows: int, contents: list[Any], batch_size: int
) -> None:
    lists = [
        None if pairs is None else [{"key": name, "value": content} for name, content in pairs]
        for *_, pairs in contents
    ]
    table = pa.table(
        {
            "timestamp": pa.array([stamp for _, stamp, *_ in contents], pa.timestamp("ms")),
            "key": pa.array([key for _, _, key, _, _ in contents], pa.binary()),
            "value": pa.array([value for *_, value, _ in contents], pa.binary()),
            "headers": pa.array(lists, HEADER_TYPE),
        }
    )
    (rows,) = TableColumns(table, "t").windows()
    groups = grouped("t", np.arange(len(contents)), np.array([number for number, *_ in contents]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table_batches, "_STEP_ROWS", step_rows)
        batches = [one for step in encoded_in_steps(rows, groups, batch_size, NOW_MS) for one in step]
    found: dict[TopicPartition, list[int]] = defaultdict(list)
    for one in batches:
        batch = Batch(1, one.partition, codec=0, now_ms=0, deadline_ms=9)
        batch.fill(one.records)
        builder = BatchBuilder()
        for row in one.rows:
            _, stamp, key, value, pairs = contents[row]
            headers: RecordHeaders = tuple((name.encode(), content) for name, content in pairs or ())
            builder.append(NOW_MS if stamp is None else stamp, key, value, headers)
        assert batch.data() == builder.build()
        assert batch.record_count == len(one.rows)
        assert len(batch.data()) <= batch.reserved_bytes
        assert batch.reserved_bytes <= batch_size or batch.record_count == 1
        found[one.partition] += one.rows.tolist()
    expected: dict[TopicPartition, list[int]] = defaultdict(list)
    for row, (number, *_) in enumerate(contents):
        expected[TopicPartition("t", number)].append(row)
    assert found == expected
