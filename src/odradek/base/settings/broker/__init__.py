"""The settings of a broker by Kafka's names; defaults are Kafka's except where a description says so."""

from dataclasses import dataclass

from odradek.base.settings.broker.accepted import AcceptedSettings
from odradek.base.settings.broker.groups import GroupSettings
from odradek.base.settings.broker.listeners import ListenerSettings
from odradek.base.settings.broker.log import LogSettings
from odradek.base.settings.broker.producers import ProducerSettings
from odradek.base.settings.broker.replicas import ReplicaSettings
from odradek.base.settings.broker.topic_defaults import TopicDefaults
from odradek.base.settings.broker.zookeeper import ZooKeeperSettings
from odradek.base.settings.definition import Setting, settings_of

# Other names under which a setting may be given.
BROKER_ALIASES = {"broker.id": "node.id", "log.dir": "log.dirs"}


@dataclass(frozen=True, repr=False)
class BrokerSettings(
    TopicDefaults,
    AcceptedSettings,
    ReplicaSettings,
    GroupSettings,
    ProducerSettings,
    LogSettings,
    ListenerSettings,
    ZooKeeperSettings,
):
    """The settings in force for one broker; `BrokerSettings()` holds the defaults."""

    @property
    def store_session_timeout_ms(self) -> int:
        """The timeout of the broker's session with the metadata store that the settings name."""
        return self.zookeeper_session_timeout_ms if self.zookeeper_connect else self.broker_session_timeout_ms


BROKER_SETTINGS: dict[str, Setting] = settings_of(BrokerSettings)
