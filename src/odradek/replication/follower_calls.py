"""Calls followers that have not fetched a partition yet, although records of it wait for them.

A fetcher has one fetch in flight. While that waits here, the follower cannot name a partition that it has
begun to follow since: the first records of a new topic would wait for `replica.fetch.wait.max.ms`.

    replica 2: a fetch of p1        it waits here
    p2 is new; an append to p2      replica 2 is in its ISR, and has not fetched p2: it is called
    the waiting fetch of p1         is answered at once, with nothing; the next one names p2

The follower may not have its order to follow p2 yet. So its fetches wait for a short time only, until it has
fetched what it was called for, or has left the ISR, or the partition is led elsewhere.

Invariant: `_called` names only partitions whose records waited for that follower when it was last looked at.
"""

from collections.abc import Sequence
from itertools import islice
from typing import Final

from odradek.base.ids import BrokerId, TopicPartition
from odradek.replication.fetch_request import FetchParams
from odradek.replication.hosted_partitions import HostedPartitions
from odradek.replication.purgatories import Purgatories
from odradek.timer import DelayedOperation

CALLED_WAIT_MS: Final = 20
"""How long a fetch of a follower waits at most that was called."""
LOOKED_AT: Final = 16
"""How many partitions that a follower was called for are looked at when a fetch of it begins to wait."""


class FollowerCalls:
    """The waiting fetches of followers, and what they are called for."""

    __slots__ = ("_called", "_hosted", "_purgatories", "_waiting")

    def __init__(self, hosted: HostedPartitions, purgatories: Purgatories) -> None:
        self._hosted = hosted
        self._purgatories = purgatories
        self._waiting: dict[BrokerId, list[DelayedOperation]] = {}
        # By follower; the values mean nothing.
        self._called: dict[BrokerId, dict[TopicPartition, None]] = {}

    def call(self, topic_partition: TopicPartition) -> None:
        """Call the members of its ISR that have not fetched it in this epoch; after an append to it."""
        for replica_id in self._waited_for(topic_partition):
            self._called.setdefault(replica_id, {})[topic_partition] = None
            for operation in self._waiting.pop(replica_id, ()):
                if not operation.is_completed:
                    self._purgatories.complete_soon(operation)

    def max_wait_ms(self, params: FetchParams) -> int:
        """How long a fetch that begins to wait may do so."""
        called = self._called.get(params.replica_id) if params.is_from_follower else None
        if not called:
            return params.max_wait_ms
        for topic_partition in list(islice(called, LOOKED_AT)):
            if params.replica_id in self._waited_for(topic_partition):
                break
            del called[topic_partition]
        return min(params.max_wait_ms, CALLED_WAIT_MS) if called else params.max_wait_ms

    def note_waiting(self, params: FetchParams, operation: DelayedOperation) -> None:
        """Called when a fetch begins to wait; a follower has one for each of its fetchers."""
        if params.is_from_follower:
            waiting = self._waiting.get(params.replica_id, ())
            still = [one for one in waiting if not one.is_completed]
            self._waiting[params.replica_id] = [*still, operation]

    def _waited_for(self, topic_partition: TopicPartition) -> Sequence[BrokerId]:
        """The members of the ISR that have not fetched a partition led here in this epoch."""
        partition = self._hosted.get(topic_partition)
        leadership = None if partition is None else partition.leadership
        if leadership is None:
            return ()
        return [
            replica_id
            for replica_id, remote in leadership.remotes.items()
            if not remote.has_fetched and replica_id in leadership.isr
        ]
