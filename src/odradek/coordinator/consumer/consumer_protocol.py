"""The consumer protocol as one group runs it: requests and deadlines in, one step after another.

It decides nothing about groups; the other modules of this package do. A step works on a draft. The draft's
changes are appended as one batch; then the draft becomes the group, and the effects are carried out. The next
step uses the new group at once; answers wait until all records are replicated (R19). A heartbeat's draft may
take several steps (`groups.consumer_heartbeats`).

    heartbeat of A      draft: A joins, epoch 1, target of 1, A's share
    appended            the group is the draft; A's session begins
    replicated          A is answered
    the log refuses     the group is as it was; A gets an error to retry on
"""

from collections.abc import Callable, Sequence
from typing import Final, Protocol, TypeAlias

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.execution import Steps, exhaust
from odradek.coordinator.classic.classic_membership import GroupSnapshot
from odradek.coordinator.classic.group_purgatories import GroupPurgatories
from odradek.coordinator.classic.terms import Caller
from odradek.coordinator.consumer.answers import RespondToHeartbeat
from odradek.coordinator.consumer.changes import OF_MEMBERS
from odradek.coordinator.consumer.consumer_membership import ConsumerMembership
from odradek.coordinator.consumer.draft import Draft
from odradek.coordinator.consumer.effects import (
    AwaitRejoin,
    AwaitRevocation,
    AwaitSync,
    BecomeClassic,
    ConsumerEffect,
    ConsumerEffects,
    EndClassic,
    Rejoined,
    StartSession,
    Synced,
)
from odradek.coordinator.consumer.heartbeats import heartbeat
from odradek.coordinator.consumer.leaving import leave, remove
from odradek.coordinator.consumer.member import JOINING_EPOCH, Share
from odradek.coordinator.consumer.member_watch import IsOpen, MemberWatch
from odradek.coordinator.consumer.presence import Presence
from odradek.coordinator.consumer.states import MemberState
from odradek.coordinator.consumer.surroundings import GroupSurroundings
from odradek.coordinator.runtime.answers import AnyHeldAnswer, HeldAnswer
from odradek.coordinator.runtime.log_errors import CONSUMER_ERRORS, client_error
from odradek.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest

NEVER_LOOKED: Final = -1
Step: TypeAlias = Callable[[Draft], ConsumerEffects]
"""Raises ApiError, having changed nothing but the draft."""


class ChangeLog(Protocol):
    """Writes a group's changes to its partition, answers its members, and converts it to a classic group."""

    def encode(self, draft: Draft) -> Steps[None]:
        """Make the records of a draft's changes ahead of `write_draft`."""

    def write_draft(self, draft: Draft) -> ErrorCode:
        """Append a draft's changes as one batch; returns NONE, or the log's error if none was written."""

    def answer(self, answer: AnyHeldAnswer) -> None:
        """Answer when all that was appended so far is replicated."""

    def run(self, step: Callable[[], None]) -> None:
        """Run a step, now or after those that are under way."""

    def leave_to_classic(self, draft: Draft) -> BecomeClassic | None:
        """If the group must become a classic one, add its end to the draft; returns the effect for that."""

    def become_classic(self, group_id: str, snapshot: GroupSnapshot) -> None:
        """Carry `BecomeClassic` out."""

    def end_classic(self, group_id: str) -> None:
        """Carry `EndClassic` out."""


