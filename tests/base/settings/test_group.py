"""The settings of one consumer group, their defaults and their bounds (KIP-848)."""

import pytest

from odradek.base.errors import SettingError
from odradek.base.settings import BrokerSettings, GroupBounds, GroupConfig, SettingLayers, Source

SESSION, HEARTBEAT = "consumer.session.timeout.ms", "consumer.heartbeat.interval.ms"


def test_without_overrides_the_brokers_settings_hold() -> None:
    assert GroupBounds.of(BrokerSettings()).config({}) == GroupConfig() == GroupConfig(5_000, 45_000)
    settings = BrokerSettings(group_consumer_session_timeout_ms=50_000)
    assert GroupBounds.of(settings).config({}) == GroupConfig(5_000, 50_000)


def test_an_override_holds_for_its_group() -> None:
    assert GroupBounds.of(BrokerSettings()).config({SESSION: "60000", HEARTBEAT: "6000"}) == GroupConfig(
        6_000, 60_000
    )


def test_what_the_broker_does_not_allow_any_more_is_brought_within_its_bounds() -> None:
    settings = BrokerSettings(group_consumer_max_session_timeout_ms=46_000)
    assert GroupBounds.of(settings).config({SESSION: "60000"}).consumer_session_timeout_ms == 46_000
    settings = BrokerSettings(group_consumer_min_heartbeat_interval_ms=7_000)
    assert GroupBounds.of(settings).config({HEARTBEAT: "6000"}).consumer_heartbeat_interval_ms == 7_000


@pytest.mark.parametrize(
    ("text", "is_good"), [("44999", False), ("45000", True), ("60000", True), ("60001", False)]
)
def test_an_override_beyond_the_bounds_is_a_fault(text: str, is_good: bool) -> None:
    fault = GroupBounds.of(BrokerSettings()).fault({SESSION: text})
    assert (fault is None) == is_good, fault
    if fault is not None:
        assert SESSION in fault
        assert text in fault


def test_a_value_says_where_it_comes_from() -> None:
    layers, _ = SettingLayers.from_static({"group.consumer.session.timeout.ms": "50000"})
    default = layers.group(SESSION, {})
    assert (default.value, default.source) == (50_000, Source.DEFAULT)
    given = layers.group(SESSION, {SESSION: "60000"})
    assert (given.value, given.source) == (60_000, Source.GROUP)
    assert [(synonym.name, synonym.text) for synonym in given.synonyms] == [(SESSION, "60000")]


def test_an_unknown_name_cannot_be_resolved() -> None:
    with pytest.raises(SettingError, match=r"nope"):
        SettingLayers().group("nope", {})
