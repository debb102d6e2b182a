"""Delayed heartbeats: the end of a session, unless its member sends a request before (G2).

session timeout 45 s      joined at 0 s    heartbeats at 3 s, 6 s, ... 42 s; nothing is renewed
its deadline, at 45 s     the last heartbeat was at 42 s: another one, until 87 s
its deadline, at 87 s     no request since 42 s: the member is removed
"""

from collections.abc import Callable
from typing import ClassVar, NamedTuple

from odradek.coordinator.classic.classic_membership import ClassicMembership
from odradek.coordinator.classic.heartbeats import is_session_kept
from odradek.timer import DelayedOperation


class MemberKey(NamedTuple):
    """The key of a member's session in the purgatory."""

    group_id: str
    member_id: str

    def __str__(self) -> str:
        return f"{self.group_id}/{self.member_id}"


class DelayedHeartbeat(DelayedOperation):
    """Complete when its member has a newer delayed heartbeat, waits for an answer, or is gone. Otherwise
    `expired` is called with the member's id, even if it has sent a request since (see `ClassicProtocol`)."""

    __slots__ = ("_expired", "_group", "_member_id", "_session")

    kind: ClassVar[str] = "heartbeat"

    def __init__(
        self, deadline_ms: int, group: ClassicMembership, member_id: str, expired: Callable[[str], None]
    ) -> None:
        super().__init__(deadline_ms)
        self._group = group
        self._member_id = member_id
        member = group.members.get(member_id)
        # The session that ends at the deadline.
        self._session = 0 if member is None else member.session
        self._expired = expired

    def try_complete(self) -> bool:
        """See `DelayedOperation.try_complete`."""
        return self._is_satisfied() and self.force_complete()

    def on_complete(self) -> None:
        """See `DelayedOperation.on_complete`: nothing watches the member until its next session begins."""
        member = self._group.members.get(self._member_id)
        if member is not None and member.session == self._session:
            member.watched_until_ms = None

    def on_expiration(self) -> None:
        """See `DelayedOperation.on_expiration`; a member that waits for an answer sends nothing meanwhile."""
        if not self._is_satisfied():
            self._expired(self._member_id)

    def waits_for(self) -> str:
        """See `DelayedOperation.waits_for`."""
        return f"a heartbeat of {self._member_id}"

    def _is_satisfied(self) -> bool:
        return is_session_kept(self._group, self._member_id, self._session)


class DelayedFirstJoin(DelayedHeartbeat):
    """Waits until a member id that was handed out is used (KIP-394)."""

    __slots__ = ()

    kind: ClassVar[str] = "first-join"

    def waits_for(self) -> str:
        """See `DelayedOperation.waits_for`."""
        return f"the first join of {self._member_id}"

    def _is_satisfied(self) -> bool:
        return self._member_id not in self._group.pending_members
