"""The classic protocol as one group runs it: requests and deadlines in, effects carried out.

It decides nothing about groups; `joining`, `syncing`, `rebalancing`, `heartbeats` and `leaving` do.
Everything here runs within a step of the coordinator (`runtime.trampoline`); a deadline begins a new step.

    JoinGroup of A       → A is parked; effects: its session begins, joins are awaited (join purgatory)
    every event          → the join and sync purgatories try the group again
    all have joined      → the join phase ends: a step of its own
"""

from collections.abc import Callable, Iterable
from typing import Protocol

from odradek.base.error_codes import ErrorCode
from odradek.coordinator.classic.classic_membership import ClassicMembership, GroupSnapshot
from odradek.coordinator.classic.delayed_heartbeat import DelayedFirstJoin, DelayedHeartbeat, MemberKey
from odradek.coordinator.classic.delayed_join import DelayedJoin, InitialDelayedJoin
from odradek.coordinator.classic.delayed_sync import DelayedSync
from odradek.coordinator.classic.effects import (
    AwaitJoins,
    AwaitSyncs,
    ClassicEffect,
    ClassicEffects,
    Persist,
    StartPendingSession,
    StartSession,
)
from odradek.coordinator.classic.group_purgatories import GroupPurgatories
from odradek.coordinator.classic.heartbeats import end_session, handle_heartbeat
from odradek.coordinator.classic.joining import join
from odradek.coordinator.classic.leaving import leave
from odradek.coordinator.classic.member import Member, RespondToJoin, RespondToSync
from odradek.coordinator.classic.rebalancing import dismiss, end_join_phase, end_sync_phase, rebalance
from odradek.coordinator.classic.states import GroupEvent
from odradek.coordinator.classic.syncing import sync
from odradek.coordinator.classic.terms import Caller, Terms
from odradek.coordinator.runtime.answers import AnyHeldAnswer, HeldAnswer
from odradek.coordinator.runtime.log_errors import GROUP_ERRORS, client_error
from odradek.coordinator.runtime.trampoline import Step
from odradek.wire.messages.join_group import JoinGroupRequest
from odradek.wire.messages.leave_group import MemberIdentity
from odradek.wire.messages.sync_group import SyncGroupRequest


class Persistence(Protocol):
    """Writes a group to the log of its partition, and answers its members."""

    def persist(self, group_id: str, snapshot: GroupSnapshot) -> ErrorCode:
        """Append the snapshot; returns NONE, or the log's error if nothing was written."""

    def answer(self, answer: AnyHeldAnswer) -> None:
        """Answer when all that was appended so far is replicated."""

    def run(self, step: Step) -> None:
        """Run a step, now or after those that are under way."""


