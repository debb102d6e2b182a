"""Measures how long and why the loop was blocked: every client waits while one piece of work runs.

The dispatcher, the slices of stepped work, the timer's driver, the executor and `run` measure each piece of
work on the loop's thread (a request, a slice, a timer task, a deferred callback) and note it here when it
took longer than `notable_ns`; a shorter one costs two readings of a clock and a comparison. A probe of the
loop finds stalls that are not measured:

    a request of 3 ms               noted, perhaps the longest so far
    a request of 120 ms             a stall: counted, and a warning names the API, the client, its connection
    120 ms, of which the thread     no stall of ours: a warning says that the machine is busy, `starved_ns`
    waited 90 ms for a processor    has the longest such wait
    2,000 callbacks of 0.1 ms       none is notable, but the probe comes 200 ms late: a stall without a name
    a process that did not run      the probe comes late, but the thread computed nothing: no stall of ours
    a request that loads code       only its time without the loading; each module is loaded once
    the start                       nothing is noted: no client waits yet

The thread's wait for a processor is measured from the probe's last look, 50 ms ago or more. All of that wait
is subtracted from a stall, and from what would be the longest piece of work so far: the counted time is never
more than the work's own time.

Invariant: a stall that was measured, and so has a name, is not counted again by the probe.
"""

import logging
from collections.abc import Callable
from typing import Final, TypeVar

from odradek.base.clock import Clock, ShortClock
from odradek.server.edge.complaints import Complaints

STALL_NS: Final = 100_000_000
"""A piece of work that takes this long or longer is a stall: it is counted, and a warning names it."""
NOTABLE_NS: Final = 1_000_000
"""A piece of work below this is not noted."""

T = TypeVar("T")

_log = logging.getLogger(__name__)


