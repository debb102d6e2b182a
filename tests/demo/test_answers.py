"""The hours that the demo expects of its flights, and what it says to other ones."""

from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest
from demo.answers import HOURS, NotOnce, check_hours, hours_of

FLIGHTS = pa.table(
    {
        "id": [0, 1, 2, 3],
        "origin": ["JFK", "EWR", "JFK", "LGA"],
        "time_hour": ["2013-01-01T10:00:00Z"] * 4,
        "dep_delay": pa.array([5, -3, None, None], pa.int64()),
    }
)
TEN = datetime(2013, 1, 1, 10, tzinfo=UTC)


def hours(*rows: tuple[str, int, int, int, int | None]) -> Any:
    columns = list(zip(*rows, strict=True))
    figures = {name: pa.array(columns[1 + place], pa.int64()) for place, name in enumerate(HOURS)}
    times = pa.array([TEN] * len(rows), pa.timestamp("us", tz="UTC"))
    return pa.table({**figures, "time_hour": times, "origin": list(columns[0]), "hour": [5] * len(rows)})


def test_cancelled_flights_count_and_have_no_delay() -> None:
    found = hours_of(FLIGHTS).to_pylist()
    assert found == [
        {"origin": "EWR", "time_hour": TEN, "flights": 1, "departed": 1, "delay": -3, "worst": -3},
        {"origin": "JFK", "time_hour": TEN, "flights": 2, "departed": 1, "delay": 5, "worst": 5},
        {"origin": "LGA", "time_hour": TEN, "flights": 1, "departed": 0, "delay": 0, "worst": None},
    ]


def test_hours_are_compared_in_any_order_and_with_more_columns() -> None:
    check_hours(hours(("LGA", 1, 0, 0, None), ("JFK", 2, 1, 5, 5), ("EWR", 1, 1, -3, -3)), FLIGHTS)


@pytest.mark.parametrize(
    "wrong",
    [
        hours(("LGA", 1, 0, 0, None), ("JFK", 3, 1, 5, 5), ("EWR", 1, 1, -3, -3)),
        hours(("LGA", 1, 0, 0, None), ("JFK", 2, 1, 5, 5)),
        hours(("LGA", 1, 0, 0, None), ("JFK", 2, 1, 6, 5), ("EWR", 1, 1, -3, -3)),
    ],
    ids=["a flight twice", "an hour lost", "another delay"],
)
def test_other_hours_are_refused(wrong: Any) -> None:
    with pytest.raises(NotOnce, match="where 3 hours with 4 were sent"):
        check_hours(wrong, FLIGHTS)
