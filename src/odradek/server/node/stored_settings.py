"""Checks the overrides that the metadata store holds for topics and groups, before any log is opened.

A version with narrower bounds may not accept what an earlier one stored. Kafka refuses the start, too: under
the default of a setting that cannot be read, such as `retention.ms` or `cleanup.policy`, records could be
removed that are to be kept. A broker's own stored setting that is not accepted is left out, as in Kafka.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from odradek.base.errors import SettingError
from odradek.base.settings.definition import Setting
from odradek.base.settings.group import GROUP_SETTINGS
from odradek.base.settings.topic import TOPIC_SETTINGS
from odradek.base.visible import visible
from odradek.metadata.image import ClusterImage

NAMED_MAX: Final = 10
"""How many faults a refusal names."""


def check_stored_settings(image: ClusterImage) -> None:
    """Raises SettingError, which names the topics and groups, if a stored value cannot be in force."""
    faults = [
        *_faults("topic", image.topic_configs, TOPIC_SETTINGS),
        *_faults("group", image.group_configs, GROUP_SETTINGS),
    ]
    if not faults:
        return
    listed = "; ".join(faults[:NAMED_MAX])
    more = f"; and {len(faults) - NAMED_MAX} more" if len(faults) > NAMED_MAX else ""
    raise SettingError(
        f"the metadata store has settings that this version does not accept: {listed}{more}. Start the "
        "version of odradek that stored them, and change or delete them there"
    )


def _faults(
    kind: str, overrides: Mapping[str, Mapping[str, str]], known: Mapping[str, Setting]
) -> Iterator[str]:
    for owner, texts in overrides.items():
        for name, text in texts.items():
            if name in known:
                try:
                    known[name].parse(text)
                except SettingError as error:
                    yield f"{kind} {visible(owner)}: {error}"
