"""The timer under a clock that stands still until it is told to move."""

import gc
import weakref
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from odradek.base.clock import ManualClock
from odradek.timer.timer import Timer
from odradek.timer.timer_task import TimerTask


class Recording(TimerTask):
    """Notes its name when it runs, then does what it was told to."""

    __slots__ = ("__weakref__", "name", "ran", "then")

    def __init__(
        self,
        deadline_ms: int,
        ran: list[object],
        name: object = None,
        then: Callable[[], object] | None = None,
    ) -> None:
        super().__init__(deadline_ms)
        self.ran = ran
        self.name = deadline_ms if name is None else name
        self.then = then

    def run(self) -> None:
        self.ran.append(self.name)
        if self.then is not None:
            self.then()


class Bench:
    """A timer, its clock, and what ran."""

    def __init__(self, tick_ms: int = 1, wheel_size: int = 20, start_ms: int = 0) -> None:
        self.clock = ManualClock(monotonic_ms=start_ms)
        self.earlier: list[int | None] = []
        self.timer = Timer(
            self.clock,
            tick_ms=tick_ms,
            wheel_size=wheel_size,
            on_earlier=lambda: self.earlier.append(self.timer.next_expiration_ms()),
        )
        self.ran: list[object] = []

    def add(
        self, deadline_ms: int, name: object = None, then: Callable[[], object] | None = None
    ) -> Recording:
        task = Recording(deadline_ms, self.ran, name, then)
        self.timer.add(task)
        return task

    def advance_to(self, now_ms: int) -> int:
        self.clock.advance(now_ms - self.clock.monotonic_ms())
        return self.timer.advance()


def test_tasks_run_at_their_deadlines_in_their_order() -> None:
    """T4 T5 whatever wheels they waited in, and however far the clock jumped."""
    bench = Bench()
    deadlines_ms = [450, 5, 19, 20, 21, 399, 400, 401, 8_000, 1, 160_001]
    for deadline_ms in deadlines_ms:
        bench.add(deadline_ms)
    assert bench.timer.size == len(deadlines_ms)
    assert bench.advance_to(200_000) == len(deadlines_ms)
    assert bench.ran == sorted(deadlines_ms)
    assert bench.timer.size == 0


def test_no_task_runs_early() -> None:
    """T5 a millisecond before its deadline a task is still pending."""
    for deadline_ms in (1, 20, 399, 400, 7_999, 8_000, 123_456):
        bench = Bench()
        bench.add(deadline_ms)
        assert bench.advance_to(deadline_ms - 1) == 0
        assert bench.advance_to(deadline_ms) == 1


def test_deadlines_are_rounded_up_to_whole_ticks() -> None:
    """T1 T5 with a tick of 10 ms a task fires in [deadline, deadline + 10), never before."""
    bench = Bench(tick_ms=10)
    bench.add(41)
    assert bench.advance_to(49) == 0
    assert bench.timer.next_expiration_ms() == 50
    assert bench.advance_to(50) == 1


def test_the_driver_wakes_for_buckets_and_not_for_ticks() -> None:
    """T3 T6 the worked example of the module, literally."""
    bench = Bench()
    bench.add(5, "A")
    assert bench.timer.next_expiration_ms() == 5
    bench.add(450, "B")
    assert bench.earlier == [5]
    wakes = []
    while (next_ms := bench.timer.next_expiration_ms()) is not None:
        bench.advance_to(next_ms)
        wakes.append((next_ms, list(bench.ran)))
    assert wakes == [(5, ["A"]), (400, ["A"]), (440, ["A"]), (450, ["A", "B"])]


def test_on_earlier_tells_the_driver_only_when_it_has_to_rearm() -> None:
    """T6 one call_at: a later deadline changes nothing, an earlier one does."""
    bench = Bench()
    for deadline_ms in (300, 310, 305, 200, 7, 9):
        bench.add(deadline_ms)
    assert bench.earlier == [300, 200, 7]


def test_a_driver_that_follows_on_earlier_and_asks_after_each_advance_misses_nothing() -> None:
    """T6 also when the bucket it is armed for was emptied and another came."""
    bench = Bench()
    bench.add(10).cancel()
    bench.add(15)
    assert bench.earlier == [10]
    assert bench.advance_to(10) == 0
    assert bench.timer.next_expiration_ms() == 15


