"""A broker as its cluster's controllers see it: it obeys orders and applies changed settings."""

import logging

from odradek.base.clock import Clock
from odradek.base.execution import Slices, Steps
from odradek.base.ids import BrokerId
from odradek.base.settings import SettingLayers
from odradek.metadata.image import (
    BrokerConfigChanged,
    BrokerGone,
    Change,
    ClusterImage,
    ClusterNamed,
    GroupConfigChanged,
    TopicConfigChanged,
    TopicDeleted,
)
from odradek.metadata.messages import OrderOutcome
from odradek.metadata.messages_on_wire import OrderRequest
from odradek.server.edge.complaints import Complaints
from odradek.server.node.controller_host import ControllerHost
from odradek.server.node.received_orders import Obeyed, ReceivedOrders
from odradek.storage import LogManager
from odradek.timer import Purgatory

_log = logging.getLogger(__name__)


class CommandedBroker:
    """What its own controller, and the controllers on other brokers, may ask of a broker; an `Obedient`."""

    def __init__(
        self,
        broker_id: BrokerId,
        layers: SettingLayers,
        image: ClusterImage,
        logs: LogManager,
        orders: ReceivedOrders,
        controller: ControllerHost,
        topic_purgatory: Purgatory[str],
        slices: Slices,
        clock: Clock,
    ) -> None:
        """After each obeyed order, `controller` checks whether the broker has joined."""
        self.broker_id = broker_id
        self._layers = layers
        self._image = image
        self._logs = logs
        self._orders = orders
        self._controller = controller
        self._topic_purgatory = topic_purgatory
        self._slices = slices
        self._remarks = Complaints(_log, clock, "%d more remarks about changed settings")
        """Log lines about changed settings, limited in number because clients cause them."""

    @property
    def has_joined(self) -> bool:
        """Whether the controller has named this broker live, and told it the partitions it leads, if any.

        False while an order is being obeyed: the image may have this broker, but not yet what it leads.
        """
        if self._orders.is_at_work or not self._image.is_live(self.broker_id):
            return False
        return self._orders.has_roles or not any(
            state.leader == self.broker_id
            for topic in self._image.live_topics()
            for state in topic.partitions.values()
        )

    def obey(self, order: OrderRequest, obeyed: Obeyed) -> None:
        """Obey an order of a controller, this broker's own or another's, after all earlier orders.

        `obeyed` is called once, with the outcome.
        """

        def done(outcome: OrderOutcome) -> None:
            obeyed(outcome)
            self._controller.check_joined()

        self._orders.receive(order, done)

    def take_changes(self, changes: tuple[Change, ...]) -> None:
        """Apply changed settings; facts about topics and brokers come with UpdateMetadata.

        Wakes the requests that wait for a deletion (G3) after its last step, or after the loss of a broker.
        """
        for change in changes:
            match change:
                case TopicDeleted(topic):
                    self._topic_purgatory.check_and_complete(topic)
                case BrokerGone():
                    for topic in list(self._topic_purgatory.watched_keys):
                        self._topic_purgatory.check_and_complete(topic)
                case ClusterNamed() | GroupConfigChanged():
                    self._image.apply(change)
                case TopicConfigChanged(topic, overrides):
                    self._image.apply(change)
                    self._logs.update_config(topic, self._layers.topic_config(overrides))
                case BrokerConfigChanged(broker_id):
                    self._image.apply(change)
                    if broker_id is None or broker_id == self.broker_id:
                        self._refresh_settings()

    def _refresh_settings(self) -> None:
        """Apply the image's broker settings: at once to the broker, in slices to the logs of topics."""
        layers, image = self._layers, self._image
        defaults_before = layers.topic_config({})
        for sentence in layers.let_in_force(image.default_broker_config, image.broker_config(self.broker_id)):
            self._remarks.say("%s", sentence)
        if layers.topic_config({}) != defaults_before:
            self._slices.run(self._update_topics(), _not_updated)

    def _update_topics(self) -> Steps[None]:
        """Give the logs of every topic the settings that are in force for it at that moment."""
        for topic in list(self._image.live_topics()):
            config = self._layers.topic_config(self._image.topic_config(topic.name))
            self._logs.update_config(topic.name, config)
            yield


def _not_updated(error: Exception) -> None:
    _log.error("some topics keep the settings that they had: %s", error)
