"""The controller's orders as this broker receives them: LeaderAndIsr, StopReplica, UpdateMetadata.

They are obeyed one after another, each in slices: an order that names ten thousand partitions makes ten
thousand logs, and other requests are served in between. Before any part of it is obeyed, an order has to pass
two fences:

    its controller epoch is below the one last obeyed    STALE_CONTROLLER_EPOCH (R5a)
    its broker epoch is below our registration's,        STALE_BROKER_EPOCH (R16): meant for an earlier one
      or is that of our former life, or below
    its broker epoch is above that                       obeyed: the controller knew our registration first

An order of this broker's own controller takes the same way as one from the network. Each outcome is reported
in an event of its own: whatever its receiver does or raises, the next order is obeyed.
"""

import logging
from collections import deque
from collections.abc import Callable, Generator
from dataclasses import replace
from functools import partial
from typing import Protocol, TypeAlias

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import Defer, Later, Slices, Steps
from odradek.base.ids import NO_EPOCH, BrokerId, TopicId, TopicPartition
from odradek.metadata.image import ClusterImage
from odradek.metadata.orders import (
    LeaderAndIsr,
    LogEnd,
    Order,
    OrderOutcome,
    StopReplica,
    StopReplicaPartition,
    UpdateMetadata,
    changes_from,
)
from odradek.metadata.orders_on_wire import TOPICS_PER_PART, OrderRequest, parts_of
from odradek.metadata.resources import (
    ResourceType,
    SettingsChanged,
    change_of,
    resources_with_overrides,
)
from odradek.replication.replica_manager import ReplicaManager
from odradek.replication.role_changes import RoleChanges
from odradek.server.node.confirmed_roles import ConfirmedRoles
from odradek.server.node.joining_news import JoiningNews
from odradek.server.node.order_remarks import OrderRemarks
from odradek.timer import Purgatory
from odradek.wire.messages.leader_and_isr import LeaderAndIsrRequest

_log = logging.getLogger(__name__)

Obeyed: TypeAlias = Later[OrderOutcome]
"""Called with the outcome of an order."""


class RoleObserver(Protocol):
    """A coordinator or the fetchers, which must know the roles that orders assign."""

    def on_roles(self, changes: RoleChanges) -> None:
        """Called when partitions are led here, or are no longer led here."""


class CoordinatorObserver(RoleObserver, Protocol):
    """A coordinator, whose code is loaded when it is first needed."""

    def load_before_leading(self, topic: str) -> Steps[None]:
        """Load the code that a leader of this topic needs, in steps."""


class TopicObserver(CoordinatorObserver, Protocol):
    """A coordinator that keeps state by topic."""

    def on_topics_gone(self, topics: list[str]) -> None:
        """Called with the names of deleted topics."""

    def on_topics(self) -> None:
        """Called when topics were created or deleted, or got more partitions."""


class ImageObserver(CoordinatorObserver, Protocol):
    """A coordinator that treats a topic which the image does not have as a deleted topic."""

    def on_topics_known(self) -> None:
        """Called when the image has every topic: the controller sends all facts before the first role."""


class SettingsApplier(Protocol):
    """What puts changed settings in force."""

    def apply(self, change: SettingsChanged) -> None:
        """Apply a change to the image, and put it in force."""


