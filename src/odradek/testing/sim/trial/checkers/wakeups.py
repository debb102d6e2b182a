"""A produce that can be answered is answered: whatever decides it wakes it in the same moment (R14, P4).

    HW reaches the records, the ISR shrinks, the leader changes    the produce completes at once
    it does not                                                    it waits for the next event, or its timeout

Clients would hardly see that: under load the next event comes soon.
"""

from __future__ import annotations

from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.replication.delayed_produce import DelayedProduce
from odradek.testing.sim.node import SimNode
from odradek.testing.sim.trial.checkers.checker import Checker, Scene

LOOK_EVERY: Final = 5
"""One look of so many."""
FORGOTTEN_MS: Final = 200
"""Within this time steps that are due have been taken, also where the disk is slow."""


class WaitingProducesAreWoken(Checker):
    """P4, R14: see the module's head."""

    NAME = "a produce that can be answered is answered"

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self._looks = 0
        # Since when each of them was seen to be decided and not answered.
        self._since: dict[DelayedProduce, int] = {}

    def look(self) -> None:
        """See `Checker.look`."""
        self._looks += 1
        if self._looks % LOOK_EVERY:
            return
        now_ms, before, self._since = self.scene.now_ms, self._since, {}
        for node in self.scene.view.living():
            if not node.has_opened or node.is_paused:
                continue
            for named, waiting in node.core.replicas.purgatories.produce.watchers().items():
                for produce in waiting:
                    if produce.is_completed or not isinstance(produce, DelayedProduce):
                        continue
                    if not _is_decided(node, produce):
                        continue
                    since = self._since[produce] = before.get(produce, now_ms)
                    if now_ms - since > FORGOTTEN_MS:
                        self.violated(
                            (named, node.broker_id),
                            f"broker {node.broker_id} could answer a produce to {named[0]}-{named[1]} since"
                            f" {since:,} ms, and lets it wait",
                        )


def _is_decided(node: SimNode, produce: DelayedProduce) -> bool:
    """Whether each of its partitions could be answered now; nothing changes by that."""
    for status in produce.pending:
        partition = node.core.replicas.partition(status.topic_partition)
        if partition is None or partition.leadership is None:
            continue
        code: ErrorCode | None = partition.acknowledgement(
            status.required_offset, by_replicas=status.waits_for_replicas, on_disk=status.waits_for_disk
        )
        if code is None:
            return False
    return True
