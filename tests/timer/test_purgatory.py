"""Operations and events, brought together."""

import gc
import weakref
from collections import deque
from collections.abc import Callable
from typing import ClassVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from odradek.base.clock import ManualClock
from odradek.timer.delayed_operation import DelayedOperation
from odradek.timer.purgatory import Purgatory
from odradek.timer.timer import Timer
from odradek.timer.waiting_operation import WaitingOperation


class Scripted(DelayedOperation):
    """Completes once `holds` is set; notes what happens to it in a log that it may share."""

    kind: ClassVar[str] = "scripted"

    def __init__(self, name: str, log: list[str], deadline_ms: int = 1_000) -> None:
        super().__init__(deadline_ms)
        self.name = name
        self.log = log
        self.holds = False
        self.tries = 0
        self.while_trying: Callable[[], object] = lambda: None
        self.while_completing: Callable[[], object] = lambda: None

    def try_complete(self) -> bool:
        self.tries += 1
        self.while_trying()
        return self.force_complete() if self.holds else False

    def on_complete(self) -> None:
        self.log.append(f"{self.name} completed")
        self.while_completing()

    def on_expiration(self) -> None:
        self.log.append(f"{self.name} expired")

    def waits_for(self) -> str:
        return f"{self.name} to hold"

    def __repr__(self) -> str:
        return self.name + ("✓" if self.is_completed else "")


class Bench:
    """A purgatory, its clock, and a log of what happened."""

    def __init__(
        self, purge_interval: int = 1000, defer: Callable[[Callable[[], None]], None] | None = None
    ) -> None:
        self.clock = ManualClock()
        self.timer = Timer(self.clock)
        self.purgatory: Purgatory[str] = Purgatory(
            "test", self.timer, purge_interval=purge_interval, defer=defer
        )
        self.log: list[str] = []

    def operation(self, name: str, delay_ms: int = 1_000) -> Scripted:
        return Scripted(name, self.log, self.clock.monotonic_ms() + delay_ms)

    def park(self, name: str, *keys: str, delay_ms: int = 1_000) -> Scripted:
        operation = self.operation(name, delay_ms)
        assert not self.purgatory.try_complete_else_watch(operation, keys)
        return operation

    def pass_time(self, by_ms: int) -> None:
        self.clock.advance(by_ms)
        self.timer.advance()

    def lists(self) -> dict[str, str]:
        return {key: repr(operations) for key, operations in self.purgatory.watchers().items()}


def fail() -> None:
    raise RuntimeError("our own mistake")


def test_what_is_complete_at_once_is_neither_watched_nor_in_the_timer() -> None:
    """D4 tried before it is watched."""
    bench = Bench()
    operation = bench.operation("Op")
    operation.holds = True
    assert bench.purgatory.try_complete_else_watch(operation, ["P1", "P2"])
    assert bench.log == ["Op completed"]
    assert (bench.purgatory.watched, bench.purgatory.delayed, bench.timer.size) == (0, 0, 0)


def test_what_stays_open_is_watched_under_each_key_and_put_into_the_timer() -> None:
    """D4 tried, watched, tried again, delayed."""
    bench = Bench()
    operation = bench.park("Op", "P1", "P2")
    assert operation.tries == 2
    assert bench.lists() == {"P1": "[Op]", "P2": "[Op]"}
    assert (bench.purgatory.watched, bench.purgatory.delayed, bench.timer.size) == (2, 1, 1)


def test_what_completes_once_it_is_watched_never_enters_the_timer() -> None:
    """D4 an event between the first try and the watching is not lost."""
    bench = Bench()
    operation = bench.operation("Op")

    def hold_at_the_second_try() -> None:
        operation.holds = operation.tries == 2

    operation.while_trying = hold_at_the_second_try
    assert bench.purgatory.try_complete_else_watch(operation, ["P1", "P2"])
    assert bench.lists() == {"P1": "[Op✓]", "P2": "[Op✓]"}
    assert (bench.purgatory.delayed, bench.timer.size) == (0, 0)


@pytest.mark.parametrize(("forcing_try", "lists"), [(1, {}), (2, {"P1": "[Op✓]"})])
def test_what_someone_else_completes_while_it_is_tried_is_complete(
    forcing_try: int, lists: dict[str, str]
) -> None:
    """D1 D4 whoever won, it does not enter the timer, and once complete it is not watched any more."""
    bench = Bench()
    operation = bench.operation("Op")
    operation.while_trying = lambda: operation.tries == forcing_try and operation.force_complete()
    assert bench.purgatory.try_complete_else_watch(operation, ["P1"])
    assert bench.lists() == lists
    assert (bench.purgatory.delayed, bench.timer.size) == (0, 0)


