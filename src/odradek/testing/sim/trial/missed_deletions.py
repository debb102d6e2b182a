"""Which compacted partitions have a replica that may have missed a deletion: that bounds what is promised.

A tombstone or a marker may be removed `delete.retention.ms` after the first cleaning that has no use for it.
A replica that was away for longer never gets it, and keeps what it would have deleted: a deleted key, or
records of an aborted transaction. So it is in Kafka, too.

    delete.retention.ms 5,000     broker 3 out of the ISR for 20,000 ms     it may have missed some
                                  a disk has lost its last records          likewise: they come again
    delete.retention.ms 1 day     no trial lasts as long                    it has missed nothing
"""

from __future__ import annotations

from collections.abc import Mapping

from odradek.base.ids import BrokerId, TopicPartition
from odradek.testing.sim.trial.cluster_view import ClusterView
from odradek.testing.sim.trial.disk_losses import DiskLosses
from odradek.testing.sim.trial.history import Place
from odradek.testing.sim.trial.plan import LOAD_MS, SETTLING_MS

RETENTION_SETTING = "log_cleaner_delete_retention_ms"


class MissedDeletions:
    """Watches who is out of the ISR, and for how long."""

    def __init__(self, view: ClusterView, losses: DiskLosses, settings: Mapping[str, str]) -> None:
        self._view = view
        self._losses = losses
        retention_ms = int(settings.get(RETENTION_SETTING, LOAD_MS + SETTLING_MS))
        # None: longer than any replica can be away.
        self._retention_ms = retention_ms if retention_ms < LOAD_MS + SETTLING_MS else None
        self._away_since: dict[tuple[TopicPartition, BrokerId], int] = {}
        # The partitions of which a replica was away for too long (the values mean nothing).
        self._missed: dict[TopicPartition, None] = {}

    def on_store(self) -> None:
        """Called when the store has changed."""
        if self._retention_ms is None:
            return
        now_ms = self._view.world.clock.monotonic_ms()
        for place, replicas, state in self._view.states():
            named = TopicPartition(place.topic, place.partition)
            for broker_id in replicas:
                if broker_id not in state.isr:
                    self._away_since.setdefault((named, broker_id), now_ms)
                    continue
                since_ms = self._away_since.pop((named, broker_id), None)
                if since_ms is not None and now_ms - since_ms >= self._retention_ms:
                    self._missed[named] = None

    def may_have_missed(self, place: Place) -> bool:
        """Whether a replica of this partition, if it is compacted, may lack a marker or a tombstone."""
        if self._retention_ms is None:
            return False
        return self._losses.has_lost or TopicPartition(place.topic, place.partition) in self._missed
