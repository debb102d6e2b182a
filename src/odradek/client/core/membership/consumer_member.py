"""A member in the protocol of KIP-848: the broker assigns, in the answers to heartbeats.

    OUT ──subscribe──► JOINING ──answer──► IN ──leave──► LEAVING ──► OUT
                          ▲                 │
                          └──fenced, lost───┘

A heartbeat is due at once when it has something to tell (a subscription, the partitions it has), else after
the interval that the broker named, or after a wait that grows while the broker refuses them.
Invariant: one heartbeat is under way at a time.
"""

from collections.abc import Sequence
from enum import Enum, auto
from typing import Final
from uuid import UUID

from odradek.base.chance import Chance
from odradek.base.error_codes import ErrorCode, known_code
from odradek.base.errors import ApiError, OdradekError
from odradek.base.ids import NO_TOPIC_ID, TopicPartition
from odradek.client.core.backoff import Backoff
from odradek.client.core.cluster_view import ClusterView
from odradek.client.core.membership.member import CONSUMER, MemberOptions, Refusals, Target, kept_out
from odradek.client.core.requests import Outcome, Send, ToCoordinator
from odradek.client.core.routing import Routing
from odradek.client.core.waiting import Cause, Why
from odradek.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)

_JOIN_EPOCH: Final = 0
_LEAVE_EPOCH: Final = -1
_LEAVE_STATIC_EPOCH: Final = -2
# However often a broker asks for heartbeats.
_INTERVAL_MS_MIN: Final = 100
_FENCED: Final = {ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH}


class Place(Enum):
    """Where the member is."""

    OUT = auto()
    JOINING = auto()
    IN = auto()
    LEAVING = auto()


NEXT: Final = {
    Place.OUT: {Place.JOINING},
    Place.JOINING: {Place.JOINING, Place.IN, Place.LEAVING, Place.OUT},
    Place.IN: {Place.JOINING, Place.LEAVING, Place.OUT},
    Place.LEAVING: {Place.OUT},
}


