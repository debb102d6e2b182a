"""The consumer as a whole, without I/O.

A driver asks it what to send, a shell takes records and changes from it.

    change()            a step of a rebalance that the application must hear of, one after another
    carried_out(step)   it has; the group hears of it
    take(count)         records (C4, C5)
    polled(now)         the application polls; without that for `max.poll.interval.ms` the member leaves

Invariant: partitions that a step takes away are neither fetched nor returned from the moment `change` names
them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from odradek.base.chance import Chance
from odradek.base.clock import Clock
from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError, OdradekError
from odradek.base.ids import Offset, TopicPartition
from odradek.client.core.backoff import Backoff
from odradek.client.core.cluster_view import ClusterView
from odradek.client.core.consumer.completed_fetch import ConsumerRecord, Convert
from odradek.client.core.consumer.fetcher import Fetcher, FetchOptions
from odradek.client.core.consumer.held_up import HeldUp
from odradek.client.core.consumer.partition_state import PartitionState
from odradek.client.core.consumer.positions import Positions
from odradek.client.core.consumer.reasons import Reasons
from odradek.client.core.consumer.subscription import Subscription
from odradek.client.core.membership.givers import Givers
from odradek.client.core.membership.member import CLASSIC, CONSUMER, Member, MemberOptions, Membership
from odradek.client.core.membership.new_member import new_member
from odradek.client.core.requests import Core, Outcome, Send, ToCoordinator, earliest
from odradek.client.core.routing import Routing
from odradek.client.core.waiting import Why
from odradek.client.refusal import name_of
from odradek.client.reset_policy import ResetPolicy

_NOTHING: Final[Mapping[TopicPartition, Offset]] = {}


class Change(Enum):
    """What happens to partitions."""

    REVOKED = auto()
    """They are to be given back; what was read can be committed."""
    LOST = auto()
    """Others may have them already."""
    ASSIGNED = auto()


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a rebalance."""

    change: Change
    partitions: frozenset[TopicPartition]


@dataclass(frozen=True, slots=True)
class ConsumerOptions:
    """The settings of a consumer."""

    fetch: FetchOptions
    member: MemberOptions | None
    """None without a group."""
    protocol: str | None = None
    """None: KIP-848 where the broker and the group know it, else the classic protocol."""
    reset_to: ResetPolicy = None
    request_timeout_ms: int = 30_000
    excludes_internal: bool = True


class _CurrentIdentity:
    """The member that now stands for the consumer, or the group alone; see `Identity`."""

    def __init__(self, core: "ConsumerCore") -> None:
        self._core = core
        self.group = core.group

    @property
    def member(self) -> str:
        one = self._core.member
        return one.member if one is not None and one.is_joined else ""

    @property
    def epoch(self) -> int:
        one = self._core.member
        return one.epoch if one is not None and one.is_joined else -1

    @property
    def instance(self) -> str | None:
        one = self._core.member
        return one.instance if one is not None and one.is_joined else None

    @property
    def checks_epoch(self) -> bool:
        one = self._core.member
        return one is not None and one.is_joined and one.checks_epoch


