"""Which disks have lost something that their brokers have not got back: it bounds what acks=all promises.

An acknowledged record is on at least min ISR disks, whose brokers are in the ISR or eligible to lead. So
fewer disks than min ISR may lose something at a time, and R15e keeps the record. A broker whose disk has lost
something counts as whole again when the controller has dealt with its new registration, and it has joined the
ISR of all its partitions anew.
"""

from __future__ import annotations

from odradek.base.ids import BrokerId
from odradek.metadata import codec, paths
from odradek.testing.sim.trial.cluster_view import ClusterView

LOSSES_MAX = 1
"""How many disks may lack something at once: min ISR 2, less one."""


class DiskLosses:
    """The power losses and the losses of disks of a trial."""

    def __init__(self, view: ClusterView) -> None:
        self._view = view
        # The brokers whose disks lack something (the values mean nothing).
        self._lacking: dict[BrokerId, None] = {}
        self.has_lost = False
        """Whether any disk has lost anything: topics with min ISR 1 are promised nothing then."""
        self.emptied: dict[BrokerId, None] = {}
        """The brokers whose disks have lost everything (the values mean nothing)."""

    def may_lose(self, broker_id: BrokerId) -> bool:
        """Whether that broker may lose its power now."""
        return len([one for one in self.lacking() if one != broker_id]) < LOSSES_MAX

    def note_loss(self, broker_id: BrokerId) -> None:
        """Called when a broker loses its power."""
        self.has_lost = True
        self._lacking[broker_id] = None

    def note_emptied(self, broker_id: BrokerId) -> None:
        """Called when a broker's disk is lost."""
        self.note_loss(broker_id)
        self.emptied[broker_id] = None

    def lacking(self) -> list[BrokerId]:
        """The brokers whose disks lack something now."""
        self._lacking = {one: None for one in self._lacking if not self._is_whole(one)}
        return list(self._lacking)

    def not_readmitted(self) -> list[BrokerId]:
        """Those of them that the controller may still believe to have everything."""
        return [one for one in self.lacking() if not self._is_readmitted(one)]

    def _is_readmitted(self, broker_id: BrokerId) -> bool:
        """Whether the controller has dealt with its registration since (R15)."""
        view = self._view
        registration = view.world.store.table.get(paths.broker(broker_id))
        known = view.world.store.table.get(paths.known_log_dirs(broker_id))
        if not view.world.nodes[broker_id].is_serving or registration is None or known is None:
            return False
        return codec.decode_log_dirs(known.data).broker_epoch == registration.stat.created_at

    def _is_whole(self, broker_id: BrokerId) -> bool:
        return self._is_readmitted(broker_id) and all(
            broker_id in state.isr for _, replicas, state in self._view.states() if broker_id in replicas
        )
