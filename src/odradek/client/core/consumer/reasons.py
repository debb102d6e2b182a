"""What keeps a consumer from getting records: its causes, the most important first.

A cause that lies further ahead comes first: without a coordinator there are no partitions, without a leader
no records. Among partitions those in trouble come before those that are paused or read to their end.
"""

from collections.abc import Mapping
from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import Offset, TopicPartition
from odradek.client.core.cluster_view import ClusterView
from odradek.client.core.consumer.fetcher import Fetcher
from odradek.client.core.consumer.partition_state import PartitionState, Phase
from odradek.client.core.consumer.subscription import Subscription
from odradek.client.core.membership.givers import Givers
from odradek.client.core.membership.member import Member
from odradek.client.core.routing import Routing
from odradek.client.core.waiting import Cause, Why
from odradek.client.refusal import name_of

_RANKS: Final = {
    cause: rank
    for rank, cause in enumerate(
        (
            Cause.CLOSED,
            Cause.FENCED,
            Cause.REFUSED,
            Cause.NO_BROKER,
            Cause.NO_COORDINATOR,
            Cause.UNKNOWN_TOPIC,
            Cause.NO_SUBSCRIPTION,
            Cause.UNREADABLE,
            Cause.RECORDS_READY,
            Cause.NO_LEADER,
            Cause.NO_CONNECTION,
            Cause.REQUEST,
            Cause.REBALANCE,
            Cause.NO_PARTITIONS,
            Cause.OFFSET_OUT_OF_RANGE,
            Cause.NO_POSITION,
            Cause.VALIDATION,
            Cause.RETRY,
            Cause.OPEN_TRANSACTION,
            Cause.PAUSED,
            Cause.AT_END,
            Cause.FETCHING,
        )
    )
}
_ENDING: Final = frozenset({ErrorCode.OFFSET_OUT_OF_RANGE})
"""Errors that have a phase of their own."""


