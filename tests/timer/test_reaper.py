"""When completed operations leave the lists of keys through which they did not complete."""

from collections import deque
from collections.abc import Callable
from typing import ClassVar

import pytest

from odradek.base.clock import ManualClock
from odradek.timer.delayed_operation import DelayedOperation
from odradek.timer.purgatory import Purgatory
from odradek.timer.reaper import CHECK_DELAY_MS, OUTNUMBERED_MAX, SLICE_ENTRIES
from odradek.timer.timer import Timer


class Open(DelayedOperation):
    """Open until it is forced or expires."""

    kind: ClassVar[str] = "open"

    def try_complete(self) -> bool:
        return False

    def on_complete(self) -> None:
        """Nothing to answer."""

    def waits_for(self) -> str:
        return "someone to force it"


class Bench:
    """A purgatory whose deferred callbacks run turn by turn."""

    def __init__(self, purge_interval: int, *, deferring: bool = False) -> None:
        self.clock = ManualClock()
        self.timer = Timer(self.clock)
        self.turns: deque[Callable[[], None]] = deque()
        self.purgatory: Purgatory[str] = Purgatory(
            "test",
            self.timer,
            purge_interval=purge_interval,
            defer=self.turns.append if deferring else None,
        )

    def watch(self, *keys: str, count: int = 1) -> list[Open]:
        operations = [Open(deadline_ms=self.clock.monotonic_ms() + 30_000) for _ in range(count)]
        for operation in operations:
            assert not self.purgatory.try_complete_else_watch(operation, keys)
        return operations

    def watch_and_complete(self, *keys: str, count: int = 1) -> None:
        for operation in self.watch(*keys, count=count):
            operation.force_complete()

    def turn(self) -> int:
        """One turn of the loop; how many entries it purged."""
        before = self.purgatory.watched
        self.turns.popleft()()
        return before - self.purgatory.watched


def test_above_the_purge_interval_all_lists_are_swept() -> None:
    """D6 the worked example of the module, literally."""
    bench = Bench(purge_interval=2)
    open_one = bench.watch("P1", "P2")
    bench.watch_and_complete("P1", "P3", count=2)
    bench.timer.advance()
    assert bench.purgatory.watched == 6, "an estimate of 2 is not above the interval"
    bench.watch_and_complete("P2", "P3")
    bench.timer.advance()
    assert bench.purgatory.watchers() == {"P1": open_one, "P2": open_one}
    assert (bench.purgatory.watched, bench.purgatory.delayed) == (2, 1)


