"""The host of a coordinator in its broker: its topic, its leaderships, and when it is created.

The host decides nothing: the coordinator decides what its clients may do, and the controller decides which
broker leads a partition. The coordinator is created, and its code is loaded, when the first request or
leadership needs it: otherwise that would take a good part of every start.
"""

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from odradek.base.errors import OdradekError
from odradek.base.execution import Slices, Steps
from odradek.base.ids import LeaderEpoch
from odradek.base.settings import BrokerSettings
from odradek.replication.replica_manager import ReplicaManager
from odradek.replication.role_changes import RoleChanges
from odradek.server.node.code_loading import load_modules
from odradek.server.node.coordinators.coordinator_log import CoordinatorLog
from odradek.server.node.coordinators.internal_topic import InternalTopic, InternalTopicSpec, TopicMaking
from odradek.server.node.ports import Surroundings

_log = logging.getLogger(__name__)


class Coordinator(Protocol):
    """A coordinator, which leads partitions of an internal topic."""

    def lead(self, partition: int, leader_epoch: LeaderEpoch, /) -> None:
        """This broker leads a partition from now on."""

    def resign(self, partition: int, /) -> None:
        """This broker no longer leads a partition."""

    def resign_lost(self) -> None:
        """A log directory went offline: resign the partitions that were in it."""


C = TypeVar("C", bound=Coordinator)


class CoordinatorHost(ABC, Generic[C]):
    """One coordinator of a broker, and what the coordinator needs."""

    def __init__(
        self,
        spec: InternalTopicSpec,
        surroundings: Surroundings,
        making: TopicMaking,
        replicas: ReplicaManager,
        settings: Callable[[], BrokerSettings],
        slices: Slices,
        *,
        last_module: str,
    ) -> None:
        """`last_module` is the coordinator's own, which imports all others of its code."""
        self.topic = InternalTopic(making, spec)
        """The internal topic: the leader of one of its partitions is the coordinator for that partition."""
        self._surroundings = surroundings
        self._image = making.image
        self._replicas = replicas
        self._settings = settings
        """Returns the settings in force."""
        self._slices = slices
        self._last_module = last_module
        self._made: C | None = None
        """None in a broker that has not needed the coordinator yet."""

    @property
    def coordinator(self) -> C:
        """The coordinator; created when it is first needed."""
        if self._made is None:
            log = CoordinatorLog(self._replicas)
            self._made = self._surroundings.stalls.load(lambda: self._make(log))
        return self._made

    def load_before_leading(self, topic: str) -> Steps[None]:
        """Load the coordinator's code in steps if a partition of `topic` will need it."""
        if self._made is None and topic == self.topic.spec.name:
            yield from load_modules(self._surroundings.stalls.load, self._last_module)

    @abstractmethod
    def _make(self, log: CoordinatorLog) -> C:
        """Load the coordinator's code and make it."""

    def on_roles(self, changes: RoleChanges) -> None:
        """Called when the controller gave partitions to this broker, or took them away."""
        for led in changes.leading:
            topic, partition = led.topic_partition
            if topic == self.topic.spec.name:
                self.coordinator.lead(partition, led.state.leader_epoch)
        if self._made is None:
            return
        for topic, partition in (*(part.topic_partition for part in changes.following), *changes.stopped):
            if topic == self.topic.spec.name:
                self._made.resign(partition)

    def resign_lost(self) -> None:
        """A log directory went offline: resign the partitions that were in it."""
        if self._made is not None:
            self._made.resign_lost()

    def _run_steps(self, work: Steps[None]) -> None:
        self._slices.run(work, self._log_failure)

    def _log_failure(self, error: Exception) -> None:
        if isinstance(error, OdradekError):
            _log.error("a partition of %s cannot be loaded: %s", self.topic.spec.name, error)
        else:
            _log.error("work on %s was not done", self.topic.spec.name, exc_info=error)
