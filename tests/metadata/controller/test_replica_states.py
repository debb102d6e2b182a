"""The states of a replica that is being deleted, move by move, and a topic's deletion over them."""

import itertools

import pytest

from odradek.base.ids import BrokerId, TopicPartition
from odradek.metadata.controller.replica_states import MOVES, Replica, ReplicaState, TopicDeletion

WAITING, STARTED = ReplicaState.WAITING, ReplicaState.STARTED
DELETED, HELD_UP = ReplicaState.DELETED, ReplicaState.HELD_UP

# By target, the states that it may be reached from.
REACHED_FROM = {
    WAITING: {HELD_UP},
    STARTED: {WAITING},
    DELETED: {STARTED},
    HELD_UP: {WAITING, STARTED},
}


def on(broker_id: BrokerId) -> Replica:
    return Replica(TopicPartition("a", 0), broker_id)


@pytest.mark.parametrize(("before", "after"), list(itertools.product(ReplicaState, repeat=2)))
def test_a_replica_moves_only_as_the_table_says(before: ReplicaState, after: ReplicaState) -> None:
    assert ((before, after) in MOVES) is (before in REACHED_FROM[after])


def test_a_move_that_is_not_in_the_table_is_refused() -> None:
    deletion = TopicDeletion([on(1)])
    with pytest.raises(AssertionError, match="does not go from waiting to deleted"):
        deletion.move(on(1), DELETED)


def test_a_deletion_is_done_when_every_replica_is() -> None:
    deletion = TopicDeletion([on(1), on(2)])
    assert deletion.start([1, 2]) == [on(1), on(2)]
    deletion.move(on(1), DELETED)
    assert not deletion.is_done
    deletion.move(on(2), DELETED)
    assert deletion.is_done


def test_a_dead_broker_is_asked_when_it_is_back() -> None:
    deletion = TopicDeletion([on(1), on(2)])
    assert deletion.start([1]) == [on(1)]
    assert deletion.state_of(on(2)) is HELD_UP
    assert deletion.start([1]) == []
    assert deletion.start([1, 2]) == [on(2)]


def test_a_broker_that_dies_while_deleting_is_asked_again() -> None:
    deletion = TopicDeletion([on(1)])
    deletion.start([1])
    deletion.broker_gone(1)
    assert deletion.state_of(on(1)) is HELD_UP
    assert deletion.start([1]) == [on(1)]
