"""What must hold of committed offsets.

A committer commits the numbers 0, 1, 2, ... to all its partitions in one request each, with the number as
metadata too. So two numbers tell what a group has committed: the last that was acknowledged, and the
last that was attempted.
"""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field

from campaigns.crash.campaign import Broken

NOTHING = -1

Committed = tuple[int, str]
"""Offset and metadata."""


@dataclass
class Promise:
    """One group's numbers; its committer writes them, the check reads them."""

    group: str
    # Invariant: acknowledged <= attempted.
    attempted: int = NOTHING
    acknowledged: int = NOTHING
    refused: int = 0

    def check(self, found: Mapping[int, Committed | None], acknowledged_before: int) -> None:
        """Compare the fetched offset with what was acknowledged before the fetch. Raises Broken."""
        told = f"group {self.group}, acknowledged {acknowledged_before}, attempted {self.attempted}: {found}"
        if len(set(found.values())) > 1:
            raise Broken(f"one request's offsets are there in part: {told}")
        for committed in found.values():
            if committed is None:
                if acknowledged_before > NOTHING:
                    raise Broken(f"committed offsets are lost: {told}")
                continue
            offset, metadata = committed
            if offset < acknowledged_before:
                raise Broken(f"an acknowledged commit is lost: {told}")
            if offset > self.attempted:
                raise Broken(f"nobody committed that: {told}")
            if metadata != str(offset):
                raise Broken(f"an offset has the metadata of another: {told}")


@dataclass
class Standing:
    """Groups that commit once, or are deleted, and must stay so."""

    # Group to offset; None: it was deleted. A group whose last request was not answered is not in it.
    expected: dict[str, int | None] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def expect(self, group: str, offset: int | None) -> None:
        """An answer came: from now on this is expected."""
        with self.lock:
            self.expected[group] = offset

    def leave_open(self, group: str) -> None:
        """A request goes out: until it is answered, the old and the new value are both right."""
        with self.lock:
            self.expected.pop(group, None)

    def snapshot(self) -> dict[str, int | None]:
        """What is expected now."""
        with self.lock:
            return dict(self.expected)

    def check(self, group: str, offset: int | None, found: int | None) -> None:
        """Hold one group's committed offset against the expectation. Raises Broken."""
        if found != offset:
            raise Broken(f"group {group} should have committed {offset}, and has {found} (None: nothing)")
