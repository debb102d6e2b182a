import pytest

from odradek.base.errors import SettingError
from odradek.base.settings import BrokerSettings, SettingLayers, Source, TopicConfig


def test_without_layers_the_defaults_hold() -> None:
    assert SettingLayers().topic_config({}) == TopicConfig()
    assert SettingLayers().broker_settings() == BrokerSettings()


def test_hours_in_the_file_become_a_topic_s_milliseconds_with_their_sources() -> None:
    layers, _ = SettingLayers.from_static({"log.retention.hours": "1"})
    resolved = layers.topic("retention.ms", {})
    assert (resolved.value, resolved.source) == (3_600_000, Source.STATIC_BROKER)
    assert [(s.name, s.text, s.source) for s in resolved.synonyms] == [
        ("log.retention.hours", "1", Source.STATIC_BROKER),
        ("log.retention.hours", "168", Source.DEFAULT),
    ]


def test_milliseconds_win_over_minutes_and_hours() -> None:
    layers, _ = SettingLayers.from_static({"log.retention.hours": "1", "log.retention.ms": "5"})
    assert layers.topic("retention.ms", {}).value == 5


def test_no_limit_is_no_limit_in_any_unit() -> None:
    layers, _ = SettingLayers.from_static({"log.retention.hours": "-1"})
    assert layers.topic_config({}).retention_ms == -1


def test_a_stronger_layer_hides_the_weaker_ones() -> None:
    layers = SettingLayers(
        static={"log.segment.bytes": "2000000"},
        dynamic_default={"log.segment.bytes": "3000000"},
        dynamic_broker={"log.segment.bytes": "4000000"},
    )
    resolved = layers.topic("segment.bytes", {"segment.bytes": "5000000"})
    assert resolved.value == 5_000_000
    assert [synonym.source for synonym in resolved.synonyms] == [
        Source.DYNAMIC_TOPIC,
        Source.DYNAMIC_BROKER,
        Source.DYNAMIC_DEFAULT_BROKER,
        Source.STATIC_BROKER,
        Source.DEFAULT,
    ]
    assert layers.topic("segment.bytes", {}).source is Source.DYNAMIC_BROKER


def test_an_unknown_name_is_reported_and_a_bad_value_refused() -> None:
    _, unknown = SettingLayers.from_static({"no.such.thing": "1", "broker.id": "7"})
    assert unknown == ["no.such.thing"]
    with pytest.raises(SettingError, match=r"^num\.partitions must be at least 1, not 0$"):
        SettingLayers.from_static({"num.partitions": "0"})


def test_aliases_name_the_same_setting() -> None:
    layers, _ = SettingLayers.from_static({"broker.id": "7", "log.dir": "here"})
    settings = layers.broker_settings()
    assert (settings.node_id, settings.log_dirs) == (7, ("here",))


def test_an_unknown_name_cannot_be_resolved() -> None:
    with pytest.raises(SettingError, match="no topic setting named foo"):
        SettingLayers().topic("foo", {})
    with pytest.raises(SettingError, match="no broker setting named foo"):
        SettingLayers().broker("foo")


def test_all_wrong_settings_of_a_file_are_named_at_once() -> None:
    given = {"num.partitions": "0", "zookeeper.set.acl": "true", "log.retention.ms": "soon"}
    with pytest.raises(SettingError) as refused:
        SettingLayers.from_static(given)
    said = str(refused.value)
    assert said.startswith("3 settings are refused: (1) num.partitions ")
    assert "; (2) zookeeper.set.acl cannot be set: " in said
    assert "; (3) log.retention.ms must be " in said
