"""Asks leaders whose open transactions hold up a read-committed consumer (DescribeProducers, KIP-664).

An answer to a fetch says where the open transaction begins, not whose it is. So that `why()` can name the
producer, the leader of a partition that is held up for a moment is asked once for each position.
"""

from collections.abc import Sequence
from typing import Final

from odradek.base.error_codes import ErrorCode, known_code
from odradek.base.ids import BrokerId, Offset, TopicPartition, by_topic
from odradek.client.core.cluster_view import ClusterView
from odradek.client.core.consumer.partition_state import PartitionState
from odradek.client.core.consumer.subscription import Subscription
from odradek.client.core.requests import Outcome, Send, ToNode
from odradek.wire.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    TopicRequest,
)

ASK_AFTER_MS: Final = 300
"""Most transactions end before."""


class HeldUp:
    """See the module; one of a consumer's cores."""

    def __init__(self, view: ClusterView, subscription: Subscription, *, is_committed_only: bool) -> None:
        self._view = view
        self._subscription = subscription
        self._is_committed_only = is_committed_only
        # For each request under way the positions that it is about.
        self._asked: dict[Send, dict[TopicPartition, Offset]] = {}

    def due(self, now_ms: int) -> Sequence[Send]:
        """See `Core`."""
        if not self._is_committed_only:
            return ()
        by_node: dict[BrokerId, dict[TopicPartition, Offset]] = {}
        for one, state in self._subscription.states.items():
            asks_at_ms = self._asks_at(state)
            if asks_at_ms is None or now_ms < asks_at_ms:
                continue
            leader = self._view.leader(one)
            if leader is not None and leader.node in self._view.nodes:
                state.held_up_asked = state.offset
                by_node.setdefault(leader.node, {})[one] = state.offset
        sends = []
        for node, positions in by_node.items():
            topics = [TopicRequest(topic, numbers) for topic, numbers in by_topic(positions).items()]
            send = Send(ToNode(node), DescribeProducersRequest(topics))
            self._asked[send] = positions
            sends.append(send)
        return sends

    def outcome(self, outcome: Outcome, now_ms: int) -> None:
        """See `Core`; an error leaves the producer unknown."""
        del now_ms
        positions = self._asked.pop(outcome.send)
        if outcome.error is not None:
            return
        for topic in outcome.answer(DescribeProducersResponse).topics:
            for part in topic.partitions:
                one = TopicPartition(topic.name, part.partition_index)
                state = self._subscription.states.get(one)
                if state is None or known_code(part.error_code) is not ErrorCode.NONE:
                    continue
                if state.offset != positions.get(one):
                    continue
                for producer in part.active_producers:
                    if producer.current_txn_start_offset == state.offset:
                        state.held_up_by = producer.producer_id

    def next_deadline_ms(self) -> int | None:
        """See `Core`."""
        if not self._is_committed_only:
            return None
        times = (self._asks_at(state) for state in self._subscription.states.values())
        return min((at_ms for at_ms in times if at_ms is not None), default=None)

    @staticmethod
    def _asks_at(state: PartitionState) -> int | None:
        """When a leader is to be asked about a partition; None if it need not be."""
        if state.held_up_since_ms is None or state.held_up_asked == state.offset:
            return None
        return state.held_up_since_ms + ASK_AFTER_MS
