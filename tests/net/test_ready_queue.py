from collections.abc import Callable

import pytest

from odradek.base.execution import TurnTime
from odradek.net.ready_queue import ReadyQueue

MS = 1_000_000


class Loop:
    """A clock and a loop in the test's hands."""

    def __init__(self) -> None:
        self.now_ns = 0
        self.due: list[Callable[[], None]] = []
        self.served: list[str] = []
        self.queue = ReadyQueue(self.due.append, TurnTime(lambda: self.now_ns))

    def turn(self) -> None:
        self.due.pop()()


class Requests:
    """A connection with requests of 0.4 ms each."""

    def __init__(self, loop: Loop, name: str, count: int) -> None:
        self.loop = loop
        self.name = name
        self.count = count
        self.fails = False
        self.queued_ns = -1

    def serve_next(self) -> bool:
        if self.count:
            self.count -= 1
            self.loop.now_ns += 400_000
            self.loop.served.append(self.name)
        if self.fails:
            raise ValueError
        return self.count > 0


@pytest.fixture
def loop() -> Loop:
    return Loop()


def test_the_worked_example(loop: Loop) -> None:
    for name, count in (("A", 3), ("B", 1), ("C", 2)):
        loop.queue.add(Requests(loop, name, count))
    loop.turn()
    assert loop.served == ["A", "B", "C"]
    assert loop.queue.serve_or_add(Requests(loop, "D", 1)), "others wait"
    loop.turn()
    loop.turn()
    assert loop.served == ["A", "B", "C", "A", "C", "D", "A"]
    assert (loop.due, len(loop.queue)) == ([], 0)


def test_time_without_work_gives_the_slice_back(loop: Loop) -> None:
    def comes() -> bool:
        return loop.queue.serve_or_add(Requests(loop, "A", 1))

    assert [comes(), comes(), comes()] == [False, False, False]
    loop.now_ns += 200_000
    assert comes(), "1.0 of 1 ms are still used"
    loop.turn()
    assert not comes()
    loop.now_ns += MS
    assert [comes(), comes(), comes(), comes()] == [False, False, False, True]


def test_a_connection_that_fails_keeps_nobody_from_being_served(loop: Loop) -> None:
    failing = Requests(loop, "A", 1)
    failing.fails = True
    loop.queue.add(failing)
    loop.queue.add(Requests(loop, "B", 1))
    with pytest.raises(ValueError):
        loop.turn()
    loop.turn()
    assert loop.served == ["A", "B"]


def test_a_connection_knows_since_when_it_waits_for_its_turn(loop: Loop) -> None:
    at_once, first, second = (Requests(loop, name, count) for name, count in (("A", 1), ("B", 2), ("C", 1)))
    loop.queue.serve_or_add(at_once)
    assert at_once.queued_ns == 0
    loop.queue.add(first)
    loop.now_ns += 100_000
    loop.queue.add(second)
    assert (first.queued_ns, second.queued_ns) == (400_000, 500_000)
    loop.turn()
    assert first.queued_ns == 900_000, "its next request waits since the one before was handled"
