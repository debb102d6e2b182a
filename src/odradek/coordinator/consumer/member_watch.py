"""The deadlines of a group's members: for heartbeats, revocations, joins and syncs.

It keeps time and decides nothing. `expel` is called with the late member, and with a function that returns
whether it is still late when the step runs.
"""

from collections.abc import Callable
from typing import TypeAlias

from odradek.base.clock import Clock
from odradek.coordinator.classic.delayed_heartbeat import MemberKey
from odradek.coordinator.classic.group_purgatories import GroupPurgatories
from odradek.coordinator.consumer.delayed_member import (
    DelayedExpulsion,
    DelayedMember,
    DelayedMemberSync,
    DelayedRejoin,
    DelayedRevocation,
    DelayedSession,
)
from odradek.coordinator.consumer.member import Share
from odradek.coordinator.consumer.presence import Presence

IsOpen: TypeAlias = Callable[[], bool]
Expel: TypeAlias = Callable[[str, IsOpen], None]


class MemberWatch:
    """The deadlines of one group's members."""

    __slots__ = ("_clock", "_expel", "_group_id", "_presences", "_purgatories", "_share_of")

    def __init__(
        self,
        group_id: str,
        clock: Clock,
        purgatories: GroupPurgatories,
        share_of: Callable[[str], Share | None],
        expel: Expel,
    ) -> None:
        """`share_of` a member, None when there is none; `expel` one that is late."""
        self._group_id = group_id
        self._clock = clock
        self._purgatories = purgatories
        self._share_of = share_of
        self._expel = expel
        # By member id; members whose sessions have begun.
        self._presences: dict[str, Presence] = {}

    def presence(self, member_id: str) -> Presence | None:
        """When a member's last request came, and what it has to do."""
        return self._presences.get(member_id)

    # --- what is waited for

    def start_session(self, member_id: str, timeout_ms: int) -> None:
        """A member sent a request: its next one must come within this time."""
        if self._share_of(member_id) is None:
            return
        now_ms = self._clock.monotonic_ms()
        presence = self._presences.get(member_id)
        if presence is None:
            presence = self._presences[member_id] = Presence(now_ms)
        presence.session += 1
        presence.last_heartbeat_ms = now_ms
        session = presence.session

        def is_open() -> bool:
            known = self._presences.get(member_id)
            return known is presence and known.session == session

        key = MemberKey(self._group_id, member_id)
        self._purgatories.heartbeats.check_and_complete(key)
        operation = DelayedSession(now_ms + timeout_ms, member_id, is_open, self._late(member_id, is_open))
        self._purgatories.heartbeats.try_complete_else_watch(operation, [key])

    def await_revocation(self, member_id: str, share: Share, timeout_ms: int) -> None:
        """A member has to give partitions back, so that its share is another than this one."""
        presence = self._presences[member_id]
        presence.revokes_until_ms = self._clock.monotonic_ms() + timeout_ms

        def is_open() -> bool:
            return self._share_of(member_id) == share

        late = self._late(member_id, is_open)
        self._watch(DelayedRevocation(presence.revokes_until_ms, member_id, is_open, late))

    def await_rejoin(self, member_id: str, timeout_ms: int) -> None:
        """A classic member was asked to join again; its time runs from the first request to do so."""
        presence = self._presences[member_id]
        if presence.is_rejoin_due:
            return
        presence.is_rejoin_due = True

        def is_open() -> bool:
            return self._presences.get(member_id) is presence and presence.is_rejoin_due

        late = self._late(member_id, is_open)
        self._watch(DelayedRejoin(self._clock.monotonic_ms() + timeout_ms, member_id, is_open, late))

    def await_sync(self, member_id: str, timeout_ms: int) -> None:
        """A classic member has joined: it must sync."""
        presence = self._presences[member_id]
        presence.joins += 1
        presence.is_sync_due = True
        joins = presence.joins

        def is_open() -> bool:
            is_here = self._presences.get(member_id) is presence
            return is_here and presence.is_sync_due and presence.joins == joins

        late = self._late(member_id, is_open)
        self._purgatories.members.check_and_complete(MemberKey(self._group_id, member_id))
        self._watch(DelayedMemberSync(self._clock.monotonic_ms() + timeout_ms, member_id, is_open, late))

    def prolong(self, member_id: str, is_open: IsOpen, by_ms: int) -> None:
        """Give a late member this much more time."""
        late = self._late(member_id, is_open)
        self._watch(DelayedExpulsion(self._clock.monotonic_ms() + by_ms, member_id, is_open, late))

    # --- what has happened

    def rejoined(self, member_id: str) -> None:
        """Called when a classic member has joined again."""
        presence = self._presences.get(member_id)
        if presence is not None:
            presence.is_rejoin_due = False
            self.look(member_id)

    def synced(self, member_id: str) -> None:
        """Called when a classic member has synced."""
        presence = self._presences.get(member_id)
        if presence is not None:
            presence.is_sync_due = False
            self.look(member_id)

    def look(self, member_id: str) -> None:
        """Called when a member has changed or is gone: complete the deadlines that it has met."""
        key = MemberKey(self._group_id, member_id)
        if self._share_of(member_id) is None:
            self._presences.pop(member_id, None)
            self._purgatories.heartbeats.check_and_complete(key)
        self._purgatories.members.check_and_complete(key)

    def close(self) -> None:
        """Stop watching all members (D8)."""
        for member_id in self._presences:
            key = MemberKey(self._group_id, member_id)
            self._purgatories.heartbeats.cancel_for_key(key)
            self._purgatories.members.cancel_for_key(key)
        self._presences.clear()

    def _watch(self, operation: DelayedMember) -> None:
        key = MemberKey(self._group_id, operation.member_id)
        self._purgatories.members.try_complete_else_watch(operation, [key])

    def _late(self, member_id: str, is_open: IsOpen) -> Callable[[], None]:
        return lambda: self._expel(member_id, is_open)