class Reasons:
    """See the module; it reads the parts of one consumer's core."""

    def __init__(
        self,
        view: ClusterView,
        routing: Routing,
        subscription: Subscription,
        fetcher: Fetcher,
        givers: Givers,
        group: str,
        *,
        is_committed_only: bool,
        has_reset: bool,
    ) -> None:
        """`has_reset`: whether a setting says where to go on without a position."""
        self._view = view
        self._routing = routing
        self._subscription = subscription
        self._fetcher = fetcher
        self._givers = givers
        self._group = group
        self._is_committed_only = is_committed_only
        self._has_reset = has_reset

    def why(self, member: Member | None, now_ms: int, pending: Mapping[TopicPartition, Offset]) -> list[Why]:
        """See the module. `pending`: the first records that were taken, and the application does not have."""
        causes = [*self._routing.why(now_ms), *self._why_topics()]
        subscription = self._subscription
        if subscription.is_none:
            causes.append(Why(Cause.NO_SUBSCRIPTION, "nothing is subscribed to or assigned"))
            return _sorted(causes)
        joins = [] if member is None else member.why(now_ms)
        causes += joins
        if not subscription.states and not joins:
            causes.append(self._why_no_partitions(now_ms))
        positions = {one: pending.get(one, state.offset) for one, state in subscription.states.items()}
        unreadable = {one for one, at in positions.items() if _is_unreadable(subscription.states[one], at)}
        if (self._fetcher.has_records or pending) and not unreadable:
            causes.append(Why(Cause.RECORDS_READY, "records are here; poll returns them"))
        for one, state in subscription.states.items():
            if one in unreadable and not state.is_paused:
                causes.append(_why_unreadable(one, positions[one], state))
            elif one not in pending:
                causes.append(self._why_partition(one, state, now_ms))
        return _sorted(causes)

    def _why_no_partitions(self, now_ms: int) -> Why:
        data: dict[str, object] = {"group": self._group}
        givers = self._givers.members
        if not givers:
            return Why(
                Cause.NO_PARTITIONS, f"group {self._group} has given no partitions to this member", data
            )
        waited_ms = self._givers.waited_ms(now_ms)
        others = f" and {len(givers) - 1} more" if len(givers) > 1 else ""
        who = f"for {waited_ms / 1000:.0f} s: it waits for member {givers[0]}{others} to give partitions back"
        data |= {"ms": waited_ms, "at": "GIVING_BACK", "member": givers[0], "members": givers}
        return Why(Cause.REBALANCE, f"group {self._group} has been rebalancing {who}", data)

    def _why_topics(self) -> list[Why]:
        causes = []
        for topic, code in self._subscription.errors().items():
            words = f"topic {topic}: {name_of(code)}"
            is_refused = code is ErrorCode.TOPIC_AUTHORIZATION_FAILED
            cause = Cause.REFUSED if is_refused else Cause.UNKNOWN_TOPIC
            causes.append(Why(cause, words, {"topic": topic, "code": code.name}))
        pattern = self._subscription.pattern
        if pattern is not None and self._view.is_known and not self._subscription.topics:
            text = f"no topic has a name that matches {pattern.pattern!r}"
            causes.append(Why(Cause.UNKNOWN_TOPIC, text, {"pattern": pattern.pattern}))
        return causes

    def _why_partition(self, one: TopicPartition, state: PartitionState, now_ms: int) -> Why:
        data: dict[str, object] = {"partition": str(one), "position": state.offset}
        if state.is_paused:
            return Why(Cause.PAUSED, f"{one} is paused", data)
        leader = self._view.leader(one)
        count = self._view.partition_count(one.topic)
        if leader is None and count is not None and one.partition >= count:
            has = "1 partition" if count == 1 else f"{count} partitions"
            said = f"topic {one.topic} has {has}: there is no {one}"
            return Why(Cause.UNKNOWN_TOPIC, said, {**data, "topic": one.topic, "partitions": count})
        if leader is None or leader.node not in self._view.nodes:
            return Why(Cause.NO_LEADER, f"{one} has no leader", data)
        away = self._routing.answers.why(leader.node, now_ms)
        if away is not None and one not in self._fetcher.buffered:
            return Why(away.cause, f"{away}; it leads {one}", {**away.data, **data})
        if state.failed is not None and not (state.failed.code.is_retriable or state.failed.code in _ENDING):
            code = state.failed.code.name
            return Why(Cause.REFUSED, f"{one} cannot be read: {state.failed}", {**data, "code": code})
        if state.phase is Phase.FETCHING:
            return self._why_fetching(one, state, data, now_ms)
        return self._why_position(one, state, data)

    def _why_position(self, one: TopicPartition, state: PartitionState, data: dict[str, object]) -> Why:
        """What keeps it from having a position that can be fetched."""
        reason = ""
        if state.failed is not None and state.failed.code not in _ENDING:
            data["code"] = state.failed.code.name
            reason = f", and was refused so far: {state.failed}"
        if state.phase is Phase.NEEDS_VALIDATION:
            said = f"{one}: the position is compared with the new leader's log{reason}"
            return Why(Cause.VALIDATION, said, data)
        if state.phase is Phase.NEEDS_RESET and state.reset_timestamp is None:
            if state.offset >= 0:
                said = f"{one} has no offset {state.offset}: it was deleted, or never written"
                return Why(Cause.OFFSET_OUT_OF_RANGE, said, data)
            if not self._has_reset:
                said = f"{one} has no committed offset, and auto.offset.reset is none: seek to go on"
                return Why(Cause.NO_POSITION, said, {**data, "setting": "auto.offset.reset"})
        return Why(Cause.NO_POSITION, f"{one}: where to begin is being looked up{reason}", data)

    def _why_fetching(
        self, one: TopicPartition, state: PartitionState, data: dict[str, object], now_ms: int
    ) -> Why:
        if state.failed is not None:
            said = f"{one} is fetched again and again, and refused: {state.failed}"
            return Why(Cause.RETRY, said, {**data, "code": state.failed.code.name})
        is_open = state.offset == state.last_stable_offset < state.high_watermark
        if self._is_committed_only and is_open:
            since_ms = now_ms if state.held_up_since_ms is None else state.held_up_since_ms
            data["ms"] = now_ms - since_ms
            whose = ""
            if state.held_up_by is not None:
                whose = f" of producer {state.held_up_by}"
                data["producer_id"] = state.held_up_by
            what = f"an open transaction{whose} at {state.offset} for {(now_ms - since_ms) / 1000:.0f} s"
            return Why(Cause.OPEN_TRANSACTION, f"{one} has been held up by {what}", data)
        end = state.end(is_committed_only=self._is_committed_only)
        if state.offset == end:
            return Why(Cause.AT_END, f"{one} is read to its end, offset {end}", data)
        return Why(Cause.FETCHING, f"{one} is being fetched from offset {state.offset}", data)


def _is_unreadable(state: PartitionState, position: Offset) -> bool:
    """Whether the record at the position could not be read, by what the application was told last."""
    return state.unreadable is not None and state.unreadable[0] == position


def _why_unreadable(one: TopicPartition, position: Offset, state: PartitionState) -> Why:
    assert state.unreadable is not None
    data: dict[str, object] = {"partition": str(one), "position": position, "error": state.unreadable[1]}
    return Why(Cause.UNREADABLE, f"{one} cannot be read at offset {position}: {state.unreadable[1]}", data)


def _sorted(causes: list[Why]) -> list[Why]:
    return sorted(causes, key=lambda one: _RANKS.get(one.cause, len(_RANKS)))
