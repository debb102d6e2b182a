"""What a consumer group waits for a member to do, and by when: delayed operations, one kind for each.

They decide nothing. `is_open` says whether the member still has to do it; `expired` is called when it has not
done so in time.
"""

from collections.abc import Callable
from typing import ClassVar

from odradek.timer import DelayedOperation


class DelayedMember(DelayedOperation):
    """Satisfied as soon as the condition is open no longer."""

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
    """A heartbeat, or the member is gone."""

    __slots__ = ()
    kind: ClassVar[str] = "consumer-heartbeat"
    awaited: ClassVar[str] = "a heartbeat"


class DelayedRevocation(DelayedMember):
    """The word that partitions are given back."""

    __slots__ = ()
    kind: ClassVar[str] = "revocation"
    awaited: ClassVar[str] = "the revocation"


class DelayedRejoin(DelayedMember):
    """The next JoinGroup of a member of the classic protocol."""

    __slots__ = ()
    kind: ClassVar[str] = "rejoin"
    awaited: ClassVar[str] = "the next join"


class DelayedMemberSync(DelayedMember):
    """The SyncGroup of a member of the classic protocol."""

    __slots__ = ()
    kind: ClassVar[str] = "member-sync"
    awaited: ClassVar[str] = "the sync"


class DelayedExpulsion(DelayedMember):
    """Whatever the member was late with, while the log refused to take note of that."""

    __slots__ = ()
    kind: ClassVar[str] = "expulsion"
    awaited: ClassVar[str] = "what was due"
