"""Counts what happened in a trial, so that a campaign shows that its seeds have been through it all."""

from __future__ import annotations

from collections import Counter
from typing import Final

from odradek.base.ids import BrokerId
from odradek.metadata.codec import StateDocument
from odradek.replication.fetcher import NoteKind
from odradek.testing.sim.node import SimNode
from odradek.testing.sim.trial.cluster_view import ClusterView
from odradek.testing.sim.trial.history import Place

KINDS: Final = (
    "elections",
    "truncations",
    "divergences",
    "shrinks",
    "expansions",
    "unclean restarts",
    "lost disks",
    "expiries",
    "lost answers",
    "controller moves",
)


class Counts:
    """Compares the store and the nodes with what they were at the last look."""

    def __init__(self, view: ClusterView) -> None:
        self.counted: Counter[str] = Counter(dict.fromkeys(KINDS, 0))
        self._view = view
        # The store as it was at the last look.
        self._version = -1
        self._states: dict[Place, StateDocument] = {}
        self._controller: BrokerId | None = None
        # By life, the truncations that were counted.
        self._noted: dict[SimNode, tuple[int, int]] = {}

    def note(self, kind: str) -> None:
        """Count something that the store and the nodes do not show."""
        assert kind in KINDS, kind
        self.counted[kind] += 1

    def look(self) -> None:
        """Count what has changed."""
        if self._view.version != self._version:
            self._version = self._view.version
            self._compare_store()
        for node in self._view.world.nodes.values():
            if node.has_opened:
                noted = node.core.fetchers.noted
                now = noted[NoteKind.TRUNCATED], noted[NoteKind.DIVERGED]
                before_notes = self._noted.get(node, (0, 0))
                if now != before_notes:
                    self._noted[node] = now
                    self.counted["truncations"] += now[0] - before_notes[0]
                    self.counted["divergences"] += now[1] - before_notes[1]

    def _compare_store(self) -> None:
        for place, _, state in self._view.states():
            before = self._states.get(place)
            self._states[place] = state
            if before is None or before is state:
                continue
            if state.leader_epoch != before.leader_epoch and state.leader != before.leader:
                self.counted["elections"] += 1
            self.counted["shrinks"] += bool(set(before.isr) - set(state.isr))
            self.counted["expansions"] += bool(set(state.isr) - set(before.isr))
        controller = self._view.controller()
        if self._controller is not None and controller != self._controller and controller >= 0:
            self.counted["controller moves"] += 1
        if controller >= 0:
            self._controller = controller