def test_completed_entries_that_outnumber_open_ones_are_swept() -> None:
    """D6 ten operations of 1,001 keys each are few, but their entries are many."""
    bench = Bench(purge_interval=1_000)
    keys = [f"P{number}" for number in range(OUTNUMBERED_MAX // 10 + 1)]
    bench.watch_and_complete(*keys, count=9)
    bench.timer.advance()
    assert bench.purgatory.watched == 9 * len(keys)
    bench.watch_and_complete(*keys)
    bench.timer.advance()
    assert bench.purgatory.watched == 0


def test_open_entries_count_against_completed_ones() -> None:
    """D6 a sweep costs as much as there are entries: it is worth it when most of them are dropped."""
    bench = Bench(purge_interval=1_000)
    keys = [f"P{number}" for number in range(OUTNUMBERED_MAX // 10 + 1)]
    open_one, *_ = bench.watch(*keys, count=2)
    bench.watch_and_complete(*keys, count=11)
    bench.timer.advance()
    assert bench.purgatory.watched == 13 * len(keys)
    open_one.force_complete()
    bench.timer.advance()
    assert bench.purgatory.watched == len(keys)


def test_entries_beyond_the_bound_have_the_clock_advanced() -> None:
    """D6 nothing else may be due for a long time."""
    bench = Bench(purge_interval=1_000)
    bench.watch_and_complete(*(f"P{number}" for number in range(OUTNUMBERED_MAX)))
    open_one = bench.watch("P0")
    bench.watch_and_complete("P1", "P2", "P3")
    bench.clock.advance(CHECK_DELAY_MS)
    bench.timer.advance()
    assert bench.purgatory.watchers() == {"P0": open_one}


def test_nothing_is_swept_before_the_clock_advances() -> None:
    """D6 checked after every advance of the clock, and only then."""
    bench = Bench(purge_interval=1)
    bench.watch_and_complete("P1", "P2", count=10)
    assert bench.purgatory.watched == 20
    bench.timer.advance()
    assert bench.purgatory.watched == 0


def test_each_operation_counts_once_whatever_its_keys() -> None:
    """D6 operations, not entries."""
    bench = Bench(purge_interval=3)
    bench.watch_and_complete("P1", "P2", "P3", "P4", count=3)
    bench.timer.advance()
    assert bench.purgatory.watched == 12


def test_after_a_sweep_the_estimate_is_the_number_pending() -> None:
    """D6 what was pending at the sweep counts again once it completes."""
    bench = Bench(purge_interval=2)
    survivors = bench.watch("P1", "P2", count=3)
    bench.watch_and_complete("P1", count=3)
    bench.timer.advance()
    assert bench.purgatory.watched == 6
    for survivor in survivors[:2]:
        survivor.force_complete()
    bench.timer.advance()
    assert bench.purgatory.watched == 6
    survivors[2].force_complete()
    bench.timer.advance()
    assert bench.purgatory.watchers() == {}


def test_pending_operations_alone_never_cause_a_sweep() -> None:
    """D6 a thousand that wait are nothing to purge."""
    bench = Bench(purge_interval=1, deferring=True)
    bench.watch("P1", count=1_000)
    bench.timer.advance()
    assert not bench.turns
    assert bench.purgatory.watched == 1_000


@pytest.mark.parametrize("keys_count", [1, 7, 5_000])
def test_a_sweep_examines_at_most_a_slice_per_turn(keys_count: int) -> None:
    """D6 slices of at most 1,000 entries, also within one long list."""
    bench = Bench(purge_interval=10, deferring=True)
    entries = 5_000
    for index in range(entries):
        bench.watch_and_complete(f"P{index % keys_count}")
    bench.timer.advance()
    purged = [entries - bench.purgatory.watched]
    while bench.turns:
        purged.append(bench.turn())
    assert max(purged) <= SLICE_ENTRIES
    assert sum(purged) == entries
    assert len(purged) == entries // SLICE_ENTRIES
    assert bench.purgatory.watchers() == {}


def test_a_sweep_keeps_what_waits_in_its_order() -> None:
    """D3 D6 arrival order survives, across slices too."""
    bench = Bench(purge_interval=10, deferring=True)
    operations = bench.watch("P1", count=2_500)
    for operation in operations[::2]:
        operation.force_complete()
    bench.timer.advance()
    while bench.turns:
        bench.turn()
    assert bench.purgatory.watchers() == {"P1": operations[1::2]}


def test_lists_may_change_between_two_slices() -> None:
    """D6 keys that vanish, and lists that shrink and grow under the sweep."""
    bench = Bench(purge_interval=10, deferring=True)
    long_list = bench.watch("P1", count=1_500)
    short_list = bench.watch("P2", count=20)
    bench.watch_and_complete("P3", count=20)
    for operation in long_list[:1_400]:
        operation.force_complete()
    bench.timer.advance()
    assert bench.turns, "the sweep stands in the middle of P1"
    bench.purgatory.check_and_complete("P1")
    assert bench.purgatory.watchers()["P1"] == long_list[1_400:]
    bench.purgatory.cancel_for_key("P2")
    late = bench.watch("P1", "P4")
    while bench.turns:
        bench.turn()
    assert bench.purgatory.watchers() == {"P1": long_list[1_400:] + late, "P4": late}
    assert bench.purgatory.watched == 102
    assert not short_list[0].is_completed


def test_one_sweep_at_a_time() -> None:
    """D6 advances of the clock while a sweep is at work do not begin another."""
    bench = Bench(purge_interval=10, deferring=True)
    bench.watch_and_complete("P1", count=2_500)
    bench.timer.advance()
    bench.watch_and_complete("P2", count=500)
    bench.timer.advance()
    bench.timer.advance()
    assert len(bench.turns) == 1


def test_without_a_deadline_in_sight_the_clock_is_advanced_for_the_sweep() -> None:
    """D6 operations that complete long before their deadlines do not pile up until then."""
    bench = Bench(purge_interval=10)
    for _ in range(15):
        bench.watch_and_complete("P1", "P2")
    while (next_ms := bench.timer.next_expiration_ms()) is not None:
        bench.clock.advance(next_ms - bench.clock.monotonic_ms())
        bench.timer.advance()
    assert bench.purgatory.watched == 0
    assert 0 < bench.clock.monotonic_ms() <= CHECK_DELAY_MS


def test_a_sweep_in_time_makes_that_advance_needless() -> None:
    """T3 D6 no wake is left over for what has been done."""
    bench = Bench(purge_interval=1)
    for _ in range(5):
        bench.watch_and_complete("P1", "P2")
    assert bench.timer.size == 1
    bench.timer.advance()
    assert bench.timer.size == 0


def test_an_operation_that_failed_to_be_watched_is_not_counted() -> None:
    """D4 D6 it stands in no list."""

    class Failing(Open):
        tries = 0

        def try_complete(self) -> bool:
            self.tries += 1
            assert self.tries < 2, "our own mistake"
            return False

    bench = Bench(purge_interval=1)
    bench.watch_and_complete("P1")
    for _ in range(5):
        with pytest.raises(AssertionError):
            bench.purgatory.try_complete_else_watch(Failing(deadline_ms=1_000), ["P1"])
    bench.timer.advance()
    assert bench.purgatory.watched == 1, "an estimate of 1 is not above the interval"


def test_below_the_purge_interval_the_clock_is_left_alone() -> None:
    """T3 an idle broker sleeps."""
    bench = Bench(purge_interval=10)
    bench.watch_and_complete("P1", "P2", count=10)
    assert bench.timer.next_expiration_ms() is None
    assert bench.timer.size == 0
