"""What the suite asks of a consumer that takes part in a group, in one shape for all libraries.

A member lives as long as a test and does its part within `poll`, so a test that rebalances polls all its
members until it sees what it waits for: at once, because some libraries stay in their poll until the others
have joined.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from compat.clients import Record

POLL_S = 0.2
# Long enough for a JVM and for the session of a member that is gone.
AGREEMENT_TIMEOUT_S = 30.0
SESSION_TIMEOUT_MS = 10_000
HEARTBEAT_INTERVAL_MS = 300

RANGE = "range"
COOPERATIVE_STICKY = "cooperative-sticky"


@dataclass(frozen=True, slots=True)
class Membership:
    """How a member takes part."""

    group: str
    topic: str
    strategy: str = RANGE
    instance_id: str | None = None  # of a static member (KIP-345)
    new_protocol: bool = False  # KIP-848: the broker assigns, the strategy is its own


class Member(ABC):
    """One consumer in a group. It starts at the first record where nothing is committed."""

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
        """Leave the group; a static member goes without a word, and is expected back."""
        self.is_open = False
        self.close()

    def read(self, count: int) -> list[Record]:
        """Poll until so many records have come."""
        read: list[Record] = []
        poll_until([self], lambda: len(read) >= count, f"{count} records never came", taking=read)
        return read


def poll_until(
    members: Sequence[Member],
    condition: Callable[[], bool],
    complaint: str,
    *,
    taking: list[Record] | None = None,
) -> None:
    """Poll all members until it is so, adding what they read to `taking`.

    Raises an AssertionError with the complaint when it never is.
    """
    deadline = time.monotonic() + AGREEMENT_TIMEOUT_S
    with ThreadPoolExecutor(len(members)) as pool:
        while not condition():
            assignments = [sorted(member.assignment()) for member in members]
            assert time.monotonic() < deadline, f"{complaint}; assigned: {assignments}"
            polled = list(pool.map(lambda member: member.poll(), members))
            if taking is not None:
                taking.extend(record for records in polled for record in records)
