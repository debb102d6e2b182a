"""The figures behind the demo's picture, and the picture itself."""

from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

pytest.importorskip("matplotlib")
from demo.plot import DAYS, FIRST_HOUR, draw, hourly_means, weekly_means


def hours(*rows: tuple[str, date, int, int, int]) -> Any:
    columns = list(zip(*rows, strict=True))
    names = ("origin", "day", "hour", "departed", "delay")
    return pa.table({name: list(column) for name, column in zip(names, columns, strict=True)})


YEAR = hours(
    ("EWR", date(2013, 1, 10), 6, 1, 10),
    ("EWR", date(2013, 1, 12), 6, 3, 70),
    ("JFK", date(2013, 1, 12), 6, 1, 0),
    ("LGA", date(2013, 12, 31), 23, 2, -4),
)


def test_a_week_weighs_each_departure_alike() -> None:
    means = weekly_means(YEAR, "EWR")
    assert means.shape == (DAYS,)
    assert means[9] == 80 / 4  # both days are within three days
    assert means[7] == 10.0  # the second is not yet
    assert means[100] == 0


def test_hours_are_rows_and_days_columns() -> None:
    means = hourly_means(YEAR)
    assert means.shape == (24 - FIRST_HOUR, DAYS)
    assert means[6 - FIRST_HOUR, 11] == 70 / 4  # both airports
    assert means[23 - FIRST_HOUR, 364] == -2
    assert np.isnan(means).sum() == means.size - 3


@pytest.mark.slow
def test_the_picture_is_a_png_file(tmp_path: Path) -> None:
    draw(YEAR, tmp_path / "year.png")
    assert (tmp_path / "year.png").read_bytes().startswith(b"\x89PNG")
