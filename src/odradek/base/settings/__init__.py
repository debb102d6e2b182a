"""Settings by Kafka's names, defaults and units: their definitions, and the layer that a value comes from.

- `definition`: one setting: its name, kind, default, bounds and how it may be changed.
- `topic`: `TopicConfig`, the settings of one topic.
- `broker`: `BrokerSettings`, the settings of one broker.
- `group`: `GroupConfig`, the settings of one consumer group.
- `layers`: the layers in which a value may be given, and which of them wins.
- `properties`: the text format of `server.properties`.
"""

from odradek.base.settings.broker import BROKER_SETTINGS, BrokerSettings
from odradek.base.settings.broker.replicas import RACK_AWARE_SELECTOR
from odradek.base.settings.definition import Kind, Setting, Update, Value
from odradek.base.settings.group import GROUP_SETTINGS, GroupBounds, GroupConfig
from odradek.base.settings.layers import Resolved, SettingLayers, Source, Synonym
from odradek.base.settings.topic import TOPIC_SETTINGS, TopicConfig

__all__ = [
    "BROKER_SETTINGS",
    "GROUP_SETTINGS",
    "RACK_AWARE_SELECTOR",
    "TOPIC_SETTINGS",
    "BrokerSettings",
    "GroupBounds",
    "GroupConfig",
    "Kind",
    "Resolved",
    "Setting",
    "SettingLayers",
    "Source",
    "Synonym",
    "TopicConfig",
    "Update",
    "Value",
]
