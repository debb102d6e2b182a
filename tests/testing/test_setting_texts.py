from datetime import timedelta
from pathlib import Path

import pytest

from odradek.base.errors import SettingError
from odradek.testing.setting_texts import SettingValue, setting_texts


def test_values_become_the_texts_of_a_settings_file() -> None:
    given: dict[str, SettingValue] = {
        "num.partitions": 3,
        "auto.create.topics.enable": False,
        "log.retention.ms": timedelta(minutes=1.5),
        "offsets.retention.minutes": timedelta(days=1),
        "log.retention.hours": timedelta(hours=2),
        "replica.fetch.backoff.ms": "1000",
        "log.dirs": Path("/logs"),
        "log.cleaner.min.cleanable.ratio": 0.25,
    }
    assert setting_texts(given) == {
        "num.partitions": "3",
        "auto.create.topics.enable": "false",
        "log.retention.ms": "90000",
        "offsets.retention.minutes": "1440",
        "log.retention.hours": "2",
        "replica.fetch.backoff.ms": "1000",
        "log.dirs": "/logs",
        "log.cleaner.min.cleanable.ratio": "0.25",
    }


@pytest.mark.parametrize(
    ("name", "value", "fault"),
    [
        ("num.partitions", timedelta(seconds=1), "num.partitions takes no timedelta"),
        ("log.retention.hours", timedelta(minutes=90), "not a whole number"),
        ("num.partitions", None, "not None"),
    ],
)
def test_a_value_without_a_text_is_refused(name: str, value: timedelta, fault: str) -> None:
    with pytest.raises(SettingError, match=fault):
        setting_texts({name: value})
