"""Which offsets the next batch reads."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.base.ids import TopicPartition
from odradek.client.cluster import Offsets
from odradek.spark.pipeline.planning import (
    LogChanged,
    Plan,
    View,
    is_reached,
    lag,
    nested_offsets,
    partition_offsets,
    plan_batch,
)

P0, P1 = TopicPartition("flights", 0), TopicPartition("flights", 1)


def planned(view: View, position: Offsets, bound: Offsets | None = None, *, may_lose: bool = False) -> Plan:
    return plan_batch(view, position, bound, 10, topic_ids={}, may_lose=may_lose)


def test_a_batch_is_shared_out_by_what_is_left_in_each_partition() -> None:
    plan = planned(View({P0: 0, P1: 0}, {P0: 90, P1: 10}, {}), {P0: 0, P1: 0})
    assert [(one.topic_partition, one.start, one.end) for one in plan.ranges] == [(P0, 0, 9), (P1, 0, 1)]
    assert plan.following == {P0: 9, P1: 1}


def test_a_bound_ends_the_reading_and_an_added_partition_is_read_from_its_start() -> None:
    plan = planned(View({P0: 0, P1: 0}, {P0: 9, P1: 3}, {}), {P0: 2}, {P0: 5})
    assert plan.following == {P0: 5, P1: 3}
    assert plan.holes == ()


def test_an_added_partition_that_has_lost_records_is_a_hole() -> None:
    view = View({P0: 0, P1: 2}, {P0: 1, P1: 3}, {})
    with pytest.raises(LogChanged, match="flights-1 has lost its records from 0 to 1 before they were read"):
        planned(view, {P0: 1})
    hole = planned(view, {P0: 1}, may_lose=True).holes[0]
    assert (hole.topic_partition, hole.start, hole.end) == (P1, 0, 2)


def test_logs_that_are_others_are_refused() -> None:
    with pytest.raises(LogChanged, match="flights-0 was read up to offset 5 and ends at 3"):
        planned(View({P0: 0}, {P0: 3}, {}), {P0: 5})
    with pytest.raises(LogChanged, match="flights-1, which the pipeline has read, is gone"):
        planned(View({P0: 0}, {P0: 3}, {}), {P0: 0, P1: 0})


@given(
    st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50), st.integers(0, 50)), min_size=1, max_size=5),
    st.integers(1, 20),
)
def test_batches_cover_every_offset_once(drawn: list[tuple[int, int, int]], records_max: int) -> None:
    parts = {TopicPartition("flights", number): sorted(one) for number, one in enumerate(drawn)}
    view = View({p: one[0] for p, one in parts.items()}, {p: one[2] for p, one in parts.items()}, {})
    position = {p: one[1] for p, one in parts.items()}
    covered: set[tuple[TopicPartition, int]] = set()
    while not is_reached(position, view.latest):
        plan = plan_batch(view, position, None, records_max, topic_ids={}, may_lose=False)
        assert plan.ranges
        for one in plan.ranges:
            offsets = {(one.topic_partition, offset) for offset in range(one.start, one.end)}
            assert one.start == position[one.topic_partition]
            assert not covered & offsets
            covered |= offsets
        position = plan.following
    assert len(covered) == sum(one[2] - one[1] for one in parts.values())
    assert set(lag(position, view).values()) == {0}
    assert partition_offsets(nested_offsets(position)) == position
