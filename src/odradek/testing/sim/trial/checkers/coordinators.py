"""Groups and transactional ids are known where their partition is led, and nowhere else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from odradek.base.ids import TopicPartition
from odradek.server.node.coordinators.internal_topic import InternalTopic
from odradek.testing.sim.node import SimNode
from odradek.testing.sim.trial.checkers.checker import Checker

Kept: TypeAlias = tuple[str, str, InternalTopic]
"""What it is in words, its id, and the topic that it is written to."""


class CoordinatorsLead(Checker):
    """R19: a coordinator forgets what it coordinated when it leads the partition no longer.

    Else it answers with what another broker has changed since, as soon as it leads again.
    """

    NAME = "groups and transactions are kept where their partition is led"

    def conclude(self) -> None:
        """See `Checker.conclude`; while brokers change their roles both may have them for a moment."""
        for node in self.scene.view.living():
            if node.is_serving:
                for what, its_id, topic in _kept(node):
                    self._check(node, what, its_id, topic)

    def _check(self, node: SimNode, what: str, its_id: str, topic: InternalTopic) -> None:
        topic_partition = TopicPartition(topic.name, topic.partition_of(its_id))
        partition = node.core.replicas.partition(topic_partition)
        if partition is None or partition.leadership is None:
            self.violated(
                (topic_partition, node.broker_id, its_id),
                f"broker {node.broker_id} has the {what} {its_id}, and does not lead {topic_partition}",
            )


def _kept(node: SimNode) -> Iterator[Kept]:
    groups, transactions = node.core.groups, node.core.transactions
    for group in groups.describe():
        yield "group", group["group"], groups.topic
    for transaction in transactions.describe():
        yield "transactional id", transaction["transactional_id"], transactions.topic
