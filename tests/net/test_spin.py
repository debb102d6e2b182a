from collections.abc import Callable

from odradek.base.execution import TurnTime
from odradek.net.ready_queue import ReadyQueue
from odradek.net.spin import (
    BUSY_HOLD_OFF_NS,
    HOLD_OFF_NS,
    PREEMPTED_NS,
    WAIT_LOOK_NS,
    WAIT_SHARE,
    Spin,
)

US = 1_000
LIMIT_NS = 150 * US
TURN_NS = 5 * US


class Loop:
    """A loop whose turns take 5 us each while something is scheduled, and that sleeps else."""

    def __init__(self) -> None:
        self.now_ns = 1_000_000_000
        self.due: list[Callable[[], None]] = []
        self.turns = 0
        self.queued_ns = 0
        self.waited_ns = 0
        self.spin = Spin(self.due.append, lambda: self.now_ns, LIMIT_NS, lambda: self.waited_ns)
        self.queue = ReadyQueue(self.due.append, TurnTime(lambda: self.now_ns), spin=self.spin)

    def serve_next(self) -> bool:
        self.now_ns += 30 * US
        return False

    def request(self) -> None:
        self.queue.serve_or_add(self)

    def wait(self, for_ns: int) -> None:
        """Let time pass, with a turn whenever the loop does not sleep."""
        until_ns = self.now_ns + for_ns
        while self.due and self.now_ns < until_ns:
            self.now_ns += TURN_NS
            self.turns += 1
            self.due.pop()()
        self.now_ns = max(self.now_ns, until_ns)

    def requests(self, count: int, gap_ns: int) -> int:
        """Requests with gaps between them; the turns of the loop that passed without one."""
        before = self.turns
        for _ in range(count):
            self.wait(gap_ns)
            self.request()
        return self.turns - before


def test_requests_close_together_keep_the_loop_awake_between_them() -> None:
    loop = Loop()
    loop.requests(20, 60 * US)
    assert loop.requests(10, 60 * US) == 10 * 12, "every 5 us of every gap"


def test_requests_far_apart_never_do() -> None:
    assert Loop().requests(50, 5_000 * US) == 0


def test_a_lone_request_after_a_long_pause_does_not() -> None:
    loop = Loop()
    loop.wait(10_000_000 * US)
    loop.request()
    assert not loop.due


def test_it_ends_with_the_requests_after_its_time() -> None:
    loop = Loop()
    loop.requests(20, 60 * US)
    before = loop.turns
    loop.wait(60_000_000 * US)
    assert loop.turns - before <= LIMIT_NS // TURN_NS + 1
    assert not loop.due, "an idle loop sleeps"


def test_a_burst_among_slow_requests_is_not_taken_for_their_pace() -> None:
    loop = Loop()
    loop.requests(20, 60 * US)
    loop.requests(2, 5_000 * US)
    assert loop.requests(10, 5_000 * US) == 0


def test_a_processor_that_others_want_is_left_to_them() -> None:
    loop = Loop()
    loop.requests(20, 60 * US)
    loop.now_ns += LIMIT_NS + PREEMPTED_NS
    loop.wait(TURN_NS)
    assert loop.requests(20, 60 * US) == 0
    loop.wait(HOLD_OFF_NS)
    loop.requests(20, 60 * US)
    assert loop.requests(1, 60 * US) == 12


def test_it_holds_off_while_the_thread_waits_for_a_processor() -> None:
    """With as many threads as processors, polling takes the processor from the clients that it waits for."""
    loop = Loop()
    loop.requests(20, 60 * US)
    assert loop.spin._until_ns
    loop.waited_ns += 2 * WAIT_LOOK_NS // WAIT_SHARE
    loop.requests(WAIT_LOOK_NS // (90 * US), 60 * US)
    assert loop.requests(100, 60 * US) == 0
    while loop.now_ns < 1_000_000_000 + 3 * BUSY_HOLD_OFF_NS:
        loop.waited_ns += 10 * US
        loop.requests(1, 60 * US)
    assert loop.requests(100, 60 * US) == 0, "the wait goes on, also without polling"
    loop.requests(2 * BUSY_HOLD_OFF_NS // (90 * US), 60 * US)
    assert loop.requests(100, 60 * US) == 100 * 12, "the others are gone"


def test_what_it_costs_is_counted() -> None:
    loop = Loop()
    loop.requests(20, 60 * US)
    polled_ns, met = loop.spin.polled_ns, loop.spin.requests_met
    loop.requests(10, 60 * US)
    assert loop.spin.polled_ns - polled_ns == 10 * 60 * US, "the gaps between the requests"
    assert loop.spin.requests_met - met == 10
    loop.wait(60_000_000 * US)
    assert loop.spin.polled_ns - polled_ns == 10 * 60 * US + LIMIT_NS, "and the limit once, when they end"
    loop.requests(5, 5_000 * US)
    assert loop.spin.polled_ns - polled_ns == 10 * 60 * US + LIMIT_NS, "far apart, nothing is polled"
    assert loop.spin.requests_met - met == 10


def test_the_cost_is_at_most_the_limit_for_each_request() -> None:
    loop, requests = Loop(), 0
    for gap_us in (10, 60, 140, 149, 151, 300, 1_000, 20, 160, 90) * 20:
        loop.requests(1, gap_us * US)
        requests += 1
    loop.wait(60_000_000 * US)
    assert 0 < loop.spin.polled_ns <= requests * LIMIT_NS


def test_it_stops_at_once_when_requests_wait_for_their_turn() -> None:
    loop = Loop()
    loop.requests(20, 60 * US)
    polled_ns = loop.spin.polled_ns
    loop.now_ns += 20 * US
    loop.queue.add(loop)
    polls = [callback for callback in loop.due if callback == loop.spin._poll]
    assert len(polls) == 1
    loop.due.remove(polls[0])
    polls[0]()
    assert loop.spin._poll not in loop.due, "the next turn of its own is the last"
    assert loop.spin.polled_ns - polled_ns == 20 * US
    while loop.due:
        loop.due.pop()()
    assert loop.requests(10, 60 * US) >= 9 * 12, "and goes on with the requests that come close together"
