"""A broker as its cluster's controllers see it: it obeys their orders."""

from collections.abc import Iterable
from typing import Protocol

from odradek.base.ids import BrokerId
from odradek.metadata.image import BrokerGone, Change, ClusterImage, ClusterNamed, TopicDeleted
from odradek.metadata.orders import OrderOutcome
from odradek.metadata.orders_on_wire import OrderRequest
from odradek.server.node.controller_host import ControllerHost
from odradek.server.node.received_orders import Obeyed, ReceivedOrders
from odradek.timer import Purgatory


class OrderObserver(Protocol):
    """Sends requests to other brokers, as the image names them."""

    def on_order_obeyed(self) -> None:
        """Called after each order: another broker may be the controller, or a broker may be gone."""


class CommandedBroker:
    """What its own controller, and the controllers on other brokers, may ask of a broker; an `Obedient`."""

    def __init__(
        self,
        broker_id: BrokerId,
        image: ClusterImage,
        orders: ReceivedOrders,
        controller: ControllerHost,
        topic_purgatory: Purgatory[str],
        observers: Iterable[OrderObserver],
    ) -> None:
        """After each order `controller` checks whether the broker has joined, and `observers` are called."""
        self.broker_id = broker_id
        self._image = image
        self._orders = orders
        self._controller = controller
        self._topic_purgatory = topic_purgatory
        self._observers = tuple(observers)

    @property
    def has_joined(self) -> bool:
        """Whether the controller has named this broker live, and told it all topics and what it leads.

        False while an order is being obeyed: the image may have this broker, but not yet what it leads.
        """
        orders = self._orders
        return (
            orders.joining_news.is_complete and not orders.is_at_work and self._image.is_live(self.broker_id)
        )

    def obey(self, order: OrderRequest, obeyed: Obeyed) -> None:
        """Obey an order of a controller, this broker's own or another's, after all earlier orders.

        `obeyed` is called once, with the outcome.
        """

        def done(outcome: OrderOutcome) -> None:
            obeyed(outcome)
            self._controller.check_joined()
            for observer in self._observers:
                observer.on_order_obeyed()

        self._orders.receive(order, done)

    def on_changes(self, changes: tuple[Change, ...]) -> None:
        """Wake the requests that wait for a deletion (G3) after its last step, or after the loss of a broker.

        Facts about topics and brokers, and settings, come with UpdateMetadata.
        """
        for change in changes:
            match change:
                case TopicDeleted(topic):
                    self._topic_purgatory.check_and_complete(topic)
                case BrokerGone():
                    for topic in list(self._topic_purgatory.watched_keys):
                        self._topic_purgatory.check_and_complete(topic)
                case ClusterNamed():
                    self._image.apply(change)
