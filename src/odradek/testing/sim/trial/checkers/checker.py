"""What checkers have in common: they look at a world from outside, and say what must never be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.base.ids import BrokerId, TopicPartition
from odradek.base.values import value
from odradek.replication import ReplicatedLog
from odradek.testing.sim.trial.groups import Groups
from odradek.testing.sim.trial.history import History, Place
from odradek.testing.sim.trial.missed_deletions import MissedDeletions
from odradek.testing.sim.trial.plan import Plan
from odradek.testing.sim.trial.transactions import Transactions

if TYPE_CHECKING:
    from odradek.testing.sim.trial.cluster_view import ClusterView
    from odradek.testing.sim.trial.disk_losses import DiskLosses


@value
class Violation:
    """Something that must never be."""

    checker: str
    at_ms: int
    words: str
    topic_partition: TopicPartition | None = None
    """The partition that it is about; None if it is about no single one."""

    def __str__(self) -> str:
        return f"{self.checker}: {self.words} (at {self.at_ms:,} ms)"


class Scene:
    """What checkers see."""

    def __init__(
        self,
        view: ClusterView,
        history: History,
        losses: DiskLosses,
        plan: Plan,
        groups: Groups | None = None,
        transactions: Transactions | None = None,
    ) -> None:
        self.view = view
        self.groups = Groups() if groups is None else groups
        self.history = history
        self.transactions = Transactions() if transactions is None else transactions
        self.losses = losses
        self.missed_deletions = MissedDeletions(view, losses, plan.broker_settings)
        self._topics = {topic.name: topic for topic in plan.topics}
        self._usual_min_isr = plan.topics[0].min_isr
        self._flushes_before_ack = plan.flushes_before_ack
        self._compacts = plan.has_transactions
        self.seed = plan.seed

    @property
    def has_transactions(self) -> bool:
        """Whether the trial's clients have transactions; else they have groups."""
        return self._compacts

    @property
    def now_ms(self) -> int:
        """The time of the world."""
        return self.view.world.clock.monotonic_ms()

    def is_promised(self, place: Place) -> bool:
        """Whether nothing that is committed in this partition may be lost.

        With min ISR 1 a single power loss may take it; that is all that Kafka promises there, too. Topics
        that come and go have as many replicas as there are brokers.
        """
        topic = self._topics.get(place.topic)
        return topic is None or topic.min_isr > 1 or not self.losses.has_lost

    def may_wait(self, place: Place) -> bool:
        """Whether this partition may stay without a leader: the disk of its last one is empty (R15e).

        It waits until an operator elects one uncleanly. With min ISR 2 another replica has everything.
        """
        topic = self._topics.get(place.topic)
        if topic is None or topic.min_isr > 1:
            return False
        replicas = {
            broker_id for each, found, _ in self.view.states() if each == place for broker_id in found
        }
        return not replicas.isdisjoint(self.losses.emptied)

    def is_compacted(self, log: ReplicatedLog) -> bool:
        """Whether compaction removes records of a log; so replicas differ in what is left."""
        return self._compacts and "compact" in log.config.cleanup_policy

    def keeps_deletions(self, place: Place, log: ReplicatedLog) -> bool:
        """Whether every replica of a partition has got all that deletes or ends something in it."""
        return not (self.is_compacted(log) and self.missed_deletions.may_have_missed(place))

    def takes_transactions(self, place: Place) -> bool:
        """Whether transactional producers write to this partition; nothing of it is ever lost."""
        topic = self._topics.get(place.topic)
        return topic is not None and topic.is_replicated

    def is_lasting(self, place: Place) -> bool:
        """Whether nobody deletes this partition's topic: it exists from the beginning to the end."""
        return place.topic in self._topics

    def keeps_acknowledged(self, place: Place) -> bool:
        """Whether nothing that acks=all has acknowledged in this partition may be lost.

        A single replica with `odradek.log.flush.before.ack` keeps that unless its disk is lost, and may
        lose what it did not answer.
        """
        topic = self._topics.get(place.topic)
        is_on_disk = self._flushes_before_ack and topic is not None and topic.replicas == 1
        return (is_on_disk and not self.losses.emptied) or self.is_promised(place)

    def min_isr(self, topic: str) -> int:
        """The `min.insync.replicas` of a topic; topics that come and go have that of the plan's first one."""
        planned = self._topics.get(topic)
        return self._usual_min_isr if planned is None else planned.min_isr


class Checker:
    """One named property.

    `look` is called again and again, `on_store` after each step that has changed the store, `conclude` once,
    when the cluster has settled.
    """

    NAME: str
    """What is true where the checker finds nothing."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.found: dict[str, Violation] = {}
        """The first violation of each kind, by what it is about."""

    def look(self) -> None:
        """Compare what is there now."""

    def on_store(self) -> None:
        """Compare the store with what it was before."""

    def conclude(self) -> None:
        """Compare what is there at the end."""

    def violated(self, about: object, words: str) -> None:
        """Note a violation; of those about the same thing only the first one is kept."""
        first = about[0] if isinstance(about, tuple) else about
        named = first if isinstance(first, TopicPartition) else None
        if isinstance(first, Place):
            named = TopicPartition(first.topic, first.partition)
        self.found.setdefault(str(about), Violation(self.NAME, self.scene.now_ms, words, named))


def brokers_text(broker_ids: list[BrokerId] | tuple[BrokerId, ...]) -> str:
    """Broker ids for a sentence: "1, 2"."""
    return ", ".join(map(str, broker_ids)) or "none"
