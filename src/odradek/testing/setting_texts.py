"""Settings as tests write them, turned into the text that a settings file would hold.

{"log.retention.ms": timedelta(minutes=5)}       300000
{"log.retention.hours": timedelta(days=1)}       24
{"auto.create.topics.enable": False}             false
{"num.partitions": 3}                            3
"""

from collections.abc import Mapping
from datetime import timedelta
from difflib import get_close_matches
from pathlib import Path
from typing import Final, TypeAlias

from odradek.base.errors import SettingError
from odradek.base.settings import SettingLayers
from odradek.base.settings.broker import BROKER_SETTINGS

SettingValue: TypeAlias = str | int | float | bool | timedelta | Path
"""The types that a test may use for a setting's value."""

_UNITS: Final = {
    ".ms": timedelta(milliseconds=1),
    ".seconds": timedelta(seconds=1),
    ".minutes": timedelta(minutes=1),
    ".hours": timedelta(hours=1),
}


def setting_texts(settings: Mapping[str, SettingValue]) -> dict[str, str]:
    """Returns the settings as text. Raises SettingError for a value that cannot be written as text."""
    return {name: _text(name, value) for name, value in settings.items()}


def broker_layers(texts: Mapping[str, str]) -> SettingLayers:
    """The layers of a broker's settings. Raises SettingError, also for a name that no setting has."""
    layers, unknown = SettingLayers.from_static(texts)
    if unknown:
        close = get_close_matches(unknown[0], BROKER_SETTINGS, n=1)
        hint = f"; did you mean {close[0]}?" if close else ""
        raise SettingError(f"there is no setting {unknown[0]}{hint}")
    return layers


def _text(name: str, value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case timedelta():
            return str(_count(name, value))
        case str() | int() | float() | Path():
            return str(value)
    raise SettingError(f"{name} takes a str, number, bool or timedelta, not {value!r}")


def _count(name: str, value: timedelta) -> int:
    """Returns a duration in the unit that the setting's name ends with."""
    for suffix, unit in _UNITS.items():
        if name.endswith(suffix):
            if value % unit:
                raise SettingError(f"{name} is in {suffix[1:]}, and {value} is not a whole number of them")
            return value // unit
    raise SettingError(f"{name} takes no timedelta: its name does not end with one of {', '.join(_UNITS)}")
