"""The interface of all libraries' consumers that are members of a group.

A member exists as long as a test and works only within `poll`. So a test that rebalances polls all its
members until its condition holds: each in a thread of its own, because some libraries stay in their poll
until the others have joined.
"""

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from peers.waiting import WAIT_S_MAX

from compat.clients import Record
from compat.waiting import within

POLL_S = 0.2
PAUSE_S = 0.02  # between polls, and between looks at the members
SESSION_TIMEOUT_MS = 10_000
HEARTBEAT_INTERVAL_MS = 300

RANGE = "range"
STICKY = "sticky"
COOPERATIVE_STICKY = "cooperative-sticky"


@dataclass(frozen=True, slots=True)
class Membership:
    """How a member takes part."""

    group: str
    topic: str
    strategy: str = RANGE
    instance_id: str | None = None  # of a static member (KIP-345)
    new_protocol: bool = False  # KIP-848: the broker assigns, by its own strategy


class Member(ABC):
    """One consumer in a group. It starts at the first record of partitions without a committed offset."""

    def __init__(self, bootstrap: str, membership: Membership) -> None:
        self.bootstrap = bootstrap
        self.membership = membership
        self.is_open = True

    @abstractmethod
    def poll(self) -> list[Record]:
        """Take part for about POLL_S: join, follow rebalances, fetch. Raises Refused."""

    @abstractmethod
    def assignment(self) -> set[int]:
        """The partitions of the topic that it has now."""

    @abstractmethod
    def commit(self) -> None:
        """Commit the positions behind all that was polled. Raises Refused."""

    @abstractmethod
    def close(self) -> None:
        """Close the consumer, for `leave`."""

    def leave(self) -> None:
        """Leave the group; a static member leaves without a request, and may return."""
        self.is_open = False
        within(WAIT_S_MAX, self.close, f"{type(self).__name__}.close() never returned")

    def read(self, count: int) -> list[Record]:
        """Poll until so many records have come."""
        read: list[Record] = []
        poll_until([self], lambda: len(read) >= count, f"{count} records never came", taking=read)
        return read


class _Polling(threading.Thread):
    """Polls one member until it is stopped; `error` keeps an exception."""

    def __init__(self, member: Member, taking: list[Record]) -> None:
        super().__init__(daemon=True)  # a library that never returns must not block the suite
        self.error: Exception | None = None
        self._member = member
        self._taking = taking
        self._is_over = threading.Event()

    def run(self) -> None:
        """Poll, and let other members of the same program poll in between."""
        try:
            while not self._is_over.wait(PAUSE_S):
                self._taking.extend(self._member.poll())
        except Exception as error:  # raised again in the test's thread
            self.error = error

    def stop(self) -> None:
        """Begin no further poll."""
        self._is_over.set()

    def end(self) -> None:
        """Wait for the last poll to return. Raises what a poll raised."""
        self.join(WAIT_S_MAX)
        assert not self.is_alive(), f"{type(self._member).__name__}.poll() never returned"
        self.check()

    def check(self) -> None:
        """Raise what a poll raised."""
        if self.error is not None:
            raise self.error


def poll_until(
    members: Sequence[Member],
    condition: Callable[[], bool],
    complaint: str,
    *,
    taking: list[Record] | None = None,
) -> None:
    """Poll all members until the condition holds, adding what they read to `taking`.

    Raises AssertionError with the complaint if it never holds, and any exception of a poll.
    """
    taken = [] if taking is None else taking
    pollings = [_Polling(member, taken) for member in members]
    deadline = time.monotonic() + WAIT_S_MAX
    for polling in pollings:
        polling.start()
    try:
        while not condition():
            for polling in pollings:
                polling.check()
            if time.monotonic() > deadline:
                assignments = [sorted(member.assignment()) for member in members]
                raise AssertionError(f"{complaint}; assigned: {assignments}, records read: {len(taken)}")
            time.sleep(PAUSE_S)
    finally:
        for polling in pollings:
            polling.stop()
    for polling in pollings:
        polling.end()