def test_keys_must_not_be_empty() -> None:
    """D4 nothing could complete it."""
    bench = Bench()
    with pytest.raises(AssertionError):
        bench.purgatory.try_complete_else_watch(bench.operation("Op"), [])


def test_a_deadline_that_has_passed_expires_at_the_next_advance() -> None:
    """D4 T4 try_complete_else_watch itself answers only what its condition completes."""
    bench = Bench()
    bench.park("Op", "P1", delay_ms=0)
    assert bench.log == []
    assert bench.timer.next_expiration_ms() == 0
    bench.timer.advance()
    assert bench.log == ["Op completed", "Op expired"]
    assert bench.purgatory.delayed == 0


def test_an_event_tries_all_of_its_key_and_drops_what_is_complete() -> None:
    """D5 and returns how many it completed."""
    bench = Bench()
    operations = [bench.park(f"Op{number}", "P1", "P2") for number in range(4)]
    operations[1].holds = operations[2].holds = True
    operations[3].force_complete()
    assert bench.purgatory.check_and_complete("P1") == 2
    assert bench.log == ["Op3 completed", "Op1 completed", "Op2 completed"]
    assert bench.lists() == {"P1": "[Op0]", "P2": "[Op0, Op1✓, Op2✓, Op3✓]"}
    assert [bench.purgatory.open_count_of(key) for key in ("P1", "P2", "P3")] == [1, 1, 0]
    assert (bench.purgatory.watched, bench.purgatory.delayed) == (5, 1)
    assert bench.purgatory.check_and_complete("P2") == 0
    assert bench.lists() == {"P1": "[Op0]", "P2": "[Op0]"}


def test_a_key_left_empty_is_dropped() -> None:
    """D5."""
    bench = Bench()
    bench.park("Op", "P1").holds = True
    assert bench.purgatory.check_and_complete("P1") == 1
    assert bench.lists() == {}
    assert bench.purgatory.check_and_complete("P1") == 0


def test_an_expired_operation_leaves_its_lists_at_the_next_event_of_each_key() -> None:
    """D5 D6 nobody looks for it before."""
    bench = Bench()
    bench.park("Op", "P1", "P2", delay_ms=50)
    bench.pass_time(50)
    assert bench.lists() == {"P1": "[Op✓]", "P2": "[Op✓]"}
    assert bench.purgatory.check_and_complete("P1") == 0
    assert bench.lists() == {"P2": "[Op✓]"}


def test_scenario_s0_two_operations_over_seven_keys() -> None:
    """S0 D3 D6 literally: seven keys; Op1 done and purged, five keys."""
    bench = Bench(purge_interval=0)
    first = bench.park("Op1", "P1", "P2", "P3", "P4", "P5")
    bench.park("Op2", "P1", "P3", "P5", "P6", "P7")
    assert bench.lists() == {
        "P1": "[Op1, Op2]",
        "P2": "[Op1]",
        "P3": "[Op1, Op2]",
        "P4": "[Op1]",
        "P5": "[Op1, Op2]",
        "P6": "[Op2]",
        "P7": "[Op2]",
    }
    first.force_complete()
    bench.timer.advance()
    assert bench.lists() == dict.fromkeys(["P1", "P3", "P5", "P6", "P7"], "[Op2]")


def test_scenario_s0_one_produce_two_consumers_three_followers() -> None:
    """S0 D7 D9 six operations, two keys of five entries; two purgatories, one timer."""
    clock = ManualClock()
    timer = Timer(clock)
    produce: Purgatory[str] = Purgatory("Produce", timer)
    fetch: Purgatory[str] = Purgatory("Fetch", timer)
    log: list[str] = []
    produce.try_complete_else_watch(Scripted("DP", log), ["P1", "P2"])
    fetch.try_complete_else_watch(Scripted("C1", log), ["P1"])
    fetch.try_complete_else_watch(Scripted("C2", log), ["P2"])
    for broker in (2, 3, 4):
        fetch.try_complete_else_watch(Scripted(f"F{broker}", log), ["P1", "P2"])
    lists = {key: produce.watchers()[key] + fetch.watchers()[key] for key in ("P1", "P2")}
    assert repr(lists) == "{'P1': [DP, C1, F2, F3, F4], 'P2': [DP, C2, F2, F3, F4]}"
    assert produce.watched + fetch.watched == 10
    assert (produce.delayed, fetch.delayed, timer.size) == (1, 5, 6)


