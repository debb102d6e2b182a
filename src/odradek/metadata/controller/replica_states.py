"""The state machine of one replica being deleted. Invariant: only the moves of the table happen.

    from \\ to       new  online  offline  started  successful  ineligible  non-existent
    non-existent    yes
    new                  yes     yes
    online               yes     yes
    offline              yes     yes      yes                  yes
    started                                        yes         yes
    successful                                                             yes
    ineligible           yes     yes

A topic is deleted when all its replicas are successful. One on a dead broker, or whose disk failed, is
ineligible: the deletion waits, and when the broker is back it is offline and started again.

Whether a replica is online or offline follows from the image, so only topics being deleted are kept here.
"""

from collections.abc import Iterable
from enum import Enum
from typing import NamedTuple

from odradek.base.ids import BrokerId, TopicPartition


class ReplicaState(Enum):
    """Where a replica is in its life."""

    NON_EXISTENT = "non-existent"
    # Assigned; its broker has not received it yet.
    NEW = "new"
    # Its broker serves it.
    ONLINE = "online"
    # Its broker is dead, or was sent a StopReplica for it.
    OFFLINE = "offline"
    # Its broker was sent a StopReplica that deletes it.
    DELETION_STARTED = "deletion started"
    # Its broker has deleted it.
    DELETION_SUCCESSFUL = "deletion successful"
    # It cannot be deleted now.
    DELETION_INELIGIBLE = "deletion ineligible"


MOVES: frozenset[tuple[ReplicaState, ReplicaState]] = frozenset(
    {
        (ReplicaState.NON_EXISTENT, ReplicaState.NEW),
        (ReplicaState.NEW, ReplicaState.ONLINE),
        (ReplicaState.NEW, ReplicaState.OFFLINE),
        (ReplicaState.ONLINE, ReplicaState.ONLINE),
        (ReplicaState.ONLINE, ReplicaState.OFFLINE),
        (ReplicaState.OFFLINE, ReplicaState.ONLINE),
        (ReplicaState.OFFLINE, ReplicaState.OFFLINE),
        (ReplicaState.OFFLINE, ReplicaState.DELETION_STARTED),
        (ReplicaState.OFFLINE, ReplicaState.DELETION_INELIGIBLE),
        (ReplicaState.DELETION_STARTED, ReplicaState.DELETION_SUCCESSFUL),
        (ReplicaState.DELETION_STARTED, ReplicaState.DELETION_INELIGIBLE),
        (ReplicaState.DELETION_SUCCESSFUL, ReplicaState.NON_EXISTENT),
        (ReplicaState.DELETION_INELIGIBLE, ReplicaState.ONLINE),
        (ReplicaState.DELETION_INELIGIBLE, ReplicaState.OFFLINE),
    }
)


class Replica(NamedTuple):
    """One broker's copy of one partition."""

    topic_partition: TopicPartition
    broker_id: BrokerId


class TopicDeletion:
    """The replicas of one topic being deleted, each in its state."""

    __slots__ = ("_states",)

    def __init__(self, replicas: Iterable[Replica]) -> None:
        # Every replica of the topic; all begin offline, since the topic is no longer served.
        self._states: dict[Replica, ReplicaState] = dict.fromkeys(replicas, ReplicaState.OFFLINE)

    def state_of(self, replica: Replica) -> ReplicaState:
        """The state of a replica; non-existent when it is not the topic's."""
        return self._states.get(replica, ReplicaState.NON_EXISTENT)

    def move(self, replica: Replica, to: ReplicaState) -> None:
        """Take a replica to its next state; raises AssertionError for a move that the table does not have."""
        before = self.state_of(replica)
        assert (before, to) in MOVES, f"{replica} does not go from {before.value} to {to.value}"
        self._states[replica] = to

    def start(self, online: Iterable[BrokerId]) -> list[Replica]:
        """Start what can be started; returns the replicas to delete now. Those not `online` must wait."""
        live = dict.fromkeys(online)
        to_delete: list[Replica] = []
        for replica, state in list(self._states.items()):
            if state is ReplicaState.DELETION_INELIGIBLE and replica.broker_id in live:
                self.move(replica, ReplicaState.OFFLINE)
                state = ReplicaState.OFFLINE
            if state is not ReplicaState.OFFLINE:
                continue
            if replica.broker_id in live:
                self.move(replica, ReplicaState.DELETION_STARTED)
                to_delete.append(replica)
            else:
                self.move(replica, ReplicaState.DELETION_INELIGIBLE)
        return to_delete

    def broker_gone(self, broker_id: BrokerId) -> None:
        """A broker died: what it was deleting is ineligible until it is back."""
        for replica, state in list(self._states.items()):
            if replica.broker_id == broker_id and state is ReplicaState.DELETION_STARTED:
                self.move(replica, ReplicaState.DELETION_INELIGIBLE)

    @property
    def is_held_up(self) -> bool:
        """Whether it waits for a broker that is dead, or that could not delete its replica."""
        return ReplicaState.DELETION_INELIGIBLE in self._states.values()

    @property
    def is_done(self) -> bool:
        """Whether every replica is deleted."""
        return all(state is ReplicaState.DELETION_SUCCESSFUL for state in self._states.values())
