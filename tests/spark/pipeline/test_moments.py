"""The moments and days that Arrow reads are those of `fields`, or there are none."""

from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

pa = pytest.importorskip("pyarrow")

from odradek.spark.pipeline.column_types import ARROW_TYPES  # noqa: E402
from odradek.spark.pipeline.fields import value_of  # noqa: E402
from odradek.spark.pipeline.moments import days, moments  # noqa: E402

READERS = {"timestamp": moments, "date": days}


def column(kind: str, texts: list[str | None]) -> Any:
    """What Arrow reads; None if it leaves the texts to `fields`."""
    try:
        return READERS[kind](pa.array(texts, pa.string()))
    except pa.ArrowInvalid:
        return None


def check(kind: str, texts: list[str | None]) -> None:
    found = column(kind, texts)
    if found is not None:
        assert found.equals(pa.array([value_of("f", kind, text) for text in texts], ARROW_TYPES[kind]))


zones = st.timedeltas(timedelta(hours=-24), timedelta(hours=24)).map(
    lambda one: timezone(timedelta(minutes=max(min(one // timedelta(minutes=1), 1439), -1439)))
)
written_moments = st.builds(
    lambda at, separator: at.isoformat(separator),
    st.datetimes(timezones=st.none() | st.just(UTC) | zones),
    st.sampled_from("T "),
)
written_days = st.dates().map(date.isoformat)
parts = (r"[0-9]{4}", r"-?[0-9]{2}", r"-?[0-9]{2}", r"[T t_]?", r"[0-9]{2}", r":?[0-9]{2}", r"(:?[0-9]{2})?")
odd = st.from_regex(
    "".join(parts) + r"([.,][0-9]{0,9})?(Z|z| ?[+-][0-9]{2}(:?[0-9]{2}(:[0-9]{2})?)?)?\n?", fullmatch=True
)
odd_days = st.from_regex(r"[0-9]{4}-?([0-1][0-9]|W[0-9]{2})-?[0-3]?[0-9]\n?", fullmatch=True)
texts = st.none() | written_moments | written_days | odd | odd_days | st.text(max_size=12)


@given(st.sampled_from(["timestamp", "date"]), st.lists(texts, min_size=1, max_size=3))
@example("timestamp", ["0001-01-01T00:00:00+00:01"])
@example("timestamp", ["9999-12-31T23:59:59-00:01"])
@example("timestamp", ["0000-01-01T00:00:00Z"])
@example("timestamp", ["2013-01-01T24:00:00"])
@example("timestamp", ["2016-12-31T23:59:60Z"])
@example("timestamp", ["2013-01-01T05:15:00.1234567"])
@example("timestamp", ["2013-01-01T05:15:00Z\n"])
@example("timestamp", ["2013-01-01T05:15:00", "2013-01-01T05:15:00Z"])
@example("timestamp", ["2013-01-01T05:15:00+23:59", "2013-01-01T05:15:00-00:00"])
@example("timestamp", ["2013-01-01T05:15:00+24:00"])
@example("timestamp", ["2013-01-01T05:15:00+01:60"])
@example("date", ["0000-01-01"])
@example("date", ["2013-01-01\n"])
@example("date", ["٢٠١٣-٠١-٠١"])
def test_what_is_read_is_what_is_read_one_by_one(kind: str, texts: list[str | None]) -> None:
    check(kind, texts)


@given(st.lists(st.datetimes(datetime(1, 1, 3), datetime(9999, 12, 29), timezones=zones), min_size=1))
def test_moments_with_zones_are_read(found: list[datetime]) -> None:
    assert column("timestamp", [None, *(one.isoformat() for one in found)]) is not None
    check("timestamp", [None, *(one.isoformat() for one in found)])


@given(st.lists(st.datetimes(), min_size=1), st.lists(st.dates(), min_size=1))
def test_moments_without_zones_and_days_are_read(found: list[datetime], dates: list[date]) -> None:
    assert column("timestamp", [None, *(one.isoformat(" ") for one in found)]) is not None
    assert column("date", [None, *map(date.isoformat, dates)]) is not None


def test_no_text_at_all() -> None:
    for kind in READERS:
        assert column(kind, [None, None]).to_pylist() == [None, None]