def test_completing_an_operation_may_cause_events_for_other_keys() -> None:
    """D5 each completes once, whoever comes first."""
    bench = Bench()
    first, second = bench.park("Op1", "P1"), bench.park("Op2", "P1", "P2")
    first.holds = second.holds = True
    nested: list[int] = []
    first.while_completing = lambda: nested.append(bench.purgatory.check_and_complete("P2"))
    assert bench.purgatory.check_and_complete("P1") == 1
    assert nested == [1]
    assert bench.log == ["Op1 completed", "Op2 completed"]
    assert bench.lists() == {}
    assert bench.purgatory.watched == 0


def test_completing_an_operation_may_cause_an_event_for_the_same_key() -> None:
    """D5 the nested call does the rest; the outer one finds nothing left."""
    bench = Bench()
    operations = [bench.park(f"Op{number}", "P1") for number in range(3)]
    for operation in operations:
        operation.holds = True
    nested: list[int] = []
    operations[0].while_completing = lambda: nested.append(bench.purgatory.check_and_complete("P1"))
    assert bench.purgatory.check_and_complete("P1") == 1
    assert nested == [2]
    assert bench.lists() == {}
    assert bench.purgatory.watched == 0


def test_an_operation_watched_meanwhile_stands_in_the_list_and_is_not_tried_again() -> None:
    """D5 a call goes through the operations that were there when it began."""
    bench = Bench()
    first = bench.park("Op1", "P1")
    first.holds = True
    parked: list[Scripted] = []
    first.while_completing = lambda: parked.append(bench.park("Op2", "P1"))
    assert bench.purgatory.check_and_complete("P1") == 1
    assert bench.lists() == {"P1": "[Op2]"}
    assert parked[0].tries == 2


def test_an_operation_watched_under_a_key_that_was_just_dropped_is_not_lost() -> None:
    """D5 the nested event empties the list, then someone waits for the key again."""
    bench = Bench()
    first = bench.park("Op1", "P1")
    first.holds = True

    def empty_and_park() -> None:
        bench.purgatory.check_and_complete("P1")
        bench.park("Op2", "P1").holds = True

    first.while_completing = empty_and_park
    assert bench.purgatory.check_and_complete("P1") == 1
    assert bench.lists() == {"P1": "[Op2]"}
    assert bench.purgatory.check_and_complete("P1") == 1


def test_a_condition_that_causes_an_event_for_its_own_key_is_tried_again() -> None:
    """D2 D5 never lost: what the nested event changed is seen by the holder."""
    bench = Bench()
    operation = bench.park("Op", "P1")
    operation.while_trying = lambda: (
        bench.purgatory.check_and_complete("P1") if operation.tries == 3 else None
    )
    assert bench.purgatory.check_and_complete("P1") == 0
    assert operation.tries == 4


def test_one_that_raises_keeps_no_other_from_completing() -> None:
    """D5 the others first; then what was raised, together."""
    bench = Bench()
    operations = [bench.park(f"Op{number}", "P1") for number in range(4)]
    for operation in operations:
        operation.holds = True
    operations[0].while_trying = fail
    operations[2].while_completing = fail
    with pytest.raises(ExceptionGroup, match="2 delayed operations of purgatory test failed"):
        bench.purgatory.check_and_complete("P1")
    assert bench.log == ["Op1 completed", "Op2 completed", "Op3 completed"]
    assert bench.lists() == {"P1": "[Op0]"}, "one whose condition failed still waits"
    with pytest.raises(ExceptionGroup):
        bench.purgatory.check_and_complete("P1")
    bench.pass_time(1_000)
    assert bench.log[3:] == ["Op0 completed", "Op0 expired"], "its deadline answers it"


def test_where_there_is_a_loop_the_event_returns_and_the_error_comes_in_its_own_turn() -> None:
    """D5 another's mistake is not the caller's."""
    turns: deque[Callable[[], None]] = deque()
    bench = Bench(defer=turns.append)
    broken, sound = bench.park("broken", "P1"), bench.park("sound", "P1")
    broken.holds = sound.holds = True
    broken.while_completing = fail
    assert bench.purgatory.check_and_complete("P1") == 2
    assert len(turns) == 1
    with pytest.raises(ExceptionGroup):
        turns.popleft()()


