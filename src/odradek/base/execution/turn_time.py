"""How long stepped work may hold one turn of the loop: a millisecond, for all of it together.

The loop serves sockets and timers once in a turn. All work in a turn shares TURN_NS:

    work that waits for its turn     equal shares for those who wait: connections with requests, slices
    work that has only just come     what is left; time in which none ran gives that back

    1.3 ms without any work          the whole millisecond is there
    a request, 0.4 ms                0.6 ms are left, for a slice that the request begins, too
    0.1 ms later a request, 2 ms     it might have taken 0.7 ms, and leaves nothing for the next 1.3 ms

Work may begin within other work; it uses the same time, which is counted once.
"""

from typing import Final

from odradek.base.clock import ShortClock

TURN_NS: Final = 1_000_000
"""What runs longer than that runs one step, or one request, too long."""


class TurnTime:
    """The time of one loop's turns."""

    __slots__ = ("_deadline_ns", "_depth", "askers", "began_ns", "ended_ns", "now_ns")

    def __init__(self, now_ns: ShortClock) -> None:
        self.now_ns = now_ns
        self.askers = 0
        """How many wait for a turn, each of them with one callback."""
        self.began_ns = 0
        """When the work began that runs, or that ran last."""
        self.ended_ns = 0
        """When the work ended that ran last."""
        self._deadline_ns = TURN_NS
        """Until when that was to run; what lies between `ended_ns` and this is left, or was too much."""
        self._depth = 0
        """How many pieces of work run, one within the other."""

    def begin(self) -> int:
        """Work has come and begins; returns until when it may run, which is over where nothing is left."""
        if not self._depth:
            now_ns = self.now_ns()
            left_ns = self._deadline_ns - self.ended_ns + now_ns - self.ended_ns
            self.began_ns = now_ns
            self._deadline_ns = now_ns + (left_ns if left_ns < TURN_NS else TURN_NS)
        self._depth += 1
        return self._deadline_ns

    def begin_turn(self) -> int:
        """Work that waited has its turn; returns until when it may run, one step at least."""
        assert not self._depth, "a turn within a turn"
        self.began_ns = now_ns = self.now_ns()
        self._deadline_ns = now_ns + TURN_NS // max(1, self.askers)
        self._depth = 1
        return self._deadline_ns

    def end(self) -> None:
        """What began last ends."""
        self._depth -= 1
        if not self._depth:
            self.ended_ns = self.now_ns()
