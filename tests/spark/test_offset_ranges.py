import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.base.errors import SettingError
from odradek.base.ids import TopicPartition
from odradek.base.offset_timestamps import EARLIEST, LATEST
from odradek.spark.offset_ranges import (
    Edge,
    OffsetRange,
    Subscription,
    bounds,
    plan,
    resolve,
    times,
)

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)
COUNTS = {"a": 2, "b": 1, "other": 3}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"subscribe": "a, b"}, [A0, A1, B0]),
        ({"subscribepattern": "[ab]"}, [A0, A1, B0]),
        ({"subscribepattern": "a"}, [A0, A1]),
        ({"assign": '{"a": [1], "b": [0]}'}, [A1, B0]),
    ],
)
def test_three_ways_to_say_what_is_read(options: dict[str, str], expected: list[TopicPartition]) -> None:
    assert Subscription.from_options(options).partitions(COUNTS) == expected


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({}, "give exactly one of"),
        ({"subscribe": "a", "assign": "{}"}, "give exactly one of"),
        ({"subscribepattern": "("}, "not a regular expression"),
        ({"assign": "[1]"}, "assign is not JSON"),
        ({"assign": "{}"}, "assign names no partition"),
        ({"assign": '{"a": [-1]}'}, "a negative one"),
    ],
)
def test_a_subscription_that_does_not_hold_is_refused(options: dict[str, str], sentence: str) -> None:
    with pytest.raises(SettingError, match=sentence):
        Subscription.from_options(options)


def test_what_does_not_exist_is_named() -> None:
    with pytest.raises(SettingError, match="there is no topic nowhere"):
        Subscription.from_options({"subscribe": "nowhere"}).partitions(COUNTS)
    with pytest.raises(SettingError, match="there is no partition 2 of topic a"):
        Subscription.from_options({"assign": '{"a": [2]}'}).partitions(COUNTS)


def test_offsets_may_be_words_or_json() -> None:
    assert bounds("startingOffsets", "earliest", [A0]) == {A0: EARLIEST}
    assert bounds("endingOffsets", "latest", [A0]) == {A0: LATEST}
    assert bounds("startingOffsets", '{"a": {"0": 23, "1": -2}}', [A0, A1]) == {A0: 23, A1: EARLIEST}


@pytest.mark.parametrize(
    ("option", "text", "sentence"),
    [
        ("endingOffsets", "earliest", "neither a known word nor JSON"),
        ("endingOffsets", '{"a": {"0": -2}}', "cannot be earliest"),
        ("startingOffsets", "latest", "cannot be latest in a batch"),
        ("startingOffsets", '{"a": {"0": -1}}', r"cannot be latest \(-1\) in a batch"),
        ("startingOffsets", '{"a": {"0": -3}}', "below -2"),
        ("startingOffsets", '{"a": {"1": 0}}', "must name exactly the partitions"),
        ("startingOffsets", "{", "neither a known word nor JSON"),
    ],
)
def test_offsets_that_do_not_hold_are_refused(option: str, text: str, sentence: str) -> None:
    with pytest.raises(SettingError, match=sentence):
        bounds(option, text, [A0])


def test_words_are_looked_up_once_each_and_numbers_stay() -> None:
    asked = []

    def lookup(word: int, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
        asked.append((word, partitions))
        return dict.fromkeys(partitions, 100 if word == LATEST else 1)

    wanted = {A0: EARLIEST, A1: LATEST, B0: 7}
    assert resolve(wanted, lookup) == {A0: 1, A1: 100, B0: 7}
    assert asked == [(EARLIEST, [A0]), (LATEST, [A1])]


@given(
    st.lists(st.tuples(st.integers(0, 50), st.integers(0, 500)), max_size=6),
    st.integers(0, 40),
    st.none() | st.integers(1, 200),
)
def test_a_plan_covers_each_offset_once(
    sizes: list[tuple[int, int]], partitions_min: int, records_max: int | None
) -> None:
    starts = {TopicPartition("t", number): start for number, (start, _) in enumerate(sizes)}
    ends = {TopicPartition("t", number): start + size for number, (start, size) in enumerate(sizes)}
    ranges = plan(starts, ends, partitions_min, records_max)
    covered = [(one.topic_partition, offset) for one in ranges for offset in range(one.start, one.end)]
    expected = [(part, offset) for part in sorted(starts) for offset in range(starts[part], ends[part])]
    assert sorted(covered) == expected
    assert all(one.start < one.end for one in ranges), f"an empty range in {ranges}"
    assert records_max is None or all(one.end - one.start <= records_max for one in ranges), (
        f"more than {records_max} in one of {ranges}"
    )


def test_a_large_range_is_split() -> None:
    assert plan({A0: 0}, {A0: 10}, 3) == [
        OffsetRange(A0, 0, 3),
        OffsetRange(A0, 3, 6),
        OffsetRange(A0, 6, 10),
    ]


def test_json_of_spark_s_own_checkpoints_is_read() -> None:
    text = json.dumps({"a": {"0": 5, "1": 6}})
    assert bounds("endingOffsets", text, [A0, A1]) == {A0: 5, A1: 6}


def test_both_bounds_on_tasks_hold() -> None:
    assert [one.end - one.start for one in plan({A0: 0}, {A0: 10}, records_max=4)] == [3, 3, 4]
    assert len(plan({A0: 0, A1: 0}, {A0: 10, A1: 10}, partitions_min=10, records_max=4)) >= 6
    assert plan({A0: 0}, {A0: 2}, partitions_min=9) == [OffsetRange(A0, 0, 1), OffsetRange(A0, 1, 2)]


def test_words_of_offsets_may_be_written_in_any_case() -> None:
    assert bounds("startingOffsets", "EARLIEST", [A0]) == {A0: EARLIEST}
    assert bounds("endingOffsets", "Latest", [A0]) == {A0: LATEST}


def test_times_are_given_for_all_partitions_or_for_each() -> None:
    assert times(Edge("startingTimestamp", "1500"), [A0, A1]) == {A0: 1500, A1: 1500}
    each = Edge("endingOffsetsByTimestamp", '{"a": {"0": 1, "1": 2}}')
    assert times(each, [A0, A1]) == {A0: 1, A1: 2}


@pytest.mark.parametrize(
    ("option", "text", "sentence"),
    [
        ("startingTimestamp", "-1", "must be milliseconds since 1970, not '-1'"),
        ("endingTimestamp", "now", "must be milliseconds since 1970, not 'now'"),
        ("startingOffsetsByTimestamp", "7", "not JSON of topic, partition and milliseconds"),
        ("startingOffsetsByTimestamp", '{"a": {"0": -2}}', "must be milliseconds since 1970, not '-2'"),
        ("endingOffsetsByTimestamp", '{"a": {"1": 5}}', "must name exactly the partitions"),
    ],
)
def test_times_that_do_not_hold_are_refused(option: str, text: str, sentence: str) -> None:
    with pytest.raises(SettingError, match=sentence):
        times(Edge(option, text), [A0])
