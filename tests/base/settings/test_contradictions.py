import pytest

from odradek.base.errors import SettingError
from odradek.base.settings import SettingLayers


@pytest.mark.parametrize(
    ("properties", "sentence"),
    [
        (
            {"group.min.session.timeout.ms": "10", "group.max.session.timeout.ms": "9"},
            r"group\.min\.session\.timeout\.ms \(10\) is more than group\.max\.session\.timeout\.ms \(9\)",
        ),
        ({"group.consumer.session.timeout.ms": "60001"}, r"\(60001\) is more than .* \(60000\)"),
        ({"group.consumer.min.heartbeat.interval.ms": "20000"}, r"\(20000\) is more than .* \(15000\)"),
        ({"log.cleaner.max.compaction.lag.ms": "5", "log.cleaner.min.compaction.lag.ms": "6"}, "more than"),
        (
            {"inter.broker.listener.name": "PLAINTEXT", "security.inter.broker.protocol": "PLAINTEXT"},
            r"only one of inter\.broker\.listener\.name and security\.inter\.broker\.protocol may be set",
        ),
    ],
)
def test_settings_that_contradict_each_other_are_refused_as_in_kafka(
    properties: dict[str, str], sentence: str
) -> None:
    with pytest.raises(SettingError, match=sentence):
        SettingLayers.from_static(properties)


def test_what_is_equal_does_not_contradict() -> None:
    both = {"group.min.session.timeout.ms": "9", "group.max.session.timeout.ms": "9"}
    SettingLayers.from_static(both)
