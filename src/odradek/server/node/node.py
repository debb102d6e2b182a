"""One node: everything of a broker but its sockets, its threads and its loop.

This is the only composition root of a node. A broker's process, the tests and the simulator all construct
`Node`, each with its own `Surroundings`. Nothing here blocks: events come in, effects go out through the
ports.

    node = Node(Life(surroundings), layers, image, logs, handlers)   complete; not registered yet
    node.join(endpoints, joined)                                 it registers, and receives its orders
    node.serve()                                                 periodic work begins
    node.dispatcher.dispatch(connection, frame)                  requests of clients
    node.peer_dispatcher.dispatch(connection, frame)             requests of other brokers
    node.core.hand_over.begin(ended)                             it is to stop: others lead what it leads
    node.let_go()                                                it stops: waiting requests are answered
    node.life.end()                                              nothing of it runs any more
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from odradek.base.errors import OdradekError
from odradek.base.ids import NO_BROKER_EPOCH, BrokerId, TopicPartition
from odradek.base.settings import SettingLayers
from odradek.metadata.codec import LogDirsDocument
from odradek.metadata.image import BrokerImage, ClusterImage, Endpoint
from odradek.server.edge.context import Response
from odradek.server.edge.dispatch import Dispatcher, HandlerTable
from odradek.server.node.core import BrokerCore
from odradek.server.node.housekeeping import schedule_housekeeping
from odradek.server.node.life import Life
from odradek.server.node.schedule import Schedule
from odradek.storage import LogManager
from odradek.storage.expected_logs import Elsewhere, ExpectedLogs
from odradek.timer import Purgatory

if TYPE_CHECKING:
    from odradek.server.cleaning.cleaner_host import CleanerHost

_log = logging.getLogger(__name__)


class ServedHandlers(HandlerTable[BrokerCore], Protocol):
    """The APIs that a node serves."""

    def between_brokers(self) -> HandlerTable[BrokerCore]:
        """The same APIs, and those that only brokers may call."""

    def unsupported_api_versions(self) -> Response:
        """The answer to a version of ApiVersions itself that is not served, to be encoded as version 0."""


class Node:
    """One broker's state, requests, coordinators, controller and schedule; owned by one thread."""

    def __init__(
        self,
        life: Life,
        layers: SettingLayers,
        image: ClusterImage,
        logs: LogManager,
        handlers: ServedHandlers,
    ) -> None:
        """`image` is what the store holds at the start, and `logs` is open; see `stages.start`."""
        self.life = life
        """Ends when the broker has stopped, or crashed."""
        surroundings = life.surroundings
        self._surroundings = surroundings
        self.core = BrokerCore(surroundings, layers, image, logs)
        self.handlers = handlers
        """The APIs that are served."""
        self.requests = Dispatcher(
            self.core, handlers, handlers.unsupported_api_versions, surroundings.stalls
        )
        """Serves requests of clients; a test may interpose faults before its handlers."""
        self.dispatcher = life.dispatcher(self.requests)
        """Where frames of clients go."""
        self.peer_requests = Dispatcher(
            self.core, handlers.between_brokers(), handlers.unsupported_api_versions, surroundings.stalls
        )
        """Serves requests of the other brokers; a test may interpose faults there too."""
        self.peer_dispatcher = life.dispatcher(self.peer_requests)
        """Where frames of other brokers go, which may call more APIs (`ServedHandlers.between_brokers`)."""
        self.schedule = Schedule(surroundings.timer)
        """Periodic work; empty before `serve`."""
        self._cleaner: CleanerHost | None = None

    @property
    def cleaner(self) -> CleanerHost:
        """Compaction; created, and its code loaded, when housekeeping first looks for work."""
        if self._cleaner is None:
            self._cleaner = self._surroundings.stalls.load(self._make_cleaner)
        return self._cleaner

    def _make_cleaner(self) -> CleanerHost:
        from odradek.server.cleaning.cleaner_host import CleanerHost

        core = self.core
        return CleanerHost(
            core.logs,
            self._surroundings.cleaner_runner(),
            clock=core.clock,
            background=self._surroundings.background,
            defer=core.defer,
            settings=lambda: core.settings,
            settle_recovery_points=core.checkpoints.settle_recovery_points,
            settle_checkpoint=core.checkpoints.settle_cleaned_offsets,
            on_failed=core.replicas.directory_failed,
        )

    def join(self, endpoints: tuple[Endpoint, ...], joined: Callable[[OdradekError | None], None]) -> None:
        """Join the cluster under these addresses.

        `joined` is called with None when this broker has obeyed the orders for all that it is to lead, or
        with the error that prevents it from joining.
        """
        core, logs = self.core, self.core.logs
        registration = BrokerImage(
            core.broker_id,
            endpoints,
            core.settings.broker_rack,
            log_dir_ids=logs.directory_ids,
            clean_stop=logs.stopped_cleanly,
            missing_dir_ids=logs.report.missing_directories,
            boot_id=self._surroundings.boot_id if logs.is_as_it_was_left else "",
        )
        core.controller.start(registration, core.commanded, joined)

    def serve(self) -> None:
        """Begin the periodic work, after `joined`: the orders that let it join come first (R5a)."""
        schedule_housekeeping(
            self.core,
            self.schedule,
            self._surroundings.background,
            lambda: self.cleaner.look(),
            self._surroundings.on_finding,
        )
        self.core.log_mover.start()

    def let_go(self) -> None:
        """The broker stops: end the periodic work and answer every parked request with what it has so far."""
        self.schedule.close()
        core = self.core
        core.fetchers.close()
        core.log_mover.close()
        core.groups.resign_all()
        core.forwarding.close()
        core.transactions.close()
        parked: tuple[Purgatory[Any], ...] = (*core.replicas.purgatories.all(), core.topic_purgatory)
        for purgatory in parked:
            for operations in purgatory.watchers().values():
                for operation in operations:
                    operation.force_complete()

    def stop_compaction(self) -> None:
        """Drop all cleanings under way, and begin no more."""
        if self._cleaner is not None:
            self._cleaner.close()