class ConsumerProtocol:
    """The protocol as one group runs it; owned by one thread."""

    __slots__ = ("_log", "_topics_version", "_watch", "membership", "surroundings")

    def __init__(
        self,
        group: ConsumerMembership,
        surroundings: GroupSurroundings,
        purgatories: GroupPurgatories,
        log: ChangeLog,
    ) -> None:
        self.membership = group
        """The group as the log has it; each step that changes it replaces it as a whole."""
        self.surroundings = surroundings
        self._log = log
        self._watch = MemberWatch(
            group.group_id, surroundings.terms.clock, purgatories, self._share_of, self._expel
        )
        # The version of the topics that the last step saw; none after a start.
        self._topics_version = NEVER_LOOKED

    # --- requests

    def handle_heartbeat(
        self,
        draft: Draft,
        request: ConsumerGroupHeartbeatRequest,
        caller: Caller,
        respond: RespondToHeartbeat,
    ) -> Steps[ConsumerEffects]:
        """Handle a valid heartbeat, up to the append. Raises ApiError."""
        if request.member_epoch < JOINING_EPOCH:
            return (yield from leave(draft, self.surroundings.topics, request, respond))
        effects = yield from heartbeat(draft, self.surroundings, request, caller, respond)
        yield from self._log.encode(draft)
        return effects

    # --- the group's life

    def resume(self) -> None:
        """Called when the group was loaded: begin its members' sessions and revocation deadlines."""
        for member_id, member in self.membership.members.items():
            timeout_ms = self._session_timeout_ms(member_id)
            self._carry_out(StartSession(member_id, timeout_ms))
            if member.share.state is MemberState.UNREVOKED_PARTITIONS:
                timeout_ms = member.metadata.rebalance_timeout_ms
                self._carry_out(AwaitRevocation(member_id, member.share, timeout_ms))

    def close(self) -> None:
        """Called when this broker no longer coordinates the group: end all deadlines."""
        self._watch.close()

    def presence(self, member_id: str) -> Presence | None:
        """When a member's last request came, and what it has to do."""
        return self._watch.presence(member_id)

    # --- steps

    def run(self, step: Step) -> ApiError | None:
        """Run a step; returns the error for its members, or None."""
        draft = self.draft()
        try:
            effects = step(draft)
            self.commit_or_refuse(draft, effects)
        except ApiError as refusal:
            return refusal
        return None

    def draft(self) -> Draft:
        """Returns the draft of a new step."""
        version = self.surroundings.topics.version
        return Draft(self.membership, version, topics_changed=self._topics_version != version)

    def is_current(self, draft: Draft) -> bool:
        """Whether neither the group nor the topics have changed since the draft was begun."""
        return draft.is_of(self.membership) and draft.topics_version == self.surroundings.topics.version

    def commit(self, draft: Draft, effects: Sequence[ConsumerEffect] = ()) -> ErrorCode:
        """Append a draft, make it the group, and carry the effects out; returns NONE or the log's error."""
        if not draft.is_blank:
            classic = self._log.leave_to_classic(draft)
            if classic is not None:
                effects = [classic, *(effect for effect in effects if isinstance(effect, HeldAnswer))]
            error = self._log.write_draft(draft)
            if error is not ErrorCode.NONE:
                return error
            epoch_before, self.membership = self.membership.epoch, draft.group
            if self.membership.epoch > epoch_before:
                self.surroundings.terms.on_rebalanced(
                    self.membership.group_id, self.membership.epoch, len(self.membership.members)
                )
        if draft.has_looked:
            self._topics_version = draft.topics_version
        for member_id in {
            change.member_id: None for change in draft.changes if isinstance(change, OF_MEMBERS)
        }:
            self._watch.look(member_id)
        for effect in effects:
            self._carry_out(effect)
        return ErrorCode.NONE

    def commit_or_refuse(self, draft: Draft, effects: Sequence[ConsumerEffect]) -> None:
        """`commit`; raises ApiError with the error for the members if the log has one."""
        error = self.commit(draft, effects)
        if error is not ErrorCode.NONE:
            raise ApiError(client_error(CONSUMER_ERRORS, error))

    # --- effects

    def _carry_out(self, effect: ConsumerEffect) -> None:
        match effect:
            case HeldAnswer():
                self._log.answer(effect)
            case StartSession(member_id, timeout_ms):
                self._watch.start_session(member_id, timeout_ms)
            case AwaitRevocation(member_id, share, timeout_ms):
                self._watch.await_revocation(member_id, share, timeout_ms)
            case AwaitRejoin(member_id, timeout_ms):
                self._watch.await_rejoin(member_id, timeout_ms)
            case AwaitSync(member_id, timeout_ms):
                self._watch.await_sync(member_id, timeout_ms)
            case Rejoined(member_id):
                self._watch.rejoined(member_id)
            case Synced(member_id):
                self._watch.synced(member_id)
            case EndClassic():
                self._log.end_classic(self.membership.group_id)
            case BecomeClassic(snapshot):
                self._log.become_classic(self.membership.group_id, snapshot)

    def _share_of(self, member_id: str) -> Share | None:
        member = self.membership.members.get(member_id)
        return None if member is None else member.share

    def _expel(self, member_id: str, is_open: IsOpen) -> None:
        """Called when a member missed a deadline: remove it, unless it has acted before this step runs."""

        def expel(draft: Draft) -> ConsumerEffects:
            if is_open():
                exhaust(remove(draft, self.surroundings.topics, [member_id]))
            return []

        def step() -> None:
            if self.run(expel) is not None and is_open():
                # The removal could not be written: the member gets another session timeout.
                self._watch.prolong(member_id, is_open, self._session_timeout_ms(member_id))

        self._log.run(step)

    def _session_timeout_ms(self, member_id: str) -> int:
        classic = self.membership.members[member_id].metadata.classic
        if classic is not None:
            return classic.session_timeout_ms
        return self.surroundings.config(self.membership.group_id).consumer_session_timeout_ms