class ConsumerCore:
    """See the module."""

    def __init__(
        self, view: ClusterView, routing: Routing, chance: Chance, clock: Clock, options: ConsumerOptions
    ) -> None:
        self._view = view
        self._routing = routing
        self._chance = chance
        self._options = options
        self.group = "" if options.member is None else options.member.group
        self.member: Member | None = None
        """None before the first subscription."""
        self.subscription = Subscription(view, excludes_internal=options.excludes_internal)
        self.identity = _CurrentIdentity(self)
        backoff = Backoff(options.fetch.retry_backoff_ms, options.fetch.retry_backoff_max_ms, chance)
        self.fetcher = Fetcher(view, self.subscription, options.fetch, backoff)
        self.positions = Positions(
            view,
            routing,
            self.subscription,
            self.identity,
            clock=clock,
            reset_to=options.reset_to,
            is_committed_only=options.fetch.is_committed_only,
            request_timeout_ms=options.request_timeout_ms,
            backoff=backoff,
        )
        is_committed_only = options.fetch.is_committed_only
        self._held_up = HeldUp(view, self.subscription, is_committed_only=is_committed_only)
        self._givers = Givers()
        self._reasons = Reasons(
            view,
            routing,
            self.subscription,
            self.fetcher,
            self._givers,
            self.group,
            is_committed_only=is_committed_only,
            has_reset=options.reset_to is not None,
        )
        # Whose each request under way is.
        self._owners: dict[Send, Core] = {}
        # The step that the application has been given; None between steps.
        self._step: Step | None = None
        # When the application polled last; None while it need not poll.
        self._polled_ms: int | None = None
        # Whether the member left because the application did not poll in time, and the shell does not know.
        self._has_overslept = False
        # How many times the partitions that the group assigns were all taken over.
        self._rebalances = 0

    # --- the application's calls

    def follow_subscription(self) -> None:
        """The subscription has changed: the group must know."""
        assert self._options.member is not None
        if self.member is None or (self.member.has_left and self.member.error is None):
            failed = None if self.member is None else self.member.failed
            self.member = self._new_member(self._options.protocol)
            self.member.failed = failed
        self.member.subscribe(self.subscription.topics)

    def polled(self, now_ms: int) -> None:
        """The application polls."""
        self._polled_ms = now_ms
        member = self.member
        if member is None or not member.has_left or not self.subscription.is_by_group:
            return
        if member.error is None and member.target() is None:
            self.follow_subscription()

    def unsubscribe(self) -> None:
        """Read nothing; the member leaves."""
        self.subscription.clear()
        if self.member is not None:
            self.member.leave()

    @property
    def is_leaving(self) -> bool:
        """Whether the group is still to be left: a coordinator that was never found has no member."""
        member = self.member
        if member is None or member.has_left:
            return False
        return self._routing.was_found(ToCoordinator(member.group))

    def take(self, count: int, convert: Convert | None = None) -> list[ConsumerRecord]:
        """See `Fetcher.take`."""
        return self.fetcher.take(count, convert)

    def take_overslept(self) -> bool:
        """Whether the member has left, since the last call, because the application did not poll in time."""
        has_overslept, self._has_overslept = self._has_overslept, False
        return has_overslept

    def take_error(self) -> OdradekError | None:
        """What the application must be told; once, but as long as brokers refuse the client or a topic."""
        if self.member is not None and self.member.error is not None:
            if self.member.target() is not None:
                return None  # first it hears that its partitions are lost
            error, self.member.error = self.member.error, None
            return error
        if self._view.refusal is not None:
            return self._view.refusal
        for topic, code in self.subscription.errors().items():
            if code in (ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.INVALID_TOPIC_EXCEPTION):
                words = name_of(code)
                return ApiError(code, f"topic {topic}: {words}")
        return self.subscription.take_error()

    def lag(self, state: PartitionState, position: Offset) -> int | None:
        """How many offsets lie between a position and the end of what may be read; None while unknown."""
        end = state.end(is_committed_only=self._options.fetch.is_committed_only)
        return None if end < 0 else max(0, end - position)

    # --- rebalances

    def membership(self) -> Membership | None:
        """As what it is in its group; None before it subscribes."""
        member = self.member
        return None if member is None else Membership(member.protocol, member.strategy, self.identity.epoch)

    def change(self) -> Step | None:
        """The next step that the application must hear of; the same one until it is carried out."""
        member = self.member
        if member is None or not self.subscription.is_by_group:
            return None
        if self._step is not None:
            return self._step
        target = member.target()
        if target is None:
            return None
        owned = frozenset(self.subscription.states)
        gone, new = owned - target.partitions, target.partitions - owned
        if target.is_lost:
            self._step = Step(Change.LOST, owned)
        elif gone:
            self._step = Step(Change.REVOKED, gone)
        else:
            self._step = Step(Change.ASSIGNED, new)
        for one in gone:
            self.subscription.states[one].is_leaving = True
        if self._step.change is Change.ASSIGNED:
            self.subscription.set(owned | new)
        return self._step

    def carried_out(self, step: Step) -> None:
        """The application has heard of the step."""
        self._step = None
        member = self.member
        if member is None or not self.subscription.is_by_group:
            return
        if step.change is not Change.ASSIGNED:
            self.subscription.set(self.subscription.states.keys() - step.partitions)
        owned = frozenset(self.subscription.states)
        target = member.target()
        if target is not None and target.is_lost and step.change is not Change.LOST:
            return  # the group took everything meanwhile: what is left is lost in the next step
        has_more = target is not None and bool(target.partitions - owned)
        if step.change is Change.ASSIGNED or not has_more:
            self._rebalances += 1
            member.has_now(owned)

    # --- the core's side

    def due(self, now_ms: int) -> Sequence[Send]:
        """See `Core`."""
        self._check_poll(now_ms)
        if self.subscription.match() and self.member is not None:
            self.member.subscribe(self.subscription.topics)
        self._fall_back()
        self._follow_givers(now_ms)
        self.subscription.forget_retries(now_ms)
        sends: list[Send] = []
        for part in self._parts():
            for send in part.due(now_ms):
                self._owners[send] = part
                sends.append(send)
        return sends

    def outcome(self, outcome: Outcome, now_ms: int) -> None:
        """See `Core`."""
        self._owners.pop(outcome.send).outcome(outcome, now_ms)

    def next_deadline_ms(self) -> int | None:
        """See `Core`."""
        oversleeps_ms = None
        member = self.member
        if member is not None and not member.has_left and self._polled_ms is not None:
            assert self._options.member is not None
            oversleeps_ms = self._polled_ms + self._options.member.max_poll_interval_ms
        return earliest(oversleeps_ms, *(part.next_deadline_ms() for part in self._parts()))

    def _parts(self) -> list[Core]:
        parts: list[Core] = [self.positions, self.fetcher, self._held_up, self._givers]
        return parts if self.member is None else [self.member, *parts]

    # --- metrics

    def figures(self, now_ms: int) -> dict[str, float]:
        """Its metrics, by Kafka's names (`client.metrics`)."""
        figures: dict[str, float] = {
            **self.fetcher.figures.figures(now_ms),
            "assigned-partitions": len(self.subscription.states),
            "rebalance-total": self._rebalances,
        }
        is_committed_only = self._options.fetch.is_committed_only
        lags = [
            end - state.offset
            for state in self.subscription.states.values()
            if (end := state.end(is_committed_only=is_committed_only)) >= 0 and state.offset >= 0
        ]
        if lags:
            figures["records-lag-max"] = max(0, *lags)
        if self._polled_ms is not None:
            figures["last-poll-seconds-ago"] = (now_ms - self._polled_ms) / 1000
        return figures

    # --- why

    def why(self, now_ms: int, pending: Mapping[TopicPartition, Offset] = _NOTHING) -> list[Why]:
        """What keeps the application from getting records, the most important first.

        `pending`: of each partition the first record that was taken, and the application does not have.
        """
        return self._reasons.why(self.member, now_ms, pending)

    # --- helpers

    def _follow_givers(self, now_ms: int) -> None:
        """Whether the member is in a group whose broker assigns, and is given nothing."""
        member = self.member
        is_waiting = (
            member is not None
            and member.protocol == CONSUMER
            and member.is_joined
            and member.target() is None
            and not self.subscription.states
            and bool(self.subscription.topics)
        )
        self._givers.follow(member, is_waiting=is_waiting, now_ms=now_ms)

    def _new_member(self, protocol: str | None) -> Member:
        options = self._options.member
        assert options is not None
        return new_member(protocol or CONSUMER, options, self._view, self._routing, self._chance)

    def _fall_back(self) -> None:
        """Go on in the classic protocol where the broker or the group knows no other."""
        member = self.member
        if self._options.protocol is not None or member is None or member.protocol == CLASSIC:
            return
        error = member.error
        if not isinstance(error, ApiError) or self.subscription.states:
            return
        if error.code in (ErrorCode.UNSUPPORTED_VERSION, ErrorCode.INCONSISTENT_GROUP_PROTOCOL):
            self.member = self._new_member(CLASSIC)
            self.member.subscribe(self.subscription.topics)

    def _check_poll(self, now_ms: int) -> None:
        member = self.member
        if member is None or member.has_left or self._polled_ms is None:
            return
        assert self._options.member is not None
        if now_ms >= self._polled_ms + self._options.member.max_poll_interval_ms:
            self._has_overslept = True
            self._polled_ms = None
            member.leave()
