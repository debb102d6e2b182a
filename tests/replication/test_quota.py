"""A broker's replication quotas: whom the lists name, what is counted, and when a limit is exceeded."""

from dataclasses import replace

import pytest

from odradek.base.clock import ManualClock
from odradek.base.ids import TopicPartition
from odradek.base.settings import BrokerSettings, TopicConfig
from odradek.replication.quota import LISTS_KEPT_MAX, Quota, ReplicationQuotas, replication_quotas

P = TopicPartition("orders", 3)


class Settings:
    """The settings of broker 2, which a test may change."""

    def __init__(self) -> None:
        self.in_force = BrokerSettings()


@pytest.fixture
def settings() -> Settings:
    return Settings()


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def quotas(settings: Settings, clock: ManualClock) -> ReplicationQuotas:
    return replication_quotas(2, clock, lambda: settings.in_force)


def listing(*replicas: str) -> TopicConfig:
    return TopicConfig(leader_replication_throttled_replicas=replicas)


@pytest.mark.parametrize(
    ("replicas", "throttles"),
    [
        ((), False),
        (("*",), True),
        (("3:2",), True),
        (("1:2", "3:1"), False),
        (("3:1", "03:2"), True),
        (("32:2",), False),
    ],
)
def test_a_list_names_replicas_of_this_broker(
    quotas: ReplicationQuotas, replicas: tuple[str, ...], throttles: bool
) -> None:
    """F8: partition:broker, as Kafka reads it."""
    assert quotas.leader.throttles(P, listing(*replicas)) is throttles
    assert not quotas.follower.throttles(P, listing(*replicas)), "the other side has a list of its own"


def test_a_list_that_changed_is_read_again(quotas: ReplicationQuotas) -> None:
    assert quotas.leader.throttles(P, listing("3:2"))
    assert not quotas.leader.throttles(P, listing("4:2"))
    assert quotas.leader.throttles(P, listing("*"))
    assert not quotas.leader.throttles(P, listing())


def test_few_lists_are_kept_parsed(quotas: ReplicationQuotas) -> None:
    config = listing("0:2")
    for number in range(LISTS_KEPT_MAX + 10):
        assert quotas.leader.throttles(TopicPartition(f"t{number}", 0), config)
    assert len(quotas.leader._parsed) == LISTS_KEPT_MAX


def spend(quota: Quota, size_bytes: int, config: TopicConfig) -> None:
    quota.record(P, config, size_bytes)


def test_a_quota_is_exceeded_above_its_limit_for_as_long_as_the_windows_say(
    quotas: ReplicationQuotas, settings: Settings, clock: ManualClock
) -> None:
    """F8: replication.quota.window.num and .size.seconds."""
    quota = quotas.leader
    spend(quota, 1_000, listing("*"))
    assert not quota.is_exceeded(), "without a limit"
    assert quotas.for_fetch() is None
    settings.in_force = replace(settings.in_force, leader_replication_throttled_rate=1_000)
    assert quotas.for_fetch() is quota
    assert not quota.is_exceeded(), "at the limit"
    spend(quota, 1_000, listing("*"))
    assert quota.is_exceeded()
    assert quota.frees_at_ms() == clock.monotonic_ms() + 2_000
    assert not quotas.follower.is_exceeded()
    clock.advance(1_999)
    assert quota.is_exceeded()
    clock.advance(1)
    assert not quota.is_exceeded()


def test_only_bytes_of_listed_replicas_count(quotas: ReplicationQuotas, settings: Settings) -> None:
    settings.in_force = replace(settings.in_force, leader_replication_throttled_rate=1)
    spend(quotas.leader, 1_000, listing("4:2"))
    spend(quotas.leader, 0, listing("*"))
    assert (quotas.leader.throttled_bytes, quotas.leader.is_exceeded()) == (0, False)
    spend(quotas.leader, 1_000, listing("3:2"))
    assert (quotas.leader.throttled_bytes, quotas.leader.is_exceeded()) == (1_000, True)


def test_the_windows_are_those_of_the_settings(settings: Settings, clock: ManualClock) -> None:
    settings.in_force = replace(
        settings.in_force,
        follower_replication_throttled_rate=1,
        replication_quota_window_num=2,
        replication_quota_window_size_seconds=3,
    )
    quota = replication_quotas(2, clock, lambda: settings.in_force).follower
    config = TopicConfig(follower_replication_throttled_replicas=("*",))
    quota.record(P, config, 1_000)
    clock.advance(5_999)
    assert quota.is_exceeded()
    clock.advance(1)
    assert not quota.is_exceeded()
