"""One consumer group's coordinator: requests and deadlines in, one step after another.

Law: it decides nothing about groups; the files beside it do. A step works on a draft, the draft's changes are
written as one batch, and only then is the draft the group, are effects carried out and requests answered. The
next step begins after that, so that nobody builds on what the log may refuse. A step that changes nothing is
answered at once.

    heartbeat of A      draft: A joins, epoch 1, target of 1, A's share
    written             the group is the draft; A's session begins; A is answered
    the log refuses     the group is as it was; A is told to try again
"""

from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.coordinator.classic.coordinator import GroupPurgatories
from odradek.coordinator.classic.delayed_heartbeat import MemberKey
from odradek.coordinator.classic.terms import Caller
from odradek.coordinator.consumer.changes import OF_MEMBERS, Change
from odradek.coordinator.consumer.delayed_member import (
    DelayedMember,
    DelayedRevocation,
    DelayedSession,
)
from odradek.coordinator.consumer.draft import Draft
from odradek.coordinator.consumer.effects import Answer, AwaitRevocation, Effect, Effects, StartSession
from odradek.coordinator.consumer.group import ConsumerGroup
from odradek.coordinator.consumer.heartbeats import RespondToHeartbeat, heartbeat
from odradek.coordinator.consumer.leaving import leave, remove
from odradek.coordinator.consumer.member import JOINING_EPOCH, Share
from odradek.coordinator.consumer.presence import Presence
from odradek.coordinator.consumer.states import MemberState
from odradek.coordinator.consumer.surroundings import Surroundings
from odradek.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest

Refused: TypeAlias = Callable[[ErrorCode, str], None]
"""Told why a step was not done: a code, and words for it."""
Step: TypeAlias = Callable[[Draft], Effects]
"""Raises ApiError, having changed nothing but the draft."""


class ChangeLog(Protocol):
    """Writes a group's changes to the log of its partition."""

    def write_changes(
        self,
        group_id: str,
        changes: Sequence[Change],
        beside: Sequence[tuple[bytes, bytes | None]],
        done: Callable[[ErrorCode], None],
    ) -> None:
        """Write one batch, the records `beside` the changes first.

        `done` gets what members are to be told, NONE when it is written. It may come at once.
        """


