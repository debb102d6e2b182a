"""What a consumer reads: topics of a group, by name or by pattern, or partitions that it chose itself.

Invariant: one of these ways at a time; changing it takes `clear` first. A partition that stays assigned
keeps its state, also its position.
"""

import re
from collections.abc import Collection, Iterable, Mapping

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError, OdradekError
from odradek.base.ids import TopicPartition
from odradek.client.core.cluster_view import ClusterView
from odradek.client.core.consumer.partition_state import PartitionState


class Subscription:
    """See the module."""

    def __init__(self, view: ClusterView, *, excludes_internal: bool = True) -> None:
        self._view = view
        self._excludes_internal = excludes_internal
        # The view's version for which `topics` were matched with the pattern.
        self._matched_version = -1
        self.pattern: re.Pattern[str] | None = None
        """None unless topics are chosen by pattern."""
        self.topics: frozenset[str] = frozenset()
        """The topics subscribed to, matched ones among them; empty if partitions were assigned."""
        self.is_by_group = False
        """Whether a group assigns the partitions."""
        self.states: dict[TopicPartition, PartitionState] = {}
        """The assigned partitions, in the order in which they are fetched."""

    @property
    def is_none(self) -> bool:
        """Whether nothing was subscribed to or assigned."""
        return not self.is_by_group and not self.states

    def subscribe(self, topics: Collection[str]) -> None:
        """Read these topics through the group."""
        self._begin_group()
        self.pattern, self.topics = None, frozenset(topics)
        self._view.want_only(self.topics)

    def subscribe_pattern(self, pattern: re.Pattern[str]) -> None:
        """Read the topics whose whole name matches, also those that will be made."""
        self._begin_group()
        self.pattern, self.topics = pattern, frozenset()
        self._matched_version = -1
        self._view.want_all()
        self.match()

    def match(self) -> bool:
        """Compare the pattern with the known topics; returns whether it matches others than before."""
        if self.pattern is None or self._matched_version == self._view.version:
            return False
        self._matched_version = self._view.version
        before = self.topics
        self.topics = frozenset(
            topic.name
            for topic in self._view.topics.values()
            if self.pattern.fullmatch(topic.name) and not (topic.is_internal and self._excludes_internal)
        )
        return self.topics != before

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Read these partitions, without a group that assigns them."""
        if self.is_by_group:
            raise ApiError(
                ErrorCode.INVALID_REQUEST,
                "topics are subscribed to; partitions are assigned after unsubscribe()",
            )
        self.set(partitions)
        self._view.want_only({one.topic for one in self.states})

    def set(self, partitions: Iterable[TopicPartition]) -> None:
        """These are assigned from now on; those that were keep their states."""
        before = self.states
        self.states = {one: before.get(one) or PartitionState() for one in sorted(partitions)}

    def clear(self) -> None:
        """Read nothing."""
        self.pattern, self.topics, self.is_by_group, self.states = None, frozenset(), False, {}

    def state(self, partition: TopicPartition) -> PartitionState:
        """The state of an assigned partition. Raises ApiError for another."""
        found = self.states.get(partition)
        if found is None:
            raise ApiError(ErrorCode.INVALID_REQUEST, f"{partition} is not assigned to this consumer")
        return found

    def turn(self, partitions: Iterable[TopicPartition]) -> None:
        """Move partitions to the end of the order: others are fetched before them next time."""
        for one in partitions:
            state = self.states.pop(one, None)
            if state is not None:
                self.states[one] = state

    def forget_retries(self, now_ms: int) -> None:
        """Times that have come are none to wait for any more; from now on only an event helps."""
        for state in self.states.values():
            if state.retry_ms <= now_ms:
                state.retry_ms = 0

    def take_error(self) -> OdradekError | None:
        """The first error that the application has not been told yet."""
        for state in self.states.values():
            if state.error is not None:
                error, state.error = state.error, None
                return error
        return None

    def errors(self) -> Mapping[str, ErrorCode]:
        """What brokers say of topics that are to be read; the view has those of others, once asked about."""
        return {topic: code for topic, code in self._view.errors.items() if self._is_read(topic)}

    def positions(self) -> Mapping[TopicPartition, tuple[int, int]]:
        """(offset, epoch) of each partition that has a position."""
        return {one: (state.offset, state.epoch) for one, state in self.states.items() if state.offset >= 0}

    def _is_read(self, topic: str) -> bool:
        if self.pattern is not None:
            return self.pattern.fullmatch(topic) is not None
        return topic in self.topics or any(one.topic == topic for one in self.states)

    def _begin_group(self) -> None:
        if self.states and not self.is_by_group:
            raise ApiError(
                ErrorCode.INVALID_REQUEST,
                "partitions are assigned; topics are subscribed to after unsubscribe()",
            )
        self.is_by_group = True
