"""Leaderships return to preferred leaders by themselves (`auto.leader.rebalance.enable`)."""

from collections.abc import Callable

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.metadata.controller.requests import Answer, RebalanceLeaders, RebalanceProgress, Refused
from odradek.server.node.leader_rebalance import ELECTIONS_MAX, LeaderRebalance
from tests.server.node.test_replica_fetchers import BROKERS, SESSION_MS, Cluster

INTERVAL_MS = 300_000
"""`leader.imbalance.check.interval.seconds`."""


class Own:
    """A controller that is told what to answer."""

    def __init__(self) -> None:
        self.is_active = True
        self.asked: list[Callable[[Answer], None]] = []

    def submit(self, request: RebalanceLeaders, answered: Callable[[Answer], None]) -> None:
        assert request.elections_max == ELECTIONS_MAX
        self.asked.append(answered)


def test_what_does_not_fit_into_one_decision_is_for_the_next() -> None:
    own = Own()
    rebalance = LeaderRebalance(own)
    rebalance.look()
    rebalance.look()
    assert len(own.asked) == 1, "one at a time"
    own.asked[0](RebalanceProgress(ELECTIONS_MAX, has_more=True))
    own.asked[1](RebalanceProgress(3, has_more=False))
    assert len(own.asked) == 2
    rebalance.look()
    own.asked[2](Refused(ErrorCode.NOT_CONTROLLER, "this broker is not the controller"))
    own.is_active = False
    rebalance.look()
    assert len(own.asked) == 3


def restarted(**settings: str) -> Cluster:
    """Broker 1, the preferred leader, has stopped and started again; broker 2 leads."""
    cluster = Cluster(1, 1, BROKERS, **settings)
    cluster.world.stop(1)
    cluster.world.begin(1, **settings)
    cluster.world.advance(SESSION_MS)
    assert cluster.isr() == (1, 2, 3)
    assert cluster.leader is cluster[2]
    return cluster


@pytest.mark.slow
def test_a_restarted_broker_leads_again() -> None:
    cluster = restarted()
    cluster.world.advance(INTERVAL_MS)
    assert cluster.leader is cluster[1]
    assert cluster.isr() == (1, 2, 3)
    cluster.produce(2)
    cluster.world.advance(1_000)
    assert cluster.high_watermarks() == [2, 2, 2]


@pytest.mark.slow
def test_a_replica_out_of_sync_does_not_lead() -> None:
    cluster = restarted(leader_imbalance_check_interval_seconds="60", replica_lag_time_max_ms="4000")
    cluster.world.cut(1, 2)
    cluster.produce(1, 1)
    cluster.world.advance(60_000)
    assert cluster.isr() == (2, 3)
    assert cluster.leader is cluster[2]
    cluster.world.heal()
    cluster.world.advance(70_000)
    assert cluster.leader is cluster[1]


@pytest.mark.slow
def test_without_the_setting_it_stays_as_it_is() -> None:
    cluster = restarted(auto_leader_rebalance_enable="false", leader_imbalance_check_interval_seconds="20")
    cluster.world.advance(100_000)
    assert cluster.leader is cluster[2]
