"""A member in the classic protocol: all join, one of them, the leader, assigns.

    OUT ──subscribe──► JOINING ──► SHARING ──► SYNCING ──► STABLE ──REBALANCE_IN_PROGRESS──► REVOKING
                          ▲        (leader: topics known)                                        │
                          └──────────────────the application knows: nothing is left──────────────┘

With `cooperative-sticky` alone (KIP-429) a member joins again with the partitions that it has, revokes only
what it loses, and then joins once more; with other strategies it revokes everything first. With `sticky`
(KIP-54) it then tells what it had.

Invariant: between two JoinGroups lies an answer to a heartbeat, whose interval passes first, or a wait that
grows. Excepted are the join with a new id, the second round of a cooperative rebalance, and what the
application makes new.
"""

from collections.abc import Sequence
from enum import Enum, auto
from typing import Final

from odradek.base.chance import Chance
from odradek.base.error_codes import ErrorCode, known_code
from odradek.base.errors import ApiError, MalformedRequest, OdradekError
from odradek.base.ids import TopicPartition
from odradek.client.core.backoff import Backoff
from odradek.client.core.cluster_view import ClusterView
from odradek.client.core.membership.classic_share import (
    NO_GENERATION,
    STICKY,
    Previous,
    assignment,
    shares,
    subscriber_of,
    subscription,
)
from odradek.client.core.membership.member import CLASSIC, MemberOptions, Refusals, Target, kept_out
from odradek.client.core.requests import ANSWER_MS, Outcome, Send, ToCoordinator
from odradek.client.core.routing import Routing
from odradek.client.core.waiting import Cause, Why
from odradek.client.refusal import name_of
from odradek.wire.message import Message
from odradek.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from odradek.wire.messages.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
    JoinGroupResponseMember,
)
from odradek.wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity
from odradek.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse

_PROTOCOL_TYPE: Final = "consumer"
_COOPERATIVE: Final = ("cooperative-sticky",)
# How much longer than the rebalance timeout the answer to a join may take.
_ANSWER_MS: Final = 5_000
# How often partitions are given in one cooperative rebalance: members give back, and then others take over.
_ROUNDS: Final = 2
_KEPT: Final = {ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS}
_GONE: Final = {ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION}


class Place(Enum):
    """Where the member is."""

    OUT = auto()
    JOINING = auto()
    SHARING = auto()
    SYNCING = auto()
    STABLE = auto()
    REVOKING = auto()
    LEAVING = auto()


_ALWAYS: Final = {Place.JOINING, Place.LEAVING, Place.OUT}
NEXT: Final = {
    Place.OUT: {Place.JOINING},
    Place.JOINING: _ALWAYS | {Place.SHARING},
    Place.SHARING: _ALWAYS | {Place.SYNCING},
    Place.SYNCING: _ALWAYS | {Place.STABLE},
    Place.STABLE: _ALWAYS | {Place.REVOKING},
    Place.REVOKING: _ALWAYS,
    Place.LEAVING: {Place.OUT},
}


