"""How long the loop stood still, and why: every client waits while one piece of work is done.

The dispatcher, the slices of stepped work, the timer's driver, the executor and `run` measure each piece of
work on the loop's thread (a request, a slice, a timer task, a deferred callback) and note it here when it
took longer than `notable_ns`; a shorter one costs two readings of a clock and a comparison. A probe of the
loop finds what is not measured:

    a request of 3 ms               noted, perhaps the longest so far
    a request of 120 ms             a stall: counted, and a warning names the API, the client, its connection
    120 ms, of which the thread     no stall of ours: a warning says that the machine is busy, `starved_ns`
    waited 90 ms for a processor    has the longest such wait
    2,000 callbacks of 0.1 ms       none is notable, but the probe comes 200 ms late: a stall without a name
    a process that did not run      the probe comes late, but the thread computed nothing: no stall of ours
    a request that loads code       only what it took beside that; each module is loaded once
    the start                       nothing is noted: no client waits yet

How long the thread waited for a processor is known since the probe's last look, 50 ms ago or more. All of
that is taken off the piece of work that took long: what is counted is never more than the work's own time.

Invariant: a stall that was measured, and so has a name, is not counted again by the probe.
"""

import logging
from collections.abc import Callable
from typing import Final, TypeVar

from odradek.base.clock import Clock, ShortClock
from odradek.server.edge.complaints import Complaints

STALL_NS: Final = 100_000_000
"""From here on a piece of work is a stall: it is counted, and a warning names it."""
NOTABLE_NS: Final = 1_000_000
"""Below this nothing is noted."""

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
        """`clock` bounds how often a warning is logged; `waited_ns` is how long this thread has waited."""
        self.now_ns = now_ns
        self._waited_ns = waited_ns
        self.has_clients = True
        """False during a start: whatever takes long then, nobody waits for it but who starts the broker."""
        self.count = 0
        """How many pieces of work took `STALL_NS` or longer."""
        self.longest_ns = 0
        """How long one piece of work held the loop at most, since the start."""
        self.starved_ns = 0
        """How long the thread waited for a processor at most within one piece of work."""
        self.notable_ns = NOTABLE_NS
        """What a piece of work must exceed to be noted; rises with what was noted since the last look."""
        self._complaints = Complaints(_log, clock, "%d more stalls of the event loop were not logged")
        # The time of all that was noted since the start.
        self._noted_ns = 0
        # Since the probe's last look: the longest piece of work, and the time of all stalls that were named.
        self._longest_here = ""
        self._longest_here_ns = 0
        self._named_ns = 0
        # How long the thread had waited at the probe's last look or the last stall, whichever came later.
        self._waited_before_ns = waited_ns()
        # How long code was loaded that no note has left out yet, and when the last of that was done.
        self._loaded_ns = 0
        self._loaded_until_ns = 0

    def load(self, call: Callable[[], T]) -> T:
        """Make a call that loads code, which takes long once and never again; its time is no stall."""
        began_ns = self.now_ns()
        try:
            return call()
        finally:
            self._loaded_until_ns = self.now_ns()
            took_ns = self._loaded_until_ns - began_ns
            self._loaded_ns += took_ns
            self._named_ns += took_ns

    def run(self, callback: Callable[[], None]) -> None:
        """Call `callback`, and note it by its name when it took long, beside what it has noted itself."""
        noted_ns = self._noted_ns
        began_ns = self.now_ns()
        try:
            callback()
        finally:
            elapsed_ns = self.now_ns() - began_ns - (self._noted_ns - noted_ns)
            if elapsed_ns > self.notable_ns:
                self.note(elapsed_ns, f"the deferred call of {name_of(callback)}")

    def note(self, elapsed_ns: int, cause: str) -> None:
        """Take note of a piece of work that took longer than `notable_ns` and ends now."""
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
        self.longest_ns = max(self.longest_ns, held_ns)
        self.notable_ns = max(self.notable_ns, min(elapsed_ns, STALL_NS - 1))

    def _wait_within(self, elapsed_ns: int) -> int:
        """How long the thread waited for a processor in work that has just ended; counted once."""
        before_ns, self._waited_before_ns = self._waited_before_ns, self._waited_ns()
        return max(0, min(elapsed_ns, self._waited_before_ns - before_ns))

    def _say(self, elapsed_ns: int, held_ns: int, cause: str) -> None:
        """Count a stall, or a machine too busy to run the thread, and warn of it."""
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
        """How long code was loaded within the piece of work of that length."""
        loaded_ns, self._loaded_ns = self._loaded_ns, 0
        return loaded_ns if self._loaded_until_ns >= self.now_ns() - elapsed_ns else 0

    def _unnamed_cause(self) -> str:
        if not self._longest_here:
            return "no request and no task of the broker's took long"
        longest_ms = self._longest_here_ns // 1_000_000
        return f"many short pieces of work; the longest, of {longest_ms} ms, was {self._longest_here}"


def name_of(callback: Callable[..., object]) -> str:
    """The name by which a callback is found in the source."""
    return getattr(callback, "__qualname__", None) or type(callback).__qualname__
