"""All of a broker that is synchronous: what handlers reach, the controller commands and a simulator runs.

It holds the parts and passes orders between them; each policy stands in the part that it belongs to. It
knows no loop, no socket and no thread; time, chance, disk and background work are given.
"""

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from odradek.base.execution import Slices, Steps
from odradek.base.ids import NO_EPOCH, BrokerId, TopicId, TopicPartition
from odradek.base.settings import BrokerSettings, GroupBounds, SettingLayers, TopicConfig
from odradek.metadata.controller import Controller, ControllerSettings
from odradek.metadata.image import (
    BrokerConfigChanged,
    Change,
    ClusterImage,
    ClusterNamed,
    Endpoint,
    GroupConfigChanged,
    TopicConfigChanged,
)
from odradek.metadata.messages import OrderOutcome
from odradek.metadata.messages_on_wire import OrderRequest
from odradek.replication.fetch_session_cache import FetchSessionCache
from odradek.replication.isr import IsrChange
from odradek.replication.replica_manager import ReplicaManager
from odradek.replication.replication_ports import ReplicatedLog
from odradek.server.edge.complaints import Complaints
from odradek.server.node.checkpoints import Checkpoints
from odradek.server.node.controller_host import ControllerHost
from odradek.server.node.group_flush import GroupFlush
from odradek.server.node.group_host import GROUP_KEY_TYPE, GroupHost
from odradek.server.node.internal_topic import InternalTopic, TopicMaking
from odradek.server.node.isr_writer import IsrWriter
from odradek.server.node.orphans import Orphans
from odradek.server.node.ports import Surroundings
from odradek.server.node.producer_ids import ProducerIds
from odradek.server.node.received_orders import Obeyed, ReceivedOrders
from odradek.server.node.record_work import RecordWork
from odradek.server.node.store_session import StoreSession
from odradek.server.node.transaction_host import TRANSACTION_KEY_TYPE, TransactionHost
from odradek.storage import LogManager
from odradek.timer import Purgatory

if TYPE_CHECKING:  # loaded when somebody produces
    from odradek.server.node.transaction_admission import TransactionAdmission

_log = logging.getLogger(__name__)