@pytest.mark.parametrize("failing_try", [1, 2])
def test_what_fails_before_it_is_delayed_is_not_watched(failing_try: int) -> None:
    """D4 the caller gets the error and answers; no later event may answer again."""
    bench = Bench()
    bench.park("Op1", "P1")
    operation = bench.operation("Op2")
    operation.while_trying = lambda: fail() if operation.tries == failing_try else None
    with pytest.raises(RuntimeError):
        bench.purgatory.try_complete_else_watch(operation, ["P1", "P2"])
    assert bench.lists() == {"P1": "[Op1]"}
    assert (bench.purgatory.watched, bench.purgatory.delayed, bench.timer.size) == (1, 1, 1)


def test_cancelling_a_key_returns_its_operations_uncompleted() -> None:
    """D8 out of the timer, for the caller to complete each."""
    bench = Bench()
    first, second = bench.park("Op1", "G1"), bench.park("Op2", "G1", "G2")
    bench.park("Op3", "G1").force_complete()
    bench.log.clear()
    assert bench.purgatory.cancel_for_key("G1") == [first, second]
    assert bench.log == []
    assert bench.lists() == {"G2": "[Op2]"}
    assert (bench.purgatory.watched, bench.purgatory.delayed, bench.timer.size) == (1, 0, 0)
    bench.pass_time(5_000)
    assert bench.log == []
    assert first.force_complete()
    assert second.force_complete()
    assert bench.purgatory.delayed == 0
    assert bench.purgatory.cancel_for_key("G1") == []


def test_an_event_at_work_leaves_a_key_that_was_cancelled_to_its_canceller() -> None:
    """D5 D8 what was returned uncompleted is not tried behind the caller's back."""
    bench = Bench()
    first, second = bench.park("Op1", "G1"), bench.park("Op2", "G1")
    first.holds = second.holds = True
    cancelled: list[DelayedOperation] = []
    first.while_completing = lambda: cancelled.extend(bench.purgatory.cancel_for_key("G1"))
    assert bench.purgatory.check_and_complete("G1") == 1
    assert cancelled == [second]
    assert bench.log == ["Op1 completed"]
    assert bench.purgatory.watched == 0


def test_a_person_is_told_what_waits_and_for_what() -> None:
    """D7 type, keys, age, time left, and the open condition in words."""
    bench = Bench()
    bench.park("Op1", "P1", "P2", delay_ms=500)
    bench.pass_time(300)
    bench.park("Op2", "P2")
    bench.park("Op3", "P3").force_complete()
    bench.pass_time(12)
    described = list(bench.purgatory.describe())
    assert described == [
        WaitingOperation("scripted", ("P1", "P2"), 312, 188, "Op1 to hold"),
        WaitingOperation("scripted", ("P2",), 12, 988, "Op2 to hold"),
    ]
    assert str(described[0]) == "scripted  P1, P2  waiting 312 ms, 188 ms left: Op1 to hold"


def test_an_operation_that_is_completed_while_others_are_described_is_left_out() -> None:
    """D7."""
    bench = Bench()
    bench.park("Op1", "P1")
    second = bench.park("Op2", "P2")
    described = bench.purgatory.describe()
    assert next(described).waits_for == "Op1 to hold"
    second.force_complete()
    assert list(described) == []


def test_time_left_is_never_negative() -> None:
    """D7 the deadline has passed and the timer has not run yet."""
    bench = Bench()
    bench.park("Op", "P1", delay_ms=5)
    bench.clock.advance(50)
    assert next(bench.purgatory.describe()).time_left_ms == 0


def test_a_completed_operation_is_kept_alive_by_its_lists_only() -> None:
    """T5 D6 once purged, whatever it carried is gone, without the cycle collector."""
    bench = Bench(purge_interval=0)
    ghosts = []
    for number in range(50):
        operation = bench.park(f"Op{number}", "P1", "P2", delay_ms=10 + number)
        ghosts.append(weakref.ref(operation))
        if number % 2:
            operation.holds = True
    del operation
    gc.disable()
    try:
        bench.purgatory.check_and_complete("P1")
        bench.pass_time(1_000)
        assert [ghost() for ghost in ghosts if ghost() is not None] == []
    finally:
        gc.enable()
    assert (bench.purgatory.watched, bench.purgatory.delayed, bench.timer.size) == (0, 0, 0)


KEYS = ["P1", "P2", "P3", "P4"]
PURGE_INTERVAL = 3


