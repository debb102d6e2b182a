"""All of a broker that is synchronous: handlers use it, the controller commands it, a simulator runs it.

It holds the parts; each policy is in the part that it belongs to. It knows no loop, no socket and no thread:
time, random numbers, disk and background work are passed in.

Invariant: the core is complete when it is constructed, and no other object gets it before that. Each part is
passed the parts that it uses, or a port where the part behind it is created later.
"""

import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import RunSteps, Slices
from odradek.base.ids import NO_BROKER, NO_EPOCH, BrokerId, TopicId
from odradek.base.settings import BrokerSettings, GroupBounds, SettingLayers, TopicConfig
from odradek.metadata.controller import Controller, ControllerSettings
from odradek.metadata.controller.requests import Answer, ControllerRequest, Refused
from odradek.metadata.image import BrokerImage, ClusterImage, Endpoint
from odradek.replication.fetch_session_cache import FetchSessionCache
from odradek.replication.following import Following
from odradek.replication.quota import replication_quotas
from odradek.replication.replica_manager import ReplicaManager
from odradek.server.edge.complaints import Complaints
from odradek.server.edge.context import RequestContext
from odradek.server.node.auto_creation import AutoCreation
from odradek.server.node.checkpoints import Checkpoints
from odradek.server.node.commanded_broker import CommandedBroker
from odradek.server.node.confirmed_roles import ConfirmedRoles
from odradek.server.node.controller_host import ControllerHost
from odradek.server.node.coordinators.group_host import GROUP_KEY_TYPE, GroupHost
from odradek.server.node.coordinators.internal_topic import InternalTopic, TopicMaking
from odradek.server.node.coordinators.producer_ids import ProducerIds
from odradek.server.node.coordinators.transaction_host import TRANSACTION_KEY_TYPE, TransactionHost
from odradek.server.node.forwarding.any_controller import AnyController
from odradek.server.node.forwarding.forwarding import Forwarding, known_controller
from odradek.server.node.group_flush import GroupFlush
from odradek.server.node.hand_over import HandOver
from odradek.server.node.isr_writer import IsrWriter
from odradek.server.node.log_dir_events import LogDirEvents
from odradek.server.node.log_mover import LogMover
from odradek.server.node.orphans import Orphans
from odradek.server.node.ports import Surroundings
from odradek.server.node.received_orders import ReceivedOrders
from odradek.server.node.record_work import RecordWork
from odradek.server.node.replica_fetchers import ReplicaFetchers
from odradek.server.node.replication_effects import ReplicationEffects
from odradek.server.node.settings_in_force import SettingsInForce
from odradek.server.node.store_session import StoreSession
from odradek.server.node.truncation_settling import TruncationSettling
from odradek.server.node.unclean_elections import log_cut_records
from odradek.storage import LogManager
from odradek.timer import Purgatory

if TYPE_CHECKING:  # loaded with the first produce request
    from odradek.server.node.coordinators.transaction_admission import TransactionAdmission

_log = logging.getLogger(__name__)


