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
from collections.abc import Callable
from typing import Protocol, TypeAlias

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.coordinator.classic.coordinator import GroupPurgatories
from odradek.coordinator.classic.terms import Caller
from odradek.coordinator.consumer.changes import OF_MEMBERS
from odradek.coordinator.consumer.draft import Draft
from odradek.coordinator.consumer.effects import (
    Answer,
    AwaitRejoin,
    AwaitRevocation,
    AwaitSync,
    BecomeClassic,
    Effect,
    Effects,
    Rejoined,
    StartSession,
    Synced,
)
from odradek.coordinator.consumer.group import ConsumerGroup
from odradek.coordinator.consumer.heartbeats import RespondToHeartbeat, heartbeat
from odradek.coordinator.consumer.leaving import leave, remove
from odradek.coordinator.consumer.member import JOINING_EPOCH, Share
from odradek.coordinator.consumer.member_watch import IsOpen, MemberWatch
from odradek.coordinator.consumer.presence import Presence
from odradek.coordinator.consumer.states import MemberState
from odradek.coordinator.consumer.surroundings import Surroundings
from odradek.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest

Refused: TypeAlias = Callable[[ErrorCode, str], None]
"""Told why a step was not done: a code, and words for it."""
Step: TypeAlias = Callable[[Draft], Effects]
"""Raises ApiError, having changed nothing but the draft."""
LeaveToClassic: TypeAlias = Callable[[Draft], BecomeClassic | None]
"""Whether the draft's group is to be a classic one; then the draft ends it, and this is to follow."""


class ChangeLog(Protocol):
    """Writes a group's changes to the log of its partition."""

    def write_draft(self, draft: Draft, done: Callable[[ErrorCode], None]) -> None:
        """Write all that a draft holds as one batch.

        `done` gets what members are to be told, NONE when it is written. It may come at once.
        """


class ConsumerCoordinator:
    """Coordinates one group; owned by one thread."""

    __slots__ = (
        "_are_topics_stale",
        "_closed",
        "_is_running",
        "_is_writing",
        "_leave_to_classic",
        "_log",
        "_steps",
        "_watch",
        "group",
        "surroundings",
    )

    def __init__(
        self,
        group: ConsumerGroup,
        surroundings: Surroundings,
        purgatories: GroupPurgatories,
        log: ChangeLog,
        leave_to_classic: LeaveToClassic,
    ) -> None:
        """`leave_to_classic` is asked after every step that changes the group."""
        self.group = group
        """What the log has; replaced as a whole by each step that changes it."""
        self.surroundings = surroundings
        self._log = log
        self._leave_to_classic = leave_to_classic
        self._watch = MemberWatch(
            group.group_id, surroundings.terms.clock, purgatories, self._share_of, self._expel
        )
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
        self._watch.close()
        if not self._is_writing:
            self._run()

    def presence(self, member_id: str) -> Presence | None:
        """When a member was heard of, and what it is waited for."""
        return self._watch.presence(member_id)

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
        if draft.is_blank:
            self._finish(draft, effects)
            return
        classic = self._leave_to_classic(draft)
        if classic is not None:
            # Whoever is answered may ask the next thing at once, and the classic group is to hear it.
            effects = [classic, *(effect for effect in effects if isinstance(effect, Answer))]

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
        try:
            self._log.write_draft(draft, written)
        except BaseException:
            self._is_writing = False  # else nobody in this group would ever be heard again
            raise

    def _finish(self, draft: Draft, effects: Effects) -> None:
        """The log has it: it is so."""
        for member_id in {
            change.member_id: None for change in draft.changes if isinstance(change, OF_MEMBERS)
        }:
            self._watch.look(member_id)
        for effect in effects:
            self._carry_out(effect)

    # --- effects

    def _carry_out(self, effect: Effect) -> None:
        match effect:
            case Answer(respond, response):
                respond(response)
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
            case BecomeClassic(become):
                become()

    def _share_of(self, member_id: str) -> Share | None:
        member = self.group.members.get(member_id)
        return None if member is None else member.share

    def _expel(self, member_id: str, is_open: IsOpen) -> None:
        """A member has not done in time what it had to, unless it does so before this step's turn."""

        def step(draft: Draft) -> Effects:
            if is_open():
                remove(draft, self.surroundings.topics, [member_id])
            return []

        def refused(code: ErrorCode, words: str) -> None:
            """It could not be written that the member is gone: it has a session's time more."""
            if self._closed is ErrorCode.NONE and is_open():
                self._watch.prolong(member_id, is_open, self._session_timeout_ms(member_id))

        self.take(step, refused)

    def _session_timeout_ms(self, member_id: str) -> int:
        classic = self.group.members[member_id].metadata.classic
        if classic is not None:
            return classic.session_timeout_ms
        return self.surroundings.config(self.group.group_id).consumer_session_timeout_ms
