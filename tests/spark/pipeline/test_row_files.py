"""Files that Spark has committed, and the comparison of their rows with those that tasks wrote."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("pyspark")

from odradek.spark.pipeline.row_files import RowsLost, check_rows, clear, files_in, rows_in


def write(file: Path, rows: int) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"n": range(rows)}), file)


def test_what_is_not_committed_is_not_counted_and_is_cleared(tmp_path: Path) -> None:
    write(tmp_path / "part-1.parquet", 3)
    write(tmp_path / "origin=EWR" / "part-1.parquet", 2)
    write(tmp_path / "_temporary" / "0" / "part-2.parquet", 7)
    assert (rows_in(tmp_path), len(files_in(tmp_path))) == (5, 2)
    clear(tmp_path)
    assert [one.name for one in tmp_path.iterdir() if one.name.startswith("_")] == []
    assert rows_in(tmp_path) == 5


def test_rows_that_the_driver_does_not_see_are_lost(tmp_path: Path) -> None:
    check_rows(tmp_path, 5, 5)
    with pytest.raises(RowsLost, match=r"wrote 1,200 rows to .*, and 600 are there for this process"):
        check_rows(tmp_path, 1200, 600)
