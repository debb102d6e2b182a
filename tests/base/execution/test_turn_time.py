"""The time of a turn of the loop, shared by all that runs in it."""

import pytest

from odradek.base.execution import TURN_NS, TurnTime


class Turn:
    def __init__(self) -> None:
        self.now_ns = 50 * TURN_NS
        self.time = TurnTime(lambda: self.now_ns)

    def work(self, elapsed_ns: int) -> int:
        """Works so long; returns how long it might have."""
        left_ns = self.time.begin() - self.now_ns
        self.now_ns += elapsed_ns
        self.time.end()
        return left_ns


@pytest.fixture
def turn() -> Turn:
    return Turn()


def test_the_worked_example(turn: Turn) -> None:
    assert turn.work(400_000) == TURN_NS
    turn.now_ns += 100_000
    assert turn.work(2_000_000) == 700_000
    assert turn.work(0) == -1_300_000
    turn.now_ns += 1_299_999
    assert turn.work(0) < 0
    turn.now_ns += 5 * TURN_NS
    assert turn.work(0) == TURN_NS, "time without work gives back a turn's, and no more"


def test_work_within_work_takes_of_the_same_time(turn: Turn) -> None:
    outer_ns = turn.time.begin()
    turn.now_ns += 300_000
    assert turn.work(200_000) == TURN_NS - 300_000
    assert turn.time.begin() == outer_ns
    turn.time.end()
    turn.time.end()
    assert turn.work(0) == TURN_NS - 500_000


def test_those_who_wait_have_equal_shares(turn: Turn) -> None:
    turn.time.askers = 2
    assert turn.time.begin_turn() - turn.now_ns == TURN_NS // 2
    assert turn.work(100_000) == TURN_NS // 2, "what it begins shares its share"
    turn.time.end()
    turn.time.askers = 1
    assert turn.time.begin_turn() - turn.now_ns == TURN_NS