class BrokerCore:
    """One broker's state and the ways into it; owned by one thread."""

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
        self._all_stop = surroundings.all_stop
        self.image = image
        """The cluster as this broker knows it."""
        self.logs = logs
        self.request_counts: dict[int, int] = {}
        """Requests by API key."""
        self.slices = Slices(surroundings.defer, surroundings.turn_time, surroundings.stalls)
        """Runs work that grows with what a request or an order names."""
        self.record_work = RecordWork(self.slices, surroundings.background)
        """Runs checks of batches and lookups by time that are too long for one turn."""
        self.alterations = Complaints(
            _log, self.clock, "%d more alterations of settings were not logged", level=logging.INFO
        )
        """Logs which client altered which settings."""
        self.orphans = Orphans()
        """Batches with acks=0 whose clients have disconnected."""
        slices = self.slices
        self._run_steps: RunSteps = lambda steps: slices.run(steps, _not_done)
        effects = ReplicationEffects(len(logs.directories), surroundings.on_failure)
        self._make_replicas(surroundings, effects)
        self._make_controller(surroundings)
        self._make_coordinators(surroundings)
        self._make_fetchers(surroundings)
        self.log_mover = LogMover(
            logs,
            self.replicas,
            clock=self.clock,
            timer=self.timer,
            slices=slices,
            background=surroundings.background,
            defer=self.defer,
            checkpoints=self.checkpoints,
            group_flush=self.group_flush,
            settings=lambda: self.settings,
        )
        """Moves logs to other log directories."""
        self._make_received_orders()
        self.commanded = CommandedBroker(
            self.broker_id,
            image,
            self.received_orders,
            self.controller,
            self.topic_purgatory,
            (self.forwarding, self.transactions),
        )
        """This broker as the controllers see it."""
        effects.connect(
            self.group_flush,
            self.isr_writer,
            self.log_dir_events,
            (self.fetchers, self.groups, self.transactions),
        )

    def _make_replicas(self, surroundings: Surroundings, effects: ReplicationEffects) -> None:
        """Make the replica manager, and the parts that flush logs, write checkpoints and serve fetches."""
        clock, timer, defer, run_steps = self.clock, self.timer, self.defer, self._run_steps
        self.replicas = ReplicaManager(
            self.broker_id,
            self.settings,
            clock=clock,
            timer=timer,
            logs=self.logs,
            cluster=self.image,
            effects=effects,
            defer=defer,
            run_steps=run_steps,
        )
        self.replication_quotas = replication_quotas(self.broker_id, clock, lambda: self.settings)
        """F8: what slows down replicas that are out of sync."""
        self.group_flush = GroupFlush(
            self.logs,
            surroundings.background,
            defer,
            self.replicas.on_flushed,
            self.replicas.directory_failed,
        )
        self.checkpoints = Checkpoints(
            self.logs.checkpoints,
            surroundings.background,
            run_steps,
            self.replicas.directory_failed,
        )
        self.fetch_sessions = FetchSessionCache(
            self.settings.max_incremental_fetch_session_cache_slots,
            clock=clock,
            chance=self.chance,
            name_of=self.served_topic_name,
            events=self.replicas.purgatories.fetch,
            run_steps=run_steps,
        )
        self.topic_purgatory: Purgatory[str] = Purgatory("Topic", timer, defer=defer)
        """Creations and deletions that wait until this broker sees them done (G3)."""

    def _make_controller(self, surroundings: Surroundings) -> None:
        """Make the session with the metadata store and its users."""
        replicas = self.replicas
        self.store_session = StoreSession(surroundings.store, surroundings.timer)
        """The session with the metadata store; opened when the broker joins."""
        self.isr_writer = IsrWriter(
            self.store_session, replicas.isr_maintenance, lambda: replicas.controller_epoch, self.defer
        )
        """Writes and announces the new ISRs of partitions led here."""
        self.log_dir_events = LogDirEvents(self.broker_id, self.store_session)
        """Tells the controller of log directories that failed."""
        controller = Controller(_controller_settings(self.layers), self.clock, self.chance)
        self.controller = ControllerHost(
            controller,
            self.broker_id,
            self.store_session,
            surroundings,
            self.slices,
            lambda: self.layers.in_force.store_session_timeout_ms,
        )
        """Decides about topics, settings and leaders, if this broker is the controller."""
        self.confirmed_roles = ConfirmedRoles(
            self.store_session,
            lambda: controller.broker_epoch,
            self.clock,
            lambda: self.layers.in_force.store_session_timeout_ms,
        )
        """Says whether this broker may have been deposed without its knowledge."""
        self.is_alone = surroundings.cluster_brokers() == 1
        """Whether no other broker can take over what this one leads."""
        self.forwarding = Forwarding(
            self.broker_id,
            self.image,
            self.controller,
            surroundings.connect_peers,
            surroundings.timer,
            self.slices,
        )
        """Requests that the controller is to decide, wherever it is."""
        self.any_controller = AnyController(
            self.broker_id,
            self.forwarding,
            self.controller,
            self.defer,
            self.slices,
            self.clock.monotonic_ms,
            lambda: self.settings.request_timeout_ms,
        )
        """Decides what this broker itself wants, wherever the controller is."""
        self.producer_ids = ProducerIds(
            self.broker_id,
            lambda: self.controller.registered_epoch,
            self.any_controller,
            self.logs.producer_ids(),
        )

    def _make_coordinators(self, surroundings: Surroundings) -> None:
        """Make the coordinators of groups and transactions, and what makes topics."""
        layers, replicas = self.layers, self.replicas
        self.auto_creation = AutoCreation(self.image, self.any_controller, self.topic_purgatory, self.clock)
        """Makes topics that clients name."""
        making = TopicMaking(
            self.image,
            self.any_controller,
            self.topic_purgatory,
            self.clock,
            self._run_steps,
            surroundings.cluster_brokers,
        )
        self.groups = GroupHost(surroundings, making, replicas, lambda: layers.in_force, self.slices)
        self.transactions = TransactionHost(
            self.broker_id,
            surroundings,
            making,
            replicas,
            lambda: layers.in_force,
            producer_ids=self.producer_ids,
            groups=self.groups,
            slices=self.slices,
            log_of=self.logs.get,
        )
        self.coordinating_topics: Mapping[int, InternalTopic] = {
            GROUP_KEY_TYPE: self.groups.topic,
            TRANSACTION_KEY_TYPE: self.transactions.topic,
        }
        """The internal topic of each coordinator, by FindCoordinator's key type."""

    def _make_fetchers(self, surroundings: Surroundings) -> None:
        """Make the fetchers, and the part that brings their truncations to disk."""
        layers, controller = self.layers, self.controller
        settling = TruncationSettling(
            self.logs,
            self.group_flush,
            self.checkpoints,
            self._run_steps,
            self.defer,
            lambda topic_partition: self.fetchers.on_settled(topic_partition),
        )
        self.fetchers = ReplicaFetchers(
            self.broker_id,
            Following(self.replicas, self.logs, settling.want, self.defer, log_cut_records),
            surroundings.connect_peers,
            settings=lambda: layers.in_force,
            broker_epoch=lambda: controller.registered_epoch,
            timer=self.timer,
            slices=self.slices,
            defer=self.defer,
            on_cut=_checkpoint_writer(self.checkpoints, self._run_steps),
            quota=self.replication_quotas.follower,
        )
        """Fetches from the leaders of the partitions that this broker follows."""
        self.hand_over = HandOver(
            self.broker_id,
            self.any_controller,
            controller,
            self.store_session,
            self.fetchers,
            self.image,
            self.timer,
            self.defer,
            lambda: layers.in_force,
            self._all_stop,
        )
        """Moves the leaderships of this broker to others before it stops."""

    def _make_received_orders(self) -> None:
        """Make the part that obeys the controller's orders, after all parts that the orders change."""
        layers, controller = self.layers, self.controller
        self.settings_in_force = SettingsInForce(
            self.broker_id, layers, self.image, self.logs, self.slices, self.clock
        )
        """Puts the settings that the controller's orders change in force."""
        self.received_orders = ReceivedOrders(
            self.broker_id,
            self.image,
            self.replicas,
            self.topic_purgatory,
            self.slices,
            self.defer,
            lambda: controller.least_epoch,
            settings=self.settings_in_force,
            groups=self.groups,
            transactions=self.transactions,
            fetchers=self.fetchers,
            confirmed_roles=self.confirmed_roles,
        )
        """The controller's orders to this broker; obeys them one after another."""

    def purgatories(self) -> tuple[Purgatory[Any], ...]:
        """Everything in which operations wait, for metrics and listings (D7)."""
        return (*self.replicas.purgatories.all(), self.topic_purgatory, *self.groups.purgatories())

    @property
    def settings(self) -> BrokerSettings:
        """The settings in force now; callers must not keep them."""
        return self.layers.in_force

    @property
    def admission(self) -> "TransactionAdmission":
        """Admits transactional writes; see `TransactionHost.admission`."""
        return self.transactions.admission

    # --- lookups for handlers

    def topic_name(self, topic_id: TopicId) -> str | None:
        """The name of the topic with this id; None if it is unknown here or the topic is being deleted."""
        topic = self.image.topic_by_id(topic_id)
        return None if topic is None else topic.name

    def served_topic_name(self, topic_id: TopicId) -> str | None:
        """The name of the topic with this id if its records may be served here; else None.

        A broker may lead a new topic, and its followers fetch by the id, before UpdateMetadata names it here.
        """
        return self.topic_name(topic_id) or self.replicas.topic_name(topic_id)

    def topic_config(self, topic: str) -> TopicConfig:
        """The settings in force for a topic."""
        return self.layers.topic_config(self.image.topic_config(topic))

    def wait_ms(self, wanted_ms: int) -> int:
        """How long a request may wait: at most as long as its connection may be idle."""
        idle_ms = self.layers.in_force.connections_max_idle_ms
        return min(wanted_ms, idle_ms) if idle_ms >= 0 else wanted_ms

    def endpoint(self, broker_id: BrokerId, listener: str) -> Endpoint | None:
        """A broker's address on that listener; None while the broker is not live on it."""
        broker = self.image.brokers.get(broker_id)
        return None if broker is None else broker.endpoint(listener)

    def registered(self, broker_id: BrokerId) -> BrokerImage | None:
        """A broker as it has registered; None if it is not live.

        The controller knows a broker before any order tells this broker of it, and sends orders to it.
        """
        controlled = self.controller.controlled
        known = None if controlled is None else controlled.brokers.get(broker_id)
        return self.image.brokers.get(broker_id) if known is None else known

    # --- decisions of the controller

    def decide(
        self, context: RequestContext, request: ControllerRequest, decided: Callable[[Answer], None]
    ) -> None:
        """Let this broker's controller decide for a client's request; `decided` is called once, later.

        Where another broker is the controller, `RequestContext.when_moved` is called instead, if it is given.
        """

        def answered(answer: Answer) -> None:
            has_moved = isinstance(answer, Refused) and answer.error is ErrorCode.NOT_CONTROLLER
            if has_moved and context.when_moved is not None:
                context.when_moved()
            else:
                decided(answer)

        self.controller.submit(request, answered)

    @property
    def controller_id(self) -> BrokerId:
        """The controller, as clients are told; NO_BROKER if none is known.

        A broker that has lost the metadata store for its session timeout would not learn of the next one. A
        shorter loss changes nothing: the session goes on, and clients keep the controller that they know.
        """
        if self.store_session.is_lost(self.settings.store_session_timeout_ms):
            return NO_BROKER
        return known_controller(self.broker_id, self.controller, self.image)

    def asked_of(self, context: RequestContext) -> BrokerId:
        """The broker to which the client has sent the request."""
        return self.broker_id if context.forwarded_by is None else context.forwarded_by

    # --- the controllers' side

    @property
    def broker_epoch(self) -> int | None:
        """The epoch of this broker's registration; None before the first UpdateMetadata for it."""
        epoch = self.received_orders.acknowledged_epoch
        return None if epoch == NO_EPOCH else epoch


def _checkpoint_writer(checkpoints: Checkpoints, run_steps: RunSteps) -> Callable[[], None]:
    """X3: returns the callback for logs that were truncated: their start may have changed.

    Their recovery points are written before anything is appended (X6, `truncation_settling`).
    """
    return lambda: run_steps(checkpoints.write_log_start_offsets())


def _not_done(error: Exception) -> None:
    """A bug of ours."""
    _log.error("work in slices was not finished", exc_info=error)


def _controller_settings(layers: SettingLayers) -> ControllerSettings:
    """The settings that are fixed at the start; the controller reads those that change from its image."""
    settings = SettingLayers(layers.static).in_force
    return ControllerSettings(
        num_partitions=settings.num_partitions,
        default_replication_factor=settings.default_replication_factor,
        delete_topic_enable=settings.delete_topic_enable,
        unclean_leader_election_enable=settings.unclean_leader_election_enable,
        min_insync_replicas=settings.min_insync_replicas,
        group_bounds=GroupBounds.of(settings),
    )