class PurgatoryModel(RuleBasedStateMachine):
    """The purgatory beside plain lists of names, with events that cause events."""

    def __init__(self) -> None:
        super().__init__()
        self.bench = Bench(purge_interval=PURGE_INTERVAL)
        self.operations: dict[str, Scripted] = {}
        self.wakes: dict[str, str | None] = {}
        self.lists: dict[str, list[str]] = {}
        self.done: set[str] = set()
        self.in_timer: set[str] = set()
        self.log: list[str] = []
        self.counted = 0

    @rule(
        keys=st.lists(st.sampled_from(KEYS), min_size=1, max_size=4, unique=True),
        wakes=st.one_of(st.none(), st.sampled_from(KEYS)),
        delay_ms=st.integers(1, 3_000),
        holds=st.booleans(),
    )
    def park(self, keys: list[str], wakes: str | None, delay_ms: int, holds: bool) -> None:
        name = f"Op{len(self.operations)}"
        # Deadlines of their own, so that the order of expiry is the model's too.
        operation = self.bench.operation(name, delay_ms * 1_000 + len(self.operations))
        self.operations[name] = operation
        self.wakes[name] = wakes
        if wakes is not None:
            operation.while_completing = lambda: self.bench.purgatory.check_and_complete(wakes)
        operation.holds = holds
        assert self.bench.purgatory.try_complete_else_watch(operation, keys) == holds
        if holds:
            self.complete(name)
            return
        for key in keys:
            self.lists.setdefault(key, []).append(name)
        self.in_timer.add(name)
        self.counted += 1

    @precondition(lambda self: self.lists)
    @rule(data=st.data())
    def make_hold(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(sorted(self.lists)))
        self.operations[data.draw(st.sampled_from(self.lists[key]))].holds = True

    @rule(key=st.sampled_from(KEYS))
    def event(self, key: str) -> None:
        assert self.bench.purgatory.check_and_complete(key) == self.check(key)

    @precondition(lambda self: self.lists)
    @rule(data=st.data())
    def force(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(sorted(self.lists)))
        name = data.draw(st.sampled_from(self.lists[key]))
        assert self.operations[name].force_complete() == (name not in self.done)
        if name not in self.done:
            self.complete(name)

    @rule(key=st.sampled_from(KEYS))
    def cancel_key(self, key: str) -> None:
        cancelled = self.bench.purgatory.cancel_for_key(key)
        expected = [name for name in self.lists.pop(key, []) if name not in self.done]
        assert [repr(operation) for operation in cancelled] == expected
        self.in_timer.difference_update(expected)

    @rule(by_ms=st.integers(0, 1_500_000))
    def pass_time(self, by_ms: int) -> None:
        self.bench.pass_time(by_ms)
        now_ms = self.bench.clock.monotonic_ms()
        for name in sorted(self.in_timer, key=lambda name: self.operations[name].deadline_ms):
            if name in self.in_timer and self.operations[name].deadline_ms <= now_ms:
                self.complete(name)
                self.log.append(f"{name} expired")
        if self.counted - len(self.in_timer) > PURGE_INTERVAL:
            self.counted = len(self.in_timer)
            for key in list(self.lists):
                self.drop_done(key)

    def complete(self, name: str) -> None:
        self.done.add(name)
        self.in_timer.discard(name)
        self.log.append(f"{name} completed")
        wakes = self.wakes[name]
        if wakes is not None:
            self.check(wakes)

    def check(self, key: str) -> int:
        completed = 0
        for name in list(self.lists.get(key, [])):
            if name not in self.done and self.operations[name].holds:
                self.complete(name)
                completed += 1
        self.drop_done(key)
        return completed

    def drop_done(self, key: str) -> None:
        remaining = [name for name in self.lists.pop(key, []) if name not in self.done]
        if remaining:
            self.lists[key] = remaining

    @invariant()
    def lists_agree(self) -> None:
        """D3 D5 D6 D8 entry by entry."""
        found = {
            key: [operation.name for operation in operations if isinstance(operation, Scripted)]
            for key, operations in self.bench.purgatory.watchers().items()
        }
        assert found == self.lists
        assert self.bench.purgatory.watched == sum(map(len, self.lists.values()))

    @invariant()
    def completions_agree(self) -> None:
        """D1 each exactly once, in the same order, and expired only by its deadline."""
        assert self.bench.log == self.log

    @invariant()
    def the_timer_agrees(self) -> None:
        """D4 D7 the operations in the timer are the open ones that nobody cancelled."""
        assert self.bench.purgatory.delayed == len(self.in_timer)
        assert {name for name, operation in self.operations.items() if operation.is_pending} == self.in_timer


TestPurgatoryModel = PurgatoryModel.TestCase
TestPurgatoryModel.settings = settings(max_examples=150, stateful_step_count=50, deadline=None)
