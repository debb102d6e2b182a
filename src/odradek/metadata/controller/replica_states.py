"""The states of one replica that is being deleted. Invariant: only the moves of the table happen.

    from \\ to      waiting  started  deleted  held up
    waiting                  yes               yes
    started                           yes      yes
    held up        yes

A topic is deleted when all its replicas are. One on a dead broker, or whose disk failed, is held up: the
deletion waits, and when the broker is back, it is started again.

They are four of the seven states of a replica in Apache Kafka's controller. Where the other replicas are
follows from the image, and nothing keeps it.
"""

from collections.abc import Iterable
from enum import Enum
from typing import NamedTuple

from odradek.base.ids import BrokerId, TopicPartition


class ReplicaState(Enum):
    """How far the deletion of a replica is; in brackets, Kafka's name of the state."""

    WAITING = "waiting"
    """Its broker is to be sent a StopReplica that deletes it (OfflineReplica)."""
    STARTED = "started"
    """Its broker was sent that (ReplicaDeletionStarted)."""
    DELETED = "deleted"
    """Its broker has deleted it (ReplicaDeletionSuccessful)."""
    HELD_UP = "held up"
    """It cannot be deleted now (ReplicaDeletionIneligible)."""


MOVES: frozenset[tuple[ReplicaState, ReplicaState]] = frozenset(
    {
        (ReplicaState.WAITING, ReplicaState.STARTED),
        (ReplicaState.WAITING, ReplicaState.HELD_UP),
        (ReplicaState.STARTED, ReplicaState.DELETED),
        (ReplicaState.STARTED, ReplicaState.HELD_UP),
        (ReplicaState.HELD_UP, ReplicaState.WAITING),
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
        self._states: dict[Replica, ReplicaState] = dict.fromkeys(replicas, ReplicaState.WAITING)
        """Every replica of the topic."""

    def state_of(self, replica: Replica) -> ReplicaState | None:
        """The state of a replica; None if it is not the topic's."""
        return self._states.get(replica)

    def move(self, replica: Replica, to: ReplicaState) -> None:
        """Take a replica to its next state; raises AssertionError for a move that the table does not have."""
        before = self._states[replica]
        assert (before, to) in MOVES, f"{replica} does not go from {before.value} to {to.value}"
        self._states[replica] = to

    def start(self, online: Iterable[BrokerId]) -> list[Replica]:
        """Start what can be started; returns the replicas to delete now. Those not `online` must wait."""
        live = dict.fromkeys(online)
        to_delete: list[Replica] = []
        for replica, state in list(self._states.items()):
            if state is ReplicaState.HELD_UP and replica.broker_id in live:
                self.move(replica, ReplicaState.WAITING)
                state = ReplicaState.WAITING
            if state is not ReplicaState.WAITING:
                continue
            if replica.broker_id in live:
                self.move(replica, ReplicaState.STARTED)
                to_delete.append(replica)
            else:
                self.move(replica, ReplicaState.HELD_UP)
        return to_delete

    def broker_gone(self, broker_id: BrokerId) -> None:
        """A broker died: what it was deleting is held up until it is back."""
        for replica, state in list(self._states.items()):
            if replica.broker_id == broker_id and state is ReplicaState.STARTED:
                self.move(replica, ReplicaState.HELD_UP)

    @property
    def is_held_up(self) -> bool:
        """Whether it waits for a broker that is dead, or that could not delete its replica."""
        return ReplicaState.HELD_UP in self._states.values()

    @property
    def is_done(self) -> bool:
        """Whether every replica is deleted."""
        return all(state is ReplicaState.DELETED for state in self._states.values())
