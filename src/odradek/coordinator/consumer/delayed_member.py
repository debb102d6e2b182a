"""What a consumer group waits for a member to do, and by when: delayed operations, one kind for each.

They decide nothing. `is_open` returns whether the member still has to act; `expired` is called at the
deadline if it has not.
"""

from collections.abc import Callable
from typing import ClassVar

from odradek.timer import DelayedOperation


class DelayedMember(DelayedOperation):
    """Complete as soon as `is_open` returns False."""

    __slots__ = ("_expired", "_is_open", "member_id")

    kind: ClassVar[str] = "consumer"
    awaited: ClassVar[str] = "something"

    def __init__(
        self, deadline_ms: int, member_id: str, is_open: Callable[[], bool], expired: Callable[[], None]
    ) -> None:
        super().__init__(deadline_ms)
        self.member_id = member_id
        self._is_open = is_open
        self._expired = expired

    def try_complete(self) -> bool:
        """See `DelayedOperation.try_complete`."""
        return not self._is_open() and self.force_complete()

    def on_complete(self) -> None:
        """See `DelayedOperation.on_complete`."""

    def on_expiration(self) -> None:
        """See `DelayedOperation.on_expiration`."""
        if self._is_open():
            self._expired()

    def waits_for(self) -> str:
        """See `DelayedOperation.waits_for`."""
        return f"{self.awaited} of {self.member_id}"


class DelayedSession(DelayedMember):
    """Waits for a heartbeat, or until the member is gone."""

    __slots__ = ()
    kind: ClassVar[str] = "consumer-heartbeat"
    awaited: ClassVar[str] = "a heartbeat"


class DelayedRevocation(DelayedMember):
    """Waits for the confirmation that partitions are revoked."""

    __slots__ = ()
    kind: ClassVar[str] = "revocation"
    awaited: ClassVar[str] = "the revocation"


class DelayedRejoin(DelayedMember):
    """Waits for the next JoinGroup of a member of the classic protocol."""

    __slots__ = ()
    kind: ClassVar[str] = "rejoin"
    awaited: ClassVar[str] = "the next join"


class DelayedMemberSync(DelayedMember):
    """Waits for the SyncGroup of a member of the classic protocol."""

    __slots__ = ()
    kind: ClassVar[str] = "member-sync"
    awaited: ClassVar[str] = "the sync"


class DelayedExpulsion(DelayedMember):
    """A second deadline for a late member whose removal the log refused."""

    __slots__ = ()
    kind: ClassVar[str] = "expulsion"
    awaited: ClassVar[str] = "what was due"
