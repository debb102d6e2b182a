from typing import Any

import pytest

from odradek.base.errors import SettingError
from odradek.base.settings import BROKER_SETTINGS, TOPIC_SETTINGS


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("segment.bytes", "many", "segment.bytes must be a whole number, not 'many'"),
        ("segment.bytes", "1", "segment.bytes must be at least 1048576, not 1"),
        ("segment.bytes", "2147483648", "segment.bytes must be at most 2147483647, not 2147483648"),
        ("min.cleanable.dirty.ratio", "2", "min.cleanable.dirty.ratio must be at most 1, not 2"),
        ("min.cleanable.dirty.ratio", "nan", "min.cleanable.dirty.ratio must be at least 0, not nan"),
        ("preallocate", "yes", "preallocate must be true or false, not 'yes'"),
        ("cleanup.policy", "burn", "cleanup.policy may hold compact, delete, not 'burn'"),
        ("retention.ms", "1_000", "retention.ms must be a whole number, not '1_000'"),
        ("compression.gzip.level", "0", "compression.gzip.level must be -1 or between 1 and 9"),
        (
            "message.timestamp.type",
            "Never",
            "message.timestamp.type must be one of CreateTime, LogAppendTime, not 'Never'",
        ),
        (
            "leader.replication.throttled.replicas",
            "0-1",
            "leader.replication.throttled.replicas must be '*' or a list of partition:broker, not '0-1'",
        ),
    ],
)
def test_refuses_what_a_setting_cannot_take_in_one_sentence(name: str, text: str, sentence: str) -> None:
    with pytest.raises(SettingError) as caught:
        TOPIC_SETTINGS[name].parse(text)
    assert str(caught.value) == sentence


@pytest.mark.parametrize("table", [TOPIC_SETTINGS, BROKER_SETTINGS])
def test_every_default_survives_being_written_and_read(table: dict[str, Any]) -> None:
    for setting in table.values():
        if setting.default is not None:
            assert setting.parse(setting.render(setting.default)) == setting.default, setting.name


def test_every_broker_name_of_a_topic_setting_is_a_broker_setting() -> None:
    for setting in TOPIC_SETTINGS.values():
        for name, _ in setting.broker_names:
            assert name in BROKER_SETTINGS, f"{setting.name} names {name}"


@pytest.mark.parametrize(
    ("name", "text", "shown"),
    [
        ("cleanup.policy", " delete , compact ", "delete,compact"),
        ("cleanup.policy", "", ""),
        ("preallocate", "TRUE", "true"),
        ("retention.ms", " 5000 ", "5000"),
        ("message.timestamp.type", "CreateTime ", "CreateTime"),
    ],
)
def test_a_text_has_one_canonical_form(name: str, text: str, shown: str) -> None:
    assert TOPIC_SETTINGS[name].canonical(text) == shown


@pytest.mark.parametrize("side", ["leader", "follower"])
@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("0:1,*", "*"),
        ("*,*", "*"),
        ("²:1", "²:1"),
        ("0:", "0:"),
        (":1", ":1"),
        ("0:1:2", "0:1:2"),
        ("-1:0", "-1:0"),
        ("12345678901:0", "12345678901:0"),
    ],
)
def test_a_list_of_throttled_replicas_is_a_star_alone_or_pairs(side: str, text: str, wrong: str) -> None:
    """As Kafka's `ThrottledReplicaListValidator` has it."""
    name = f"{side}.replication.throttled.replicas"
    with pytest.raises(SettingError) as caught:
        TOPIC_SETTINGS[name].parse(text)
    assert str(caught.value) == f"{name} must be '*' or a list of partition:broker, not '{wrong}'"
    for right in ("*", " * ", "0:1", "0:1, 12:3", ""):
        TOPIC_SETTINGS[name].parse(right)
