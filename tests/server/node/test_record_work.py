"""Long work on records: in turns of the loop and in the background, in bounded number and memory."""

from collections.abc import Callable
from mmap import mmap
from typing import Any

import pytest

from odradek.base.execution import Slices, TurnTime
from odradek.base.held_calls import HeldCalls
from odradek.records.framing import DECOMPRESSED_USUAL_BYTES_MAX
from odradek.records.work import Away, RecordSteps
from odradek.server.node.record_work import LARGE_AT_ONCE, STEPS_AT_ONCE, USUAL_AT_ONCE, RecordJob, RecordWork
from odradek.testing.sim import CountedTime


class Bench:
    """The work of a node whose loop the test turns."""

    def __init__(self) -> None:
        self.turns: list[Callable[[], None]] = []
        self.background = HeldCalls()
        self.work = RecordWork(Slices(self.turns.append, TurnTime(CountedTime())), self.background)
        self.done: list[Any] = []
        self.failed: list[Exception] = []

    def run(self, work: RecordSteps[Any]) -> None:
        before = len(self.done)
        result = self.work.run(work, self.done.append, self.failed.append)
        assert len(self.done) == before, "an event before the call returned"
        if not isinstance(result, RecordJob):
            self.done.append(result)

    def turn(self) -> None:
        waiting, self.turns[:] = self.turns[:], []
        for callback in waiting:
            callback()

    def settle(self) -> None:
        while self.turns or self.background.waiting:
            self.turn()
            if self.background.waiting:
                self.background.complete_next()


@pytest.fixture
def bench() -> Bench:
    return Bench()


def steps(count: int, name: str) -> RecordSteps[str]:
    for _ in range(count):
        yield None
    return name


def away(name: str, bytes_max: int, seen: list[str]) -> RecordSteps[str]:
    yield Away(lambda: seen.append(name), bytes_max)
    yield None
    return name


def test_short_work_is_done_at_once(bench: Bench) -> None:
    bench.run(steps(STEPS_AT_ONCE - 1, "short"))
    assert (bench.done, bench.turns) == (["short"], [])


def test_long_work_goes_on_in_later_turns_and_short_work_overtakes_it(bench: Bench) -> None:
    bench.run(steps(1000, "long"))
    for _ in range(20):
        bench.turn()
    assert bench.done == []
    bench.run(steps(STEPS_AT_ONCE + 6, "shorter"))
    for _ in range(8):
        bench.turn()
    assert bench.done == ["shorter"]
    bench.settle()
    assert bench.done == ["shorter", "long"]


def test_one_turn_has_one_slice_however_many_works_there_are(bench: Bench) -> None:
    had = [0] * 50

    def counted(number: int) -> RecordSteps[None]:
        while True:
            had[number] += 1
            yield None

    for number in range(50):
        bench.run(counted(number))
    before = sum(had)
    bench.turn()
    assert 1 <= sum(had) - before <= 2


def test_the_background_gets_one_call_at_a_time(bench: Bench) -> None:
    """So that a batch made to take long leaves the other threads to the disk."""
    seen: list[str] = []
    for name in "abc":
        bench.run(away(name, 1, seen))
    assert bench.background.waiting == 1
    bench.settle()
    assert (seen, bench.done) == (["a", "b", "c"], ["a", "b", "c"])


@pytest.mark.parametrize(
    ("bytes_max", "at_once"),
    [(DECOMPRESSED_USUAL_BYTES_MAX, USUAL_AT_ONCE), (64 << 20, LARGE_AT_ONCE)],
)
def test_only_so_many_works_hold_memory(bench: Bench, bytes_max: int, at_once: int) -> None:
    seen: list[str] = []
    holding = 0

    def holder() -> RecordSteps[None]:
        nonlocal holding
        yield Away(lambda: seen.append("held"), bytes_max)
        holding += 1
        for _ in range(20):
            assert holding <= at_once
            yield None
        holding -= 1

    for _ in range(3 * at_once):
        bench.run(holder())
    bench.settle()
    assert len(bench.done) == 3 * at_once


def test_works_of_many_results_never_hold_all_rooms(bench: Bench) -> None:
    """A produce to several partitions unpacks one batch after the other."""

    def unpacking() -> RecordSteps[int]:
        for _ in range(USUAL_AT_ONCE + 2):
            yield Away(lambda: b"unpacked", DECOMPRESSED_USUAL_BYTES_MAX)
            yield None
        return 1

    for _ in range(2 * USUAL_AT_ONCE):
        bench.run(unpacking())
    bench.settle()
    assert bench.done == [1] * 2 * USUAL_AT_ONCE
    assert (bench.work._usual.room, bench.work._large.room) == (USUAL_AT_ONCE, LARGE_AT_ONCE)
    assert bench.work.waiting == 0