def test_a_task_that_is_due_when_added_runs_at_the_next_advance_and_not_inside_add() -> None:
    """T4 a task already due runs at once: the driver is told, and the clock need not move."""
    bench = Bench(start_ms=1_000)
    bench.add(1_000)
    bench.add(7)
    assert bench.ran == []
    assert bench.timer.size == 2
    assert bench.timer.next_expiration_ms() == 1_000
    assert bench.earlier == [1_000, 1_000]
    assert bench.timer.advance() == 2
    assert bench.ran == [1_000, 7]
    assert bench.timer.next_expiration_ms() is None


def test_a_cancelled_task_never_runs() -> None:
    """T4 in whatever wheel it waits, due ones included."""
    bench = Bench()
    for deadline_ms in (0, 5, 50, 5_000, 10**12):
        bench.add(deadline_ms).cancel()
    assert bench.timer.size == 0
    assert bench.timer.next_expiration_ms() is None
    assert bench.advance_to(2 * 10**12) == 0
    assert bench.ran == []


def test_adding_a_pending_task_moves_it() -> None:
    """T2 a task has at most one live entry."""
    bench = Bench()
    task = bench.add(5)
    task.deadline_ms = 50
    bench.timer.add(task)
    assert bench.timer.size == 1
    assert bench.advance_to(49) == 0
    assert bench.advance_to(50) == 1


def test_a_task_may_add_itself_again() -> None:
    bench = Bench()

    def again() -> None:
        task.deadline_ms += 30
        bench.timer.add(task)

    task = bench.add(30, "tick", again)
    bench.advance_to(100)
    assert bench.ran == ["tick"] * 3
    assert bench.timer.next_expiration_ms() is not None
    assert bench.timer.size == 1


def test_a_task_added_inside_a_jump_takes_its_place_in_it() -> None:
    """T4 the jump to 100 runs 10, then what 10 added for 20, then 30."""
    bench = Bench()
    bench.add(10, then=lambda: bench.add(20))
    bench.add(30)
    assert bench.advance_to(100) == 3
    assert bench.ran == [10, 20, 30]


def test_a_task_that_keeps_adding_itself_when_due_does_not_hang_the_loop() -> None:
    """T4 it runs once per advance, and the driver is told to come again at once."""
    bench = Bench()

    def again() -> None:
        bench.timer.add(task)

    task = bench.add(10, then=again)
    assert bench.advance_to(10) == 1
    assert bench.timer.next_expiration_ms() == 10
    assert bench.timer.advance() == 1
    assert bench.timer.size == 1


def test_a_task_may_cancel_others_of_its_own_bucket() -> None:
    """T4 a cancelled task never runs, even one already on its way out."""
    bench = Bench()
    victims: list[Recording] = []

    def cancel_victims() -> None:
        for victim in victims:
            victim.cancel()

    bench.add(10, "first", cancel_victims)
    victims += [bench.add(10, "second"), bench.add(10, "third")]
    bench.add(10, "fourth")
    assert bench.advance_to(10) == 2
    assert bench.ran == ["first", "fourth"]
    assert bench.timer.size == 0


def test_advancing_from_within_a_task_is_left_to_the_call_at_work() -> None:
    """T4 no recursion: the nested call returns 0, and the outer one goes on to the later time."""
    bench = Bench()
    nested: list[int] = []
    bench.add(10, "outer", lambda: nested.append(bench.advance_to(50)))
    bench.add(10, "sibling")
    bench.add(40, "later")
    assert bench.advance_to(10) == 3
    assert nested == [0]
    assert bench.ran == ["outer", "sibling", "later"]


def test_a_task_that_raises_keeps_no_other_from_running() -> None:
    """T4 all that is due runs; then the errors are raised together."""
    bench = Bench()

    def fail() -> None:
        raise ValueError("broken task")

    bench.add(10, "broken", fail)
    bench.add(10, "same bucket")
    bench.add(12, "next bucket")
    with pytest.raises(ExceptionGroup, match="1 of 3 timer tasks failed") as raised:
        bench.advance_to(500)
    assert [str(error) for error in raised.value.exceptions] == ["broken task"]
    assert bench.ran == ["broken", "same bucket", "next bucket"]
    assert bench.timer.size == 0
    bench.add(600, "afterwards")
    assert bench.advance_to(600) == 1


def test_an_interrupt_loses_no_task() -> None:
    """T5 what the interrupted advance had in hand runs at the next one."""
    bench = Bench()

    def interrupt() -> None:
        raise KeyboardInterrupt

    bench.add(10, "interrupted", interrupt)
    bench.add(10, "same bucket")
    bench.add(12, "next bucket")
    with pytest.raises(KeyboardInterrupt):
        bench.advance_to(20)
    assert bench.timer.size == 2
    assert bench.timer.advance() == 2
    assert sorted(map(str, bench.ran)) == ["interrupted", "next bucket", "same bucket"]


