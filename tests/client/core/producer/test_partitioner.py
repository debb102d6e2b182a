"""Records without a key: one partition at a time, and in the long run all of them alike."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.base.chance import SeededChance
from odradek.base.ids import TopicPartition
from odradek.client.core.producer.partitioner import Candidate, StickyPartitioner

THREE = [Candidate(number) for number in range(3)]


def test_a_partition_is_kept_until_its_share_of_bytes() -> None:
    partitioner = StickyPartitioner(SeededChance(1), batch_size=100)
    drawn = partitioner.draw("t", THREE)
    partitioner.appended(TopicPartition("t", drawn), 60, is_batch_full=False)
    partitioner.appended(TopicPartition("t", drawn), 60, is_batch_full=False)
    assert partitioner.current.get("t") == TopicPartition("t", drawn), "in the middle of a batch"
    partitioner.appended(TopicPartition("t", drawn), 10, is_batch_full=True)
    assert partitioner.current.get("t") is None


def test_only_the_current_partition_counts() -> None:
    partitioner = StickyPartitioner(SeededChance(1), batch_size=100)
    drawn = partitioner.draw("t", THREE)
    partitioner.appended(TopicPartition("t", (drawn + 1) % 3), 500, is_batch_full=True)
    assert partitioner.current.get("t") == TopicPartition("t", drawn)


def test_a_batch_that_never_gets_full_changes_at_twice_its_size() -> None:
    partitioner = StickyPartitioner(SeededChance(1), batch_size=100)
    drawn = partitioner.draw("t", THREE)
    partitioner.appended(TopicPartition("t", drawn), 200, is_batch_full=False)
    assert partitioner.current.get("t") is None


def test_topics_have_partitions_of_their_own() -> None:
    partitioner = StickyPartitioner(SeededChance(1), batch_size=100)
    partitioner.draw("t", THREE)
    assert partitioner.current.get("u") is None
    drawn = partitioner.draw("u", THREE)
    partitioner.appended(TopicPartition("u", drawn), 100, is_batch_full=True)
    assert partitioner.current.get("t") is not None


@pytest.mark.slow
def test_longer_queues_are_drawn_less_often() -> None:
    partitioner = StickyPartitioner(SeededChance(1), batch_size=1)
    queues = [Candidate(0, 0), Candidate(1, 3), Candidate(2, 1)]
    drawn = Counter(partitioner.draw("t", queues) for _ in range(8_000))
    for partition, weight in ((0, 4), (1, 1), (2, 3)):
        assert abs(drawn[partition] - 1_000 * weight) < 200
    fixed = StickyPartitioner(SeededChance(1), batch_size=1, is_adaptive=False)
    drawn = Counter(fixed.draw("t", queues) for _ in range(9_000))
    assert all(abs(count - 3_000) < 250 for count in drawn.values())


@pytest.mark.slow
@given(st.integers(0, 1000), st.lists(st.integers(0, 50), min_size=1, max_size=20))
def test_what_is_drawn_is_a_candidate(seed: int, lengths: list[int]) -> None:
    partitioner = StickyPartitioner(SeededChance(seed), batch_size=10)
    candidates = [Candidate(2 * number, length) for number, length in enumerate(lengths)]
    assert partitioner.draw("t", candidates) in {one.partition for one in candidates}