@pytest.mark.parametrize("has_returned", [False, True], ids=["in the background", "before its next step"])
def test_what_abandoned_work_was_given_is_freed_without_the_cycle_collector(
    bench: Bench, has_returned: bool
) -> None:
    mapped = mmap(-1, 1 << 20)

    def unpacking() -> RecordSteps[str]:
        yield Away(lambda: memoryview(mapped), DECOMPRESSED_USUAL_BYTES_MAX)
        return "never"

    bench.run(steps(20, "other"))  # so that the job waits for a later turn
    job = bench.work.run(unpacking(), bench.done.append, bench.failed.append)
    assert isinstance(job, RecordJob)
    if has_returned:
        bench.background.complete_next()
    job.abandon()
    bench.settle()
    assert mapped.closed
    assert (bench.done, bench.work._usual.room) == (["other"], USUAL_AT_ONCE)


@pytest.mark.parametrize("is_away", [True, False], ids=["in the background", "waiting"])
def test_abandoned_work_is_not_begun_and_not_reported(bench: Bench, is_away: bool) -> None:
    begun: list[str] = []

    def unpacking(name: str) -> RecordSteps[str]:
        for _ in range(3):
            yield Away(lambda: begun.append(name), DECOMPRESSED_USUAL_BYTES_MAX)
        return name

    first = bench.work.run(unpacking("first"), bench.done.append, bench.failed.append)
    second = bench.work.run(unpacking("second"), bench.done.append, bench.failed.append)
    job = first if is_away else second
    assert isinstance(job, RecordJob)
    job.abandon()
    job.abandon()
    bench.settle()
    assert bench.done == (["second"] if is_away else ["first"])
    assert begun.count("first" if is_away else "second") <= 1
    assert (bench.work._usual.room, bench.failed) == (USUAL_AT_ONCE, [])


def test_a_broker_that_stops_abandons_everything(bench: Bench) -> None:
    def endless() -> RecordSteps[None]:
        while True:
            yield Away(lambda: None, DECOMPRESSED_USUAL_BYTES_MAX)

    for _ in range(USUAL_AT_ONCE + 3):
        bench.run(endless())
    bench.work.close()
    bench.settle()
    assert (bench.work.waiting, bench.done, bench.failed) == (0, [], [])


def test_what_short_work_ends_with_comes_out_of_the_call(bench: Bench) -> None:
    def short() -> RecordSteps[str]:
        yield None
        return "short"

    def mistaken() -> RecordSteps[str]:
        yield None
        raise KeyError("a mistake")

    assert bench.work.run(short(), bench.done.append, bench.failed.append) == "short"
    with pytest.raises(KeyError):
        bench.work.run(mistaken(), bench.done.append, bench.failed.append)
    assert (bench.done, bench.failed) == ([], [])


def test_large_results_do_not_hold_up_usual_ones(bench: Bench) -> None:
    seen: list[str] = []
    for name in ("large", "larger", "largest"):
        bench.run(away(name, 64 << 20, seen))
    bench.run(away("usual", 1000, seen))
    bench.settle()
    assert seen == ["large", "usual", "larger", "largest"]


def test_a_call_that_fails_gives_its_room_back(bench: Bench) -> None:
    def refused() -> RecordSteps[str]:
        try:
            yield Away(lambda: 1 // 0, 64 << 20)
        except ZeroDivisionError:
            return "refused"
        return "not raised"

    for _ in range(LARGE_AT_ONCE + 1):
        bench.run(refused())
    bench.settle()
    assert bench.done == ["refused"] * (LARGE_AT_ONCE + 1)


def test_a_mistake_ends_its_own_work_alone(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    def mistaken() -> RecordSteps[None]:
        yield from steps(1000, "")
        raise KeyError("a mistake")

    def misled(_: object) -> None:
        raise ValueError("what follows is wrong")

    bench.run(mistaken())
    bench.work.run(steps(1000, ""), misled, bench.failed.append)
    bench.run(steps(12, "another"))
    bench.settle()
    assert [type(error) for error in bench.failed] == [KeyError, ValueError]
    assert bench.done == ["another"]
    assert len(caplog.records) == 2