class ReceivedOrders:
    """Queues the orders that this broker has received, and obeys them."""

    def __init__(
        self,
        broker_id: BrokerId,
        image: ClusterImage,
        replicas: ReplicaManager,
        topic_purgatory: Purgatory[str],
        slices: Slices,
        defer: Defer,
        least_epoch: Callable[[], int],
        *,
        settings: SettingsApplier,
        groups: TopicObserver,
        transactions: ImageObserver,
        fetchers: RoleObserver,
        confirmed_roles: ConfirmedRoles,
    ) -> None:
        """`least_epoch` returns the broker epoch below which orders are for an earlier registration."""
        self._broker_id = broker_id
        self._image = image
        self._replicas = replicas
        self._topic_purgatory = topic_purgatory
        self._slices = slices
        self._defer = defer
        self._least_epoch = least_epoch
        self._settings = settings
        self._groups = groups
        self._transactions = transactions
        self._fetchers = fetchers
        self._confirmed_roles = confirmed_roles
        self.acknowledged_epoch = NO_EPOCH
        """The registration with which an UpdateMetadata last named this broker live; NO_EPOCH before that."""
        self.has_roles = False
        """Whether a LeaderAndIsr was obeyed since the start."""
        self.joining_news = JoiningNews(broker_id)
        """What this broker has yet to hear before it has joined."""
        # The orders after the current one, oldest first; empty unless `is_at_work`.
        self._waiting: deque[tuple[OrderRequest, Obeyed]] = deque()
        self.is_at_work = False
        """Whether an order is being obeyed; the image may have a part of it."""
        # Topics that the current order has removed; empty between orders.
        self._gone_topics: list[str] = []
        self._remarks = OrderRemarks(_log)
        # Whether the current order has created or removed a topic, or added partitions to one.
        self._have_topics_changed = False

    def receive(self, request: OrderRequest, obeyed: Obeyed) -> None:
        """Obey an order after all earlier ones; `obeyed` is called once, never before this returns."""
        self._waiting.append((request, obeyed))
        if not self.is_at_work:
            self.is_at_work = True
            self._slices.run(self._steps(), _not_handed_out)

    def _steps(self) -> Steps[None]:
        try:
            while self._waiting:
                request, obeyed = self._waiting.popleft()
                outcome = yield from self._outcome_of(request)
                self._defer(partial(obeyed, outcome))
        finally:
            self.is_at_work = False

    def _outcome_of(self, request: OrderRequest) -> Generator[None, None, OrderOutcome]:
        try:
            return (yield from self._obey(request))
        except Exception:  # a bug of ours, reported to the controller
            _log.exception("%s could not be obeyed", type(request).__name__)
            return OrderOutcome(ErrorCode.UNKNOWN_SERVER_ERROR)

    def _obey(self, request: OrderRequest) -> Generator[None, None, OrderOutcome]:
        refusal = self._refusal_of(request)
        if refusal is not ErrorCode.NONE:
            _log.warning(
                "%s of controller %d, epoch %d, for broker epoch %d: refused with %s",
                type(request).__name__,
                request.controller_id,
                request.controller_epoch,
                request.broker_epoch,
                refusal.name,
            )
            return OrderOutcome(refusal)
        errors: dict[TopicPartition, ErrorCode] = {}
        log_ends: dict[TopicPartition, LogEnd] = {}
        is_first_news = False
        try:
            for part in parts_of(request):
                if isinstance(part, UpdateMetadata) and part.all_topics is not None:
                    is_first_news = True
                    self.joining_news.on_all_topics(part.all_topics, self._image)
                    yield from self._forget_others(part)
                if isinstance(part, LeaderAndIsr):
                    yield from self._load_coordinators(part)
                if part is not None:
                    changes = self._apply(part)
                    if changes.error_code is not ErrorCode.NONE:
                        return OrderOutcome(changes.error_code)
                    errors.update(changes.partition_errors)
                    log_ends.update(changes.log_ends)
                yield
        finally:
            self._remarks.log(self._gone_topics, is_first_news=is_first_news)
            self._report_topics()
        self.has_roles |= isinstance(request, LeaderAndIsrRequest)
        self.joining_news.on_obeyed()
        return OrderOutcome(ErrorCode.NONE, errors, log_ends)

    def _refusal_of(self, request: OrderRequest) -> ErrorCode:
        obeyed_epoch = max(self._replicas.controller_epoch, self._image.controller_epoch)
        if request.controller_epoch < obeyed_epoch:
            return ErrorCode.STALE_CONTROLLER_EPOCH
        if NO_EPOCH != request.broker_epoch < self._least_epoch():
            return ErrorCode.STALE_BROKER_EPOCH
        return ErrorCode.NONE

    def _load_coordinators(self, order: LeaderAndIsr) -> Steps[None]:
        """Load what a coordinator needs that will lead one of these partitions."""
        led = dict.fromkeys(
            partition.topic_partition.topic
            for partition in order.partitions
            if partition.state.leader == self._broker_id
        )
        for topic in led:
            yield from self._groups.load_before_leading(topic)
            yield from self._transactions.load_before_leading(topic)

    def _apply(self, order: Order) -> RoleChanges:
        match order:
            case UpdateMetadata():
                self._update_metadata(order)
                stop = self._moved_away(order)
                if not stop.partitions:
                    return RoleChanges()
                changes = self._replicas.stop_replica(stop)
            case LeaderAndIsr():
                if self.acknowledged_epoch != NO_EPOCH:
                    self._transactions.on_topics_known()
                changes = self._replicas.become_leader_or_follower(order)
                self.joining_news.on_roles(changes.partition_errors)
            case StopReplica():
                changes = self._replicas.stop_replica(order)
        self._fetchers.on_roles(changes)
        self._groups.on_roles(changes)
        self._transactions.on_roles(changes)
        if isinstance(order, LeaderAndIsr):
            self._confirmed_roles.on_roles(changes.partition_errors, order.broker_epoch)
        if self.has_roles:
            self._remarks.note_roles(changes)
        return changes

    def _moved_away(self, order: UpdateMetadata) -> StopReplica:
        """The order to delete the replicas that this broker has and is not to have any more.

        The controller sends it, too, but a controller may die before: then the facts that the next one sends
        to all are the only news of it.
        """
        stops: list[StopReplicaPartition] = []
        for topic in order.topics:
            for number, state in topic.partitions.items():
                if self._broker_id not in state.replicas:
                    named = TopicPartition(topic.name, number)
                    partition = self._replicas.partition(named)
                    if partition is not None and partition.leader_epoch < state.leader_epoch:
                        stops.append(StopReplicaPartition(named, state.leader_epoch, delete=True))
        return StopReplica(order.controller_id, order.controller_epoch, order.broker_epoch, tuple(stops))

    def _forget_others(self, order: UpdateMetadata) -> Steps[None]:
        """Forget the topics and overrides deleted while this broker was not registered and got no orders."""
        there_are = frozenset(order.all_topics or ())
        gone = [name for name in self._image.topics if name not in there_are]
        for begin in range(0, len(gone), TOPICS_PER_PART):
            self._update_metadata(replace(order, gone_topics=tuple(gone[begin : begin + TOPICS_PER_PART])))
            yield
        configured = frozenset(order.all_configured)
        for resource in [one for one in resources_with_overrides(self._image) if one not in configured]:
            change = change_of(resource, {})
            if resource.resource_type is ResourceType.TOPIC and resource.name not in there_are:
                self._image.apply(change)  # its logs keep their settings until StopReplica deletes them
            else:
                self._settings.apply(change)
            yield

    def _update_metadata(self, order: UpdateMetadata) -> None:
        self.joining_news.on_facts(order)
        named = [*(topic.name for topic in order.topics), *order.gone_topics]
        shapes_before = [self._shape(name) for name in named]
        for change in changes_from(order, self._image):
            if isinstance(change, SettingsChanged):
                self._settings.apply(change)
            else:
                self._image.apply(change)
        if self._image.is_live(self._broker_id):
            self.acknowledged_epoch = max(self.acknowledged_epoch, order.broker_epoch)
        for name in named:
            self._topic_purgatory.check_and_complete(name)
        self._gone_topics += order.gone_topics
        shapes = [self._shape(name) for name in named]
        self._have_topics_changed |= shapes_before != shapes
        self._remarks.note_new_topics(
            name
            for name, before, now in zip(named, shapes_before, shapes, strict=True)
            if before is None and now is not None
        )

    def _report_topics(self) -> None:
        """Called after an order is obeyed: give the names of all its topics to the groups, once."""
        gone, self._gone_topics = self._gone_topics, []
        if gone:
            self._groups.on_topics_gone(gone)
        if self._have_topics_changed:
            self._have_topics_changed = False
            self._groups.on_topics()

    def _shape(self, name: str) -> tuple[TopicId, int] | None:
        """The id of the topic with that name and its number of partitions, without leaders and replicas."""
        topic = self._image.topic(name)
        return None if topic is None else (topic.topic_id, len(topic.partitions))


def _not_handed_out(error: Exception) -> None:
    """The outcome of the current order could not be reported; the next order that arrives starts anew."""
    _log.error("the outcome of an order could not be handed out", exc_info=error)
