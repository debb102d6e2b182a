"""Where to cut: the rule alone, on epochs without records."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.replication.fetcher.truncation import Cut, cut_for
from odradek.storage import EpochEnd, LogPosition
from odradek.storage.epoch_cache import EpochCache


class Epochs:
    """A log of which only epochs and ends are known; records are (epoch, who wrote them)."""

    def __init__(self, starts: list[tuple[int, int]], end_offset: int, high_watermark: int = 0) -> None:
        self.cache = EpochCache(starts)
        self.end_offset = end_offset
        self.high_watermark = LogPosition(high_watermark, 0, 0)

    def end_offset_for_epoch(self, epoch: int) -> EpochEnd:
        return self.cache.end_offset_for(epoch, self.end_offset)

    def cut(self, offset: int) -> None:
        self.end_offset = min(self.end_offset, offset)
        self.cache.truncate_from_end(self.end_offset)


def test_an_epoch_that_the_leader_does_not_know_cuts_to_the_high_watermark() -> None:
    """X4."""
    log = Epochs([(0, 0), (3, 5)], 9, high_watermark=6)
    assert cut_for(log, 3, EpochEnd(-1, -1)) == Cut(6, is_agreed=True)


@pytest.mark.parametrize(("leader_end", "expected"), [(7, 7), (9, 9), (12, 9)])
def test_the_epoch_asked_for_ends_the_search(leader_end: int, expected: int) -> None:
    """X4: to the smaller of the leader's end and LEO."""
    assert cut_for(Epochs([(0, 0), (3, 5)], 9), 3, EpochEnd(3, leader_end)) == Cut(expected, is_agreed=True)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (EpochEnd(1, 12), 8),  # ours of epoch 1 is shorter
        (EpochEnd(1, 6), 6),  # the leader's is
        (EpochEnd(2, 12), 8),  # 2 is unknown here: ours below it is 1, which ends at 8
        (EpochEnd(0, 3), 3),
    ],
)
def test_a_smaller_epoch_cuts_and_asks_again(answer: EpochEnd, expected: int) -> None:
    """X4: to the smaller of the leader's end and the local end of that epoch."""
    log = Epochs([(0, 0), (1, 4), (3, 8)], 10)
    assert cut_for(log, 3, answer) == Cut(expected, is_agreed=False)


History = list[tuple[int, int]]
"""(epoch, record) by offset; the record tells apart what two leaders wrote."""


@st.composite
def histories(draw: st.DrawFn) -> tuple[History, History]:
    """Two logs of replicas of which each was cut and led by turns, as elections without regard to HW do."""
    logs: list[History] = [[], []]
    for epoch in range(draw(st.integers(1, 8))):
        leader = draw(st.integers(0, 1))
        follower = 1 - leader
        if draw(st.booleans()):  # the other has followed before: it is as the leader was, to some offset
            logs[follower] = logs[leader][: draw(st.integers(0, len(logs[leader])))]
        for _ in range(draw(st.integers(0, 3))):
            logs[leader].append((epoch, epoch * 100 + len(logs[leader])))
        shared = draw(st.integers(0, 3))
        if logs[leader][: len(logs[follower])] == logs[follower]:
            logs[follower] = logs[leader][: len(logs[follower]) + shared]
    return logs[0], logs[1]


def epochs_of(history: History) -> Epochs:
    starts = [(history[0][0], 0)] if history else []
    for offset, ((before, _), (epoch, _)) in enumerate(pairwise(history), 1):
        if epoch != before:
            starts.append((epoch, offset))
    return Epochs(starts, len(history))


@given(histories())
def test_asking_until_they_agree_finds_the_common_prefix(logs: tuple[History, History]) -> None:
    """X4, KIP-279: whatever the elections were; and each question is for an earlier epoch."""
    leading, following = logs
    leader, follower = epochs_of(leading), epochs_of(following)
    leader.cache.assign(100, leader.end_offset)  # it begins to lead
    asked = 1_000
    while follower.cache.latest >= 0:
        assert follower.cache.latest < asked
        asked = follower.cache.latest
        cut = cut_for(follower, asked, leader.end_offset_for_epoch(asked))
        follower.cut(cut.offset)
        if cut.is_agreed:
            break
    common = 0
    while common < min(len(leading), len(following)) and leading[common] == following[common]:
        common += 1
    assert follower.end_offset == common
