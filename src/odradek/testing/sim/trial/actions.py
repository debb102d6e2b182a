"""What can be done to the brokers of a trial, to their links and their sessions: mishaps are made of these.

A life of a broker runs if its process lives and does not stand still. `kill` and `lose_power` do nothing to
one that does not run; a broker that they end starts again later. `told` says what has happened.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from odradek.base.chance import Chance, SeededChance
from odradek.base.ids import BrokerId
from odradek.testing.sim.node import SimNode
from odradek.testing.sim.trial.cluster_view import ClusterView
from odradek.testing.sim.trial.counts import Counts
from odradek.testing.sim.trial.disk_losses import DiskLosses
from odradek.testing.sim.trial.plan import Plan
from odradek.testing.sim.trial.schedule import Schedule

if TYPE_CHECKING:
    from odradek.testing.sim.trial.load import Load

START_CHECK_MS: Final = 500
"""How soon a start that failed is tried again."""


class Told(NamedTuple):
    """Something that has happened to the cluster."""

    at_ms: int
    mishap: int | None
    """The number of the mishap that it is a part of; None if there is none."""
    words: str


class Actions:
    """The actions of one trial, and what they have scheduled."""

    def __init__(self, plan: Plan, load: Load, view: ClusterView, counts: Counts) -> None:
        self.world = load.world
        self.view = view
        self.counts = counts
        self.hosts = load.hosts
        """Where the clients are."""
        self.schedule = Schedule(load.world.clock)
        self.losses = DiskLosses(view)
        self.told: list[Told] = []
        """What happened, in order."""
        self.session_timeout_ms = plan.session_timeout_ms
        """How long the store waits for a broker that it does not hear from."""
        self.is_ending = False
        """Whether mishaps are over: nothing is waited for any more."""
        self._plan = plan
        # The brokers that have ended and are scheduled to start again (the values mean nothing).
        self._starting: dict[BrokerId, None] = {}

    @property
    def now_ms(self) -> int:
        """The time of the world."""
        return self.world.clock.monotonic_ms()

    def tell(self, words: str) -> None:
        """Note what has happened."""
        self.told.append(Told(self.now_ms, self.schedule.cause, words))
        self.world.record(words)

    # --- brokers

    def others(self, broker_id: BrokerId) -> Sequence[BrokerId]:
        """The other brokers of the cluster."""
        return [one for one in self._plan.broker_ids if one != broker_id]

    def another(self, broker_id: BrokerId, chance: Chance) -> BrokerId:
        """One of the other brokers; of a cluster of one, that one."""
        others = self.others(broker_id) or [broker_id]
        return others[chance.below(len(others))]

    def kill(self, node: SimNode, lasts_ms: int) -> None:
        """Kill a broker, which starts again after `lasts_ms`."""
        if node.is_running:
            self.tell(f"broker {node.broker_id} is killed")
            node.kill()
            self.start_after(lasts_ms, node.broker_id)

    def stop(self, node: SimNode, lasts_ms: int) -> None:
        """Let a broker that serves stop in good order; it starts again `lasts_ms` from now."""
        if node.is_serving:
            self.tell(f"broker {node.broker_id} is asked to stop")
            node.begin_stop()
            self.start_after(lasts_ms, node.broker_id)

    def lose_power(self, node: SimNode, lasts_ms: int) -> None:
        """Let a broker's machine lose its power; it starts again after `lasts_ms`.

        Where the promises of acks=all do not allow that (`disk_losses`), the broker is killed instead.
        """
        if not node.is_running:
            return
        if not self.losses.may_lose(node.broker_id):
            self.kill(node, lasts_ms)
            return
        self.tell(f"broker {node.broker_id} loses its power")
        self.losses.note_loss(node.broker_id)
        self.counts.note("unclean restarts")
        node.lose_power()
        self.start_after(lasts_ms, node.broker_id)

    def lose_disk(self, broker_id: BrokerId) -> None:
        """Give a broker that has ended an empty disk, where the promises of acks=all allow that."""
        if self.world.nodes[broker_id].is_alive or not self.losses.may_lose(broker_id):
            return
        self.tell(f"the disk of broker {broker_id} is lost")
        self.losses.note_emptied(broker_id)
        self.counts.note("lost disks")
        self.world.lose_disk(broker_id)

    def start_after(self, delay_ms: int, broker_id: BrokerId) -> None:
        """Start a broker later; it has ended, or is about to."""
        self._starting[broker_id] = None
        self.schedule.after(delay_ms, partial(self._start_again, broker_id))

    def _start_again(self, broker_id: BrokerId) -> None:
        self._starting.pop(broker_id, None)
        self.start(broker_id)

    def start(self, broker_id: BrokerId) -> None:
        """Let a broker that has ended begin another life, and one that stands still continue."""
        node = self.world.nodes[broker_id]
        if node.is_paused:
            self.world.resume(broker_id)
        if not node.is_alive:
            self.world.begin(broker_id, **self._plan.broker_settings)
            self.tell(f"broker {broker_id} starts again")

    def revive(self) -> None:
        """Start the brokers again that no action has ended: their start failed, or their disk was full."""
        for broker_id in self._plan.broker_ids:
            node = self.world.nodes[broker_id]
            if node.failures and node.is_serving:
                self.tell(f"broker {broker_id} stops: {node.failures[0]}")
                node.begin_stop()
            if not node.is_alive and broker_id not in self._starting:
                error = f" ({node.start_error})" if node.start_error is not None else ""
                self.tell(f"broker {broker_id} has ended by itself{error}")
                self.start_after(START_CHECK_MS, broker_id)

    # --- disks

    def end_in_a_write(self, node: SimNode, operations: int, end: Callable[[], None]) -> None:
        """Let `end` end a broker after so many more operations of its disk."""
        node.files.close_after(operations, self.schedule.caused(end))

    def slow_disk(self, node: SimNode, delay_ms: int) -> None:
        """Let the disk of a broker take that long for each call, until `restore_disk`."""
        self.tell(f"the disk of broker {node.broker_id} is slow by {delay_ms} ms")
        node.files.faults.delay_ms = delay_ms

    def restore_disk(self, node: SimNode) -> None:
        """Let the disk of a broker be quick again."""
        node.files.faults.delay_ms = 0

    def lose_power_on_slow_disk(self, node: SimNode, lasts_ms: int) -> None:
        """See `lose_power`; what waited for the slow disk is not executed before that."""
        self.restore_disk(node)
        self.lose_power(node, lasts_ms)

    # --- links

    def mend(self, a: BrokerId, b: BrokerId) -> None:
        """End what was cut and slowed between two brokers; every other link gets its usual delay, too.

        So a link that another mishap has slowed is quick again before the time of that mishap is over, unless
        the usual delay of all links is none: then it stays slow.
        """
        self.world.links.mend(a, b)
        self.settle_links()

    def settle_links(self) -> None:
        """Give every link between brokers its usual delay, which the seed decides."""
        plan = self._plan
        if plan.latency_ms:
            chance = SeededChance(plan.seed)
            for a in plan.broker_ids:
                for b in self.others(a):
                    self.world.links.slow(a, b, chance.below(plan.latency_ms + 1))

    # --- sessions with the metadata store

    def has_session(self, node: SimNode) -> bool:
        """Whether the store counts a broker's session as alive."""
        return node.session.session_id in self.world.open_sessions()

    def expire_if_silent(self, node: SimNode, lasts_ms: int) -> None:
        """Let the store end the session of a broker that it will not hear from for `lasts_ms`."""
        timeout_ms = self._plan.session_timeout_ms
        if lasts_ms > timeout_ms:
            self.schedule.after(timeout_ms, partial(self._expire_silent, node, node.session.session_id))

    def _expire_silent(self, node: SimNode, session_id: int) -> None:
        if session_id in self.world.open_sessions() and (node.is_paused or node.session.is_cut):
            self.tell(f"the session of broker {node.broker_id} with the store expires")
            self.world.store.expire(session_id)
            self.counts.note("expiries")
