"""Which connection's next request is handled when: in turn, one request each, a slice of time per loop turn.

Invariant: no connection gets a second request handled while another one waits for its first, and sockets and
timers are looked at after every slice, however many requests one client has pipelined.

A, B and C have 3, 1 and 2 requests of 0.4 ms each; a slice is 1 ms:

    a turn of the loop      a1 b1 c1        1.2 ms: the slice is used up, the rest waits for the next turn
    sockets, timers         D sends one     D queues behind C
    a turn of the loop      a2 c2 d1
    sockets, timers         nothing
    a turn of the loop      a3

A request that comes while no connection waits is handled within the callback that read it, without waiting
for a turn of the loop. The time of such requests is counted too, since one poll of the sockets may bring one
of each of thousands of clients: when they have used up a slice, the next ones queue. Time without any work
gives the slice back.
"""

from collections import deque
from collections.abc import Callable
from typing import Final, Protocol

from odradek.net.spin import Spin

SLICE_NS: Final = 1_000_000


class Servable(Protocol):
    """A connection as the queue sees it."""

    def serve_next(self) -> bool:
        """Handle the next request, if there is one that may be handled; whether there is another one."""


class ReadyQueue:
    """The connections of one loop that have a request to be handled."""

    __slots__ = (
        "_now_ns",
        "_schedule",
        "_served_until_ns",
        "_slice_ns",
        "_spin",
        "_turn_is_due",
        "_used_ns",
        "_waiting",
    )

    def __init__(
        self,
        schedule: Callable[[Callable[[], None]], object],
        now_ns: Callable[[], int],
        *,
        slice_ns: int = SLICE_NS,
        spin: Spin | None = None,
    ) -> None:
        """`schedule` runs a callback in the next turn of the loop, after sockets were looked at.

        `spin.after_request` is called for every request that was handled at once, `spin.end` when one waits.
        """
        self._schedule = schedule
        self._now_ns = now_ns
        self._slice_ns = slice_ns
        self._spin = spin
        # In the order in which they are served; each connection sees to it that it is in here once at most.
        self._waiting: deque[Servable] = deque()
        # A turn has been scheduled and has not begun.
        self._turn_is_due = False
        # How much of a slice was used, and when the last request ended.
        self._used_ns = 0
        self._served_until_ns = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def serve_or_add(self, connection: Servable) -> bool:
        """Serve a connection's request at once when no other waits and the slice allows, else add it.

        Returns whether the connection is in the queue now. Called by what reads the connection's socket.
        """
        if not self._waiting and not self._turn_is_due:
            now_ns = self._now_ns()
            gap_ns = now_ns - self._served_until_ns
            used_ns = self._used_ns - gap_ns
            if used_ns < 0:
                used_ns = 0
            if used_ns < self._slice_ns:
                has_more = connection.serve_next()
                self._served_until_ns = ended_ns = self._now_ns()
                self._used_ns = used_ns + ended_ns - now_ns
                if self._spin is not None:
                    self._spin.after_request(gap_ns, ended_ns)
                if not has_more:
                    return False
        self.add(connection)
        return True

    def add(self, connection: Servable) -> None:
        """Let a connection wait for its turn."""
        self._waiting.append(connection)
        if not self._turn_is_due:
            self._turn_is_due = True
            self._schedule(self._serve_slice)
            if self._spin is not None:
                self._spin.end(self._now_ns())

    def _serve_slice(self) -> None:
        """Serve the waiting connections in turn until the slice is used up."""
        waiting = self._waiting
        began_ns = self._now_ns()
        try:
            while waiting:
                connection = waiting.popleft()
                if connection.serve_next():
                    waiting.append(connection)
                if self._now_ns() - began_ns >= self._slice_ns:
                    break
        finally:
            self._served_until_ns = self._now_ns()
            self._used_ns = self._served_until_ns - began_ns
            self._turn_is_due = bool(waiting)
            if waiting:
                self._schedule(self._serve_slice)
