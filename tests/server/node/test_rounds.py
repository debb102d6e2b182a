"""Work in rounds."""

from odradek.base.ids import TopicPartition
from odradek.server.node.rounds import Rounds
from odradek.testing.sim.turns import Turns

A, B = TopicPartition("a", 0), TopicPartition("b", 0)


def test_all_that_is_wanted_in_one_turn_is_one_round() -> None:
    turns, begun = Turns(), list[list[TopicPartition]]()
    rounds = Rounds(turns.defer, begun.append)
    for partition in (B, A, B):
        rounds.want(partition)
    assert begun == []
    turns.run()
    assert begun == [[B, A]]


def test_what_is_wanted_during_a_round_waits_for_its_end() -> None:
    turns, begun = Turns(), list[list[TopicPartition]]()
    rounds = Rounds(turns.defer, begun.append)
    rounds.want(A)
    turns.run()
    rounds.want(B)
    turns.run()
    assert begun == [[A]]
    rounds.end()
    assert begun == [[A], [B]]
    rounds.end()
    rounds.want(A)
    assert begun == [[A], [B]]
    turns.run()
    assert begun == [[A], [B], [A]]