def known_at_start(loaded: ClusterImage) -> ClusterImage:
    """The image at the start: settings only. Topics and brokers come with UpdateMetadata."""
    return ClusterImage(
        cluster_id=loaded.cluster_id,
        topic_configs=loaded.topic_configs,
        broker_configs=loaded.broker_configs,
        default_broker_config=loaded.default_broker_config,
        group_configs=loaded.group_configs,
    )


def expected_logs(loaded: ClusterImage, broker_id: BrokerId, last: LogDirsDocument | None) -> ExpectedLogs:
    """The logs that the store expects: from the whole image, and the controller's last view of the broker."""
    assigned = {
        TopicPartition(topic.name, number): (topic, partition)
        for topic in loaded.topics.values()
        for number, partition in topic.partitions.items()
        if broker_id in partition.replicas
    }
    return ExpectedLogs(
        {named: topic.topic_id for named, (topic, _) in assigned.items()},
        {topic.topic_id: topic.name for topic, _ in assigned.values()},
        [
            named
            for named, (_, partition) in assigned.items()
            if named.topic not in loaded.deleting
            and broker_id in (*partition.isr, *partition.elr, partition.last_known_leader)
        ],
        {named for named, (_, partition) in assigned.items() if partition.leader_epoch == 0},
        () if last is None else last.log_dir_ids,
        () if last is None else last.missing_dir_ids,
        NO_BROKER_EPOCH if last is None else last.broker_epoch,
        {
            (topic.topic_id, number): Elsewhere(
                partition.leader_epoch, all(replica in partition.isr for replica in partition.replicas)
            )
            for topic in loaded.topics.values()
            for number, partition in topic.partitions.items()
            if broker_id not in partition.replicas
        },
    )
