"""Lets the mishaps of a plan happen to a world, and undoes each when its time is over.

A broker that a mishap has ended starts again after the mishap's duration. Where a mishap would take more than
the promises of acks=all allow (`disk_losses`), a milder one takes its place; `told` says what happened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final

from odradek.base.chance import SeededChance
from odradek.base.ids import BrokerId
from odradek.metadata import paths
from odradek.metadata.store import Create, Multi, Operation
from odradek.testing.sim.node import SimNode
from odradek.testing.sim.trial.cluster_view import ClusterView
from odradek.testing.sim.trial.counts import Counts
from odradek.testing.sim.trial.disk_losses import DiskLosses
from odradek.testing.sim.trial.plan import Mishap, Plan

if TYPE_CHECKING:
    from odradek.testing.sim.trial.load import Load

OPERATIONS_MAX: Final = 40
"""A death within a write comes after at most so many operations of the disk."""
STORE_KINDS: Final = ("cut from the store", "expire", "lose an answer of the store")
"""Half of these happen to the controller: it is the store's best customer."""
LOG_SUFFIX: Final = ".log"
LATE_SYNC_MS: Final = 700
LATE_MS: Final = 300
SLOW_LINK_MS: Final = (30, 300, 2_000)
SLOW_DISK_MS: Final = (5, 50, 700)
JUMPS_MS: Final = (1_000, 60_000, 3_000_000)
START_CHECK_MS: Final = 500
"""How soon a start that failed is tried again."""


