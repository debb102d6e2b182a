"""No setting silently does nothing: what the code does not read says so."""

import re
from pathlib import Path

import odradek
from odradek.base.settings import BROKER_SETTINGS, GROUP_SETTINGS, TOPIC_SETTINGS
from odradek.base.settings.broker.without_effect import settings_without_effect
from odradek.base.settings.definition import Setting, attribute_of
from odradek.base.settings.protection import unkept_promise

PACKAGE = Path(odradek.__file__).parent


def code() -> str:
    """All code that could read a setting: neither the declarations nor the messages of the protocol."""
    return "\n".join(
        path.read_text()
        for path in PACKAGE.rglob("*.py")
        if "messages" not in path.parts
        and not (
            path.is_relative_to(PACKAGE / "base/settings") and path.name not in ("group.py", "layers.py")
        )
    )


def is_read(setting: Setting, words: set[str]) -> bool:
    return attribute_of(setting.name) in words


def test_what_nothing_reads_is_declared_to_have_no_effect() -> None:
    words = set(re.findall(r"\w+", code()))
    gives_defaults = {name for setting in TOPIC_SETTINGS.values() for name, _ in setting.broker_names}
    for setting in (*TOPIC_SETTINGS.values(), *GROUP_SETTINGS.values(), *BROKER_SETTINGS.values()):
        if setting.name in gives_defaults and setting.name not in TOPIC_SETTINGS:
            continue  # read through the topic setting that it gives a default to
        expected = not setting.no_effect and unkept_promise(setting.name, "anything") is None
        assert is_read(setting, words) == expected, f"{setting.name}: {setting.no_effect!r}"


def test_nothing_is_both_declared_and_listed_as_without_effect() -> None:
    assert not set(settings_without_effect()) & set(BROKER_SETTINGS)
