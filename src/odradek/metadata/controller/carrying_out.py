"""Carries decisions out: the writes in batches, then the image's changes, then the orders to brokers.

Decisions that follow one another share a write, as long as it is small; when it fails, each of them is
written alone, so that one subject's failure is only its own. What does not fit into one write, a topic with
very many partitions, takes several: its own node first, so that a controller that finds it half-written (the
next one) knows what is missing and creates it.

    CreateTopics(a, b)     Multi(a, b)
    CreateTopics(a, b)     Multi(a, b) fails, for b is there; Multi(a), Multi(b): b answers the conflict
    CreateTopics(wide)     Multi(wide and its first partitions), Multi(more of them), Multi(more of them), ...
"""

from dataclasses import replace
from itertools import chain, islice
from typing import Final, TypeVar

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import Pace
from odradek.base.ids import TopicPartition
from odradek.metadata.controller.controlled_cluster import ControlledCluster
from odradek.metadata.controller.decision import Decision, Decisions
from odradek.metadata.controller.deletions import TopicDeletions
from odradek.metadata.controller.requests import ResourceOutcome, TopicOutcome
from odradek.metadata.image import (
    BrokerConfigChanged,
    Change,
    GroupConfigChanged,
    PartitionChanged,
    TopicConfigChanged,
    TopicCreated,
    TopicDeletionBegan,
)
from odradek.metadata.resources import resource_of
from odradek.metadata.store import Failed, Fault, StoreRefused, StoreSteps

ITEMS_PER_DECISION: Final = 5
"""What it costs to decide one subject, in items of `pace.Pace`."""

Outcome = TypeVar("Outcome", TopicOutcome, ResourceOutcome)


class CarryingOut:
    """Carries out the decisions of one elected controller."""

    def __init__(self, cluster: ControlledCluster, deletions: TopicDeletions) -> None:
        self._cluster = cluster
        self._deletions = deletions

    def carry_out(
        self, decisions: Decisions[Outcome], conflict: ErrorCode
    ) -> StoreSteps[tuple[Outcome, ...]]:
        """Do what is decided, subject by subject; one whose node is there already answers `conflict`.

        A decision is taken from `decisions` when its turn comes.
        """
        outcomes: list[Outcome] = []
        batch: list[Decision[Outcome]] = []
        writes = 0
        pace = Pace()
        for decided in decisions:
            if decided is None:
                yield None
                continue
            if pace.is_over(ITEMS_PER_DECISION):
                yield None
            decision = self._fitted(decided)
            if batch and writes + len(decision.writes) > self._cluster.writes.most:
                outcomes += yield from self._carry_out_batch(batch, conflict)
                batch, writes = [], 0
            batch.append(decision)
            writes += len(decision.writes)
        if batch:
            outcomes += yield from self._carry_out_batch(batch, conflict)
        return tuple(outcomes)

    def _fitted(self, decision: Decision[Outcome]) -> Decision[Outcome]:
        """The decision with no more in its first write than the store takes; the rest follows it."""
        most, writes = self._cluster.writes.most, decision.writes
        if len(writes) <= most:
            return decision
        return replace(decision, writes=writes[:most], more_writes=chain(writes[most:], decision.more_writes))

    def _carry_out_batch(
        self, batch: list[Decision[Outcome]], conflict: ErrorCode
    ) -> StoreSteps[list[Outcome]]:
        outcomes: list[Outcome] = []
        failed: Failed | None = None
        if len(batch) > 1:
            writes = [write for decision in batch for write in decision.writes]
            if writes:
                failed = yield from self._cluster.writes.commit(writes, expect_new=True)
        pace = Pace()
        for decision in batch:
            if pace.is_over(ITEMS_PER_DECISION):
                yield None
            if decision.writes and (failed is not None or len(batch) == 1):
                refused = yield from self._cluster.writes.commit(decision.writes)
                if refused is not None:
                    outcomes.append(_failure(decision.outcome, refused, conflict))
                    continue
            yield from self._finish(decision)
            outcomes.append(decision.outcome)
        return outcomes

    def _finish(self, decision: Decision[Outcome]) -> StoreSteps[None]:
        """Write what did not fit into the first write, then apply the decision to the image."""
        rest = iter(decision.more_writes)
        while writes := tuple(islice(rest, self._cluster.writes.most)):
            failed = yield from self._cluster.writes.commit(writes)
            if failed is not None:
                # Half of the subject is in the store: only reading it again shows its present state.
                raise StoreRefused(failed)
        self._cluster.apply(*decision.changes)
        for change in decision.changes:
            yield from self._note(change)

    def _note(self, change: Change) -> StoreSteps[None]:
        """Note the brokers' orders for a change that was decided."""
        image, orders = self._cluster.image, self._cluster.orders
        match change:
            case TopicCreated(name, _, partitions):
                pace = Pace()
                for number in partitions:
                    orders.partition_changed(image, TopicPartition(name, number), is_new=True)
                    if pace.is_over():
                        yield None
            case PartitionChanged(topic, number, _):
                orders.partition_changed(image, TopicPartition(topic, number), is_new=True)
            case TopicConfigChanged() | BrokerConfigChanged() | GroupConfigChanged():
                orders.settings_changed(resource_of(change))
            case TopicDeletionBegan(name):
                yield from self._deletions.start(name)


def _failure(outcome: Outcome, failed: Failed, conflict: ErrorCode) -> Outcome:
    error = conflict if failed.fault is Fault.NODE_EXISTS else ErrorCode.UNKNOWN_SERVER_ERROR
    return replace(outcome, error=error, message=failed.fault.value)
