"""Handles the connections' requests in turn: one request each, within a slice of time per loop turn.

Invariant: no connection has a second request handled while another waits for its first, and the loop serves
sockets and timers after every slice, however many requests a client has pipelined.

A, B and C have 3, 1 and 2 requests of 0.4 ms each; a slice is 1 ms:

    a turn of the loop      a1 b1 c1        1.2 ms: the slice is used up, the rest waits for the next turn
    sockets, timers         D sends one     D queues behind C
    a turn of the loop      a2 c2 d1
    sockets, timers         nothing
    a turn of the loop      a3

A request that arrives while no connection waits is handled at once, in the callback that read it. The time of
such requests counts too, since one poll of the sockets may bring a request from each of thousands of clients:
when they have used up the turn's time (`TurnTime`), further requests are queued.
"""

from collections import deque
from collections.abc import Callable
from typing import Protocol

from odradek.base.execution import TurnTime
from odradek.net.spin import Spin


class Servable(Protocol):
    """A connection as the queue sees it."""

    queued_ns: int
    """When the connection was queued for its next request; 0 if it was not. Set before the request."""

    def serve_next(self) -> bool:
        """Handle the next request, if one may be handled; returns whether there is another."""


class ReadyQueue:
    """The connections of one loop that have a request to be handled."""

    __slots__ = ("_schedule", "_spin", "_time", "_turn_is_due", "_waiting")

    def __init__(
        self,
        schedule: Callable[[Callable[[], None]], object],
        time: TurnTime,
        *,
        spin: Spin | None = None,
    ) -> None:
        """`schedule` runs a callback in the next turn of the loop, after sockets were looked at.

        `time` is shared with all other work of the same loop. `spin.after_request` is called for
        every request that was handled at once, `spin.end` when one waits.
        """
        self._schedule = schedule
        self._time = time
        self._spin = spin
        # In the order in which they are served; a connection ensures that it is in here at most once.
        self._waiting: deque[Servable] = deque()
        # A turn has been scheduled and has not begun.
        self._turn_is_due = False

    def __len__(self) -> int:
        return len(self._waiting)

    def serve_or_add(self, connection: Servable) -> bool:
        """Serve a connection's request at once when no other waits and the slice allows, else add it.

        Returns whether the connection is in the queue now. Called by what reads the connection's socket.
        """
        if not self._waiting and not self._turn_is_due:
            time = self._time
            idle_since_ns = time.ended_ns
            try:
                has_time = time.begin() > time.began_ns
                connection.queued_ns = 0
                has_more = not has_time or connection.serve_next()
            finally:
                time.end()
            if has_time and self._spin is not None:
                self._spin.after_request(time.began_ns - idle_since_ns, time.ended_ns)
            if not has_more:
                return False
        self.add(connection)
        return True

    def add(self, connection: Servable) -> None:
        """Let a connection wait for its turn."""
        connection.queued_ns = now_ns = self._time.now_ns()
        self._waiting.append(connection)
        if not self._turn_is_due:
            self._ask_for_turn()
            if self._spin is not None:
                self._spin.end(now_ns)

    def _ask_for_turn(self) -> None:
        self._turn_is_due = True
        self._time.askers += 1
        self._schedule(self._serve_slice)

    def _serve_slice(self) -> None:
        """Serve the waiting connections in turn until the turn's time is used up."""
        waiting, now_ns = self._waiting, self._time.now_ns
        deadline_ns = self._time.begin_turn()
        try:
            while waiting:
                connection = waiting.popleft()
                has_more = connection.serve_next()
                served_ns = now_ns()
                if has_more:
                    connection.queued_ns = served_ns
                    waiting.append(connection)
                if served_ns >= deadline_ns:
                    break
        finally:
            self._time.end()
            self._time.askers -= 1
            self._turn_is_due = False
            if waiting:
                self._ask_for_turn()