class ConsumerMember:
    """See the module and `Member`."""

    def __init__(self, options: MemberOptions, view: ClusterView, routing: Routing, chance: Chance) -> None:
        self._options = options
        self._view = view
        self._routing = routing
        self._backoff = Backoff(options.retry_backoff_ms, options.retry_backoff_max_ms, chance)
        self._place = Place.OUT
        # Since when it is joining or being given partitions; None while it is not.
        self._since_ms: int | None = None
        self._topics: frozenset[str] = frozenset()
        # What the next heartbeat tells: the topics, the partitions, or everything, after which a broker says
        # again what it has assigned.
        self._tells_topics = self._tells_partitions = self._tells_all = False
        # What it has, and what it must have by the broker's last word: topic ids; None if nothing changed.
        self._owned: frozenset[TopicPartition] = frozenset()
        self._assigned: list[TopicPartitions] | None = None
        # Whether what it has is gone and the consumer has not heard of it yet.
        self._is_lost = False
        self._under_way: Send | None = None
        self._next_ms = 0
        self._failures = 0
        self._refusals = Refusals(options.group)
        self.group = options.group
        self.member = str(chance.uuid())
        self.epoch = _JOIN_EPOCH
        self.instance = options.instance
        self.checks_epoch = True
        self.protocol = CONSUMER
        self.error: OdradekError | None = None
        self.failed: ApiError | None = None

    @property
    def strategy(self) -> str:
        """See `Member`."""
        return ""

    @property
    def is_joined(self) -> bool:
        """See `Member`."""
        return self._place is Place.IN

    @property
    def has_left(self) -> bool:
        """See `Member`."""
        return self._place is Place.OUT

    def subscribe(self, topics: frozenset[str]) -> None:
        """See `Member`."""
        if topics == self._topics and self._place not in (Place.OUT, Place.LEAVING):
            return
        self._topics = topics
        self._tells_topics = True
        self._next_ms = 0
        if self._place is Place.OUT:
            self._join()

    def target(self) -> Target | None:
        """See `Member`."""
        if self._is_lost:
            return Target(frozenset(), is_lost=True)
        if self._assigned is None:
            return None
        found = set()
        for topic in self._assigned:
            name = self._view.topic_name(topic.topic_id)
            if name is None:
                self._view.refresh_soon(0)
                return None
            found |= {TopicPartition(name, number) for number in topic.partitions}
        return Target(frozenset(found))

    def has_now(self, partitions: frozenset[TopicPartition]) -> None:
        """See `Member`."""
        self._owned = partitions
        if self._is_lost:
            self._is_lost = False
            return
        target = self.target()
        if target is not None and target.partitions == partitions:
            self._assigned = None
        self._tells_partitions = True
        self._next_ms = 0

    def leave(self) -> None:
        """See `Member`."""
        if self._place in (Place.JOINING, Place.IN):
            self._go(Place.LEAVING)
            self.epoch = _LEAVE_EPOCH if self.instance is None else _LEAVE_STATIC_EPOCH
            self._lose()
            self._next_ms = 0

    def why(self, now_ms: int) -> list[Why]:
        """See `Member`."""
        if self.failed is not None:
            return [kept_out(self.group, self.instance, self.failed)]
        if (refused := self._refusals.why(now_ms)) is not None:
            return [refused]
        if self._place is not Place.JOINING and self._assigned is None and not self._is_lost:
            return []
        waited_ms = 0 if self._since_ms is None else now_ms - self._since_ms
        text = f"group {self.group} has been giving partitions to this member for {waited_ms / 1000:.0f} s"
        return [Why(Cause.REBALANCE, text, {"group": self.group, "ms": waited_ms})]

    # --- the core's side

    def due(self, now_ms: int) -> Sequence[Send]:
        """See `Core`."""
        if self._place is Place.OUT or self._under_way is not None or now_ms < self._next_ms:
            return ()
        if self._waits_for_application:
            return ()
        if self._place is Place.JOINING and self._since_ms is None:
            self._since_ms = now_ms
        self._under_way = Send(
            ToCoordinator(self.group), self._request(), timeout_ms=self._options.request_timeout_ms
        )
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
        assert isinstance(request, ConsumerGroupHeartbeatRequest)
        if self._place is Place.LEAVING:
            if request.member_epoch < 0:
                self._go(Place.OUT)
            return
        if outcome.error is not None:
            if outcome.error.code.is_retriable:
                self._retry(now_ms)
            else:
                self._give_up(outcome.error)
            return
        answer = outcome.answer(ConsumerGroupHeartbeatResponse)
        code = known_code(answer.error_code)
        if code is ErrorCode.NONE:
            self._answered(answer, now_ms)
            return
        self._routing.refused(outcome.send, code)
        if code in _FENCED:
            self._refusals.note(code, now_ms)
            self._lose()
            self._join()
            self._retry(now_ms)
        elif code is ErrorCode.UNRELEASED_INSTANCE_ID:
            self.failed = ApiError(code, answer.error_message or code.name)
            self._retry(now_ms)
        elif code.is_retriable:
            self._refusals.note(code, now_ms)
            self._retry(now_ms)
        else:
            self._give_up(ApiError(code, f"group {self.group}: {answer.error_message or code.name}"))

    def _answered(self, answer: ConsumerGroupHeartbeatResponse, now_ms: int) -> None:
        self.failed = None
        self._refusals.clear(has_stayed=self._place is Place.IN)
        if self._place is Place.JOINING:
            self._go(Place.IN)  # after which it may be fenced each time
            self._since_ms = None
        else:
            self._failures = 0
        self.epoch = answer.member_epoch
        self._next_ms = now_ms + max(_INTERVAL_MS_MIN, answer.heartbeat_interval_ms)
        if answer.assignment is not None:
            self._assigned = answer.assignment.topic_partitions
            self._since_ms = now_ms
        if self._tells_topics or self._tells_partitions:
            self._next_ms = now_ms

    def _request(self) -> ConsumerGroupHeartbeatRequest:
        options = self._options
        is_joining = self._place is Place.JOINING
        tells_all = is_joining or self._tells_all
        request = ConsumerGroupHeartbeatRequest(
            group_id=self.group,
            member_id=self.member,
            member_epoch=self.epoch,
            instance_id=self.instance,
        )
        if self._place is Place.LEAVING:
            return request
        if tells_all:
            request.rack_id = options.rack or None
            request.rebalance_timeout_ms = options.max_poll_interval_ms
            request.server_assignor = options.remote_assignor
        if tells_all or self._tells_topics:
            request.subscribed_topic_names = sorted(self._topics)
        if is_joining:
            request.topic_partitions = []
        elif tells_all or self._tells_partitions:
            request.topic_partitions = self._owned_by_id()
        self._tells_topics = self._tells_partitions = self._tells_all = False
        return request

    def _owned_by_id(self) -> list[TopicPartitions]:
        by_id: dict[UUID, list[int]] = {}
        for topic, number in sorted(self._owned):
            topic_id = self._view.topic_id(topic)
            if topic_id != NO_TOPIC_ID:
                by_id.setdefault(topic_id, []).append(number)
        return [TopicPartitions(topic_id, numbers) for topic_id, numbers in by_id.items()]

    # --- helpers

    @property
    def _waits_for_application(self) -> bool:
        """Whether it joins again only when the application knows what has happened."""
        return self._place is Place.JOINING and (self._is_lost or self.error is not None)

    def _go(self, place: Place) -> None:
        assert place in NEXT[self._place], f"{place} does not follow {self._place}"
        self._place = place

    def _join(self) -> None:
        self._go(Place.JOINING)
        self.epoch = _JOIN_EPOCH
        self._next_ms = 0

    def _lose(self) -> None:
        """What it has is gone, and what it was given, of which the application may hear at this moment."""
        self._is_lost = self._is_lost or bool(self._owned or self._assigned)
        self._assigned = None

    def _retry(self, now_ms: int) -> None:
        self._next_ms = now_ms + self._backoff.after(self._failures)
        self._failures += 1
        # The answer that was lost may have had an assignment.
        self._tells_all = True

    def _give_up(self, error: ApiError) -> None:
        self._go(Place.OUT)
        self._lose()
        self.epoch = _JOIN_EPOCH
        self._since_ms = None
        self.error = self.failed = error