class ClassicProtocol:
    """The protocol as one group runs it; owned by one thread."""

    __slots__ = ("_persistence", "_purgatories", "_terms", "membership")

    def __init__(
        self, group: ClassicMembership, terms: Terms, purgatories: GroupPurgatories, persistence: Persistence
    ) -> None:
        self.membership = group
        self._terms = terms
        self._purgatories = purgatories
        self._persistence = persistence

    # --- requests

    def join(self, request: JoinGroupRequest, caller: Caller, respond: RespondToJoin) -> None:
        """JoinGroup."""
        self._carry_out_all(join(self.membership, self._terms, request, caller, respond))

    def sync(self, request: SyncGroupRequest, respond: RespondToSync) -> None:
        """SyncGroup."""
        self._carry_out_all(sync(self.membership, request, respond))

    def handle_heartbeat(
        self, event: GroupEvent, member_id: str, instance_id: str | None, generation: int
    ) -> ErrorCode:
        """Apply a Heartbeat or an OffsetCommit to the member's session; returns the code to answer with."""
        code, effects = handle_heartbeat(self.membership, event, member_id, instance_id, generation)
        self._carry_out_all(effects)
        return code

    def leave(self, leavers: Iterable[MemberIdentity]) -> list[ErrorCode]:
        """LeaveGroup; returns one code for each member."""
        group = self.membership
        codes: list[ErrorCode] = []
        effects: ClassicEffects = []
        gone: list[str] = []
        for leaver in leavers:
            member_id = leaver.member_id or group.static_members.get(leaver.group_instance_id or "", "")
            code, more = leave(group, leaver)
            codes.append(code)
            effects += more
            gone += [member_id] if code is ErrorCode.NONE else []
        self._carry_out_all(effects)
        for member_id in gone:  # Ends their delayed heartbeats.
            self._purgatories.heartbeats.check_and_complete(MemberKey(group.group_id, member_id))
        return codes

    # --- the group's life

    def resume(self) -> None:
        """Called when the group was loaded: begin the sessions of its members."""
        members = self.membership.members.values()
        self._carry_out_all([StartSession(member.member_id, member.session_timeout_ms) for member in members])

    def rebalance(self) -> None:
        """Called when members of the other protocol have left the group: the rest rebalance."""
        self._carry_out_all(rebalance(self.membership, GroupEvent.MEMBER_GONE))

    def close(self, code: ErrorCode) -> None:
        """Called when this broker stops coordinating the group: answer waiting requests `code` (D8)."""
        self._carry_out_all(self._closed(code))

    def _closed(self, code: ErrorCode) -> ClassicEffects:
        group = self.membership
        group.apply(GroupEvent.CLOSED)
        effects: ClassicEffects = []
        for member in group.members.values():
            effects += dismiss(group, member, code)
        watched = (*group.members, *group.pending_members)
        group.pending_members.clear()
        group.unsynced.clear()
        self._purgatories.joins.cancel_for_key(group.group_id)
        self._purgatories.syncs.cancel_for_key(group.group_id)
        for member_id in watched:
            self._purgatories.heartbeats.cancel_for_key(MemberKey(group.group_id, member_id))
        return effects

    # --- effects

    def _take(self, step: Callable[[], ClassicEffects]) -> None:
        """Called at a deadline: run `step` as a new step."""
        self._persistence.run(lambda: self._carry_out_all(step()))

    def _carry_out_all(self, effects: ClassicEffects) -> None:
        for effect in effects:
            self._carry_out(effect)
        self._try_waiting()

    def _try_waiting(self) -> None:
        group = self.membership
        if group.is_rebalancing:
            self._purgatories.joins.check_and_complete(group.group_id)
        self._purgatories.syncs.check_and_complete(group.group_id)

    def _carry_out(self, effect: ClassicEffect) -> None:
        match effect:
            case HeldAnswer():
                self._persistence.answer(effect)
            case StartSession(member_id, timeout_ms):
                self._start_session(member_id, timeout_ms)
            case StartPendingSession(member_id, timeout_ms):
                deadline_ms = self._now_ms() + timeout_ms
                operation = DelayedFirstJoin(deadline_ms, self.membership, member_id, self._on_session_over)
                self._watch_session(member_id, operation)
            case AwaitJoins(is_first):
                self._await_joins(is_first=is_first)
            case AwaitSyncs(generation, timeout_ms):
                self._terms.on_rebalanced(self.membership.group_id, generation, len(self.membership.members))
                deadline_ms = self.membership.syncs_until_ms = self._now_ms() + timeout_ms
                late = DelayedSync(deadline_ms, self.membership, self._on_syncs_late)
                self._purgatories.syncs.try_complete_else_watch(late, [self.membership.group_id])
            case Persist(snapshot, then):
                error = self._persistence.persist(self.membership.group_id, snapshot)
                for following in then(client_error(GROUP_ERRORS, error)):
                    self._carry_out(following)

    def _start_session(self, member_id: str, timeout_ms: int) -> None:
        member = self.membership.members.get(member_id)
        if member is None:
            return
        now_ms = self._now_ms()
        member.last_heartbeat_ms = now_ms
        member.session_until_ms = now_ms + timeout_ms
        if member.watched_until_ms is None or member.watched_until_ms > member.session_until_ms:
            self._watch_member(member)

    def _watch_member(self, member: Member) -> None:
        """Begin a delayed heartbeat, which replaces an earlier one.

        A heartbeat does not renew it: only its deadline checks whether a request came meanwhile. So a member
        costs one delayed operation per session timeout, however often it sends requests.
        """
        until_ms = member.watched_until_ms = member.session_until_ms
        member.session += 1
        operation = DelayedHeartbeat(until_ms, self.membership, member.member_id, self._on_session_over)
        self._watch_session(member.member_id, operation)

    def _watch_session(self, member_id: str, operation: DelayedHeartbeat) -> None:
        key = MemberKey(self.membership.group_id, member_id)
        self._purgatories.heartbeats.check_and_complete(key)
        self._purgatories.heartbeats.try_complete_else_watch(operation, [key])

    def _await_joins(self, *, is_first: bool) -> None:
        group, now_ms = self.membership, self._now_ms()
        timeout_ms = group.rebalance_timeout_ms
        delay_ms = min(self._terms.initial_rebalance_delay_ms(), timeout_ms) if is_first else 0
        if not is_first:
            group.joins_until_ms = now_ms + timeout_ms
            operation = DelayedJoin(group.joins_until_ms, group, self._on_joins_over)
            self._purgatories.joins.try_complete_else_watch(operation, [group.group_id])
        elif delay_ms <= 0:
            self._on_joins_over()
        else:
            self._hold_open(delay_ms, timeout_ms - delay_ms)

    def _hold_open(self, delay_ms: int, left_ms: int) -> None:
        """G1: keep the first join phase open so that more members can join."""
        group = self.membership
        group.has_newcomers = False
        group.joins_until_ms = self._now_ms() + delay_ms

        def over() -> None:
            if group.is_rebalancing and group.has_newcomers and left_ms > 0:
                more_ms = min(self._terms.initial_rebalance_delay_ms(), left_ms)
                self._hold_open(more_ms, left_ms - more_ms)
            else:
                self._on_joins_over()

        operation = InitialDelayedJoin(group.joins_until_ms, group, over)
        self._purgatories.joins.try_complete_else_watch(operation, [group.group_id])

    def _on_joins_over(self) -> None:
        self._take(lambda: end_join_phase(self.membership))

    def _on_syncs_late(self, generation: int) -> None:
        self._take(lambda: end_sync_phase(self.membership, generation))

    def _on_session_over(self, member_id: str) -> None:
        """Called at the deadline of a delayed heartbeat: continue the session, or end it."""
        member = self.membership.members.get(member_id)
        if member is not None and member.session_until_ms > self._now_ms():
            self._watch_member(member)
        else:
            self._take(lambda: end_session(self.membership, member_id))

    def expire(self, member_id: str) -> None:
        """End a member's session now; does nothing if the member waits for an answer."""
        member = self.membership.members.get(member_id)
        if member is not None:
            member.session_until_ms = self._now_ms()

    def _now_ms(self) -> int:
        return self._terms.clock.monotonic_ms()
