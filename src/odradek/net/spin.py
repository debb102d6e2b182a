"""Polls the sockets for a short time after a request instead of sleeping, while requests come close together.

Waking a sleeping loop is slow: the system has to schedule the thread, and its caches are cold. With a client
that sends its next request as soon as it has the last answer, every request pays for that. So the loop polls
for `spin_max_ns` after a request, if recent requests came closer together than that:

    gaps of 60 us, limit 150 us       it polls for 60 us after each request and never sleeps between them
    gaps of 5 ms                      it never polls: it would sleep in the end anyway
    the client stops                  it polls for 150 us once, and sleeps
    a turn takes 1 ms                 another process had the processor: no polling for the next 100 ms
    the thread waited for a           the processors are wanted by others, mostly by the clients: no polling
    processor, 2 % of the last time   for a second
    requests wait for their turn      the loop does not sleep anyway: no polling

If other processes need the processors, a polling thread takes them away from its own clients: on two
processors 100 clients got a third fewer commits answered with polling than without.

Invariant: at most `spin_max_ns` pass between a request and the sleep, and without requests nothing is polled.
So polling costs at most `spin_max_ns` per request; `polled_ns` is the total.

A gap counts as at most eight times the limit, and the mean forgets three quarters in five requests. So a
pause is forgotten after a few requests, and polling ends with the first requests that are far apart.
"""

from collections.abc import Callable
from typing import Final

GAPS_MAX: Final = 8
"""The most that a gap counts, as a multiple of the limit."""
MEMORY_SHIFT: Final = 2
"""Each gap moves the mean by a quarter of its distance."""
PREEMPTED_NS: Final = 1_000_000
"""A poll this late means that another process had the processor, or that the loop was busy."""
HOLD_OFF_NS: Final = 100_000_000
"""How long nothing is polled after that."""
WAIT_LOOK_NS: Final = 50_000_000
"""How often the thread's wait for a processor is checked while it polls."""
WAIT_SHARE: Final = 50
"""A wait of more than one part in WAIT_SHARE of the time means that others need the processor."""
BUSY_HOLD_OFF_NS: Final = 1_000_000_000
"""How long nothing is polled then."""


class Spin:
    """Keeps one loop awake between requests that are close together."""

    __slots__ = (
        "_held_off_until_ns",
        "_is_scheduled",
        "_mean_gap_ns",
        "_now_ns",
        "_schedule",
        "_spin_max_ns",
        "_until_ns",
        "_wait_look_ns",
        "_waited_at_look_ns",
        "_waited_ns",
        "polled_ns",
        "requests_met",
    )

    def __init__(
        self,
        schedule: Callable[[Callable[[], None]], object],
        now_ns: Callable[[], int],
        spin_max_ns: int,
        waited_ns: Callable[[], int] = lambda: 0,
    ) -> None:
        """`schedule` runs a callback in the next turn of the loop, after sockets were looked at.

        `waited_ns` returns how long the loop's thread has waited for a processor so far.
        """
        self._schedule = schedule
        self._now_ns = now_ns
        self._spin_max_ns = spin_max_ns
        self._mean_gap_ns = GAPS_MAX * spin_max_ns
        self.polled_ns = 0
        """How long the loop was kept awake in total, including other work in that time."""
        self.requests_met = 0
        """How many requests came in that time, and so did not wait for the loop to wake."""
        # The loop is kept awake until then, by a callback that is scheduled; 0: no longer than that.
        self._until_ns = 0
        self._is_scheduled = False
        # Nothing is polled before then.
        self._held_off_until_ns = 0
        self._waited_ns = waited_ns
        # When the wait for a processor was looked at last, and what it was.
        self._wait_look_ns = now_ns()
        self._waited_at_look_ns = waited_ns()

    def after_request(self, gap_ns: int, ended_ns: int) -> None:
        """Called when a request was served at `ended_ns`, which came `gap_ns` after the one before it."""
        if self._is_scheduled and self._until_ns:
            self.polled_ns += min(gap_ns, self._spin_max_ns)
            self.requests_met += 1
        longest_ns = GAPS_MAX * self._spin_max_ns
        if gap_ns > longest_ns:
            gap_ns = longest_ns
        self._mean_gap_ns += (gap_ns - self._mean_gap_ns) >> MEMORY_SHIFT
        if self._mean_gap_ns < self._spin_max_ns and ended_ns >= self._held_off_until_ns:
            if ended_ns - self._wait_look_ns >= WAIT_LOOK_NS and self._is_processor_wanted(ended_ns):
                self._held_off_until_ns = ended_ns + BUSY_HOLD_OFF_NS
                return
            self._until_ns = ended_ns + self._spin_max_ns
            if not self._is_scheduled:
                self._is_scheduled = True
                self._schedule(self._poll)

    def _is_processor_wanted(self, now_ns: int) -> bool:
        """Whether the thread waited for a processor for a notable part of the time since the last look."""
        elapsed_ns, self._wait_look_ns = now_ns - self._wait_look_ns, now_ns
        before_ns, self._waited_at_look_ns = self._waited_at_look_ns, self._waited_ns()
        return self._waited_at_look_ns - before_ns > elapsed_ns // WAIT_SHARE

    def end(self, now_ns: int) -> None:
        """Stop: the loop has other work at `now_ns`, and will not sleep."""
        if self._until_ns:
            began_ns = self._until_ns - self._spin_max_ns
            self.polled_ns += min(now_ns - began_ns, self._spin_max_ns)
            self._until_ns = 0

    def _poll(self) -> None:
        """Have the loop turn again while the time is not up."""
        until_ns = self._until_ns
        now_ns = self._now_ns()
        if now_ns < until_ns:
            self._schedule(self._poll)
            return
        self._is_scheduled = False
        if not until_ns:
            return
        self._until_ns = 0
        self.polled_ns += self._spin_max_ns
        if now_ns - until_ns >= PREEMPTED_NS:
            self._held_off_until_ns = now_ns + HOLD_OFF_NS