class Mishaps:
    """What goes wrong in one trial."""

    def __init__(self, plan: Plan, load: Load, view: ClusterView, counts: Counts) -> None:
        self._counts = counts
        self._plan = plan
        self._load = load
        self._world = load.world
        self._view = view
        self.losses = DiskLosses(view)
        self.told: list[tuple[int, str]] = []
        """What happened, each with its time in milliseconds."""
        # What ends a mishap, with the time at which it does.
        self._ends: list[tuple[int, Callable[[], None]]] = []
        # The brokers that a mishap has ended, with the time at which each starts again.
        self._dying: dict[BrokerId, int] = {}

    def strike(self, mishap: Mishap) -> None:
        """Let it happen now, to the broker that has the role now."""
        chance = SeededChance(mishap.amount)
        broker_id = self._victim(mishap, chance)
        self._KINDS[mishap.kind](self, mishap, broker_id, chance)

    def next_end_ms(self) -> int | None:
        """When the next mishap ends; None if none is under way."""
        return min((at_ms for at_ms, _ in self._ends), default=None)

    def end_due(self) -> None:
        """Undo what has lasted long enough."""
        now_ms = self._load.now_ms
        due = [undo for at_ms, undo in self._ends if at_ms <= now_ms]
        self._ends = [end for end in self._ends if end[0] > now_ms]
        for undo in due:
            undo()

    def end_all(self) -> None:
        """Undo everything now: the trial's faults are over."""
        while self._ends:
            ends, self._ends = self._ends, []
            for _, undo in sorted(ends, key=lambda end: end[0]):
                undo()
        self._world.heal()
        self.settle_links()
        for broker_id in self._plan.broker_ids:
            node = self._world.nodes[broker_id]
            node.files.close_after(1 << 40, lambda: None)
            self._start(broker_id)

    def settle_links(self) -> None:
        """Give every link its usual delay."""
        plan, links = self._plan, self._world.links
        if plan.latency_ms:
            chance = SeededChance(plan.seed)
            for a in plan.broker_ids:
                for b in plan.broker_ids:
                    if a != b:
                        links.slow(a, b, chance.below(plan.latency_ms + 1))

    def tell(self, words: str) -> None:
        """Note what has happened."""
        self.told.append((self._load.now_ms, words))
        self._world.record(words)

    # --- whom, and for how long

    def _victim(self, mishap: Mishap, chance: SeededChance) -> BrokerId:
        leaders = self._view.leaders()
        role = "controller" if mishap.kind in STORE_KINDS and chance.below(2) else mishap.on
        match role:
            case "leader" if leaders:
                return leaders[0]
            case "follower" if leaders:
                others = [one for one in self._plan.broker_ids if one != leaders[0]]
                return others[chance.below(len(others))] if others else leaders[0]
            case "controller" if self._view.controller() in self._plan.broker_ids:
                return self._view.controller()
        return self._plan.broker_ids[chance.below(len(self._plan.broker_ids))]

    def _other(self, broker_id: BrokerId, chance: SeededChance) -> BrokerId:
        others = [one for one in self._plan.broker_ids if one != broker_id] or [broker_id]
        return others[chance.below(len(others))]

    def _after(self, mishap: Mishap, undo: Callable[[], None]) -> None:
        self._ends.append((self._load.now_ms + mishap.lasts_ms, undo))

    def _node(self, broker_id: BrokerId) -> SimNode | None:
        """The broker's life, if it can be hit: alive, and running."""
        node = self._world.nodes[broker_id]
        return node if node.is_running else None

    def _start(self, broker_id: BrokerId) -> None:
        """Let a dead broker begin another life; one that lives goes on."""
        node = self._world.nodes[broker_id]
        if node.is_paused:
            self._world.resume(broker_id)
        if not node.is_alive:
            self._world.begin(broker_id, **self._plan.broker_settings)
            self.tell(f"broker {broker_id} starts again")

    def revive(self) -> None:
        """Start those again that have ended without a mishap: their start failed, or their disk was full."""
        for broker_id in self._plan.broker_ids:
            node = self._world.nodes[broker_id]
            if node.failures and node.is_serving:
                self.tell(f"broker {broker_id} stops: {node.failures[0]}")
                node.begin_stop()
            if not node.is_alive and broker_id not in self._dying:
                error = f" ({node.start_error})" if node.start_error is not None else ""
                self.tell(f"broker {broker_id} has ended by itself{error}")
                self._dying[broker_id] = self._load.now_ms + START_CHECK_MS
                self._ends.append((self._dying[broker_id], partial(self._again, broker_id)))

    def _again(self, broker_id: BrokerId) -> None:
        self._dying.pop(broker_id, None)
        self._start(broker_id)

    def _ended(self, mishap: Mishap, broker_id: BrokerId) -> None:
        self._dying[broker_id] = self._load.now_ms + mishap.lasts_ms
        self._after(mishap, lambda: self._again(broker_id))

    # --- the kinds

    def _kill(self, mishap: Mishap, broker_id: BrokerId, chance: SeededChance) -> None:
        node = self._node(broker_id)
        if node is not None:
            self.tell(f"broker {broker_id} is killed")
            node.kill()
            self._ended(mishap, broker_id)

    def _kill_in_a_write(self, mishap: Mishap, broker_id: BrokerId, chance: SeededChance) -> None:
        self._in_a_write(broker_id, chance, lambda: self._kill(mishap, broker_id, chance))

    def _lose_power(self, mishap: Mishap, broker_id: BrokerId, chance: SeededChance) -> None:
        node = self._node(broker_id)
        if node is None:
            return
        if not self.losses.may_lose(broker_id):
            self._kill(mishap, broker_id, chance)
            return
        self.tell(f"broker {broker_id} loses its power")
        self.losses.note_loss(broker_id)
        self._counts.note("unclean restarts")
        node.lose_power()
        self._ended(mishap, broker_id)

    def _lose_power_last(self, mishap: Mishap, broker_id: BrokerId, chance: SeededChance) -> None:
        """All others are killed, one after another; then it loses its power, and the others start first."""
        others = [one for one in self._plan.broker_ids if one != broker_id and self._node(one) is not None]
        now_ms, pause_ms = self._load.now_ms, 1 + mishap.lasts_ms // 4

        def kill(other: BrokerId) -> None:
            node = self._node(other)
            if node is not None:
                self.tell(f"broker {other} is killed")
                node.kill()
                self._dying[other] = now_ms + 4 * pause_ms
                self._ends.append((now_ms + 4 * pause_ms, partial(self._again, other)))

        for number, other in enumerate(others):
            self._ends.append((now_ms + number * pause_ms, partial(kill, other)))
        last = replace(mishap, lasts_ms=mishap.lasts_ms + 4 * pause_ms)
        self._ends.append((now_ms + 3 * pause_ms, lambda: self._lose_power(last, broker_id, chance)))

    def _lose_power_in_a_write(self, mishap: Mishap, broker_id: BrokerId, chance: SeededChance) -> None:
        self._in_a_write(broker_id, chance, lambda: self._lose_power(mishap, broker_id, chance))

    def _lose_power_after_a_truncation(
        self, mishap: Mishap, broker_id: BrokerId, chance: SeededChance
    ) -> None:
        """Whichever broker cuts a log next loses its power soon after that."""
        operations = chance.below(OPERATIONS_MAX)
        for node in self._view.living():
            node.files.on_truncation = partial(self._on_truncation, mishap, node, operations)

    def _on_truncation(self, mishap: Mishap, node: SimNode, operations: int, path: str) -> None:
        if not path.endswith(LOG_SUFFIX):
            return
        for other in self._view.living():
            other.files.on_truncation = lambda path: None
        chance = SeededChance(mishap.amount)

        def end() -> None:
            node.files.faults.delay_ms = 0
            if node is self._node(node.broker_id):
                self._lose_power(mishap, node.broker_id, chance)

        if chance.below(2):
            self._end_after(node, operations, end)
        else:  # what is to be synced comes too late
            node.files.faults.delay_ms = LATE_SYNC_MS
            self._ends.append((self._load.now_ms + chance.below(LATE_SYNC_MS), end))

    def _in_a_write(self, broker_id: BrokerId, chance: SeededChance, end: Callable[[], None]) -> None:
        node = self._node(broker_id)
        if node is not None:
            self._end_after(node, chance.below(OPERATIONS_MAX), end)

    def _end_after(self, node: SimNode, operations: int, end: Callable[[], None]) -> None:
        """Let this life of a broker end between two of its next disk operations, if it still runs then."""
        node.files.close_after(operations, lambda: end() if node is self._node(node.broker_id) else None)

    def _stop(self, mishap: Mishap, broker_id: BrokerId, chance: SeededChance) -> None:
        node = self._node(broker_id)
        if node is not None and node.is_serving:
            self.tell(f"broker {broker_id} is asked to stop")
            node.begin_stop()
            self._ended(mishap, broker_id)

    def _pause(self, mishap: Mishap, broker_id: BrokerId, chance: SeededChance) -> None:
        node = self._node(broker_id)
        if node is not None:
            self.tell(f"broker {broker_id} stands still for {mishap.lasts_ms:,} ms")
            self._world.pause(broker_id)
            self._expire_later(mishap, node)
            self._after(mishap, lambda: None if node.is_over else self._resume(broker_id))

    def _resume(self, broker_id: BrokerId) -> None:
        self.tell(f"broker {broker_id} goes on")
        self._world.resume(broker_id)

    def _expire_later(self, mishap: Mishap, node: SimNode) -> None:
        """The store ends the session of a broker that it does not hear from."""
        timeout_ms = self._plan.session_timeout_ms
        if mishap.lasts_ms > timeout_ms:
            session_id = node.session.session_id
            self._ends.append(
                (self._load.now_ms + timeout_ms, lambda: self._expire_session(node, session_id))
            )

    def _expire_session(self, node: SimNode, session_id: int) -> None:
        if session_id in self._world.open_sessions() and (node.is_paused or node.session.is_cut):
            self.tell(f"the session of broker {node.broker_id} with the store expires")
            self._world.store.expire(session_id)
            self._counts.note("expiries")

    def _isolate(self, mishap: Mishap, broker_id: BrokerId, chance: SeededChance) -> None:
        self.tell(f"broker {broker_id} is isolated for {mishap.lasts_ms:,} ms")
        self._world.isolate(broker_id)
        self._after(mishap, lambda: self._world.links.rejoin(broker_id))

    def _isolate_then_kill(self, mishap: Mishap, broker_id: BrokerId, chance: SeededChance) -> None:
        self.tell(f"broker {broker_id} is isolated for {mishap.lasts_ms:,} ms, and then killed")
        self._world.isolate(broker_id)

        def end() -> None:
            self._kill(mishap, broker_id, chance)
            self._world.links.rejoin(broker_id)

        self._after(mishap, end)

    def _cut(self, mishap: Mishap, broker_id: BrokerId, chance: SeededChance) -> None:
        other = self._other(broker_id, chance)
        self.tell(f"nothing passes between brokers {broker_id} and {other} for {mishap.lasts_ms:,} ms")
        self._world.cut(broker_id, other)
        self._after(mishap, lambda: self._mend(broker_id, other))

    def _cut_one_way(self, mishap: Mishap, broker_id: BrokerId, chance: SeededChance) -> None:
        other = self._other(broker_id, chance)
        a, b = (broker_id, other) if chance.below(2) else (other, broker_id)
        self.tell(f"nothing passes from broker {a} to broker {b} for {mishap.lasts_ms:,} ms")
        self._world.cut(a, b, one_way=True)
        self._after(mishap, lambda: self._mend(a, b))

    def _mend(self, a: BrokerId, b: BrokerId) -> None:
        self._world.links.mend(a, b)
        self.settle_links()

    def _drop(self, mishap: Mishap, broker_id: BrokerId, chance: SeededChance) -> None:
        other = self._other(broker_id, chance)
        self.tell(f"the connections between brokers {broker_id} and {other} are lost")
        self._world.links.drop(broker_id, other)
        self._world.links.drop(other, broker_id)

    def _slow_link(self, mishap: Mishap, broker_id: BrokerId, chance: SeededChance) -> None:
        other, delay_ms = self._other(broker_id, chance), SLOW_LINK_MS[chance.below(len(SLOW_LINK_MS))]
        self.tell(f"what broker {broker_id} sends to broker {other} takes {delay_ms:,} ms")
        self._world.links.slow(broker_id, other, delay_ms)
        self._after(mishap, lambda: self._mend(broker_id, other))

    def _slow_disk(self, mishap: Mishap, broker_id: BrokerId, chance: SeededChance) -> None:
        node = self._node(broker_id)
        if node is not None:
            delay_ms = SLOW_DISK_MS[chance.below(len(SLOW_DISK_MS))]
            self.tell(f"the disk of broker {broker_id} is slow by {delay_ms} ms")
            node.files.faults.delay_ms = delay_ms
            self._after(mishap, lambda: setattr(node.files.faults, "delay_ms", 0))

    def _lose_power_on_a_slow_disk(self, mishap: Mishap, broker_id: BrokerId, chance: SeededChance) -> None:
        node = self._node(broker_id)
        if node is None:
            return
        delay_ms = SLOW_DISK_MS[chance.below(len(SLOW_DISK_MS))]
        self.tell(f"the disk of broker {broker_id} is slow by {delay_ms} ms")
        node.files.faults.delay_ms = delay_ms

        def end() -> None:
            node.files.faults.delay_ms = 0
            if node is self._node(broker_id):
                self._lose_power(mishap, broker_id, chance)

        self._after(mishap, end)

    def _lose_power_behind_slow_links(
        self, mishap: Mishap, broker_id: BrokerId, chance: SeededChance
    ) -> None:
        """What it has sent arrives after its next life has begun."""
        node = self._node(broker_id)
        if node is None:
            return
        others = [one for one in self._plan.broker_ids if one != broker_id]
        self.tell(f"what broker {broker_id} sends takes {LATE_MS} ms")
        for other in others:
            self._world.links.slow(broker_id, other, LATE_MS)
        soon = replace(mishap, lasts_ms=1 + chance.below(LATE_MS // 2))

        def end() -> None:
            for other in others:
                self._world.links.slow(broker_id, other, 0)
            if node is self._node(broker_id):
                self._lose_power(soon, broker_id, chance)

        self._ends.append((self._load.now_ms + 2 * LATE_MS, end))

    def _full_disk(self, mishap: Mishap, broker_id: BrokerId, chance: SeededChance) -> None:
        node = self._node(broker_id)
        if node is not None:
            self.tell(f"the disk of broker {broker_id} is full")
            node.files.faults.is_full = True
            self._after(mishap, lambda: setattr(node.files.faults, "is_full", False))

    def _cut_store(self, mishap: Mishap, broker_id: BrokerId, chance: SeededChance) -> None:
        node = self._node(broker_id)
        if node is not None:
            self.tell(f"broker {broker_id} is cut off from the store for {mishap.lasts_ms:,} ms")
            self._world.cut_store(broker_id)
            self._expire_later(mishap, node)
            self._after(mishap, lambda: self._world.mend_store(broker_id, reconnects=True))

    def _expire(self, mishap: Mishap, broker_id: BrokerId, chance: SeededChance) -> None:
        node = self._node(broker_id)
        if node is not None and node.session.session_id in self._world.open_sessions():
            self.tell(f"the session of broker {broker_id} with the store expires")
            node.session.expire()
            self._counts.note("expiries")

    def _lose_store_answer(self, mishap: Mishap, broker_id: BrokerId, chance: SeededChance) -> None:
        node = self._node(broker_id)
        if node is not None:
            executed, after = bool(chance.below(2)), chance.below(6)
            self.tell(
                f"an operation of broker {broker_id} on the store gets no answer,"
                f" and is {'executed' if executed else 'not executed'}"
            )
            node.session.lose_connection(executed=executed, after=after)
            self._counts.note("lost answers")

    def _lose_claim_answer(self, mishap: Mishap, broker_id: BrokerId, chance: SeededChance) -> None:
        """The controller's session ends, and whoever claims its place gets no answer."""
        node = (
            self._node(self._view.controller()) if self._view.controller() in self._plan.broker_ids else None
        )
        if node is None or node.session.session_id not in self._world.open_sessions():
            return
        executed = bool(chance.below(4))
        self.tell(
            f"the session of the controller, broker {node.broker_id}, with the store expires; the next claim"
            f" on its place gets no answer, and is {'executed' if executed else 'not executed'}"
        )
        for each in self._view.living():
            each.session.lose_answer(_is_claim, executed=executed)
        node.session.expire()
        self._counts.note("expiries")
        self._counts.note("lost answers")

    def _jump_clock(self, mishap: Mishap, broker_id: BrokerId, chance: SeededChance) -> None:
        by_ms = JUMPS_MS[chance.below(len(JUMPS_MS))] * (1 if chance.below(2) else -1)
        self.tell(f"the clock of broker {broker_id} jumps by {by_ms:,} ms")
        self._world.jump_clock(broker_id, by_ms)

    def _cut_clients(self, mishap: Mishap, broker_id: BrokerId, chance: SeededChance) -> None:
        hosts = self._load.hosts
        host = hosts[chance.below(len(hosts))]
        one_way = bool(chance.below(2))
        self.tell(f"nothing passes from broker {broker_id} to client {host} for {mishap.lasts_ms:,} ms")
        self._world.cut(broker_id, host, one_way=one_way)
        self._after(mishap, lambda: self._world.links.mend(broker_id, host))

    _KINDS: ClassVar[dict[str, Callable[[Mishaps, Mishap, BrokerId, SeededChance], None]]] = {
        "kill": _kill,
        "kill in a write": _kill_in_a_write,
        "power loss": _lose_power,
        "power loss in a write": _lose_power_in_a_write,
        "power loss of the last in sync": _lose_power_last,
        "power loss after a truncation": _lose_power_after_a_truncation,
        "stop": _stop,
        "pause": _pause,
        "isolate": _isolate,
        "isolate, then kill": _isolate_then_kill,
        "cut": _cut,
        "cut one way": _cut_one_way,
        "drop": _drop,
        "slow link": _slow_link,
        "slow disk": _slow_disk,
        "power loss on a slow disk": _lose_power_on_a_slow_disk,
        "power loss behind slow links": _lose_power_behind_slow_links,
        "full disk": _full_disk,
        "cut from the store": _cut_store,
        "expire": _expire,
        "lose an answer of the store": _lose_store_answer,
        "lose the answer of a claim": _lose_claim_answer,
        "jump of the clock": _jump_clock,
        "cut clients": _cut_clients,
    }
    """What each kind does; the same names as in `plan.WEIGHTS`."""


def _is_claim(operation: Operation) -> bool:
    return isinstance(operation, Multi) and any(
        isinstance(write, Create) and write.path == paths.CONTROLLER for write in operation.operations
    )


def told_lines(told: Iterable[tuple[int, str]]) -> list[str]:
    """The mishaps as lines for a person."""
    return [f"{at_ms:>8,} ms  {words}" for at_ms, words in told]
