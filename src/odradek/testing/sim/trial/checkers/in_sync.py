"""What the ISR and an acknowledgement promise, compared with what brokers truly hold.

the ISR of the store gets member 3    broker 3 has everything below the leader's HW at that moment (R3, R16)
acks=all is answered                  at least min ISR brokers have the records (P3, R7)
"""

from __future__ import annotations

from odradek.base.ids import NO_BROKER, BrokerId, Offset, TopicPartition
from odradek.metadata.codec import StateDocument
from odradek.storage import Log
from odradek.testing.sim.trial.checkers.checker import Checker, Scene, brokers_text
from odradek.testing.sim.trial.history import ACKS_ALL, Place, SentBatch


class MembersAreInSync(Checker):
    """P3, R3, R7, R16: see the module's head."""

    NAME = "members of the ISR are in sync"

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self._states: dict[Place, StateDocument] = {}
        # How many acknowledged batches were looked at.
        self._seen = 0

    def on_store(self) -> None:
        """See `Checker.on_store`."""
        states: dict[Place, StateDocument] = {}
        for place, _, state in self.scene.view.states():
            states[place] = state
            before = self._states.get(place)
            if before is not None and before is not state and state.leader_epoch == before.leader_epoch:
                for member in state.isr:
                    if member not in before.isr:
                        self._on_joined(place, member, state)
        self._states = states

    def _on_joined(self, place: Place, member: BrokerId, state: StateDocument) -> None:
        leader_log, log = self._log(state.leader, place), self._log(member, place)
        if leader_log is None or log is None or member in self.scene.losses.not_readmitted():
            return
        high_watermark = leader_log.high_watermark.offset
        if log.end_offset < high_watermark:
            self.violated(
                (place, member),
                f"broker {member} joined the ISR of {place} with its log up to {log.end_offset}; the high"
                f" watermark of its leader, broker {state.leader}, is {high_watermark}",
            )

    def look(self) -> None:
        """See `Checker.look`."""
        acknowledged = self.scene.history.acknowledged
        while self._seen < len(acknowledged):
            self._on_acknowledged(acknowledged[self._seen])
            self._seen += 1

    def _on_acknowledged(self, batch: SentBatch) -> None:
        """Whoever cannot be looked at is taken to have the records."""
        place, base_offset = batch.place, batch.acknowledged_at
        if batch.acks != ACKS_ALL or base_offset is None or base_offset < 0:
            return
        if not self.scene.is_promised(place):
            return
        named = TopicPartition(place.topic, place.partition)
        document = self.scene.view.all_topics().get(place.topic)
        if document is None or document.topic_id != place.topic_id:
            return
        replicas = document.assignment[named.partition]
        end = base_offset + batch.count
        lacking = [broker_id for broker_id in replicas if self._lacks(broker_id, place, end)]
        least = min(self.scene.min_isr(place.topic), len(replicas))
        if len(replicas) - len(lacking) < least:
            self.violated(
                (place, "acknowledged"),
                f"the records up to {end} of {place} were acknowledged to {batch.producer}, and brokers"
                f" {brokers_text(lacking)} do not have them",
            )

    def _lacks(self, broker_id: BrokerId, place: Place, end: Offset) -> bool:
        log = self._log(broker_id, place)
        return log is not None and log.end_offset < end and broker_id not in self.scene.losses.lacking()

    def _log(self, broker_id: BrokerId, place: Place) -> Log | None:
        """The log of a broker's latest life; None where it has none yet, or none of this topic."""
        if broker_id == NO_BROKER:
            return None
        node = self.scene.view.world.nodes[broker_id]
        log = node.logs.get(TopicPartition(place.topic, place.partition)) if node.has_opened else None
        return None if log is None or log.topic_id != place.topic_id else log
