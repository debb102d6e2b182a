"""The kinds of mishaps, by name: what each does to a cluster, and how it is undone.

A kind gets the latest life of the broker that it happens to, and draws all that is left to chance from the
mishap's own chance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Final

from odradek.base.chance import Chance, SeededChance
from odradek.base.ids import BrokerId
from odradek.metadata import paths
from odradek.metadata.store import Create, Multi, Operation
from odradek.testing.sim.node import SimNode
from odradek.testing.sim.trial.actions import Actions
from odradek.testing.sim.trial.plan import Mishap

OPERATIONS_MAX: Final = 40
"""A death within a write comes after at most so many operations of the disk."""
LOG_SUFFIX: Final = ".log"
LATE_SYNC_MS: Final = 700
LATE_MS: Final = 300
SLOW_LINK_MS: Final = (30, 300, 2_000)
SLOW_DISK_MS: Final = (5, 50, 700)
ENDS_MS: Final = (20, 600, 2_000)
"""The time between the ends of brokers that are all to be down: in the longer ones ISRs shrink."""
STARTS_MS: Final = (0, 0, 100, 1_500)
"""The time between their starts."""
JUMPS_MS: Final = (1_000, 60_000, 3_000_000)

Kind = Callable[[Actions, SimNode, Mishap, Chance], None]


# --- ends of brokers


def _kill(actions: Actions, node: SimNode, mishap: Mishap, chance: Chance) -> None:
    actions.kill(node, mishap.lasts_ms)


def _kill_in_a_write(actions: Actions, node: SimNode, mishap: Mishap, chance: Chance) -> None:
    actions.end_in_a_write(node, chance.below(OPERATIONS_MAX), partial(actions.kill, node, mishap.lasts_ms))


def _lose_power(actions: Actions, node: SimNode, mishap: Mishap, chance: Chance) -> None:
    actions.lose_power(node, mishap.lasts_ms)


def _lose_power_in_a_write(actions: Actions, node: SimNode, mishap: Mishap, chance: Chance) -> None:
    actions.end_in_a_write(
        node, chance.below(OPERATIONS_MAX), partial(actions.lose_power, node, mishap.lasts_ms)
    )


def _lose_power_last(actions: Actions, node: SimNode, mishap: Mishap, chance: Chance) -> None:
    """All others are killed, one after another; then it loses its power, and the others start first."""
    nodes, schedule = actions.world.nodes, actions.schedule
    pause_ms = 1 + mishap.lasts_ms // 4
    start_ms = actions.now_ms + 4 * pause_ms

    def kill(other: BrokerId) -> None:
        actions.kill(nodes[other], start_ms - actions.now_ms)

    others = [other for other in actions.others(node.broker_id) if nodes[other].is_running]
    for number, other in enumerate(others):
        schedule.after(number * pause_ms, partial(kill, other))
    lasts_ms = mishap.lasts_ms + 4 * pause_ms
    schedule.after(3 * pause_ms, lambda: actions.lose_power(nodes[node.broker_id], lasts_ms))


def _lose_power_after_a_truncation(actions: Actions, node: SimNode, mishap: Mishap, chance: Chance) -> None:
    """Whichever broker cuts a log next loses its power soon after that."""
    operations = chance.below(OPERATIONS_MAX)
    for each in actions.view.living():
        react = partial(_on_truncation, actions, each, mishap, operations)
        each.files.on_truncation = partial(_as_caused, actions, mishap, react)


def _as_caused(actions: Actions, mishap: Mishap, react: Callable[[str], None], path: str) -> None:
    actions.schedule.run_as(mishap.number, partial(react, path))


def _on_truncation(actions: Actions, node: SimNode, mishap: Mishap, operations: int, path: str) -> None:
    if not path.endswith(LOG_SUFFIX):
        return
    for each in actions.view.living():
        each.files.on_truncation = lambda path: None
    chance = SeededChance(mishap.amount)
    end = partial(actions.lose_power_on_slow_disk, node, mishap.lasts_ms)
    if chance.below(2):
        actions.end_in_a_write(node, operations, end)
    else:  # what is to be synced comes too late
        node.files.faults.delay_ms = LATE_SYNC_MS
        actions.schedule.after(chance.below(LATE_SYNC_MS), end)


def _lose_power_on_a_slow_disk(actions: Actions, node: SimNode, mishap: Mishap, chance: Chance) -> None:
    actions.slow_disk(node, SLOW_DISK_MS[chance.below(len(SLOW_DISK_MS))])
    actions.schedule.after(mishap.lasts_ms, partial(actions.lose_power_on_slow_disk, node, mishap.lasts_ms))


def _lose_power_behind_slow_links(actions: Actions, node: SimNode, mishap: Mishap, chance: Chance) -> None:
    """What it has sent arrives after its next life has begun."""
    broker_id = node.broker_id
    others, links = actions.others(broker_id), actions.world.links
    actions.tell(f"what broker {broker_id} sends takes {LATE_MS} ms")
    for other in others:
        links.slow(broker_id, other, LATE_MS)
    lasts_ms = 1 + chance.below(LATE_MS // 2)

    def end() -> None:
        for other in others:
            links.slow(broker_id, other, 0)
        actions.lose_power(node, lasts_ms)

    actions.schedule.after(2 * LATE_MS, end)


def _lose_disk(actions: Actions, node: SimNode, mishap: Mishap, chance: Chance) -> None:
    """It is killed, and starts again with an empty disk."""
    actions.kill(node, mishap.lasts_ms)
    actions.lose_disk(node.broker_id)


def _lose_disk_while_all_are_down(actions: Actions, node: SimNode, mishap: Mishap, chance: Chance) -> None:
    """All brokers are killed or stopped, one by one; one disk is lost; all start, in another order.

    It is the disk of one that is eligible to lead a partition, if there is one: the controller believes that
    it has everything until it has started and said what it has.
    """
    nodes, schedule = actions.world.nodes, actions.schedule
    end_every_ms = ENDS_MS[chance.below(len(ENDS_MS))]
    start_every_ms = STARTS_MS[chance.below(len(STARTS_MS))]
    start_ms = actions.now_ms + end_every_ms * (1 + len(nodes))
    order = _in_any_order(nodes, chance)
    starts = {each: start_ms + number * start_every_ms for number, each in enumerate(order)}

    def end(each: BrokerId, *, is_killed: bool) -> None:
        lasts_ms = starts[each] - actions.now_ms
        if is_killed or not nodes[each].is_serving:
            actions.kill(nodes[each], lasts_ms)
        else:
            actions.stop(nodes[each], lasts_ms)

    def lose() -> None:
        eligible = [each for _, _, state in actions.view.states() for each in state.elr]
        actions.lose_disk(eligible[chance.below(len(eligible))] if eligible else node.broker_id)

    for number, each in enumerate(_in_any_order(nodes, chance)):
        schedule.after(number * end_every_ms, partial(end, each, is_killed=bool(chance.below(2))))
    schedule.after(start_ms - 1 - actions.now_ms, lose)


def _in_any_order(broker_ids: Iterable[BrokerId], chance: Chance) -> list[BrokerId]:
    left = list(broker_ids)
    return [left.pop(chance.below(len(left))) for _ in range(len(left))]


def _stop(actions: Actions, node: SimNode, mishap: Mishap, chance: Chance) -> None:
    actions.stop(node, mishap.lasts_ms)


# --- brokers and disks that do not go on


def _pause(actions: Actions, node: SimNode, mishap: Mishap, chance: Chance) -> None:
    broker_id = node.broker_id
    actions.tell(f"broker {broker_id} stands still for {mishap.lasts_ms:,} ms")
    actions.world.pause(broker_id)
    actions.expire_if_silent(node, mishap.lasts_ms)

    def end() -> None:
        if node.is_alive:
            actions.tell(f"broker {broker_id} goes on")
            actions.world.resume(broker_id)

    actions.schedule.after(mishap.lasts_ms, end)


def _slow_disk(actions: Actions, node: SimNode, mishap: Mishap, chance: Chance) -> None:
    actions.slow_disk(node, SLOW_DISK_MS[chance.below(len(SLOW_DISK_MS))])
    actions.schedule.after(mishap.lasts_ms, partial(actions.restore_disk, node))


def _full_disk(actions: Actions, node: SimNode, mishap: Mishap, chance: Chance) -> None:
    actions.tell(f"the disk of broker {node.broker_id} is full")
    node.files.faults.is_full = True
    actions.schedule.after(mishap.lasts_ms, lambda: setattr(node.files.faults, "is_full", False))


def _jump_clock(actions: Actions, node: SimNode, mishap: Mishap, chance: Chance) -> None:
    by_ms = JUMPS_MS[chance.below(len(JUMPS_MS))] * (1 if chance.below(2) else -1)
    actions.tell(f"the clock of broker {node.broker_id} jumps by {by_ms:,} ms")
    actions.world.jump_clock(node.broker_id, by_ms)


# --- links


def _isolate(actions: Actions, node: SimNode, mishap: Mishap, chance: Chance) -> None:
    actions.tell(f"broker {node.broker_id} is isolated for {mishap.lasts_ms:,} ms")
    actions.world.isolate(node.broker_id)
    actions.schedule.after(mishap.lasts_ms, lambda: actions.world.links.rejoin(node.broker_id))


def _isolate_then_kill(actions: Actions, node: SimNode, mishap: Mishap, chance: Chance) -> None:
    world, broker_id = actions.world, node.broker_id
    actions.tell(f"broker {broker_id} is isolated for {mishap.lasts_ms:,} ms, and then killed")
    world.isolate(broker_id)

    def end() -> None:
        actions.kill(world.nodes[broker_id], mishap.lasts_ms)
        world.links.rejoin(broker_id)

    actions.schedule.after(mishap.lasts_ms, end)


def _cut(actions: Actions, node: SimNode, mishap: Mishap, chance: Chance) -> None:
    broker_id, other = node.broker_id, actions.another(node.broker_id, chance)
    actions.tell(f"nothing passes between brokers {broker_id} and {other} for {mishap.lasts_ms:,} ms")
    actions.world.cut(broker_id, other)
    actions.schedule.after(mishap.lasts_ms, partial(actions.mend, broker_id, other))


def _cut_one_way(actions: Actions, node: SimNode, mishap: Mishap, chance: Chance) -> None:
    broker_id, other = node.broker_id, actions.another(node.broker_id, chance)
    a, b = (broker_id, other) if chance.below(2) else (other, broker_id)
    actions.tell(f"nothing passes from broker {a} to broker {b} for {mishap.lasts_ms:,} ms")
    actions.world.cut(a, b, one_way=True)
    actions.schedule.after(mishap.lasts_ms, partial(actions.mend, a, b))


def _drop(actions: Actions, node: SimNode, mishap: Mishap, chance: Chance) -> None:
    broker_id, other = node.broker_id, actions.another(node.broker_id, chance)
    actions.tell(f"the connections between brokers {broker_id} and {other} are lost")
    actions.world.links.drop(broker_id, other)
    actions.world.links.drop(other, broker_id)


def _slow_link(actions: Actions, node: SimNode, mishap: Mishap, chance: Chance) -> None:
    broker_id, other = node.broker_id, actions.another(node.broker_id, chance)
    delay_ms = SLOW_LINK_MS[chance.below(len(SLOW_LINK_MS))]
    actions.tell(f"what broker {broker_id} sends to broker {other} takes {delay_ms:,} ms")
    actions.world.links.slow(broker_id, other, delay_ms)
    actions.schedule.after(mishap.lasts_ms, partial(actions.mend, broker_id, other))


def _cut_clients(actions: Actions, node: SimNode, mishap: Mishap, chance: Chance) -> None:
    broker_id, host = node.broker_id, actions.hosts[chance.below(len(actions.hosts))]
    one_way = bool(chance.below(2))
    actions.tell(f"nothing passes from broker {broker_id} to client {host} for {mishap.lasts_ms:,} ms")
    actions.world.cut(broker_id, host, one_way=one_way)
    actions.schedule.after(mishap.lasts_ms, lambda: actions.world.links.mend(broker_id, host))


# --- the metadata store


def _cut_store(actions: Actions, node: SimNode, mishap: Mishap, chance: Chance) -> None:
    broker_id = node.broker_id
    actions.tell(f"broker {broker_id} is cut off from the store for {mishap.lasts_ms:,} ms")
    actions.world.cut_store(broker_id)
    actions.expire_if_silent(node, mishap.lasts_ms)
    actions.schedule.after(mishap.lasts_ms, lambda: actions.world.mend_store(broker_id, reconnects=True))


def _expire(actions: Actions, node: SimNode, mishap: Mishap, chance: Chance) -> None:
    if actions.has_session(node):
        actions.tell(f"the session of broker {node.broker_id} with the store expires")
        node.session.expire()
        actions.counts.note("expiries")


def _lose_store_answer(actions: Actions, node: SimNode, mishap: Mishap, chance: Chance) -> None:
    executed, after = bool(chance.below(2)), chance.below(6)
    actions.tell(
        f"an operation of broker {node.broker_id} on the store gets no answer,"
        f" and is {'executed' if executed else 'not executed'}"
    )
    node.session.lose_connection(executed=executed, after=after)
    actions.counts.note("lost answers")


def _lose_claim_answer(actions: Actions, node: SimNode, mishap: Mishap, chance: Chance) -> None:
    """The controller's session ends, and whoever claims its place gets no answer."""
    controller = actions.world.nodes.get(actions.view.controller())
    if controller is None or not controller.is_running or not actions.has_session(controller):
        return
    executed = bool(chance.below(4))
    actions.tell(
        f"the session of the controller, broker {controller.broker_id}, with the store expires; the next"
        f" claim on its place gets no answer, and is {'executed' if executed else 'not executed'}"
    )
    for each in actions.view.living():
        each.session.lose_answer(_is_claim, executed=executed)
    controller.session.expire()
    actions.counts.note("expiries")
    actions.counts.note("lost answers")


