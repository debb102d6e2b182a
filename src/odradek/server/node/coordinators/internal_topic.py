"""The topic in which a coordinator keeps its state, made on first need; its leaders are the coordinators.

    find("g1")     the topic is there          → the leader of the key's partition
    find("g1")     the topic is not there      → it is made; answered when its partitions have leaders here
    find("g2")     while it is being made      → waits for the same creation, also for that of another broker
    find("g3")     too few brokers live        → COORDINATOR_NOT_AVAILABLE (R17)

It is made with as many replicas as its setting asks for, but not with more than the cluster is meant to have
brokers: a single broker has one replica of it, whatever Kafka's default. It never has fewer because brokers
are down when it is made: then it would stay so.

Kafka answers COORDINATOR_NOT_AVAILABLE while the topic is made, and clients retry after a pause; an answer
that waits for the topic lets a client read or write its first record sooner.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from odradek.base.clock import Clock
from odradek.base.error_codes import ErrorCode
from odradek.base.execution import Later, RunSteps, Steps, deliver
from odradek.base.ids import NO_BROKER, BrokerId
from odradek.coordinator.placement import partition_for
from odradek.metadata.controller.requests import (
    Answer,
    CreateTopics,
    NewTopic,
    Refused,
    TopicOutcome,
    TopicOutcomes,
)
from odradek.metadata.image import ClusterImage
from odradek.server.node.forwarding.any_controller import ControllerPort
from odradek.server.node.topic_waits import DelayedCreatePartitions, DelayedCreateTopics, Late
from odradek.timer import Purgatory

TOPIC_WAIT_MS: Final = 5_000
"""How long requests wait for the topic; the creation continues after that."""
ASKERS_MAX: Final = 10_000
"""How many requests may wait at once; further requests are answered COORDINATOR_NOT_AVAILABLE."""

_Asker: TypeAlias = tuple[str, Later[BrokerId | ErrorCode]]
"""The key whose coordinator is asked for, and where the answer goes."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class InternalTopicSpec:
    """The configuration of the topic when it is made."""

    name: str
    partition_count: int
    # At most as many replicas as the cluster is meant to have brokers.
    replication_factor: int
    replication_setting: str
    """The name of the setting that says so."""
    configs: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class TopicMaking:
    """The parts that an internal topic uses to make itself and to wait until it is made."""

    image: ClusterImage
    controller: ControllerPort
    waits: Purgatory[str]
    """The purgatory of operations that wait for topics (G3)."""
    clock: Clock
    run_steps: RunSteps
    """Runs the answers to requests that have waited: one request may ask for very many keys."""
    cluster_brokers: Callable[[], int | None]
    """How many brokers the cluster is meant to have; None if that is not known."""


class InternalTopic:
    """One internal topic; finds the coordinator of a key."""

    def __init__(self, making: TopicMaking, spec: InternalTopicSpec) -> None:
        self._making = making
        self._image = making.image
        self.spec = spec
        # The requests that wait for the topic, oldest first; empty unless it is being made.
        self._askers: list[_Asker] = []
        # Whether the controller has been asked to create the topic, and the topic does not exist yet.
        self._is_making = False
        # Why the topic could not be made, as logged last; not logged again, because clients keep retrying.
        self._refusal = ""

    @property
    def name(self) -> str:
        """The topic's name."""
        return self.spec.name

    @property
    def refusal(self) -> str:
        """Why the topic is not there, if it could not be made; else ""."""
        return "" if self._image.topic(self.name) is not None else self._refusal

    @property
    def partition_count(self) -> int:
        """How many partitions the topic has, or will have."""
        topic = self._image.topic(self.name)
        return self.spec.partition_count if topic is None else len(topic.partitions)

    def partition_of(self, key: str) -> int:
        """The partition whose leader coordinates `key`."""
        return partition_for(key, self.partition_count)

    def find(self, key: str, later: Later[BrokerId | ErrorCode]) -> BrokerId | ErrorCode | None:
        """Returns the coordinator of `key` or COORDINATOR_NOT_AVAILABLE; makes the topic if it is missing."""
        if self._image.topic(self.name) is not None:
            return self.coordinator_of(key)
        if not self._is_making:
            if not self._has_brokers():
                return ErrorCode.COORDINATOR_NOT_AVAILABLE
            self._is_making = True
            self._make()
        if len(self._askers) >= ASKERS_MAX:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        self._askers.append((key, later))
        return None

    def coordinator_of(self, key: str) -> BrokerId | ErrorCode:
        """The coordinator of `key` as this broker knows it, or COORDINATOR_NOT_AVAILABLE."""
        leader = self.leader_of(key)
        return leader if self._image.is_live(leader) else ErrorCode.COORDINATOR_NOT_AVAILABLE

    def leader_of(self, key: str) -> BrokerId:
        """The leader of the partition of `key`, whether it lives or not; NO_BROKER if none is known."""
        topic = self._image.topic(self.name)
        state = None if topic is None else topic.partitions.get(self.partition_of(key))
        return NO_BROKER if state is None else state.leader

    @property
    def _replicas(self) -> int:
        meant = self._making.cluster_brokers()
        asked = self.spec.replication_factor
        return asked if meant is None else max(1, min(asked, meant))

    def _has_brokers(self) -> bool:
        """Whether enough brokers live for the topic's replicas; logs it if not."""
        replicas, brokers = self._replicas, len(self._image.brokers)
        if brokers < replicas:
            live = "1 broker lives" if brokers == 1 else f"{brokers} brokers live"
            self._log_reason(f"{self.spec.replication_setting} asks for {replicas} replicas, and {live}")
        return brokers >= replicas

    def _make(self) -> None:
        spec = self.spec
        topic = NewTopic(spec.name, spec.partition_count, self._replicas, configs=tuple(spec.configs.items()))
        self._making.controller.submit(CreateTopics((topic,)), self._decided)

    def _decided(self, answer: Answer) -> None:
        error = answer.topics[0].error if isinstance(answer, TopicOutcomes) else None
        making = self._making
        deadline_ms = making.clock.monotonic_ms() + TOPIC_WAIT_MS
        operation: DelayedCreateTopics | DelayedCreatePartitions
        if isinstance(answer, TopicOutcomes) and error is ErrorCode.NONE:
            created = {self.name: answer.topics[0].topic_id}
            operation = DelayedCreateTopics(deadline_ms, self._image, created, self._on_made)
        elif error is ErrorCode.TOPIC_ALREADY_EXISTS:  # another broker has made it at the same time
            least = {self.name: 1}
            operation = DelayedCreatePartitions(deadline_ms, self._image, least, self._on_made)
        else:
            self._log_refusal(answer)
            self._answer()
            return
        deliver(operation.park(making.waits, [self.name]), self._on_made)

    def _log_refusal(self, answer: Answer) -> None:
        """Log the refusal for operators: most clients show only that there is no coordinator."""
        outcome = answer.topics[0] if isinstance(answer, TopicOutcomes) else answer
        assert isinstance(outcome, TopicOutcome | Refused), "the answers to CreateTopics"
        self._log_reason(outcome.message or outcome.error.name)

    def _log_reason(self, reason: str) -> None:
        if reason != self._refusal:
            _log.error("%s cannot be made: %s", self.name, reason)
            self._refusal = reason

    def _on_made(self, late: Late) -> None:
        self._answer()

    def _answer(self) -> None:
        self._is_making = False
        askers, self._askers = self._askers, []
        self._making.run_steps(self._answer_each(askers))

    def _answer_each(self, askers: Sequence[_Asker]) -> Steps[None]:
        for key, later in askers:
            later(self.coordinator_of(key))
            yield