class ClassicMember:
    """See the module and `Member`."""

    def __init__(self, options: MemberOptions, view: ClusterView, routing: Routing, chance: Chance) -> None:
        self._options = options
        self._view = view
        self._routing = routing
        self._backoff = Backoff(options.retry_backoff_ms, options.retry_backoff_max_ms, chance)
        self._is_cooperative = options.strategies == _COOPERATIVE
        self._place = Place.OUT
        # Since when the group rebalances, as this member knows; None while it does not.
        self._since_ms: int | None = None
        # What it subscribes to, and what its last join said.
        self._topics: frozenset[str] = frozenset()
        self._told: frozenset[str] = frozenset()
        self._owned: frozenset[TopicPartition] = frozenset()
        # What the leader gave it, until the consumer has it; None if nothing changed.
        self._assigned: frozenset[TopicPartition] | None = None
        # What the leader gave it last, also long ago.
        self._previous: Previous | None = None
        # Whether it joins again as soon as the consumer has that. Only with a cooperative strategy: a join
        # names what it has, and the application may be hearing of more at this moment.
        self._joins_then = False
        self._is_lost = False
        # Of the generation: the strategy and the leader; for the leader its members and what it assigned.
        self._strategy = self._leader = ""
        self._members: list[JoinGroupResponseMember] = []
        self._counts: dict[str, int] = {}
        self._under_way: Send | None = None
        self._sent_ms = 0
        self._next_ms = 0
        self._failures = 0
        self._refusals = Refusals(options.group)
        # How often it was given partitions since a heartbeat was answered, and when it may join again after
        # the last time.
        self._rounds = 0
        self._joins_ms = 0
        self.group = options.group
        self.member = ""
        self.epoch = NO_GENERATION
        self.instance = options.instance
        self.checks_epoch = False
        self.protocol = CLASSIC
        self.error: OdradekError | None = None
        self.failed: ApiError | None = None

    @property
    def strategy(self) -> str:
        """See `Member`."""
        return self._strategy

    @property
    def is_joined(self) -> bool:
        """See `Member`."""
        return self.epoch != NO_GENERATION

    @property
    def has_left(self) -> bool:
        """See `Member`."""
        return self._place is Place.OUT

    def subscribe(self, topics: frozenset[str]) -> None:
        """See `Member`."""
        self._topics = topics
        if self._place is Place.OUT:
            self._go(Place.JOINING)
            self._next_ms = 0
        elif self._place is Place.STABLE and self._topics != self._told and self._rejoin():
            self._next_ms = 0

    def target(self) -> Target | None:
        """See `Member`."""
        if self._is_lost:
            return Target(frozenset(), is_lost=True)
        if self._place is Place.REVOKING:
            return Target(frozenset())
        return None if self._assigned is None else Target(self._assigned)

    def has_now(self, partitions: frozenset[TopicPartition]) -> None:
        """See `Member`."""
        has_revoked = not self._owned <= partitions
        self._owned = partitions
        if self._is_lost:
            self._is_lost = False
        elif self._place is Place.REVOKING:
            if not partitions:
                self._go(Place.JOINING)
                self._next_ms = 0
        elif self._assigned == partitions:
            self._assigned = self._since_ms = None
            joins = self._joins_then or (self._is_cooperative and has_revoked)
            if self._place is Place.STABLE and (joins or self._topics != self._told):
                self._next_ms = self._joins_ms
                if joins:
                    self._go(Place.JOINING)

    def leave(self) -> None:
        """See `Member`."""
        if self._place in (Place.OUT, Place.LEAVING):
            return
        self._lose()
        self._next_ms = 0
        # A static member keeps its place: it comes back within the session timeout.
        if self.member and self.instance is None:
            self._go(Place.LEAVING)
        else:
            self._go(Place.OUT)
            self.epoch = NO_GENERATION

    def why(self, now_ms: int) -> list[Why]:
        """See `Member`."""
        if self.failed is not None:
            return [kept_out(self.group, self.instance, self.failed)]
        # A join that is not refused soon is waited for.
        is_held = self._under_way is not None and now_ms - self._sent_ms > ANSWER_MS
        if not is_held and (refused := self._refusals.why(now_ms)) is not None:
            return [refused]
        if self._place in (Place.OUT, Place.STABLE, Place.LEAVING) and self._assigned is None:
            return []
        waited_ms = 0 if self._since_ms is None else now_ms - self._since_ms
        text = f"group {self.group} has been rebalancing for {waited_ms / 1000:.0f} s: {self._waits_for}"
        data: dict[str, object] = {"group": self.group, "ms": waited_ms, "at": self._place.name}
        if self._place is Place.SYNCING and self._leader != self.member:
            data["member"] = self._leader
        return [Why(Cause.REBALANCE, text, data)]

    @property
    def _waits_for(self) -> str:
        match self._place:
            case Place.JOINING:
                return "it waits for other members to join"
            case Place.SHARING:
                return "this member leads it, and learns the partitions of its topics"
            case Place.SYNCING if self._leader != self.member:
                return f"it waits for member {self._leader} to assign the partitions"
            case Place.SYNCING:
                return "this member leads it, and has sent the assignment"
            case Place.REVOKING:
                return "poll must be called, to give partitions back"
            case _:
                return "poll must be called, to take over partitions"

    # --- the core's side

    def due(self, now_ms: int) -> Sequence[Send]:
        """See `Core`."""
        if self._place is Place.OUT or self._under_way is not None or now_ms < self._next_ms:
            return ()
        if self._waits_for_application:
            return ()
        # Topics that were subscribed to while it joined are not told yet.
        if self._place is Place.STABLE and (self._topics != self._told or self._has_grown()):
            self._rejoin()
        request: Message
        timeout_ms = self._options.request_timeout_ms
        answer_ms: int | None = ANSWER_MS
        match self._place:
            case Place.JOINING:
                self._rebalances_since(now_ms)
                request = self._join_request()
                timeout_ms = max(timeout_ms, self._options.max_poll_interval_ms + _ANSWER_MS)
                # The broker gives a new member its id at once, and then waits for the others.
                answer_ms = None if self.member or self.instance is not None else ANSWER_MS
            case Place.SHARING:
                if not self._knows_topics(now_ms):
                    return ()
                self._go(Place.SYNCING)
                request = self._sync_request()
                answer_ms = None
            case Place.SYNCING:
                request = self._sync_request()
                answer_ms = None
            case Place.LEAVING:
                identity = MemberIdentity(self.member, None, "the consumer is being closed")
                request = LeaveGroupRequest(group_id=self.group, member_id=self.member, members=[identity])
            case _:
                request = HeartbeatRequest(
                    group_id=self.group,
                    generation_id=self.epoch,
                    member_id=self.member,
                    group_instance_id=self.instance,
                )
        self._under_way = Send(ToCoordinator(self.group), request, timeout_ms=timeout_ms, answer_ms=answer_ms)
        self._sent_ms = now_ms
        return (self._under_way,)

    def next_deadline_ms(self) -> int | None:
        """See `Core`."""
        if self._place is Place.OUT or self._under_way is not None or self._waits_for_application:
            return None
        return self._next_ms

    def outcome(self, outcome: Outcome, now_ms: int) -> None:
        """See `Core`."""
        self._under_way = None
        request = outcome.send.request
        if self._place is Place.LEAVING:
            if isinstance(request, LeaveGroupRequest):
                self._go(Place.OUT)
                self.epoch = NO_GENERATION
            return
        if self._place is Place.OUT:
            return
        if outcome.error is not None:
            if outcome.error.code.is_retriable:
                self._retry(now_ms)
            else:
                self._give_up(outcome.error)
            return
        response = outcome.response
        assert isinstance(
            response, JoinGroupResponse | SyncGroupResponse | HeartbeatResponse | LeaveGroupResponse
        )
        code = known_code(response.error_code)
        self._routing.refused(outcome.send, code)
        if isinstance(response, HeartbeatResponse) and code in _KEPT:
            self._rounds = 0
            self._refusals.clear(has_stayed=True)
            if self._place is Place.JOINING:
                return  # the application gave everything back meanwhile: when to join is known
        if isinstance(response, JoinGroupResponse) and code is ErrorCode.MEMBER_ID_REQUIRED:
            if self.member or not response.member_id:
                self._retry(now_ms)  # it was given one already, or none: no use to ask at once
            else:
                self._next_ms = now_ms
            self.member = response.member_id
        elif code is ErrorCode.NONE:
            self._refusals.clear(has_stayed=False)
            self._accepted(response, now_ms)
        elif code is ErrorCode.REBALANCE_IN_PROGRESS:
            self._rebalances_since(now_ms)
            if self._place in (Place.STABLE, Place.REVOKING):
                # Where the listener must be called before the next JoinGroup, the heartbeat interval stays.
                joins_now = self._rejoin()
                self._next_ms = now_ms + (0 if joins_now else self._options.heartbeat_interval_ms)
            else:
                self._rejoin()
                self._retry(now_ms)
        elif code in _GONE:
            self._refusals.note(code, now_ms)
            self._begin_again(code, now_ms)
        elif code.is_retriable:
            self._refusals.note(code, now_ms)
            self._retry(now_ms)
        else:
            words = f"group {self.group}: {name_of(code)}"
            if code is ErrorCode.INCONSISTENT_GROUP_PROTOCOL:
                known = ", ".join(self._options.strategies)
                words = f"the members of group {self.group} use none of the strategies {known}"
            self._give_up(ApiError(code, words))

    def _accepted(self, response: Message, now_ms: int) -> None:
        self._next_ms = now_ms + self._options.heartbeat_interval_ms
        if not isinstance(response, JoinGroupResponse):  # after that the group may still refuse it each time
            self._failures = 0
        match response:
            case JoinGroupResponse() if self._place is Place.JOINING:
                self.member, self.epoch = response.member_id, response.generation_id
                self._strategy = response.protocol_name or ""
                self._leader = response.leader
                is_leader = response.leader == self.member and not response.skip_assignment
                self._members = response.members if is_leader else []
                self._counts = {}
                if fault := self._fault():
                    said = f"group {self.group} cannot be assigned partitions: {fault}"
                    self._give_up(ApiError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, said))
                    return
                self._go(Place.SHARING)
                self._next_ms = now_ms
            case SyncGroupResponse() if self._place is Place.SYNCING:
                try:
                    self._assigned = assignment(bytes(response.assignment))
                except MalformedRequest as error:
                    said = f"the leader of group {self.group} sent what is no assignment: {error}"
                    self._give_up(ApiError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, said))
                    return
                self._previous = Previous(self._assigned, self.epoch)
                self._rounds += 1
                extra = self._rounds - _ROUNDS
                self._joins_ms = now_ms + (self._backoff.after(extra - 1) if extra > 0 else 0)
                self._go(Place.STABLE)
                self.failed = None

    def _fault(self) -> str:
        """As the leader: why it cannot assign; "" if it can."""
        if self._members and self._strategy not in self._options.strategies:
            return f"the broker chose the strategy {self._strategy!r}, which was not offered"
        for one in self._members:
            try:
                subscriber_of(one)
            except MalformedRequest as error:
                return f"member {one.member_id!r} sent what is no subscription: {error}"
        return ""

    # --- requests

    def _join_request(self) -> JoinGroupRequest:
        self._told = self._topics
        self._joins_then = False
        owned = self._owned if self._is_cooperative else ()
        told = {
            name: subscription(
                self._topics,
                owned,
                self.epoch,
                self._options.rack,
                self._previous if name == STICKY else None,
            )
            for name in self._options.strategies
        }
        return JoinGroupRequest(
            group_id=self.group,
            session_timeout_ms=self._options.session_timeout_ms,
            rebalance_timeout_ms=self._options.max_poll_interval_ms,
            member_id=self.member,
            group_instance_id=self.instance,
            protocol_type=_PROTOCOL_TYPE,
            protocols=[JoinGroupRequestProtocol(name, metadata) for name, metadata in told.items()],
        )

    def _sync_request(self) -> SyncGroupRequest:
        assignments = shares(self._strategy, self._members, self._counts) if self._members else []
        return SyncGroupRequest(
            group_id=self.group,
            generation_id=self.epoch,
            member_id=self.member,
            group_instance_id=self.instance,
            protocol_type=_PROTOCOL_TYPE,
            protocol_name=self._strategy,
            assignments=assignments,
        )

    def _knows_topics(self, now_ms: int) -> bool:
        """As the leader: whether the partitions of all topics of the group are known; asks for them."""
        if not self._members:
            return True
        topics = {topic for one in self._members for topic in subscriber_of(one).topics}
        self._view.want(topics)
        for topic in topics:
            if self._view.partition_count(topic) is None and topic not in self._view.errors:
                self._next_ms = now_ms + self._backoff.after(0)
                return False
        self._counts = {
            topic: count for topic in topics if (count := self._view.partition_count(topic)) is not None
        }
        return True

    def _has_grown(self) -> bool:
        """As the leader: whether a topic has more partitions than were assigned."""
        if not self._members:
            return False
        topics = {topic for one in self._members for topic in subscriber_of(one).topics}
        return any((self._view.partition_count(topic) or 0) > self._counts.get(topic, 0) for topic in topics)

    # --- helpers

    @property
    def _waits_for_application(self) -> bool:
        """Whether it goes on only when the application knows what has happened."""
        return self._place is not Place.LEAVING and (self._is_lost or self.error is not None)

    def _go(self, place: Place) -> None:
        assert place in NEXT[self._place], f"{place} does not follow {self._place}"
        self._place = place

    def _rejoin(self) -> bool:
        """Join again; first revoke, if the strategy wants that and there is something.

        Returns whether it joins now.
        """
        if self._place is Place.REVOKING:
            return False
        if self._is_cooperative and self._place is Place.STABLE and self._assigned is not None:
            self._joins_then = True
            return False
        # It has, or will have, what the application may hear of at this moment.
        has_any = bool(self._owned or self._assigned)
        self._assigned = None
        if has_any and not self._is_cooperative and self._place is Place.STABLE:
            self._go(Place.REVOKING)
            return False
        self._go(Place.JOINING)
        return True

    def _begin_again(self, code: ErrorCode, now_ms: int) -> None:
        if code is ErrorCode.UNKNOWN_MEMBER_ID:
            self.member = ""
        self.epoch = NO_GENERATION
        self._lose()
        self._go(Place.JOINING)
        self._retry(now_ms)

    def _rebalances_since(self, now_ms: int) -> None:
        if self._since_ms is None:
            self._since_ms = now_ms

    def _lose(self) -> None:
        """What it has is gone, and what it was given, of which the application may hear at this moment."""
        self._is_lost = self._is_lost or bool(self._owned or self._assigned)
        self._assigned = None

    def _retry(self, now_ms: int) -> None:
        self._next_ms = now_ms + self._backoff.after(self._failures)
        self._failures += 1

    def _give_up(self, error: ApiError) -> None:
        self._go(Place.OUT)
        self.epoch = NO_GENERATION
        self._lose()
        self._since_ms = None
        self.error = self.failed = error
