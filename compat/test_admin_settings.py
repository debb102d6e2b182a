"""Settings of topics and brokers are described with their sources, and changed while the broker runs."""

from collections.abc import Callable

import pytest
from peers import BrokerProcess
from peers.waiting import wait_until

from compat.admins import Admin, ConfigSource
from compat.clients import CLIENTS, Client, Record, Refused
from odradek.base.error_codes import ErrorCode

# Some of Kafka's topic settings with their defaults; DescribeConfigs returns all of them.
DEFAULTS = {
    "cleanup.policy": "delete",
    "compression.type": "producer",
    "delete.retention.ms": "86400000",
    "file.delete.delay.ms": "60000",
    "flush.messages": "9223372036854775807",
    "flush.ms": "9223372036854775807",
    "index.interval.bytes": "4096",
    "max.compaction.lag.ms": "9223372036854775807",
    "max.message.bytes": "1048588",
    "message.timestamp.after.max.ms": "3600000",
    "message.timestamp.before.max.ms": "9223372036854775807",
    "message.timestamp.type": "CreateTime",
    "min.cleanable.dirty.ratio": "0.5",
    "min.compaction.lag.ms": "0",
    "min.insync.replicas": "1",
    "preallocate": "false",
    "retention.bytes": "-1",
    "retention.ms": "604800000",
    "segment.index.bytes": "10485760",
    "segment.jitter.ms": "0",
    "segment.ms": "604800000",
    "unclean.leader.election.enable": "false",
}


def wait_for_setting(admin: Admin, topic: str, name: str, value: str) -> ConfigSource:
    wait_until(lambda: admin.topic_settings(topic)[name].value == value, f"{name} never became {value}")
    return admin.topic_settings(topic)[name].source


def test_a_topic_tells_every_setting_with_its_default(
    admin: Admin, broker: BrokerProcess, topic: str
) -> None:
    settings = admin.topic_settings(topic)
    given = {name: value for name, value in broker.settings.items() if name in DEFAULTS}
    assert {name: settings[name].value for name in DEFAULTS} == DEFAULTS | given
    # KIP-966 makes the default of min.insync.replicas a setting of the cluster.
    sources = {settings[name].source for name in DEFAULTS if name != "min.insync.replicas"}
    assert sources == {ConfigSource.DEFAULT}


def test_a_setting_given_at_creation_is_the_topics_own(admin: Admin, fresh_name: Callable[[], str]) -> None:
    topic = fresh_name()
    admin.create_topic(topic, settings={"retention.ms": "1234", "cleanup.policy": "compact,delete"})
    settings = admin.topic_settings(topic)
    assert (settings["retention.ms"].value, settings["retention.ms"].source) == (
        "1234",
        ConfigSource.DYNAMIC_TOPIC,
    )
    assert settings["cleanup.policy"].value == "compact,delete"
    assert settings["segment.ms"].source == ConfigSource.DEFAULT


def test_a_topic_inherits_what_the_broker_was_started_with(admin: Admin, topic: str) -> None:
    setting = admin.topic_settings(topic)["segment.bytes"]
    assert (setting.value, setting.source) == (str(16 * 1024 * 1024), ConfigSource.STATIC_BROKER)


def test_a_broker_tells_its_settings(admin: Admin) -> None:
    settings = admin.broker_settings(min(admin.cluster().brokers))
    assert (settings["num.partitions"].value, settings["num.partitions"].source) == (
        "1",
        ConfigSource.STATIC_BROKER,
    )
    assert settings["log.retention.hours"].value == "168"
    assert settings["log.retention.hours"].source == ConfigSource.DEFAULT
    assert settings["message.max.bytes"].value == "1048588"
    assert not settings["message.max.bytes"].read_only
    assert settings["log.dirs"].read_only


def test_settings_are_changed_one_by_one(admin: Admin, new_topic: Callable[..., str]) -> None:
    if not admin.is_incremental:
        pytest.skip("has no incremental changes")
    topic = new_topic(segment_ms=777_000)
    admin.change_settings(topic, {"retention.ms": "5000"})
    assert wait_for_setting(admin, topic, "retention.ms", "5000") == ConfigSource.DYNAMIC_TOPIC
    admin.change_settings(topic, {"retention.ms": None})
    assert wait_for_setting(admin, topic, "retention.ms", "604800000") == ConfigSource.DEFAULT
    assert admin.topic_settings(topic)["segment.ms"].value == "777000"


def test_settings_are_replaced_all_at_once(admin: Admin, new_topic: Callable[..., str]) -> None:
    if not admin.replaces_settings:
        pytest.skip("adds what was set before")
    topic = new_topic(segment_ms=777_000)
    admin.replace_settings(topic, {"retention.ms": "5000"})
    assert wait_for_setting(admin, topic, "retention.ms", "5000") == ConfigSource.DYNAMIC_TOPIC
    assert wait_for_setting(admin, topic, "segment.ms", "604800000") == ConfigSource.DEFAULT


@pytest.mark.parametrize(
    "changes", [{"no.such.setting": "1"}, {"retention.ms": "soon"}, {"cleanup.policy": "burn"}], ids=str
)
def test_a_bad_change_is_refused_and_changes_nothing(
    admin: Admin, topic: str, changes: dict[str, str]
) -> None:
    change = admin.change_settings if admin.is_incremental else admin.replace_settings
    with pytest.raises(Refused) as refused:
        change(topic, {"retention.ms": "7000"} | changes)
    assert refused.value.error == ErrorCode.INVALID_CONFIG
    assert admin.topic_settings(topic)["retention.ms"].value == "604800000"


def test_settings_of_an_unknown_topic_are_refused(admin: Admin, fresh_name: Callable[[], str]) -> None:
    if admin.name == "kafka-python":
        pytest.skip("hides the error")
    with pytest.raises(Refused) as refused:
        admin.topic_settings(fresh_name())
    assert refused.value.error == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_changed_limit_holds_for_the_next_record(admin: Admin, topic: str) -> None:
    client: Client = CLIENTS["confluent-kafka"](admin.bootstrap)
    big = [Record(value=b"x" * 2000)]
    client.write(topic, big)
    admin.replace_settings(topic, {"max.message.bytes": "1000"})
    wait_for_setting(admin, topic, "max.message.bytes", "1000")
    with pytest.raises(Refused) as refused:
        client.write(topic, big)
    assert refused.value.error == ErrorCode.MESSAGE_TOO_LARGE
