"""Clients pace themselves by what all of them have sent."""

import pytest

from odradek.base.chance import SeededChance
from odradek.testing.sim.trial.cluster_view import ClusterView
from odradek.testing.sim.trial.load import PAUSE_MS_MAX, REQUESTS, Load
from odradek.testing.sim.trial.plan import LOAD_MS
from odradek.testing.sim.world import World

USUAL_MS = 200


@pytest.fixture(name="load")
def made_load() -> Load:
    """The clients of a world without brokers, halfway through."""
    world = World(1)
    load = Load(world, (), SeededChance(1), ClusterView(world))
    load.begin_ms = load.now_ms
    world.advance(LOAD_MS // 2)
    return load


def longest_pause_ms(load: Load, requests: int) -> int:
    """The longest of many pauses, when so many requests have been sent."""
    load.history.requests = requests
    begin_ms = load.now_ms
    waits = [load.pause(USUAL_MS) for _ in range(200)]
    while not all(wait.is_done for wait in waits):
        due_ms = load.world.next_ms()
        assert due_ms is not None
        load.world.advance(max(1, due_ms - load.now_ms))
    return load.now_ms - begin_ms


def test_clients_with_the_expected_rate_pause_as_usual(load: Load) -> None:
    assert USUAL_MS - 10 <= longest_pause_ms(load, REQUESTS // 2) <= USUAL_MS


def test_clients_that_were_kept_from_sending_pause_less(load: Load) -> None:
    assert longest_pause_ms(load, REQUESTS // 4) <= USUAL_MS // 16


def test_clients_that_have_sent_a_lot_pause_longer_but_not_for_ever(load: Load) -> None:
    assert 3 * USUAL_MS <= longest_pause_ms(load, REQUESTS * 3 // 4) <= 6 * USUAL_MS


def test_no_pause_is_longer_than_the_bound(load: Load) -> None:
    assert PAUSE_MS_MAX - 100 <= longest_pause_ms(load, 10 * REQUESTS) <= PAUSE_MS_MAX


def test_at_the_beginning_there_is_no_rate_yet() -> None:
    world = World(1)
    load = Load(world, (), SeededChance(1), ClusterView(world))
    load.begin_ms = load.now_ms
    assert 1 <= longest_pause_ms(load, 1) <= USUAL_MS