class LoopStalls:
    """The longest pieces of work of one loop."""

    __slots__ = (
        "_complaints",
        "_loaded_ns",
        "_loaded_until_ns",
        "_longest_here",
        "_longest_here_ns",
        "_named_ns",
        "_noted_ns",
        "_waited_before_ns",
        "_waited_ns",
        "count",
        "has_clients",
        "longest_ns",
        "notable_ns",
        "now_ns",
        "starved_ns",
    )

    def __init__(self, now_ns: ShortClock, clock: Clock, waited_ns: Callable[[], int] = lambda: 0) -> None:
        """`clock` bounds how often warnings are logged; `waited_ns` returns this thread's wait so far."""
        self.now_ns = now_ns
        self._waited_ns = waited_ns
        self.has_clients = True
        """False during a start: no client waits for long work then."""
        self.count = 0
        """How many pieces of work took `STALL_NS` or longer."""
        self.longest_ns = 0
        """The longest time for which one piece of work held the loop, since the start."""
        self.starved_ns = 0
        """The longest wait of the thread for a processor within one piece of work."""
        self.notable_ns = NOTABLE_NS
        """Only a longer piece of work is noted; rises with the work noted since the probe's last look."""
        self._complaints = Complaints(_log, clock, "%d more stalls of the event loop were not logged")
        # The time of all noted pieces of work since the start.
        self._noted_ns = 0
        # Since the probe's last look: the longest piece of work, and the time of all stalls that were named.
        self._longest_here = ""
        self._longest_here_ns = 0
        self._named_ns = 0
        # How long the thread had waited at the probe's last look or the last stall, whichever came later.
        self._waited_before_ns = waited_ns()
        # The time of code loading that no note has subtracted yet, and when the last loading ended.
        self._loaded_ns = 0
        self._loaded_until_ns = 0

    def load(self, call: Callable[[], T]) -> T:
        """Run a call that loads code: that takes long only once, so its time counts as no stall."""
        began_ns = self.now_ns()
        try:
            return call()
        finally:
            self._loaded_until_ns = self.now_ns()
            took_ns = self._loaded_until_ns - began_ns
            self._loaded_ns += took_ns
            self._named_ns += took_ns

    def run(self, callback: Callable[[], None]) -> None:
        """Call `callback`, and note it by its name if it took long, not counting what it noted itself."""
        noted_ns = self._noted_ns
        began_ns = self.now_ns()
        try:
            callback()
        finally:
            elapsed_ns = self.now_ns() - began_ns - (self._noted_ns - noted_ns)
            if elapsed_ns > self.notable_ns:
                self.note(elapsed_ns, f"the deferred call of {name_of(callback)}")

    def note(self, elapsed_ns: int, cause: str) -> None:
        """Note a piece of work that took longer than `notable_ns` and ends now."""
        self._noted_ns += elapsed_ns
        if self._loaded_ns:
            elapsed_ns -= self._take_loaded_ns(elapsed_ns)
        if not self.has_clients:
            return
        if elapsed_ns > self._longest_here_ns:
            self._longest_here, self._longest_here_ns = cause, elapsed_ns
        held_ns = elapsed_ns
        if elapsed_ns >= STALL_NS:
            self._named_ns += elapsed_ns
            held_ns -= self._wait_within(elapsed_ns)
            self._say(elapsed_ns, held_ns, cause)
        elif elapsed_ns > self.longest_ns:
            held_ns -= self._wait_within(elapsed_ns)
        self.longest_ns = max(self.longest_ns, held_ns)
        self.notable_ns = max(self.notable_ns, min(elapsed_ns, STALL_NS - 1))

    def _wait_within(self, elapsed_ns: int) -> int:
        """How long the thread waited for a processor in the work that just ended; each wait counts once."""
        before_ns, self._waited_before_ns = self._waited_before_ns, self._waited_ns()
        return max(0, min(elapsed_ns, self._waited_before_ns - before_ns))

    def _say(self, elapsed_ns: int, held_ns: int, cause: str) -> None:
        """Count a stall, or a wait for a busy machine, and log a warning."""
        elapsed_ms, waited_ms = elapsed_ns // 1_000_000, (elapsed_ns - held_ns) // 1_000_000
        self.starved_ns = max(self.starved_ns, elapsed_ns - held_ns)
        if held_ns < STALL_NS:
            words = "the broker's thread waited %d ms for a processor, in %d ms of %s"
            self._complaints.say(words, waited_ms, elapsed_ms, cause)
            return
        self.count += 1
        if waited_ms:
            words = (
                "the event loop stood still for %d ms, of which its thread waited %d ms for a processor: %s"
            )
            self._complaints.say(words, elapsed_ms, waited_ms, cause)
        else:
            self._complaints.say("the event loop stood still for %d ms: %s", elapsed_ms, cause)

    def note_lateness(self, late_ns: int, computed_ns: int) -> None:
        """Called by a probe that came `late_ns` late; the thread computed `computed_ns` meanwhile."""
        unnamed_ns = min(late_ns - self._named_ns, computed_ns)
        if unnamed_ns >= STALL_NS:
            self.longest_ns = max(self.longest_ns, unnamed_ns)
            self.count += 1
            self._complaints.say(
                "the event loop stood still for %d ms: %s", unnamed_ns // 1_000_000, self._unnamed_cause()
            )
        self.notable_ns = NOTABLE_NS
        self._longest_here, self._longest_here_ns = "", 0
        self._named_ns = self._loaded_ns = 0
        self._waited_before_ns = self._waited_ns()

    def _take_loaded_ns(self, elapsed_ns: int) -> int:
        """How long code was loaded within a piece of work of that length."""
        loaded_ns, self._loaded_ns = self._loaded_ns, 0
        return loaded_ns if self._loaded_until_ns >= self.now_ns() - elapsed_ns else 0

    def _unnamed_cause(self) -> str:
        if not self._longest_here:
            return "no request and no task of the broker's took long"
        longest_ms = self._longest_here_ns // 1_000_000
        return f"many short pieces of work; the longest, of {longest_ms} ms, was {self._longest_here}"


def name_of(callback: Callable[..., object]) -> str:
    """Returns the name under which a callback is found in the source."""
    return getattr(callback, "__qualname__", None) or type(callback).__qualname__