class BrokerCore:
    """One broker's state and the ways into it; owned by one thread. Complete when it is constructed."""

    def __init__(
        self,
        surroundings: Surroundings,
        layers: SettingLayers,
        image: ClusterImage,
        logs: LogManager,
    ) -> None:
        """`image` holds the cluster's id and settings as the store has them."""
        self.layers = layers
        """The settings in force, and which layer gave each."""
        self.broker_id: BrokerId = self.settings.node_id
        self.clock = surroundings.clock
        self.chance = surroundings.chance
        self.timer = surroundings.timer
        self.defer = surroundings.defer
        """Runs a callback in a later turn of the loop."""
        self.image = image
        """The cluster as this broker knows it."""
        self.logs = logs
        self._remarks = Complaints(_log, surroundings.clock, "%d more remarks about changed settings")
        """Remarks about settings that change, limited in number because clients cause them."""
        self.request_counts: dict[int, int] = {}
        """Requests by API key."""
        self._on_failure = surroundings.on_failure
        self.slices = Slices(surroundings.defer, surroundings.turn_time, surroundings.stalls)
        """Runs work that grows with what a request or an order names."""
        self.record_work = RecordWork(self.slices, surroundings.background)
        """Runs checks of batches and lookups by time that are too long for one turn."""
        self.orphans = Orphans()
        """What clients sent with acks=0 and did not stay for."""
        self._make_storage(surroundings)
        self._make_coordinators(surroundings)

    def _make_storage(self, surroundings: Surroundings) -> None:
        """Make the replica manager, and what flushes, checkpoints and fetches use."""
        clock, timer, defer = self.clock, self.timer, self.defer
        self.replicas = ReplicaManager(
            self.broker_id,
            self.settings,
            clock=clock,
            timer=timer,
            logs=self.logs,
            cluster=self.image,
            effects=self,
            defer=defer,
            run_steps=lambda steps: self.slices.run(steps, _not_done),
        )
        self.group_flush = GroupFlush(
            self.logs,
            surroundings.background,
            defer,
            self.replicas.on_flushed,
            self.replicas.directory_failed,
        )
        self.checkpoints = Checkpoints(self.logs, surroundings.background, self.replicas.directory_failed)
        self.fetch_sessions = FetchSessionCache(
            self.settings.max_incremental_fetch_session_cache_slots,
            clock=clock,
            chance=self.chance,
            name_of=self.topic_name,
        )
        self.topic_purgatory: Purgatory[str] = Purgatory("Topic", timer, defer=defer)
        """Creations and deletions that wait until this broker sees them done (G3)."""

    def _make_coordinators(self, surroundings: Surroundings) -> None:
        """Make the controller and the coordinators of groups and transactions."""
        controller = Controller(_controller_settings(self.layers), self.clock, self.chance)
        self.store_session = StoreSession(surroundings.store, surroundings.timer)
        """The session with the metadata store; opened when the broker joins."""
        self.isr_writer = IsrWriter(
            self.store_session, self.replicas.isr_maintenance, lambda: self.replicas.controller_epoch
        )
        """Writes and announces what the ISRs of partitions led here become."""
        self.controller = ControllerHost(controller, self, self.store_session, surroundings, self.slices)
        """Decides about topics, settings and leaders."""
        self.producer_ids = ProducerIds(self.broker_id, self.controller)
        making = TopicMaking(self.image, self.controller, self.topic_purgatory, self.clock)
        self.groups = GroupHost(surroundings, making, self.replicas, lambda: self.settings, self.slices)
        self.transactions = TransactionHost(
            surroundings,
            making,
            self.replicas,
            lambda: self.settings,
            producer_ids=self.producer_ids,
            groups=self.groups,
            slices=self.slices,
            log_of=self.logs.get,
        )
        self.received_orders = ReceivedOrders(
            self.broker_id,
            self.image,
            self.replicas,
            self.topic_purgatory,
            self.slices,
            self.defer,
            lambda: self.controller.broker_epoch,
            groups=self.groups,
            transactions=self.transactions,
        )
        """The controller's orders to this broker, and what is obeyed of them."""
        self.coordinating_topics: Mapping[int, InternalTopic] = {
            GROUP_KEY_TYPE: self.groups.topic,
            TRANSACTION_KEY_TYPE: self.transactions.topic,
        }
        """By FindCoordinator's type of key: the topic whose partitions' leaders coordinate."""

    def purgatories(self) -> tuple[Purgatory[Any], ...]:
        """Everything in which operations wait, for metrics and listings (D7)."""
        return (*self.replicas.purgatories.all(), self.topic_purgatory, *self.groups.purgatories())

    @property
    def settings(self) -> BrokerSettings:
        """What is in force now; not to be kept."""
        return self.layers.in_force

    @property
    def admission(self) -> "TransactionAdmission":
        """Admits transactional writes; see `TransactionHost.admission`."""
        return self.transactions.admission

    # --- lookups for handlers

    def topic_name(self, topic_id: TopicId) -> str | None:
        """The name behind a topic's id, unless it is unknown here or being deleted."""
        topic = self.image.topic_by_id(topic_id)
        return None if topic is None else topic.name

    def topic_config(self, topic: str) -> TopicConfig:
        """The settings in force for a topic."""
        return self.layers.topic_config(self.image.topic_config(topic))

    def wait_ms(self, wanted_ms: int) -> int:
        """The wait that a request is granted: no longer than its connection may be idle."""
        idle_ms = self.layers.in_force.connections_max_idle_ms
        return min(wanted_ms, idle_ms) if idle_ms >= 0 else wanted_ms

    def endpoint(self, broker_id: BrokerId, listener: str) -> Endpoint | None:
        """Where clients of that listener reach a broker; None while it is not live there."""
        broker = self.image.brokers.get(broker_id)
        return None if broker is None else broker.endpoint(listener)

    # --- the controller's side

    @property
    def broker_epoch(self) -> int | None:
        """The epoch of this broker's registration; None before the first UpdateMetadata for it."""
        epoch = self.received_orders.acknowledged_epoch
        return None if epoch == NO_EPOCH else epoch

    @property
    def has_joined(self) -> bool:
        """Whether the controller has named this broker live, and its partitions' roles where it leads any.

        Not in the midst of an order: the image may know this broker, and not yet what it leads.
        """
        if self.received_orders.is_at_work or not self.image.is_live(self.broker_id):
            return False
        return self.received_orders.has_roles or not any(
            state.leader == self.broker_id
            for topic in self.image.live_topics()
            for state in topic.partitions.values()
        )

    def obey(self, order: OrderRequest, obeyed: Obeyed) -> None:
        """Carry out an order of a controller, this broker's own or another, after all earlier ones.

        `obeyed` is called once, with the outcome.
        """

        def done(outcome: OrderOutcome) -> None:
            obeyed(outcome)
            self.controller.check_joined()

        self.received_orders.receive(order, done)

    def take_changes(self, changes: tuple[Change, ...]) -> None:
        """Let changed settings be in force; facts about topics and brokers come with UpdateMetadata."""
        for change in changes:
            match change:
                case ClusterNamed() | GroupConfigChanged():
                    self.image.apply(change)
                case TopicConfigChanged(topic, overrides):
                    self.image.apply(change)
                    self.logs.update_config(topic, self.layers.topic_config(overrides))
                case BrokerConfigChanged(broker_id):
                    self.image.apply(change)
                    if broker_id is None or broker_id == self.broker_id:
                        self._refresh_settings()

    def _refresh_settings(self) -> None:
        """Let the image's broker settings be in force: at once for the broker, in slices for topics' logs."""
        defaults_before = self.layers.topic_config({})
        of_all, of_this = self.image.default_broker_config, self.image.broker_config(self.broker_id)
        for sentence in self.layers.let_in_force(of_all, of_this):
            self._remarks.say("%s", sentence)
        if self.layers.topic_config({}) != defaults_before:
            self.slices.run(self._update_topics(), _not_updated)

    def _update_topics(self) -> Steps[None]:
        """Give every topic's logs what is in force for them at that moment."""
        for topic in list(self.image.live_topics()):
            self.logs.update_config(topic.name, self.topic_config(topic.name))
            yield

    # --- replication's effects

    def flush(self, topic_partition: TopicPartition, log: ReplicatedLog) -> None:
        """See `replication.replication_ports.Effects.flush`."""
        self.group_flush.want(topic_partition)

    def write_isr(self, change: IsrChange) -> None:
        """See `replication.replication_ports.Effects.write_isr`."""
        self.isr_writer.write(change)

    def directory_failed(self, directory: str, reason: str, *, is_last: bool) -> None:
        """See `replication.replication_ports.Effects.directory_failed`."""
        sentence = f"the log directory {directory} is offline: {reason}"
        self.groups.resign_lost()
        self.transactions.resign_lost()
        if not is_last:
            _log.error("%s", sentence)
        elif len(self.logs.directories) == 1:
            self._on_failure(sentence)
        else:
            self._on_failure(f"no log directory is left: {sentence}")


def _not_done(error: Exception) -> None:
    """Our own mistake."""
    _log.error("what waited for records was not done", exc_info=error)


def _not_updated(error: Exception) -> None:
    _log.error("some topics keep the settings that they had: %s", error)


def _controller_settings(layers: SettingLayers) -> ControllerSettings:
    """What is fixed at the start; what changes in the cluster the controller sees in its own image."""
    settings = SettingLayers(layers.static).in_force
    return ControllerSettings(
        num_partitions=settings.num_partitions,
        default_replication_factor=settings.default_replication_factor,
        delete_topic_enable=settings.delete_topic_enable,
        unclean_leader_election_enable=settings.unclean_leader_election_enable,
        group_bounds=GroupBounds.of(settings),
    )
