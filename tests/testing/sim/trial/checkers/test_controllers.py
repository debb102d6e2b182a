"""What the checkers of controllers and orders find."""

from dataclasses import replace

from odradek.testing.sim.trial.checkers import Checker
from odradek.testing.sim.trial.checkers.controllers import OneControllerDecides, OrdersAreInOrder
from tests.testing.sim.trial.checkers.cluster_bench import PARTITION, ClusterBench


def words_of(checker: Checker) -> list[str]:
    return [violation.words for violation in checker.found.values()]


def test_a_clean_election_and_a_shrink() -> None:
    bench = ClusterBench()
    checker = OneControllerDecides(bench.scene)
    checker.on_store()
    bench.write_state(isr=(1, 2), leader=1)
    checker.on_store()
    bench.write_state(isr=(2,), leader=2, leader_epoch=1, elr=(1,))
    checker.on_store()
    bench.write_state(isr=(1,), leader=1, leader_epoch=2)
    checker.on_store()
    checker.look()
    assert words_of(checker) == []


def test_an_election_of_a_broker_out_of_sync() -> None:
    """R15e."""
    bench = ClusterBench()
    checker = OneControllerDecides(bench.scene)
    bench.write_state(isr=(1, 2), leader=1)
    checker.on_store()
    bench.write_state(isr=(3,), leader=3, leader_epoch=1)
    checker.on_store()
    assert words_of(checker) == [
        "broker 3 was elected to lead t-0 in epoch 1, although the ISR was 1, 2 and the ELR none"
    ]


def test_a_controller_that_was_deposed() -> None:
    """R1: the controller epoch is 1, and a state is written in epoch 0."""
    bench = ClusterBench()
    checker = OneControllerDecides(bench.scene)
    checker.on_store()
    bench.write_state(isr=(2, 3), leader=2, leader_epoch=1, controller_epoch=0)
    checker.on_store()
    assert words_of(checker) == [
        "a controller of epoch 0 began epoch 1 of t-0, when the controller epoch was 1"
    ]


def test_a_leader_and_an_epoch_that_change_alone() -> None:
    """R5a."""
    bench = ClusterBench()
    checker = OneControllerDecides(bench.scene)
    bench.write_state(isr=(1, 2), leader=1, leader_epoch=4)
    checker.on_store()
    bench.write_state(isr=(2, 3), leader=2, leader_epoch=4)
    checker.on_store()
    bench.write_state(isr=(2, 3), leader=1, leader_epoch=3)
    checker.on_store()
    assert words_of(checker)[:3] == [
        "the leader of t-0 went from broker 1 to 2 within epoch 4",
        "the leader epoch of t-0 fell from 4 to 3",
        "broker 1 was elected to lead t-0 in epoch 3, although the ISR was 2, 3 and the ELR none",
    ]


def test_a_broker_that_forgets_which_controller_it_obeyed() -> None:
    """R5a."""
    bench = ClusterBench()
    checker = OrdersAreInOrder(bench.scene)
    checker.look()
    assert words_of(checker) == []
    bench.world.nodes[1].core.replicas._role_changer.controller_epoch = 0
    checker.look()
    assert words_of(checker) == ["broker 1 obeyed the controller of epoch 0 after that of epoch 1"]


def test_a_leader_with_other_settings_than_its_topic() -> None:
    """R18."""
    bench = ClusterBench()
    checker = OrdersAreInOrder(bench.scene)
    log = bench.world.nodes[bench.state.leader].logs.get(PARTITION)
    assert log is not None
    log.update_config(replace(log.config, min_insync_replicas=1))
    checker.look()
    assert words_of(checker) == [f"broker {bench.state.leader} leads t-0 with min.insync.replicas 1, not 2"]
