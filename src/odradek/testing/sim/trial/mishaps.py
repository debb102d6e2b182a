"""Lets the mishaps of a plan happen to a world, and undoes each when its time is over."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Final

from odradek.base.chance import Chance, SeededChance
from odradek.base.ids import BrokerId, TopicPartition
from odradek.base.topic_names import OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC
from odradek.testing.sim.trial.actions import Actions, Told
from odradek.testing.sim.trial.cluster_view import ClusterView
from odradek.testing.sim.trial.counts import Counts
from odradek.testing.sim.trial.mishap_kinds import KINDS_FOR_ANY, KINDS_FOR_RUNNING
from odradek.testing.sim.trial.mishap_windows import WINDOWS
from odradek.testing.sim.trial.plan import Mishap, Plan

if TYPE_CHECKING:
    from odradek.testing.sim.trial.load import Load

STORE_KINDS: Final = (
    "cut from the store",
    "expire",
    "lose an answer of the store",
    "change while cut from the store",
)
"""Half of these happen to the controller: it sends the store more operations than any other broker."""
COORDINATORS: Final = {
    True: TopicPartition(TRANSACTION_STATE_TOPIC, 0),
    False: TopicPartition(OFFSETS_TOPIC, 0),
}
"""Whoever leads this coordinates all transactions of a trial, or all groups of one without transactions."""
NEVER: Final = 1 << 40
"""More operations of a disk than a trial has."""


class Mishaps:
    """What goes wrong in one trial."""

    def __init__(self, plan: Plan, load: Load, view: ClusterView, counts: Counts) -> None:
        self._plan = plan
        self._coordinator = COORDINATORS[plan.has_transactions]
        self._world = load.world
        self._view = view
        self._actions = Actions(plan, load, view, counts)
        self.schedule = self._actions.schedule
        """When mishaps end."""
        self.losses = self._actions.losses
        self.told = self._actions.told
        """What happened, in order."""

    def strike(self, mishap: Mishap) -> None:
        """Let it happen now, to the broker that has the role now."""
        chance = SeededChance(mishap.amount)
        node = self._world.nodes[self._victim(mishap, chance)]
        kind = KINDS_FOR_ANY.get(mishap.kind)
        if kind is None and node.is_running:
            kind = KINDS_FOR_RUNNING.get(mishap.kind) or WINDOWS[mishap.kind]
        if kind is not None:
            self.schedule.run_as(mishap.number, partial(kind, self._actions, node, mishap, chance))

    def revive(self) -> None:
        """See `Actions.revive`."""
        self._actions.revive()

    def settle_links(self) -> None:
        """See `Actions.settle_links`."""
        self._actions.settle_links()

    def end_all(self) -> None:
        """Undo everything now: the trial's faults are over."""
        self._actions.is_ending = True
        self.schedule.run_all()
        self._world.heal()
        self.settle_links()
        for broker_id in self._plan.broker_ids:
            self._world.nodes[broker_id].files.close_after(NEVER, lambda: None)
            self._actions.start(broker_id)

    def _victim(self, mishap: Mishap, chance: Chance) -> BrokerId:
        leaders, controller = self._view.leaders(), self._view.controller()
        role = mishap.on
        if mishap.kind in STORE_KINDS and chance.below(2):
            role = "controller"
        elif mishap.kind == "isolate, then kill" and chance.below(2):
            role = "coordinator"  # which has clients that see what no other broker has yet
        match role:
            case "leader" if leaders:
                return leaders[0]
            case "follower" if leaders:
                return self._actions.another(leaders[0], chance)
            case "coordinator" if (coordinator := self._view.leader(self._coordinator)) is not None:
                return coordinator.broker_id
            case "controller" if controller in self._plan.broker_ids:
                return controller
        return self._plan.broker_ids[chance.below(len(self._plan.broker_ids))]


def told_lines(told: Iterable[Told]) -> list[str]:
    """The mishaps as lines for a person: when, the mishap's number, what."""
    return [f"{one.at_ms:>8,} ms {_numbered(one.mishap):>4}  {one.words}" for one in told]


def _numbered(mishap: int | None) -> str:
    return "" if mishap is None else f"#{mishap}"