def _is_claim(operation: Operation) -> bool:
    return isinstance(operation, Multi) and any(
        isinstance(write, Create) and write.path == paths.CONTROLLER for write in operation.operations
    )


KINDS_FOR_RUNNING: Final[Mapping[str, Kind]] = {
    "kill": _kill,
    "kill in a write": _kill_in_a_write,
    "power loss": _lose_power,
    "power loss in a write": _lose_power_in_a_write,
    "power loss on a slow disk": _lose_power_on_a_slow_disk,
    "power loss behind slow links": _lose_power_behind_slow_links,
    "stop": _stop,
    "loss of a disk": _lose_disk,
    "pause": _pause,
    "slow disk": _slow_disk,
    "full disk": _full_disk,
    "cut from the store": _cut_store,
    "expire": _expire,
    "lose an answer of the store": _lose_store_answer,
}
"""These happen to a broker whose process lives and does not stand still; otherwise nothing happens."""

KINDS_FOR_ANY: Final[Mapping[str, Kind]] = {
    "power loss of the last in sync": _lose_power_last,
    "loss of a disk while all are down": _lose_disk_while_all_are_down,
    "power loss after a truncation": _lose_power_after_a_truncation,
    "isolate": _isolate,
    "isolate, then kill": _isolate_then_kill,
    "cut": _cut,
    "cut one way": _cut_one_way,
    "drop": _drop,
    "slow link": _slow_link,
    "jump of the clock": _jump_clock,
    "cut clients": _cut_clients,
    "lose the answer of a claim": _lose_claim_answer,
}
"""These happen whether or not the broker runs. The names in
both tables are those of `plan.WEIGHTS` and `plan.DISK_LOSSES`."""