class ConsumerCoordinator:
    """Coordinates one group; owned by one thread."""

    __slots__ = (
        "_are_topics_stale",
        "_closed",
        "_is_running",
        "_is_writing",
        "_log",
        "_presences",
        "_purgatories",
        "_steps",
        "group",
        "surroundings",
    )

    def __init__(
        self,
        group: ConsumerGroup,
        surroundings: Surroundings,
        purgatories: GroupPurgatories,
        log: ChangeLog,
    ) -> None:
        self.group = group
        """What the log has; replaced as a whole by each step that changes it."""
        self.surroundings = surroundings
        self._purgatories = purgatories
        self._log = log
        # By member id; exactly the members of `group` once their sessions have begun.
        self._presences: dict[str, Presence] = {}
        # Steps that came while another was under way, oldest first.
        self._steps: deque[tuple[Step, Refused]] = deque()
        self._is_running = False
        self._is_writing = False
        # Why no more steps are taken; NONE while they are.
        self._closed = ErrorCode.NONE
        # Whether topics that the group may read have changed since a step looked; so after a start.
        self._are_topics_stale = True

    # --- requests

    def heard(
        self,
        draft: Draft,
        request: ConsumerGroupHeartbeatRequest,
        caller: Caller,
        respond: RespondToHeartbeat,
    ) -> Effects:
        """A valid heartbeat, as a step."""
        if request.member_epoch < JOINING_EPOCH:
            return leave(draft, self.surroundings.topics, request, respond)
        return heartbeat(draft, self.surroundings, request, caller, respond)

    # --- the group's life

    def topics_changed(self) -> None:
        """Topics came, went or grew: the next heartbeat looks whether that concerns the group."""
        self._are_topics_stale = True

    def resume(self) -> None:
        """A group was loaded: the sessions of its members begin, and their time to give back."""
        for member_id, member in self.group.members.items():
            timeout_ms = self._session_timeout_ms(member_id)
            self._carry_out(StartSession(member_id, timeout_ms))
            if member.share.state is MemberState.UNREVOKED_PARTITIONS:
                timeout_ms = member.metadata.rebalance_timeout_ms
                self._carry_out(AwaitRevocation(member_id, member.share, timeout_ms))

    def close(self, code: ErrorCode) -> None:
        """Be no longer this group's coordinator; whoever waits is told why."""
        self._closed = code
        for member_id in self._presences:
            key = MemberKey(self.group.group_id, member_id)
            for purgatory in (self._purgatories.heartbeats, self._purgatories.members):
                purgatory.cancel_for_key(key)
        self._presences.clear()
        if not self._is_writing:
            self._run()

    def presence(self, member_id: str) -> Presence | None:
        """When a member was heard of, and what it is waited for."""
        return self._presences.get(member_id)

    # --- steps

    def take(self, step: Step, refused: Refused) -> None:
        """Take a step as soon as those before it are done."""
        self._steps.append((step, refused))
        if not self._is_running and not self._is_writing:
            self._run()

    @property
    def is_at_rest(self) -> bool:
        """Whether nothing is being written, and no step waits."""
        return not (self._is_writing or self._steps)

    def _run(self) -> None:
        self._is_running = True
        try:
            while self._steps and not self._is_writing:
                step, refused = self._steps.popleft()
                if self._closed is ErrorCode.NONE:
                    self._take(step, refused)
                else:
                    refused(self._closed, "")
        finally:
            self._is_running = False

    def _take(self, step: Step, refused: Refused) -> None:
        were_stale = self._are_topics_stale
        draft = Draft(self.group, topics_changed=were_stale)
        self._are_topics_stale = False
        try:
            effects = step(draft)
        except ApiError as error:
            self._are_topics_stale = were_stale
            refused(error.code, error.message)
            return
        if not draft.changes and not draft.beside:
            self._finish(draft, effects)
            return

        def written(code: ErrorCode) -> None:
            self._is_writing = False
            if self._closed is not ErrorCode.NONE:
                refused(self._closed, "")
            elif code is not ErrorCode.NONE:
                self._are_topics_stale = True
                refused(code, "")
            else:
                self.group = draft.group
                self._finish(draft, effects)
            if not self._is_running:
                self._run()

        self._is_writing = True
        self._log.write_changes(self.group.group_id, draft.changes, draft.beside, written)

    def _finish(self, draft: Draft, effects: Effects) -> None:
        """The log has it: it is so."""
        touched = {change.member_id: None for change in draft.changes if isinstance(change, OF_MEMBERS)}
        for member_id in touched:
            self._try_waiting(member_id)
        for effect in effects:
            self._carry_out(effect)

    def _try_waiting(self, member_id: str) -> None:
        key = MemberKey(self.group.group_id, member_id)
        self._purgatories.members.check_and_complete(key)
        if member_id not in self.group.members:
            self._presences.pop(member_id, None)
            self._purgatories.heartbeats.check_and_complete(key)

    # --- effects

    def _carry_out(self, effect: Effect) -> None:
        match effect:
            case Answer(respond, response):
                respond(response)
            case StartSession(member_id, timeout_ms):
                self._start_session(member_id, timeout_ms)
            case AwaitRevocation(member_id, share, timeout_ms):
                self._await_revocation(member_id, share, timeout_ms)

    def _start_session(self, member_id: str, timeout_ms: int) -> None:
        now_ms = self._now_ms()
        presence = self._presences.get(member_id)
        if presence is None:
            presence = self._presences[member_id] = Presence(now_ms)
        presence.session += 1
        presence.last_heartbeat_ms = now_ms
        session = presence.session

        def is_open() -> bool:
            known = self._presences.get(member_id)
            return known is not None and known.session == session

        key = MemberKey(self.group.group_id, member_id)
        self._purgatories.heartbeats.check_and_complete(key)
        operation = DelayedSession(
            now_ms + timeout_ms, member_id, is_open, lambda: self._expel(member_id, is_open)
        )
        self._purgatories.heartbeats.try_complete_else_watch(operation, [key])

    def _await_revocation(self, member_id: str, share: Share, timeout_ms: int) -> None:
        deadline_ms = self._presences[member_id].revokes_until_ms = self._now_ms() + timeout_ms

        def is_open() -> bool:
            member = self.group.members.get(member_id)
            return member is not None and member.share == share

        self._watch(
            DelayedRevocation(deadline_ms, member_id, is_open, lambda: self._expel(member_id, is_open))
        )

    def _watch(self, operation: DelayedMember) -> None:
        key = MemberKey(self.group.group_id, operation.member_id)
        self._purgatories.members.try_complete_else_watch(operation, [key])

    def _expel(self, member_id: str, is_open: Callable[[], bool]) -> None:
        """A member has not done in time what it had to, unless it does so before this step's turn."""

        def step(draft: Draft) -> Effects:
            if is_open():
                remove(draft, self.surroundings.topics, [member_id])
            return []

        self.take(step, lambda code, words: self._retry_later(member_id, code))

    def _retry_later(self, member_id: str, code: ErrorCode) -> None:
        """It could not be written that a member is gone: give it another session's time."""
        if self._closed is ErrorCode.NONE and member_id in self.group.members:
            self._start_session(member_id, self._session_timeout_ms(member_id))

    def _session_timeout_ms(self, member_id: str) -> int:
        classic = self.group.members[member_id].metadata.classic
        return self.surroundings.session_timeout_ms if classic is None else classic.session_timeout_ms

    def _now_ms(self) -> int:
        return self.surroundings.terms.clock.monotonic_ms()