def test_listeners_hear_of_every_advance_even_of_one_that_failed() -> None:
    """D6 checked after every advance of the clock."""
    bench = Bench()
    heard: list[int] = []
    bench.timer.call_after_advance(lambda: heard.append(len(bench.ran)))
    bench.timer.advance()
    bench.add(5, then=lambda: 1 // 0)
    with pytest.raises(ExceptionGroup):
        bench.advance_to(5)
    assert heard == [0, 1]


def test_the_queue_does_not_grow_with_the_tasks() -> None:
    """T3 T5 buckets wait, not tasks: one task or a hundred in a bucket are one wake."""
    bench = Bench()
    for _ in range(100):
        for deadline_ms in (3, 33, 333):
            bench.add(deadline_ms)
    wakes = 0
    while (next_ms := bench.timer.next_expiration_ms()) is not None:
        bench.advance_to(next_ms)
        wakes += 1
    assert wakes == 1 + 2 + 2
    assert len(bench.ran) == 300


def test_a_clock_that_stood_still_for_long_delays_nothing() -> None:
    """T5 wheels left behind by an idle hour still fire on time, and never early."""
    bench = Bench()
    bench.clock.advance(3_600_000)
    bench.add(3_600_500)
    assert bench.timer.advance() == 0
    assert bench.advance_to(3_600_499) == 0
    assert bench.advance_to(3_600_500) == 1


def test_the_wheels_follow_the_clock_when_nothing_is_due() -> None:
    """T4 advancing to time x moves the clock to x, so that what is near goes to the lowest wheel at once."""
    bench = Bench()
    bench.advance_to(3_600_000)
    bench.add(3_600_005)
    assert bench.timer.next_expiration_ms() == 3_600_005


def test_the_driver_is_not_called_back_from_within_advance() -> None:
    """T6 it asks after each advance anyway, and would only re-arm in vain."""
    bench = Bench()
    bench.add(10, then=lambda: (bench.add(0), bench.add(15)))
    bench.earlier.clear()
    bench.advance_to(10)
    assert bench.earlier == []
    assert bench.timer.next_expiration_ms() == 10


def test_nothing_that_ran_or_was_cancelled_is_kept_alive() -> None:
    """T5 memory is O(pending): after a storm the timer holds the survivor only."""
    bench = Bench()
    ghosts = []
    for deadline_ms in range(1, 300):
        task = bench.add(deadline_ms)
        if deadline_ms % 3:
            task.cancel()
        ghosts.append(weakref.ref(task))
    survivor = bench.add(10**9)
    bench.advance_to(1_000)
    del task
    gc.collect()
    assert [ghost() for ghost in ghosts if ghost() is not None] == []
    assert survivor.is_pending
    assert bench.timer.size == 1


delays_ms = st.one_of(
    st.integers(-5, 25),
    st.integers(0, 500),
    st.integers(0, 200_000),
    st.integers(0, 2**62),
    st.sampled_from([19, 20, 21, 399, 400, 401, 7_999, 8_000, 8_001]),
)


class TimerModel(RuleBasedStateMachine):
    """The timer beside a plain list of (deadline, task)."""

    def __init__(self) -> None:
        super().__init__()
        self.bench: Bench | None = None
        self.pending: dict[int, Recording] = {}
        self.retired: list[Recording] = []
        self.names = 0
        self.tick_ms = 1
        self.advanced_to_ms = 0

    @precondition(lambda self: self.bench is None)
    @rule(
        tick_ms=st.sampled_from([1, 1, 7, 10]),
        wheel_size=st.sampled_from([2, 3, 20]),
        at=st.integers(0, 10**6),
    )
    def start(self, tick_ms: int, wheel_size: int, at: int) -> None:
        self.tick_ms = tick_ms
        self.advanced_to_ms = at
        self.bench = Bench(tick_ms, wheel_size, at)

    @precondition(lambda self: self.bench is not None)
    @rule(delay_ms=delays_ms)
    def add(self, delay_ms: int) -> None:
        assert self.bench is not None
        self.names += 1
        deadline_ms = self.bench.clock.monotonic_ms() + delay_ms
        self.pending[self.names] = self.bench.add(deadline_ms, self.names)

    @precondition(lambda self: self.pending)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.pending)))
        task = self.pending.pop(name)
        task.cancel()
        self.retired.append(task)

    @precondition(lambda self: self.retired)
    @rule(data=st.data(), delay_ms=delays_ms)
    def add_again(self, data: st.DataObject, delay_ms: int) -> None:
        assert self.bench is not None
        task = self.retired.pop(data.draw(st.integers(0, len(self.retired) - 1)))
        task.deadline_ms = self.bench.clock.monotonic_ms() + delay_ms
        self.bench.timer.add(task)
        assert isinstance(task.name, int)
        self.pending[task.name] = task

    @precondition(lambda self: self.pending)
    @rule(data=st.data(), delay_ms=delays_ms)
    def move(self, data: st.DataObject, delay_ms: int) -> None:
        assert self.bench is not None
        task = self.pending[data.draw(st.sampled_from(sorted(self.pending)))]
        task.cancel()
        task.deadline_ms = self.bench.clock.monotonic_ms() + delay_ms
        self.bench.timer.add(task)

    @precondition(lambda self: self.bench is not None)
    @rule(by_ms=st.one_of(st.integers(0, 30), st.integers(0, 10_000), st.integers(0, 2**62)))
    def advance(self, by_ms: int) -> None:
        assert self.bench is not None
        self.bench.clock.advance(by_ms)
        self.expect_due(self.bench)

    @precondition(lambda self: self.bench is not None)
    @rule()
    def advance_as_a_driver_does(self) -> None:
        """Wake by wake to the end of the nearest deadline: none may be missed on the way."""
        assert self.bench is not None
        if not self.pending:
            return
        last_ms = min(task.deadline_ms for task in self.pending.values()) + self.tick_ms
        while (next_ms := self.bench.timer.next_expiration_ms()) is not None and next_ms < last_ms:
            self.bench.clock.advance(max(0, next_ms - self.bench.clock.monotonic_ms()))
            self.expect_due(self.bench)

    def expect_due(self, bench: Bench) -> None:
        now_ms = bench.clock.monotonic_ms()
        rounded = {name: self.round_up(task.deadline_ms) for name, task in self.pending.items()}
        due = [name for name, deadline_ms in rounded.items() if deadline_ms <= now_ms]
        bench.ran.clear()
        assert bench.timer.advance() == len(due)
        ran = [name for name in bench.ran if isinstance(name, int)]
        assert sorted(ran) == sorted(due)
        in_order = [rounded[name] for name in ran if rounded[name] > self.advanced_to_ms]
        assert in_order == sorted(in_order), "tasks that were not due when added run by their deadlines"
        for name in due:
            self.retired.append(self.pending.pop(name))
        self.advanced_to_ms = now_ms

    def round_up(self, deadline_ms: int) -> int:
        return -(-deadline_ms // self.tick_ms) * self.tick_ms

    @invariant()
    def size_and_next_expiration_agree(self) -> None:
        """T5 T6 the size is the number pending, and the driver never wakes after a deadline."""
        if self.bench is None:
            return
        assert self.bench.timer.size == len(self.pending)
        next_ms = self.bench.timer.next_expiration_ms()
        if not self.pending:
            assert next_ms is None
            return
        earliest_ms = min(self.round_up(task.deadline_ms) for task in self.pending.values())
        assert next_ms is not None
        assert next_ms <= max(earliest_ms, self.bench.clock.monotonic_ms())


TestTimerModel = TimerModel.TestCase
TestTimerModel.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)


@settings(max_examples=80, deadline=None)
@given(st.lists(delays_ms, max_size=40), st.sampled_from([2, 3, 20]), st.integers(0, 10**6))
def test_one_jump_runs_what_many_small_steps_run(delays: list[int], wheel_size: int, start_ms: int) -> None:
    """T4 the way there does not matter: the same tasks, in the order of their deadlines."""
    jumping, stepping = (Bench(wheel_size=wheel_size, start_ms=start_ms) for _ in range(2))
    for bench in (jumping, stepping):
        for name, delay_ms in enumerate(delays):
            bench.add(start_ms + max(1, delay_ms), name)
    jumping.advance_to(start_ms + 2**63)
    while (next_ms := stepping.timer.next_expiration_ms()) is not None:
        stepping.advance_to(next_ms)

    def deadlines(bench: Bench) -> list[int]:
        return [max(1, delays[name]) for name in bench.ran if isinstance(name, int)]

    assert deadlines(jumping) == deadlines(stepping) == sorted(max(1, delay_ms) for delay_ms in delays)
