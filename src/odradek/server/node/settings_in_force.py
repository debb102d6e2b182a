"""Puts changed settings in force on a broker: its own at once, those of topics in their logs (R18)."""

import logging

from odradek.base.clock import Clock
from odradek.base.errors import SettingError
from odradek.base.execution import Slices, Steps
from odradek.base.ids import BrokerId
from odradek.base.settings import SettingLayers
from odradek.metadata.image import BrokerConfigChanged, ClusterImage, TopicConfigChanged
from odradek.metadata.resources import SettingsChanged
from odradek.server.edge.complaints import Complaints
from odradek.storage import LogManager

_log = logging.getLogger(__name__)


class SettingsInForce:
    """Every change of a setting takes this way, whichever broker's controller decided it."""

    def __init__(
        self,
        broker_id: BrokerId,
        layers: SettingLayers,
        image: ClusterImage,
        logs: LogManager,
        slices: Slices,
        clock: Clock,
    ) -> None:
        self._broker_id = broker_id
        self._layers = layers
        self._image = image
        self._logs = logs
        self._slices = slices
        self._remarks = Complaints(_log, clock, "%d more remarks about changed settings")
        """Log lines about changed settings, limited in number because clients cause them."""

    def apply(self, change: SettingsChanged) -> None:
        """Apply a change to the image, and put it in force."""
        self._image.apply(change)
        match change:
            case TopicConfigChanged(topic):
                self._update_topic(topic)
            case BrokerConfigChanged(broker_id) if broker_id is None or broker_id == self._broker_id:
                self._refresh()

    def _refresh(self) -> None:
        """Apply the image's broker settings: at once to the broker, in slices to the logs of topics."""
        layers, image = self._layers, self._image
        defaults_before = layers.topic_config({})
        for sentence in layers.let_in_force(
            image.default_broker_config, image.broker_config(self._broker_id)
        ):
            self._remarks.say("%s", sentence)
        if layers.topic_config({}) != defaults_before:
            self._slices.run(self._update_topics(), _not_updated)

    def _update_topics(self) -> Steps[None]:
        """Give the logs of every topic the settings that are in force for it at that moment."""
        for topic in self._logs.topics():
            self._update_topic(topic)
            yield

    def _update_topic(self, topic: str) -> None:
        """Give a topic's logs its settings; they keep theirs if an earlier version stored a bad value."""
        try:
            config = self._layers.topic_config(self._image.topic_config(topic))
        except SettingError as error:
            self._remarks.say("the topic %s keeps the settings that it had: %s", topic, error)
        else:
            self._logs.update_config(topic, config)


def _not_updated(error: Exception) -> None:
    _log.error("some topics keep the settings that they had: %s", error)
