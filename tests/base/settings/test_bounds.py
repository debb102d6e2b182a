"""Bounds of every setting: what is within is taken, what is beyond is refused, and both are Kafka's own."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from tools.kafka_differences import DEFAULTS, TIGHTER

from odradek.base.errors import SettingError
from odradek.base.settings import BROKER_SETTINGS, GROUP_SETTINGS, TOPIC_SETTINGS, Kind, Setting
from odradek.base.settings.definition import NUMBER_RANGES

NUMBERS = (Kind.SHORT, Kind.INT, Kind.LONG, Kind.DOUBLE)
ALL = [
    pytest.param(setting, id=f"{kind}-{setting.name}")
    for kind, table in (("broker", BROKER_SETTINGS), ("topic", TOPIC_SETTINGS), ("group", GROUP_SETTINGS))
    for setting in table.values()
]


def bounds(setting: Setting) -> tuple[float, float]:
    lowest, highest = NUMBER_RANGES[setting.kind]
    return (
        lowest if setting.least is None else setting.least,
        highest if setting.most is None else setting.most,
    )


def step(setting: Setting, least: float) -> float:
    """How far beyond a bound the next value lies."""
    return 1 if setting.kind is not Kind.DOUBLE else max(abs(least) * 1e-9, 1e-9)


def refuses(setting: Setting, text: str) -> bool:
    refusal = None
    try:
        setting.parse(text)
    except SettingError as error:
        refusal = str(error)
    assert refusal is None or refusal.startswith(f"{setting.name} "), "a refusal names the setting"
    return refusal is not None


@pytest.mark.parametrize("setting", ALL)
def test_a_number_is_taken_within_its_bounds_and_refused_beyond(setting: Setting) -> None:
    if setting.kind not in NUMBERS or setting.choices:
        return
    assert setting.least is not None, f"{setting.name} does not say how small it may be"
    least, most = bounds(setting)
    assert not refuses(setting, repr(least))
    assert not refuses(setting, repr(most))
    assert refuses(setting, repr(least - step(setting, least)))
    beyond = most + step(setting, most)
    assert refuses(setting, repr(beyond) if beyond != most else "1e309")


@pytest.mark.parametrize("setting", ALL)
def test_a_number_is_finite_and_written_in_digits(setting: Setting) -> None:
    if setting.kind in NUMBERS:
        for text in ("nan", "NaN", "inf", "-inf", "Infinity", "1e309", "-1e309", "", "1_0", "0x10"):
            assert refuses(setting, text), text


@pytest.mark.parametrize("setting", ALL)
def test_a_choice_is_one_of_those_there_are(setting: Setting) -> None:
    if setting.kind is Kind.BOOLEAN:
        assert refuses(setting, "maybe")
        assert not refuses(setting, "true")
        assert not refuses(setting, "FALSE")
    elif setting.choices:
        assert refuses(setting, "none of them")
        assert not any(refuses(setting, choice) for choice in setting.choices)


class Fact(NamedTuple):
    name: str
    kind: str
    update: str
    bounds: str
    default: str


def facts() -> Iterator[Fact]:
    for line in (Path(__file__).parent / "kafka_settings.txt").read_text().splitlines():
        if not line.startswith("#"):
            yield Fact(*line.split(" ", 4))


# What differs from Kafka, and why.
OTHER_KINDS = {
    "authorizer.class.name": "a class, refused in any case",
    "listener.security.protocol.map": "a list, which Kafka reads out of a string",
    "replica.selector.class": "a class, one of two",
}
OTHER_UPDATES = {
    "listeners": "sockets are opened at the start",
    "listener.security.protocol.map": "sockets are opened at the start",
}


@pytest.mark.parametrize("fact", list(facts()), ids=lambda fact: fact.name)
def test_kind_change_bounds_and_default_are_kafka_s(fact: Fact) -> None:
    setting = BROKER_SETTINGS[fact.name]
    assert (setting.kind.name.lower() == fact.kind) == (fact.name not in OTHER_KINDS)
    assert (setting.update.value == fact.update) == (fact.name not in OTHER_UPDATES)
    ours = setting.render(setting.default)
    is_same = set((ours or "-").split(",")) == set(fact.default.split(","))
    if setting.kind is Kind.DOUBLE:
        is_same = setting.parse(fact.default) == setting.default
    assert is_same == (fact.name not in DEFAULTS)
    least, _, most = fact.bounds.partition("..")
    if setting.kind in NUMBERS:
        found = bounds(setting)
        lowest, highest = NUMBER_RANGES[setting.kind]
        kafkas = (int(least) if least else lowest), (int(most) if most else highest)
        if fact.name in TIGHTER:
            assert kafkas[0] <= found[0] <= found[1] <= kafkas[1]
            assert found != kafkas, f"{fact.name} is not tighter than Kafka's"
        else:
            assert found == kafkas
