"""How much one batch of a stream holds: the options, and how offsets are shared out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.base.errors import SettingError
from odradek.base.ids import TopicPartition
from odradek.spark.source_options import parse_options
from odradek.spark.trigger_limits import OFFSETS_MAX, TriggerLimits, count, take

SERVERS = {"kafka.bootstrap.servers": "localhost:9092", "subscribe": "flights"}
P0, P1, P2 = (TopicPartition("flights", number) for number in range(3))


def limits(**options: str) -> TriggerLimits:
    return parse_options(SERVERS | options, is_stream=True, can_bound=True).limits


def test_without_options_a_batch_has_no_limit() -> None:
    assert limits() == TriggerLimits(None, None, 900_000)


def test_the_options_have_spark_s_names_in_any_case() -> None:
    assert limits(maxOffsetsPerTrigger="7", MINOFFSETSPERTRIGGER="5", maxtriggerdelay="90s") == TriggerLimits(
        7, 5, 90_000
    )


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("250", 250),
        ("250ms", 250),
        ("3 s", 3_000),
        ("15m", 900_000),
        ("2min", 120_000),
        ("1h", 3_600_000),
        ("1D", 86_400_000),
        ("5000us", 5),
    ],
)
def test_a_delay_is_a_time_as_spark_writes_times(text: str, ms: int) -> None:
    assert limits(minOffsetsPerTrigger="1", maxTriggerDelay=text).delay_max_ms == ms


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"maxOffsetsPerTrigger": "0"},
            f"maxOffsetsPerTrigger must be a whole number from 1 to {OFFSETS_MAX}",
        ),
        ({"maxOffsetsPerTrigger": "-1"}, "maxOffsetsPerTrigger must be a whole number"),
        ({"minOffsetsPerTrigger": "some"}, "minOffsetsPerTrigger must be a whole number"),
        ({"minOffsetsPerTrigger": "9" * 30}, "minOffsetsPerTrigger must be a whole number"),
        (
            {"minOffsetsPerTrigger": "8", "maxOffsetsPerTrigger": "7"},
            "minOffsetsPerTrigger is 8, more than maxOffsetsPerTrigger, 7",
        ),
        ({"maxTriggerDelay": "1m"}, "maxTriggerDelay bounds the wait for minOffsetsPerTrigger"),
        (
            {"minOffsetsPerTrigger": "8", "maxTriggerDelay": "1 week"},
            "maxTriggerDelay must be a time as 500ms, 30s, 15m, 2h or 1d, not '1 week'",
        ),
        ({"maxOffsetPerTrigger": "8"}, "maxOffsetsPerTrigger"),
    ],
)
def test_a_malformed_limit_is_refused(options: dict[str, str], words: str) -> None:
    with pytest.raises(SettingError, match=words):
        limits(**options)


def test_spark_that_cannot_bound_a_batch_refuses_limits() -> None:
    with pytest.raises(SettingError, match=r"maxOffsetsPerTrigger: .* pyspark 4\.2"):
        parse_options(SERVERS | {"maxOffsetsPerTrigger": "7"}, is_stream=True)


def test_a_batch_read_refuses_limits_of_streams() -> None:
    with pytest.raises(SettingError, match="maxOffsetsPerTrigger is for streams"):
        parse_options(SERVERS | {"maxOffsetsPerTrigger": "7"}, can_bound=True)


def test_who_is_farther_behind_gets_more_and_everybody_gets_something() -> None:
    ends = take({P0: 0, P1: 100, P2: 7}, {P0: 900, P1: 200, P2: 8}, 100)
    assert ends == {P0: 89, P1: 109, P2: 8}


def test_a_limit_that_is_not_reached_changes_nothing() -> None:
    assert take({P0: 0, P1: 5}, {P0: 3, P1: 9}, 7) == {P0: 3, P1: 9}


def test_a_log_that_ends_before_the_start_keeps_its_end() -> None:
    assert take({P0: 50, P1: 0}, {P0: 3, P1: 900}, 10) == {P0: 3, P1: 10}
    assert count({P0: 50, P1: 0}, {P0: 3, P1: 900, P2: 4}) == 900


@given(
    st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 5000)), min_size=1, max_size=8),
    st.integers(1, 2000),
)
def test_batches_end_where_the_topic_ends(partitions: list[tuple[int, int]], offsets_max: int) -> None:
    """No batch has more than its limit and one of each partition, and none that is behind has nothing."""
    start = {TopicPartition("t", number): begin for number, (begin, _) in enumerate(partitions)}
    latest = {TopicPartition("t", number): sum(one) for number, one in enumerate(partitions)}
    while start != latest:
        end = take(start, latest, offsets_max)
        assert all(start[one] <= end[one] <= latest[one] for one in latest)
        assert all(start[one] < end[one] for one in latest if start[one] < latest[one])
        assert count(start, end) <= offsets_max + len(latest)
        start = end
